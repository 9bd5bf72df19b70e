/* io_sim/http_wire.c: requests to hosts that are nodes of the run: HTTP/1.1 over a stream of the asking loop,
 * one connection per request. A fiber connects, writes the head and reads the answer; bodies are written by
 * callbacks. */
#include <llhttp.h>

#include "io_sim/http.h"

struct sim_http_wire {
    struct sim_http *x; /* Lives until the wire has ended. */
    struct io *io;
    struct io_fiber *fiber;
    struct io_stream stream;
    struct io_signal more; /* The reader took bytes. */
    struct cd_buf out; /* The head, later the chunk with its frame. */
    struct cd_buf early; /* The first chunk, while the head is still being written. */
    struct cd_str part;
    struct io_write write;
    bool can_write; /* The head is written. */
    bool leaving;
    bool pending; /* A body chunk waits for the head. */
    llhttp_settings_t settings;
    llhttp_t parser;
    struct cd_buf head;
    bool in_value, complete;
};

static struct sim_http_wire *wire_of(llhttp_t *p)
{
    return p->data;
}

/* ---- The answer ---- */

static int on_begin(llhttp_t *p)
{
    cd_buf_clear(&wire_of(p)->head);
    return 0;
}

static int on_field(llhttp_t *p, const char *at, size_t len)
{
    cd_buf_add(&wire_of(p)->head, at, len);
    return 0;
}

static int on_field_end(llhttp_t *p)
{
    cd_buf_add_str(&wire_of(p)->head, CD_STR(": "));
    return 0;
}

static int on_value_end(llhttp_t *p)
{
    cd_buf_add_str(&wire_of(p)->head, CD_STR("\r\n"));
    return 0;
}

static int on_head(llhttp_t *p)
{
    struct sim_http_wire *w = wire_of(p);
    if (p->status_code < 200)
        return 0; /* 100 and 103 precede the answer. */
    if (!w->x->has_head && !w->x->over)
        sim_http_head_is_there(w->x, p->status_code, cd_buf_str(&w->head));
    return cd_str_eq(cd_buf_str(&w->x->method), CD_STR("HEAD")) ? 1 : 0;
}

static int on_body(llhttp_t *p, const char *at, size_t len)
{
    sim_http_body_is_there(wire_of(p)->x, cd_str_of(at, len));
    return 0;
}

static int on_complete(llhttp_t *p)
{
    if (p->status_code < 200)
        return 0;
    wire_of(p)->complete = true;
    return HPE_PAUSED;
}

static void parser_init(struct sim_http_wire *w)
{
    llhttp_settings_init(&w->settings);
    w->settings.on_message_begin = on_begin;
    w->settings.on_header_field = on_field;
    w->settings.on_header_field_complete = on_field_end;
    w->settings.on_header_value = on_field;
    w->settings.on_header_value_complete = on_value_end;
    w->settings.on_headers_complete = on_head;
    w->settings.on_body = on_body;
    w->settings.on_message_complete = on_complete;
    llhttp_init(&w->parser, HTTP_RESPONSE, &w->settings);
    w->parser.data = w;
}

/* Waits while the reader has enough to do. */
static int wait_room(struct sim_http_wire *w)
{
    while (w->x->in.len - w->x->in_at >= SIM_HTTP_KEPT_MAX) {
        struct io_op op = {0};
        io_signal_wait(&w->more, w->io, &op, NULL);
        int rc = io_await(&op, IO_FOREVER);
        if (rc != IO_OK)
            return rc;
    }
    return IO_OK;
}

/* IO_EOF: the answer is complete. */
static int read_answer(struct sim_http_wire *w)
{
    while (!w->complete) {
        int rc = wait_room(w);
        if (rc != IO_OK)
            return rc;
        struct io_read r = {0};
        io_stream_read(&w->stream, &r, NULL);
        rc = io_await(&r.op, IO_FOREVER);
        if (rc == IO_EOF) {
            (void)llhttp_finish(&w->parser); /* Completes an answer that only the end of the stream ends. */
            return w->complete ? IO_EOF : IO_RESET;
        }
        if (rc != IO_OK)
            return rc;
        llhttp_errno_t err = llhttp_execute(&w->parser, r.buf, r.len);
        if (err != HPE_OK && err != HPE_PAUSED)
            return IO_PROTOCOL;
    }
    return IO_EOF;
}

/* ---- The request ---- */

static bool tells_length(struct cd_str m)
{
    return cd_str_eq(m, CD_STR("POST")) || cd_str_eq(m, CD_STR("PUT")) || cd_str_eq(m, CD_STR("PATCH"));
}

