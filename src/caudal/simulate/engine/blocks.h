/* KV blocks and the prefix cache: prefix_cache.py has the same rules, more plainly. */

static i64 blocks_of(i64 tokens, i64 block) { return (tokens + block - 1) / block; }

static void lru_unlink(Replica *r, i32 id) {
    Node *n = &r->node[id];
    if (n->prev >= 0) r->node[n->prev].next = n->next; else r->lru_head = n->next;
    if (n->next >= 0) r->node[n->next].prev = n->prev; else r->lru_tail = n->prev;
}

static void lru_append(Replica *r, i32 id) {
    Node *n = &r->node[id];
    n->prev = r->lru_tail;
    n->next = -1;
    if (r->lru_tail >= 0) r->node[r->lru_tail].next = id; else r->lru_head = id;
    r->lru_tail = id;
}

static void take_blocks(Replica *r, i64 count) {
    r->used += count;
    i64 over = r->used + r->evictable - r->pool->blocks;
    while (over > 0 && r->lru_head >= 0) {
        Node *n = &r->node[r->lru_head];
        i64 gone = n->resident < over ? n->resident : over;
        n->resident -= (i32)gone;
        r->evictable -= gone;
        over -= gone;
        if (n->resident == 0) lru_unlink(r, r->lru_head);
    }
}

typedef struct { const i32 *node, *end; i64 count; } Prefix;

static Prefix prefix_of(const Engine *e, const Replica *r, const Slot *s) {
    Prefix none = {0, 0, 0};
    if (!e->rows.node_first || !r->pool->prefix_cache) return none;
    i64 first = e->rows.node_first[s->row];
    Prefix found = {e->rows.node + first, e->rows.node_end + first,
                    e->rows.node_first[s->row + 1] - first};
    return found;
}

/* What of a prompt is cached: whole blocks, never the last token. */
typedef struct { i64 tokens, pinned, nodes; } Hit;

static Hit look_up(const Engine *e, const Replica *r, const Slot *s) {
    Hit hit = {0, 0, 0};
    Prefix p = prefix_of(e, r, s);
    i64 block = r->pool->block_tokens, before = 0, found = 0;
    for (i64 j = 0; j < p.count; j++) {
        i64 end = p.end[j] / block, whole = end - before;
        const Node *n = &r->node[p.node[j]];
        i64 here = n->resident < whole ? n->resident : whole;
        if (here == 0 && whole > 0) break;
        if (n->pins == 0) hit.pinned += n->resident;
        hit.nodes = j + 1;
        found += here;
        before = end;
        if (here < whole) break;
    }
    i64 most = (s->target - 1) / block;
    hit.tokens = (found < most ? found : most) * block;
    return hit;
}

static void pin(Replica *r, i32 id) {
    Node *n = &r->node[id];
    if (n->pins++ == 0 && n->resident > 0) {
        lru_unlink(r, id);
        r->evictable -= n->resident;
        r->used += n->resident;
    }
}

static void unpin(Replica *r, i32 id) {
    Node *n = &r->node[id];
    if (--n->pins == 0 && n->resident > 0) {
        r->used -= n->resident;
        r->evictable += n->resident;
        lru_append(r, id);
    }
}

/* Hand the whole blocks that a request has computed to the cache, where no other did before. */
static void publish(Engine *e, Replica *r, Slot *s, i64 computed) {
    Prefix p = prefix_of(e, r, s);
    i64 block = r->pool->block_tokens, before = 0;
    for (i64 j = 0; j < p.count; j++) {
        i64 reach = p.end[j] < computed ? p.end[j] : computed;
        i64 have = reach / block - before;
        Node *n = &r->node[p.node[j]];
        if (j >= s->pinned_nodes) {
            if (have <= 0 && p.end[j] / block > before) return;
            if (n->resident > 0 || n->pins > 0) return; /* another request computed it meanwhile */
            n->pins = 1;
            s->pinned_nodes = (i32)j + 1;
        }
        if (have > n->resident) {
            s->own_blocks -= (i32)(have - n->resident);
            n->resident = (i32)have;
        }
        if (p.end[j] > computed) return;
        before = p.end[j] / block;
    }
}

static void release(Engine *e, Replica *r, Slot *s) {
    Prefix p = prefix_of(e, r, s);
    r->used -= s->own_blocks;
    s->own_blocks = 0;
    for (i64 j = s->pinned_nodes - 1; j >= 0; j--) unpin(r, p.node[j]);
    s->pinned_nodes = 0;
}
