/* js/ops_node.c: host functions for node: modules: looking into values, and the encodings of Buffer. */
#include "js/ops_node.h"

#include <string.h>

#include "base/encode.h"
#include "js/ops.h"
#include "js/worker_internal.h"

/* preview(value): [entries, keyed?] of a collection or an iterator of one, which is not moved; undefined for
 * others. */
int js_op_preview(struct js_args *a)
{
    js_value list;
    bool keyed = false;
    if (!js_preview(a->js, js_arg(a, 0), &list, &keyed))
        return 0;
    const js_value pair[] = {list, js_bool(a->js, keyed)};
    js_return(a, js_array(a->js, pair, 2));
    return 0;
}

/* proxy_parts(value): [target, handler] of a Proxy; undefined for other values. */
int js_op_proxy_parts(struct js_args *a)
{
    if (!js_is(js_arg(a, 0), JS_IS_PROXY))
        return 0;
    js_value pair[2];
    js_proxy_parts(js_arg(a, 0), &pair[0], &pair[1]);
    js_return(a, js_array(a->js, pair, 2));
    return 0;
}

/* ---- Encodings; the numbers are those of runtime/node/encodings.js ---- */

enum encoding { ENC_UTF8, ENC_HEX, ENC_BASE64, ENC_BASE64URL, ENC_LATIN1, ENC_ASCII, ENC_UTF16LE };

static int bytes_arg(struct js_args *a, unsigned index, uint8_t *small, struct cd_str *out)
{
    if (!js_bytes_read(js_arg(a, index), small, out))
        return js_throw_error(a->js, JS_TYPE_ERROR, "not an ArrayBuffer or a view");
    return 0;
}

/* buffer_decode(bytes, start, end, encoding): a string. */
int js_op_buffer_decode(struct js_args *a)
{
    uint8_t small[64];
    struct cd_str bytes;
    uint64_t start, end, encoding;
    int rc = bytes_arg(a, 0, small, &bytes);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &start);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &end);
    if (rc == 0)
        rc = js_arg_u64(a, 3, &encoding);
    if (rc != 0)
        return rc;
    end = end < bytes.len ? end : bytes.len;
    start = start < end ? start : end;
    bytes = cd_str_sub(bytes, start, end - start);
    struct cd_buf text = {0};
    js_value v;
    switch ((enum encoding)encoding) {
    case ENC_UTF8: rc = js_string(a->js, bytes, &v); break;
    case ENC_HEX: cd_hex_encode(&text, bytes); break;
    case ENC_BASE64: cd_base64_encode(&text, bytes, CD_BASE64_STD, true); break;
    case ENC_BASE64URL: cd_base64_encode(&text, bytes, CD_BASE64_URL, false); break;
    case ENC_LATIN1: rc = js_string_latin1(a->js, bytes, &v); break;
    case ENC_ASCII:
        cd_buf_add_str(&text, bytes);
        for (size_t i = 0; i < text.len; i++)
            text.ptr[i] &= 0x7f;
        break;
    case ENC_UTF16LE: cd_buf_add(&text, bytes.ptr, bytes.len & ~(size_t)1); break;
    }
    switch ((enum encoding)encoding) {
    case ENC_UTF8:
    case ENC_LATIN1: break;
    case ENC_UTF16LE:
        /* The buffer comes from malloc: aligned for the units. */
        rc = js_string_utf16(a->js, (const uint16_t *)(const void *)text.ptr, text.len / 2, &v);
        break;
    case ENC_HEX:
    case ENC_BASE64:
    case ENC_BASE64URL:
    case ENC_ASCII: rc = js_string_latin1(a->js, cd_buf_str(&text), &v); break;
    }
    cd_buf_deinit(&text);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

static int hex_digit(unsigned unit)
{
    if (unit >= '0' && unit <= '9')
        return (int)unit - '0';
    unit |= 0x20;
    return unit >= 'a' && unit <= 'f' ? (int)unit - 'a' + 10 : -1;
}

static int base64_digit(unsigned unit)
{
    if (unit >= 'A' && unit <= 'Z')
        return (int)unit - 'A';
    if (unit >= 'a' && unit <= 'z')
        return (int)unit - 'a' + 26;
    if (unit >= '0' && unit <= '9')
        return (int)unit - '0' + 52;
    if (unit == '+' || unit == '-')
        return 62;
    return unit == '/' || unit == '_' ? 63 : -1;
}

