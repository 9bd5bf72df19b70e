/* Our client against our server, many at once, in any order and over bad networks. */
#include "base/rng.h"
#include "corpus.h"
#include "http/ws.h"
#include "rig.h"

#define CLIENTS 8
#define CALLS 6
#define BODY_MAX 20000

struct pair {
    struct rig r; /* Its arg is this. */
    struct http_client *client;
    struct http_ws_host *server_sockets, *client_sockets;
    bool faults; /* Errors are expected; wrong bytes never. */
    unsigned running, good, bad;
    struct io_op stop;
};

/* ---- The server: echoes a body while it comes, or a socket ---- */

static void echo_fiber(void *arg)
{
    struct http_exchange *x = arg;
    struct cd_rng rng;
    cd_rng_seed(&rng, io_now_ns(x->io), x->head->target);
    char *room = cd_alloc(4096);
    struct http_answer answer = {.status = 200, .body_len = x->head->body_len};
    struct io_write w = {.parts = 0};
    http_answer_start(x, &answer, &w, false, NULL);
    int status = io_await(&w.op, IO_FOREVER);
    while (status == IO_OK) {
        struct io_read read = {.buf = room, .cap = cd_rng_below(&rng, 4096) + 1};
        http_body_read(x, &read, NULL);
        status = io_await(&read.op, IO_FOREVER);
        struct cd_str part = cd_str_of(room, read.len);
        w = (struct io_write){.part = &part, .parts = status == IO_OK ? 1 : 0};
        if (status != IO_OK && status != IO_EOF)
            break;
        bool last = status == IO_EOF;
        http_answer_write(x, &w, last, NULL);
        status = io_await(&w.op, IO_FOREVER);
        if (last)
            break;
    }
    cd_free(room);
    http_exchange_close(x);
}

struct bounce {
    struct http_ws_send send;
    struct cd_buf bytes;
};

static void bounced(struct io_op *op, int status)
{
    struct bounce *b = CD_CONTAINER(op, struct bounce, send.op);
    (void)status;
    cd_buf_deinit(&b->bytes);
    cd_free(b);
}

static void bounce_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    (void)arg;
    struct bounce *b = cd_new(struct bounce);
    cd_buf_add_str(&b->bytes, bytes);
    http_ws_send(ws, &b->send, kind, cd_buf_str(&b->bytes), bounced);
}

static void bounce_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    (void)arg;
    (void)code;
    (void)reason;
    (void)clean;
    http_ws_free(ws);
}

static const struct http_ws_listener bouncer = {bounce_message, NULL, bounce_ended};

static void accepted(struct io_op *op, int status)
{
    struct http_ws_accept *a = CD_CONTAINER(op, struct http_ws_accept, op);
    if (status == IO_OK)
        http_ws_listen(a->ws, &bouncer, NULL);
    cd_free(a);
}

static void handle(void *arg, struct http_exchange *x)
{
    struct pair *p = ((struct rig *)arg)->arg;
    if (http_ws_wanted(x->head))
        http_ws_accept(cd_new(struct http_ws_accept), p->server_sockets, x, CD_STR("bounce"), NULL, 0,
                       accepted);
    else
        (void)io_spawn(x->io, "echo", echo_fiber, x);
}

/* ---- Clients of calls ---- */

struct caller {
    struct pair *p;
    unsigned index;
    struct cd_rng rng;
};

/* Sends the body in pieces from a fiber of its own, so that both directions are under way at once. */
struct upload {
    struct http_call *call;
    struct cd_str body;
    struct cd_rng rng;
    struct io *io;
    bool done;
};

static void upload_fiber(void *arg)
{
    struct upload *u = arg;
    int status = IO_OK;
    size_t at = 0;
    while (status == IO_OK && u->call->state != NULL) {
        struct cd_str part = cd_str_sub(u->body, at, cd_rng_below(&u->rng, 3000));
        at += part.len;
        bool last = at == u->body.len;
        struct io_write w = {.part = &part, .parts = 1};
        http_call_write(u->call, &w, last, NULL);
        status = io_await(&w.op, IO_FOREVER);
        if (last)
            break;
    }
    u->done = true;
}

static int download(struct caller *c, struct http_call *call, struct cd_buf *into)
{
    for (;;) {
        struct io_read read = {.buf = cd_buf_reserve(into, 4096), .cap = cd_rng_below(&c->rng, 4096) + 1};
        http_call_read(call, &read, NULL);
        int status = io_await(&read.op, IO_FOREVER);
        if (status != IO_OK)
            return status;
        into->len += read.len;
    }
}

