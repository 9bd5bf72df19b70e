/* sim/js/load_js.c: the js workload: nodes serve a small Worker (worker.js) inside V8, clients ask for each
 * of its routes through src/http's client, and an oracle (ask_truth.h) knows what every answer has to be and
 * what may run. simulation.md 12.
 *
 * Every isolate draws its random values from its own stream of the run. Answers carry them, the time and a
 * trace of the collector's work, and clients put a digest of each answer into the trace: so a run whose
 * JavaScript is not deterministic has another hash. */
#include <stdio.h>

#include "base/event.h"
#include "base/rng.h"
#include "http/client.h"
#include "sim/js/service.h"
#include "sim/run.h"
#include "sim/web_truth.h"

#define FLOWS 2 /* Calls of a client at a time. */
#define PIECE_MAX 4096u
#define AT_ONCE_MAX 1024u /* Smaller bodies go with the head, in half of the calls. */
#define TIMER_MS_MAX 2000u
#define LINES_MAX 60u
#define PROBE_RETRY_NS IO_MS(200)
#define BOOT_NS IO_MS(50) /* Clients start when the nodes may be up, or not. */

struct load_js;
struct client { /* One flow of a client: call after call. */
    struct load_js *load;
    unsigned index;
    struct io *io;
    uint64_t round; /* Of audits it has finished. */
    unsigned probed; /* Nodes that have answered in this round. */
};

struct load_js {
    struct run *run;
    struct ask_truth truth;
    struct http_server_opts server_opts;
    struct js_service *service[SCN_NODES_MAX + 1][4]; /* Per node and loop; freed by themselves. */
    struct client client[SCN_CLIENTS_MAX + 1][FLOWS];
    struct pool { /* Of a client's calls. */
        struct http_client *client;
        struct io_op stop;
    } pool[SCN_CLIENTS_MAX + 1];
    bool quiet;
    uint64_t round; /* 1 when the load is over, 2 in the audit: every client has to be served anew. */
};

static uint64_t setting(const struct load_js *l, enum scn_setting id)
{
    return scn_get(l->run->scn, id);
}

static void broken(void *arg, const char *invariant, struct cd_str why)
{
    struct load_js *l = arg;
    run_fail(l->run, RUN_SAFETY, invariant, "%.*s", (int)why.len, why.ptr);
}

/* ---- Nodes ---- */

static struct js_service **service_of(void *load, struct fleet_node *n, struct io *io)
{
    return &((struct load_js *)load)->service[n->index][io_loop_index(io)];
}

static void js_boot(void *load, struct fleet_node *n, struct io *io)
{
    struct load_js *l = load;
    if (io_loop_index(io) == 0)
        return; /* The control loop serves nobody. */
    struct js_service_opts opts = {.server = &l->server_opts, .truth = &l->truth, .broken = broken, .arg = l};
    *service_of(load, n, io) = js_service_new(io, &opts);
}

static void js_freeze(void *load, struct fleet_node *n, struct io *io)
{
    struct js_service **s = service_of(load, n, io);
    if (*s != NULL)
        js_service_freeze(*s);
}

static void js_unwind(void *load, struct fleet_node *n, struct io *io)
{
    struct js_service **s = service_of(load, n, io);
    if (*s != NULL)
        js_service_end(*s);
    *s = NULL;
}

static void js_wiped(void *load, struct fleet_node *n)
{
    (void)load;
    (void)n; /* It keeps nothing on disks. */
}

/* ---- One call ---- */

static uint64_t draw(struct client *c, uint64_t n)
{
    return io_random_below(c->io, IO_RAND_JITTER, n);
}

struct call {
    struct client *client;
    struct http_call http;
    uint64_t id, deadline_ns, from_ns;
    struct ask ask;
    bool chunked;
    uint64_t abort_at; /* Bytes of the body or of the answer after which it is given up; UINT64_MAX: never. */
    struct cd_buf body, answer; /* owned */
};

static bool has_body(enum ask_route route)
{
    return route == ASK_ECHO || route == ASK_READ;
}

static void call_start(struct call *k, struct io_op *op, struct cd_str body)
{
    struct io_addr to = {.port = 80};
    struct cd_buf target = {0};
    cd_buf_addf(&target, "/%s?op=%llu&n=%u", ask_route_path(k->ask.route), (unsigned long long)k->id,
                k->ask.n);
    bool with = has_body(k->ask.route) && k->ask.n > 0;
    struct http_ask ask = {.method = with ? CD_STR("POST") : CD_STR("GET"),
                           .target = cd_buf_str(&target),
                           .authority = CD_STR("fleet.example"),
                           .body_len = !with        ? 0
                                       : k->chunked ? HTTP_LEN_CHUNKED
                                                    : k->ask.n};
    (void)snprintf(to.host, sizeof to.host, "n%u", k->ask.node);
    struct http_client *pool = k->client->load->pool[k->client->index].client;
    http_call_start(&k->http, pool, &to, &ask, body, op, NULL);
    cd_buf_deinit(&target);
}