/* As Buffer reads hex: up to the first pair that is none. */
static void hex_add(struct cd_buf *out, const struct cd_buf *units)
{
    for (size_t i = 0; i + 4 <= units->len; i += 4) {
        int high = hex_digit(cd_get_u16(units->ptr + i)), low = hex_digit(cd_get_u16(units->ptr + i + 2));
        if (high < 0 || low < 0)
            return;
        cd_buf_add_byte(out, (char)(high << 4 | low));
    }
}

/* As Buffer reads base64: both alphabets, other characters are skipped, padding ends it. */
static void base64_add(struct cd_buf *out, const struct cd_buf *units)
{
    uint32_t bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < units->len; i += 2) {
        uint16_t unit = cd_get_u16(units->ptr + i);
        if (unit == '=')
            break;
        int digit = base64_digit(unit);
        if (digit < 0)
            continue;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count >= 8) {
            count -= 8;
            cd_buf_add_byte(out, (char)(bits >> count & 0xff));
        }
    }
}

/* buffer_encode(string, encoding): a Uint8Array. */
int js_op_buffer_encode(struct js_args *a)
{
    uint64_t encoding;
    int rc = js_arg_u64(a, 1, &encoding);
    if (rc != 0)
        return rc;
    if (js_kind(js_arg(a, 0)) != JS_STRING)
        return js_throw_error(a->js, JS_TYPE_ERROR, "not a string");
    struct cd_buf out = {0}, units = {0};
    if (encoding == ENC_UTF8) {
        js_string_add(a->js, js_arg(a, 0), &out);
    } else if (encoding == ENC_UTF16LE) {
        js_string_add_utf16(a->js, js_arg(a, 0), &out);
    } else if ((encoding != ENC_LATIN1 && encoding != ENC_ASCII) ||
               !js_string_add_latin1(a->js, js_arg(a, 0), &out)) {
        js_string_add_utf16(a->js, js_arg(a, 0), &units);
        if (encoding == ENC_HEX)
            hex_add(&out, &units);
        else if (encoding == ENC_BASE64 || encoding == ENC_BASE64URL)
            base64_add(&out, &units);
        else
            for (size_t i = 0; i < units.len; i += 2)
                cd_buf_add_byte(&out, units.ptr[i]);
    }
    js_value v;
    rc = js_uint8_array_copy(a->js, cd_buf_str(&out), &v);
    cd_buf_deinit(&out);
    cd_buf_deinit(&units);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* Byte i of text, seen from its end when backwards. */
static unsigned char seen(struct cd_str text, size_t i, bool backwards)
{
    return (unsigned char)text.ptr[backwards ? text.len - 1 - i : i];
}

/* Where needle first is in bytes, both seen from the end when backwards, at offsets from the real beginning
 * that are multiples of step; SIZE_MAX: nowhere. Linear in time however alike they are (Knuth, Morris,
 * Pratt). */
static size_t find_linear(struct cd_str bytes, struct cd_str needle, size_t step, bool backwards)
{
    uint32_t *border = cd_alloc(sizeof(*border) * needle.len); /* Of each beginning of needle. */
    size_t found = SIZE_MAX, matched = 0;
    border[0] = 0;
    for (size_t i = 1; i < needle.len; i++) {
        while (matched > 0 && seen(needle, i, backwards) != seen(needle, matched, backwards))
            matched = border[matched - 1];
        if (seen(needle, i, backwards) == seen(needle, matched, backwards))
            matched++;
        border[i] = (uint32_t)matched;
    }
    matched = 0;
    for (size_t i = 0; i < bytes.len && found == SIZE_MAX; i++) {
        while (matched > 0 && seen(bytes, i, backwards) != seen(needle, matched, backwards))
            matched = border[matched - 1];
        if (seen(bytes, i, backwards) == seen(needle, matched, backwards))
            matched++;
        if (matched < needle.len)
            continue;
        size_t start = backwards ? bytes.len - 1 - i : i + 1 - needle.len;
        if (start % step == 0)
            found = start;
        matched = border[matched - 1];
    }
    cd_free(border);
    return found;
}

/* buffer_find(bytes, needle, from, backwards, step): the offset of the first needle at or behind from, or the
 * last at or before it, at multiples of step bytes; -1: none. needle is not empty. */
int js_op_buffer_find(struct js_args *a)
{
    uint8_t small[64], small2[64];
    struct cd_str bytes, needle;
    uint64_t from, step;
    int rc = bytes_arg(a, 0, small, &bytes);
    if (rc == 0)
        rc = bytes_arg(a, 1, small2, &needle);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &from);
    if (rc == 0)
        rc = js_arg_u64(a, 4, &step);
    if (rc != 0)
        return rc;
    bool backwards = js_to_bool(a->js, js_arg(a, 3));
    js_return_int(a, -1);
    if (needle.len == 0 || needle.len > bytes.len || step == 0)
        return 0;
    size_t last = bytes.len - needle.len, found;
    if (backwards) {
        size_t end = (from < last ? from : last) + needle.len;
        found = find_linear(cd_str_sub(bytes, 0, end), needle, step, true);
    } else if (from > last) {
        return 0;
    } else if (step == 1) {
        const char *at = memmem(bytes.ptr + from, bytes.len - from, needle.ptr, needle.len);
        found = at == NULL ? SIZE_MAX : (size_t)(at - bytes.ptr);
    } else {
        from += from % step == 0 ? 0 : step - from % step;
        if (from > last)
            return 0;
        found = find_linear(cd_str_sub(bytes, from, SIZE_MAX), needle, step, false);
        found += found == SIZE_MAX ? 0 : from;
    }
    if (found != SIZE_MAX)
        js_return_number(a, (double)found);
    return 0;
}