static void one_call(struct caller *c, unsigned n)
{
    struct pair *p = c->p;
    struct cd_buf body = {0}, got = {0}, target = {0};
    size_t len = cd_rng_below(&c->rng, 4) == 0 ? 0 : cd_rng_below(&c->rng, BODY_MAX);
    cd_rng_fill(&c->rng, cd_buf_reserve(&body, len + 1), len);
    body.len = len;
    cd_buf_addf(&target, "/%u/%u", c->index, n);
    bool chunked = cd_rng_below(&c->rng, 2) == 0;
    const struct http_ask ask = {.method = CD_STR("PUT"),
                                 .target = cd_buf_str(&target),
                                 .authority = CD_STR("server"),
                                 .body_len = chunked ? HTTP_LEN_CHUNKED : len};
    struct http_call call = {0};
    struct io_op op = {0};
    const struct io_addr to = {.host = "server", .port = RIG_PORT};
    struct upload u = {.call = &call, .body = cd_buf_str(&body), .rng = c->rng, .io = p->r.cio};
    http_call_start(&call, p->client, &to, &ask, CD_STR(""), &op, NULL);
    bool uploads = chunked || len > 0;
    if (uploads)
        (void)io_spawn(p->r.cio, "upload", upload_fiber, &u);
    int status = io_await(&op, IO_FOREVER);
    if (status == IO_OK)
        status = download(c, &call, &got);
    if (status == IO_EOF) {
        CHECK_INT(call.head->status, 200);
        CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&body)));
        p->good++;
    } else {
        CHECK(p->faults);
        /* What came is a prefix of the truth. */
        CHECK(cd_str_starts(cd_buf_str(&body), cd_buf_str(&got)));
        p->bad++;
    }
    http_call_close(&call);
    while (uploads && !u.done)
        (void)io_sleep(p->r.cio, 10000);
    cd_buf_deinit(&body);
    cd_buf_deinit(&got);
    cd_buf_deinit(&target);
}

static void caller_fiber(void *arg)
{
    struct caller *c = arg;
    for (unsigned n = 0; n < CALLS; n++)
        one_call(c, n);
    c->p->running--;
    cd_free(c);
}

/* ---- Clients of sockets ---- */

struct talker {
    struct pair *p;
    struct cd_rng rng;
    struct http_ws_connect connect;
    struct http_ws *ws;
    struct http_ws_send send;
    struct cd_buf sent; /* What must come back, one behind the other, with its length. */
    unsigned messages;
    bool echoed, ended;
};

static void talker_end(struct talker *t)
{
    t->p->running--;
    cd_buf_deinit(&t->sent);
    cd_buf_deinit(&t->connect.protocol);
    cd_free(t);
}

static void talk_next(struct talker *t);

/* An echo may be faster than the news of its write: both are waited for. */
static void talk_advance(struct talker *t)
{
    if (io_busy(&t->send.op))
        return;
    if (t->ended) {
        talker_end(t);
    } else if (t->echoed) {
        t->echoed = false;
        talk_next(t);
    }
}

static void talk_sent(struct io_op *op, int status)
{
    (void)status; /* The socket tells. */
    talk_advance(CD_CONTAINER(op, struct talker, send.op));
}

static void talk_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct talker *t = arg;
    (void)ws;
    CHECK_INT(kind, HTTP_WS_BINARY);
    CHECK(cd_str_eq(bytes, cd_buf_str(&t->sent)));
    t->echoed = true;
    talk_advance(t);
}

static void talk_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct talker *t = arg;
    (void)reason;
    CHECK(clean ? code == 1000 : t->p->faults);
    http_ws_free(ws);
    t->p->good += clean;
    t->p->bad += !clean;
    t->ended = true;
    talk_advance(t);
}

static const struct http_ws_listener talking = {talk_message, NULL, talk_ended};

static void talk_next(struct talker *t)
{
    if (t->messages-- == 0) {
        CHECK_INT(http_ws_close(t->ws, 1000, CD_STR("done")), 0);
        return;
    }
    size_t len = cd_rng_below(&t->rng, 3) == 0 ? cd_rng_below(&t->rng, 130) : cd_rng_below(&t->rng, 100000);
    cd_buf_clear(&t->sent);
    cd_rng_fill(&t->rng, cd_buf_reserve(&t->sent, len + 1), len);
    t->sent.len = len;
    http_ws_send(t->ws, &t->send, HTTP_WS_BINARY, cd_buf_str(&t->sent), talk_sent);
}

static void talk_connected(struct io_op *op, int status)
{
    struct talker *t = CD_CONTAINER(op, struct talker, connect.op);
    if (status != IO_OK) {
        CHECK(t->p->faults && t->connect.why != NULL);
        t->p->bad++;
        talker_end(t);
        return;
    }
    CHECK(cd_str_eq(cd_buf_str(&t->connect.protocol), CD_STR("bounce")));
    t->ws = t->connect.ws;
    http_ws_listen(t->ws, &talking, t);
    talk_next(t);
}

