/* js/fields.c: header fields between JavaScript and HTTP. */
#include "js/fields.h"

int js_head_text(struct js_args *a, js_value v, const char *where, struct cd_buf *out)
{
    if (js_kind(v) != JS_STRING)
        return js_throw_error(a->js, JS_TYPE_ERROR, "Invalid header value.");
    if (js_string_len(v) <=
        JS_FIELDS_BYTES_MAX) /* Units: no more than bytes. What is larger is not copied. */
        js_string_add(a->js, v, out);
    if (js_string_len(v) > JS_FIELDS_BYTES_MAX || out->len > JS_FIELDS_BYTES_MAX)
        return js_throw_error(a->js, JS_TYPE_ERROR, "The headers of %s take more than %u bytes.", where,
                              JS_FIELDS_BYTES_MAX);
    return 0;
}

int js_fields_read(struct js_args *a, unsigned index, const char *where, struct js_fields *out)
{
    js_value list = js_arg(a, index);
    unsigned count = js_is(list, JS_IS_ARRAY) ? js_array_len(list) : 0;
    if (count > 2 * JS_FIELDS_MAX)
        return js_throw_error(a->js, JS_TYPE_ERROR, "More than %d header fields in %s.", JS_FIELDS_MAX,
                              where);
    size_t ends[2 * JS_FIELDS_MAX], at = 0;
    for (unsigned i = 0; i < count; i++) {
        struct js_scope scope;
        js_value v;
        js_scope_open(a->js, &scope);
        int rc = js_get_index(a->js, list, i, &v);
        if (rc == 0)
            rc = js_head_text(a, v, where, &out->text);
        js_scope_close(&scope);
        if (rc != 0)
            return rc;
        ends[i] = out->text.len;
    }
    for (unsigned i = 0; i + 1 < count; i += 2) {
        out->field[i / 2].name = cd_str_of(out->text.ptr + at, ends[i] - at);
        out->field[i / 2].value = cd_str_of(out->text.ptr + ends[i], ends[i + 1] - ends[i]);
        at = ends[i + 1];
    }
    out->count = count / 2;
    return 0;
}

int js_fields_add(struct js_isolate *js, js_value list, uint32_t *at, struct cd_str name, struct cd_str value)
{
    js_value n, v;
    struct js_scope scope;
    js_scope_open(js, &scope);
    int rc = js_string_latin1(js, name, &n); /* ASCII, as who read it made sure of. */
    if (rc == 0)
        rc = js_string(js, value, &v);
    if (rc == 0)
        rc = js_set_index(js, list, *at, n);
    if (rc == 0)
        rc = js_set_index(js, list, *at + 1, v);
    js_scope_close(&scope);
    *at += 2;
    return rc;
}
