/* tests/io/harness.c: what both harnesses share. */
#include "support.h"

struct errand {
    struct io_msg msg;
    void (*work)(struct io *io, void *arg);
    void *arg;
    struct io_signal back;
    bool done;
};

static void errand_return(struct io *at, struct io_msg *m)
{
    (void)at;
    struct errand *e = CD_CONTAINER(m, struct errand, msg);
    e->done = true;
    io_signal_wake(&e->back, IO_OK);
}

static void errand_run(struct io *at, struct io_msg *m)
{
    struct errand *e = CD_CONTAINER(m, struct errand, msg);
    e->work(at, e->arg);
    e->msg.handle = errand_return;
    io_post(at, 0, &e->msg);
}

void contract_in_loop(struct contract *c, unsigned loop, void (*work)(struct io *io, void *arg), void *arg)
{
    struct errand e = {.msg.handle = errand_run, .work = work, .arg = arg};
    struct io_op op = {0};
    io_signal_init(&e.back);
    io_post(c->io, loop, &e.msg);
    while (!e.done) {
        io_signal_wait(&e.back, c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

void contract_run_loops(unsigned loops, void (*flow)(struct contract *c))
{
    contract_start(loops, flow, false);
}

void contract_run_store(unsigned loops, void (*flow)(struct contract *c))
{
    contract_start(loops, flow, true);
}

void contract_run(void (*flow)(struct contract *c))
{
    contract_start(1, flow, false);
}