/* ---- Runs ---- */

static void clients_start(struct pair *p, uint64_t seed)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        p->running++;
        if (i % 2 == 0) {
            struct caller *c = cd_new(struct caller);
            c->p = p;
            c->index = i;
            cd_rng_seed(&c->rng, seed + i, CD_STR("caller"));
            (void)io_spawn(p->r.cio, "caller", caller_fiber, c);
        } else {
            struct talker *t = cd_new(struct talker);
            t->p = p;
            t->messages = CALLS;
            cd_rng_seed(&t->rng, seed + i, CD_STR("talker"));
            const struct io_addr to = {.host = "server", .port = RIG_PORT};
            http_ws_connect(&t->connect, p->client_sockets, p->client, &to, CD_STR("/socket"),
                            CD_STR("server"), NULL, 0, CD_STR("other, bounce"), false, talk_connected);
        }
    }
}

static void pair_flow(struct rig *r)
{
    struct pair *p = r->arg;
    p->client = http_client_new(r->cio, &(struct http_client_opts){.connections_max = 3});
    p->client_sockets = http_ws_host_new(r->cio, NULL);
    clients_start(p, r->sim_opts.seed * 100);
    uint64_t until_ns = io_now_ns(r->cio) + IO_SEC(3600);
    while (p->running > 0) {
        CHECK(io_now_ns(r->cio) < until_ns);
        (void)io_sleep(r->cio, IO_MS(5));
    }
    struct io_op op = {0};
    http_ws_host_stop(p->client_sockets, 1001, IO_SEC(1), &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    http_ws_host_free(p->client_sockets);
    http_client_stop(p->client, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    http_client_free(p->client);
}

static void server_sockets_open(struct io *io, void *arg)
{
    ((struct pair *)arg)->server_sockets = http_ws_host_new(io, NULL);
}

static void server_sockets_stopped(struct io_op *op, int status)
{
    (void)status;
    struct pair *p = CD_CONTAINER(op, struct pair, stop);
    http_ws_host_free(p->server_sockets);
    p->server_sockets = NULL;
}

static void server_sockets_close(struct io *io, void *arg)
{
    (void)io;
    struct pair *p = arg;
    http_ws_host_stop(p->server_sockets, 1012, 0, &p->stop, server_sockets_stopped);
}

static bool server_sockets_are_closed(void *arg)
{
    return ((struct pair *)arg)->server_sockets == NULL;
}

static void pair_run(uint64_t seed, const struct sim_opts *opts, const struct sim_link *link, bool faults,
                     unsigned *good)
{
    struct pair p = {.r = {.sim_opts = *opts, .link = *link, .handle = handle}, .faults = faults};
    p.r.arg = &p;
    p.r.opts.limits = corpus_limits;
    rig_open(&p.r, seed);
    sim_in_loop(p.r.server_node, 0, server_sockets_open, &p);
    rig_flow(&p.r, pair_flow);
    sim_in_loop(p.r.server_node, 0, server_sockets_close, &p);
    CHECK(sim_run_until(p.r.sim, server_sockets_are_closed, &p, IO_SEC(60)));
    rig_close(&p.r, IO_SEC(1));
    CHECK_INT(p.good + p.bad, CLIENTS / 2 * CALLS + CLIENTS / 2);
    *good += p.good;
}

static void test_everything_comes_back_in_any_order_of_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        unsigned good = 0;
        pair_run(seed, &(struct sim_opts){.policy = (enum sim_policy)(seed % 3), .slack_ns = IO_MS(1)},
                 &(struct sim_link){
                     .delay_ns = IO_MS(1), .jitter_ns = IO_MS(3), .split_ppm = 300000, .window = 5000},
                 false, &good);
        assert_int_equal(good, CLIENTS / 2 * CALLS + CLIENTS / 2);
    }
}

static void test_over_a_bad_network_nothing_wrong_comes_back(void **state)
{
    (void)state;
    unsigned good = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        pair_run(seed, &(struct sim_opts){.policy = (enum sim_policy)(seed % 3), .slack_ns = IO_MS(1)},
                 &(struct sim_link){.delay_ns = IO_MS(1),
                                    .jitter_ns = IO_MS(3),
                                    .split_ppm = 300000,
                                    .loss_ppm = 20000,
                                    .refuse_ppm = 30000,
                                    .reset_ppm = 10000,
                                    .half_open_ppm = 10000,
                                    .slow_ppm = 20000},
                 true, &good);
    }
    assert_true(good > 100); /* It is not all broken. */
}

CD_TESTS(pair, cmocka_unit_test(test_everything_comes_back_in_any_order_of_events),
         cmocka_unit_test(test_over_a_bad_network_nothing_wrong_comes_back))
