/* e2e/http_serve.c: a server of src/http on the real system, for tests with foreign clients and for
 * benchmarks.
 *
 * usage: http_serve [name=value...]: port, head_ms, idle_ms, body_ms, write_ms, body_max, connections. Prints
 * "listening PORT". SIGTERM stops it with two seconds of grace. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/encode.h"
#include "http/server.h"
#include "io_real/io_real.h"

#define BODY_ROOM 65536

struct serve {
    struct io *io;
    struct io_real *node;
    struct http_server_opts opts;
    struct io_addr at;
    struct http_server *server;
    struct io_op stop;
    unsigned gone, broken;
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

/* ---- /count: reads the body and says how long it was
 * ---------------------------------------------------------- */

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

/* ---- /echo: sends the body back while it comes
 * ---------------------------------------------------------------- */

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

/* ---- /big?N: N bytes
 * ------------------------------------------------------------------------------------------ */

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

/* ---- /slow: answers after half a second
 * ----------------------------------------------------------------------- */

static void slow_done(struct io_op *op, int status)
{
    struct talk *t = CD_CONTAINER(op, struct talk, timer.op);
    (void)status;
    http_answer_text(t->x, 200, "text/plain", CD_STR("slow"));
    talk_free(t);
}

/* ---- What is known at once
 * ------------------------------------------------------------------------------------ */

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
    cd_buf_addf(&text, "{\"connections\":%u,\"gone\":%u,\"broken\":%u}", http_server_connections(s->server),
                s->gone, s->broken);
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
    } else if (cd_str_eq(path, CD_STR("/cut"))) {
        http_exchange_close(x);
    } else {
        http_answer_text(x, 404, "text/plain", CD_STR("not found"));
    }
}

/* ---- Start and end
 * -------------------------------------------------------------------------------------------- */

static void stopped(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, stop);
    (void)status;
    http_server_free(s->server);
    io_stop(s->io);
}

static void signaled(struct io *io, int number, void *arg)
{
    struct serve *s = arg;
    (void)io;
    (void)number;
    if (!io_busy(&s->stop))
        http_server_stop(s->server, IO_SEC(2), &s->stop, stopped);
}

static void entry(struct io *io, void *arg)
{
    struct serve *s = arg;
    s->io = io;
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
