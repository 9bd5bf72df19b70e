/* http/head.h: writes heads of answers and requests, and the framing of bodies. Pure functions that append to
 * a buffer.
 *
 * Framing is decided here and nowhere else: fields of the caller that would say something about it are left
 * out, so what is announced is what is sent. A name or value that could break out of its line is refused. */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "base/buf.h"
#include "http/http.h"

/* How the end of a body is marked. */
enum http_framing {
    HTTP_FRAMING_NONE, /* No body is sent. */
    HTTP_FRAMING_LENGTH, /* Exactly body_len bytes. */
    HTTP_FRAMING_CHUNKED, /* Chunks, then an empty one. */
    HTTP_FRAMING_CLOSE, /* Up to the end of the connection: HTTP/1.0 and no length. */
};

/* An answer as its author sees it. All borrowed. */
struct http_answer {
    int status; /* 200..599, or 101 with protocol set. */
    struct cd_str reason; /* Empty: the registered text. */
    const struct http_field *field;
    size_t field_count;
    uint64_t body_len; /* Or HTTP_LEN_CHUNKED. Ignored where the status or HEAD allows no body. */
    bool close; /* Do not keep the connection. */
};

/* What the request and the connection make of it. */
struct http_answer_to {
    int minor; /* Of the request: HTTP/1.minor. */
    bool is_head; /* Answers HEAD: a head as for GET, no body. */
    bool keep_alive; /* The connection may stay; answer.close still wins. */
    struct cd_str date; /* "Wed, 19 Aug ... GMT"; left out when the author gave a Date. */
    struct cd_str upgrade; /* With 101: the protocol switched to. */
};

/* Appends the whole head with its empty line. CD_EINVAL, with nothing appended, for a status out of range and
 * for names and values that cannot be sent. Not passed on: Connection, Keep-Alive, Proxy-Connection,
 * Transfer-Encoding, Upgrade, Trailer, TE, and Content-Length, except on HEAD when the author gave body_len
 * HTTP_LEN_CHUNKED. */
CD_MUST_USE int http_head_answer(struct cd_buf *out, const struct http_answer *answer,
                                 const struct http_answer_to *to, enum http_framing *framing,
                                 bool *keep_alive);

/* A request as its author sees it. All borrowed. */
struct http_ask {
    struct cd_str method; /* A token; as written. */
    struct cd_str target; /* Origin form, or "*". */
    struct cd_str authority; /* For Host. */
    const struct http_field *field;
    size_t field_count;
    uint64_t body_len; /* 0: none, HTTP_LEN_CHUNKED: not known. */
    struct cd_str upgrade; /* Not empty: asks to switch to this protocol. */
    bool secure; /* Of a client: over TLS. Not in the head. */
    bool close; /* Say Connection: close. */
};

/* Appends the whole head. CD_EINVAL like http_head_answer; fields Host and Expect are not passed on either.
 */
CD_MUST_USE int http_head_request(struct cd_buf *out, const struct http_ask *ask);

/* "1f\r\n"; len > 0. Behind the bytes follows "\r\n". */
void http_chunk_head(struct cd_buf *out, uint64_t len);
#define HTTP_CHUNK_LAST "0\r\n\r\n"

#endif
