/* tests/http/rig.c: a server on one simulated node and flows of a client on another. */
#include "rig.h"

#include "corpus.h"

static void server_boot(struct io *io, void *arg)
{
    struct rig *r = arg;
    struct io_addr at = {.host = "", .port = RIG_PORT};
    int rc = http_server_open(&r->server, io, &at, 0, &r->opts, r->handle, r);
    if (rc != 0)
        r->server = NULL;
}

static void stop_done(struct io_op *op, int status)
{
    struct rig *r = CD_CONTAINER(op, struct rig, stop);
    r->stop_status = status;
    r->stopped = true;
    http_server_free(r->server);
    r->server = NULL;
}

static void server_unwind(struct io *io, void *arg)
{
    struct rig *r = arg;
    if (r->also_unwind != NULL)
        r->also_unwind(io, arg);
    if (r->server != NULL && !io_busy(&r->stop))
        http_server_stop(r->server, 0, &r->stop, stop_done);
}

void rig_open(struct rig *r, uint64_t seed)
{
    r->sim_opts.seed = seed;
    r->sim = sim_new(&r->sim_opts);
    if (r->link.delay_ns == 0)
        r->link.delay_ns = IO_MS(1);
    sim_link_set(r->sim, NULL, NULL, &r->link);
    if (r->opts.limits.head_max == 0)
        r->opts.limits = corpus_limits;
    if (r->handle == NULL)
        r->handle = rig_handle_echo;
    r->server_node = sim_node(
        r->sim, &(struct sim_node_opts){
                    .name = "server",
                    .program = {.boot = server_boot, .unwind = r->unwinds ? server_unwind : NULL, .arg = r}});
    r->client_node = sim_node(r->sim, &(struct sim_node_opts){.name = "client", .client = true});
    r->sio = sim_io(r->server_node, 0);
    r->cio = sim_io(r->client_node, 0);
}

static void flow_fiber(void *arg)
{
    struct rig *r = arg;
    r->flow(r);
    r->flow_done = true;
}

static bool flow_done(void *arg)
{
    return ((struct rig *)arg)->flow_done;
}

void rig_flow(struct rig *r, void (*flow)(struct rig *r))
{
    r->flow = flow;
    r->flow_done = false;
    sim_run_for(r->sim, IO_MS(1)); /* The server listens. */
    (void)io_spawn(r->cio, "client", flow_fiber, r);
    CHECK(sim_run_until(r->sim, flow_done, r, IO_SEC(3600)));
}

static bool stopped(void *arg)
{
    return ((struct rig *)arg)->stopped;
}

static void stop_run(struct io *io, void *arg)
{
    (void)io;
    struct rig *r = arg;
    http_server_stop(r->server, r->grace_ns, &r->stop, stop_done);
}

void rig_stop(struct rig *r, uint64_t grace_ns)
{
    r->grace_ns = grace_ns;
    sim_in_loop(r->server_node, 0, stop_run, r);
    while (!r->stopped)
        (void)io_sleep(r->cio, IO_MS(1));
}

void rig_close(struct rig *r, uint64_t grace_ns)
{
    CHECK(sim_at_call(r->server_node, "any", 0, SIM_FAIL, 0, NULL)); /* Disarms. */
    if (r->server != NULL && sim_node_life(r->server_node) == SIM_UP) {
        r->grace_ns = grace_ns;
        sim_in_loop(r->server_node, 0, stop_run, r);
        CHECK(sim_run_until(r->sim, stopped, r, IO_SEC(3600)));
    }
    sim_free(r->sim);
    cd_buf_deinit(&r->log);
}

void rig_run(void (*flow)(struct rig *r))
{
    struct rig r = {.handled = 0};
    rig_open(&r, 1);
    rig_flow(&r, flow);
    rig_close(&r, IO_SEC(10));
    assert_int_equal(r.stop_status, IO_OK);
}

/* ---- The client ---- */

int rig_connect(struct rig *r, struct io_stream *s)
{
    struct io_addr to = {.host = "server", .port = RIG_PORT};
    struct io_op op = {0};
    io_connect(s, r->cio, &to, &op, NULL);
    return io_await(&op, IO_FOREVER);
}

int rig_send(struct io_stream *s, struct cd_str bytes)
{
    struct io_write w = {.part = &bytes, .parts = 1};
    io_stream_write(s, &w, NULL);
    return io_await(&w.op, IO_FOREVER);
}

