/* Replicas start, drain, fail and are scaled. */

static void start_replica(Engine *e, Replica *r, i64 time, i64 ready) {
    if (r->state == DRAINING) { r->state = UP; release_held(e, time); return; }
    if (r->state != OFF) return;
    r->state = STARTING;
    r->up_since = time;
    r->event = ready;
    e->up++;
}

static void drain_replica(Engine *e, Replica *r, i64 time) {
    if (r->state == STARTING || (r->state == UP && r->event == NEVER)) {
        r->state = OFF;
        r->event = NEVER;
        r->up_ps += time - r->up_since;
        e->up--;
    } else if (r->state == UP) {
        r->state = DRAINING;
    }
}

static void restart(Engine *e, i32 item, i64 time) {
    Slot *s = &e->slot[item];
    s->computed = s->emitted = s->own_blocks = s->pinned_nodes = s->transferred = 0;
    s->decoding = 0;
    s->target = s->prompt;
    s->first = -1;
    s->stage = e->config.pools == 2 && s->output > 1 ? 2 : 0;
    s->restarts++;
    route(e, item, time);
}

static void kill_replica(Engine *e, Replica *r, i64 time) {
    if (r->state == OFF) return;
    if (r->plan == DECODE && r->event != NEVER && r->state != STARTING) {
        i64 k = steps_for(r, time - r->start, r->steps);
        i64 whole = span(r, k) >= time - r->start ? k - 1 : k;
        if (time > r->start) commit(e, r, whole, r->start + span(r, whole));
    }
    r->state = OFF;
    r->event = NEVER;
    r->plan = IDLE;
    r->up_ps += time - r->up_since;
    e->up--;
    i32 lost = r->run_head, queued = r->wait_head;
    e->running -= r->running;
    e->waiting -= r->waiting;
    r->running = r->waiting = r->used = r->evictable = r->sequences = r->context = r->left = 0;
    r->pause = r->full = 0;
    r->run_head = r->run_tail = r->wait_head = r->wait_tail = r->partial = -1;
    r->heap_count = r->chunk_count = 0;
    memset(r->residue, 0, (size_t)r->pool->block_tokens * sizeof(i32));
    if (r->node) memset(r->node, 0, (size_t)e->config.nodes * sizeof(Node));
    r->lru_head = r->lru_tail = -1;
    while (lost >= 0) { i32 next = e->slot[lost].next; restart(e, lost, time); lost = next; }
    while (queued >= 0) { i32 next = e->slot[queued].next; restart(e, queued, time); queued = next; }
}

static void scale(Engine *e, i64 time) {
    const Config *c = &e->config;
    i64 load = e->held_count[0], on = 0;
    for (i64 i = 0; i < c->replicas; i++) {
        const Replica *r = &e->replica[i];
        if (c->replica_pool[i] != 0) continue;
        load += load_of(r);
        on += r->state == UP || r->state == STARTING;
    }
    i64 wanted = (load + c->scale_target - 1) / c->scale_target;
    if (wanted < c->scale_min) wanted = c->scale_min;
    if (wanted > c->scale_max) wanted = c->scale_max;
    if (wanted >= on) e->last_high = time;
    for (int again = 1; again >= 0; again--) /* first those that are still draining */
        for (i64 i = 0; i < c->replicas && on < wanted; i++) {
            Replica *r = &e->replica[i];
            if (c->replica_pool[i] != 0 || r->state != (again ? DRAINING : OFF)) continue;
            start_replica(e, r, time, time + c->scale_start);
            on++;
        }
    if (wanted < on && time - e->last_high >= c->scale_window) {
        for (i64 i = c->replicas - 1; i >= 0 && on > wanted; i--) {
            Replica *r = &e->replica[i];
            if (c->replica_pool[i] != 0 || (r->state != UP && r->state != STARTING)) continue;
            drain_replica(e, r, time);
            on--;
        }
        e->last_high = time;
    }
    e->tick = time + c->scale_interval;
}
