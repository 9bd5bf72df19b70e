/* tests/io/support.c: see support.h. */
#include "support.h"

int await(struct io_op *op)
{
    if (op->io == NULL)
        return op->status;
    struct io *io = op->io;
    uint64_t deadline_ns = io_now_ns(io) + IO_SEC(30);
    int status = io_await(op, deadline_ns);
    CHECK(status != IO_TIMEDOUT || io_now_ns(io) < deadline_ns); /* Some ops time out by themselves. */
    return status;
}

void turn(struct contract *c)
{
    for (int i = 0; i < 20; i++)
        CHECK_INT(io_sleep(c->io, 0), IO_OK);
}

static void task_flow(void *arg)
{
    struct task *t = arg;
    t->run(t->c, t->arg);
    t->ended = true;
    io_signal_wake(&t->over, IO_OK);
}

void task_start(struct task *t, struct contract *c, void (*run)(struct contract *c, void *arg), void *arg)
{
    *t = (struct task){.c = c, .run = run, .arg = arg};
    io_signal_init(&t->over);
    t->fiber = io_spawn(c->io, "task", task_flow, t);
}

void task_join(struct task *t)
{
    struct io_op op = {0};
    while (!t->ended) {
        io_signal_wait(&t->over, t->c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

void probe_init(struct probe *p)
{
    *p = (struct probe){0};
    io_signal_init(&p->called);
}

void probe_done(struct io_op *op, int status)
{
    static uint64_t order;
    struct probe *p = CD_CONTAINER(op, struct probe, op);
    CHECK(!io_busy(op));
    CHECK(op->status == status);
    p->calls++;
    p->status = status;
    p->order = ++order;
    io_signal_wake(&p->called, IO_OK);
}

int probe_wait(struct contract *c, struct probe *p)
{
    struct io_op op = {0};
    while (p->calls == 0) {
        io_signal_wait(&p->called, c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
    return p->status;
}

void listen_any(struct contract *c, struct io_listener *l, struct io_addr *at)
{
    *at = (struct io_addr){.host = "127.0.0.1"};
    CHECK_INT(io_listen(l, c->io, at, 0), IO_OK);
    io_listener_addr(l, at);
    CHECK(at->port != 0);
}

void listener_close(struct io_listener *l)
{
    struct io_op op = {0};
    io_listener_close(l, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    CHECK(l->io == NULL);
}

int stream_connect(struct io_stream *s, struct io *io, const struct io_addr *to)
{
    struct io_op op = {0};
    io_connect(s, io, to, &op, NULL);
    return await(&op);
}

int stream_accept(struct io_listener *l, struct io_stream *s)
{
    struct io_op op = {0};
    io_accept(l, s, &op, NULL);
    return await(&op);
}

void pair_open(struct contract *c, struct pair *p)
{
    struct io_listener l = {0};
    struct io_addr at;
    struct io_op connect = {0};
    *p = (struct pair){0};
    listen_any(c, &l, &at);
    io_connect(&p->client, c->io, &at, &connect, NULL);
    CHECK_INT(stream_accept(&l, &p->server), IO_OK);
    CHECK_INT(await(&connect), IO_OK);
    CHECK(p->client.io == c->io && p->server.io == c->io);
    listener_close(&l);
}

void pair_close(struct pair *p)
{
    if (p->client.io != NULL)
        stream_close(&p->client, false);
    if (p->server.io != NULL)
        stream_close(&p->server, false);
}

int stream_write(struct io_stream *s, struct cd_str bytes)
{
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(s, &w, NULL);
    return await(&w.op);
}

int stream_finish(struct io_stream *s)
{
    struct io_op op = {0};
    io_stream_finish(s, &op, NULL);
    return await(&op);
}

void stream_close(struct io_stream *s, bool reset)
{
    struct io_op op = {0};
    io_stream_close(s, reset, &op, NULL);
    CHECK_INT(await(&op), IO_OK);
    CHECK(s->io == NULL);
}

int stream_read(struct io_stream *s, void *buf, size_t cap, size_t *len)
{
    struct io_read r = {.buf = buf, .cap = cap};
    io_stream_read(s, &r, NULL);
    int status = await(&r.op);
    CHECK(status != IO_OK || (r.len >= 1 && r.len <= cap));
    *len = status == IO_OK ? r.len : 0;
    return status;
}

int stream_read_to(struct io_stream *s, struct cd_buf *out, size_t max)
{
    while (out->len < max) {
        char bytes[4096];
        size_t room = max - out->len, len = 0;
        int status = stream_read(s, bytes, room < sizeof bytes ? room : sizeof bytes, &len);
        if (status != IO_OK)
            return status;
        cd_buf_add(out, bytes, len);
    }
    return IO_OK;
}

static char pattern_at(uint64_t at)
{
    return (char)(at * 131 + (at >> 8) * 17 + (at >> 16) * 7);
}

void pattern_fill(void *out, size_t len, uint64_t from)
{
    for (size_t i = 0; i < len; i++)
        ((char *)out)[i] = pattern_at(from + i);
}

bool pattern_is(const void *bytes, size_t len, uint64_t from)
{
    for (size_t i = 0; i < len; i++) {
        if (((const char *)bytes)[i] != pattern_at(from + i))
            return false;
    }
    return true;
}
