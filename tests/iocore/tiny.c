/* tests/iocore/tiny.c: a loop without a system below it. */
#include "iocore/tiny.h"

#define TURN_MAX 100000u

static struct io *current;

struct io **io_current_slot(void)
{
    return &current;
}

static struct tiny *tiny_of(struct io *io)
{
    return CD_CONTAINER(io, struct tiny, io);
}

static void count_wake(struct io *io)
{
    tiny_of(io)->wakes++;
}

void tiny_init(struct tiny *t)
{
    *t = (struct tiny){.now = 1000};
    io_init(&t->io);
    t->io.wake = count_wake;
    cd_list_init(&t->timers);
}

void tiny_deinit(struct tiny *t)
{
    CHECK(cd_list_empty(&t->timers));
    CHECK(current == NULL && t->io.entered == 0);
    CHECK(cd_list_empty(&t->io.ops));
    io_deinit(&t->io);
}

uint64_t io_now_ns(struct io *io)
{
    return tiny_of(io)->now;
}

void io_random(struct io *io, enum io_rand use, void *out, size_t len)
{
    unsigned char *p = out;
    (void)use;
    for (size_t i = 0; i < len; i++) {
        tiny_of(io)->draws = tiny_of(io)->draws * 6364136223846793005u + 1442695040888963407u;
        p[i] = (unsigned char)(tiny_of(io)->draws >> 56);
    }
}

static void cancel_now(struct io_op *op)
{
    tiny_of(op->io)->cancels++;
    cd_link_remove(&op->link);
    io_complete_later(op, IO_CANCELED);
}

static void cancel_ignored(struct io_op *op)
{
    tiny_of(op->io)->cancels++;
}

void io_timer_start(struct io_timer *timer, struct io *io, uint64_t after_ns, io_done_fn *done)
{
    struct tiny *t = tiny_of(io);
    io_begin(&timer->op, io, done);
    timer->at_ns = after_ns > UINT64_MAX - t->now ? UINT64_MAX : t->now + after_ns;
    timer->op.cancel = cancel_now;
    struct cd_link *at = t->timers.head.prev;
    while (at != &t->timers.head && CD_CONTAINER(at, struct io_timer, op.link)->at_ns > timer->at_ns)
        at = at->prev;
    cd_list_insert_before(at->next, &timer->op.link);
}

void tiny_start(struct tiny *t, struct io_op *op, io_done_fn *done)
{
    io_begin(op, &t->io, done);
    op->cancel = cancel_now;
}

void tiny_start_closing(struct tiny *t, struct io_op *op, io_done_fn *done)
{
    io_begin(op, &t->io, done);
}

void tiny_start_deaf(struct tiny *t, struct io_op *op, io_done_fn *done)
{
    io_begin(op, &t->io, done);
    op->cancel = cancel_ignored;
}

static void finish_turn(struct tiny *t)
{
    CHECK(io_turn_end(&t->io, TURN_MAX));
    io_leave(&t->io);
}

void tiny_complete(struct tiny *t, struct io_op *op, int status)
{
    io_enter(&t->io);
    io_complete(op, status);
    finish_turn(t);
}

void tiny_turn(struct tiny *t)
{
    io_enter(&t->io);
    finish_turn(t);
}

/* Fires the first timer if it is due at until. */
static bool fire_first(struct tiny *t, uint64_t until)
{
    struct cd_link *first = cd_list_first(&t->timers);
    if (first == NULL)
        return false;
    struct io_timer *timer = CD_CONTAINER(first, struct io_timer, op.link);
    if (timer->at_ns > until)
        return false;
    if (t->now < timer->at_ns)
        t->now = timer->at_ns;
    tiny_complete(t, &timer->op, IO_OK);
    return true;
}

void tiny_advance(struct tiny *t, uint64_t ns)
{
    uint64_t until = t->now + ns;
    while (fire_first(t, until))
        continue;
    t->now = until;
    tiny_turn(t);
}

void tiny_run(struct tiny *t)
{
    do {
        tiny_turn(t);
    } while (fire_first(t, UINT64_MAX));
}

void tiny_count_done(struct io_op *op, int status)
{
    struct tiny_count *c = CD_CONTAINER(op, struct tiny_count, op);
    CHECK(!io_busy(op));
    CHECK_INT(op->status, status);
    c->done++;
    c->status = status;
}
