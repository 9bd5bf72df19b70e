/* http/ws_frame.h: WebSocket frames as bytes, RFC 6455 section 5. Pure functions: no I/O, no state but the
 * caller's. */
#ifndef HTTP_WS_FRAME_H
#define HTTP_WS_FRAME_H

#include "base/str.h"

enum http_ws_opcode {
    HTTP_WS_CONTINUATION = 0,
    HTTP_WS_TEXT = 1,
    HTTP_WS_BINARY = 2,
    HTTP_WS_CLOSE = 8,
    HTTP_WS_PING = 9,
    HTTP_WS_PONG = 10,
};

/* Close codes, section 7.4.1. 1005, 1006 and 1015 never travel. */
enum {
    HTTP_WS_NORMAL = 1000,
    HTTP_WS_GOING_AWAY = 1001,
    HTTP_WS_PROTOCOL_ERROR = 1002,
    HTTP_WS_UNSUPPORTED = 1003,
    HTTP_WS_NO_STATUS = 1005,
    HTTP_WS_ABNORMAL = 1006,
    HTTP_WS_BAD_DATA = 1007,
    HTTP_WS_POLICY = 1008,
    HTTP_WS_TOO_BIG = 1009,
    HTTP_WS_MISSING_EXTENSION = 1010,
    HTTP_WS_INTERNAL = 1011,
    HTTP_WS_RESTART = 1012,
};

#define HTTP_WS_HEAD_MAX 14 /* Bytes of a frame's head: 2, up to 8 of length, 4 of mask. */
#define HTTP_WS_CONTROL_MAX 125 /* Payload of a control frame. */
#define HTTP_WS_REASON_MAX 123 /* Of a close frame, behind its code. */

struct http_ws_head {
    bool fin, masked;
    enum http_ws_opcode opcode;
    uint64_t len; /* Of the payload. */
    unsigned char mask[4];
};

/* Reads a frame's head from the front of bytes. Returns its size, 0 when more bytes are needed (of at most
 * HTTP_WS_HEAD_MAX), or a negative close code: -HTTP_WS_PROTOCOL_ERROR for reserved bits and opcodes, lengths
 * that are not in their shortest form, fragmented or oversized control frames, and a mask bit that is not
 * want_masked. */
int http_ws_head_read(struct cd_str bytes, bool want_masked, struct http_ws_head *out);

/* Writes a head and returns its size. mask NULL: unmasked. */
size_t http_ws_head_write(unsigned char out[HTTP_WS_HEAD_MAX], bool fin, enum http_ws_opcode opcode,
                          uint64_t len, const unsigned char mask[4]);

/* Copies len bytes masked or unmasked (the same operation). at is the offset of the first byte in the
 * payload, so a payload may come in pieces. to == from is fine. */
void http_ws_mask(void *to, const void *from, size_t len, const unsigned char mask[4], uint64_t at);

/* Whether a code may stand in a close frame: 1000..1003, 1007..1014, 3000..4999. */
bool http_ws_code_may_travel(unsigned code);

/* The payload of a close frame. Empty: HTTP_WS_NO_STATUS. Returns 0, -HTTP_WS_PROTOCOL_ERROR (one byte, or a
 * code that may not travel) or -HTTP_WS_BAD_DATA (the reason is not UTF-8). reason borrows from payload. */
int http_ws_close_read(struct cd_str payload, unsigned *code, struct cd_str *reason);

/* UTF-8 in pieces. A zeroed struct is the start of a text. */
struct http_utf8 {
    uint8_t want; /* Continuation bytes still missing. */
    uint8_t low, high; /* What the next one may be. */
};
bool http_utf8_feed(struct http_utf8 *u, struct cd_str piece); /* False: not UTF-8, whatever follows. */
static inline bool http_utf8_complete(const struct http_utf8 *u)
{
    return u->want == 0;
}

#endif
