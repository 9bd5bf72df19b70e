/* e2e/http_serve.c: a server of src/http on the real system, for tests with foreign clients and for
 * benchmarks.
 *
 * usage: http_serve [name=value...]: port, head_ms, idle_ms, body_ms, write_ms, body_max, message_max,
 * connections. Prints "listening PORT". SIGTERM stops it with two seconds of grace. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encode.h"
#include "http/ws.h"
#include "io_real/io_real.h"

#define BODY_ROOM 65536

struct serve {
    struct io *io;
    struct io_real *node;
    struct http_server_opts opts;
    struct io_addr at;
    struct http_server *server;
    struct http_ws_opts socket_opts;
    struct http_ws_host *sockets;
    struct io_op stop, sockets_stop;
    unsigned gone, broken;
    unsigned closed_code; /* Of the last socket that ended. */
    bool closed_clean;
};

/* One exchange that takes more than one step. */
struct talk {
    struct serve *s;
    struct http_exchange *x;
    struct io_read read;
    struct io_write write;
    struct io_timer timer;
    struct cd_str part;
    uint64_t bytes;
    uint32_t crc;
    uint64_t left;
    char *room; /* owned */
};

static void talk_free(struct talk *t)
{
    cd_free(t->room);
    cd_free(t);
}

static void talk_gone(struct http_exchange *x, int status)
{
    struct talk *t = x->user;
    (void)status;
    t->s->gone++;
}

static struct talk *talk_new(struct serve *s, struct http_exchange *x)
{
    struct talk *t = cd_new(struct talk);
    t->s = s;
    t->x = x;
    x->user = t;
    x->gone = talk_gone;
    return t;
}

/* ---- /count: reads the body and says how long it was ---- */

static void count_read(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, read.op);
    if (status == IO_OK) {
        t->bytes += t->read.len;
        t->crc = cd_crc32c(t->crc, t->read.buf, t->read.len);
        http_body_read(t->x, &t->read, count_read);
        return;
    }
    if (status == IO_EOF) {
        struct cd_buf text = {0};
        cd_buf_addf(&text, "%llu %08x", (unsigned long long)t->bytes, t->crc);
        http_answer_text(t->x, 200, "text/plain", cd_buf_str(&text));
        cd_buf_deinit(&text);
    } else {
        t->s->broken++;
        http_exchange_close(t->x);
    }
    talk_free(t);
}

/* ---- /echo: sends the body back while it comes ---- */

static void echo_read(struct io_op *op, int status);

static void echo_written(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, write.op);
    if (status == IO_OK && t->left > 0) { /* Here: the body goes on. */
        t->read.buf = t->room;
        t->read.cap = BODY_ROOM;
        http_body_read(t->x, &t->read, echo_read);
        return;
    }
    t->s->broken += status != IO_OK;
    http_exchange_close(t->x);
    talk_free(t);
}

static void echo_read(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, read.op);
    t->left = status == IO_OK;
    if (status != IO_OK && status != IO_EOF) {
        t->s->broken++;
        http_exchange_close(t->x);
        talk_free(t);
        return;
    }
    t->part = cd_str_of(t->read.buf, t->read.len);
    t->write.part = &t->part;
    t->write.parts = status == IO_OK ? 1 : 0;
    http_answer_write(t->x, &t->write, status == IO_EOF, echo_written);
}

static void echo_start(struct talk *t)
{
    const struct http_answer answer = {.status = 200, .body_len = t->x->head->body_len};
    t->room = cd_alloc(BODY_ROOM);
    t->left = 1;
    t->write.parts = 0;
    http_answer_start(t->x, &answer, &t->write, false, echo_written);
}

/* ---- /big?N: N bytes ---- */

static void big_written(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, write.op);
    if (status != IO_OK || t->left == 0) {
        t->s->broken += status != IO_OK;
        http_exchange_close(t->x);
        talk_free(t);
        return;
    }
    t->part = cd_str_of(t->room, t->left < BODY_ROOM ? (size_t)t->left : BODY_ROOM);
    t->write.part = &t->part;
    t->write.parts = 1;
    t->left -= t->part.len;
    http_answer_write(t->x, &t->write, t->left == 0, big_written);
}

