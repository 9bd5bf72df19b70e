/* base/str.c: borrowed text. */
#include "base/str.h"

struct cd_str cd_str_sub(struct cd_str s, size_t from, size_t len)
{
    if (from > s.len)
        from = s.len;
    if (len > s.len - from)
        len = s.len - from;
    return (struct cd_str){s.ptr == NULL ? NULL : s.ptr + from, len};
}

bool cd_str_eq(struct cd_str a, struct cd_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool cd_str_eq_nocase(struct cd_str a, struct cd_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    }
    return true;
}

bool cd_str_starts(struct cd_str s, struct cd_str prefix)
{
    return s.len >= prefix.len && cd_str_eq(cd_str_sub(s, 0, prefix.len), prefix);
}

bool cd_str_ends(struct cd_str s, struct cd_str suffix)
{
    return s.len >= suffix.len && cd_str_eq(cd_str_sub(s, s.len - suffix.len, suffix.len), suffix);
}

int cd_str_cmp(struct cd_str a, struct cd_str b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter == 0 ? 0 : memcmp(a.ptr, b.ptr, shorter);
    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

size_t cd_str_find(struct cd_str s, char byte, size_t from)
{
    if (from >= s.len)
        return SIZE_MAX;
    const char *at = memchr(s.ptr + from, byte, s.len - from);
    return at == NULL ? SIZE_MAX : (size_t)(at - s.ptr);
}

size_t cd_str_find_str(struct cd_str s, struct cd_str what, size_t from)
{
    if (what.len == 0)
        return from <= s.len ? from : SIZE_MAX;
    if (from >= s.len)
        return SIZE_MAX;
    const char *at = memmem(s.ptr + from, s.len - from, what.ptr, what.len);
    return at == NULL ? SIZE_MAX : (size_t)(at - s.ptr);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct cd_str cd_str_trim(struct cd_str s)
{
    while (s.len > 0 && is_space(s.ptr[0])) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && is_space(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool cd_str_next(struct cd_str *rest, char sep, struct cd_str *piece)
{
    if (rest->ptr == NULL)
        return false;
    size_t at = cd_str_find(*rest, sep, 0);
    if (at == SIZE_MAX) {
        *piece = *rest;
        *rest = (struct cd_str){NULL, 0};
    } else {
        *piece = cd_str_sub(*rest, 0, at);
        *rest = cd_str_sub(*rest, at + 1, SIZE_MAX);
    }
    return true;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int parse_u64(struct cd_str s, unsigned base, uint64_t *out)
{
    if (s.len == 0)
        return CD_ESYNTAX;
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned)digit_of(s.ptr[i]) >= base)
            return CD_ESYNTAX;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < s.len; i++) {
        uint64_t digit = (uint64_t)digit_of(s.ptr[i]);
        if (value > (UINT64_MAX - digit) / base)
            return CD_ETOOBIG;
        value = value * base + digit;
    }
    *out = value;
    return 0;
}

int cd_str_u64(struct cd_str s, uint64_t *out)
{
    return parse_u64(s, 10, out);
}

int cd_str_hex_u64(struct cd_str s, uint64_t *out)
{
    return parse_u64(s, 16, out);
}

/* Length of the sequence that lead starts, and the range of its second byte (Unicode table 3-7). */
static size_t utf8_shape(unsigned char lead, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef) {
        if (lead == 0xe0)
            *low = 0xa0;
        if (lead == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        if (lead == 0xf0)
            *low = 0x90;
        if (lead == 0xf4)
            *high = 0x8f;
        return 4;
    }
    return 0;
}

size_t cd_utf8_len(struct cd_str s)
{
    if (s.len == 0)
        return 0;
    const unsigned char *p = (const unsigned char *)s.ptr;
    unsigned char low, high;
    size_t len = utf8_shape(p[0], &low, &high);
    if (len == 0 || len > s.len)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (p[i] < low || p[i] > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

bool cd_str_is_utf8(struct cd_str s)
{
    size_t at = 0;
    while (at < s.len) {
        uint64_t eight;
        if (s.len - at >= sizeof eight) {
            memcpy(&eight, s.ptr + at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        size_t len = cd_utf8_len(cd_str_sub(s, at, SIZE_MAX));
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

char *cd_str_dup(struct cd_str s)
{
    char *copy = cd_alloc(s.len + 1);
    if (s.len > 0)
        memcpy(copy, s.ptr, s.len);
    return copy;
}
