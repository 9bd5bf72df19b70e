/* io/backend.h: what io_real and io_sim share with the common part of src/io (op.c, fiber.c). Not for users of io.h.
 *
 * A backend embeds struct io as the first member of its loop and, around every callback it runs, does
 *
 *     io_enter(io); ... io_complete(op, status) / callback ...; io_turn_end(io); io_leave(io);
 *
 * io_turn_end runs deferred completions and the fibers they woke until none is left. In the simulator the scheduler
 * decides the order among them: it sets io->defer. */
#ifndef IO_BACKEND_H
#define IO_BACKEND_H

#include "io/io.h"

struct io {
    uint64_t next_serial;
    unsigned busy;          /* Ops in flight: 0 at the end of a clean loop. */
    unsigned fibers;        /* Alive. */
    struct cd_list ready;   /* Fibers to resume (io_fiber.link), in the order they were woken. */
    struct cd_list deferred;/* Ops to complete at the next turn, with op->status set (io_op.link). */
    struct cd_list alive;   /* All fibers, for diagnosis (io_fiber.alive). */
    /* NULL: io_defer appends to deferred. The simulator sets it to schedule an event of its own. */
    void (*defer)(struct io *io, struct io_op *op, int status);
    /* Told when deferred or ready became non-empty outside of a turn, so that a sleeping loop wakes. May be NULL. */
    void (*wake)(struct io *io);
    /* Told when a fiber became ready; NULL: it is appended to ready. */
    void *user; /* Of the program on top (a test, a node); not the backend's. */
};

void io_init(struct io *io);
void io_deinit(struct io *io); /* Asserts that nothing is pending; frees cached stacks. */

void io_enter(struct io *io); /* Sets io_current(). Nests. */
void io_leave(struct io *io);

/* Marks op busy and names it. The backend then sets op->cancel (may be NULL: cannot be hurried). */
void io_begin(struct io_op *op, struct io *io, io_done_fn *done);
/* Makes op idle, then calls done or wakes the waiting fiber. Only from the loop, never from submit or cancel. */
void io_complete(struct io_op *op, int status);
/* Completes at the next turn: what submit and cancel use when the result is known at once. op is busy already. */
void io_complete_later(struct io_op *op, int status);

/* Runs deferred completions and ready fibers until both are empty or max were run. False: more is left. */
bool io_turn_end(struct io *io, unsigned max);
/* One ready fiber runs until its next await. False: none was ready. */
bool io_fiber_run_one(struct io *io);

const char *io_fiber_name(const struct io_fiber *f);
/* Calls each for every living fiber: its name and the serial of the op it awaits (0: none). */
void io_fibers_each(struct io *io, void (*each)(void *arg, const char *name, uint64_t op_serial), void *arg);

#endif
