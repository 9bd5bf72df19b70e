/* http/ws.c: the life and the end of a WebSocket. RFC 6455 7.
 *
 * The server closes the TCP connection when both close frames have passed; a client waits for that. Whatever
 * else ends a socket, its listener hears exactly one `ended`. */
#include "http/ws.h"

#include "http/ws_internal.h"

static void read_done(struct io_op *op, int status);
static void expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind);
static void stop_advance(struct http_ws_host *h);

/* ---- Host ---- */

static void deadlines_stopped(struct http_deadlines *d)
{
    struct http_ws_host *h = CD_CONTAINER(d, struct http_ws_host, deadlines);
    h->deadlines_stopped = true;
    stop_advance(h);
}

struct http_ws_host *http_ws_host_new(struct io *io, const struct http_ws_opts *opts)
{
    struct http_ws_host *h = cd_new(struct http_ws_host);
    h->io = io;
    if (opts != NULL)
        h->opts = *opts;
#define DEFAULT(member, value) h->opts.member = h->opts.member == 0 ? (value) : h->opts.member
    DEFAULT(message_max, 32u << 20);
    DEFAULT(pong_timeout_ns, IO_SEC(20));
    DEFAULT(close_timeout_ns, IO_SEC(10));
    DEFAULT(write_timeout_ns, IO_SEC(30));
#undef DEFAULT
    cd_list_init(&h->sockets);
    const uint64_t after_ns[WS_DEADLINE_COUNT] = {
        [WS_DEADLINE_PING] = h->opts.ping_ns,
        [WS_DEADLINE_PONG] = h->opts.pong_timeout_ns,
        [WS_DEADLINE_CLOSE] = h->opts.close_timeout_ns,
        [WS_DEADLINE_WRITE] = h->opts.write_timeout_ns,
    };
    http_deadlines_init(&h->deadlines, io, after_ns, WS_DEADLINE_COUNT);
    h->deadlines.expired = expired;
    h->deadlines.stopped = deadlines_stopped;
    return h;
}

struct io *http_ws_host_io(const struct http_ws_host *h)
{
    return h->io;
}

unsigned http_ws_host_count(const struct http_ws_host *h)
{
    return h->alive;
}

static void sockets_each(struct http_ws_host *h, void (*fn)(struct http_ws *ws, unsigned code), unsigned code)
{
    struct cd_link *k = cd_list_first(&h->sockets);
    while (k != NULL) {
        struct cd_link *next = cd_list_next(&h->sockets, k);
        fn(CD_CONTAINER(k, struct http_ws, link), code);
        k = next;
    }
}

static void socket_close(struct http_ws *ws, unsigned code)
{
    int rc = http_ws_close(ws, code, (struct cd_str){NULL, 0});
    CD_ASSERT(rc == 0 || rc == CD_ECLOSED); /* It is on its way already. */
}

static void socket_cut(struct http_ws *ws, unsigned code)
{
    (void)code;
    http_ws_cut(ws, true);
}

static void grace_done(struct io_op *op, int status)
{
    struct http_ws_host *h = CD_CONTAINER(op, struct http_ws_host, grace.op);
    (void)status;
    if (h->alive > 0) {
        h->cut = true;
        sockets_each(h, socket_cut, 0);
    }
    stop_advance(h);
}

static void stop_advance(struct http_ws_host *h)
{
    if (!h->stopping || h->stopped || h->count > 0)
        return;
    if (io_busy(&h->grace.op)) {
        io_cancel(&h->grace.op);
        return;
    }
    if (!h->deadlines.stopping) {
        http_deadlines_stop(&h->deadlines);
        return;
    }
    if (!h->deadlines_stopped)
        return;
    h->stopped = true;
    io_signal_wake(&h->stop, h->cut ? IO_TIMEDOUT : IO_OK);
}

void http_ws_host_stop(struct http_ws_host *h, unsigned code, uint64_t grace_ns, struct io_op *op,
                       io_done_fn *done)
{
    CD_ASSERT(!h->stopping);
    h->stopping = true;
    io_signal_init(&h->stop);
    io_signal_wait(&h->stop, h->io, op, done);
    io_timer_start(&h->grace, h->io, grace_ns, grace_done);
    sockets_each(h, socket_close, code);
    stop_advance(h);
}

void http_ws_host_free(struct http_ws_host *h)
{
    CD_ASSERT(h->stopped && cd_list_empty(&h->sockets));
    cd_free(h->spare);
    cd_buf_deinit(&h->scratch);
    cd_free(h);
}

