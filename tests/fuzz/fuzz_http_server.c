/* fuzz/fuzz_http_server.c: a whole server on the simulator: connections, bodies, answers, WebSockets. The
 * first byte seeds the cuts and the order of events; the others are what a client sends before it
 * half-closes. */
#include "fuzz/fuzz.h"

#include "base/rng.h"
#include "http/ws.h"
#include "io_sim/io_sim.h"

struct serve {
    struct sim *sim;
    struct sim_node *server_node, *client_node;
    struct http_server *server;
    struct http_ws_host *sockets;
    struct cd_str bytes;
    uint64_t seed;
    bool sent, stopped, sockets_stopped;
    unsigned open; /* Exchanges that are not closed. */
    struct io_op stop, sockets_stop;
};

struct echo {
    struct serve *s;
    struct http_exchange *x;
    struct io_read read;
    struct io_write write;
    struct cd_str part;
    char room[100];
};

static void echo_end(struct echo *e)
{
    e->s->open--;
    http_exchange_close(e->x);
    cd_free(e);
}

static void echo_read(struct io_op *op, int status);

static void echo_written(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, write.op);
    if (status != IO_OK || e->write.parts == 0) {
        echo_end(e);
        return;
    }
    http_body_read(e->x, &e->read, echo_read);
}

static void echo_read(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, read.op);
    if (status != IO_OK && status != IO_EOF) {
        echo_end(e);
        return;
    }
    e->part = cd_str_of(e->room, e->read.len);
    e->write.part = &e->part;
    e->write.parts = status == IO_OK ? 1 : 0;
    http_answer_write(e->x, &e->write, status == IO_EOF, echo_written);
}

struct bounce {
    struct http_ws_send send;
    struct cd_buf bytes;
};

static void bounced(struct io_op *op, int status)
{
    struct bounce *b = CD_CONTAINER(op, struct bounce, send.op);
    (void)status;
    cd_buf_deinit(&b->bytes);
    cd_free(b);
}

static void ws_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    (void)arg;
    CD_ASSERT(kind == HTTP_WS_BINARY || cd_str_is_utf8(bytes));
    struct bounce *b = cd_new(struct bounce);
    cd_buf_add_str(&b->bytes, bytes);
    http_ws_send(ws, &b->send, kind, cd_buf_str(&b->bytes), bounced);
}

static void ws_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    (void)arg;
    CD_ASSERT(clean || code != HTTP_WS_NO_STATUS);
    CD_ASSERT(cd_str_is_utf8(reason));
    http_ws_free(ws);
}

static const struct http_ws_listener listener = {ws_message, NULL, ws_ended};

static void ws_accepted(struct io_op *op, int status)
{
    struct http_ws_accept *a = CD_CONTAINER(op, struct http_ws_accept, op);
    if (status == IO_OK)
        http_ws_listen(a->ws, &listener, NULL);
    cd_free(a);
}

static void handle(void *arg, struct http_exchange *x)
{
    struct serve *s = arg;
    if (http_ws_wanted(x->head)) {
        http_ws_accept(cd_new(struct http_ws_accept), s->sockets, x, CD_STR(""), NULL, 0, ws_accepted);
        return;
    }
    if (x->head->target.len % 3 == 0) {
        http_answer_text(x, 200, "text/plain", x->head->target);
        return;
    }
    struct echo *e = cd_new(struct echo);
    e->s = s;
    e->x = x;
    e->read.buf = e->room;
    e->read.cap = x->head->target.len % sizeof e->room + 1;
    e->write.part = &e->part;
    e->write.parts = 1;
    s->open++;
    const struct http_answer answer = {.status = 200, .body_len = HTTP_LEN_CHUNKED};
    http_answer_start(x, &answer, &e->write, false, echo_written);
}

static void boot(struct io *io, void *arg)
{
    struct serve *s = arg;
    const struct io_addr at = {.port = 80};
    const struct http_server_opts opts = {
        .limits = {.head_max = 4096, .target_max = 1024, .fields_max = 16, .body_max = 100000},
        .window = 1000};
    s->sockets = http_ws_host_new(io, &(struct http_ws_opts){.message_max = 5000});
    CD_ASSERT(http_server_open(&s->server, io, &at, 0, &opts, handle, s) == 0);
}

static void stopped(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, stop);
    (void)status;
    http_server_free(s->server);
    s->stopped = true;
}

static void sockets_stopped(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, sockets_stop);
    (void)status;
    http_ws_host_free(s->sockets);
    s->sockets_stopped = true;
}

static void stop(struct io *io, void *arg)
{
    (void)io;
    struct serve *s = arg;
    http_server_stop(s->server, IO_SEC(1), &s->stop, stopped);
    http_ws_host_stop(s->sockets, HTTP_WS_RESTART, IO_SEC(1), &s->sockets_stop, sockets_stopped);
}

static bool all_stopped(void *arg)
{
    const struct serve *s = arg;
    return s->stopped && s->sockets_stopped;
}

static void client(void *arg)
{
    struct serve *s = arg;
    struct io *io = sim_io(s->client_node, 0);
    struct io_stream stream = {0};
    struct io_op op = {0};
    const struct io_addr to = {.host = "server", .port = 80};
    struct cd_rng rng;
    cd_rng_seed(&rng, s->seed, CD_STR("cuts"));
    io_connect(&stream, io, &to, &op, NULL);
    int status = io_await(&op, IO_FOREVER);
    CD_ASSERT(status == IO_OK);
    for (size_t at = 0; at < s->bytes.len && status == IO_OK;) {
        struct cd_str piece = cd_str_sub(s->bytes, at, cd_rng_below(&rng, 200) + 1);
        struct io_write w = {.part = &piece, .parts = 1};
        at += piece.len;
        io_stream_write(&stream, &w, NULL);
        status = io_await(&w.op, IO_FOREVER);
        if (s->seed % 2 == 0)
            (void)io_sleep(io, IO_MS(1));
    }
    io_stream_finish(&stream, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    do {
        char room[1000];
        struct io_read r = {.buf = room, .cap = sizeof room};
        io_stream_read(&stream, &r, NULL);
        status = io_await(&r.op, io_now_ns(io) + IO_MS(100));
    } while (status == IO_OK);
    io_stream_close(&stream, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    s->sent = true;
}

static bool all_sent(void *arg)
{
    return ((const struct serve *)arg)->sent;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 20000)
        return 0;
    struct serve s = {.bytes = cd_str_of(data + 1, size - 1), .seed = data[0]};
    s.sim = sim_new(
        &(struct sim_opts){.seed = data[0], .policy = (enum sim_policy)(data[0] % 3), .slack_ns = 100000});
    s.server_node =
        sim_node(s.sim, &(struct sim_node_opts){.name = "server", .program = {.boot = boot, .arg = &s}});
    s.client_node = sim_node(s.sim, &(struct sim_node_opts){.name = "client", .client = true});
    sim_run_for(s.sim, IO_MS(1));
    (void)io_spawn(sim_io(s.client_node, 0), "client", client, &s);
    CD_ASSERT(sim_run_until(s.sim, all_sent, &s, IO_SEC(3600)));
    sim_in_loop(s.server_node, 0, stop, &s);
    CD_ASSERT(sim_run_until(s.sim, all_stopped, &s, IO_SEC(3600)));
    CD_ASSERT(s.open == 0);
    sim_free(s.sim);
    return 0;
}
