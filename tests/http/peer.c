/* tests/http/peer.c: a scripted server on one simulated node, and a client of src/http on another. */
#include "peer.h"

struct peer_conn {
    struct peer *p;
    unsigned index;
    struct io_stream s;
};

static bool peer_read(struct peer_conn *c, struct cd_buf *step)
{
    struct io_read r = {.buf = cd_buf_reserve(step, 65536), .cap = 65536};
    io_stream_read(&c->s, &r, NULL);
    if (io_await(&r.op, IO_FOREVER) != IO_OK)
        return false;
    cd_buf_add(&c->p->seen[c->index], r.buf, r.len);
    step->len += r.len;
    return true;
}

static int peer_send(struct io_stream *s, struct cd_str bytes)
{
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(s, &w, NULL);
    return io_await(&w.op, IO_FOREVER);
}

/* False: the script ends here. */
static bool peer_step(struct peer_conn *c, const struct peer_step *step, bool *abort_it)
{
    struct cd_buf got = {0};
    bool goes_on = true;
    struct io_op op = {0};
    switch (step->kind) {
    case PEER_END: goes_on = false; break;
    case PEER_READ:
        while (goes_on && !cd_str_ends(cd_buf_str(&got), cd_str(step->text)))
            goes_on = peer_read(c, &got);
        break;
    case PEER_TAKE:
        while (goes_on && got.len < step->count)
            goes_on = peer_read(c, &got);
        break;
    case PEER_SEND: goes_on = peer_send(&c->s, cd_str(step->text)) == IO_OK; break;
    case PEER_FLOOD:
        cd_buf_add_zero(&got, step->count);
        goes_on = peer_send(&c->s, cd_buf_str(&got)) == IO_OK;
        break;
    case PEER_SLEEP: (void)io_sleep(c->p->sio, IO_MS(step->count)); break;
    case PEER_FINISH:
        io_stream_finish(&c->s, &op, NULL);
        (void)io_await(&op, IO_FOREVER);
        break;
    case PEER_RESET:
        *abort_it = true;
        goes_on = false;
        break;
    case PEER_HOLD:
        while (!c->p->flow_done)
            (void)io_sleep(c->p->sio, IO_MS(10));
        goes_on = false;
        break;
    }
    cd_buf_deinit(&got);
    return goes_on;
}

