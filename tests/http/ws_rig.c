/* tests/http/ws_rig.c: a WebSocket server on the rig's server node that notes what it hears and echoes
 * messages. */
#include "ws_rig.h"

#include "http/ws_handshake.h"

struct echo_send {
    struct http_ws_send send;
    struct ws_rig *w;
    struct cd_buf bytes;
};

static void echo_sent(struct io_op *op, int status)
{
    struct echo_send *e = CD_CONTAINER(op, struct echo_send, send.op);
    (void)status;
    e->w->sends--;
    cd_buf_deinit(&e->bytes);
    cd_free(e);
}

static void on_message(void *arg, struct http_ws *ws, enum http_ws_opcode kind, struct cd_str bytes)
{
    struct ws_rig *w = arg;
    cd_buf_addf(&w->log, "%s ", kind == HTTP_WS_TEXT ? "text" : "binary");
    if (bytes.len <= 100)
        cd_buf_add_str(&w->log, bytes);
    else
        cd_buf_addf(&w->log, "of %zu", bytes.len);
    cd_buf_add_byte(&w->log, '\n');
    if (w->no_echo)
        return;
    struct echo_send *e = cd_new(struct echo_send);
    e->w = w;
    w->sends++;
    cd_buf_add_str(&e->bytes, bytes);
    http_ws_send(ws, &e->send, kind, cd_buf_str(&e->bytes), echo_sent);
}

static void on_closing(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason)
{
    struct ws_rig *w = arg;
    (void)ws;
    cd_buf_addf(&w->log, "closing %u %.*s\n", code, (int)reason.len, reason.ptr);
}

static void on_ended(void *arg, struct http_ws *ws, unsigned code, struct cd_str reason, bool clean)
{
    struct ws_rig *w = arg;
    cd_buf_addf(&w->log, "ended %u %.*s %s\n", code, (int)reason.len, reason.ptr,
                clean ? "clean" : "unclean");
    w->ended++;
    if (w->ws == ws)
        w->ws = NULL;
    http_ws_free(ws);
}

const struct http_ws_listener ws_rig_listener = {on_message, on_closing, on_ended};

/* ---- Server ---- */

struct accepting {
    struct http_ws_accept a;
    struct ws_rig *w;
};

static void accepted(struct io_op *op, int status)
{
    struct accepting *with = CD_CONTAINER(op, struct accepting, a.op);
    struct ws_rig *w = with->w;
    if (status == IO_OK) {
        w->accepted++;
        w->ws = with->a.ws;
        if (!w->no_listen)
            http_ws_listen(with->a.ws, &ws_rig_listener, w);
    } else {
        w->refused++;
    }
    cd_free(with);
}

static void handle(void *arg, struct http_exchange *x)
{
    struct rig *r = arg;
    struct ws_rig *w = r->arg;
    if (!http_ws_wanted(x->head)) {
        http_answer_text(x, 200, "text/plain", CD_STR("no socket"));
        return;
    }
    struct accepting *with = cd_new(struct accepting);
    const struct http_field extra = {CD_STR("X-Extra"), CD_STR("yes")};
    with->w = w;
    if (w->host == NULL)
        w->host = http_ws_host_new(x->io, &w->opts);
    http_ws_accept(&with->a, w->host, x, cd_str(w->protocol), &extra, 1, accepted);
}

static void host_stopped(struct io_op *op, int status)
{
    struct ws_rig *w = CD_CONTAINER(op, struct ws_rig, stop);
    w->stop_status = status;
    w->stopped = true;
    http_ws_host_free(w->host);
    w->host = NULL;
}

static void host_stop(struct io *io, void *arg)
{
    (void)io;
    struct ws_rig *w = ((struct rig *)arg)->arg;
    if (w->host == NULL)
        w->stopped = true;
    else if (!w->stopping)
        http_ws_host_stop(w->host, HTTP_WS_RESTART, w->grace_ns, &w->stop, host_stopped);
    w->stopping = true;
}

static bool host_is_stopped(void *arg)
{
    return ((struct ws_rig *)arg)->stopped;
}

/* ---- Runs ---- */

void ws_rig_open(struct ws_rig *w, uint64_t seed)
{
    w->r.handle = handle;
    w->r.arg = w;
    w->r.also_unwind = host_stop;
    rig_open(&w->r, seed);
}

static void flow_adapter(struct rig *r)
{
    struct ws_rig *w = r->arg;
    w->flow(w);
}

void ws_rig_flow(struct ws_rig *w, void (*flow)(struct ws_rig *w))
{
    w->flow = flow;
    rig_flow(&w->r, flow_adapter);
}

