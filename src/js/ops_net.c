/* js/ops_net.c: TCP connections that a Worker opens. runtime.md 5.8.
 *
 * A connection is known to JavaScript by the handle of what it receives, which is read like a body
 * (source_read) and closed like one (source_close). */
#include "js/ops_net.h"

#include "js/cells.h"
#include "js/ops.h"

struct connection {
    struct js_body body;
    struct io *io;
    struct io_stream stream;
    struct io_op connecting, finishing, closing;
    struct io_secure secure;
    struct js_async async; /* Of the connect, then of one write at a time. */
    struct js_effect effect; /* The same. */
    struct io_addr to;
    struct io_write write;
    struct cd_str part;
    struct cd_buf bytes; /* owned; of the write in flight, or the name that TLS checks */
    bool is_busy; /* Connecting, writing or finishing. */
    bool is_open, is_closing, is_secure;
    bool is_known; /* JavaScript has its handle. */
    bool gone; /* And has it no more. */
    bool abort; /* The peer shall see a reset. */
    bool held; /* A callback of it is at work. */
};

static void free_if_idle(struct connection *c);

static void close_done(struct io_op *op, int status)
{
    struct connection *c = CD_CONTAINER(op, struct connection, closing);
    (void)status;
    c->is_closing = c->is_open = false;
    free_if_idle(c);
}

static void free_if_idle(struct connection *c)
{
    if (!c->gone || c->is_closing || c->held)
        return;
    if (c->is_open) {
        c->is_closing = true;
        io_stream_close(&c->stream, c->abort, &c->closing, close_done);
        return;
    }
    if (c->is_busy)
        return;
    cd_buf_deinit(&c->bytes);
    cd_free(c);
}

/* ---- What it receives ---- */

static void body_read(struct js_body *b)
{
    struct connection *c = CD_CONTAINER(b, struct connection, body);
    if (c->is_open)
        io_stream_read(&c->stream, &b->read, js_body_done);
    else
        io_defer(&b->read.op, c->io, CD_ECLOSED, js_body_done);
}

static const char *body_why(struct js_body *b, int status)
{
    (void)b, (void)status;
    return "Network connection lost.";
}

static void body_close(struct js_body *b)
{
    struct connection *c = CD_CONTAINER(b, struct connection, body);
    c->gone = true;
    free_if_idle(c);
}

static const struct js_body_type connection_type = {body_read, body_close, body_why};

/* ---- Connecting ---- */

/* Of a connect, or of TLS. */
static void start_cancel(struct js_async *a)
{
    js_effect_cancel(&CD_CONTAINER(a, struct connection, async)->effect);
}

/* [handle, address of the peer] */
static int connected(struct connection *c, struct js_async *a, js_value *out)
{
    struct js_isolate *js = a->w->js;
    struct io_addr peer;
    struct cd_buf text = {0};
    io_stream_peer(&c->stream, &peer);
    bool is_v6 = cd_str_find(cd_str(peer.host), ':', 0) != SIZE_MAX;
    cd_buf_addf(&text, is_v6 ? "[%s]:%u" : "%s:%u", peer.host, peer.port);
    js_value address;
    int rc = js_string(js, cd_buf_str(&text), &address);
    cd_buf_deinit(&text);
    if (rc != 0)
        return rc;
    js_body_init(&c->body, a->w, a->event, &connection_type);
    c->is_known = true;
    const js_value pair[] = {js_number(js, (double)c->body.handle.id), address};
    *out = js_array(js, pair, CD_COUNT(pair));
    return 0;
}

static void connect_done(struct io_op *op, int status)
{
    struct connection *c = CD_CONTAINER(op, struct connection, connecting);
    struct js_async a;
    bool wanted = js_async_take(&c->async, &a);
    c->is_busy = false;
    c->is_open = status == IO_OK;
    c->held = true;
    if (wanted) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value v = NULL, error = NULL;
        if (status != IO_OK) {
            error =
                js_status_error(a.w, status, "proxy request failed, cannot connect to the specified address");
        } else if (connected(c, &a, &v) != 0) {
            error = js_try_exception(&e.t);
            js_try_clear(&e.t);
        }
        js_async_settle(&a, error, v);
        js_leave(&e);
    }
    c->held = false;
    c->gone = c->gone || !c->is_known;
    free_if_idle(c);
    js_async_end(&a);
}

static void connect_go(struct js_effect *x)
{
    struct connection *c = CD_CONTAINER(x, struct connection, effect);
    io_connect(&c->stream, c->io, &c->to, &c->connecting, connect_done);
}

/* tcp_connect(event, promise, host, port): [connection, address of the peer]. */
int js_op_tcp_connect(struct js_args *a)
{
    struct cd_buf host = {0};
    uint64_t port = 0;
    int rc = js_to_utf8(a->js, js_arg(a, 2), &host);
    if (rc == 0)
        rc = js_arg_u64(a, 3, &port);
    struct io_addr to = {.port = (uint16_t)port};
    if (rc == 0 && (host.len == 0 || host.len >= sizeof to.host || port == 0 || port > UINT16_MAX))
        rc = js_throw_error(a->js, JS_TYPE_ERROR, "Specified address could not be parsed.");
    if (rc == 0) {
        memcpy(to.host, cd_buf_cstr(&host), host.len + 1);
        struct connection *c = cd_new(struct connection);
        c->to = to;
        rc = js_effect_async(a, &c->async, start_cancel);
        if (rc == 0) {
            c->io = c->async.w->io;
            c->is_busy = true;
            js_effect_start(&c->effect, c->async.event, &c->connecting, connect_done, connect_go);
        } else {
            cd_free(c);
        }
    }
    cd_buf_deinit(&host);
    return rc;
}

