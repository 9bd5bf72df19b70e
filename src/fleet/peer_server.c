/* fleet/peer_server.c: the endpoints of the internal listener that peers call. fleet.md 10.2, 10.3.
 *
 * Each request has a fiber. Its signature is checked before its body is read: who does not know the secret
 * cannot make us hold bytes. */
#include "base/encode.h"
#include "base/json.h"
#include "fleet/peer.h"
#include "io/backend.h"

#define BODY_MAX (64u << 10)

struct fleet_peer_server {
    struct io *io;
    const struct fleet_secret *secret; /* NULL: not open yet. */
    const char *node, *generation;
    struct fleet_peer_route route[FLEET_PEER_ROUTES_MAX];
    unsigned routes;
    struct fleet_nonces nonces;
    struct cd_list running; /* struct serving */
    struct io_op *stop;
    bool ready, stopping;
};

struct serving {
    struct fleet_peer_server *server;
    struct cd_link link;
    struct io_fiber *fiber;
    const struct fleet_peer_route *route;
    struct http_exchange *x; /* NULL: it ended. */
    struct fleet_peer_signed signature;
    struct fleet_peer_request request;
    struct cd_buf body;
    char nonce[2 * FLEET_NONCE_SIZE + 1], source[STORE_NODE_MAX + 1]; /* Also when the head has gone. */
};

struct fleet_peer_server *fleet_peer_server_new(struct io *io)
{
    struct fleet_peer_server *s = cd_new(struct fleet_peer_server);
    s->io = io;
    cd_list_init(&s->running);
    return s;
}

void fleet_peer_server_route(struct fleet_peer_server *s, const struct fleet_peer_route *r)
{
    CD_ASSERT(s->routes < FLEET_PEER_ROUTES_MAX && (r->handle != NULL || r->upgraded != NULL));
    CD_ASSERT((r->upgrade != NULL) == (r->upgraded != NULL));
    s->route[s->routes] = *r;
    if (r->body_max == 0)
        s->route[s->routes].body_max = BODY_MAX;
    s->routes++;
}

void fleet_peer_server_open(struct fleet_peer_server *s, const struct fleet_secret *secret, const char *node,
                            const char *generation)
{
    s->secret = secret;
    s->node = node;
    s->generation = generation;
}

void fleet_peer_server_ready(struct fleet_peer_server *s)
{
    s->ready = true;
}

void fleet_peer_server_free(struct fleet_peer_server *s)
{
    if (s == NULL)
        return;
    CD_ASSERT(cd_list_empty(&s->running));
    fleet_nonces_deinit(&s->nonces);
    cd_free(s);
}

static void stop_look(struct fleet_peer_server *s)
{
    struct io_op *op = s->stop;
    if (op == NULL || !cd_list_empty(&s->running))
        return;
    s->stop = NULL;
    io_complete_later(op, IO_OK);
}

void fleet_peer_server_stop(struct fleet_peer_server *s, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!s->stopping);
    s->stopping = true;
    io_begin(op, s->io, done);
    s->stop = op;
    for (struct cd_link *k = cd_list_first(&s->running); k != NULL; k = cd_list_next(&s->running, k))
        io_fiber_cancel(CD_CONTAINER(k, struct serving, link)->fiber);
    stop_look(s);
}

/* ---- Answers ---- */

/* signed_by NULL: it cannot be signed, or nobody has proved that he could verify it. */
static void answer(struct http_exchange *x, const struct fleet_peer_server *s,
                   const struct serving *signed_by, int status, struct cd_str body)
{
    char signature[FLEET_HEX_SHA256 + 1];
    struct http_field field[4] = {{CD_STR("content-type"), CD_STR("application/json")},
                                  {CD_STR("cache-control"), CD_STR("no-store")},
                                  {CD_STR("x-celld-peer-version"), CD_STR(FLEET_PEER_VERSION)}};
    size_t count = 3;
    if (signed_by != NULL) {
        fleet_peer_sign_answer(signature, s->secret, cd_str(signed_by->nonce), cd_str(s->node), status, body);
        field[count++] = (struct http_field){CD_STR("x-celld-peer-response"), cd_str(signature)};
    }
    const struct http_answer a = {.status = status, .field = field, .field_count = count};
    int rc = http_answer_all(x, &a, body);
    CD_ASSERT(rc == 0); /* Our own fields. */
}