/* The body in pieces with waits between some. An error is no reason to stop: the answer may come. */
static void send_body(struct call *k)
{
    struct client *c = k->client;
    int rc = 0;
    for (uint64_t sent = 0; rc == 0 && sent < k->body.len && sent < k->abort_at;) {
        uint64_t most = k->body.len - sent < PIECE_MAX ? k->body.len - sent : PIECE_MAX;
        struct cd_str part = cd_str_sub(cd_buf_str(&k->body), sent, 1 + (size_t)draw(c, most));
        struct io_write w = {.part = &part, .parts = 1};
        sent += part.len;
        http_call_write(&k->http, &w, sent == k->body.len, NULL);
        rc = io_await(&w.op, k->deadline_ns);
        if (rc == 0 && draw(c, 8) == 0)
            rc = io_sleep(c->io, draw(c, IO_MS(20)));
    }
}

/* IO_EOF: the whole answer is there. */
static int read_answer(struct call *k)
{
    while (k->answer.len < k->abort_at) {
        struct io_read r = {0};
        http_call_read(&k->http, &r, NULL);
        int rc = io_await(&r.op, k->deadline_ns);
        if (rc != 0)
            return rc;
        cd_buf_add(&k->answer, r.buf, r.len);
    }
    return IO_CANCELED;
}

/* The trace has no bytes of the network, only their number: so the client writes down what it got. */
static void record(const struct call *k)
{
    const struct http_head *head = k->http.head;
    uint64_t digest = cd_hash64(0, k->answer.ptr, k->answer.len);
    for (unsigned i = 0; i < head->field_count; i++)
        digest = cd_hash64(digest, head->field[i].value.ptr, head->field[i].value.len);
    cd_event_to(k->client->io, CD_INFO, "js", "answer", CD_U("op", k->id), CD_U("digest", digest));
}

/* Asks, and judges what comes. */
static void call_do(struct call *k)
{
    struct load_js *l = k->client->load;
    struct io_op op = {0};
    struct cd_buf why = {0};
    const char *invariant = NULL;
    bool at_once = k->body.len <= AT_ONCE_MAX && !k->chunked && draw(k->client, 2) == 0;
    k->from_ns = io_now_ns(k->client->io);
    call_start(k, &op, at_once ? cd_buf_str(&k->body) : (struct cd_str){0});
    if (!at_once)
        send_body(k);
    int rc = io_await(&op, k->deadline_ns);
    if (rc == 0)
        rc = read_answer(k);
    if (rc == IO_EOF) {
        uint64_t took = io_now_ns(k->client->io) - k->from_ns;
        record(k);
        invariant =
            ask_truth_answer(&l->truth, k->id, k->http.head->status, cd_buf_str(&k->answer), took, &why);
    } else {
        if (k->abort_at != UINT64_MAX)
            CD_MARK("js.aborted");
        ask_truth_lose(&l->truth, k->id);
    }
    http_call_close(&k->http);
    if (invariant != NULL)
        broken(l, invariant, cd_buf_str(&why));
    cd_buf_deinit(&why);
    cd_buf_deinit(&k->answer);
    cd_buf_deinit(&k->body);
}

static uint32_t draw_n(struct client *c, enum ask_route route)
{
    switch (route) {
    case ASK_ECHO:
    case ASK_READ: return draw(c, 5) == 0 ? 0 : (uint32_t)draw(c, setting(c->load, SCN_JS_BODY) + 1);
    case ASK_TIMER: return (uint32_t)draw(c, TIMER_MS_MAX);
    case ASK_STREAM: return (uint32_t)draw(c, LINES_MAX);
    case ASK_TEXT:
    case ASK_JSON:
    case ASK_RANDOM:
    case ASK_THROW:
    case ASK_ROUTE_COUNT: break;
    }
    return 0;
}

/* True: answered as it had to be. */
static bool ask(struct client *c, unsigned node, enum ask_route route)
{
    struct call k = {.client = c, .abort_at = UINT64_MAX};
    k.ask = (struct ask){.route = route, .client = (uint8_t)c->index, .node = (uint8_t)node};
    k.ask.n = draw_n(c, route);
    k.id = ask_truth_add(&c->load->truth, &k.ask);
    k.deadline_ns = io_now_ns(c->io) + setting(c->load, SCN_JS_TIMEOUT);
    if (has_body(route)) {
        web_bytes(&k.body, k.id, WEB_BODY, 0, k.ask.n);
        k.chunked = draw(c, 3) == 0;
    }
    if (draw(c, 1000000) < setting(c->load, SCN_JS_ABORT))
        k.abort_at = draw(c, 1 + k.ask.n);
    call_do(&k);
    return ask_truth_get(&c->load->truth, k.id).outcome == ASK_ANSWERED;
}

/* ---- Clients ---- */

/* A node that is in the fleet. */
static unsigned draw_node(struct client *c)
{
    const struct run *run = c->load->run;
    for (;;) {
        unsigned at = 1 + (unsigned)draw(c, run->nodes);
        if (run->node[at].node != NULL)
            return at;
    }
}

static bool pause_for(struct client *c, uint64_t ns)
{
    return io_sleep(c->io, ns) == IO_OK && !run_failed(c->load->run);
}