static void head_text(struct sim_http_wire *w)
{
    struct sim_http *x = w->x;
    struct cd_buf *b = &w->out;
    cd_buf_add_str(b, cd_buf_str(&x->method));
    cd_buf_add_byte(b, ' ');
    cd_buf_add_str(b, cd_buf_str(&x->target));
    cd_buf_addf(b, " HTTP/1.1\r\nHost: %.*s", (int)x->host.len, x->host.ptr);
    if (x->port != 80 && x->port != 443)
        cd_buf_addf(b, ":%u", x->port);
    cd_buf_add_str(b, CD_STR("\r\n"));
    cd_buf_add_str(b, cd_buf_str(&x->lines));
    if (x->body_len == IO_HTTP_CHUNKED)
        cd_buf_add_str(b, CD_STR("Transfer-Encoding: chunked\r\n"));
    else if (x->body_len > 0 || tells_length(cd_buf_str(&x->method)))
        cd_buf_addf(b, "Content-Length: %llu\r\n", (unsigned long long)x->body_len);
    cd_buf_add_str(b, CD_STR("\r\n"));
}

static void body_done(struct io_op *op, int status)
{
    struct sim_http_wire *w = CD_CONTAINER(op, struct sim_http_wire, write.op);
    if (w->x->write != NULL)
        sim_op_finish(w->x->write, status, 0);
}

static void body_send(struct sim_http_wire *w)
{
    w->pending = false;
    w->part = cd_buf_str(&w->out);
    w->write = (struct io_write){.part = &w->part, .parts = 1};
    io_stream_write(&w->stream, &w->write, body_done);
}

void sim_http_wire_write(struct sim_http *x, struct cd_str bytes, bool last)
{
    struct sim_http_wire *w = x->wire;
    struct cd_buf *b = w->can_write ? &w->out : &w->early;
    cd_buf_clear(b);
    if (x->body_len == IO_HTTP_CHUNKED && bytes.len > 0)
        cd_buf_addf(b, "%llx\r\n", (unsigned long long)bytes.len);
    cd_buf_add_str(b, bytes);
    if (x->body_len == IO_HTTP_CHUNKED && bytes.len > 0)
        cd_buf_add_str(b, CD_STR("\r\n"));
    if (x->body_len == IO_HTTP_CHUNKED && last)
        cd_buf_add_str(b, CD_STR("0\r\n\r\n"));
    w->pending = true;
    if (w->can_write)
        body_send(w);
}

static int connect_and_ask(struct sim_http_wire *w)
{
    struct io_addr to = {.port = w->x->port};
    struct io_op op = {0};
    memcpy(to.host, w->x->host.ptr, w->x->host.len);
    io_connect(&w->stream, w->io, &to, &op, NULL);
    int rc = io_await(&op, io_now_ns(w->io) + w->x->connect_ns);
    if (rc != IO_OK)
        return rc;
    head_text(w);
    struct cd_str part = cd_buf_str(&w->out);
    struct io_write write = {.part = &part, .parts = 1};
    io_stream_write(&w->stream, &write, NULL);
    rc = io_await(&write.op, IO_FOREVER);
    if (rc != IO_OK)
        return rc;
    w->can_write = true;
    if (w->pending) {
        cd_buf_clear(&w->out);
        cd_buf_add_str(&w->out, cd_buf_str(&w->early));
        body_send(w);
    }
    return IO_OK;
}

static void wire_flow(void *arg)
{
    struct sim_http_wire *w = arg;
    struct sim_http *x = w->x;
    int rc = w->leaving ? IO_CANCELED : connect_and_ask(w);
    if (rc == IO_OK)
        rc = read_answer(w);
    if (!w->leaving)
        sim_http_end(x, rc);
    if (w->stream.io != NULL) {
        struct io_op op = {0};
        io_stream_close(&w->stream, rc != IO_EOF, &op, NULL);
        (void)io_await(&op, IO_FOREVER);
    }
    x->wire = NULL;
    cd_buf_deinit(&w->out);
    cd_buf_deinit(&w->early);
    cd_buf_deinit(&w->head);
    cd_free(w);
    sim_http_settle(x);
    sim_http_release(x);
}

void sim_http_wire_start(struct sim_http *x)
{
    struct sim_http_wire *w = cd_new(struct sim_http_wire);
    w->x = x;
    w->io = &x->loop->io;
    io_signal_init(&w->more);
    parser_init(w);
    x->wire = w;
    sim_http_hold(x);
    w->fiber = io_spawn(w->io, "http", wire_flow, w);
}

void sim_http_wire_more(struct sim_http *x)
{
    io_signal_wake(&x->wire->more, IO_OK);
}

/* The asking side does not want the answer any more. */
void sim_http_wire_leave(struct sim_http *x)
{
    struct sim_http_wire *w = x->wire;
    if (w->leaving)
        return;
    w->leaving = true;
    io_fiber_cancel(w->fiber);
}