void rig_hang_up(struct io_stream *s, bool abort)
{
    struct io_op op = {0};
    io_stream_close(s, abort, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
}

int rig_finish(struct io_stream *s)
{
    struct io_op op = {0};
    io_stream_finish(s, &op, NULL);
    return io_await(&op, IO_FOREVER);
}

int rig_receive(struct rig *r, struct io_stream *s, struct cd_buf *into, uint64_t quiet_ns)
{
    for (;;) {
        /* No lent buffer: its bytes would not outlive the deadline's timer. */
        struct io_read read = {.buf = cd_buf_reserve(into, 4096), .cap = 4096};
        io_stream_read(s, &read, NULL);
        int status = io_await(&read.op, io_now_ns(r->cio) + quiet_ns);
        if (status != IO_OK)
            return status;
        into->len += read.len;
    }
}

int rig_talk(struct rig *r, const struct cd_str *piece, unsigned pieces, struct cd_buf *answer)
{
    struct io_stream s = {0};
    int status = rig_connect(r, &s);
    if (status != IO_OK)
        return status;
    for (unsigned i = 0; i < pieces && status == IO_OK; i++) {
        if (piece[i].len > 0)
            status = rig_send(&s, piece[i]);
        if (i + 1 < pieces)
            (void)io_sleep(r->cio, IO_MS(2));
    }
    status = rig_receive(r, &s, answer, IO_MS(50));
    rig_hang_up(&s, false);
    return status;
}

void rig_undate(struct cd_buf *answer)
{
    for (;;) {
        size_t at = cd_str_find_str(cd_buf_str(answer), CD_STR("\r\nDate: "), 0);
        if (at == SIZE_MAX)
            return;
        size_t end = cd_str_find(cd_buf_str(answer), '\r', at + 2);
        CHECK(end != SIZE_MAX && end - at == 37);
        memmove(answer->ptr + at, answer->ptr + end, answer->len - end);
        answer->len -= end - at;
    }
}

void rig_expect(struct rig *r, const char *request, const char *answer)
{
    struct cd_str piece = cd_str(request);
    struct cd_buf got = {0};
    (void)rig_talk(r, &piece, 1, &got);
    rig_undate(&got);
    if (!cd_str_eq(cd_buf_str(&got), cd_str(answer))) {
        fprintf(stderr, "to\n%s\ngot\n%s\nwant\n%s\n", request, cd_buf_cstr(&got), answer);
        abort();
    }
    cd_buf_deinit(&got);
}

/* ---- The echo handler ---- */

struct echo {
    struct rig *r;
    struct http_exchange *x;
    struct io_read read;
    struct cd_buf body;
};

static void echo_gone(struct http_exchange *x, int status)
{
    struct echo *e = x->user;
    e->r->gone++;
    cd_buf_addf(&e->r->log, "gone %s\n", cd_err_text(status));
}

static void echo_read(struct io_op *op, int status)
{
    struct echo *e = CD_CONTAINER(op, struct echo, read.op);
    if (status == IO_OK) {
        cd_buf_add(&e->body, e->read.buf, e->read.len);
        http_body_read(e->x, &e->read, echo_read);
        return;
    }
    struct cd_buf text = {0};
    const struct http_head *h = e->x->head;
    cd_buf_addf(&text, "%.*s %.*s ", (int)h->method.len, h->method.ptr, (int)h->target.len, h->target.ptr);
    cd_buf_add_str(&text, cd_buf_str(&e->body));
    cd_buf_add_str(&e->r->log, cd_buf_str(&text));
    if (status == IO_EOF) {
        cd_buf_add_byte(&e->r->log, '\n');
        http_answer_text(e->x, 200, "text/plain", cd_buf_str(&text));
    } else {
        cd_buf_addf(&e->r->log, "<%s>\n", cd_err_text(status));
        http_exchange_close(e->x);
    }
    cd_buf_deinit(&text);
    cd_buf_deinit(&e->body);
    cd_free(e);
}

void rig_handle_echo(void *arg, struct http_exchange *x)
{
    struct echo *e = cd_new(struct echo);
    e->r = arg;
    e->r->handled++;
    e->x = x;
    x->user = e;
    x->gone = echo_gone;
    http_body_read(x, &e->read, echo_read);
}
