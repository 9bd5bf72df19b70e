/* js/wire_format.h: messages on the wires between callers and cells. docs/rpc.md, "Wires".
 *
 * A message is a byte that says what it is, an id (32 bits, little-endian), and what belongs to that kind.
 * Values are V8's structured clone. Once a wire carries a WebSocket, its messages can be made and read
 * without V8. */
#ifndef JS_WIRE_FORMAT_H
#define JS_WIRE_FORMAT_H

#include "base/buf.h"

#define JS_WIRE_HEAD_SIZE 5u

/* Of a WebSocket: when so much of what its sender said was not taken, it is cut. Known to
 * runtime/wire_socket.js. Two of the largest messages. */
#define JS_WIRE_UNSENT_MAX (64u << 20)
#define JS_WIRE_TOO_SLOW 1008u /* The code of that. */
#define JS_WIRE_TOO_SLOW_TEXT "the other side takes messages too slowly: 64 MiB wait for it"

/* Known to runtime/wire_kinds.js. X(name, number, form of what follows the head) */
#define JS_WIRE_KINDS(X)                                                                                     \
    X(CALL, 1, VALUE)                                                                                        \
    X(FETCH, 2, VALUE)                                                                                       \
    X(RESULT, 3, VALUE)                                                                                      \
    X(HEAD, 4, VALUE)                                                                                        \
    X(FAILURE, 5, VALUE)                                                                                     \
    X(FINISH, 6, NOTHING)                                                                                    \
    X(CANCEL, 7, NOTHING)                                                                                    \
    X(RELEASE, 8, NUMBER)                                                                                    \
    X(CHUNK, 9, BYTES)                                                                                       \
    X(VALUE, 10, VALUE)                                                                                      \
    X(CREDIT, 11, NUMBER)                                                                                    \
    X(END, 12, NOTHING)                                                                                      \
    X(STOP, 13, VALUE)                                                                                       \
    X(ABORTED, 14, VALUE)                                                                                    \
    X(TEXT, 15, TEXT)                                                                                        \
    X(BINARY, 16, BYTES)                                                                                     \
    X(CLOSING, 17, TEXT) /* The id is the code, the text the reason. */                                      \
    X(ENDED, 18, TEXT) /* The same, of a socket that was cut. */

enum js_wire_kind {
#define X(name, number, form) JS_WIRE_##name = (number),
    JS_WIRE_KINDS(X)
#undef X
        JS_WIRE_KIND_COUNT
};

enum js_wire_form {
    JS_WIRE_FORM_NONE, /* No such kind. */
    JS_WIRE_FORM_NOTHING,
    JS_WIRE_FORM_NUMBER, /* 32 bits, little-endian. */
    JS_WIRE_FORM_BYTES,
    JS_WIRE_FORM_TEXT, /* UTF-8. */
    JS_WIRE_FORM_VALUE,
};

/* The id of a message of JS_WIRE_HEAD_SIZE bytes or more. */
static inline uint32_t js_wire_id(struct cd_str message)
{
    return cd_get_u32(message.ptr + 1);
}

static inline void js_wire_add_head(struct cd_buf *out, enum js_wire_kind kind, uint32_t id)
{
    cd_buf_add_byte(out, (char)(uint8_t)kind);
    cd_buf_add_u32(out, id);
}

#endif
