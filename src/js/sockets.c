/* js/sockets.c: WebSockets between http/ws.h and JavaScript. */
#include "js/sockets.h"

#include "js/cells.h"
#include "js/ops.h"
#include "js/parcel.h"

/* A peer that does not read what it is sent is not read from either. */
#define UNSENT_MAX (1u << 20)

struct js_sockets {
    struct http_ws_host *host;
    struct http_client *client; /* NULL until one is needed. */
    struct io_op host_stopped, client_stopped;
    struct js_async waits; /* A token: the worker is not freed before both have stopped. */
    unsigned stopping;
};

struct socket {
    struct js_handle handle;
    struct http_ws *ws; /* NULL once it has ended. */
    unsigned sends; /* Not done yet. */
    struct cd_list waiting; /* struct send.link: sends that wait for the output gate */
    uint64_t waiting_bytes;
    bool paused, closed;
    bool held; /* A callback of the socket is at work. */
};

/* A message, or the close frame of a cell. */
struct send {
    struct http_ws_send send;
    struct js_effect effect;
    struct cd_link link;
    struct socket *socket;
    struct cd_buf bytes; /* owned */
    enum http_ws_opcode kind;
    unsigned code; /* Of HTTP_WS_CLOSE. */
};

/* ---- What the sockets of a worker share ---- */

static struct js_sockets *sockets_of(struct js_worker *w)
{
    if (w->sockets == NULL) {
        w->sockets = cd_new(struct js_sockets);
        /* The prelude answers close frames, as the application's switches want it. */
        w->sockets->host = http_ws_host_new(w->io, &(struct http_ws_opts){.no_close_reply = true});
    }
    return w->sockets;
}

struct http_ws_host *js_sockets_host(struct js_worker *w)
{
    return sockets_of(w)->host;
}

struct http_client *js_sockets_client(struct js_worker *w)
{
    struct js_sockets *s = sockets_of(w);
    if (s->client == NULL)
        s->client = http_client_new(w->io, NULL);
    return s->client;
}

static void stopped(struct js_sockets *s)
{
    if (--s->stopping > 0)
        return;
    struct js_async token = s->waits;
    http_ws_host_free(s->host);
    if (s->client != NULL)
        http_client_free(s->client);
    cd_free(s);
    js_async_end(&token);
}

static void on_host_stopped(struct io_op *op, int status)
{
    CD_MAYBE(status != IO_OK); /* Sockets that were cut. */
    stopped(CD_CONTAINER(op, struct js_sockets, host_stopped));
}

static void on_client_stopped(struct io_op *op, int status)
{
    (void)status;
    stopped(CD_CONTAINER(op, struct js_sockets, client_stopped));
}

void js_sockets_stop(struct js_worker *w)
{
    struct js_sockets *s = w->sockets;
    if (s == NULL)
        return;
    w->sockets = NULL;
    s->waits = (struct js_async){.w = w};
    w->pending++;
    s->stopping = s->client != NULL ? 2 : 1;
    if (s->client != NULL)
        http_client_stop(s->client, &s->client_stopped, on_client_stopped);
    http_ws_host_stop(s->host, 1001, 0, &s->host_stopped, on_host_stopped);
}

/* ---- Sockets ---- */

static void socket_free_if_idle(struct socket *s)
{
    if (s->closed && !s->held && s->sends == 0)
        cd_free(s);
}

static void socket_close(struct js_handle *h)
{
    struct socket *s = CD_CONTAINER(h, struct socket, handle);
    s->closed = true;
    if (s->ws != NULL)
        http_ws_free(s->ws);
    s->ws = NULL;
    for (struct cd_link *k; (k = cd_list_pop(&s->waiting)) != NULL;)
        js_effect_cancel(&CD_CONTAINER(k, struct send, link)->effect);
    socket_free_if_idle(s);
}

static const struct js_handle_type socket_type = {.name = "WebSocket", .close = socket_close};

uint64_t js_socket_new(struct js_worker *w, struct js_event *event, struct http_ws *ws)
{
    struct socket *s = cd_new(struct socket);
    s->ws = ws;
    cd_list_init(&s->waiting);
    js_handle_init(&s->handle, w, event, &socket_type);
    return s->handle.id;
}

/* ---- What comes ---- */