static void big_start(struct talk *t)
{
    uint64_t size = 0;
    if (cd_str_u64(t->x->head->where.query, &size) != 0)
        size = 0;
    const struct http_answer answer = {.status = 200, .body_len = size};
    t->room = cd_alloc(BODY_ROOM);
    for (size_t i = 0; i < BODY_ROOM; i++)
        t->room[i] = (char)('a' + i % 23);
    t->left = size;
    t->write.parts = 0;
    http_answer_start(t->x, &answer, &t->write, size == 0, big_written);
}

/* ---- /slow: answers after half a second ---- */

static void slow_done(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, timer.op);
    (void)status;
    http_answer_text(t->x, 200, "text/plain", CD_STR("slow"));
    talk_free(t);
}

/* ---- /ws: sends messages back; "close CODE REASON" closes ---- */

struct bounce {
    struct http_ws_send send;
    struct http_ws *ws;
    struct cd_buf bytes;
};

static void bounced(struct io_op *op, int status)
{
    struct bounce *b = CD_CONTAINER(op, struct bounce, send.op);
    if (status == IO_OK && b->ws != NULL)
        http_ws_resume(b->ws);
    cd_buf_deinit(&b->bytes);
    cd_free(b);
}

static bool close_wanted(struct http_ws *ws, struct cd_str text)
{
    struct cd_str word;
    uint64_t code = 0;
    if (!cd_str_starts(text, CD_STR("close ")))
        return false;
    text = cd_str_sub(text, 6, SIZE_MAX);
    if (!cd_str_next(&text, ' ', &word) || cd_str_u64(word, &code) != 0)
        return false;
    return http_ws_close(ws, (unsigned)code, text) == 0;
}

static void ws_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    (void)arg;
    if (kind == HTTP_WS_TEXT && close_wanted(ws, bytes))
        return;
    struct bounce *b = cd_new(struct bounce);
    b->ws = ws;
    cd_buf_add_str(&b->bytes, bytes);
    /* A megabyte of unsent answers is enough: the client has to wait. */
    if (http_ws_unsent(ws) + bytes.len > 1u << 20)
        http_ws_pause(ws);
    http_ws_send(ws, &b->send, kind, cd_buf_str(&b->bytes), bounced);
}

static void ws_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct serve *s = arg;
    (void)reason;
    s->closed_code = code;
    s->closed_clean = clean;
    http_ws_free(ws);
}

static const struct http_ws_listener ws_listener = {ws_message, NULL, ws_ended};

struct accepting {
    struct http_ws_accept a;
    struct serve *s;
};

static void ws_accepted(struct io_op *op, int status)
{
    struct accepting *with = CD_CONTAINER(op, struct accepting, a.op);
    if (status == IO_OK)
        http_ws_listen(with->a.ws, &ws_listener, with->s);
    cd_free(with);
}

static void ws_accept(struct serve *s, struct http_exchange *x)
{
    struct accepting *with = cd_new(struct accepting);
    struct cd_str offered =
        http_field_value(x->head->field, x->head->field_count, CD_STR("sec-websocket-protocol"));
    with->s = s;
    http_ws_accept(&with->a, s->sockets, x,
                   http_list_has(offered, CD_STR("bounce")) ? CD_STR("bounce") : CD_STR(""), NULL, 0,
                   ws_accepted);
}

/* ---- What is known at once ---- */

static void answer_fields(struct http_exchange *x)
{
    struct cd_buf text = {0};
    const struct http_head *h = x->head;
    cd_buf_addf(&text, "%.*s %.*s\n", (int)h->method.len, h->method.ptr, (int)h->target.len, h->target.ptr);
    for (size_t i = 0; i < h->field_count; i++)
        cd_buf_addf(&text, "%.*s: %.*s\n", (int)h->field[i].name.len, h->field[i].name.ptr,
                    (int)h->field[i].value.len, h->field[i].value.ptr);
    http_answer_text(x, 200, "text/plain", cd_buf_str(&text));
    cd_buf_deinit(&text);
}

static void answer_stats(struct serve *s, struct http_exchange *x)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text,
                "{\"connections\":%u,\"sockets\":%u,\"gone\":%u,\"broken\":%u,\"code\":%u,\"clean\":%s}",
                http_server_connections(s->server), http_ws_host_count(s->sockets), s->gone, s->broken,
                s->closed_code, s->closed_clean ? "true" : "false");
    http_answer_text(x, 200, "application/json", cd_buf_str(&text));
    cd_buf_deinit(&text);
}

