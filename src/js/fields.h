/* js/fields.h: header fields between JavaScript and HTTP. runtime.md 5.1.
 *
 * A value is text in JavaScript and UTF-8 on the wire, in both directions: bytes that are none become U+FFFD.
 */
#ifndef JS_FIELDS_H
#define JS_FIELDS_H

#include "http/http.h"
#include "js/value.h"

#define JS_FIELDS_MAX 1024
#define JS_FIELDS_BYTES_MAX (128u << 10) /* Names and values of one head, as on Cloudflare. */

struct js_fields { /* Large: js_fields_init writes what is used. */
    struct http_field field[JS_FIELDS_MAX]; /* Borrowed from text. */
    size_t count;
    struct cd_buf text; /* owned */
};

static inline void js_fields_init(struct js_fields *f)
{
    f->count = 0;
    f->text = (struct cd_buf){0};
}
static inline void js_fields_deinit(struct js_fields *f)
{
    cd_buf_deinit(&f->text);
}
/* Appends a string, or throws: with what is in out it may take JS_FIELDS_BYTES_MAX. where: "a response". */
CD_MUST_USE int js_head_text(struct js_args *a, js_value v, const char *where, struct cd_buf *out);
/* The argument [name, value, ...]; what is no list has no fields. Throws when they are too many or too large.
 */
CD_MUST_USE int js_fields_read(struct js_args *a, unsigned index, const char *where, struct js_fields *out);
/* Appends name and value to a list that has `at` elements. */
CD_MUST_USE int js_fields_add(struct js_isolate *js, js_value list, uint32_t *at, struct cd_str name,
                              struct cd_str value);

#endif