enum told { TOLD_MESSAGE, TOLD_CLOSING, TOLD_ENDED }; /* Of the prelude's socket(). */

static void tell(struct socket *s, enum told what, js_value a, js_value b, js_value c)
{
    struct js_worker *w = s->handle.w;
    js_value undefined = js_undefined(w->js);
    const js_value argv[] = {js_number(w->js, (double)s->handle.id), js_int(w->js, (int32_t)what),
                             a != NULL ? a : undefined, b != NULL ? b : undefined, c != NULL ? c : undefined};
    int rc = js_invoke(w, JS_EXPORT_SOCKET, argv, CD_COUNT(argv), NULL);
    CD_MAYBE(rc != 0); /* js_leave reports it. */
}

static void on_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct socket *s = arg;
    (void)ws;
    s->held = true;
    struct js_entry e;
    js_enter(s->handle.w, &e);
    js_value v;
    int rc = kind == HTTP_WS_TEXT ? js_string(e.w->js, bytes, &v) : js_buffer_copy(e.w->js, bytes, &v);
    if (rc == 0)
        tell(s, TOLD_MESSAGE, v, NULL, NULL);
    js_leave(&e);
    s->held = false;
    socket_free_if_idle(s);
}

static void tell_code(struct socket *s, enum told what, unsigned code, struct cd_str reason, bool clean)
{
    s->held = true;
    struct js_entry e;
    js_enter(s->handle.w, &e);
    js_value text;
    if (js_string(e.w->js, reason, &text) == 0)
        tell(s, what, js_int(e.w->js, (int32_t)code), text, js_bool(e.w->js, clean));
    js_leave(&e);
    s->held = false;
}

static void on_closing(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason)
{
    (void)ws;
    tell_code(arg, TOLD_CLOSING, code, reason, true);
    socket_free_if_idle(arg);
}

static void on_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct socket *s = arg;
    s->ws = NULL;
    http_ws_free(ws);
    tell_code(s, TOLD_ENDED, code, reason, clean);
    if (!s->closed)
        js_handle_close(&s->handle);
    else
        socket_free_if_idle(s);
}

static const struct http_ws_listener listener = {on_message, on_closing, on_ended};

static int socket_arg(struct js_args *a, struct socket **out)
{
    struct js_handle *h;
    int rc = js_arg_handle(a, 0, &socket_type, &h);
    if (rc != 0)
        return rc;
    *out = CD_CONTAINER(h, struct socket, handle);
    return 0;
}

/* ws_listen(socket, on): whether the prelude hears of it, or what comes waits. */
int js_op_ws_listen(struct js_args *a)
{
    struct socket *s;
    int rc = socket_arg(a, &s);
    if (rc == 0 && s->ws != NULL)
        http_ws_listen(s->ws, js_to_bool(a->js, js_arg(a, 1)) ? &listener : NULL, s);
    return rc;
}

/* ---- What goes ---- */

static void send_done(struct io_op *op, int status)
{
    struct send *n = CD_CONTAINER(op, struct send, send.op);
    struct socket *s = n->socket;
    CD_MAYBE(status != IO_OK); /* Then the socket says so itself. */
    cd_link_remove(&n->link);
    cd_buf_deinit(&n->bytes);
    cd_free(n);
    s->sends--;
    if (s->ws != NULL && s->paused && http_ws_unsent(s->ws) < UNSENT_MAX) {
        s->paused = false;
        http_ws_resume(s->ws);
    }
    socket_free_if_idle(s);
}

static void send_go(struct js_effect *x)
{
    struct send *n = CD_CONTAINER(x, struct send, effect);
    struct socket *s = n->socket;
    cd_link_remove(&n->link);
    s->waiting_bytes -= n->bytes.len;
    if (s->ws == NULL) {
        io_defer(&n->send.op, s->handle.w->io, CD_ECLOSED, send_done);
    } else if (n->kind == HTTP_WS_CLOSE) {
        int rc = http_ws_close(s->ws, n->code, cd_buf_str(&n->bytes));
        io_defer(&n->send.op, s->handle.w->io, rc, send_done);
    } else {
        http_ws_send(s->ws, &n->send, n->kind, cd_buf_str(&n->bytes), send_done);
    }
}

