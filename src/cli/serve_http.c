/* cli/serve_http.c: the two listeners of a node: the public one on each shard, the internal one for peers and
 * operators on the control loop. operations.md 5. */
#include "base/json.h"
#include "cli/serve_internal.h"
#include "fleet/node.h"
#include "fleet/peer.h"

#define JSON "application/json"
#define DRAINING "{\"ok\":false,\"draining\":true}"

static bool is_draining(struct serve *s)
{
    return __atomic_load_n(&s->draining, __ATOMIC_SEQ_CST);
}

void cli_serve_answer(struct http_exchange *x, int status, struct cd_str body)
{
    static const struct http_field fields[] = {{{"content-type", 12}, {JSON, sizeof JSON - 1}},
                                               {{"cache-control", 13}, {"no-store", 8}},
                                               {{"retry-after", 11}, {"1", 1}}};
    const struct http_answer answer = {
        .status = status, .field = fields, .field_count = status == 503 ? 3 : 2, .close = status == 503};
    int rc = http_answer_all(x, &answer, body);
    CD_ASSERT(rc == 0); /* Our own fields. */
}

/* ---- Public ---- */

/* What request.url starts with: operations.md 5.4. */
static void origin_of(const struct http_exchange *x, bool trusted, struct cd_buf *out)
{
    struct cd_str host = x->head->authority, scheme = CD_STR("http");
    if (trusted) {
        for (size_t i = 0; i < x->head->field_count; i++) {
            struct cd_str value = x->head->field[i].value;
            for (size_t comma; (comma = cd_str_find(value, ',', 0)) != SIZE_MAX;)
                value = cd_str_sub(value, comma + 1, SIZE_MAX);
            value = cd_str_trim(value);
            if (cd_str_eq_nocase(x->head->field[i].name, CD_STR("x-forwarded-host"))) {
                struct http_authority parsed;
                if (http_authority_parse(value, &parsed) == 0)
                    host = value;
            } else if (cd_str_eq_nocase(x->head->field[i].name, CD_STR("x-forwarded-proto"))) {
                if (cd_str_eq(value, CD_STR("http")) || cd_str_eq(value, CD_STR("https")))
                    scheme = value;
            }
        }
    }
    if (host.len == 0)
        host = CD_STR("celld.local");
    cd_buf_addf(out, "%.*s://%.*s", (int)scheme.len, scheme.ptr, (int)host.len, host.ptr);
}

bool cli_serve_trusts_proxy(const struct serve *s)
{
    return cli_on(s->c, CLI_TRUST_FORWARDED_HEADERS, CLI_SET_TRUST_FORWARDED_HEADERS);
}

void cli_serve_refuse(struct http_exchange *x, const char *reason)
{
    static const struct http_field fields[] = {{CD_STR("content-type"), CD_STR("text/plain; charset=utf-8")},
                                               {CD_STR("retry-after"), CD_STR("1")}};
    const struct http_answer answer = {.status = 503, .field = fields, .field_count = CD_COUNT(fields)};
    struct cd_buf text = {0};
    cd_buf_addf(&text, "Worker refused: %s", reason);
    int rc = http_answer_all(x, &answer, cd_buf_str(&text));
    CD_ASSERT(rc == 0); /* Our own fields. */
    cd_buf_deinit(&text);
}

/* Whether the node answers by itself: nothing is to be served. */
static bool answer_idle(struct shard *shard, struct http_exchange *x)
{
    if (is_draining(shard->s))
        cli_serve_answer(x, 503, CD_STR(DRAINING));
    else if (shard->site == NULL)
        cli_serve_answer(x, 404, CD_STR("{\"error\":\"not_found\"}"));
    else
        return false;
    return true;
}

void cli_serve_request(struct shard *shard, struct http_exchange *x)
{
    if (answer_idle(shard, x)) { /* By now. */
        cli_serve_leave(shard);
        return;
    }
    struct cd_buf origin = {0};
    origin_of(x, cli_serve_trusts_proxy(shard->s), &origin);
    js_site_fetch(shard->site, x, cd_buf_str(&origin));
    cd_buf_deinit(&origin);
}

static void on_public(void *arg, struct http_exchange *x)
{
    struct shard *shard = arg;
    if (cd_str_eq(x->head->where.path, CD_STR("/.well-known/celld/health"))) {
        if (is_draining(shard->s))
            cli_serve_answer(x, 503, CD_STR(DRAINING));
        else if (cli_serve_healthy(shard->s, shard->io))
            cli_serve_answer(x, 200, CD_STR("{\"ok\":true}"));
        else
            cli_serve_answer(x, 503, CD_STR("{\"ok\":false}"));
        return;
    }
    if (!answer_idle(shard, x))
        cli_serve_admit(shard, x);
}

int cli_serve_listen(struct shard *shard, struct cd_buf *why)
{
    struct serve *s = shard->s;
    const struct http_server_opts opts = {
        .limits = {.body_max = cli_num(&s->c->settings, CLI_SET_MAX_REQUEST_BODY_BYTES)}};
    (void)why;
    int rc = http_server_open(&shard->server, shard->io, &s->at, IO_LISTEN_SHARED, &opts, on_public, shard);
    if (rc == 0)
        http_server_addr(shard->server, &s->at); /* Control waits for us: no other loop looks at it now. */
    return rc;
}

/* ---- Internal ---- */

struct reload {
    struct serve *s;
    struct http_exchange *x;
};

