/* js/cell_splice.c: see cell_splice.h. */
#include "js/cell_splice.h"

#include "cell/wire.h"
#include "http/ws.h"
#include "js/wire_format.h"

/* A client that does not read what it is sent gets nothing more from the cell for a while. */
#define UNSENT_MAX (1u << 20)

struct js_splices {
    struct io *io;
    struct http_ws_host *host;
    struct io_op stopped;
    struct io_op *op;
    io_done_fn *done;
};

/* One socket. It is freed when both ends have gone and no message is on its way to the client. */
struct splice {
    struct http_ws *ws; /* owned; NULL: ended */
    struct cell_wire *wire; /* owned; NULL: closed */
    unsigned sends;
    bool closing; /* The client was sent a close frame. */
    bool paused; /* Nobody is attached to the wire: the client is slow. */
    bool held_up; /* The client is not read from: the cell is slow. */
};

struct send {
    struct http_ws_send send;
    struct splice *splice;
    struct cd_buf bytes; /* owned */
};

static void splice_free_if_done(struct splice *s)
{
    if (s->ws == NULL && s->wire == NULL && s->sends == 0)
        cd_free(s);
}

/* ---- From the client ---- */

static void wire_put(struct splice *s, enum js_wire_kind kind, uint32_t id, struct cd_str bytes)
{
    if (s->wire == NULL)
        return;
    struct cd_buf message = {0};
    js_wire_add_head(&message, kind, (uint16_t)id); /* No more than a close code. */
    cd_buf_add_str(&message, bytes);
    cell_wire_send(s->wire, &message);
    cd_buf_deinit(&message);
}

static void on_ws_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct splice *s = arg;
    wire_put(s, kind == HTTP_WS_TEXT ? JS_WIRE_TEXT : JS_WIRE_BINARY, 0, bytes);
    if (s->wire != NULL && !s->held_up && cell_wire_full(s->wire)) {
        s->held_up = true;
        http_ws_pause(ws);
    }
}

static void go_on(struct splice *s)
{
    if (s->held_up && s->ws != NULL)
        http_ws_resume(s->ws);
    s->held_up = false;
}

static void on_wire_drained(void *arg, struct cell_wire *w)
{
    (void)w;
    go_on(arg);
}

static void on_ws_closing(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason)
{
    struct splice *s = arg;
    (void)ws;
    wire_put(s, JS_WIRE_CLOSING, code, reason);
    if (s->wire == NULL && !s->closing) { /* Nobody is there to answer it. */
        s->closing = true;
        int rc = http_ws_close(s->ws, code, reason);
        CD_MAYBE(rc != 0);
    }
}

static void on_ws_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct splice *s = arg;
    s->ws = NULL;
    http_ws_free(ws);
    if (s->wire != NULL) {
        if (!clean)
            wire_put(s, JS_WIRE_ENDED, code, reason);
        cell_wire_close(s->wire, NULL);
        s->wire = NULL;
    }
    splice_free_if_done(s);
}

static const struct http_ws_listener listener = {on_ws_message, on_ws_closing, on_ws_ended};

/* ---- From the cell ---- */

static const struct cell_wire_hooks hooks;

static void send_done(struct io_op *op, int status)
{
    struct send *n = CD_CONTAINER(op, struct send, send.op);
    struct splice *s = n->splice;
    CD_MAYBE(status != IO_OK); /* Then the socket says so itself. */
    cd_buf_deinit(&n->bytes);
    cd_free(n);
    s->sends--;
    if (s->paused && s->ws != NULL && s->wire != NULL && http_ws_unsent(s->ws) < UNSENT_MAX) {
        s->paused = false;
        cell_wire_attach(s->wire, &hooks, s);
    }
    splice_free_if_done(s);
}

static void ws_close(struct splice *s, unsigned code, struct cd_str reason)
{
    if (s->ws == NULL || s->closing)
        return;
    s->closing = true;
    go_on(s); /* What still comes is dropped, up to the client's close frame. */
    if (http_ws_close(s->ws, code, reason) == CD_EINVAL)
        http_ws_abort(s->ws); /* No code that may travel. */
}

static void ws_put(struct splice *s, enum http_ws_opcode kind, struct cd_buf *bytes)
{
    if (s->ws == NULL || s->closing)
        return;
    struct send *n = cd_new(struct send);
    n->splice = s;
    n->bytes = cd_buf_move(bytes);
    s->sends++;
    struct cd_str all = cd_buf_str(&n->bytes);
    http_ws_send(s->ws, &n->send, kind, cd_str_of(all.ptr + JS_WIRE_HEAD_SIZE, all.len - JS_WIRE_HEAD_SIZE),
                 send_done);
    if (s->wire != NULL && http_ws_unsent(s->ws) >= UNSENT_MAX) {
        s->paused = true;
        cell_wire_attach(s->wire, NULL, NULL);
    }
}

/* What is not of a socket is late news of the request that brought it. */
static void on_wire_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct splice *s = arg;
    struct cd_str all = cd_buf_str(bytes);
    (void)w;
    if (all.len < JS_WIRE_HEAD_SIZE)
        return;
    unsigned code = (uint16_t)js_wire_id(all);
    struct cd_str rest = cd_str_of(all.ptr + JS_WIRE_HEAD_SIZE, all.len - JS_WIRE_HEAD_SIZE);
    switch ((uint8_t)all.ptr[0]) {
    case JS_WIRE_TEXT: ws_put(s, HTTP_WS_TEXT, bytes); break;
    case JS_WIRE_BINARY: ws_put(s, HTTP_WS_BINARY, bytes); break;
    case JS_WIRE_CLOSING: ws_close(s, code, rest); break;
    case JS_WIRE_ENDED:
        if (s->ws != NULL)
            http_ws_abort(s->ws);
        break;
    }
}

static void on_wire_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct splice *s = arg;
    (void)why;
    s->wire = NULL;
    cell_wire_close(w, NULL);
    go_on(s);
    ws_close(s, 1012, (struct cd_str){0}); /* Unless the socket was closed before. */
    splice_free_if_done(s);
}

static const struct cell_wire_hooks hooks = {on_wire_message, on_wire_closed, NULL, on_wire_drained};

void js_splice(struct http_ws *ws, struct cell_wire *wire)
{
    struct splice *s = cd_new(struct splice);
    s->ws = ws;
    s->wire = wire;
    cell_wire_attach(wire, &hooks, s);
    http_ws_listen(ws, &listener, s);
}

/* ---- All of a loop ---- */

struct js_splices *js_splices_new(struct io *io)
{
    struct js_splices *s = cd_new(struct js_splices);
    s->io = io;
    s->host = http_ws_host_new(io, &(struct http_ws_opts){.no_close_reply = true}); /* The cell answers. */
    return s;
}

struct http_ws_host *js_splices_host(struct js_splices *s)
{
    return s->host;
}

static void on_stopped(struct io_op *op, int status)
{
    struct js_splices *s = CD_CONTAINER(op, struct js_splices, stopped);
    CD_MAYBE(status != IO_OK); /* Sockets that were cut. */
    struct io *io = s->io;
    struct io_op *waits = s->op;
    io_done_fn *done = s->done;
    http_ws_host_free(s->host);
    cd_free(s);
    io_defer(waits, io, IO_OK, done);
}

void js_splices_stop(struct js_splices *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done)
{
    s->op = op;
    s->done = done;
    http_ws_host_stop(s->host, 1012, grace_ns, &s->stopped, on_stopped);
}
