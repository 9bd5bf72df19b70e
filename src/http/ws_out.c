/* http/ws_out.c: frames that go.
 *
 * One write is in flight at a time and takes what has come up meanwhile: pongs first, then messages in order,
 * the close frame last. Messages of the server's side go out as they are; a client masks a copy. */
#include "http/ws_internal.h"
#include "io/backend.h"

struct http_ws_out *http_ws_out(struct http_ws *ws)
{
    if (ws->out == NULL) {
        struct http_ws_host *h = ws->host;
        ws->out = h->spare != NULL ? h->spare : cd_new(struct http_ws_out);
        h->spare = NULL;
        ws->out->ws = ws;
        cd_list_init(&ws->out->queue);
        cd_list_init(&ws->out->flight);
    }
    return ws->out;
}

bool http_ws_out_idle(const struct http_ws_out *out)
{
    return cd_list_empty(&out->queue) && cd_list_empty(&out->flight) && out->control.len == 0 &&
           out->last.len == 0 && !io_busy(&out->write.op) && !io_busy(&out->close) && !io_busy(&out->kick);
}

void http_ws_out_free(struct http_ws *ws)
{
    struct http_ws_out *out = ws->out;
    CD_ASSERT(http_ws_out_idle(out) && !cd_link_linked(&out->deadline.link));
    cd_buf_deinit(&out->control);
    cd_buf_deinit(&out->sending);
    cd_buf_deinit(&out->last);
    ws->out = NULL;
    struct http_ws_host *h = ws->host;
    if (h->spare == NULL && !h->stopping)
        h->spare = out;
    else
        cd_free(out);
}

static void send_end(struct http_ws *ws, struct http_ws_send *s, int status, bool later)
{
    ws->unsent -= s->bytes.len;
    cd_buf_deinit(&s->masked);
    cd_link_remove(&s->op.link);
    if (later)
        io_complete_later(&s->op, status);
    else
        io_complete(&s->op, status);
}

void http_ws_out_end(struct http_ws *ws, int status)
{
    struct http_ws_out *out = ws->out;
    struct cd_link *k;
    while ((k = cd_list_first(&out->queue)) != NULL)
        send_end(ws, CD_CONTAINER(k, struct http_ws_send, op.link), status, true);
    cd_buf_clear(&out->control);
    cd_buf_clear(&out->last);
}

/* A whole frame of our own, appended to out. */
static void frame_add(struct http_ws *ws, struct cd_buf *out, enum http_ws_opcode opcode,
                      struct cd_str payload)
{
    unsigned char head[HTTP_WS_HEAD_MAX], mask[4];
    if (ws->is_client)
        io_random(ws->host->io, IO_RAND_KEY, mask, sizeof mask);
    size_t size = http_ws_head_write(head, true, opcode, payload.len, ws->is_client ? mask : NULL);
    cd_buf_add(out, head, size);
    char *to = cd_buf_reserve(out, payload.len + 1);
    if (ws->is_client)
        http_ws_mask(to, payload.ptr, payload.len, mask, 0);
    else if (payload.len > 0)
        memcpy(to, payload.ptr, payload.len);
    out->len += payload.len;
}

void http_ws_control(struct http_ws *ws, enum http_ws_opcode opcode, struct cd_str payload)
{
    struct http_ws_out *out = http_ws_out(ws);
    /* While one waits for its turn only the latest needs to be answered (RFC 6455 5.5.3): no flood of pings
     * grows it. */
    cd_buf_clear(&out->control);
    frame_add(ws, &out->control, opcode, payload);
    http_ws_out_pump(ws);
}

static void write_done(struct io_op *op, int status)
{
    struct http_ws_out *out = CD_CONTAINER(op, struct http_ws_out, write.op);
    struct http_ws *ws = out->ws;
    http_deadline_clear(&out->deadline);
    cd_buf_clear(&out->sending);
    ws->hold++;
    if (status != IO_OK)
        http_ws_cut(ws, true);
    struct cd_link *k;
    while ((k = cd_list_first(&out->flight)) != NULL)
        send_end(ws, CD_CONTAINER(k, struct http_ws_send, op.link), status, false);
    http_ws_out_pump(ws);
    ws->hold--;
    http_ws_settle(ws);
}

/* The next message of the queue into parts[count..]. Returns its size. */
static uint64_t batch_add(struct http_ws *ws, struct http_ws_send *s, unsigned n, unsigned *count)
{
    struct http_ws_out *out = ws->out;
    unsigned char mask[4];
    struct cd_str payload = s->bytes;
    if (ws->is_client) {
        io_random(ws->host->io, IO_RAND_KEY, mask, sizeof mask);
        http_ws_mask(cd_buf_reserve(&s->masked, payload.len + 1), payload.ptr, payload.len, mask, 0);
        payload.ptr = s->masked.ptr;
    }
    size_t size = http_ws_head_write(out->head[n], true, s->kind, payload.len, ws->is_client ? mask : NULL);
    out->part[(*count)++] = cd_str_of(out->head[n], size);
    if (payload.len > 0)
        out->part[(*count)++] = payload;
    s->op.cancel = NULL; /* Half a frame cannot be taken back. */
    cd_link_remove(&s->op.link);
    cd_list_push(&out->flight, &s->op.link);
    return payload.len;
}

