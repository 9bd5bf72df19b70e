/* http/http.h: the words that server, client and WebSocket share: header fields, limits, status texts.
 *
 * RFC 9110 (semantics) and RFC 9112 (HTTP/1.1). Pure functions over borrowed text. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/str.h"

/* What one head may hold: runtime.md 2.10, which is more than operations.md 5.1 asks for. Memory for it is
 * taken as it comes and not kept. Larger ones are answered with 431 (414 for the target). */
#define HTTP_HEAD_MAX (128u << 10)
#define HTTP_FIELDS_MAX 1024
#define HTTP_TARGET_MAX (16u << 10)
/* A chunk may carry extensions that nobody uses; more than this is an attack on our time. */
#define HTTP_CHUNK_EXTENSION_MAX 256

#define HTTP_LEN_CHUNKED UINT64_MAX /* As the length of a body: not known before its end. */

struct http_field {
    struct cd_str name,
        value; /* The name as it was sent; compare without case. The value without outer spaces. */
};

/* The first field of that name, or NULL. */
const struct http_field *http_field_find(const struct http_field *field, size_t count, struct cd_str name);
/* Its value, or an empty text with a NULL ptr. */
struct cd_str http_field_value(const struct http_field *field, size_t count, struct cd_str name);

/* Whether a comma-separated list of tokens (Connection, Upgrade) names one, without case. */
bool http_list_has(struct cd_str list, struct cd_str token);

/* 1*tchar: what a field name and a method are made of. */
bool http_is_token(struct cd_str s);
/* What may stand in a field value: no CR, LF, NUL or other control characters but tab; no outer spaces
 * needed. */
bool http_is_value(struct cd_str s);

/* "OK" for 200; the kind of the code, as "Server Error", where no text is registered; "" for 600 and more. */
struct cd_str http_status_text(int status);
/* Whether an answer with this status never has a body: 1xx, 204, 304. */
bool http_status_bodyless(int status);

#endif
