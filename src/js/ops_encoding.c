/* js/ops_encoding.c: host functions for TextEncoder and TextDecoder, atob and btoa. runtime.md 5.3. */
#include "base/encode.h"
#include "js/legacy.h"
#include "js/ops.h"
#include "js/worker_internal.h"

#define NOT_BYTES "The input is neither an ArrayBuffer nor a view of one."

/* utf8_encode(string): a Uint8Array. */
int js_op_utf8_encode(struct js_args *a)
{
    struct cd_buf text = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &text);
    js_value v;
    if (rc == 0)
        rc = js_uint8_array_copy(a->js, cd_buf_str(&text), &v);
    cd_buf_deinit(&text);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* utf8_into(string, view): writes whole characters as long as there is room: [units read, bytes written]. */
int js_op_utf8_into(struct js_args *a)
{
    struct js_bytes to;
    if (!js_bytes(js_arg(a, 1), &to))
        return js_throw_error(a->js, JS_TYPE_ERROR, "not a Uint8Array");
    struct cd_buf text = {0};
    int rc = js_to_utf8(a->js, js_arg(a, 0), &text);
    if (rc != 0 || !js_bytes(js_arg(a, 1), &to)) {
        cd_buf_deinit(&text);
        return rc;
    }
    size_t len = text.len;
    if (len > to.len) {
        len = to.len;
        while (len > 0 && ((uint8_t)text.ptr[len] & 0xc0) == 0x80)
            len--;
    }
    double units = 0;
    for (size_t i = 0; i < len; i++) {
        uint8_t b = (uint8_t)text.ptr[i];
        units += (b & 0xc0) != 0x80;
        units += b >= 0xf0; /* Four bytes are two units. */
    }
    if (len > 0)
        memcpy(to.ptr, text.ptr, len);
    cd_buf_deinit(&text);
    const js_value pair[] = {js_number(a->js, units), js_number(a->js, (double)len)};
    js_return(a, js_array(a->js, pair, 2));
    return 0;
}

