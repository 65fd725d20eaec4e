/* What an engine is told, what it keeps, and what it gives back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

typedef int64_t i64;
typedef int32_t i32;
typedef unsigned __int128 u128;

#define NEVER INT64_MAX
#define GAP_BINS 4096
#define SERIES_BINS 512
#define HALF_PAIR_SHIFT 11 /* pair_q is picoseconds per pair * 1024, pairs are counted twice */

enum { OFF, STARTING, UP, DRAINING };
enum { IDLE, DECODE, MIXED, PREFILL };
enum { ROUND_ROBIN, LEAST_LOADED, AFFINITY };
enum { START, DRAIN, KILL };
enum { DONE = 0, MORE_ROWS = 1, STUCK = 2, TOO_LONG = 3, NO_MEMORY = 4 };

typedef struct {
    i64 max_sequences, budget, blocks, block_tokens, longest, prefill_first, reserve_q10;
    i64 prefix_cache, pair_q, mixed_pair_q;
    const i64 *decode, *context, *prefill, *mixed; /* by sequences; by tokens of the step */
} Pool;

typedef struct { i64 time, replica, action; } Control;

typedef struct {
    i64 pools, replicas, router, affinity_slack, closed, users;
    i64 transfer_ps, transfer_token_ps;
    i64 scale_interval, scale_target, scale_min, scale_max, scale_start, scale_window;
    i64 controls, series_width, nodes;
    const Pool *pool;
    const i64 *replica_pool, *replica_up;
    const Control *control;
} Config;

typedef struct {
    i64 count, base, last; /* last: no rows follow these */
    const i64 *arrival, *think, *root;
    const i32 *prompt, *output, *next;
    const i64 *node_first; /* [count + 1], or NULL */
    const i32 *node, *node_end;
} Rows;

typedef struct {
    i64 id, arrival, started, first, finish;
    i32 prompt, output, cached, preempted;
    i32 replica, restarts;
} Record;

typedef struct {
    i64 finished, rejected, prefill_tokens, decode_tokens, preemptions, end, steps;
    i64 waiting, running, used_blocks, evictable_blocks, events;
    double waiting_area, running_area; /* sequence-seconds */
    i64 gaps[GAP_BINS];
    double series_waiting[SERIES_BINS], series_running[SERIES_BINS], series_blocks[SERIES_BINS];
    double series_up[SERIES_BINS];
    i64 series_width;
} Totals;

typedef struct {
    i64 id, arrival, started, first, root, join_step, last_step;
    i32 prompt, output, emitted, computed, target, chunk, cached, preempted, restarts;
    i32 row, prev, next, heap, own_blocks, pinned_nodes;
    i32 replica, stage, transferred, decoding;
} Slot;

typedef struct { i32 resident, pins, prev, next; } Node;

typedef struct {
    i64 state, event, plan, start, steps; /* plan of the steps under way, and how many */
    i64 step, sequences, context, pause, step_ps; /* decode steps so far, B, S */
    i64 running, waiting, used, evictable, left; /* left: outputs still to come of decoding ones */
    i64 full; /* the head was refused, and nothing changed since that could help it */
    i64 up_since, up_ps, busy_ps;
    i32 run_head, run_tail, wait_head, wait_tail, partial;
    i32 *heap, heap_count, *chunks, chunk_count;
    i32 *residue;
    Node *node;
    i32 lru_head, lru_tail;
    const Pool *pool;
} Replica;

typedef struct { i64 time, sequence, payload; } Pending;

typedef struct {
    Config config;
    Replica *replica;
    Slot *slot;
    i32 slots, free_slot;
    Pending *pending;
    i64 pending_count, pending_room, sequence;
    i64 now, cursor, control, tick, last_high, turn[2], active;
    i64 waiting, running, up;
    i32 held_head[2], held_tail[2];
    i64 held_count[2];
    u128 waiting_area, running_area;
    Rows rows;
    Record *records;
    i64 record_count, by_id;
    Totals *totals;
    int failure;
} Engine;