/* Between two calls. Looks up every second, because the pause can be longer than the load. */
static bool pace(struct client *c, uint64_t ns)
{
    bool goes_on = true;
    while (goes_on && ns > 0 && !c->load->quiet) {
        uint64_t piece = ns < IO_SEC(1) ? ns : IO_SEC(1);
        goes_on = pause_for(c, piece);
        ns -= piece;
    }
    return goes_on;
}

/* One answer of every node. False: the client is gone. */
static bool probe_all(struct client *c)
{
    struct run *run = c->load->run;
    for (unsigned i = 1; i <= run->nodes; i++) {
        while (run->node[i].node != NULL && !ask(c, i, ASK_RANDOM)) {
            if (!pause_for(c, PROBE_RETRY_NS))
                return false;
        }
        c->probed = i;
    }
    c->probed = 0;
    return true;
}

static void client_flow(void *arg)
{
    struct client *c = arg;
    struct load_js *l = c->load;
    uint64_t mean = IO_SEC(1000) / setting(l, SCN_JS_RATE) * setting(l, SCN_JS_CLIENTS) * FLOWS;
    bool goes_on = pace(c, BOOT_NS + draw(c, mean + 1));
    while (goes_on && !l->quiet) {
        unsigned node = draw_node(c);
        enum ask_route route = (enum ask_route)draw(c, ASK_ROUTE_COUNT);
        (void)ask(c, node, route); /* What is not answered is the oracle's to judge. */
        goes_on = !run_failed(l->run) && pace(c, draw(c, 2 * mean + 1));
    }
    while (goes_on) {
        if (c->round < l->round && (goes_on = probe_all(c)))
            c->round++;
        goes_on = goes_on && pause_for(c, PROBE_RETRY_NS);
    }
}

static void client_boot(struct io *io, void *arg)
{
    struct client *c = arg;
    struct http_client_opts opts = {.connections_max = 2, .idle_max = 1, .idle_timeout_ns = IO_SEC(3)};
    c->load->pool[c->index].client = http_client_new(io, &opts);
    for (unsigned i = 0; i < FLOWS; i++) {
        c[i].io = io;
        (void)io_spawn(io, "client", client_flow, &c[i]);
    }
}

static void pool_stopped(struct io_op *op, int status)
{
    struct pool *p = CD_CONTAINER(op, struct pool, stop);
    (void)status;
    http_client_free(p->client);
    p->client = NULL;
}

static void client_unwind(struct io *io, void *arg)
{
    struct client *c = arg;
    struct pool *p = &c->load->pool[c->index];
    (void)io;
    http_client_stop(p->client, &p->stop, pool_stopped);
}

/* ---- The workload ---- */

static void *js_start(struct run *run)
{
    struct load_js *l = cd_new(struct load_js);
    l->run = run;
    l->server_opts = (struct http_server_opts){
        .limits = {.body_max = setting(l, SCN_SERVER_BODY_MAX)},
        .head_timeout_ns = setting(l, SCN_SERVER_HEAD_TIMEOUT),
        .body_timeout_ns = setting(l, SCN_SERVER_BODY_TIMEOUT),
        .idle_timeout_ns = setting(l, SCN_SERVER_IDLE_TIMEOUT),
    };
    unsigned clients = (unsigned)setting(l, SCN_JS_CLIENTS);
    for (unsigned i = 1; i <= clients; i++) {
        char name[8];
        for (unsigned k = 0; k < FLOWS; k++)
            l->client[i][k] = (struct client){.load = l, .index = i};
        (void)snprintf(name, sizeof name, "c%u", i);
        struct sim_node_opts opts = {.name = name, .loops = 1, .client = true};
        opts.program = (struct sim_program){client_boot, client_unwind, l->client[i], NULL};
        run->client[i] = sim_node(run->sim, &opts);
    }
    run->clients = clients;
    return l;
}

static void js_quiet(void *load)
{
    struct load_js *l = load;
    l->quiet = true;
    l->round = 1;
}

static bool js_settled(void *load, struct cd_buf *why)
{
    struct load_js *l = load;
    bool yes = true;
    for (unsigned i = 1; i <= l->run->clients; i++) {
        for (unsigned k = 0; k < FLOWS; k++) {
            const struct client *c = &l->client[i][k];
            if (c->round == l->round)
                continue;
            yes = false;
            if (why != NULL)
                cd_buf_addf(why, "js: c%u has no answer from n%u\n", i, c->probed + 1);
        }
    }
    return yes;
}

static void js_audit(void *load)
{
    struct load_js *l = load;
    l->round = 2;
}

static void js_finish(void *load)
{
    struct load_js *l = load;
    ask_truth_deinit(&l->truth);
    cd_free(l);
}

const struct load_kind load_js = {
    .name = "js",
    .group = SCN_LOAD_JS,
    .lasts = SCN_JS_FOR,
    .start = js_start,
    .boot = js_boot,
    .freeze = js_freeze,
    .unwind = js_unwind,
    .wiped = js_wiped,
    .quiet = js_quiet,
    .settled = js_settled,
    .audit = js_audit,
    .finish = js_finish,
};