static int return_utf8(struct js_args *a, struct cd_str bytes, bool fatal)
{
    if (fatal && !cd_str_is_utf8(bytes))
        return 0;
    js_value v;
    int rc = js_string(a->js, bytes, &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

/* utf8_decode(bytes, fatal): a string, malformed bytes as U+FFFD; undefined when fatal and there are some. A
 * byte order mark is kept. */
int js_op_utf8_decode(struct js_args *a)
{
    uint8_t small[64];
    struct cd_str bytes;
    if (!js_bytes_read(js_arg(a, 0), small, &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, NOT_BYTES);
    return return_utf8(a, bytes, js_to_bool(a->js, js_arg(a, 1)));
}

/* How many bytes at the end begin a character that is not complete and may still become one. */
static unsigned utf8_open(struct cd_str s)
{
    unsigned most = s.len < 3 ? (unsigned)s.len : 3;
    for (unsigned n = 1; n <= most; n++) {
        const uint8_t *p = (const uint8_t *)s.ptr + s.len - n;
        if ((p[0] & 0xc0) == 0x80)
            continue;
        unsigned whole = p[0] >= 0xf0 && p[0] <= 0xf4 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 1;
        if (p[0] > 0xf4 || n >= whole)
            return 0;
        if (n == 1)
            return n;
        uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
        uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
        return p[1] >= low && p[1] <= high ? n : 0;
    }
    return 0;
}

/* The state of a decoder is a view of eight bytes that JavaScript keeps (struct js_legacy_state). */
static int state_arg(struct js_args *a, unsigned index, struct js_legacy_state *out)
{
    struct js_bytes b;
    if (!js_bytes(js_arg(a, index), &b) || b.len != sizeof *out)
        return CD_EINVAL;
    memcpy(out, b.ptr, sizeof *out);
    return out->pending <= sizeof out->byte ? 0 : CD_EINVAL;
}

static void state_back(struct js_args *a, unsigned index, const struct js_legacy_state *s)
{
    struct js_bytes b;
    bool is = js_bytes(js_arg(a, index), &b);
    CD_ASSERT(is && b.len == sizeof *s);
    memcpy(b.ptr, s, sizeof *s);
}

/* utf8_decode_part(bytes, fatal, state, last): the same for a text in pieces. */
int js_op_utf8_decode_part(struct js_args *a)
{
    uint8_t small[64];
    struct cd_str bytes;
    struct js_legacy_state s;
    int rc = state_arg(a, 2, &s);
    if (rc != 0)
        return rc;
    if (!js_bytes_read(js_arg(a, 0), small, &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, NOT_BYTES);
    bool fatal = js_to_bool(a->js, js_arg(a, 1)), last = js_to_bool(a->js, js_arg(a, 3));
    struct cd_buf joined = {0};
    if (s.pending > 0) {
        cd_buf_add(&joined, s.byte, s.pending);
        cd_buf_add_str(&joined, bytes);
        bytes = cd_buf_str(&joined);
    }
    unsigned open = last ? 0 : utf8_open(bytes);
    struct cd_str whole = cd_str_of(bytes.ptr, bytes.len - open);
    if (fatal && !cd_str_is_utf8(whole))
        open = 0; /* The error ends the text. */
    s = (struct js_legacy_state){.pending = (uint8_t)open};
    if (open > 0)
        memcpy(s.byte, bytes.ptr + whole.len, open);
    state_back(a, 2, &s);
    rc = return_utf8(a, whole, fatal);
    cd_buf_deinit(&joined);
    return rc;
}

static int encoding_arg(struct js_args *a, unsigned index, const struct js_legacy **out)
{
    struct cd_buf name = {0};
    int rc = js_to_utf8(a->js, js_arg(a, index), &name);
    *out = rc == 0 ? js_legacy_find(cd_buf_str(&name)) : NULL;
    cd_buf_deinit(&name);
    return rc != 0 ? rc : *out != NULL ? 0 : CD_EINVAL;
}

/* legacy_table(encoding): an ArrayBuffer for legacy_decode. Slow: keep it. */
int js_op_legacy_table(struct js_args *a)
{
    const struct js_legacy *e;
    int rc = encoding_arg(a, 0, &e);
    js_value v;
    if (rc == 0)
        rc = js_buffer(a->js, js_legacy_table_len(e) * sizeof(uint32_t), &v);
    if (rc != 0)
        return rc;
    struct js_bytes b;
    bool is = js_bytes(v, &b);
    CD_ASSERT(is);
    rc = js_legacy_table(e, (uint32_t *)(void *)b.ptr);
    if (rc != 0)
        return js_throw_error(a->js, JS_RANGE_ERROR, "The ICU of this system lacks the encoding %s.",
                              e->name);
    js_return(a, v);
    return 0;
}

/* legacy_decode(bytes, fatal, state, last, encoding, table): a string, or undefined as utf8_decode. */
int js_op_legacy_decode(struct js_args *a)
{
    uint8_t small[64];
    struct cd_str bytes;
    struct js_legacy_state s;
    struct js_bytes table;
    const struct js_legacy *e;
    int rc = encoding_arg(a, 4, &e);
    if (rc == 0)
        rc = state_arg(a, 2, &s);
    if (rc != 0)
        return rc;
    if (!js_bytes_read(js_arg(a, 0), small, &bytes))
        return js_throw_error(a->js, JS_TYPE_ERROR, NOT_BYTES);
    if (!js_bytes(js_arg(a, 5), &table) || table.len != js_legacy_table_len(e) * sizeof(uint32_t))
        return CD_EINVAL;
    bool fatal = js_to_bool(a->js, js_arg(a, 1)), last = js_to_bool(a->js, js_arg(a, 3));
    struct cd_buf units = {0};
    rc = js_legacy_decode(e, (const uint32_t *)(const void *)table.ptr, &s, bytes, fatal, last, &units);
    state_back(a, 2, &s);
    js_value v = NULL;
    if (rc == CD_ECORRUPT)
        rc = 0;
    else if (rc == 0)
        rc = js_string_utf16(a->js, (const uint16_t *)(const void *)units.ptr, units.len / 2, &v);
    cd_buf_deinit(&units);
    if (rc == 0 && v != NULL)
        js_return(a, v);
    return rc;
}

/* ---- atob and btoa: HTML standard, 8.3 ---- */

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* The forgiving decoding of the Infra standard: spaces anywhere, padding or none, stray bits. In place. */
static bool base64_forgiving(struct cd_buf *text)
{
    size_t len = 0, n = 0;
    for (size_t i = 0; i < text->len; i++) {
        if (!is_space(text->ptr[i]))
            text->ptr[len++] = text->ptr[i];
    }
    if (len % 4 == 0) {
        for (unsigned i = 0; i < 2 && len > 0 && text->ptr[len - 1] == '='; i++)
            len--;
    }
    if (len % 4 == 1)
        return false;
    uint32_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        int v = base64_value(text->ptr[i]);
        if (v < 0)
            return false;
        bits = bits << 6 | (uint32_t)v;
        if (i % 4 != 0)
            text->ptr[n++] = (char)(uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    text->len = n;
    return true;
}

/* atob(string): a string of bytes; undefined when it is no base64. */
int js_op_atob(struct js_args *a)
{
    struct cd_buf text = {0};
    js_value v;
    bool is = js_string_add_latin1(a->js, js_arg(a, 0), &text) && base64_forgiving(&text);
    int rc = is ? js_string_latin1(a->js, cd_buf_str(&text), &v) : 0;
    cd_buf_deinit(&text);
    if (rc == 0 && is)
        js_return(a, v);
    return rc;
}

/* btoa(string): base64; undefined when a unit is above 255. */
int js_op_btoa(struct js_args *a)
{
    struct cd_buf bytes = {0}, text = {0};
    js_value v;
    bool is = js_string_add_latin1(a->js, js_arg(a, 0), &bytes);
    if (is)
        cd_base64_encode(&text, cd_buf_str(&bytes), CD_BASE64_STD, true);
    int rc = is ? js_string_latin1(a->js, cd_buf_str(&text), &v) : 0;
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&text);
    if (rc == 0 && is)
        js_return(a, v);
    return rc;
}
