/* io/op.c: the life of an operation, the same in both backends.
 *
 * begin -> (busy) -> complete. Completion happens from the loop only: what is known already at submit or
 * cancel goes through the deferred list and is delivered by io_turn_end. */
#include "io/backend.h"

void io_init(struct io *io)
{
    *io = (struct io){0};
    cd_list_init(&io->ops);
    cd_list_init(&io->ready);
    cd_list_init(&io->deferred);
    cd_list_init(&io->alive);
    cd_list_init(&io->spare);
}

void io_enter(struct io *io)
{
    CD_ASSERT(*io_current_slot() == NULL || *io_current_slot() == io);
    *io_current_slot() = io;
    io->entered++;
}

void io_leave(struct io *io)
{
    CD_ASSERT(io->entered > 0 && *io_current_slot() == io);
    if (--io->entered == 0)
        *io_current_slot() = NULL;
}

struct io *io_current(void)
{
    return *io_current_slot();
}

void io_begin(struct io_op *op, struct io *io, io_done_fn *done)
{
    CD_ASSERT(op->io == NULL); /* A busy op is not submitted again. */
    CD_ASSERT(io != NULL);
    op->io = io;
    op->done = done;
    op->serial = ++io->next_serial;
    op->status = 0;
    op->canceling = false;
    op->waiter = NULL;
    op->link = (struct cd_link){0};
    op->impl = NULL;
    op->cancel = NULL;
    io->busy++;
    cd_list_push(&io->ops, &op->all);
}

void io_complete(struct io_op *op, int status)
{
    struct io *io = op->io;
    CD_ASSERT(io != NULL);
    CD_ASSERT(io->entered > 0); /* From the loop, */
    CD_ASSERT(io->running == NULL); /* and not from a submit or cancel of a fiber. */
    CD_ASSERT(io->busy > 0);
    cd_link_remove(&op->link);
    cd_link_remove(&op->all);
    io->busy--;
    op->io = NULL;
    op->status = status;
    op->canceling = false;
    op->cancel = NULL;
    struct io_fiber *waiter = op->waiter;
    op->waiter = NULL;
    if (op->done != NULL)
        op->done(op, status); /* op may be freed or busy again from here on. */
    else if (waiter != NULL)
        io_fiber_wake(waiter);
}

void io_complete_later(struct io_op *op, int status)
{
    struct io *io = op->io;
    CD_ASSERT(io != NULL);
    op->status = status;
    op->cancel = NULL;
    if (io->defer != NULL) {
        io->defer(io, op, status);
        return;
    }
    cd_link_remove(&op->link);
    cd_list_push(&io->deferred, &op->link);
    if (io->entered == 0 && io->wake != NULL)
        io->wake(io);
}

void io_defer(struct io_op *op, struct io *io, int status, io_done_fn *done)
{
    io_begin(op, io, done);
    io_complete_later(op, status);
}

void io_cancel(struct io_op *op)
{
    if (op->io == NULL || op->canceling)
        return;
    op->canceling = true;
    if (op->cancel != NULL)
        op->cancel(op);
}

bool io_turn_end(struct io *io, unsigned max)
{
    CD_ASSERT(io->entered > 0 && io->running == NULL);
    for (unsigned run = 0; run < max; run++) {
        /* Fibers first: they were woken by what has just happened and may use bytes that are lent for this
         * turn. */
        if (io_fiber_run_one(io))
            continue;
        struct cd_link *first = cd_list_pop(&io->deferred);
        if (first == NULL)
            return true;
        struct io_op *op = CD_CONTAINER(first, struct io_op, link);
        io_complete(op, op->status);
    }
    return cd_list_empty(&io->deferred) && cd_list_empty(&io->ready);
}

void io_signal_init(struct io_signal *s)
{
    cd_list_init(&s->waiting);
}

static void signal_cancel(struct io_op *op)
{
    cd_link_remove(&op->link);
    io_complete_later(op, IO_CANCELED);
}

void io_signal_wait(struct io_signal *s, struct io *io, struct io_op *op, io_done_fn *done)
{
    io_begin(op, io, done);
    op->cancel = signal_cancel;
    cd_list_push(&s->waiting, &op->link);
}

void io_signal_wake(struct io_signal *s, int status)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&s->waiting)) != NULL)
        io_complete_later(CD_CONTAINER(k, struct io_op, link), status);
}

uint64_t io_random_below(struct io *io, enum io_rand use, uint64_t n)
{
    CD_ASSERT(n > 0);
    /* Values above the last whole multiple of n would favour small results. */
    uint64_t reject = (UINT64_MAX - n + 1) % n, x;
    do {
        io_random(io, use, &x, sizeof x);
    } while (x < reject);
    return x % n;
}