static void handle(void *arg, struct http_exchange *x)
{
    struct serve *s = arg;
    struct cd_str path = x->head->where.path;
    if (cd_str_eq(path, CD_STR("/hello"))) {
        http_answer_text(x, 200, "text/plain", CD_STR("hello"));
    } else if (cd_str_eq(path, CD_STR("/count"))) {
        http_body_read(x, &talk_new(s, x)->read, count_read);
    } else if (cd_str_eq(path, CD_STR("/echo"))) {
        echo_start(talk_new(s, x));
    } else if (cd_str_eq(path, CD_STR("/big"))) {
        big_start(talk_new(s, x));
    } else if (cd_str_eq(path, CD_STR("/slow"))) {
        io_timer_start(&talk_new(s, x)->timer, s->io, IO_MS(500), slow_done);
    } else if (cd_str_eq(path, CD_STR("/fields"))) {
        answer_fields(x);
    } else if (cd_str_eq(path, CD_STR("/stats"))) {
        answer_stats(s, x);
    } else if (cd_str_eq(path, CD_STR("/ws"))) {
        ws_accept(s, x);
    } else if (cd_str_eq(path, CD_STR("/cut"))) {
        http_exchange_close(x);
    } else {
        http_answer_text(x, 404, "text/plain", CD_STR("not found"));
    }
}

/* ---- Start and end ---- */

static void sockets_stopped(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, sockets_stop);
    (void)status;
    http_ws_host_free(s->sockets);
    io_stop(s->io);
}

static void stopped(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, stop);
    (void)status;
    http_server_free(s->server);
    http_ws_host_stop(s->sockets, HTTP_WS_RESTART, IO_SEC(1), &s->sockets_stop, sockets_stopped);
}

static void signaled(struct io *io, int number, void *arg)
{
    struct serve *s = arg;
    (void)io;
    (void)number;
    if (!io_busy(&s->stop) && !io_busy(&s->sockets_stop))
        http_server_stop(s->server, IO_SEC(2), &s->stop, stopped);
}

static void entry(struct io *io, void *arg)
{
    struct serve *s = arg;
    s->io = io;
    s->sockets = http_ws_host_new(io, &s->socket_opts);
    int rc = http_server_open(&s->server, io, &s->at, 0, &s->opts, handle, s);
    if (rc != 0) {
        fprintf(stderr, "http_serve: cannot listen: %s\n", cd_err_text(rc));
        exit(1);
    }
    struct io_addr at;
    http_server_addr(s->server, &at);
    printf("listening %u\n", at.port);
    fflush(stdout);
}

static void option(struct serve *s, const char *text)
{
    struct cd_str rest = cd_str(text), name;
    uint64_t value = 0;
    if (!cd_str_next(&rest, '=', &name) || cd_str_u64(rest, &value) != 0) {
        fprintf(stderr, "http_serve: %s: want name=number\n", text);
        exit(1);
    }
    if (cd_str_eq(name, CD_STR("port")))
        s->at.port = (uint16_t)value;
    else if (cd_str_eq(name, CD_STR("head_ms")))
        s->opts.head_timeout_ns = IO_MS(value);
    else if (cd_str_eq(name, CD_STR("idle_ms")))
        s->opts.idle_timeout_ns = IO_MS(value);
    else if (cd_str_eq(name, CD_STR("body_ms")))
        s->opts.body_timeout_ns = IO_MS(value);
    else if (cd_str_eq(name, CD_STR("write_ms")))
        s->opts.write_timeout_ns = IO_MS(value);
    else if (cd_str_eq(name, CD_STR("body_max")))
        s->opts.limits.body_max = value;
    else if (cd_str_eq(name, CD_STR("message_max")))
        s->socket_opts.message_max = value;
    else if (cd_str_eq(name, CD_STR("connections")))
        s->opts.connections_max = (unsigned)value;
    else {
        fprintf(stderr, "http_serve: unknown option %s\n", text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct serve s = {.at = {.host = "127.0.0.1"}};
    for (int i = 1; i < argc; i++)
        option(&s, argv[i]);
    s.node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    io_real_on_signal(s.node, signaled, &s);
    io_real_run(s.node, entry, &s);
    unsigned open = io_real_open_count(io_real_loop(s.node, 0));
    io_real_free(s.node);
    if (open != 0)
        fprintf(stderr, "http_serve: %u left open\n", open);
    return open != 0;
}
