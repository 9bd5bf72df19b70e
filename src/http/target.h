/* http/target.h: request targets and authorities as text. RFC 9112 3.2, operations.md 5.4.
 *
 * Only what framing and routing need; the URL of a request is built by the layer above. */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include "base/str.h"

enum http_target_form {
    HTTP_TARGET_ORIGIN, /* "/path?query" */
    HTTP_TARGET_ABSOLUTE, /* "http://authority/path?query" */
    HTTP_TARGET_ASTERISK, /* "*", for OPTIONS only. */
};

struct http_target {
    enum http_target_form form;
    struct cd_str authority; /* Of an absolute form, else empty. */
    struct cd_str path; /* From the first '/' on, without the query; "/" where an absolute form has none. */
    struct cd_str query; /* Behind the first '?'; NULL ptr when there is no '?'. */
};

/* CD_ESYNTAX for anything else: other schemes, fragments, control characters, user information, bytes above
 * 0x7e. */
CD_MUST_USE int http_target_parse(struct cd_str text, struct http_target *out);

/* host[:port] of a Host field or an absolute form: a name, IPv4, or IPv6 in brackets. host keeps the
 * brackets. Only the shape is checked here (no user information, no spaces, a port of 1..65535); an empty
 * text is CD_ESYNTAX. */
struct http_authority {
    struct cd_str host;
    uint16_t port; /* 0: none given. */
};
CD_MUST_USE int http_authority_parse(struct cd_str text, struct http_authority *out);

/* Whether both name the same place for http: hosts without case, an absent port being 80. */
bool http_authority_same(const struct http_authority *a, const struct http_authority *b);

#endif
