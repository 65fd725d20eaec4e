/* Heaps of pending arrivals and of ends, and linked lists of requests. */

static int earlier(const Pending *a, const Pending *b) {
    return a->time < b->time || (a->time == b->time && a->sequence < b->sequence);
}

static void push_pending(Engine *e, i64 time, i64 payload) {
    if (e->pending_count == e->pending_room) {
        i64 room = e->pending_room ? 2 * e->pending_room : 256;
        Pending *bigger = realloc(e->pending, (size_t)room * sizeof(Pending));
        if (!bigger) { e->failure = NO_MEMORY; return; }
        e->pending = bigger;
        e->pending_room = room;
    }
    Pending item = {time, e->sequence++, payload};
    i64 at = e->pending_count++;
    while (at > 0 && earlier(&item, &e->pending[(at - 1) / 2])) {
        e->pending[at] = e->pending[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    e->pending[at] = item;
}

static Pending pop_pending(Engine *e) {
    Pending top = e->pending[0], item = e->pending[--e->pending_count];
    i64 at = 0, count = e->pending_count;
    for (;;) {
        i64 child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && earlier(&e->pending[child + 1], &e->pending[child])) child++;
        if (!earlier(&e->pending[child], &item)) break;
        e->pending[at] = e->pending[child];
        at = child;
    }
    if (count) e->pending[at] = item;
    return top;
}

static int ends_before(const Engine *e, i32 a, i32 b) {
    const Slot *x = &e->slot[a], *y = &e->slot[b];
    return x->last_step < y->last_step || (x->last_step == y->last_step && x->id < y->id);
}

static void place(Engine *e, Replica *r, i32 at, i32 item) {
    r->heap[at] = item;
    e->slot[item].heap = at;
}

static void sift(Engine *e, Replica *r, i32 at, i32 item) {
    while (at > 0 && ends_before(e, item, r->heap[(at - 1) / 2])) {
        place(e, r, at, r->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        i32 child = 2 * at + 1;
        if (child >= r->heap_count) break;
        if (child + 1 < r->heap_count && ends_before(e, r->heap[child + 1], r->heap[child])) child++;
        if (!ends_before(e, r->heap[child], item)) break;
        place(e, r, at, r->heap[child]);
        at = child;
    }
    place(e, r, at, item);
}

static void heap_push(Engine *e, Replica *r, i32 item) {
    i32 at = r->heap_count++;
    sift(e, r, at, item);
}

static void heap_remove(Engine *e, Replica *r, i32 item) {
    i32 at = e->slot[item].heap, last = r->heap[--r->heap_count];
    if (last != item) sift(e, r, at, last);
}

static void append(Engine *e, i32 *head, i32 *tail, i32 item) {
    e->slot[item].prev = *tail;
    e->slot[item].next = -1;
    if (*tail >= 0) e->slot[*tail].next = item; else *head = item;
    *tail = item;
}

static void prepend(Engine *e, i32 *head, i32 *tail, i32 item) {
    e->slot[item].next = *head;
    e->slot[item].prev = -1;
    if (*head >= 0) e->slot[*head].prev = item; else *tail = item;
    *head = item;
}

static void unlink_slot(Engine *e, i32 *head, i32 *tail, i32 item) {
    Slot *s = &e->slot[item];
    if (s->prev >= 0) e->slot[s->prev].next = s->next; else *head = s->next;
    if (s->next >= 0) e->slot[s->next].prev = s->prev; else *tail = s->prev;
}
