/* The decode batch: its growth, how long k steps last, and who joins or leaves it. */

static i64 residue_at(const Replica *r, i64 step) {
    i64 block = r->pool->block_tokens;
    return (block - step % block) % block;
}

/* Blocks that the batch needs for its next `steps` steps. */
static i64 growth(const Replica *r, i64 steps) {
    i64 block = r->pool->block_tokens, rest = steps % block;
    i64 total = steps / block * r->sequences, at = residue_at(r, r->step);
    for (i64 i = 0; i < rest; i++) {
        total += r->residue[at];
        at = at ? at - 1 : block - 1;
    }
    return total;
}

static i64 span(const Replica *r, i64 steps) {
    const Pool *p = r->pool;
    i64 a = p->decode[r->sequences], d = p->context[r->sequences];
    return steps * (a + d * r->context) + d * r->sequences * (steps * (steps + 1) / 2);
}

/* The fewest steps that last at least `time`, at most `most`. */
static i64 steps_for(const Replica *r, i64 time, i64 most) {
    const Pool *p = r->pool;
    double d = (double)p->context[r->sequences];
    double q = d * (double)r->sequences;
    double a = (double)p->decode[r->sequences] + d * (double)r->context + q / 2;
    double guess = 2.0 * (double)time / (a + sqrt(a * a + 2.0 * q * (double)time));
    i64 k = guess < 1.0 ? 1 : guess > (double)most ? most : (i64)guess;
    while (k < most && span(r, k) < time) k++;
    while (k > 1 && span(r, k - 1) >= time) k--;
    return k;
}

static void join(Engine *e, Replica *r, i32 item) {
    Slot *s = &e->slot[item];
    i64 block = r->pool->block_tokens;
    s->join_step = r->step;
    s->last_step = r->step + (s->stage == 2 ? 1 : s->output) - s->emitted;
    s->decoding = 1;
    r->sequences++;
    r->context += s->computed;
    r->left += s->last_step - r->step;
    r->residue[((s->computed - r->step) % block + block) % block]++;
    heap_push(e, r, item);
}

/* Take a decoding sequence out of the batch; its counters become those of this step. */
static void part(Engine *e, Replica *r, i32 item, int in_heap) {
    Slot *s = &e->slot[item];
    i64 block = r->pool->block_tokens, passed = r->step - s->join_step;
    i64 computed = s->computed + passed;
    r->residue[((s->computed - s->join_step) % block + block) % block]--;
    s->own_blocks += (i32)(blocks_of(computed, block) - blocks_of(s->computed, block));
    s->emitted += (i32)passed;
    s->computed = (i32)computed;
    s->decoding = 0;
    r->sequences--;
    r->context -= computed;
    r->left -= s->last_step - r->step;
    if (in_heap) heap_remove(e, r, item);
}

static void preempt(Engine *e, Replica *r, i32 item) {
    Slot *s = &e->slot[item];
    if (s->decoding) part(e, r, item, 1);
    if (r->partial == item) r->partial = -1;
    publish(e, r, s, s->computed);
    release(e, r, s);
    s->computed = 0;
    s->transferred = 0;
    s->target = s->prompt + s->emitted;
    s->preempted++;
    e->totals->preemptions++;
    unlink_slot(e, &r->run_head, &r->run_tail, item);
    prepend(e, &r->wait_head, &r->wait_tail, item);
    r->running--; r->waiting++;
    r->full = 0;
    e->running--; e->waiting++;
}