/* In the order of the calls: the output gate keeps it. */
static void send_start(struct socket *s, struct send *n)
{
    n->socket = s;
    s->sends++;
    s->waiting_bytes += n->bytes.len;
    cd_list_push(&s->waiting, &n->link);
    js_effect_start(&n->effect, s->handle.event, &n->send.op, send_done, send_go);
}

/* ws_send(socket, string or bytes): queues a message; nothing happens when the socket is closing or gone. */
int js_op_ws_send(struct js_args *a)
{
    struct socket *s;
    int rc = socket_arg(a, &s);
    if (rc == 0 && s->ws != NULL)
        rc = js_effect_begin(a, s->handle.event);
    if (rc != 0 || s->ws == NULL)
        return rc;
    js_value v = js_arg(a, 1);
    struct send *n = cd_new(struct send);
    n->kind = HTTP_WS_BINARY;
    struct js_bytes bytes;
    if (js_kind(v) == JS_STRING) {
        n->kind = HTTP_WS_TEXT;
        js_string_add(a->js, v, &n->bytes);
    } else if (js_bytes(v, &bytes)) {
        cd_buf_add(&n->bytes, bytes.ptr, bytes.len);
    } else {
        cd_free(n);
        return js_throw_error(a->js, JS_TYPE_ERROR, "a message is neither text nor bytes");
    }
    send_start(s, n);
    if (!s->paused && http_ws_unsent(s->ws) >= UNSENT_MAX) {
        s->paused = true;
        http_ws_pause(s->ws);
    }
    return 0;
}

/* ws_unsent(socket): bytes of messages that have not left yet. */
int js_op_ws_unsent(struct js_args *a)
{
    struct socket *s;
    int rc = socket_arg(a, &s);
    if (rc == 0)
        js_return_number(a, s->ws != NULL ? (double)(http_ws_unsent(s->ws) + s->waiting_bytes) : 0);
    return rc;
}

/* ws_close(socket, code, reason): a close frame behind what was sent; code 1005: one without a code. */
int js_op_ws_close(struct js_args *a)
{
    struct socket *s;
    uint64_t code;
    struct cd_buf reason = {0};
    int rc = socket_arg(a, &s);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &code);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 2), &reason);
    if (rc == 0)
        rc = js_effect_begin(a, s->handle.event);
    if (rc == 0 && js_cell_of(s->handle.event) != NULL) { /* Behind what it has sent, and its gate. */
        struct send *n = cd_new(struct send);
        n->kind = HTTP_WS_CLOSE;
        n->code = (unsigned)code;
        n->bytes = cd_buf_move(&reason);
        send_start(s, n);
        return 0;
    }
    if (rc == 0 && s->ws != NULL && http_ws_close(s->ws, (unsigned)code, cd_buf_str(&reason)) == CD_EINVAL)
        rc = js_throw_dom(a->js, "InvalidAccessError", "Invalid WebSocket close code: %u.", (unsigned)code);
    cd_buf_deinit(&reason);
    return rc;
}

/* ws_abort(socket): cuts it and gives it up; the prelude hears nothing more. */
int js_op_ws_abort(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_handle *h = cd_map_get_u64(&js_worker_of(a)->handles, id);
    if (h != NULL && h->type == &socket_type)
        js_handle_close(h);
    return 0;
}

/* ---- Attachments ---- */

/* ws_pack(value): its structured clone as bytes. */
int js_op_ws_pack(struct js_args *a)
{
    const struct js_parcel_opts opts = {.storable = true};
    struct js_parcel *p;
    int rc = js_parcel_pack(a->js, js_arg(a, 0), &opts, &p);
    if (rc != 0)
        return rc;
    js_value v;
    rc = js_uint8_array_copy(a->js, js_parcel_bytes(p), &v);
    js_parcel_free(p);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* ws_unpack(bytes): the value again. */
int js_op_ws_unpack(struct js_args *a)
{
    struct js_bytes bytes;
    if (!js_bytes(js_arg(a, 0), &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, "not bytes");
    struct js_parcel *p = js_parcel_of_bytes(cd_str_of((const char *)bytes.ptr, bytes.len));
    js_value v;
    int rc = js_parcel_unpack(a->js, p, NULL, &v, NULL);
    js_parcel_free(p);
    if (rc == 0)
        js_return(a, v);
    return rc;
}
