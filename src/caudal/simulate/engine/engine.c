/* The compiled engine of the simulator: the rules of stepwise.py, from event to event.
 *
 * A replica's decode batch changes predictably between events, so its steps are passed in closed
 * form: k steps take k * (A + D * S) + D * B * k (k + 1) / 2, with B sequences and S tokens of
 * context in all. Time is a whole number of picoseconds, so that this sum and the sum step by step
 * are the same number; tests/property/test_engines_agree.py holds both engines to each other.
 *
 * Build: cc -O2 -shared -fPIC engine.c (hatch_build.py does it on installation). No Python headers:
 * compiled.py loads the library with ctypes and mirrors the structs of types.h that cross over.
 */

#include "types.h"
#include "series.h"
#include "queues.h"
#include "blocks.h"
#include "decode.h"
#include "requests.h"
#include "step.h"
#include "replicas.h"

static i64 next_row(Engine *e) {
    if (e->config.closed) return NEVER;
    while (e->cursor < e->rows.count && e->rows.arrival[e->cursor] < 0) e->cursor++;
    return e->cursor < e->rows.count ? e->rows.arrival[e->cursor] : NEVER;
}

static int run(Engine *e) {
    const Config *c = &e->config;
    i64 external = next_row(e);
    for (;;) {
        if (e->failure) return e->failure;
        if (!e->rows.last && (c->closed ? e->rows.count - e->cursor < c->users : external == NEVER))
            return MORE_ROWS;
        i64 pending = e->pending_count ? e->pending[0].time : NEVER;
        i64 soonest = NEVER;
        i32 at = 0;
        for (i32 i = 0; i < c->replicas; i++)
            if (e->replica[i].event < soonest) { soonest = e->replica[i].event; at = i; }
        if (external == NEVER && pending == NEVER && e->active == 0) return DONE;
        i64 control = e->control < c->controls ? c->control[e->control].time : NEVER;
        if (c->scale_interval && e->tick < control) control = e->tick;
        i64 time = external < pending ? external : pending;
        if (soonest < time) time = soonest;
        if (control <= time) time = control;
        if (time == NEVER) return STUCK;
        e->totals->events++;
        advance(e, time);
        if (time == control) {
            if (e->control < c->controls && c->control[e->control].time == time) {
                const Control *k = &c->control[e->control++];
                Replica *r = &e->replica[k->replica];
                if (k->action == START) start_replica(e, r, time, time);
                else if (k->action == DRAIN) drain_replica(e, r, time);
                else kill_replica(e, r, time);
            } else {
                scale(e, time);
            }
        } else if (time == external) {
            i32 item = request_of(e, e->cursor++);
            if (item >= 0) arrive(e, item, time);
            external = next_row(e);
        } else if (time == pending) {
            i32 item = (i32)pop_pending(e).payload;
            if (e->slot[item].arrival < 0) arrive(e, item, time);
            else route(e, item, time);
        } else {
            replica_event(e, &e->replica[at], time);
        }
    }
}

#ifndef CAUDAL_SOURCES
#define CAUDAL_SOURCES "unknown"
#endif

const char *caudal_sources(void) { return CAUDAL_SOURCES; }

void caudal_free(Engine *e) {
    if (!e) return;
    for (i64 i = 0; e->replica && i < e->config.replicas; i++) {
        free(e->replica[i].heap);
        free(e->replica[i].chunks);
        free(e->replica[i].residue);
        free(e->replica[i].node);
    }
    free(e->replica);
    free(e->slot);
    free(e->pending);
    free(e);
}

Engine *caudal_new(const Config *config, Totals *totals) {
    Engine *e = calloc(1, sizeof(Engine));
    if (!e) return 0;
    e->config = *config;
    e->totals = totals;
    e->free_slot = -1;
    e->held_head[0] = e->held_head[1] = e->held_tail[0] = e->held_tail[1] = -1;
    e->tick = config->scale_interval;
    totals->series_width = config->series_width;
    e->replica = calloc((size_t)config->replicas, sizeof(Replica));
    if (!e->replica) { caudal_free(e); return 0; }
    for (i64 i = 0; i < config->replicas; i++) {
        Replica *r = &e->replica[i];
        r->pool = &config->pool[config->replica_pool[i]];
        r->state = config->replica_up[i] ? UP : OFF;
        e->up += r->state == UP;
        r->event = NEVER;
        r->run_head = r->run_tail = r->wait_head = r->wait_tail = r->partial = -1;
        r->lru_head = r->lru_tail = -1;
        r->heap = malloc((size_t)r->pool->max_sequences * sizeof(i32));
        r->chunks = malloc((size_t)r->pool->max_sequences * sizeof(i32));
        r->residue = calloc((size_t)r->pool->block_tokens, sizeof(i32));
        if (config->nodes) r->node = calloc((size_t)config->nodes, sizeof(Node));
        if (!r->heap || !r->chunks || !r->residue || (config->nodes && !r->node)) {
            caudal_free(e);
            return 0;
        }
    }
    return e;
}

/* Run over these rows; the records of this call go to `records`, their number to `count`. */
int caudal_run(Engine *e, const Rows *rows, Record *records, i64 by_id, i64 *count) {
    e->rows = *rows;
    e->cursor = 0;
    e->records = records;
    e->record_count = 0;
    e->by_id = by_id;
    if (e->config.closed && rows->base == 0)
        for (; e->cursor < e->config.users && e->cursor < rows->count; e->cursor++)
            send_later(e, e->cursor, rows->arrival[e->cursor]);
    int state = run(e);
    *count = e->record_count;
    Totals *t = e->totals;
    t->end = e->now;
    t->waiting = e->waiting;
    t->running = e->running;
    t->waiting_area = (double)e->waiting_area * 1e-12;
    t->running_area = (double)e->running_area * 1e-12;
    t->used_blocks = t->evictable_blocks = 0;
    for (i64 i = 0; i < e->config.replicas; i++) {
        t->used_blocks += e->replica[i].used;
        t->evictable_blocks += e->replica[i].evictable;
    }
    return state;
}

/* The rows of the last call that no request has taken yet start here (closed loops). */
i64 caudal_cursor(const Engine *e) { return e->cursor; }

void caudal_replica_times(const Engine *e, i64 *up, i64 *busy) {
    for (i64 i = 0; i < e->config.replicas; i++) {
        const Replica *r = &e->replica[i];
        up[i] = r->up_ps + (r->state != OFF ? e->now - r->up_since : 0);
        busy[i] = r->busy_ps;
    }
}