/* Nothing was started: a caller may try elsewhere. */
static void refuse(struct http_exchange *x, const struct fleet_peer_server *s,
                   const struct serving *signed_by, int status, const char *why)
{
    struct cd_buf body = {0};
    struct cd_json_out o;
    cd_json_out_init(&o, &body);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "error");
    cd_json_out_str(&o, cd_str(why));
    cd_json_out_key(&o, "refused");
    cd_json_out_bool(&o, true);
    cd_json_out_end(&o, '}');
    answer(x, s, signed_by, status, cd_buf_str(&body));
    cd_buf_deinit(&body);
}

/* ---- One request ---- */

static void refuse_with(struct serving *v, int status, const char *why)
{
    refuse(v->x, v->server, v, status, why);
    v->x = NULL;
}

/* IO_OK: the body is there. Else the exchange has ended. */
static int read_body(struct serving *v)
{
    if (v->x->head->body_len <= v->route->body_max) /* Once, not by doubling: some have tens of MiB. */
        (void)cd_buf_reserve(&v->body, v->x->head->body_len);
    for (;;) {
        struct io_read r = {0};
        http_body_read(v->x, &r, NULL);
        int rc = io_await(&r.op, IO_FOREVER); /* The listener's time limit ends it. */
        if (rc == IO_EOF)
            return IO_OK;
        if (rc == IO_OK && v->body.len + r.len > v->route->body_max) {
            refuse_with(v, 413, "request body too large");
            return IO_TOOBIG;
        }
        if (rc != IO_OK) {
            http_exchange_close(v->x);
            v->x = NULL;
            return rc;
        }
        cd_buf_add(&v->body, r.buf, r.len);
    }
}

/* The rest of 10.3, once the body has come. */
static enum fleet_verdict verify(struct serving *v)
{
    struct fleet_peer_server *s = v->server;
    struct cd_buf nonce = {0};
    if (!fleet_peer_verify_body(&v->signature, cd_buf_str(&v->body)))
        return FLEET_VERDICT_FORGED;
    if (!fleet_peer_is_target(v->signature.target, cd_str(s->node), cd_str(s->generation),
                              v->route->any_process))
        return FLEET_VERDICT_TARGET;
    int rc = cd_hex_decode(&nonce, v->signature.nonce);
    CD_ASSERT(rc == 0 && nonce.len == FLEET_NONCE_SIZE); /* verify_head has seen it. */
    enum fleet_verdict verdict =
        fleet_nonces_add(&s->nonces, (const unsigned char *)nonce.ptr, io_now_ns(s->io));
    cd_buf_deinit(&nonce);
    return verdict;
}

static void refused(struct serving *v, enum fleet_verdict verdict)
{
    cd_event_to(v->server->io, CD_DEBUG, "peer", "peer_call_refused", CD_S("path", v->x->head->where.path),
                CD_Z("reason", fleet_verdict_text(verdict)));
    refuse(v->x, v->server, fleet_verdict_proven(verdict) ? v : NULL, fleet_verdict_status(verdict),
           fleet_verdict_text(verdict));
    v->x = NULL;
}

static void switch_protocol(struct serving *v)
{
    struct http_upgrade u = {0};
    char signature[FLEET_HEX_SHA256 + 1];
    fleet_peer_sign_answer(signature, v->server->secret, cd_str(v->nonce), cd_str(v->server->node), 101,
                           (struct cd_str){0});
    const struct http_field field[] = {{CD_STR("x-celld-peer-version"), CD_STR(FLEET_PEER_VERSION)},
                                       {CD_STR("x-celld-peer-response"), cd_str(signature)}};
    struct http_exchange *x = v->x;
    v->x = NULL;
    v->request.head = NULL; /* It ends with the exchange, and all that borrows from it. */
    v->request.rest = v->request.query = (struct cd_str){0};
    http_exchange_upgrade(x, &u, cd_str(v->route->upgrade), field, CD_COUNT(field), NULL);
    if (io_await(&u.op, IO_FOREVER) == IO_OK) /* One write, which has a time limit. */
        v->route->upgraded(v->route->arg, &v->request, &u.stream, &u.rest);
    cd_buf_deinit(&u.rest);
}

