/* tests/io_sim/rig.h: a run with nodes whose flows are fibers, for the tests of the simulator. */
#ifndef IO_SIM_RIG_H
#define IO_SIM_RIG_H

#include "io_sim/io_sim.h"
#include "support/test.h"

static inline struct sim_node *rig_node(struct sim *sim, const char *name)
{
    return sim_node(sim, &(struct sim_node_opts){.name = name});
}

static inline struct sim_node *rig_node_loops(struct sim *sim, const char *name, unsigned loops)
{
    return sim_node(sim, &(struct sim_node_opts){.name = name, .loops = loops});
}

/* Runs until all flows have returned: no fiber is alive on any loop of the nodes. */
struct rig_idle {
    struct sim_node *node[4];
};

static inline bool rig_idle(void *arg)
{
    const struct rig_idle *r = arg;
    for (unsigned i = 0; i < CD_COUNT(r->node); i++) {
        if (r->node[i] != NULL && sim_node_life(r->node[i]) != SIM_DEAD && sim_left(r->node[i], NULL) != 0)
            return false;
    }
    return true;
}

static inline bool rig_run(struct sim *sim, struct sim_node *a, struct sim_node *b)
{
    struct rig_idle r = {{a, b}};
    return sim_run_until(sim, rig_idle, &r, IO_SEC(3600));
}

/* Listening, connecting and closing in fibers, where everything is expected to work. */
static inline void rig_close(struct io_stream *s)
{
    struct io_op op = {0};
    io_stream_close(s, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static inline void rig_listener_close(struct io_listener *l)
{
    struct io_op op = {0};
    io_listener_close(l, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static inline int rig_accept(struct io_listener *l, struct io_stream *s)
{
    struct io_op op = {0};
    io_accept(l, s, &op, NULL);
    return io_await(&op, IO_FOREVER);
}

static inline int rig_connect(struct io *io, struct io_stream *s, const char *host, uint16_t port)
{
    struct io_addr to = {.port = port};
    (void)snprintf(to.host, sizeof to.host, "%s", host);
    struct io_op op = {0};
    io_connect(s, io, &to, &op, NULL);
    return io_await(&op, IO_FOREVER);
}

static inline int rig_write(struct io_stream *s, const void *bytes, size_t len)
{
    struct cd_str part = cd_str_of(bytes, len);
    struct io_write w = {.part = &part, .parts = 1};
    io_stream_write(s, &w, NULL);
    return io_await(&w.op, IO_FOREVER);
}

/* Appends what comes until the end of the stream or an error, whose status it returns. */
static inline int rig_read_all(struct io_stream *s, struct cd_buf *into)
{
    for (;;) {
        struct io_read r = {0};
        io_stream_read(s, &r, NULL);
        int status = io_await(&r.op, IO_FOREVER);
        if (status != IO_OK)
            return status;
        cd_buf_add(into, r.buf, r.len);
    }
}

#endif
