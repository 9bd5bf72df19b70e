/* base/json.h: reading and writing JSON records, over yyjson.
 *
 * Reading is strict (RFC 8259), bounded in size by the caller and in depth here. Of several members with one
 * name the first counts. Writing appends to a buffer. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/buf.h"

#define CD_JSON_DEPTH_MAX 64

struct cd_json_doc; /* Owns the parsed text. */
struct cd_json; /* A value inside a document; valid while the document lives. */

/* CD_ESYNTAX with a readable reason in why (may be NULL), "line 3, column 7: unexpected character". */
CD_MUST_USE int cd_json_parse(struct cd_json_doc **doc, struct cd_str text, struct cd_buf *why);
void cd_json_free(struct cd_json_doc *doc); /* NULL is fine. */
const struct cd_json *cd_json_root(const struct cd_json_doc *doc);

enum cd_json_kind {
    CD_JSON_NULL,
    CD_JSON_BOOL,
    CD_JSON_NUMBER,
    CD_JSON_STRING,
    CD_JSON_ARRAY,
    CD_JSON_OBJECT
};
enum cd_json_kind cd_json_kind(const struct cd_json *v);
/* NULL when v is no object or has no such member; v may be NULL, so lookups chain. */
const struct cd_json *cd_json_get(const struct cd_json *v, const char *key);
size_t cd_json_count(const struct cd_json *v); /* Items of an array, members of an object, else 0. */
/* Walks an array or object in document order: after NULL comes the first, after the last comes NULL. key (may
 * be NULL) is set for members of an object only. */
const struct cd_json *cd_json_next(const struct cd_json *v, const struct cd_json *after, struct cd_str *key);
/* The index-th item or member; NULL behind the end. Each call counts from the front: to walk, use
 * cd_json_next. */
const struct cd_json *cd_json_item(const struct cd_json *v, size_t index);
const struct cd_json *cd_json_member(const struct cd_json *v, size_t index, struct cd_str *key);
/* Typed reads: CD_EINVAL when v is NULL or of another type. Integers are exact, up to 2^53-1 (CD_ETOOBIG). */
CD_MUST_USE int cd_json_str(const struct cd_json *v, struct cd_str *out);
CD_MUST_USE int cd_json_u64(const struct cd_json *v, uint64_t *out);
CD_MUST_USE int cd_json_bool(const struct cd_json *v, bool *out);
/* Appends v as JSON without spaces. Numbers keep their value, members their order, twins too. */
void cd_json_text(struct cd_buf *out, const struct cd_json *v);

/* Writing: the caller says the structure, commas come by themselves. One value stands at the top; a structure
 * that is no JSON is a mistake of the caller's and is asserted about. */
struct cd_json_out {
    struct cd_buf *to;
    unsigned depth;
    bool named; /* A key was written, its value not yet. */
    bool fresh[CD_JSON_DEPTH_MAX + 1]; /* Nothing written yet at this depth. */
    char close[CD_JSON_DEPTH_MAX + 1]; /* The bracket that ends this depth. */
};
void cd_json_out_init(struct cd_json_out *o, struct cd_buf *to);
void cd_json_out_object(struct cd_json_out *o); /* Opens. */
void cd_json_out_array(struct cd_json_out *o);
void cd_json_out_end(struct cd_json_out *o, char bracket); /* Closes with '}' or ']'. */
void cd_json_out_key(struct cd_json_out *o, const char *key);
void cd_json_out_key_str(struct cd_json_out *o, struct cd_str key);
void cd_json_out_str(struct cd_json_out *o, struct cd_str s); /* Invalid UTF-8 becomes U+FFFD. */
void cd_json_out_u64(struct cd_json_out *o, uint64_t v);
void cd_json_out_i64(struct cd_json_out *o, int64_t v);
void cd_json_out_bool(struct cd_json_out *o, bool v);
void cd_json_out_null(struct cd_json_out *o);
void cd_json_out_raw(struct cd_json_out *o, struct cd_str json); /* Ready-made JSON, inserted as it is. */
/* A quoted, escaped JSON string alone. Control characters and line breaks of Unicode are escaped too, so it
 * is one line and safe to show on a terminal. */
void cd_json_quote(struct cd_buf *out, struct cd_str s);
void cd_json_escape(struct cd_buf *out, struct cd_str s); /* What stands between the quotes. */

#endif
