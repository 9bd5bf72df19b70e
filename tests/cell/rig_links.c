#include "cell/rig_links.h"

#include "cell/rig.h"
#include "cell/tunnel.h"

#define PORT 90

static struct link {
    struct cell_tunnels *tunnels;
    struct io_listener listener;
    struct io_fiber *accepting;
    struct io_op stop, close;
    bool stopped;
} links[2];

static struct stray {
    struct cd_buf bytes;
    struct io_stream stream;
    bool ended;
} stray;

static struct sim_node *node_of(unsigned i)
{
    return i == 0 ? rig.node : rig.other.node;
}

/* "m:90" */
static int dial(void *arg, struct cell_dial *d)
{
    struct io_addr to = {.port = PORT};
    struct io_op op = {0};
    (void)arg;
    rig.dials++;
    (void)snprintf(to.host, sizeof to.host, "%.1s", d->addr.ptr);
    io_connect(&d->stream, d->io, &to, &op, NULL);
    return io_await(&op, io_now_ns(d->io) + IO_SEC(3));
}

static void accept_flow(void *arg)
{
    struct link *l = arg;
    struct io *io = l->listener.io;
    for (;;) {
        struct io_stream s = {0};
        struct cd_buf rest = {0};
        struct io_op op = {0};
        io_accept(&l->listener, &s, &op, NULL);
        if (io_await(&op, IO_FOREVER) != IO_OK)
            break;
        cell_tunnels_accept(l->tunnels, io, &s, &rest);
    }
    l->accepting = NULL;
}

void rig_links_new(struct cell_router *r, unsigned node)
{
    links[node].tunnels = cell_tunnels_new(r);
}

void rig_links_boot(struct io *io, unsigned node)
{
    struct link *l = &links[node];
    struct io_addr at = {.port = PORT};
    if (l->tunnels == NULL)
        return;
    cell_tunnels_start(l->tunnels, &(struct cell_tunnels_opts){
                                       .io = io, .authority = &fake.authority, .dial = dial, .arg = NULL});
    assert_int_equal(io_listen(&l->listener, io, &at, 0), 0);
    l->accepting = io_spawn(io, "accept", accept_flow, l);
}

static void start(struct io *io, void *arg)
{
    (void)arg;
    rig_links_boot(io, 0);
}

void rig_links_start(void)
{
    sim_in_loop(rig.node, 0, start, NULL);
}

static void stopped(struct io_op *op, int status)
{
    (void)status;
    CD_CONTAINER(op, struct link, stop)->stopped = true;
}

static void ignore(struct io_op *op, int status)
{
    (void)op, (void)status;
}

static void stop_tunnels(struct io *io, void *arg)
{
    struct link *l = arg;
    if (l->tunnels != NULL && l->stop.done == NULL)
        cell_tunnels_stop(l->tunnels, io, false, &l->stop, stopped);
}

static void stop_links(struct io *io, void *arg)
{
    struct link *l = arg;
    if (l->tunnels == NULL || l->close.done != NULL)
        return;
    io_listener_close(&l->listener, &l->close, ignore);
    stop_tunnels(io, l);
}

void rig_links_unwind(struct io *io, unsigned node)
{
    struct link *l = &links[node];
    if (l->tunnels == NULL || l->close.done != NULL)
        return;
    io_listener_close(&l->listener, &l->close, ignore);
    if (l->stop.done == NULL)
        cell_tunnels_stop(l->tunnels, io, true, &l->stop, stopped);
}

void rig_links_stop_other(bool listening)
{
    sim_in_loop(rig.other.node, 0, listening ? stop_tunnels : stop_links, &links[1]);
}

void rig_links_stop(void)
{
    for (unsigned i = 0; i < 2; i++) {
        if (links[i].tunnels == NULL)
            continue;
        if (sim_node_life(node_of(i)) == SIM_UP)
            sim_in_loop(node_of(i), 0, stop_links, &links[i]);
        for (unsigned k = 0; k < 300 && !links[i].stopped; k++)
            rig_run(10);
        assert_true(links[i].stopped);
    }
}

void rig_links_free(void)
{
    for (unsigned i = 0; i < 2; i++) {
        cell_tunnels_free(links[i].tunnels);
        links[i] = (struct link){0};
    }
    cd_buf_deinit(&stray.bytes);
    stray = (struct stray){0};
}

static void stray_flow(void *arg)
{
    struct io *io = arg;
    struct io_addr to = {.host = "m", .port = PORT};
    struct io_op op = {0};
    io_connect(&stray.stream, io, &to, &op, NULL);
    assert_int_equal(io_await(&op, IO_FOREVER), IO_OK);
    struct cd_str part = cd_buf_str(&stray.bytes);
    struct io_write w = {.part = &part, .parts = 1};
    io_stream_write(&stray.stream, &w, NULL);
    (void)io_await(&w.op, IO_FOREVER);
    struct io_read r = {0};
    while (io_stream_read(&stray.stream, &r, NULL), io_await(&r.op, io_now_ns(io) + IO_SEC(1)) == IO_OK)
        r.buf = NULL;
    stray.ended = r.op.status != IO_CANCELED;
    io_stream_close(&stray.stream, true, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static void stray_start(struct io *io, void *arg)
{
    (void)arg;
    (void)io_spawn(io, "stray", stray_flow, io);
}

void rig_links_say(struct cd_str bytes)
{
    cd_buf_clear(&stray.bytes);
    stray.ended = false;
    cd_buf_add_str(&stray.bytes, bytes);
    sim_in_loop(rig.node, 0, stray_start, NULL);
    rig_run(1500);
}

const char *rig_links_heard(void)
{
    return stray.ended ? "ended" : "open";
}
