/* http/ws_open.c: the opening handshake over an exchange or a call. RFC 6455 4. */
#include "http/ws.h"
#include "http/ws_handshake.h"
#include "io/backend.h"

/* ---- As server ---- */

static void accept_upgraded(struct io_op *op, int status)
{
    struct http_ws_accept *a = CD_CONTAINER(op, struct http_ws_accept, upgrade.op);
    if (status == IO_OK)
        a->ws = http_ws_adopt(a->host, &a->upgrade.stream, &a->upgrade.rest, false);
    io_complete(&a->op, status);
}

static void accept_cancel(struct io_op *op)
{
    io_cancel(&CD_CONTAINER(op, struct http_ws_accept, op)->upgrade.op);
}

static void accept_refuse(struct http_exchange *x, int status, const char *why)
{
    const struct http_field field[] = {{CD_STR("Content-Type"), CD_STR("text/plain; charset=utf-8")},
                                       {CD_STR("Sec-WebSocket-Version"), CD_STR("13")}};
    const struct http_answer answer = {
        .status = status, .field = field, .field_count = status == 426 ? 2 : 1};
    int rc = http_answer_all(x, &answer, cd_str(why));
    CD_ASSERT(rc == 0);
}

/* Fields of the handshake are ours to write. */
static bool is_handshake(struct cd_str name)
{
    const struct cd_str prefix = CD_STR("sec-websocket-");
    return cd_str_eq_nocase(cd_str_sub(name, 0, prefix.len), prefix);
}

/* A heap copy of the fields that may be sent, with room for more. */
static struct http_field *fields_copy(const struct http_field *field, size_t count, size_t more, size_t *kept)
{
    struct http_field *copy = cd_alloc((count + more) * sizeof *copy);
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_handshake(field[i].name))
            copy[(*kept)++] = field[i];
    }
    return copy;
}

void http_ws_accept(struct http_ws_accept *a, struct http_ws_host *host, struct http_exchange *x,
                    struct cd_str protocol, const struct http_field *field, size_t field_count,
                    io_done_fn *done)
{
    io_begin(&a->op, x->io, done);
    a->host = host;
    a->ws = NULL;
    struct cd_str key;
    const char *why;
    int status = http_ws_request_check(x->head, &key, &why);
    if (status != 0) {
        accept_refuse(x, status, why);
        io_complete_later(&a->op, CD_EINVAL);
        return;
    }
    char text[HTTP_WS_ACCEPT_LEN + 1];
    http_ws_accept_text(text, key);
    size_t count;
    struct http_field *all = fields_copy(field, field_count, 2, &count);
    all[count++] = (struct http_field){CD_STR("Sec-WebSocket-Accept"), cd_str(text)};
    if (protocol.len > 0)
        all[count++] = (struct http_field){CD_STR("Sec-WebSocket-Protocol"), protocol};
    a->op.cancel = accept_cancel;
    a->upgrade = (struct http_upgrade){.op = {.io = NULL}};
    http_exchange_upgrade(x, &a->upgrade, CD_STR("websocket"), all, count, accept_upgraded);
    cd_free(all);
}

/* ---- As client ---- */

static void connect_end(struct http_ws_connect *c, int status)
{
    if (c->call.state != NULL && !(status == CD_EUNSUPPORTED && c->keeps_answer))
        http_call_close(&c->call);
    cd_buf_deinit(&c->protocols);
    io_complete(&c->op, status);
}

static void connect_answered(struct io_op *op, int status)
{
    struct http_ws_connect *c = CD_CONTAINER(op, struct http_ws_connect, started);
    if (status != IO_OK) {
        c->why = c->call.why;
        connect_end(c, status);
        return;
    }
    const struct http_head *h = c->call.head;
    c->status = h->status;
    if (h->status != 101) {
        c->why = "the server did not switch protocols";
        connect_end(c, CD_EUNSUPPORTED);
        return;
    }
    struct cd_str protocol;
    if (http_ws_answer_check(h, cd_str(c->key), cd_buf_str(&c->protocols), &protocol, &c->why) != 0) {
        connect_end(c, IO_PROTOCOL);
        return;
    }
    cd_buf_add_str(&c->protocol, protocol);
    struct io_stream stream = {0};
    struct cd_buf rest = {0};
    http_call_detach(&c->call, &stream, &rest);
    c->ws = http_ws_adopt(c->host, &stream, &rest, true);
    connect_end(c, IO_OK);
}

static void connect_cancel(struct io_op *op)
{
    io_cancel(&CD_CONTAINER(op, struct http_ws_connect, op)->started);
}

void http_ws_connect(struct http_ws_connect *c, struct http_ws_host *host, struct http_client *client,
                     const struct io_addr *to, struct cd_str target, struct cd_str authority,
                     const struct http_field *field, size_t field_count, struct cd_str protocols, bool secure,
                     io_done_fn *done)
{
    struct io *io = http_ws_host_io(host);
    io_begin(&c->op, io, done);
    c->host = host;
    c->ws = NULL;
    c->status = 0;
    c->why = NULL;
    c->protocol = c->protocols = (struct cd_buf){0};
    cd_buf_add_str(&c->protocols, protocols);
    unsigned char nonce[16];
    io_random(io, IO_RAND_KEY, nonce, sizeof nonce);
    CD_STATIC_ASSERT(sizeof c->key > HTTP_WS_KEY_LEN, "a key and its NUL");
    http_ws_key_text(c->key, nonce);
    size_t count;
    struct http_field *all = fields_copy(field, field_count, 3, &count);
    all[count++] = (struct http_field){CD_STR("Sec-WebSocket-Version"), CD_STR("13")};
    all[count++] = (struct http_field){CD_STR("Sec-WebSocket-Key"), cd_str(c->key)};
    if (protocols.len > 0)
        all[count++] = (struct http_field){CD_STR("Sec-WebSocket-Protocol"), protocols};
    const struct http_ask ask = {.method = CD_STR("GET"),
                                 .target = target,
                                 .authority = authority,
                                 .field = all,
                                 .field_count = count,
                                 .upgrade = CD_STR("websocket"),
                                 .secure = secure};
    c->op.cancel = connect_cancel;
    http_call_start(&c->call, client, to, &ask, (struct cd_str){NULL, 0}, &c->started, connect_answered);
    cd_free(all);
}