void ws_rig_close(struct ws_rig *w)
{
    CHECK(sim_at_call(w->r.server_node, "any", 0, SIM_FAIL, 0, NULL)); /* Disarms. */
    if (w->host != NULL && sim_node_life(w->r.server_node) == SIM_UP) {
        w->grace_ns = IO_SEC(1);
        sim_in_loop(w->r.server_node, 0, host_stop, &w->r);
        CHECK(sim_run_until(w->r.sim, host_is_stopped, w, IO_SEC(3600)));
    }
    rig_close(&w->r, IO_SEC(1));
    CHECK_INT(w->sends, 0);
    CHECK(w->host == NULL);
    cd_buf_deinit(&w->log);
}

void ws_rig_run(struct ws_rig *w, void (*flow)(struct ws_rig *w))
{
    ws_rig_open(w, 1);
    ws_rig_flow(w, flow);
    ws_rig_close(w);
}

void ws_rig_stop(struct ws_rig *w, uint64_t grace_ns)
{
    w->grace_ns = grace_ns;
    sim_in_loop(w->r.server_node, 0, host_stop, &w->r);
    while (!w->stopped)
        (void)io_sleep(w->r.cio, IO_MS(1));
}

struct doing {
    struct ws_rig *w;
    void (*fn)(struct ws_rig *w);
    bool done;
};

static void do_it(struct io *io, void *arg)
{
    (void)io;
    struct doing *d = arg;
    d->fn(d->w);
    d->done = true;
}

void ws_rig_do(struct ws_rig *w, void (*fn)(struct ws_rig *w))
{
    struct doing d = {w, fn, false};
    sim_in_loop(w->r.server_node, 0, do_it, &d);
    while (!d.done)
        (void)io_sleep(w->r.cio, IO_MS(1));
}

void ws_rig_log_is(struct ws_rig *w, const char *want)
{
    if (!cd_str_eq(cd_buf_str(&w->log), cd_str(want))) {
        fprintf(stderr, "the server heard\n%s\nwant\n%s\n", cd_buf_cstr(&w->log), want);
        abort();
    }
    cd_buf_clear(&w->log);
}

/* ---- The raw client ---- */

void ws_raw_open(struct ws_rig *w, struct io_stream *s)
{
    struct cd_buf got = {0};
    CHECK_INT(rig_connect(&w->r, s), IO_OK);
    CHECK_INT(
        rig_send(s,
                 CD_STR("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")),
        IO_OK);
    CHECK_INT(rig_receive(&w->r, s, &got, IO_MS(10)), IO_TIMEDOUT);
    rig_undate(&got);
    CHECK(cd_str_eq(cd_buf_str(&got), CD_STR("HTTP/1.1 101 Switching Protocols\r\nX-Extra: yes\r\n"
                                             "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
                                             "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")));
    cd_buf_deinit(&got);
}

void ws_raw_frame(struct cd_buf *out, bool fin, unsigned opcode, const void *payload, size_t len)
{
    const unsigned char mask[4] = {0x12, 0x9a, 0xff, 0x00};
    unsigned char head[HTTP_WS_HEAD_MAX];
    cd_buf_add(out, head, http_ws_head_write(head, fin, (enum http_ws_opcode)opcode, len, mask));
    http_ws_mask(cd_buf_reserve(out, len + 1), payload, len, mask, 0);
    out->len += len;
}

int ws_raw_talk(struct ws_rig *w, struct io_stream *s, struct cd_str bytes, struct cd_buf *got)
{
    if (bytes.len > 0)
        (void)rig_send(s, bytes);
    return rig_receive(&w->r, s, got, IO_MS(20));
}

void ws_raw_text(struct cd_buf *out, struct cd_str frames)
{
    static const char *const names[] = {"more", "text", "binary", "?",    "?",   "?",
                                        "?",    "?",    "close",  "ping", "pong"};
    while (frames.len > 0) {
        struct http_ws_head h;
        int size = http_ws_head_read(frames, false, &h);
        CHECK(size > 0 && h.len <= frames.len - (size_t)size && h.fin);
        struct cd_str payload = cd_str_sub(frames, (size_t)size, (size_t)h.len);
        cd_buf_addf(out, "%s ", names[h.opcode]);
        if (h.opcode == HTTP_WS_CLOSE && payload.len >= 2) {
            cd_buf_addf(out, "%u ",
                        (unsigned)((unsigned char)payload.ptr[0] << 8 | (unsigned char)payload.ptr[1]));
            payload = cd_str_sub(payload, 2, SIZE_MAX);
        }
        if (payload.len <= 100)
            cd_buf_add_str(out, payload);
        else
            cd_buf_addf(out, "of %zu", payload.len);
        cd_buf_add_byte(out, '|');
        frames = cd_str_sub(frames, (size_t)size + (size_t)h.len, SIZE_MAX);
    }
}
