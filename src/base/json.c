/* base/json.c: strict reading over yyjson, and a small writer. */
#include "base/json.h"

#include <stdlib.h>

#include <yyjson.h>

/* yyjson values are used as they are: struct cd_json is never defined. */
static yyjson_val *val(const struct cd_json *v)
{
    return (yyjson_val *)(uintptr_t)v;
}

static const struct cd_json *json(yyjson_val *v)
{
    return (const struct cd_json *)v;
}

static yyjson_doc *doc_of(const struct cd_json_doc *d)
{
    return (yyjson_doc *)(uintptr_t)d;
}

static void explain(struct cd_buf *why, struct cd_str text, size_t at, const char *what)
{
    size_t line = 1, column = 1;
    if (why == NULL)
        return;
    for (size_t i = 0; i < at && i < text.len; i++) {
        column++;
        if (text.ptr[i] == '\n') {
            line++;
            column = 1;
        }
    }
    cd_buf_addf(why, "line %zu, column %zu: %s", line, column, what);
}

/* Depth by counting brackets outside of strings, before anything recurses over the text. */
static bool too_deep(struct cd_str text, size_t *at)
{
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (quoted) {
            if (c == '\\')
                i++;
            else if (c == '"')
                quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            *at = i;
            if (++depth > CD_JSON_DEPTH_MAX)
                return true;
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

int cd_json_parse(struct cd_json_doc **doc, struct cd_str text, struct cd_buf *why)
{
    size_t at = 0;
    if (too_deep(text, &at)) {
        explain(why, text, at, "nested deeper than 64 levels");
        return CD_ESYNTAX;
    }
    yyjson_read_err err;
    /* Without the in-situ flag the text is copied and never written to. Integers past 64 bits stay text, so
     * that they can be told from fractions. */
    yyjson_doc *d =
        yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_BIGNUM_AS_RAW, NULL, &err);
    if (d == NULL) {
        explain(why, text, err.pos, text.len == 0 ? "empty text" : err.msg);
        return CD_ESYNTAX;
    }
    *doc = (struct cd_json_doc *)d;
    return 0;
}

void cd_json_free(struct cd_json_doc *doc)
{
    yyjson_doc_free(doc_of(doc));
}

const struct cd_json *cd_json_root(const struct cd_json_doc *doc)
{
    return json(yyjson_doc_get_root(doc_of(doc)));
}

enum cd_json_kind cd_json_kind(const struct cd_json *v)
{
    yyjson_val *y = val(v);
    if (yyjson_is_bool(y))
        return CD_JSON_BOOL;
    if (yyjson_is_num(y) || yyjson_is_raw(y))
        return CD_JSON_NUMBER;
    if (yyjson_is_str(y))
        return CD_JSON_STRING;
    if (yyjson_is_arr(y))
        return CD_JSON_ARRAY;
    return yyjson_is_obj(y) ? CD_JSON_OBJECT : CD_JSON_NULL;
}

const struct cd_json *cd_json_get(const struct cd_json *v, const char *key)
{
    return json(yyjson_obj_get(val(v), key));
}

size_t cd_json_count(const struct cd_json *v)
{
    yyjson_val *y = val(v);
    return yyjson_is_arr(y) ? yyjson_arr_size(y) : yyjson_obj_size(y);
}

const struct cd_json *cd_json_item(const struct cd_json *v, size_t index)
{
    return json(yyjson_arr_get(val(v), index));
}

const struct cd_json *cd_json_next(const struct cd_json *v, const struct cd_json *after, struct cd_str *key)
{
    yyjson_val *y = val(v);
    if (!yyjson_is_ctn(y))
        return NULL;
    yyjson_val *at = after == NULL ? unsafe_yyjson_get_first(y) : unsafe_yyjson_get_next(val(after));
    if (at == unsafe_yyjson_get_next(y))
        return NULL; /* Where the next sibling of y lies, its own members end. */
    if (!yyjson_is_obj(y))
        return json(at);
    if (key != NULL)
        *key = cd_str_of(yyjson_get_str(at), yyjson_get_len(at));
    return json(yyjson_obj_iter_get_val(at));
}

const struct cd_json *cd_json_member(const struct cd_json *v, size_t index, struct cd_str *key)
{
    if (!yyjson_is_obj(val(v)) || index >= yyjson_obj_size(val(v)))
        return NULL;
    const struct cd_json *at = cd_json_next(v, NULL, key);
    for (size_t i = 0; i < index; i++)
        at = cd_json_next(v, at, key);
    return at;
}

int cd_json_str(const struct cd_json *v, struct cd_str *out)
{
    yyjson_val *y = val(v);
    if (!yyjson_is_str(y))
        return CD_EINVAL;
    *out = cd_str_of(yyjson_get_str(y), yyjson_get_len(y));
    return 0;
}

int cd_json_u64(const struct cd_json *v, uint64_t *out)
{
    yyjson_val *y = val(v);
    if (yyjson_is_raw(y)) {
        uint64_t ignored;
        return cd_str_u64(cd_str_of(yyjson_get_raw(y), yyjson_get_len(y)), &ignored) == CD_ETOOBIG
                   ? CD_ETOOBIG
                   : CD_EINVAL;
    }
    if (!yyjson_is_uint(y))
        return CD_EINVAL;
    if (yyjson_get_uint(y) > (UINT64_C(1) << 53) - 1)
        return CD_ETOOBIG;
    *out = yyjson_get_uint(y);
    return 0;
}

int cd_json_bool(const struct cd_json *v, bool *out)
{
    yyjson_val *y = val(v);
    if (!yyjson_is_bool(y))
        return CD_EINVAL;
    *out = yyjson_get_bool(y);
    return 0;
}

void cd_json_text(struct cd_buf *out, const struct cd_json *v)
{
    size_t len = 0;
    char *text = yyjson_val_write(val(v), YYJSON_WRITE_NOFLAG, &len);
    CD_ASSERT(text != NULL); /* What was read can be written. */
    cd_buf_add(out, text, len);
    free(text);
}

void cd_json_out_init(struct cd_json_out *o, struct cd_buf *to)
{
    *o = (struct cd_json_out){.to = to};
    o->fresh[0] = true;
}

static void comma(struct cd_json_out *o)
{
    if (!o->fresh[o->depth])
        cd_buf_add_byte(o->to, ',');
    o->fresh[o->depth] = false;
}

/* A value may come here: the first at the top, after a key in an object, anywhere in an array. */
static void value_begin(struct cd_json_out *o)
{
    if (o->depth == 0)
        CD_ASSERT(o->fresh[0]);
    else
        CD_ASSERT(o->named == (o->close[o->depth] == '}'));
    if (!o->named)
        comma(o);
    o->named = false;
}

static void open_bracket(struct cd_json_out *o, char bracket, char close)
{
    value_begin(o);
    CD_ASSERT(o->depth < CD_JSON_DEPTH_MAX);
    cd_buf_add_byte(o->to, bracket);
    o->depth++;
    o->fresh[o->depth] = true;
    o->close[o->depth] = close;
}

void cd_json_out_object(struct cd_json_out *o)
{
    open_bracket(o, '{', '}');
}

void cd_json_out_array(struct cd_json_out *o)
{
    open_bracket(o, '[', ']');
}

void cd_json_out_end(struct cd_json_out *o, char bracket)
{
    CD_ASSERT(o->depth > 0 && o->close[o->depth] == bracket);
    CD_ASSERT(!o->named);
    o->depth--;
    cd_buf_add_byte(o->to, bracket);
}

void cd_json_out_key(struct cd_json_out *o, const char *key)
{
    cd_json_out_key_str(o, cd_str(key));
}

void cd_json_out_key_str(struct cd_json_out *o, struct cd_str key)
{
    CD_ASSERT(o->depth > 0 && o->close[o->depth] == '}');
    CD_ASSERT(!o->named);
    comma(o);
    cd_json_quote(o->to, key);
    cd_buf_add_byte(o->to, ':');
    o->named = true;
}

void cd_json_out_str(struct cd_json_out *o, struct cd_str s)
{
    value_begin(o);
    cd_json_quote(o->to, s);
}

void cd_json_out_u64(struct cd_json_out *o, uint64_t v)
{
    value_begin(o);
    cd_buf_addf(o->to, "%llu", (unsigned long long)v);
}

void cd_json_out_i64(struct cd_json_out *o, int64_t v)
{
    value_begin(o);
    cd_buf_addf(o->to, "%lld", (long long)v);
}

void cd_json_out_bool(struct cd_json_out *o, bool v)
{
    cd_json_out_raw(o, v ? CD_STR("true") : CD_STR("false"));
}

void cd_json_out_null(struct cd_json_out *o)
{
    cd_json_out_raw(o, CD_STR("null"));
}

void cd_json_out_raw(struct cd_json_out *o, struct cd_str text)
{
    CD_ASSERT(text.len > 0);
    value_begin(o);
    cd_buf_add_str(o->to, text);
}

static void quote_ascii(struct cd_buf *out, char c)
{
    switch (c) {
    case '"': cd_buf_add_str(out, CD_STR("\\\"")); return;
    case '\\': cd_buf_add_str(out, CD_STR("\\\\")); return;
    case '\n': cd_buf_add_str(out, CD_STR("\\n")); return;
    case '\r': cd_buf_add_str(out, CD_STR("\\r")); return;
    case '\t': cd_buf_add_str(out, CD_STR("\\t")); return;
    }
    if ((unsigned char)c < 0x20 || c == 0x7f)
        cd_buf_addf(out, "\\u%04x", (unsigned)(unsigned char)c);
    else
        cd_buf_add_byte(out, c);
}

/* Also escaped: the second set of control characters (U+0080..U+009F), which some terminals obey, and the
 * line breaks U+2028 and U+2029. */
static bool must_escape(const char *at, size_t len, unsigned *code)
{
    const unsigned char *p = (const unsigned char *)at;
    if (len == 2 && p[0] == 0xc2 && p[1] < 0xa0)
        *code = p[1];
    else if (len == 3 && p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9))
        *code = 0x2000u | (p[2] & 0x3fu);
    else
        return false;
    return true;
}

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void cd_json_escape(struct cd_buf *out, struct cd_str s)
{
    for (size_t at = 0; at < s.len;) {
        size_t plain = at;
        while (plain < s.len && is_plain(s.ptr[plain]))
            plain++;
        cd_buf_add(out, s.ptr + at, plain - at);
        at = plain;
        if (at == s.len)
            return;
        size_t len = cd_utf8_len(cd_str_sub(s, at, SIZE_MAX));
        unsigned code;
        if (len == 0)
            cd_buf_add_str(out, CD_STR("\xef\xbf\xbd"));
        else if (len == 1)
            quote_ascii(out, s.ptr[at]);
        else if (must_escape(s.ptr + at, len, &code))
            cd_buf_addf(out, "\\u%04x", code);
        else
            cd_buf_add(out, s.ptr + at, len);
        at += len == 0 ? 1 : len;
    }
}

void cd_json_quote(struct cd_buf *out, struct cd_str s)
{
    cd_buf_add_byte(out, '"');
    cd_json_escape(out, s);
    cd_buf_add_byte(out, '"');
}
