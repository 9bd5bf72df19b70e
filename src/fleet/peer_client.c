/* fleet/peer_client.c: calls to peers. fleet.md 10.3, 9.10.
 *
 * An answer counts as the peer's only when its signature holds. Without one it can still tell that nothing
 * was started: every endpoint of a node signs what it answers, so an unsigned refusal was given before one
 * ran, by a process that knows no secret yet, or is no node at all. */
#include <stdio.h>

#include "base/encode.h"
#include "base/ip.h"
#include "base/json.h"
#include "fleet/peer.h"
#include "http/client.h"

#define CONNECT_NS IO_SEC(3)
#define CONNECTIONS_MAX 256u
#define IDLE_MAX 16u
#define COPIED_MAX (16u << 10) /* Larger bodies are sent from where they are. */
#define ANSWER_CAP (64u << 20)
#define CALL_NS IO_SEC(3600) /* The caller's deadline ends a call, not this. */
#define FIELDS_MAX 16u
enum { SIGNED_FIELDS = 7 };

struct fleet_peer_client {
    struct io *io;
    const struct fleet_secret *secret;
    char source[STORE_NODE_MAX + 1];
    bool public_ok;
    struct http_client *http;
};

/* One call with what it signs. */
struct attempt {
    struct fleet_peer_client *client;
    struct fleet_peer_call *call;
    char target[STORE_SESSION_MAX + 1], timestamp[24], nonce[2 * FLEET_NONCE_SIZE + 1];
    char hash[FLEET_HEX_SHA256 + 1], signature[FLEET_HEX_SHA256 + 1];
    struct http_field field[SIGNED_FIELDS + FIELDS_MAX];
    struct http_call http;
};

/* ---- Whom ---- */

static void copy_text(char *to, const char *from, size_t size)
{
    (void)snprintf(to, size, "%s", from);
}

void fleet_peer_of_lease(struct fleet_peer *out, const struct store_lease *l)
{
    copy_text(out->node, l->node, sizeof out->node);
    copy_text(out->generation, l->generation, sizeof out->generation);
    copy_text(out->addr, l->addr, sizeof out->addr);
}

static bool is_name(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                  c == '.';
        if (!ok)
            return false;
    }
    return s.len > 0 && s.len <= 253;
}

static int bad_addr(struct cd_buf *why, int code, struct cd_str text, const char *what)
{
    if (why != NULL)
        cd_buf_addf(why, "%s advertise address \"%.*s\"", what, (int)(text.len > 200 ? 200 : text.len),
                    text.ptr == NULL ? "" : text.ptr);
    return code;
}

int fleet_peer_addr(struct io_addr *out, struct cd_str text, bool public_ok, struct cd_buf *why)
{
    struct cd_ip ip;
    uint16_t port;
    struct io_addr to = {0};
    if (cd_ip_port_parse(text, &ip, &port) == 0) {
        enum cd_ip_kind kind = cd_ip_kind(&ip);
        if (port == 0 || kind == CD_IP_UNSPECIFIED || kind == CD_IP_MULTICAST || kind == CD_IP_BROADCAST)
            return bad_addr(why, CD_EINVAL, text, "malformed");
        if (kind == CD_IP_PUBLIC && !public_ok)
            return bad_addr(why, CD_EUNSUPPORTED, text, "unsafe public");
        struct cd_buf host = {0};
        cd_ip_text(&host, &ip);
        copy_text(to.host, cd_buf_cstr(&host), sizeof to.host);
        cd_buf_deinit(&host);
        to.port = port;
    } else {
        size_t colon = cd_str_find(text, ':', 0);
        struct cd_str host = cd_str_sub(text, 0, colon == SIZE_MAX ? 0 : colon);
        uint64_t number = 0;
        if (!is_name(host) || cd_str_u64(cd_str_sub(text, colon + 1, SIZE_MAX), &number) != 0 ||
            number == 0 || number > UINT16_MAX)
            return bad_addr(why, CD_EINVAL, text, "malformed");
        memcpy(to.host, host.ptr, host.len);
        to.port = (uint16_t)number;
    }
    *out = to;
    return 0;
}

/* ---- The client ---- */

struct fleet_peer_client *fleet_peer_client_new(const struct fleet_peer_client_opts *o)
{
    struct fleet_peer_client *c = cd_new(struct fleet_peer_client);
    CD_ASSERT(store_node_valid(o->source));
    c->io = o->io;
    c->secret = o->secret;
    c->public_ok = o->public_ok;
    memcpy(c->source, o->source.ptr, o->source.len);
    c->http = http_client_new(
        o->io, &(struct http_client_opts){.limits = {.body_max = ANSWER_CAP},
                                          .connect_timeout_ns =
                                              o->connect_timeout_ns == 0 ? CONNECT_NS : o->connect_timeout_ns,
                                          .head_timeout_ns = CALL_NS,
                                          .body_timeout_ns = CALL_NS,
                                          .connections_max = CONNECTIONS_MAX,
                                          .idle_max = IDLE_MAX});
    return c;
}

