/* js/ops_ws.c: WebSockets that a Worker opens. RFC 6455 4; runtime.md 5.5. */
#include "js/ops_ws.h"

#include "js/cells.h"
#include "js/fields.h"
#include "js/ops.h"
#include "js/sockets.h"

struct connect_args {
    bool secure;
    struct io_addr to;
    struct cd_buf host, authority, target, protocols;
    struct js_fields fields;
};

struct connect {
    struct http_ws_connect c;
    struct js_async async;
    struct js_effect effect;
    struct connect_args args; /* Until it is asked. */
    struct js_body body; /* Of an answer that is no socket. */
};

static void connect_free(struct connect *n)
{
    cd_buf_deinit(&n->args.host);
    cd_buf_deinit(&n->args.authority);
    cd_buf_deinit(&n->args.target);
    cd_buf_deinit(&n->args.protocols);
    js_fields_deinit(&n->args.fields);
    cd_free(n);
}

static void connect_cancel(struct js_async *s)
{
    js_effect_cancel(&CD_CONTAINER(s, struct connect, async)->effect);
}

/* ---- An answer that is no socket ---- */

static void body_read(struct js_body *b)
{
    http_call_read(&CD_CONTAINER(b, struct connect, body)->c.call, &b->read, js_body_done);
}

static const char *body_why(struct js_body *b, int status)
{
    (void)b, (void)status;
    return "Network connection lost.";
}

static void body_close(struct js_body *b)
{
    struct connect *n = CD_CONTAINER(b, struct connect, body);
    http_call_close(&n->c.call);
    connect_free(n);
}

static const struct js_body_type body_type = {body_read, body_close, body_why};

/* [status, fields, body]; n lives on as the body. */
static int answer(struct js_worker *w, struct connect *n, struct js_event *event, js_value *out)
{
    const struct http_head *head = n->c.call.head;
    js_value list = js_array(w->js, NULL, 0);
    uint32_t at = 0;
    for (unsigned i = 0; i < head->field_count; i++) {
        int rc = js_fields_add(w->js, list, &at, head->field[i].name, head->field[i].value);
        if (rc != 0)
            return rc;
    }
    js_body_init(&n->body, w, event, &body_type);
    const js_value result[] = {js_int(w->js, n->c.status), list, js_number(w->js, (double)n->body.handle.id)};
    *out = js_array(w->js, result, CD_COUNT(result));
    return 0;
}

/* ---- Connecting ---- */

/* [101, [], handle, protocol] of an open socket. */
static int result(struct js_worker *w, struct connect *n, struct js_event *event, js_value *out)
{
    js_value protocol;
    int rc = js_string(w->js, cd_buf_str(&n->c.protocol), &protocol);
    if (rc != 0)
        return rc;
    struct http_ws *ws = n->c.ws;
    n->c.ws = NULL;
    const js_value list[] = {js_int(w->js, 101), js_array(w->js, NULL, 0),
                             js_number(w->js, (double)js_socket_new(w, event, ws)), protocol};
    *out = js_array(w->js, list, CD_COUNT(list));
    return 0;
}

static js_value failure(struct js_worker *w, const struct connect *n, int status)
{
    struct cd_buf text = {0};
    if (status == CD_EUNSUPPORTED)
        cd_buf_addf(&text,
                    "Failed to establish the WebSocket connection: expected server to reply with HTTP status "
                    "code 101 (switching protocols), but received %d instead.",
                    n->c.status);
    else
        cd_buf_addf(&text, "Failed to establish the WebSocket connection: %s",
                    n->c.why != NULL && *n->c.why != 0 ? n->c.why : cd_err_text(status));
    js_value error = js_status_error(w, status, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    return error;
}

static void connect_done(struct io_op *op, int status)
{
    struct connect *n = CD_CONTAINER(op, struct connect, c.op);
    struct js_async a;
    bool answered = n->c.keeps_answer && status == CD_EUNSUPPORTED, kept = false;
    if (js_async_take(&n->async, &a)) {
        struct js_entry e;
        js_enter(a.w, &e);
        js_value v = NULL, error = NULL;
        int rc = 0;
        if (status == IO_OK)
            rc = result(e.w, n, a.event, &v);
        else if (answered)
            rc = answer(e.w, n, a.event, &v);
        else
            error = failure(e.w, n, status);
        kept = answered && rc == 0;
        if (rc != 0) {
            error = js_try_exception(&e.t);
            js_try_clear(&e.t);
        }
        js_async_settle(&a, error, v);
        js_leave(&e);
    }
    if (!kept) { /* Else it is the body's, which may be closed by now. */
        if (n->c.ws != NULL)
            http_ws_free(n->c.ws);
        if (answered)
            http_call_close(&n->c.call);
        cd_buf_deinit(&n->c.protocol);
        connect_free(n);
    }
    js_async_end(&a);
}

static int args_read(struct js_args *a, struct connect_args *r)
{
    uint64_t port = 0;
    int rc = js_to_utf8(a->js, js_arg(a, 2), &r->host);
    if (rc == 0)
        rc = js_arg_u64(a, 3, &port);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 4), &r->authority);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 5), &r->target);
    if (rc == 0)
        rc = js_fields_read(a, 6, "a request", &r->fields);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 7), &r->protocols);
    if (rc != 0)
        return rc;
    if (r->host.len >= sizeof r->to.host || port > UINT16_MAX)
        return js_throw_error(a->js, JS_TYPE_ERROR, "The address of the WebSocket is too long.");
    r->to.port = (uint16_t)port;
    r->secure = js_to_bool(a->js, js_arg(a, 8));
    memcpy(r->to.host, cd_buf_cstr(&r->host), r->host.len + 1);
    return 0;
}

static void connect_go(struct js_effect *x)
{
    struct connect *n = CD_CONTAINER(x, struct connect, effect);
    struct js_worker *w = n->async.w;
    const struct connect_args *r = &n->args;
    http_ws_connect(&n->c, js_sockets_host(w), js_sockets_client(w), &r->to, cd_buf_str(&r->target),
                    cd_buf_str(&r->authority), r->fields.field, r->fields.count, cd_buf_str(&r->protocols),
                    r->secure, connect_done);
}

/* ws_connect(event, promise, host, port, authority, target, fields, protocols, secure, answers): a promise of
 * [101, [], socket, protocol]; answers: or of [status, fields, body], else an answer without a socket is an
 * error. */
int js_op_ws_connect(struct js_args *a)
{
    struct connect *n = cd_new(struct connect);
    int rc = args_read(a, &n->args);
    n->c.keeps_answer = js_to_bool(a->js, js_arg(a, 9));
    if (rc == 0)
        rc = js_effect_async(a, &n->async, connect_cancel);
    if (rc == 0)
        js_effect_start(&n->effect, n->async.event, &n->c.op, connect_done, connect_go);
    else
        connect_free(n);
    return rc;
}
