/* io_real/timer.c: a pairing heap of timers, by time and then by the order of their start. Starting is O(1),
 * so the timeout that every connection has and that never comes is cheap.
 *
 * The loop sleeps exactly until the first one; it is never early because it is compared with the clock before
 * it rings. */
#include "io_real/real.h"

static bool earlier(const struct io_timer *a, const struct io_timer *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->op.serial < b->op.serial;
}

static struct io_timer *heap_meld(struct io_timer *a, struct io_timer *b)
{
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (earlier(b, a)) {
        struct io_timer *t = a;
        a = b;
        b = t;
    }
    /* prev of a first child is its parent, of the others the sibling before it. */
    b->next = a->child;
    if (b->next != NULL)
        b->next->prev = b;
    b->prev = a;
    a->child = b;
    return a;
}

/* Makes one heap of a chain of siblings: melds pairs from left to right, then the pairs from right to left.
 */
static struct io_timer *heap_gather(struct io_timer *first)
{
    struct io_timer *pairs = NULL;
    while (first != NULL) {
        struct io_timer *a = first, *b = a->next;
        first = b == NULL ? NULL : b->next;
        a->next = a->prev = NULL;
        if (b != NULL)
            b->next = b->prev = NULL;
        struct io_timer *pair = heap_meld(a, b);
        pair->next = pairs;
        pairs = pair;
    }
    struct io_timer *all = NULL;
    while (pairs != NULL) {
        struct io_timer *next = pairs->next;
        pairs->next = NULL;
        all = heap_meld(all, pairs);
        pairs = next;
    }
    return all;
}

static void heap_add(struct real_loop *l, struct io_timer *t)
{
    t->child = t->next = t->prev = NULL;
    l->timers = heap_meld(l->timers, t);
}

static void heap_remove(struct real_loop *l, struct io_timer *t)
{
    struct io_timer *below = heap_gather(t->child);
    if (l->timers == t) {
        l->timers = below;
    } else {
        if (t->prev->child == t)
            t->prev->child = t->next;
        else
            t->prev->next = t->next;
        if (t->next != NULL)
            t->next->prev = t->prev;
        l->timers = heap_meld(l->timers, below);
    }
    t->child = t->next = t->prev = NULL;
}

static uint64_t add_sat(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void timer_cancel(struct io_op *op)
{
    heap_remove(real_loop(op->io), CD_CONTAINER(op, struct io_timer, op));
    io_complete_later(op, IO_CANCELED);
}

/* It waits in the deferred list; only what it will say changes. */
static void zero_cancel(struct io_op *op)
{
    op->status = IO_CANCELED;
}

void io_timer_start(struct io_timer *t, struct io *io, uint64_t after_ns, io_done_fn *done)
{
    struct real_loop *l = real_loop(io);
    io_begin(&t->op, io, done);
    t->at_ns = add_sat(io_now_ns(io), after_ns);
    if (l->stopping || after_ns == 0) {
        io_complete_later(&t->op, l->stopping ? IO_CANCELED : IO_OK);
        t->op.cancel = zero_cancel;
        return;
    }
    t->op.cancel = timer_cancel;
    heap_add(l, t);
}

void real_alarm_set(struct real_loop *l, struct real_alarm *a, uint64_t after_ns,
                    void (*ring)(struct real_loop *l, struct real_alarm *a))
{
    real_alarm_clear(l, a);
    a->ring = ring;
    a->timer.at_ns = add_sat(io_now_ns(&l->io), after_ns);
    a->set = true;
    heap_add(l, &a->timer);
}

void real_alarm_clear(struct real_loop *l, struct real_alarm *a)
{
    if (a->set)
        heap_remove(l, &a->timer);
    a->set = false;
}

uint64_t real_timers_run(struct real_loop *l)
{
    if (l->timers == NULL)
        return UINT64_MAX;
    uint64_t now = real_clock_ns();
    if (l->timers->at_ns > now)
        return l->timers->at_ns - now;
    real_enter(l);
    l->now_known = true;
    l->now_ns = now;
    /* Those that are started meanwhile are due later than now, so this ends. */
    while (l->timers != NULL && l->timers->at_ns <= now) {
        struct io_timer *t = l->timers;
        heap_remove(l, t);
        if (io_busy(&t->op)) {
            io_complete(&t->op, IO_OK);
        } else {
            struct real_alarm *a = CD_CONTAINER(t, struct real_alarm, timer);
            a->set = false;
            a->ring(l, a);
        }
    }
    real_leave(l);
    if (l->timers == NULL)
        return UINT64_MAX;
    now = real_clock_ns();
    return l->timers->at_ns > now ? l->timers->at_ns - now : 0;
}
