/* sim/load_http.c: the http workload: nodes run the server of src/http, clients send requests of all shapes
 * to any node, and an oracle (web_truth.h) knows what every answer has to be.
 *
 * Clients never send a request again under the same number. When the load is over each client asks every node
 * once more until it is answered: that is the healed fleet serving again. */
#include <stdio.h>

#include "sim/web_call.h"
#include "sim/web_service.h"
#include "sim/run.h"

#define CONNS 2 /* Connections of a client at a time. */
#define LARGE_FACTOR 16u
#define PROBE_RETRY_NS IO_MS(200)
#define BOOT_NS IO_MS(50) /* Clients start when the nodes may be up, or not. */

struct load_http;
struct client { /* One connection of a client: batch after batch. */
    struct load_http *load;
    unsigned index, number;
    struct io *io;
    struct web_conn conn;
    unsigned at; /* The node it is connected to. */
    uint64_t round; /* Of audits it has finished. */
    unsigned probed; /* Nodes that have answered in this round. */
};

struct load_http {
    struct run *run;
    struct web_truth truth;
    struct http_server_opts server_opts;
    struct web_service *service[SCN_NODES_MAX + 1][4]; /* Per node and loop; freed by themselves. */
    struct client client[SCN_CLIENTS_MAX + 1][CONNS];
    struct pool { /* Of a client's calls. */
        struct http_client *client;
        struct io_op stop;
    } pool[SCN_CLIENTS_MAX + 1];
    bool quiet;
    uint64_t round; /* 1 when the load is over, 2 in the audit: every client has to be served anew. */
};

static uint64_t setting(const struct load_http *l, enum scn_setting id)
{
    return scn_get(l->run->scn, id);
}

static void broken(void *arg, const char *invariant, struct cd_str why)
{
    struct load_http *l = arg;
    run_fail(l->run, RUN_SAFETY, invariant, "%.*s", (int)why.len, why.ptr);
}

/* ---- Nodes ---- */

/* An op that starts itself anew whenever it is cancelled: a crash never comes to its end. */
static void sticky_done(struct io_op *op, int status)
{
    struct io *io = io_current();
    struct io_timer *t = CD_CONTAINER(op, struct io_timer, op);
    (void)status;
    io_timer_start(t, io, IO_SEC(3600), sticky_done);
}

static void http_boot(void *load, struct fleet_node *n, struct io *io)
{
    struct load_http *l = load;
    unsigned loop = io_loop_index(io);
    if (loop == 0)
        return; /* The control loop serves nobody. */
    if (CD_PLANT("http.op-never-ends"))
        io_timer_start(cd_new(struct io_timer), io, IO_SEC(3600), sticky_done);
    struct web_service_opts opts = {
        .server = &l->server_opts, .truth = &l->truth, .broken = broken, .arg = l};
    l->service[n->index][loop] = web_service_new(io, &opts);
}

static void http_unwind(void *load, struct fleet_node *n, struct io *io)
{
    struct load_http *l = load;
    struct web_service **s = &l->service[n->index][io_loop_index(io)];
    if (*s != NULL)
        web_service_end(*s);
    *s = NULL;
}

static void http_wiped(void *load, struct fleet_node *n)
{
    (void)load;
    (void)n; /* It keeps nothing on disks. */
}

/* ---- Clients ---- */

static uint64_t draw(struct client *c, uint64_t n)
{
    return io_random_below(c->io, IO_RAND_JITTER, n);
}

enum shape { SMALL, CHUNKED, LARGE, ABORT };

static enum shape draw_shape(struct client *c)
{
    static const enum scn_setting weights[] = {SCN_HTTP_SMALL, SCN_HTTP_CHUNKED, SCN_HTTP_LARGE,
                                               SCN_HTTP_ABORT};
    uint64_t sum = 0;
    for (unsigned i = 0; i < CD_COUNT(weights); i++)
        sum += setting(c->load, weights[i]);
    if (sum == 0)
        return SMALL;
    uint64_t at = draw(c, sum);
    for (unsigned i = 0; i < CD_COUNT(weights); i++) {
        if (at < setting(c->load, weights[i]))
            return i;
        at -= setting(c->load, weights[i]);
    }
    CD_UNREACHABLE();
}

