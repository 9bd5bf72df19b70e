/* http/deadline.c: the timeouts of many connections with one timer. */
#include "http/deadline.h"

#define LATE_NS IO_MS(500) /* Beyond that the loop stood still, and is not just busy. */

static void timer_done(struct io_op *op, int status);

void http_deadlines_init(struct http_deadlines *d, struct io *io, const uint64_t *after_ns, unsigned kinds)
{
    CD_ASSERT(kinds <= HTTP_DEADLINE_KINDS_MAX);
    *d = (struct http_deadlines){.io = io, .kinds = kinds, .shortest_ns = UINT64_MAX};
    for (unsigned i = 0; i < kinds; i++) {
        cd_list_init(&d->list[i]);
        d->after_ns[i] = after_ns[i];
        if (after_ns[i] != 0 && after_ns[i] < d->shortest_ns)
            d->shortest_ns = after_ns[i];
    }
}

static uint64_t earliest(const struct http_deadlines *d)
{
    uint64_t at_ns = UINT64_MAX;
    for (unsigned i = 0; i < d->kinds; i++) {
        struct cd_link *first = cd_list_first(&d->list[i]);
        if (first != NULL && CD_CONTAINER(first, struct http_deadline, link)->at_ns < at_ns)
            at_ns = CD_CONTAINER(first, struct http_deadline, link)->at_ns;
    }
    return at_ns;
}

/* A deadline set while the timer runs lies at or behind now + shortest_ns, so the timer never sleeps past
 * one. */
static void timer_arm(struct http_deadlines *d)
{
    uint64_t at_ns = earliest(d), now_ns = io_now_ns(d->io);
    if (at_ns == UINT64_MAX || d->stopping || d->firing || io_busy(&d->timer.op))
        return;
    uint64_t after_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    after_ns = after_ns < d->shortest_ns ? after_ns : d->shortest_ns;
    d->due_ns = now_ns + after_ns;
    io_timer_start(&d->timer, d->io, after_ns, timer_done);
}

static void postpone(struct http_deadlines *d, uint64_t by_ns)
{
    for (unsigned i = 0; i < d->kinds; i++) {
        for (struct cd_link *k = cd_list_first(&d->list[i]); k != NULL; k = cd_list_next(&d->list[i], k))
            CD_CONTAINER(k, struct http_deadline, link)->at_ns += by_ns;
    }
}

static void timer_done(struct io_op *op, int status)
{
    struct http_deadlines *d = CD_CONTAINER(op, struct http_deadlines, timer.op);
    if (d->stopping) {
        if (d->stopped != NULL)
            d->stopped(d);
        return;
    }
    if (status != IO_OK)
        return; /* The loop is stopping: every connection hears it from its own operations. */
    uint64_t now_ns = io_now_ns(d->io);
    if (now_ns - d->due_ns >= LATE_NS)
        postpone(d, now_ns - d->due_ns + LATE_NS); /* What has come is read first. */
    d->firing = true;
    for (unsigned i = 0; i < d->kinds; i++) {
        struct cd_link *first;
        while ((first = cd_list_first(&d->list[i])) != NULL) {
            struct http_deadline *which = CD_CONTAINER(first, struct http_deadline, link);
            if (which->at_ns > now_ns)
                break;
            cd_link_remove(first);
            d->expired(d, which, i);
        }
    }
    d->firing = false;
    if (!d->stopping)
        timer_arm(d);
    else if (d->stopped != NULL)
        d->stopped(d);
}

void http_deadline_set(struct http_deadlines *d, struct http_deadline *which, unsigned kind)
{
    CD_ASSERT(kind < d->kinds);
    cd_link_remove(&which->link);
    if (d->after_ns[kind] == 0 || d->stopping)
        return;
    which->at_ns = io_now_ns(d->io) + d->after_ns[kind];
    cd_list_push(&d->list[kind], &which->link);
    if (!io_busy(&d->timer.op))
        timer_arm(d);
}

void http_deadline_clear(struct http_deadline *which)
{
    cd_link_remove(&which->link);
}

static void idle_done(struct io_op *op, int status)
{
    (void)status;
    struct http_deadlines *d = CD_CONTAINER(op, struct http_deadlines, timer.op);
    if (d->stopped != NULL)
        d->stopped(d);
}

void http_deadlines_stop(struct http_deadlines *d)
{
    CD_ASSERT(!d->stopping);
    d->stopping = true;
    for (unsigned i = 0; i < d->kinds; i++) {
        while (cd_list_pop(&d->list[i]) != NULL)
            continue;
    }
    if (d->firing)
        return; /* timer_done goes on from here. */
    if (io_busy(&d->timer.op))
        io_cancel(&d->timer.op);
    else
        io_defer(&d->timer.op, d->io, IO_OK, idle_done);
}