void fleet_peer_client_stop(struct fleet_peer_client *c, struct io_op *op, io_done_fn *done)
{
    http_client_stop(c->http, op, done);
}

void fleet_peer_client_free(struct fleet_peer_client *c)
{
    if (c == NULL)
        return;
    http_client_free(c->http);
    cd_free(c);
}

/* ---- The request ---- */

static void sign(struct attempt *a)
{
    struct fleet_peer_client *c = a->client;
    const struct fleet_peer_call *call = a->call;
    unsigned char random[FLEET_NONCE_SIZE];
    struct cd_buf hex = {0};
    io_random(c->io, IO_RAND_ID, random, sizeof random);
    cd_hex_encode(&hex, cd_str_of(random, sizeof random));
    memcpy(a->nonce, hex.ptr, hex.len);
    cd_buf_deinit(&hex);
    (void)snprintf(a->target, sizeof a->target, "%s/%s", call->peer->node,
                   call->peer->generation[0] == 0 ? "*" : call->peer->generation);
    (void)snprintf(a->timestamp, sizeof a->timestamp, "%lld", (long long)io_wall_ms(c->io));
    fleet_sha256_hex(a->hash, call->body);
    const struct fleet_peer_signed s = {
        .method = call->method,
        .target_path = call->target,
        .version = CD_STR(FLEET_PEER_VERSION),
        .source = cd_str(c->source),
        .target = cd_str(a->target),
        .timestamp = cd_str(a->timestamp),
        .nonce = cd_str(a->nonce),
        .body_sha256 = cd_str(a->hash),
    };
    fleet_peer_sign(a->signature, c->secret, &s);
    const struct http_field fields[SIGNED_FIELDS] = {
        {CD_STR("x-celld-peer-version"), s.version},
        {CD_STR("x-celld-peer-source"), s.source},
        {CD_STR("x-celld-peer-target"), s.target},
        {CD_STR("x-celld-peer-timestamp"), s.timestamp},
        {CD_STR("x-celld-peer-nonce"), s.nonce},
        {CD_STR("x-celld-peer-body-sha256"), s.body_sha256},
        {CD_STR("x-celld-peer-signature"), cd_str(a->signature)},
    };
    memcpy(a->field, fields, sizeof fields);
    for (size_t i = 0; i < call->field_count; i++)
        a->field[SIGNED_FIELDS + i] = call->field[i];
}

/* Sends; IO_OK: the head of an answer is there. */
static int send_request(struct attempt *a, const struct io_addr *to)
{
    struct fleet_peer_call *call = a->call;
    struct io_op op = {0};
    bool apart = call->body.len > COPIED_MAX;
    const struct http_ask ask = {.method = call->method,
                                 .target = call->target,
                                 .authority = cd_str(call->peer->addr),
                                 .field = a->field,
                                 .field_count = SIGNED_FIELDS + call->field_count,
                                 .body_len = call->body.len,
                                 .upgrade = call->upgrade};
    http_call_start(&a->http, a->client->http, to, &ask, apart ? (struct cd_str){0} : call->body, &op, NULL);
    if (apart) {
        struct io_write w = {.part = &call->body, .parts = 1};
        http_call_write(&a->http, &w, true, NULL);
        int rc = io_await(&w.op, call->deadline_ns);
        CD_MAYBE(rc != IO_OK); /* A peer that refuses may answer and read no further. */
    }
    return io_await(&op, call->deadline_ns);
}

static int read_answer(struct attempt *a)
{
    struct fleet_peer_call *call = a->call;
    size_t max = call->answer_max == 0 ? FLEET_PEER_ANSWER_MAX : call->answer_max;
    for (;;) {
        struct io_read r = {0};
        http_call_read(&a->http, &r, NULL);
        int rc = io_await(&r.op, call->deadline_ns);
        if (rc == IO_EOF)
            return IO_OK;
        if (rc != IO_OK)
            return rc;
        if (call->answer.len + r.len > max)
            return IO_TOOBIG;
        cd_buf_add(&call->answer, r.buf, r.len);
    }
}

/* ---- What it means ---- */

static int end(struct fleet_peer_call *call, enum fleet_peer_end how, int status, const char *why)
{
    call->end = how;
    copy_text(call->why, why, sizeof call->why);
    return status;
}

/* Whether the endpoint never ran: `"refused":true`, which no endpoint answers. reason: "clock". */
static bool is_refusal(const struct fleet_peer_call *call, struct cd_buf *reason)
{
    struct cd_json_doc *doc;
    struct cd_str text;
    bool refused = false;
    if (call->status < 400 || cd_json_parse(&doc, cd_buf_str(&call->answer), NULL) != 0)
        return false;
    if (cd_json_bool(cd_json_get(cd_json_root(doc), "refused"), &refused) != 0)
        refused = false;
    if (refused && cd_json_str(cd_json_get(cd_json_root(doc), "error"), &text) == 0)
        cd_buf_add_str(reason, text);
    cd_json_free(doc);
    return refused;
}

