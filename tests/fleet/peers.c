#include "peers.h"

#include "rig.h"

/* ---- The called node ---- */

static void echo(void *arg, struct fleet_peer_request *r)
{
    struct peers *p = arg;
    p->runs++;
    cd_buf_add_str(&p->bodies, r->body.len < 100 ? r->body : CD_STR(""));
    r->status = 200;
    cd_buf_addf(&r->answer, "{\"source\":\"%.*s\",\"body\":\"%.*s\"}", (int)r->source.len, r->source.ptr,
                (int)(r->body.len > 100 ? 100 : r->body.len), r->body.len == 0 ? "" : r->body.ptr);
}

static void slow(void *arg, struct fleet_peer_request *r)
{
    if (io_sleep(r->io, IO_SEC(2)) == IO_OK)
        echo(arg, r);
}

static void deny(void *arg, struct fleet_peer_request *r)
{
    echo(arg, r);
    r->status = 409;
}

static int stream_write(struct io_stream *s, struct cd_str bytes)
{
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(s, &w, NULL);
    return io_await(&w.op, IO_FOREVER); /* The link of the test has no faults then. */
}

static void tunnel(void *arg, struct fleet_peer_request *r, struct io_stream *stream, struct cd_buf *rest)
{
    struct peers *p = arg;
    struct io_op op = {0};
    int rc = IO_OK;
    p->runs++;
    cd_buf_add_str(&p->heard, cd_buf_str(rest));
    cd_buf_deinit(rest);
    CHECK(cd_str_eq(r->source, CD_STR("a")));
    while (rc == IO_OK) {
        struct io_read read = {0};
        io_stream_read(stream, &read, NULL);
        rc = io_await(&read.op, IO_FOREVER); /* Until the caller closes it, or the node stops. */
        if (rc == IO_OK) {
            cd_buf_add(&p->heard, read.buf, read.len);
            rc = stream_write(stream, CD_STR("ack"));
        }
    }
    io_stream_close(stream, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing ends. */
}

static void on_request(void *arg, struct http_exchange *x)
{
    struct peers *p = arg;
    if (!fleet_peer_server_handle(p->server, x))
        http_answer_text(x, 404, "text/plain", CD_STR("not of peers"));
}

static void routes(struct peers *p)
{
    const struct fleet_peer_route all[] = {
        {.method = "POST", .path = "/peer/echo", .handle = echo, .body_max = 1u << 20},
        {.method = "POST", .path = "/peer/again", .any_process = true, .in_startup = true, .handle = echo},
        {.method = "POST", .path = "/peer/slow", .handle = slow},
        {.method = "POST", .path = "/peer/deny", .handle = deny},
        {.method = "POST", .path = "/peer/tunnel", .upgrade = "celld-tunnel", .upgraded = tunnel},
        {.path = "/runtime/", .prefix = true, .handle = echo},
    };
    for (size_t i = 0; i < CD_COUNT(all); i++) {
        struct fleet_peer_route r = all[i];
        r.arg = p;
        fleet_peer_server_route(p->server, &r);
    }
}

static void called_boot(struct io *io, void *arg)
{
    struct peers *p = arg;
    struct io_addr at = {.port = PEERS_PORT};
    p->server = fleet_peer_server_new(io);
    fleet_key_make(&p->key, io);
    p->probed = (struct fleet_probed){.key = &p->key, .node = "b", .advertise = "hostb:82"};
    fleet_probe_serve(p->server, &p->probed);
    routes(p);
    if (!p->closed)
        fleet_peer_server_open(p->server, &p->secret, p->node == NULL ? "b" : p->node,
                               rig_generation(p->generation));
    if (!p->starting)
        fleet_peer_server_ready(p->server);
    CHECK_INT(http_server_open(&p->http, io, &at, 0, NULL, on_request, p), 0);
}

static void http_stopped(struct io_op *op, int status)
{
    struct peers *p = CD_CONTAINER(op, struct peers, stop_http);
    (void)status;
    http_server_free(p->http);
    fleet_peer_server_free(p->server);
    p->http = NULL;
    p->server = NULL;
}

static void server_stopped(struct io_op *op, int status)
{
    struct peers *p = CD_CONTAINER(op, struct peers, stop_server);
    (void)status;
    http_server_stop(p->http, 0, &p->stop_http, http_stopped);
}

static void called_unwind(struct io *io, void *arg)
{
    struct peers *p = arg;
    (void)io;
    fleet_peer_server_stop(p->server, &p->stop_server, server_stopped);
}

/* ---- The caller ---- */

static void caller_boot(struct io *io, void *arg)
{
    struct peers *p = arg;
    p->client = fleet_peer_client_new(
        &(struct fleet_peer_client_opts){.io = io, .secret = &p->secret, .source = CD_STR("a")});
}

static void client_stopped(struct io_op *op, int status)
{
    struct peers *p = CD_CONTAINER(op, struct peers, stop_client);
    (void)status;
    fleet_peer_client_free(p->client);
    p->client = NULL;
}

static void caller_unwind(struct io *io, void *arg)
{
    struct peers *p = arg;
    (void)io;
    fleet_peer_client_stop(p->client, &p->stop_client, client_stopped);
}

void peers_open(struct peers *p, uint64_t seed)
{
    p->sim = sim_new(&(struct sim_opts){.seed = seed});
    if (p->link.delay_ns == 0)
        p->link.delay_ns = IO_MS(1);
    sim_link_set(p->sim, NULL, NULL, &p->link);
    memset(p->secret.key, 7, sizeof p->secret.key);
    p->generation = '1';
    p->called = sim_node(
        p->sim, &(struct sim_node_opts){.name = "hostb",
                                        .program = {.boot = called_boot, .unwind = called_unwind, .arg = p}});
    p->caller = sim_node(
        p->sim, &(struct sim_node_opts){.name = "hosta",
                                        .program = {.boot = caller_boot, .unwind = caller_unwind, .arg = p}});
    p->io = sim_io(p->caller, 0);
    (void)snprintf(p->peer.node, sizeof p->peer.node, "b");
    (void)snprintf(p->peer.generation, sizeof p->peer.generation, "%s", rig_generation('1'));
    (void)snprintf(p->peer.addr, sizeof p->peer.addr, "hostb:%d", PEERS_PORT);
}

static void flow_fiber(void *arg)
{
    struct peers *p = arg;
    p->flow(p);
    p->flow_done = true;
}

static bool flow_done(void *arg)
{
    return ((struct peers *)arg)->flow_done;
}

void peers_flow(struct peers *p, void (*flow)(struct peers *p))
{
    p->flow = flow;
    p->flow_done = false;
    sim_run_for(p->sim, IO_MS(1));
    (void)io_spawn(p->io, "caller", flow_fiber, p);
    assert_true(sim_run_until(p->sim, flow_done, p, IO_SEC(3600)));
}

void peers_close(struct peers *p)
{
    sim_free(p->sim);
    cd_buf_deinit(&p->heard);
    cd_buf_deinit(&p->bodies);
    cd_buf_deinit(&p->never);
}

int peers_call(struct peers *p, struct fleet_peer_call *call, const char *target, const char *body)
{
    call->peer = &p->peer;
    call->target = cd_str(target);
    call->body = cd_str(body);
    call->deadline_ns = io_now_ns(p->io) + IO_SEC(10);
    return fleet_peer_call(p->client, call);
}

static void restart(struct sim *sim, void *arg)
{
    struct peers *p = arg;
    if (sim_node_life(p->called) == SIM_DEAD)
        sim_restart(p->called, false);
    else
        sim_at(sim, IO_MS(1), restart, p);
}

void peers_kill(struct peers *p)
{
    p->generation++;
    sim_crash(p->called, SIM_KILL);
    sim_at(p->sim, IO_MS(1), restart, p);
}

static void kill_called(struct sim *sim, void *arg)
{
    (void)sim;
    peers_kill(arg);
}

unsigned peers_runs_of(const struct peers *p, const char *body)
{
    unsigned runs = 0;
    for (size_t at = 0; (at = cd_str_find_str(cd_buf_str(&p->bodies), cd_str(body), at)) != SIZE_MAX; at++)
        runs++;
    return runs;
}

void peers_restart(struct peers *p)
{
    unsigned lives = sim_node_lives(p->called);
    sim_at(p->sim, 1, kill_called, p);
    while (sim_node_lives(p->called) == lives || sim_node_life(p->called) != SIM_UP)
        CHECK_INT(io_sleep(p->io, IO_MS(1)), IO_OK);
    CHECK_INT(io_sleep(p->io, IO_MS(5)),
              IO_OK); /* It listens, and the old connections are seen to be gone. */
}
