/* tests/iocore/tiny.h: the smallest backend there can be, for tests of src/io/op.c and fiber.c alone.
 *
 * Its clock moves only when tiny_run has nothing else to do, or by hand. Its operations are begun and
 * completed by the test. Nothing here belongs to io_real or io_sim. */
#ifndef TINY_H
#define TINY_H

#include "io/backend.h"
#include "support/test.h"

struct tiny {
    struct io io; /* First: a struct io is its loop. */
    uint64_t now;
    struct cd_list timers; /* io_op.link, by time; on a tie by serial. */
    unsigned wakes; /* Calls of the wake hook. */
    unsigned cancels; /* Calls of the cancel hook of tiny ops. */
    uint64_t draws; /* State of io_random. */
};

void tiny_init(struct tiny *t);
void tiny_deinit(struct tiny *t); /* io_deinit, so: asserts that nothing is left. */

/* Begins an op that the test completes. When canceled it ends with IO_CANCELED at the next turn. */
void tiny_start(struct tiny *t, struct io_op *op, io_done_fn *done);
/* The same for one that cannot be hurried, as closing ops are. */
void tiny_start_closing(struct tiny *t, struct io_op *op, io_done_fn *done);
/* As one that counts its cancels and otherwise ignores them: the result is under way. */
void tiny_start_deaf(struct tiny *t, struct io_op *op, io_done_fn *done);

void tiny_complete(struct tiny *t, struct io_op *op, int status); /* In a turn of its own. */
void tiny_turn(struct tiny *t); /* One turn without any news: deferred ops and fibers that are ready. */
void tiny_advance(struct tiny *t, uint64_t ns); /* Moves the clock and fires the timers that are due. */
void tiny_run(struct tiny *t); /* Until no fiber is ready and no timer is left. */

/* Counts the completions of one op. */
struct tiny_count {
    struct io_op op;
    unsigned done;
    int status;
};
void tiny_count_done(struct io_op *op, int status);

#endif