/* ---- TLS ---- */

static void secure_done(struct io_op *op, int status)
{
    struct connection *c = CD_CONTAINER(op, struct connection, secure.op);
    struct js_async a;
    bool wanted = js_async_take(&c->async, &a);
    c->is_busy = false;
    c->held = true;
    if (wanted)
        js_async_status(&a, status, status == IO_OK ? NULL : c->secure.why);
    c->held = false;
    free_if_idle(c);
    js_async_end(&a);
}

static void secure_go(struct js_effect *x)
{
    struct connection *c = CD_CONTAINER(x, struct connection, effect);
    if (c->is_open && !c->is_closing)
        io_stream_secure(&c->stream, cd_buf_cstr(&c->bytes), &c->secure, secure_done);
    else
        io_defer(&c->secure.op, c->io, CD_ECLOSED, secure_done);
}

/* tcp_secure(event, promise, connection, name): TLS from here on. Nothing may be read or written meanwhile.
 */
int js_op_tcp_secure(struct js_args *a)
{
    struct js_body *b;
    int rc = js_arg_body(a, 2, &connection_type, &b);
    if (rc != 0)
        return rc;
    struct connection *c = CD_CONTAINER(b, struct connection, body);
    if (c->is_busy || c->is_secure || b->reading || !c->is_open)
        return js_throw_error(a->js, JS_ERROR,
                              "TLS cannot start while the socket is read, written or closed.");
    cd_buf_clear(&c->bytes);
    rc = js_to_utf8(a->js, js_arg(a, 3), &c->bytes);
    if (rc == 0)
        rc = js_effect_async(a, &c->async, start_cancel);
    if (rc == 0) {
        c->is_busy = c->is_secure = true;
        c->secure.why[0] = 0;
        js_effect_start(&c->effect, c->async.event, &c->secure.op, secure_done, secure_go);
    }
    return rc;
}

/* ---- What it sends ---- */

static void write_cancel(struct js_async *a)
{
    struct connection *c = CD_CONTAINER(a, struct connection, async);
    if (c->effect.waiting)
        js_effect_cancel(&c->effect); /* Else it ends with the stream, which the event's end closes. */
}

static void write_settle(struct connection *c, int status)
{
    struct js_async a;
    bool wanted = js_async_take(&c->async, &a);
    c->is_busy = false;
    c->held = true;
    if (wanted)
        js_async_status(&a, status, status == IO_OK ? NULL : "Network connection lost.");
    c->held = false;
    free_if_idle(c);
    js_async_end(&a);
}

static void write_done(struct io_op *op, int status)
{
    write_settle(CD_CONTAINER(op, struct connection, write.op), status);
}

static void finish_done(struct io_op *op, int status)
{
    write_settle(CD_CONTAINER(op, struct connection, finishing), status);
}

static void write_go(struct js_effect *x)
{
    struct connection *c = CD_CONTAINER(x, struct connection, effect);
    if (c->is_open && !c->is_closing)
        io_stream_write(&c->stream, &c->write, write_done);
    else
        io_defer(&c->write.op, c->io, CD_ECLOSED, write_done);
}

static void finish_go(struct js_effect *x)
{
    struct connection *c = CD_CONTAINER(x, struct connection, effect);
    if (c->is_open && !c->is_closing)
        io_stream_finish(&c->stream, &c->finishing, finish_done);
    else
        io_defer(&c->finishing, c->io, CD_ECLOSED, finish_done);
}

/* tcp_write(event, promise, connection, bytes): undefined as bytes: nothing follows, the peer reads the end.
 */
int js_op_tcp_write(struct js_args *a)
{
    struct js_body *b;
    int rc = js_arg_body(a, 2, &connection_type, &b);
    if (rc != 0)
        return rc;
    struct connection *c = CD_CONTAINER(b, struct connection, body);
    struct js_bytes bytes;
    bool last = js_is_undefined(js_arg(a, 3));
    if (!last && !js_bytes(js_arg(a, 3), &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, "A chunk of a socket is no bytes.");
    if (c->is_busy)
        return js_throw_error(a->js, JS_ERROR, "This socket is being written already.");
    rc = js_effect_async(a, &c->async, write_cancel);
    if (rc != 0)
        return rc;
    c->is_busy = true;
    if (last) {
        js_effect_start(&c->effect, c->async.event, &c->finishing, finish_done, finish_go);
        return 0;
    }
    cd_buf_clear(&c->bytes);
    cd_buf_add(&c->bytes, bytes.ptr, bytes.len);
    c->part = cd_buf_str(&c->bytes);
    c->write.part = &c->part;
    c->write.parts = 1;
    js_effect_start(&c->effect, c->async.event, &c->write.op, write_done, write_go);
    return 0;
}

/* tcp_abort(connection): closes it; the peer sees a reset. */
int js_op_tcp_abort(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_handle *h = cd_map_get_u64(&js_worker_of(a)->handles, id);
    struct js_body *b = h != NULL ? js_body_of(h) : NULL;
    if (b != NULL && b->type == &connection_type) {
        CD_CONTAINER(b, struct connection, body)->abort = true;
        js_handle_close(h);
    }
    return 0;
}
