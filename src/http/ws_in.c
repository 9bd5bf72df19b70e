/* http/ws_in.c: frames that come, and the messages they make. RFC 6455 5.
 *
 * Payloads are consumed as they come; a frame's head and control frames are waited for as a whole. A message
 * that lies in one piece of input is never copied but for its mask. */
#include "http/ws_internal.h"

static void deliver(struct http_ws *ws, struct cd_str bytes)
{
    enum http_ws_opcode kind = (enum http_ws_opcode)ws->message_kind;
    ws->message_kind = 0;
    if (!ws->close_asked)
        ws->listener->message(ws->arg, ws, kind, bytes);
}

static bool text_ok(struct http_ws *ws, struct cd_str piece, bool last)
{
    if (ws->message_kind != HTTP_WS_TEXT)
        return true;
    if (http_utf8_feed(&ws->utf8, piece) && (!last || http_utf8_complete(&ws->utf8)))
        return true;
    http_ws_fail(ws, HTTP_WS_BAD_DATA, "text that is not UTF-8");
    return false;
}

/* The message is complete. Its buffer is given back: a parked socket has none. */
static void message_end(struct http_ws *ws)
{
    struct cd_buf whole = cd_buf_move(&ws->message);
    if (ws->close_asked)
        ws->message_kind = 0;
    else if (text_ok(ws, (struct cd_str){NULL, 0}, true))
        deliver(ws, cd_buf_str(&whole));
    cd_buf_deinit(&whole);
}

/* A whole unfragmented message in one piece. */
static void message_at_once(struct http_ws *ws, struct cd_str payload)
{
    if (!ws->is_client) {
        struct cd_buf *plain = &ws->host->scratch;
        cd_buf_clear(plain);
        http_ws_mask(cd_buf_reserve(plain, payload.len), payload.ptr, payload.len, ws->mask, 0);
        payload.ptr = plain->ptr;
    }
    if (text_ok(ws, payload, true))
        deliver(ws, payload);
}

/* Takes what there is of the current frame's payload. */
static bool payload_take(struct http_ws *ws, struct cd_str *in)
{
    struct cd_str piece = cd_str_sub(*in, 0, ws->frame_left > SIZE_MAX ? SIZE_MAX : (size_t)ws->frame_left);
    if (piece.len == 0 && ws->frame_left > 0)
        return false;
    *in = cd_str_sub(*in, piece.len, SIZE_MAX);
    if (piece.len > 0 && !ws->close_asked) {
        char *to = cd_buf_reserve(&ws->message, piece.len);
        if (ws->is_client)
            memcpy(to, piece.ptr, piece.len);
        else
            http_ws_mask(to, piece.ptr, piece.len, ws->mask, ws->frame_at);
        ws->message.len += piece.len;
        if (!text_ok(ws, cd_str_of(to, piece.len), false))
            return false;
    }
    ws->frame_at += piece.len;
    ws->frame_left -= piece.len;
    if (ws->frame_left > 0)
        return true;
    ws->in_frame = false;
    if (ws->frame_fin)
        message_end(ws);
    return true;
}

static void close_frame(struct http_ws *ws, struct cd_str payload)
{
    unsigned code = 0;
    struct cd_str reason = {NULL, 0};
    int rc = http_ws_close_read(payload, &code, &reason);
    if (rc != 0) {
        http_ws_fail(ws, (unsigned)-rc, "malformed close frame");
        return;
    }
    ws->close_got = true;
    ws->code = (uint16_t)code;
    cd_buf_clear(&ws->reason);
    cd_buf_add_str(&ws->reason, reason);
    http_deadline_clear(&ws->deadline);
    ws->deadline_kind = -1;
    if (ws->listener->closing != NULL)
        ws->listener->closing(ws->arg, ws, code, reason);
    if (!ws->close_asked && !ws->freed && !ws->host->opts.no_close_reply) {
        int sent = http_ws_close(ws, code, (struct cd_str){NULL, 0});
        CD_ASSERT(sent == 0);
    }
}