/* operations.md 1.5: reasons that one can tell apart. */
static void explain(struct fleet_peer_call *call, struct cd_str reason)
{
    struct cd_buf text = {0};
    if (call->status == 401 || call->status == 403)
        cd_buf_addf(&text, "peer rejected the fleet authentication (%s)",
                    cd_str_eq(reason, CD_STR("clock")) ? "clock" : "secret or clock");
    else if (call->status == 426)
        cd_buf_addf(&text, "peer protocol mismatch");
    else
        cd_buf_addf(&text, "status %d%s%.*s", call->status, reason.len > 0 ? ": " : "", (int)reason.len,
                    reason.len > 0 ? reason.ptr : "");
    copy_text(call->why, cd_buf_cstr(&text), sizeof call->why);
    cd_buf_deinit(&text);
}

static int judge(struct attempt *a)
{
    struct fleet_peer_call *call = a->call;
    const struct http_head *h = a->http.head;
    struct cd_buf reason = {0};
    struct cd_str signature = http_field_value(h->field, h->field_count, CD_STR("x-celld-peer-response"));
    bool proven = fleet_peer_verify_answer(signature, a->client->secret, cd_str(a->nonce),
                                           cd_str(call->peer->node), call->status, cd_buf_str(&call->answer));
    bool refusal = is_refusal(call, &reason);
    if (proven && !refusal) {
        cd_buf_deinit(&reason);
        return end(call, FLEET_PEER_ANSWERED, IO_OK, "");
    }
    explain(call, cd_buf_str(&reason));
    cd_buf_deinit(&reason);
    /* Unsigned: see above. 4xx of the HTTP server itself come before any endpoint as well. */
    bool not_started = proven || (call->status >= 400 && call->status < 500) || call->status == 503;
    call->end = not_started ? FLEET_PEER_NOT_STARTED : FLEET_PEER_AMBIGUOUS;
    return not_started ? IO_DENIED : IO_PROTOCOL;
}

/* The call up to the whole answer; a->http is to be closed, unless it was detached. */
static int attempt_run(struct attempt *a)
{
    struct fleet_peer_call *call = a->call;
    struct io_addr to;
    struct cd_buf why = {0};
    int rc = fleet_peer_addr(&to, cd_str(call->peer->addr), a->client->public_ok, &why);
    if (rc != 0) {
        rc = end(call, FLEET_PEER_NOT_STARTED, rc, cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return rc;
    }
    sign(a);
    rc = send_request(a, &to);
    if (rc != IO_OK) {
        bool sent = a->http.fate != HTTP_UNSENT;
        return end(call, sent ? FLEET_PEER_AMBIGUOUS : FLEET_PEER_NOT_STARTED, rc,
                   sent && a->http.why != NULL && rc != IO_TIMEDOUT ? a->http.why : cd_err_text(rc));
    }
    call->status = a->http.head->status;
    rc = call->status == 101 ? IO_OK : read_answer(a);
    if (rc != IO_OK)
        return end(call, FLEET_PEER_AMBIGUOUS, rc,
                   rc == IO_TOOBIG ? "oversized answer" : "the answer was cut off");
    return judge(a);
}

static struct attempt *attempt_new(struct fleet_peer_client *c, struct fleet_peer_call *call)
{
    struct attempt *a = cd_new(struct attempt); /* Too large for a stack that others use too. */
    CD_ASSERT(call->field_count <= FIELDS_MAX && call->target.len > 0);
    if (call->method.len == 0)
        call->method = CD_STR("POST");
    call->status = 0;
    call->why[0] = 0;
    cd_buf_clear(&call->answer);
    a->client = c;
    a->call = call;
    return a;
}

int fleet_peer_call(struct fleet_peer_client *c, struct fleet_peer_call *call)
{
    struct attempt *a = attempt_new(c, call);
    CD_ASSERT(call->upgrade.len == 0);
    int rc = attempt_run(a);
    if (a->http.state != NULL)
        http_call_close(&a->http);
    cd_free(a);
    return rc;
}

int fleet_peer_upgrade(struct fleet_peer_client *c, struct fleet_peer_call *call, struct io_stream *stream,
                       struct cd_buf *rest)
{
    struct attempt *a = attempt_new(c, call);
    CD_ASSERT(call->upgrade.len > 0 && call->body.len == 0);
    int rc = attempt_run(a);
    if (rc == IO_OK && call->status == 101)
        http_call_detach(&a->http, stream, rest);
    else if (rc == IO_OK)
        rc = end(call, FLEET_PEER_ANSWERED, IO_DENIED, "");
    if (a->http.state != NULL)
        http_call_close(&a->http);
    cd_free(a);
    return rc;
}
