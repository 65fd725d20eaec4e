/* What a step computes, and what its end changes. */

static void commit_decode(Engine *e, Replica *r, i64 steps, i64 first_gap, i64 increment) {
    i64 grown = growth(r, steps);
    take_blocks(r, grown);
    add_gaps(e->totals, first_gap + r->pause, increment, 1, r->sequences);
    add_gaps(e->totals, first_gap + increment, increment, steps - 1, r->sequences);
    r->pause = 0;
    e->totals->decode_tokens += steps * r->sequences;
    r->context += steps * r->sequences;
    r->left -= steps * r->sequences;
    r->step += steps;
}

/* Book the steps that end at `time`; `steps` of a decode stretch. */
static void commit(Engine *e, Replica *r, i64 steps, i64 time) {
    i64 before = r->used;
    i64 context = r->pool->context[r->sequences];
    i64 lasted = time - r->start;
    if (steps == 0) return;
    if (r->plan == DECODE) {
        i64 gap = r->pool->decode[r->sequences] + context * (r->context + r->sequences);
        commit_decode(e, r, steps, gap, context * r->sequences);
    } else if (r->plan == MIXED) {
        commit_decode(e, r, 1, lasted, 0);
    } else if (r->sequences > 0) {
        r->pause += lasted;
    }
    e->totals->steps += steps;
    r->busy_ps += lasted;
    double value = 0.5 * (double)(before + r->used);
    double *series = e->totals->series_blocks;
    add_series(e->totals, r->start, time, &value, &series, 1);
    r->start = time;
}

static void complete_chunks(Engine *e, Replica *r, i64 time) {
    if (r->chunk_count) r->full = 0;
    for (i32 i = 0; i < r->chunk_count; i++) {
        i32 item = r->chunks[i];
        Slot *s = &e->slot[item];
        s->computed += s->chunk;
        e->totals->prefill_tokens += s->chunk;
        if (s->computed < s->target) { r->partial = item; continue; }
        s->emitted++;
        e->totals->decode_tokens++;
        if (s->first < 0) s->first = time;
        if (s->emitted == (s->stage == 2 ? 1 : s->output)) finish(e, r, item, time);
        else join(e, r, item);
    }
    r->chunk_count = 0;
}

typedef struct { i64 budget, reserved, tokens, half_pairs; } Step;

static void take_chunk(Engine *e, Replica *r, Step *step, i32 item, i64 chunk, i64 blocks) {
    Slot *s = &e->slot[item];
    take_blocks(r, blocks);
    s->own_blocks += (i32)blocks;
    s->chunk = (i32)chunk;
    step->half_pairs += chunk * (2 * (i64)s->computed + chunk);
    step->tokens += chunk;
    step->budget -= chunk;
    r->chunks[r->chunk_count++] = item;
    publish(e, r, s, s->computed + chunk);
}

static int continue_partial(Engine *e, Replica *r, Step *step) {
    i32 item = r->partial;
    Slot *s = &e->slot[item];
    i64 block = r->pool->block_tokens;
    i64 chunk = s->target - s->computed;
    if (chunk > step->budget) chunk = step->budget;
    if (chunk <= 0) return 0;
    i64 blocks = blocks_of(s->computed + chunk, block) - blocks_of(s->computed, block);
    if (blocks > r->pool->blocks - r->used - step->reserved) {
        preempt(e, r, item);
        return 1;
    }
    r->partial = -1;
    take_chunk(e, r, step, item, chunk, blocks);
    return 0;
}

typedef struct { Hit hit; i64 chunk, blocks, extra; } Offer;

/* What the head of the queue would get now. */
static Offer offer_of(const Replica *r, const Step *step, const Slot *s, Hit hit) {
    i64 block = r->pool->block_tokens;
    i64 whole = s->transferred ? 0 : s->target - hit.tokens;
    i64 chunk = whole < step->budget ? whole : step->budget;
    i64 tokens = s->transferred ? s->prompt : hit.tokens + chunk;
    Offer offer = {hit, chunk, blocks_of(tokens, block) - hit.tokens / block,
                   s->transferred && s->prompt % block == 0};
    return offer;
}

static int has_room(const Replica *r, const Step *step, const Slot *s, const Offer *o) {
    const Pool *p = r->pool;
    i64 free_blocks = p->blocks - r->used - step->reserved;
    if (o->blocks + o->extra + o->hit.pinned > free_blocks) return 0;
    if (!p->reserve_q10 || r->running == 0) return 1;
    i64 later = p->reserve_q10 * (r->left + s->output - s->emitted) / 1024;
    i64 all = blocks_of(s->target + later, p->block_tokens) - o->hit.tokens / p->block_tokens;
    return all + o->hit.pinned <= free_blocks;
}