static void control_frame(struct http_ws *ws, const struct http_ws_head *h, struct cd_str payload)
{
    char plain[HTTP_WS_CONTROL_MAX];
    memcpy(plain, payload.ptr == NULL ? "" : payload.ptr, payload.len);
    if (h->masked)
        http_ws_mask(plain, plain, payload.len, h->mask, 0);
    struct cd_str bytes = cd_str_of(plain, payload.len);
    if (h->opcode == HTTP_WS_CLOSE)
        close_frame(ws, bytes);
    else if (h->opcode == HTTP_WS_PING && !ws->close_asked)
        http_ws_control(ws, HTTP_WS_PONG, bytes);
}

/* The head of a data frame: does it fit what came before? */
static bool data_begin(struct http_ws *ws, const struct http_ws_head *h)
{
    bool continues = h->opcode == HTTP_WS_CONTINUATION;
    if (continues != (ws->message_kind != 0)) {
        http_ws_fail(ws, HTTP_WS_PROTOCOL_ERROR,
                     continues ? "continuation of nothing" : "message inside a message");
        return false;
    }
    if (h->len > ws->host->opts.message_max - ws->message.len) {
        http_ws_fail(ws, HTTP_WS_TOO_BIG, "message too big");
        return false;
    }
    if (!continues) {
        ws->message_kind = (uint8_t)h->opcode;
        ws->utf8 = (struct http_utf8){0};
    }
    memcpy(ws->mask, h->mask, sizeof ws->mask);
    return true;
}

/* One frame, or what there is of it. False: more bytes are needed, or none are wanted. */
static bool frame_step(struct http_ws *ws, struct cd_str *in)
{
    if (ws->in_frame)
        return payload_take(ws, in);
    struct http_ws_head h;
    int size = http_ws_head_read(*in, !ws->is_client, &h);
    if (size < 0)
        http_ws_fail(ws, (unsigned)-size, "malformed frame");
    if (size <= 0)
        return false;
    struct cd_str payload = cd_str_sub(*in, (size_t)size, SIZE_MAX);
    bool whole = payload.len >= h.len;
    if (h.opcode >= HTTP_WS_CLOSE) {
        if (!whole)
            return false;
        *in = cd_str_sub(payload, (size_t)h.len, SIZE_MAX);
        control_frame(ws, &h, cd_str_sub(payload, 0, (size_t)h.len));
        return true;
    }
    bool first = h.opcode != HTTP_WS_CONTINUATION;
    if (!data_begin(ws, &h))
        return false;
    if (whole && first && h.fin) {
        *in = cd_str_sub(payload, (size_t)h.len, SIZE_MAX);
        message_at_once(ws, cd_str_sub(payload, 0, (size_t)h.len));
        return true;
    }
    *in = payload;
    ws->in_frame = true;
    ws->frame_fin = h.fin;
    ws->frame_left = h.len;
    ws->frame_at = 0;
    return true;
}

/* Whether frames are wanted now. After the peer's close frame nothing can follow. */
static bool wants(const struct http_ws *ws)
{
    return ws->listener != NULL && !ws->paused && !ws->failed && !ws->closing && !ws->close_got && !ws->freed;
}

void http_ws_input(struct http_ws *ws, struct cd_str bytes)
{
    ws->hold++;
    struct cd_buf waiting = cd_buf_move(&ws->stash);
    struct cd_str in = bytes;
    if (waiting.len > 0) {
        cd_buf_add_str(&waiting, bytes);
        in = cd_buf_str(&waiting);
    }
    while (wants(ws) && frame_step(ws, &in))
        continue;
    if (!ws->failed && !ws->closing && !ws->close_got && in.len > 0)
        cd_buf_add_str(&ws->stash, in);
    cd_buf_deinit(&waiting);
    ws->hold--;
}