static void run(struct serving *v)
{
    const struct fleet_peer_route *route = v->route;
    struct fleet_peer_request *r = &v->request;
    const struct http_head *head = v->x->head;
    r->io = v->server->io;
    r->head = head;
    r->source = cd_str(v->source);
    r->query = head->where.query;
    r->rest = cd_str_sub(head->where.path, strlen(route->path), SIZE_MAX);
    r->body = cd_buf_str(&v->body);
    r->status = route->handle == NULL ? 101 : 0;
    if (route->handle != NULL)
        route->handle(route->arg, r);
    if (r->status == 101) {
        CD_ASSERT(route->upgrade != NULL);
        switch_protocol(v);
        return;
    }
    if (r->status == 0 && v->server->stopping)
        http_exchange_close(v->x); /* Cut off in its work: nobody knows what became of it. */
    else
        answer(v->x, v->server, v, r->status == 0 ? 500 : r->status, cd_buf_str(&r->answer));
    v->x = NULL;
}

static bool asks_for(const struct http_head *h, const char *protocol)
{
    return h->upgrade &&
           http_list_has(http_field_value(h->field, h->field_count, CD_STR("upgrade")), cd_str(protocol));
}

static void serve_flow(void *arg)
{
    struct serving *v = arg;
    struct fleet_peer_server *s = v->server;
    struct fleet_peer_signed *sig = &v->signature;
    const struct http_head *head = v->x->head;
    sig->method = head->method;
    sig->target_path = head->target;
    fleet_peer_signed_read(sig, head->field, head->field_count);
    enum fleet_verdict verdict = fleet_peer_verify_head(sig, s->secret, io_wall_ms(s->io));
    if (verdict == FLEET_VERDICT_OK) {
        memcpy(v->nonce, sig->nonce.ptr, sig->nonce.len);
        memcpy(v->source, sig->source.ptr, sig->source.len);
    }
    if (verdict == FLEET_VERDICT_OK && read_body(v) == IO_OK) {
        verdict = verify(v);
        if (verdict == FLEET_VERDICT_OK && v->route->upgrade != NULL && !asks_for(head, v->route->upgrade))
            refuse_with(v, 400, "tunnel establishment must upgrade");
        else if (verdict == FLEET_VERDICT_OK)
            run(v);
    }
    if (v->x != NULL)
        refused(v, verdict);
    cd_link_remove(&v->link);
    cd_buf_deinit(&v->body);
    cd_buf_deinit(&v->request.answer);
    cd_free(v);
    stop_look(s);
}

static const struct fleet_peer_route *route_of(const struct fleet_peer_server *s, struct cd_str path)
{
    for (unsigned i = 0; i < s->routes; i++) {
        struct cd_str own = cd_str(s->route[i].path);
        if (s->route[i].prefix ? cd_str_starts(path, own) : cd_str_eq(path, own))
            return &s->route[i];
    }
    return NULL;
}

bool fleet_peer_server_handle(struct fleet_peer_server *s, struct http_exchange *x)
{
    struct cd_str path = x->head->where.path;
    const struct fleet_peer_route *route = route_of(s, path);
    if (route == NULL && !cd_str_starts(path, CD_STR("/peer/")))
        return false;
    if (route == NULL) {
        refuse(x, s, NULL, 404, "not_found");
    } else if (s->secret == NULL || s->stopping || (!s->ready && !route->in_startup)) {
        refuse(x, s, NULL, 503, s->stopping ? "draining" : "predecessor recovery in progress");
    } else if (route->method != NULL && !cd_str_eq(x->head->method, cd_str(route->method))) {
        refuse(x, s, NULL, 405, "method not allowed");
    } else {
        struct serving *v = cd_new(struct serving);
        v->server = s;
        v->route = route;
        v->x = x;
        cd_list_push(&s->running, &v->link);
        v->fiber = io_spawn(s->io, "peer_call", serve_flow, v);
    }
    return true;
}
