/* Requests arrive, are routed, refused, finished and followed. */

static i32 new_slot(Engine *e) {
    if (e->free_slot < 0) {
        i32 more = e->slots ? e->slots : 1024;
        Slot *bigger = realloc(e->slot, (size_t)(e->slots + more) * sizeof(Slot));
        if (!bigger) { e->failure = NO_MEMORY; return -1; }
        e->slot = bigger;
        for (i32 i = e->slots + more - 1; i >= e->slots; i--) {
            e->slot[i].next = e->free_slot;
            e->free_slot = i;
        }
        e->slots += more;
    }
    i32 item = e->free_slot;
    e->free_slot = e->slot[item].next;
    return item;
}

static void record(Engine *e, const Slot *s, i64 finish) {
    i64 at = e->by_id ? s->id : e->record_count;
    Record *out = &e->records[at];
    e->record_count++;
    out->id = s->id; out->arrival = s->arrival; out->started = s->started;
    out->first = s->first; out->finish = finish;
    out->prompt = s->prompt; out->output = s->output;
    out->cached = s->cached; out->preempted = s->preempted;
    out->replica = s->replica; out->restarts = s->restarts;
}

/* A request that has not arrived yet. */
static i32 request_of(Engine *e, i64 row) {
    i32 item = new_slot(e);
    if (item < 0) return item;
    Slot *s = &e->slot[item];
    memset(s, 0, sizeof(Slot));
    const Rows *w = &e->rows;
    s->row = (i32)row;
    s->id = w->base + row;
    s->arrival = s->started = s->first = -1;
    s->root = w->root ? w->root[row] : -1;
    s->prompt = w->prompt[row];
    s->output = w->output[row];
    s->target = s->prompt;
    s->stage = e->config.pools == 2 && s->output > 1 ? 2 : 0; /* 2: first token only */
    return item;
}

static void send_later(Engine *e, i64 row, i64 time) {
    i32 item = request_of(e, row);
    if (item >= 0) push_pending(e, time, item);
}

static void follow(Engine *e, i64 row, i64 time) {
    if (e->config.closed) {
        if (e->cursor < e->rows.count) {
            i64 next = e->cursor++;
            send_later(e, next, time + e->rows.think[next]);
        }
    } else if (e->rows.next && e->rows.next[row] >= 0) {
        i64 next = e->rows.next[row];
        send_later(e, next, time + e->rows.think[next]);
    }
}

static void reject(Engine *e, i32 item, i64 time) {
    Slot *s = &e->slot[item];
    s->started = s->first = -1;
    s->replica = -1;
    record(e, s, -1);
    e->totals->rejected++;
    e->active--;
    follow(e, s->row, time);
    s->next = e->free_slot;
    e->free_slot = item;
}

static i64 load_of(const Replica *r) { return r->running + r->waiting; }

static i32 least_loaded(const Engine *e, i64 pool) {
    i32 best = -1;
    for (i32 i = 0; i < e->config.replicas; i++) {
        const Replica *r = &e->replica[i];
        if (r->state != UP || e->config.replica_pool[i] != pool) continue;
        if (best < 0 || load_of(r) < load_of(&e->replica[best])) best = i;
    }
    return best;
}

static i32 nth_up(const Engine *e, i64 pool, i64 nth) {
    for (i32 i = 0; i < e->config.replicas; i++)
        if (e->replica[i].state == UP && e->config.replica_pool[i] == pool && nth-- == 0) return i;
    return -1;
}

static i64 count_up(const Engine *e, i64 pool) {
    i64 count = 0;
    for (i64 i = 0; i < e->config.replicas; i++)
        count += e->replica[i].state == UP && e->config.replica_pool[i] == pool;
    return count;
}

static i32 choose(Engine *e, const Slot *s, i64 pool) {
    i64 up = e->config.replicas == 1 ? e->replica[0].state == UP : count_up(e, pool);
    if (up == 0) return -1;
    if (e->config.router == ROUND_ROBIN) return nth_up(e, pool, e->turn[pool]++ % up);
    if (up == 1) return nth_up(e, pool, 0);
    i32 least = least_loaded(e, pool);
    if (e->config.router == LEAST_LOADED || s->root < 0) return least;
    i32 home = nth_up(e, pool, s->root % up);
    i64 excess = load_of(&e->replica[home]) - load_of(&e->replica[least]);
    return excess > e->config.affinity_slack ? least : home;
}

static void route(Engine *e, i32 item, i64 time) {
    Slot *s = &e->slot[item];
    i64 pool = s->stage == 1;
    i32 at = choose(e, s, pool);
    e->waiting++;
    if (at < 0) {
        append(e, &e->held_head[pool], &e->held_tail[pool], item);
        e->held_count[pool]++;
        return;
    }
    Replica *r = &e->replica[at];
    int was_empty = r->wait_head < 0;
    s->replica = at;
    append(e, &r->wait_head, &r->wait_tail, item);
    r->waiting++;
    if (r->event == NEVER) { r->event = time; return; }
    if (r->plan != DECODE || r->steps <= 1 || !was_empty) return;
    if (r->running >= r->pool->max_sequences) return;
    i64 k = steps_for(r, time - r->start, r->steps);
    if (k < r->steps) {
        r->steps = k;
        r->event = r->start + span(r, k);
    }
}

static void arrive(Engine *e, i32 item, i64 time) {
    Slot *s = &e->slot[item];
    s->arrival = time;
    e->active++;
    for (i64 i = 0; i < e->config.pools; i++) {
        const Pool *p = &e->config.pool[i];
        i64 most = (i64)s->prompt + s->output;
        if (blocks_of(most - 1, p->block_tokens) > p->blocks || most > p->longest) {
            reject(e, item, time);
            return;
        }
    }
    route(e, item, time);
}

static void finish(Engine *e, Replica *r, i32 item, i64 time) {
    Slot *s = &e->slot[item];
    publish(e, r, s, s->computed);
    release(e, r, s);
    unlink_slot(e, &r->run_head, &r->run_tail, item);
    r->running--;
    r->full = 0;
    e->running--;
    if (s->stage == 2) {
        s->stage = 1;
        s->transferred = 1;
        push_pending(e, time + e->config.transfer_ps + e->config.transfer_token_ps * s->prompt, item);
        return;
    }
    record(e, s, time);
    e->totals->finished++;
    e->active--;
    follow(e, s->row, time);
    s->next = e->free_slot;
    e->free_slot = item;
}