static void peer_conn_fiber(void *arg)
{
    struct peer_conn *c = arg;
    bool abort_it = false;
    for (const struct peer_step *step = c->p->script[c->index]; peer_step(c, step, &abort_it); step++)
        continue;
    struct io_op op = {0};
    io_stream_close(&c->s, abort_it, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    cd_free(c);
}

static void peer_accept_fiber(void *arg)
{
    struct peer *p = arg;
    struct io_listener l = {0};
    struct io_addr at = {.port = PEER_PORT};
    CHECK_INT(io_listen(&l, p->sio, &at, 0), IO_OK);
    while (!p->flow_done) {
        struct peer_conn *c = cd_new(struct peer_conn);
        struct io_op op = {0};
        c->p = p;
        io_accept(&l, &c->s, &op, NULL);
        int status = io_await(&op, io_now_ns(p->sio) + IO_MS(10));
        if (status != IO_OK) {
            cd_free(c);
            continue;
        }
        c->index = p->conns++;
        CHECK(c->index < PEER_CONNS_MAX && p->script[c->index] != NULL);
        (void)io_spawn(p->sio, "peer", peer_conn_fiber, c);
    }
    struct io_op op = {0};
    io_listener_close(&l, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

static void flow_fiber(void *arg)
{
    struct peer *p = arg;
    p->flow(p);
    p->flow_done = true;
}

static void stop_done(struct io_op *op, int status)
{
    (void)status;
    struct peer *p = *(struct peer **)(void *)(op + 1);
    p->stopped = true;
    http_client_free(p->client);
    cd_free(op);
}

static void client_stop(struct io *io, void *arg)
{
    (void)io;
    struct peer *p = arg;
    if (p->stopping)
        return;
    p->stopping = true;
    struct io_op *op = cd_alloc(sizeof *op + sizeof p);
    memcpy(op + 1, &p, sizeof p);
    http_client_stop(p->client, op, stop_done);
}

static bool flow_done(void *arg)
{
    return ((struct peer *)arg)->flow_done;
}

static bool stopped(void *arg)
{
    return ((struct peer *)arg)->stopped;
}

void peer_open(struct peer *p, uint64_t seed)
{
    p->sim = sim_new(&(struct sim_opts){.seed = seed});
    sim_link_set(p->sim, NULL, NULL, &(struct sim_link){.delay_ns = IO_MS(1)});
    p->server_node = sim_node(p->sim, &(struct sim_node_opts){.name = "server"});
    p->client_node = sim_node(
        p->sim, &(struct sim_node_opts){.name = "client", .program = {.unwind = client_stop, .arg = p}});
    p->sio = sim_io(p->server_node, 0);
    p->cio = sim_io(p->client_node, 0);
    p->addr = (struct io_addr){.host = "server", .port = PEER_PORT};
    p->client = http_client_new(p->cio, &p->opts);
    if (!p->no_listener)
        (void)io_spawn(p->sio, "accept", peer_accept_fiber, p);
}

void peer_flow(struct peer *p, void (*flow)(struct peer *p))
{
    p->flow = flow;
    sim_run_for(p->sim, IO_MS(1));
    (void)io_spawn(p->cio, "client", flow_fiber, p);
    CHECK(sim_run_until(p->sim, flow_done, p, IO_SEC(36000)));
}

void peer_close(struct peer *p)
{
    CHECK(sim_at_call(p->client_node, "any", 0, SIM_FAIL, 0, NULL)); /* Disarms. */
    if (!p->stopped) {
        sim_in_loop(p->client_node, 0, client_stop, p);
        CHECK(sim_run_until(p->sim, stopped, p, IO_SEC(3600)));
    }
    sim_run_for(p->sim, IO_SEC(1)); /* The server notices. */
    sim_free(p->sim);
    for (unsigned i = 0; i < PEER_CONNS_MAX; i++)
        cd_buf_deinit(&p->seen[i]);
}

void peer_run(struct peer *p, void (*flow)(struct peer *p))
{
    peer_open(p, 1);
    peer_flow(p, flow);
    peer_close(p);
}

int peer_start(struct peer *p, struct http_call *call, const char *method, const char *target,
               uint64_t body_len, const char *body)
{
    const struct http_ask ask = {.method = cd_str(method),
                                 .target = cd_str(target),
                                 .authority = CD_STR("host"),
                                 .body_len = body_len};
    struct io_op op = {0};
    http_call_start(call, p->client, &p->addr, &ask, cd_str(body), &op, NULL);
    return io_await(&op, IO_FOREVER);
}

int peer_read_all(struct peer *p, struct http_call *call, struct cd_buf *into)
{
    (void)p;
    for (;;) {
        struct io_read r = {0};
        http_call_read(call, &r, NULL);
        int status = io_await(&r.op, IO_FOREVER);
        if (status != IO_OK)
            return status;
        cd_buf_add(into, r.buf, r.len);
    }
}

void peer_call(struct peer *p, const char *method, const char *target, const char *body, const char *want)
{
    static const char *const fates[] = {"unsent", "maybe", "answered"};
    struct http_call call = {0};
    struct cd_buf got = {0};
    int status = peer_start(p, &call, method, target, 0, body);
    if (status == IO_OK) {
        CHECK_INT(call.fate, HTTP_ANSWERED);
        cd_buf_addf(&got, "%d %.*s|", call.head->status, (int)call.head->reason.len, call.head->reason.ptr);
        status = peer_read_all(p, &call, &got);
    }
    if (status != IO_EOF)
        cd_buf_addf(&got, "<%s> %s %s", cd_err_text(status), fates[call.fate], call.why);
    http_call_close(&call);
    if (!cd_str_eq(cd_buf_str(&got), cd_str(want))) {
        fprintf(stderr, "%s %s: got\n%s\nwant\n%s\n", method, target, cd_buf_cstr(&got), want);
        abort();
    }
    cd_buf_deinit(&got);
}