/* buffer_compare(a, b): -1, 0 or 1. */
int js_op_buffer_compare(struct js_args *a)
{
    uint8_t small[64], small2[64];
    struct cd_str x, y;
    int rc = bytes_arg(a, 0, small, &x);
    if (rc == 0)
        rc = bytes_arg(a, 1, small2, &y);
    if (rc != 0)
        return rc;
    size_t len = x.len < y.len ? x.len : y.len;
    int order = len == 0 ? 0 : memcmp(x.ptr, y.ptr, len);
    if (order == 0)
        order = x.len < y.len ? -1 : x.len > y.len;
    js_return_int(a, order < 0 ? -1 : order > 0);
    return 0;
}

/* buffer_check(bytes, ascii): whether they are UTF-8, or ASCII. */
int js_op_buffer_check(struct js_args *a)
{
    uint8_t small[64];
    struct cd_str bytes;
    int rc = bytes_arg(a, 0, small, &bytes);
    if (rc != 0)
        return rc;
    bool ok = true;
    if (!js_to_bool(a->js, js_arg(a, 1)))
        ok = cd_str_is_utf8(bytes);
    else
        for (size_t i = 0; i < bytes.len && ok; i++)
            ok = (unsigned char)bytes.ptr[i] < 0x80;
    js_return_bool(a, ok);
    return 0;
}

/* ---- The bundle as files ---- */

/* bundle_names(): the names of its modules. */
int js_op_bundle_names(struct js_args *a)
{
    const struct js_bundle *b = js_worker_of(a)->bundle;
    js_value list = js_array(a->js, NULL, 0);
    for (unsigned i = 0; i < b->count; i++) {
        js_value name;
        int rc = js_string(a->js, b->module[i].name, &name);
        if (rc == 0)
            rc = js_set_index(a->js, list, i, name);
        if (rc != 0)
            return rc;
    }
    js_return(a, list);
    return 0;
}

/* bundle_bytes(name): a copy, as a Uint8Array; undefined when there is none of that name. */
int js_op_bundle_bytes(struct js_args *a)
{
    const struct js_bundle *b = js_worker_of(a)->bundle;
    struct cd_buf name = {0};
    js_value v;
    int rc = js_to_utf8(a->js, js_arg(a, 0), &name);
    for (unsigned i = 0; i < b->count && rc == 0; i++) {
        if (!cd_str_eq(b->module[i].name, cd_buf_str(&name)))
            continue;
        rc = js_uint8_array_copy(a->js, b->module[i].bytes, &v);
        if (rc == 0)
            js_return(a, v);
        break;
    }
    cd_buf_deinit(&name);
    return rc;
}