static void add_request(struct client *c, struct web_batch *b, enum shape shape)
{
    uint64_t body = setting(c->load, SCN_HTTP_BODY);
    uint64_t most = shape == LARGE ? body * LARGE_FACTOR : body;
    struct web_op op = {.client = (uint8_t)c->index, .node = (uint8_t)c->at};
    struct web_request *q = &b->request[b->count++];
    op.body_len = draw(c, 4) == 0 ? 0 : (uint32_t)draw(c, most + 1);
    op.reply_len = draw(c, 4) == 0 ? 0 : (uint32_t)draw(c, most + 1);
    *q = (struct web_request){.chunked = shape == CHUNKED || draw(c, 8) == 0, .expect = draw(c, 8) == 0};
    q->reply_chunked = shape == CHUNKED || draw(c, 4) == 0;
    q->id = web_truth_add(&c->load->truth, &op);
}

static void make_batch(struct client *c, struct web_batch *b, uint64_t most)
{
    enum shape shape = draw_shape(c);
    uint64_t count = shape == LARGE ? 1 : 1 + draw(c, most);
    *b = (struct web_batch){.abort_at = UINT64_MAX};
    for (uint64_t i = 0; i < count; i++)
        add_request(c, b, shape);
    b->finish = draw(c, 16) == 0;
    if (shape == ABORT)
        b->abort_at = 1 + draw(c, 200 + setting(c->load, SCN_HTTP_BODY));
    b->deadline_ns = io_now_ns(c->io) + setting(c->load, SCN_HTTP_TIMEOUT);
}

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

static bool connect_to(struct client *c, unsigned node)
{
    char host[8];
    if (c->conn.open && c->at == node)
        return true;
    web_conn_close(&c->conn, draw(c, 2) == 0);
    (void)snprintf(host, sizeof host, "n%u", node);
    c->at = node;
    return web_conn_open(&c->conn, c->io, host, io_now_ns(c->io) + setting(c->load, SCN_HTTP_TIMEOUT)) == 0;
}

/* Sends what is in b and takes what comes. False: the run has failed. */
static bool do_batch(struct client *c, const struct web_batch *b)
{
    struct cd_buf why = {0};
    const char *invariant = web_conn_batch(&c->conn, &c->load->truth, b, &why);
    if (invariant != NULL)
        broken(c->load, invariant, cd_buf_str(&why));
    cd_buf_deinit(&why);
    return invariant == NULL;
}

/* A planted bug: a client that sends what was not answered once more, under its old number. */
static bool send_again(struct client *c, const struct web_batch *b)
{
    struct web_batch again = {.abort_at = UINT64_MAX, .deadline_ns = io_now_ns(c->io) + IO_SEC(5)};
    for (unsigned i = 0; i < b->count; i++) {
        struct web_op *op = &c->load->truth.op[b->request[i].id - 1];
        if (op->outcome != WEB_UNKNOWN)
            continue;
        op->outcome = WEB_OPEN;
        again.request[again.count++] = b->request[i];
    }
    return again.count == 0 || !connect_to(c, c->at) || do_batch(c, &again);
}

/* One call through src/http's client. False: the run has failed. */
static bool call(struct client *c)
{
    struct web_batch b;
    struct cd_buf why = {0};
    char host[8];
    c->at = draw_node(c);
    make_batch(c, &b, 1);
    (void)snprintf(host, sizeof host, "n%u", c->at);
    struct web_call w = {
        .io = c->io, .pool = c->load->pool[c->index].client, .truth = &c->load->truth, .host = host};
    w.request = b.request[0];
    w.deadline_ns = b.deadline_ns;
    w.abort_at = b.abort_at;
    const char *invariant = web_call_do(&w, &why);
    if (invariant != NULL)
        broken(c->load, invariant, cd_buf_str(&why));
    cd_buf_deinit(&why);
    return invariant == NULL;
}

static bool work(struct client *c)
{
    struct web_batch b;
    if (draw(c, 3) == 0)
        return call(c);
    unsigned node = c->conn.open && draw(c, 4) != 0 ? c->at : draw_node(c);
    if (!connect_to(c, node))
        return true;
    make_batch(c, &b, setting(c->load, SCN_HTTP_PIPELINE));
    bool well = do_batch(c, &b);
    return well && CD_PLANT("http.sent-again") ? send_again(c, &b) : well;
}

/* Asks the node for a small answer. True: it came, whole. */
static bool probe(struct client *c, unsigned node)
{
    struct web_op op = {.body_len = 10, .reply_len = 20, .client = (uint8_t)c->index, .node = (uint8_t)node};
    if (!connect_to(c, node))
        return false;
    struct web_batch b = {.count = 1, .abort_at = UINT64_MAX};
    b.deadline_ns = io_now_ns(c->io) + setting(c->load, SCN_HTTP_TIMEOUT);
    uint64_t id = b.request[0].id = web_truth_add(&c->load->truth, &op);
    return do_batch(c, &b) && web_truth_get(&c->load->truth, id).outcome == WEB_ACKED;
}