/* ---- Beginning ---- */

struct http_ws *http_ws_adopt(struct http_ws_host *host, struct io_stream *stream, struct cd_buf *rest,
                              bool is_client)
{
    CD_ASSERT(!host->stopped);
    struct http_ws *ws = cd_new(struct http_ws);
    ws->host = host;
    ws->stream = *stream;
    *stream = (struct io_stream){0};
    ws->stash = cd_buf_move(rest);
    ws->is_client = is_client;
    ws->deadline_kind = -1;
    cd_list_push(&host->sockets, &ws->link);
    host->count++;
    host->alive++;
    return ws;
}

/* Input that waits, and what has happened meanwhile, at the next turn. */
static void kick_done(struct io_op *op, int status)
{
    (void)status;
    struct http_ws *ws = CD_CONTAINER(op, struct http_ws_out, kick)->ws;
    if (!ws->closing)
        http_ws_input(ws, (struct cd_str){NULL, 0});
    http_ws_settle(ws);
}

static void kick(struct http_ws *ws)
{
    struct http_ws_out *out = http_ws_out(ws);
    if (!io_busy(&out->kick))
        io_defer(&out->kick, ws->host->io, IO_OK, kick_done);
}

void http_ws_listen(struct http_ws *ws, const struct http_ws_listener *listener, void *arg)
{
    CD_ASSERT(!ws->freed);
    ws->listener = listener;
    ws->arg = arg;
    if (listener != NULL && (ws->stash.len > 0 || ws->ended))
        kick(ws);
    else
        http_ws_settle(ws);
}

void http_ws_pause(struct http_ws *ws)
{
    ws->paused = true;
}

void http_ws_resume(struct http_ws *ws)
{
    if (!ws->paused)
        return;
    ws->paused = false;
    if (ws->stash.len > 0)
        kick(ws);
    else
        http_ws_settle(ws);
}

void http_ws_peer(const struct http_ws *ws, struct io_addr *out)
{
    if (ws->closing)
        *out = (struct io_addr){.port = 0};
    else
        io_stream_peer(&ws->stream, out);
}

/* ---- Reading ---- */

static void deadline_want(struct http_ws *ws, int kind)
{
    if (kind == ws->deadline_kind)
        return;
    ws->deadline_kind = (int8_t)kind;
    if (kind < 0)
        http_deadline_clear(&ws->deadline);
    else
        http_deadline_set(&ws->host->deadlines, &ws->deadline, (unsigned)kind);
}

static void read_done(struct io_op *op, int status)
{
    struct http_ws *ws = CD_CONTAINER(op, struct http_ws, read.op);
    if (ws->closing) {
        http_ws_settle(ws);
        return;
    }
    if (ws->deadline_kind == WS_DEADLINE_PING || ws->deadline_kind == WS_DEADLINE_PONG)
        deadline_want(ws, -1); /* It lives. */
    if (status == IO_OK)
        http_ws_input(ws, cd_str_of(ws->read.buf, ws->read.len));
    else if (status == IO_EOF)
        ws->eof = true;
    else
        http_ws_cut(ws, true);
    http_ws_settle(ws);
}

/* ---- The end ---- */

static void close_done(struct io_op *op, int status)
{
    (void)status;
    struct http_ws *ws = CD_CONTAINER(op, struct http_ws_out, close)->ws;
    ws->ended = true;
    ws->host->alive--;
    http_ws_settle(ws);
}

void http_ws_cut(struct http_ws *ws, bool abort)
{
    if (ws->closing)
        return;
    ws->closing = true;
    struct http_ws_out *out = http_ws_out(ws);
    http_ws_out_end(ws, IO_RESET);
    deadline_want(ws, -1);
    http_deadline_clear(&out->deadline);
    io_stream_close(&ws->stream, abort, &out->close, close_done);
}

void http_ws_fail(struct http_ws *ws, unsigned code, const char *why)
{
    if (ws->failed || ws->closing)
        return;
    ws->failed = true;
    ws->code = (uint16_t)code;
    cd_buf_clear(&ws->reason);
    cd_buf_add_str(&ws->reason, cd_str(why));
    cd_buf_deinit(&ws->message);
    if (code == HTTP_WS_ABNORMAL)
        http_ws_cut(ws, true);
    else
        socket_close(ws, code);
}