static void reload_flow(void *arg)
{
    struct reload *r = arg;
    struct serve *s = r->s;
    struct cd_buf body = {0}, why = {0};
    while (s->adopting)
        (void)io_sleep(s->control, IO_MS(5));
    s->adopting = true;
    int rc = cli_serve_adopt(s, &why);
    s->adopting = false;
    struct cd_json_out o;
    cd_json_out_init(&o, &body);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "ok");
    cd_json_out_bool(&o, rc == 0);
    cd_json_out_key(&o, "outcome");
    cd_json_out_str(&o, rc == 0          ? CD_STR("adopted")
                        : rc == IO_NOENT ? CD_STR("unavailable")
                                         : CD_STR("failed"));
    if (rc == 0) {
        cd_json_out_key(&o, "generation");
        cd_json_out_u64(&o, s->current->number);
        cd_json_out_key(&o, "version");
        cd_json_out_str(&o, cd_str(s->current->app[0]->version));
        cd_json_out_key(&o, "prefix");
        cd_json_out_str(&o, s->current->app[0]->prefix);
    } else {
        cd_json_out_key(&o, "error");
        cd_json_out_str(&o, rc == IO_NOENT ? CD_STR("this node has no deployment pointer to reload from")
                                           : cd_buf_str(&why));
        cd_event(s->control, CD_ERROR, "deployment_adoption_failed", CD_S("reason", cd_buf_str(&why)));
    }
    cd_json_out_end(&o, '}');
    cli_serve_answer(r->x, rc == 0 ? 200 : rc == IO_NOENT ? 503 : 422, cd_buf_str(&body));
    cd_buf_deinit(&body);
    cd_buf_deinit(&why);
    cd_free(r);
}

static void on_live(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    (void)s, (void)rest;
    cli_serve_answer(x, 200, CD_STR("{\"ok\":true}"));
}

static void on_reload(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    struct reload *r = cd_new(struct reload);
    (void)rest;
    r->s = s;
    r->x = x;
    io_spawn(s->control, "reload", reload_flow, r);
}

static void on_shutdown(struct serve *s, struct http_exchange *x, struct cd_str rest)
{
    struct cd_str query = x->head->where.query;
    (void)rest;
    if (query.ptr != NULL && !cd_str_eq(query, CD_STR("handoff=preserve"))) {
        cli_serve_answer(x, 400, CD_STR("{\"error\":\"invalid operator query\"}"));
        return;
    }
    cli_serve_answer(x, 200, CD_STR("{\"ok\":true}"));
    s->preserve = s->preserve || query.ptr != NULL;
    cli_serve_stop(s);
}

/* operations.md 5.6. A path that ends with a slash is the beginning of one: rest is what follows. */
static const struct route {
    const char *path;
    const char *method; /* NULL: any. */
    bool early; /* Also before it has started. */
    bool draining; /* Also while the node stops. */
    void (*handle)(struct serve *s, struct http_exchange *x, struct cd_str rest);
} routes[] = {
    {"/health/live", NULL, true, true, on_live},
    {"/state", "GET", true, true, cli_operator_state},
    {"/reload", "POST", false, false, on_reload},
    {"/shutdown", "POST", false, true, on_shutdown},
    {"/rebalance/pause", "POST", false, false, cli_operator_pause},
    {"/rebalance/resume", "POST", false, false, cli_operator_resume},
    {"/cell/", NULL, false, false, cli_operator_cell},
    {"/evict/", NULL, false, false, cli_operator_evict},
};

static const struct route *route_of(struct cd_str path, struct cd_str *rest)
{
    for (size_t i = 0; i < CD_COUNT(routes); i++) {
        struct cd_str name = cd_str(routes[i].path);
        bool prefix = cd_str_ends(name, CD_STR("/"));
        if (!(prefix ? cd_str_starts(path, name) : cd_str_eq(path, name)))
            continue;
        *rest = cd_str_sub(path, name.len, SIZE_MAX);
        return &routes[i];
    }
    return NULL;
}

static void on_operator(void *arg, struct http_exchange *x)
{
    struct serve *s = arg;
    struct cd_str rest;
    if (s->node != NULL && fleet_peer_server_handle(fleet_node_peers(s->node), x))
        return;
    const struct route *r = route_of(x->head->where.path, &rest);
    if (r == NULL) {
        cli_serve_answer(x, 404, CD_STR("{\"error\":\"not_found\"}"));
    } else if (r->method != NULL && !cd_str_eq(x->head->method, cd_str(r->method))) {
        const struct http_field fields[] = {{CD_STR("content-type"), CD_STR(JSON)},
                                            {CD_STR("allow"), cd_str(r->method)}};
        const struct http_answer answer = {.status = 405, .field = fields, .field_count = CD_COUNT(fields)};
        int rc = http_answer_all(x, &answer, CD_STR("{\"error\":\"method_not_allowed\"}"));
        CD_ASSERT(rc == 0); /* Our own fields. */
    } else if (!s->started && !r->early) {
        cli_serve_answer(x, 503, CD_STR("{\"error\":\"starting\"}"));
    } else if (s->stopping && !r->draining) {
        cli_serve_answer(x, 503, CD_STR(DRAINING));
    } else {
        r->handle(s, x, rest);
    }
}

int cli_serve_operator_open(struct serve *s, struct cd_buf *why)
{
    int rc = http_server_open(&s->internal, s->control, &s->internal_at, 0, NULL, on_operator, s);
    if (rc != 0) {
        cd_buf_addf(why, "cannot listen on %s:%u: %s", s->internal_at.host, s->internal_at.port,
                    cd_err_text(rc));
        return rc;
    }
    struct cd_str given = cd_str_trim(cli_either(s->c, CLI_ADVERTISE, CLI_SET_ADVERTISE));
    http_server_addr(s->internal, &s->internal_at);
    if (given.len > 0)
        cd_buf_add_str(&s->advertise, given);
    else
        cli_serve_addr_text(&s->advertise, &s->internal_at);
    return 0;
}