/* Admit the head of the queue, or return 0 where it has to wait. */
static int admit(Engine *e, Replica *r, Step *step, i64 time) {
    const Pool *p = r->pool;
    i32 item = r->wait_head;
    Slot *s = &e->slot[item];
    Hit none = {0, 0, 0};
    Offer o = offer_of(r, step, s, s->transferred ? none : look_up(e, r, s));
    /* Alone, a request whose cached beginning stands in its own way does without it. */
    if (!has_room(r, step, s, &o) && r->running == 0) o = offer_of(r, step, s, none);
    if (!has_room(r, step, s, &o)) { r->full = 1; return 0; }
    Hit hit = o.hit;
    i64 chunk = o.chunk, blocks = o.blocks, extra = o.extra;
    unlink_slot(e, &r->wait_head, &r->wait_tail, item);
    append(e, &r->run_head, &r->run_tail, item);
    r->waiting--; r->running++;
    e->waiting--; e->running++;
    if (s->started < 0) s->started = time;
    Prefix prefix = prefix_of(e, r, s);
    for (i64 j = 0; j < hit.nodes; j++) pin(r, prefix.node[j]);
    s->pinned_nodes = (i32)hit.nodes;
    s->cached += (i32)hit.tokens;
    s->computed = (i32)hit.tokens;
    if (s->transferred) {
        take_blocks(r, blocks);
        s->own_blocks = (i32)blocks;
        s->computed = s->prompt;
        s->transferred = 0;
        step->reserved += extra;
        if (!p->prefill_first) step->budget--;
        join(e, r, item);
    } else {
        take_chunk(e, r, step, item, chunk, blocks);
    }
    return 1;
}

static i64 step_time(const Replica *r, const Step *step) {
    const Pool *p = r->pool;
    i64 decode = p->decode[r->sequences] + p->context[r->sequences] * (r->context + r->sequences);
    i64 alone = p->prefill[step->tokens] + ((step->half_pairs * p->pair_q) >> HALF_PAIR_SHIFT);
    if (r->plan != MIXED) return alone;
    i64 both = decode + p->mixed[step->tokens] + ((step->half_pairs * p->mixed_pair_q) >> HALF_PAIR_SHIFT);
    return both > alone ? both : alone;
}

static i64 stretch(const Engine *e, const Replica *r, int preempted) {
    i64 most = e->slot[r->heap[0]].last_step - r->step;
    if (preempted && r->wait_head >= 0) return 1;
    i64 block = r->pool->block_tokens, left = r->pool->blocks - r->used;
    if ((most / block + 1) * r->sequences <= left) return most;
    i64 k = left / r->sequences * block;
    if (k >= most) return most;
    i64 grown = k / block * r->sequences, at = residue_at(r, r->step);
    while (k < most) {
        grown += r->residue[at];
        if (grown > left) break;
        at = at ? at - 1 : block - 1;
        k++;
    }
    return k > 0 ? k : 1;
}

static void schedule(Engine *e, Replica *r, i64 time) {
    const Pool *p = r->pool;
    int preempted = 0;
    Step step = {0, 0, 0, 0};
    while ((step.reserved = r->sequences ? r->residue[residue_at(r, r->step)] : 0) > p->blocks - r->used) {
        preempt(e, r, r->run_tail);
        preempted = 1;
    }
    step.budget = p->budget - (p->prefill_first ? 0 : r->sequences);
    if (r->partial >= 0) preempted |= continue_partial(e, r, &step);
    while (!preempted && !r->full && r->wait_head >= 0 && step.budget > 0 &&
           r->running < p->max_sequences)
        if (!admit(e, r, &step, time)) break;
    r->start = time;
    r->steps = 1;
    if (r->chunk_count == 0 && r->sequences == 0) {
        r->plan = IDLE;
        r->event = NEVER;
        if (r->waiting) e->failure = STUCK;
        if (r->state == DRAINING && r->running == 0) {
            r->state = OFF;
            r->up_ps += time - r->up_since;
            e->up--;
        }
        return;
    }
    i64 lasts;
    if (r->chunk_count == 0) {
        r->plan = DECODE;
        r->steps = stretch(e, r, preempted);
        double about = (double)r->steps * ((double)p->decode[r->sequences] + (double)p->context[r->sequences] *
                       ((double)r->context + (double)r->sequences * (double)r->steps));
        if (about > 4e18) { e->failure = TOO_LONG; return; }
        lasts = span(r, r->steps);
    } else {
        r->plan = r->sequences && !p->prefill_first ? MIXED : PREFILL;
        lasts = step_time(r, &step);
    }
    if (lasts < 1) lasts = 1;
    if (time > 8000000000000000000LL - lasts) { e->failure = TOO_LONG; return; }
    r->event = time + lasts;
}

static void release_held(Engine *e, i64 time) {
    for (i64 pool = 0; pool < e->config.pools; pool++) {
        while (e->held_head[pool] >= 0 && count_up(e, pool) > 0) {
            i32 item = e->held_head[pool];
            unlink_slot(e, &e->held_head[pool], &e->held_tail[pool], item);
            e->held_count[pool]--;
            e->waiting--;
            route(e, item, time);
        }
    }
}

static void replica_event(Engine *e, Replica *r, i64 time) {
    if (r->state == STARTING) {
        r->state = UP;
        r->event = NEVER;
        r->plan = IDLE;
        release_held(e, time);
        return;
    }
    commit(e, r, r->plan == IDLE ? 0 : r->steps, time);
    while (r->heap_count && e->slot[r->heap[0]].last_step <= r->step) {
        i32 item = r->heap[0];
        part(e, r, item, 1);
        finish(e, r, item, time);
    }
    complete_chunks(e, r, time);
    schedule(e, r, time);
}
