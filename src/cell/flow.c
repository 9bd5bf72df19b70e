/* cell/flow.c: fibers that work for a cell. The cell may stop waiting for one at any time (a fence): the flow
 * then finds no cell after its next await, cleans up and ends. */
#include "cell/cell_internal.h"

static void flow_ended(struct io_op *op, int status)
{
    struct cell_flow *f = CD_CONTAINER(op, struct cell_flow, ended);
    struct cell_shard *s = f->shard;
    struct cell *c = f->cell;
    (void)status; /* After a crash too. */
    cd_link_remove(&f->link);
    if (c != NULL) {
        c->flow = NULL;
        cd_buf_clear(&c->why);
        cd_buf_add_str(&c->why, cd_buf_str(&f->why));
        c->why_retryable = f->retryable;
        c->why_reset = false;
        cell_feed(c, f->event);
    }
    cd_buf_deinit(&f->why);
    cd_free(f);
    cell_shard_settle(s);
}

static void flow_main(void *arg)
{
    struct cell_flow *f = arg;
    f->run(f);
    f->fiber = NULL;
    io_defer(&f->ended, f->shard->o.io, IO_OK, flow_ended);
}

struct cell_flow *cell_flow_start(struct cell *c, const char *name, void (*flow)(struct cell_flow *f))
{
    CD_ASSERT(c->flow == NULL);
    struct cell_flow *f = cd_new(struct cell_flow);
    f->shard = c->shard;
    f->cell = c;
    f->run = flow;
    c->flow = f;
    cd_list_push(&c->shard->flows, &f->link);
    f->fiber = io_spawn(c->shard->o.io, name, flow_main, f);
    return f;
}

void cell_flow_detached(struct cell_shard *s, const char *name, struct cell_flow *f,
                        void (*run)(struct cell_flow *f))
{
    f->shard = s;
    f->run = run;
    cd_list_push(&s->flows, &f->link);
    f->fiber = io_spawn(s->o.io, name, flow_main, f);
}

void cell_flows_cancel(struct cell_shard *s)
{
    for (struct cd_link *k = cd_list_first(&s->flows); k != NULL; k = cd_list_next(&s->flows, k)) {
        struct cell_flow *f = CD_CONTAINER(k, struct cell_flow, link);
        if (f->cell == NULL && f->fiber != NULL)
            io_fiber_cancel(f->fiber);
    }
}

void cell_flow_abandon(struct cell *c)
{
    struct cell_flow *f = c->flow;
    if (f == NULL)
        return;
    c->flow = NULL;
    f->cell = NULL;
    if (f->fiber != NULL)
        io_fiber_cancel(f->fiber);
}

int cell_flow_proven(struct cell_flow *f, uint64_t seq, uint64_t deadline_ns)
{
    struct log_wait w = {.seq = seq};
    log_feed_wait(f->shard->feed, &w, NULL);
    return io_await(&w.op, deadline_ns);
}