static void tell_ended(struct http_ws *ws)
{
    bool clean = ws->close_got && ws->close_sent && !ws->failed;
    unsigned code = clean || ws->failed ? ws->code : HTTP_WS_ABNORMAL;
    struct cd_buf reason = cd_buf_move(&ws->reason);
    ws->told = true;
    ws->hold++;
    ws->listener->ended(ws->arg, ws, code,
                        clean || ws->failed ? cd_buf_str(&reason) : (struct cd_str){NULL, 0}, clean);
    ws->hold--;
    cd_buf_deinit(&reason);
}

static void ws_free(struct http_ws *ws)
{
    struct http_ws_host *h = ws->host;
    CD_ASSERT(!io_busy(&ws->read.op) && !cd_link_linked(&ws->deadline.link));
    if (ws->out != NULL)
        http_ws_out_free(ws);
    cd_link_remove(&ws->link);
    h->count--;
    cd_buf_deinit(&ws->stash);
    cd_buf_deinit(&ws->message);
    cd_buf_deinit(&ws->reason);
    cd_free(ws);
    stop_advance(h);
}

void http_ws_abort(struct http_ws *ws)
{
    http_ws_cut(ws, true);
}

void http_ws_free(struct http_ws *ws)
{
    CD_ASSERT(!ws->freed);
    ws->freed = true;
    http_ws_cut(ws, true);
    http_ws_settle(ws);
}

/* Whether the handshake is over, or will not be any more, so that the stream can go. */
static bool stream_is_done(const struct http_ws *ws)
{
    bool sent = ws->close_sent && (ws->out == NULL || !io_busy(&ws->out->write.op));
    if (ws->eof && ws->stash.len > 0 && (ws->paused || ws->listener == NULL))
        return false; /* What came before the end is still to be heard. */
    if (ws->eof)
        return !ws->close_got || sent || !ws->close_asked;
    if (ws->failed)
        return sent;
    return sent && ws->close_got && !ws->is_client;
}

void http_ws_settle(struct http_ws *ws)
{
    if (ws->hold > 0)
        return;
    if (!ws->closing && stream_is_done(ws))
        http_ws_cut(ws, false);
    if (!ws->closing) {
        bool listens = ws->listener != NULL && !ws->paused && !ws->eof;
        if (ws->close_asked)
            deadline_want(ws, WS_DEADLINE_CLOSE);
        else if (!listens || ws->close_got)
            deadline_want(ws, -1);
        else if (ws->deadline_kind != WS_DEADLINE_PONG)
            deadline_want(ws, WS_DEADLINE_PING);
        /* After its close frame a peer has nothing to say but its end; ours is read even while the listener
         * pauses. */
        bool wanted = (listens || ws->close_got || ws->failed) && !ws->eof;
        if (wanted && !io_busy(&ws->read.op))
            io_stream_read(&ws->stream, &ws->read, read_done);
    }
    if (ws->ended && !ws->told && !ws->freed && ws->listener != NULL)
        tell_ended(ws);
    if (ws->out != NULL && http_ws_out_idle(ws->out))
        http_ws_out_free(ws);
    if (ws->ended && ws->freed && ws->out == NULL && !io_busy(&ws->read.op))
        ws_free(ws);
}

/* ---- Timeouts ---- */

static void expired(struct http_deadlines *d, struct http_deadline *which, unsigned kind)
{
    if (kind == WS_DEADLINE_WRITE) {
        struct http_ws_out *out = CD_CONTAINER(which, struct http_ws_out, deadline);
        if (io_now_ns(d->io) < out->until_ns) {
            http_deadline_set(d, which, WS_DEADLINE_WRITE);
            return;
        }
        struct http_ws *ws = out->ws;
        http_ws_fail(ws, HTTP_WS_ABNORMAL, "the peer does not read");
        http_ws_settle(ws);
        return;
    }
    struct http_ws *ws = CD_CONTAINER(which, struct http_ws, deadline);
    ws->deadline_kind = -1;
    if (kind == WS_DEADLINE_PING) {
        http_ws_control(ws, HTTP_WS_PING, (struct cd_str){NULL, 0});
        deadline_want(ws, WS_DEADLINE_PONG);
    } else if (kind == WS_DEADLINE_PONG) {
        http_ws_fail(ws, HTTP_WS_ABNORMAL, "the peer does not answer");
    } else {
        http_ws_cut(ws, true);
    }
    http_ws_settle(ws);
}
