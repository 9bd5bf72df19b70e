/* base/encode.c: text forms of bytes, and CRC-32C. */
#include "base/encode.h"

#include "base/encode_internal.h"

static const char hex_digits[] = "0123456789abcdef";

void cd_hex_encode(struct cd_buf *out, struct cd_str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];
        cd_buf_add_byte(out, hex_digits[c >> 4]);
        cd_buf_add_byte(out, hex_digits[c & 15]);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int cd_hex_decode(struct cd_buf *out, struct cd_str text)
{
    size_t start = out->len;
    if (text.len % 2 != 0)
        return CD_ESYNTAX;
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_value(text.ptr[i]), low = hex_value(text.ptr[i + 1]);
        if (high < 0 || low < 0) {
            out->len = start;
            return CD_ESYNTAX;
        }
        cd_buf_add_byte(out, (char)(high << 4 | low));
    }
    return 0;
}

static const char base64_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void cd_base64_encode(struct cd_buf *out, struct cd_str bytes, enum cd_base64 kind, bool pad)
{
    const char *digits = kind == CD_BASE64_STD ? base64_std : base64_url;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (k < have ? (unsigned char)bytes.ptr[i + k] : 0u);
        for (size_t k = 0; k < 4; k++) {
            if (k <= have)
                cd_buf_add_byte(out, digits[v >> (18 - 6 * k) & 63]);
            else if (pad)
                cd_buf_add_byte(out, '=');
        }
    }
}

static int base64_value(char c, enum cd_base64 kind)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == (kind == CD_BASE64_STD ? '+' : '-'))
        return 62;
    if (c == (kind == CD_BASE64_STD ? '/' : '_'))
        return 63;
    return -1;
}

/* Without its padding; CD_ESYNTAX when that is not what the length asks for. */
static int base64_body(struct cd_str *text)
{
    size_t pads = 0;
    while (pads < 2 && text->len > 0 && text->ptr[text->len - 1] == '=') {
        text->len--;
        pads++;
    }
    size_t tail = text->len % 4;
    if (tail == 1 || (pads > 0 && pads != (4 - tail) % 4))
        return CD_ESYNTAX;
    return 0;
}

int cd_base64_decode(struct cd_buf *out, struct cd_str text, enum cd_base64 kind)
{
    size_t start = out->len;
    uint32_t bits = 0;
    unsigned have = 0;
    if (base64_body(&text) != 0)
        return CD_ESYNTAX;
    for (size_t i = 0; i < text.len; i++) {
        int v = base64_value(text.ptr[i], kind);
        if (v < 0)
            goto bad;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            cd_buf_add_byte(out, (char)(unsigned char)(bits >> have));
            bits &= (1u << have) - 1;
        }
    }
    if (bits != 0) /* Bits that no encoder writes: two texts would stand for the same bytes. */
        goto bad;
    return 0;

bad:
    out->len = start;
    return CD_ESYNTAX;
}

/* Four bits at a time: a table of 64 bytes and no set-up. Only machines without the instruction run it. */
uint32_t cd_crc32c_plain(uint32_t crc, const void *bytes, size_t len)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    const unsigned char *p = bytes;
    crc = ~crc;
    for (; len > 0; p++, len--) {
        crc ^= *p;
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const void *bytes, size_t len)
{
    const unsigned char *p = bytes;
    uint64_t wide = ~crc;
    for (; len >= 8; p += 8, len -= 8)
        wide = __builtin_ia32_crc32di(wide, cd_get_u64(p));
    crc = (uint32_t)wide;
    for (; len > 0; p++, len--)
        crc = __builtin_ia32_crc32qi(crc, *p);
    return ~crc;
}
#endif

uint32_t cd_crc32c(uint32_t crc, const void *bytes, size_t len)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, bytes, len);
#endif
    return cd_crc32c_plain(crc, bytes, len);
}

static bool is_unreserved(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

void cd_percent_encode(struct cd_buf *out, struct cd_str s, const char *keep)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (is_unreserved(c) || (keep != NULL && c != '\0' && strchr(keep, c) != NULL)) {
            cd_buf_add_byte(out, c);
            continue;
        }
        cd_buf_add_byte(out, '%');
        cd_buf_add_byte(out, "0123456789ABCDEF"[(unsigned char)c >> 4]);
        cd_buf_add_byte(out, "0123456789ABCDEF"[(unsigned char)c & 15]);
    }
}

int cd_percent_decode(struct cd_buf *out, struct cd_str s)
{
    size_t start = out->len;
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] != '%') {
            cd_buf_add_byte(out, s.ptr[i]);
            continue;
        }
        int high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
        int low = i + 2 < s.len ? hex_value(s.ptr[i + 2]) : -1;
        if (high < 0 || low < 0) {
            out->len = start;
            return CD_ESYNTAX;
        }
        cd_buf_add_byte(out, (char)(high << 4 | low));
        i += 2;
    }
    return 0;
}