static bool pause_for(struct client *c, uint64_t ns)
{
    return io_sleep(c->io, ns) == IO_OK && !run_failed(c->load->run);
}

/* Between two batches. Looks up every second, because the pause can be longer than the load. */
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
    web_conn_close(&c->conn, true);
    for (unsigned i = 1; i <= run->nodes; i++) {
        while (run->node[i].node != NULL && !probe(c, i)) {
            if (!pause_for(c, PROBE_RETRY_NS))
                return false;
        }
        c->probed = i;
    }
    web_conn_close(&c->conn, false);
    c->probed = 0;
    return true;
}

static void client_flow(void *arg)
{
    struct client *c = arg;
    struct load_http *l = c->load;
    /* The rate is that of all clients together; a batch has about half a pipeline of requests. */
    uint64_t batch = 1 + setting(l, SCN_HTTP_PIPELINE) / 2;
    uint64_t mean = IO_SEC(1000) / setting(l, SCN_HTTP_RATE) * setting(l, SCN_HTTP_CLIENTS) * CONNS * batch;
    bool goes_on = pace(c, BOOT_NS + draw(c, mean + 1));
    while (goes_on && !l->quiet)
        goes_on = work(c) && pace(c, draw(c, 2 * mean + 1));
    while (goes_on) {
        if (c->round < l->round && (goes_on = probe_all(c)))
            c->round++;
        goes_on = goes_on && pause_for(c, PROBE_RETRY_NS);
    }
    web_conn_close(&c->conn, true);
}

static void client_boot(struct io *io, void *arg)
{
    struct client *c = arg;
    struct http_client_opts opts = {.connections_max = 2, .idle_max = 1, .idle_timeout_ns = IO_SEC(3)};
    c->load->pool[c->index].client = http_client_new(io, &opts);
    for (unsigned i = 0; i < CONNS; i++) {
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

static void *http_start(struct run *run)
{
    struct load_http *l = cd_new(struct load_http);
    l->run = run;
    l->server_opts = (struct http_server_opts){
        .limits = {.body_max = setting(l, SCN_SERVER_BODY_MAX)},
        .head_timeout_ns = setting(l, SCN_SERVER_HEAD_TIMEOUT),
        .body_timeout_ns = setting(l, SCN_SERVER_BODY_TIMEOUT),
        .idle_timeout_ns = setting(l, SCN_SERVER_IDLE_TIMEOUT),
    };
    unsigned clients = (unsigned)setting(l, SCN_HTTP_CLIENTS);
    for (unsigned i = 1; i <= clients; i++) {
        char name[8];
        for (unsigned k = 0; k < CONNS; k++)
            l->client[i][k] = (struct client){.load = l, .index = i, .number = k};
        (void)snprintf(name, sizeof name, "c%u", i);
        struct sim_node_opts opts = {.name = name, .loops = 1, .client = true};
        opts.program = (struct sim_program){client_boot, client_unwind, l->client[i], NULL};
        run->client[i] = sim_node(run->sim, &opts);
    }
    run->clients = clients;
    return l;
}

static void http_quiet(void *load)
{
    struct load_http *l = load;
    l->quiet = true;
    l->round = 1;
}

static bool http_settled(void *load, struct cd_buf *why)
{
    struct load_http *l = load;
    bool yes = true;
    for (unsigned i = 1; i <= l->run->clients; i++) {
        for (unsigned k = 0; k < CONNS; k++) {
            const struct client *c = &l->client[i][k];
            if (c->round == l->round)
                continue;
            yes = false;
            if (why != NULL)
                cd_buf_addf(why, "http: c%u has no answer from n%u\n", i, c->probed + 1);
        }
    }
    return yes;
}

static void http_audit(void *load)
{
    struct load_http *l = load;
    l->round = 2;
}

static void http_finish(void *load)
{
    struct load_http *l = load;
    web_truth_deinit(&l->truth);
    cd_free(l);
}

const struct load_kind load_http = {
    .name = "http",
    .group = SCN_LOAD_HTTP,
    .lasts = SCN_HTTP_FOR,
    .start = http_start,
    .boot = http_boot,
    .unwind = http_unwind,
    .wiped = http_wiped,
    .quiet = http_quiet,
    .settled = http_settled,
    .audit = http_audit,
    .finish = http_finish,
};
