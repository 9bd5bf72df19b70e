/* cli/serve_operator.c: what operators do with one cell, over the internal listener: /cell and /evict.
 * operations.md 5.6. The listener is the control loop's; cells belong to their shards. */
#include "base/json.h"
#include "cell/cell.h"
#include "cell/id.h"
#include "cli/serve_internal.h"
#include "fleet/claim_rule.h"
#include "fleet/node.h"

static bool scope_ok(struct http_exchange *x, struct cd_str scope)
{
    bool ok = cell_scope_valid(scope);
    if (!ok)
        cli_serve_answer(x, 400, CD_STR("{\"error\":\"malformed_cell_scope\"}"));
    return ok;
}

/* ---- /cell ---- */

struct resolve {
    struct http_exchange *x;
    struct cell_wire *wire;
    char *scope; /* owned */
    struct cd_buf where; /* owned; struct cell_where: another node has it */
};

static void resolve_free(struct resolve *r)
{
    cell_wire_close(r->wire, NULL);
    cd_buf_deinit(&r->where);
    cd_free(r->scope);
    cd_free(r);
}

static void resolved(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct resolve *r = arg;
    struct cd_buf body = {0};
    struct cd_json_out o;
    struct cell_where where;
    int status = why->text.len == 0 ? 200 : 503;
    (void)w;
    cd_json_out_init(&o, &body);
    cd_json_out_object(&o);
    if (cell_where_read(cd_buf_str(&r->where), &where)) {
        status = 307;
        cd_json_out_key(&o, "route");
        cd_json_out_str(&o, CD_STR("remote"));
        cd_json_out_key(&o, "node");
        cd_json_out_str(&o, where.session);
        cd_json_out_key(&o, "addr");
        cd_json_out_str(&o, where.addr);
        cd_json_out_key(&o, "epoch");
        cd_json_out_u64(&o, where.epoch);
        cd_json_out_key(&o, "peer_protocol");
        cd_json_out_u64(&o, FLEET_PEER_PROTOCOL);
    } else if (status == 200) {
        cd_json_out_key(&o, "route");
        cd_json_out_str(&o, CD_STR("local"));
        cd_json_out_key(&o, "cell");
        cd_json_out_str(&o, cd_str(r->scope));
    } else {
        bool full = cd_str_eq(why->text, CD_STR(CELL_CAPACITY_TEXT));
        cd_json_out_key(&o, "error");
        cd_json_out_str(&o, full ? CD_STR("CapacityExhausted") : why->text);
    }
    cd_json_out_end(&o, '}');
    cli_serve_answer(r->x, status, cd_buf_str(&body));
    cd_buf_deinit(&body);
    resolve_free(r);
}

static void resolve_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct resolve *r = arg;
    (void)w;
    cd_buf_deinit(&r->where);
    r->where = cd_buf_move(bytes);
}

static void resolve_gone(struct http_exchange *x, int status)
{
    if (status == IO_EOF)
        return; /* It can still read. */
    resolve_free(x->user);
    http_exchange_close(x);
}

static const struct cell_wire_hooks resolve_hooks = {resolve_message, resolved, NULL, NULL};

void cli_operator_cell(struct serve *s, struct http_exchange *x, struct cd_str scope)
{
    if (!scope_ok(x, scope))
        return;
    struct resolve *r = cd_new(struct resolve);
    r->x = x;
    r->scope = cd_str_dup(scope);
    x->user = r;
    x->gone = resolve_gone;
    r->wire = cell_call(s->router, s->control, &(struct cell_target){.scope = scope, .activate = true}, NULL);
    cell_wire_attach(r->wire, &resolve_hooks, r);
}

/* ---- /evict ---- */

struct evict {
    struct http_exchange *x; /* NULL: the client is gone; the eviction goes on. */
    struct shard *shard;
    const char *reason;
    char *scope; /* owned */
};

static void evict_answer(struct http_exchange *x, const char *reason)
{
    static const struct {
        const char *reason, *kind;
        int status;
    } ends[] = {
        {"cell_active", "refused", 409},       {"cell_transitioning", "refused", 409},
        {"alarm_imminent", "refused", 409},    {"alarm_uncovered", "refused", 409},
        {"node_unavailable", "refused", 503},  {"eviction_limit", "refused", 503},
        {"new_activity", "cancelled", 409},    {"alarm_activity", "cancelled", 409},
        {"node_fenced", "cancelled", 409},     {"durability_failed", "failed", 500},
        {"durability_timeout", "failed", 500},
    };
    if (reason == NULL) {
        cli_serve_answer(x, 200, CD_STR("{\"ok\":true}"));
        return;
    }
    size_t i = 0;
    while (i < CD_COUNT(ends) && strcmp(ends[i].reason, reason) != 0)
        i++;
    CD_ASSERT(i < CD_COUNT(ends)); /* cell_evict has no others. */
    struct cd_buf body = {0};
    cd_buf_addf(&body, "{\"ok\":false,\"error\":{\"kind\":\"%s\",\"reason\":\"%s\"}}", ends[i].kind, reason);
    cli_serve_answer(x, ends[i].status, cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static void evict_back(struct serve *s, struct shard *shard, void *arg)
{
    struct evict *e = arg;
    (void)s, (void)shard;
    if (e->x != NULL)
        evict_answer(e->x, e->reason);
    cd_free(e->scope);
    cd_free(e);
}

static void evicted(void *arg, const char *reason)
{
    struct evict *e = arg;
    e->reason = reason;
    cli_serve_post(e->shard->io, 0, e->shard->s, e->shard, evict_back, e);
}

static void evict_there(struct serve *s, struct shard *shard, void *arg)
{
    struct evict *e = arg;
    (void)s;
    if (shard->cells == NULL)
        evicted(e, "node_unavailable");
    else
        cell_evict(shard->cells, cd_str(e->scope), evicted, e);
}

static void evict_gone(struct http_exchange *x, int status)
{
    struct evict *e = x->user;
    if (status == IO_EOF)
        return;
    e->x = NULL;
    http_exchange_close(x);
}

void cli_operator_evict(struct serve *s, struct http_exchange *x, struct cd_str scope)
{
    if (!scope_ok(x, scope))
        return;
    unsigned loop = cell_scope_loop(scope, 1 + s->shards);
    struct evict *e = cd_new(struct evict);
    e->x = x;
    e->shard = &s->shard[loop - 1];
    e->scope = cd_str_dup(scope);
    x->user = e;
    x->gone = evict_gone;
    cli_serve_post(s->control, loop, s, e->shard, evict_there, e);
}

/* ---- /rebalance ---- */

static void pause_balance(struct serve *s, struct http_exchange *x, bool paused)
{
    if (!s->node_ready || s->node == NULL) {
        cli_serve_answer(x, 409, CD_STR("{\"error\":\"this node publishes no lease\"}"));
        return;
    }
    s->paused = paused;
    fleet_node_refresh(s->node);
    cli_serve_answer(x, 200,
                     paused ? CD_STR("{\"rebalance_paused\":true}") : CD_STR("{\"rebalance_paused\":false}"));
}

void cli_operator_pause(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    (void)rest;
    pause_balance(s, x, true);
}

void cli_operator_resume(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    (void)rest;
    pause_balance(s, x, false);
}
