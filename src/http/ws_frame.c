/* http/ws_frame.c: WebSocket frames as bytes. */
#include "http/ws_frame.h"

#define FIN_BIT 0x80u
#define RESERVED_BITS 0x70u
#define MASK_BIT 0x80u
#define LEN_16 126u
#define LEN_64 127u

static bool opcode_known(unsigned opcode)
{
    return opcode <= HTTP_WS_BINARY || (opcode >= HTTP_WS_CLOSE && opcode <= HTTP_WS_PONG);
}

static uint64_t get_be(const unsigned char *at, size_t size)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | at[i];
    return v;
}

static void put_be(unsigned char *at, uint64_t v, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(v >> (8 * (size - 1 - i)));
}

int http_ws_head_read(struct cd_str bytes, bool want_masked, struct http_ws_head *out)
{
    const unsigned char *at = (const unsigned char *)bytes.ptr;
    /* The first two bytes are judged as soon as they are there: a wrong peer learns it early. */
    if (bytes.len >= 1 && ((at[0] & RESERVED_BITS) != 0 || !opcode_known(at[0] & 0x0fu)))
        return -HTTP_WS_PROTOCOL_ERROR;
    if (bytes.len < 2)
        return 0;
    struct http_ws_head h = {.fin = (at[0] & FIN_BIT) != 0,
                             .masked = (at[1] & MASK_BIT) != 0,
                             .opcode = (enum http_ws_opcode)(at[0] & 0x0fu)};
    unsigned len = at[1] & 0x7fu;
    if (h.masked != want_masked)
        return -HTTP_WS_PROTOCOL_ERROR;
    if (h.opcode >= HTTP_WS_CLOSE && (!h.fin || len > HTTP_WS_CONTROL_MAX))
        return -HTTP_WS_PROTOCOL_ERROR;
    size_t len_size = len == LEN_64 ? 8 : len == LEN_16 ? 2 : 0;
    size_t size = 2 + len_size + (h.masked ? 4u : 0u);
    if (bytes.len < 2 + len_size)
        return 0;
    h.len = len_size == 0 ? len : get_be(at + 2, len_size);
    bool shortest = len == LEN_64 ? h.len > UINT16_MAX : len != LEN_16 || h.len >= LEN_16;
    if (!shortest || h.len > INT64_MAX)
        return -HTTP_WS_PROTOCOL_ERROR;
    if (bytes.len < size)
        return 0;
    if (h.masked)
        memcpy(h.mask, at + 2 + len_size, 4);
    *out = h;
    return (int)size;
}

size_t http_ws_head_write(unsigned char out[HTTP_WS_HEAD_MAX], bool fin, enum http_ws_opcode opcode,
                          uint64_t len, const unsigned char mask[4])
{
    unsigned char mask_bit = mask != NULL ? MASK_BIT : 0;
    size_t len_size = len > UINT16_MAX ? 8 : len >= LEN_16 ? 2 : 0;
    out[0] = (unsigned char)((fin ? FIN_BIT : 0) | (unsigned)opcode);
    out[1] = (unsigned char)(mask_bit | (len_size == 8 ? LEN_64 : len_size == 2 ? LEN_16 : (unsigned)len));
    put_be(out + 2, len, len_size);
    size_t size = 2 + len_size;
    if (mask != NULL) {
        memcpy(out + size, mask, 4);
        size += 4;
    }
    return size;
}

void http_ws_mask(void *to, const void *from, size_t len, const unsigned char mask[4], uint64_t at)
{
    unsigned char wide[8];
    for (size_t i = 0; i < sizeof wide; i++)
        wide[i] = mask[(at + i) % 4];
    uint64_t key;
    memcpy(&key, wide, sizeof key);
    unsigned char *out = to;
    const unsigned char *in = from;
    for (; len >= sizeof key; len -= sizeof key) {
        uint64_t word;
        memcpy(&word, in, sizeof word);
        word ^= key;
        memcpy(out, &word, sizeof word);
        in += sizeof word;
        out += sizeof word;
    }
    for (size_t i = 0; i < len; i++)
        out[i] = in[i] ^ wide[i];
}

bool http_ws_code_may_travel(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);
}

int http_ws_close_read(struct cd_str payload, unsigned *code, struct cd_str *reason)
{
    if (payload.len == 0) {
        *code = HTTP_WS_NO_STATUS;
        *reason = (struct cd_str){NULL, 0};
        return 0;
    }
    if (payload.len == 1)
        return -HTTP_WS_PROTOCOL_ERROR;
    unsigned said = (unsigned)get_be((const unsigned char *)payload.ptr, 2);
    if (!http_ws_code_may_travel(said))
        return -HTTP_WS_PROTOCOL_ERROR;
    struct cd_str text = cd_str_sub(payload, 2, SIZE_MAX);
    if (!cd_str_is_utf8(text))
        return -HTTP_WS_BAD_DATA;
    *code = said;
    *reason = text;
    return 0;
}

/* How many bytes follow a first byte, and the bounds of the second (no overlong forms, surrogates, >
 * U+10FFFF). */
static bool utf8_lead(struct http_utf8 *u, unsigned char c)
{
    u->low = 0x80;
    u->high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
        u->want = 1;
    } else if (c >= 0xe0 && c <= 0xef) {
        u->want = 2;
        u->low = c == 0xe0 ? 0xa0 : 0x80;
        u->high = c == 0xed ? 0x9f : 0xbf;
    } else if (c >= 0xf0 && c <= 0xf4) {
        u->want = 3;
        u->low = c == 0xf0 ? 0x90 : 0x80;
        u->high = c == 0xf4 ? 0x8f : 0xbf;
    } else {
        return false;
    }
    return true;
}

bool http_utf8_feed(struct http_utf8 *u, struct cd_str piece)
{
    const unsigned char *at = (const unsigned char *)piece.ptr;
    size_t i = 0;
    while (i < piece.len) {
        uint64_t word;
        if (u->want == 0 && piece.len - i >= sizeof word) {
            memcpy(&word, at + i, sizeof word);
            if ((word & 0x8080808080808080u) == 0) {
                i += sizeof word; /* Eight plain characters at once: most text is. */
                continue;
            }
        }
        unsigned char c = at[i++];
        if (u->want > 0) {
            if (c < u->low || c > u->high)
                return false;
            u->want--;
            u->low = 0x80;
            u->high = 0xbf;
        } else if (c >= 0x80 && !utf8_lead(u, c)) {
            return false;
        }
    }
    return true;
}