void http_ws_out_pump(struct http_ws *ws)
{
    struct http_ws_out *out = ws->out;
    if (out == NULL || ws->closing || io_busy(&out->write.op))
        return;
    CD_STATIC_ASSERT(2 * WS_BATCH_MAX + 2 <= IO_PARTS_MAX, "a batch fits one write");
    unsigned count = 0, n = 0;
    uint64_t bytes = 0;
    /* Both of our own frames lie in one buffer that does not move any more once it is complete. */
    cd_buf_clear(&out->sending);
    cd_buf_add_str(&out->sending, cd_buf_str(&out->control));
    size_t control_len = out->control.len;
    cd_buf_clear(&out->control);
    struct cd_link *k = cd_list_first(&out->queue);
    unsigned waiting = 0;
    for (; k != NULL && waiting <= WS_BATCH_MAX; k = cd_list_next(&out->queue, k))
        waiting++;
    bool last = out->last.len > 0 && waiting <= WS_BATCH_MAX;
    if (last)
        cd_buf_add_str(&out->sending, cd_buf_str(&out->last));
    if (control_len > 0)
        out->part[count++] = cd_str_sub(cd_buf_str(&out->sending), 0, control_len);
    while (n < WS_BATCH_MAX && (k = cd_list_first(&out->queue)) != NULL)
        bytes += batch_add(ws, CD_CONTAINER(k, struct http_ws_send, op.link), n++, &count);
    if (last) {
        out->part[count++] = cd_str_sub(cd_buf_str(&out->sending), control_len, SIZE_MAX);
        cd_buf_clear(&out->last);
        ws->close_sent = true;
    }
    if (count == 0)
        return;
    out->write.part = out->part;
    out->write.parts = count;
    out->until_ns = http_write_until_ns(io_now_ns(ws->host->io), ws->host->opts.write_timeout_ns, bytes);
    http_deadline_set(&ws->host->deadlines, &out->deadline, WS_DEADLINE_WRITE);
    io_stream_write(&ws->stream, &out->write, write_done);
}

static void send_cancel(struct io_op *op)
{
    struct http_ws_send *s = CD_CONTAINER(op, struct http_ws_send, op);
    send_end(s->ws, s, IO_CANCELED, true); /* It waits: nothing of it was written. */
}

void http_ws_send(struct http_ws *ws, struct http_ws_send *s, enum http_ws_opcode kind, struct cd_str bytes,
                  io_done_fn *done)
{
    CD_ASSERT(kind == HTTP_WS_TEXT || kind == HTTP_WS_BINARY);
    CD_ASSERT(!ws->freed);
    io_begin(&s->op, ws->host->io, done);
    s->ws = ws;
    s->kind = kind;
    s->bytes = bytes;
    s->masked = (struct cd_buf){0};
    if (ws->close_asked || ws->closing) {
        int status = IO_RESET;
        if (ws->close_asked)
            status = CD_ECLOSED;
        io_complete_later(&s->op, status);
        return;
    }
    ws->unsent += bytes.len;
    s->op.cancel = send_cancel;
    cd_list_push(&http_ws_out(ws)->queue, &s->op.link);
    http_ws_out_pump(ws);
}

uint64_t http_ws_unsent(const struct http_ws *ws)
{
    return ws->unsent;
}

static int close_check(unsigned code, struct cd_str reason)
{
    if (code == HTTP_WS_NO_STATUS)
        return reason.len == 0 ? 0 : CD_EINVAL;
    if (!http_ws_code_may_travel(code) || reason.len > HTTP_WS_REASON_MAX || !cd_str_is_utf8(reason))
        return CD_EINVAL;
    return 0;
}

int http_ws_close(struct http_ws *ws, unsigned code, struct cd_str reason)
{
    if (close_check(code, reason) != 0)
        return CD_EINVAL;
    if (ws->close_asked || ws->closing)
        return CD_ECLOSED;
    ws->close_asked = true;
    struct http_ws_out *out = http_ws_out(ws);
    char payload[2 + HTTP_WS_REASON_MAX];
    size_t len = code == HTTP_WS_NO_STATUS ? 0 : 2 + reason.len;
    if (len > 0) {
        payload[0] = (char)(unsigned char)(code >> 8);
        payload[1] = (char)(unsigned char)code;
        memcpy(payload + 2, reason.ptr == NULL ? "" : reason.ptr, reason.len);
    }
    frame_add(ws, &out->last, HTTP_WS_CLOSE, cd_str_of(payload, len));
    http_ws_out_pump(ws);
    http_ws_settle(ws);
    return 0;
}
