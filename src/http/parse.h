/* http/parse.h: bytes in, message parts out, for requests and responses, over llhttp.
 *
 * A parser does no I/O. The caller feeds what it has and is told one thing at a time; what is not consumed
 * stays in the caller's hands, so body data can wait there until somebody wants it. No lenient mode exists:
 * what RFC 9112 calls an error, or what two parsers could read in two ways, ends the message. */
#ifndef HTTP_PARSE_H
#define HTTP_PARSE_H

#include <llhttp.h>

#include "base/buf.h"
#include "http/http.h"
#include "http/target.h"

struct http_limits {
    size_t head_max; /* Bytes of the start line and all fields; trailers have the same again. */
    size_t target_max; /* Bytes of the request target. */
    unsigned fields_max; /* Fields of a head, and of trailers. */
    uint64_t body_max; /* Bytes of the body, decoded. */
};

/* A complete head. Strings are the parser's, valid until the next http_parser_start or _deinit. */
struct http_head {
    struct cd_str method, target; /* Requests. */
    struct http_target where; /* Requests: target, taken apart. */
    struct cd_str
        authority; /* Requests: the value of Host as it came; empty when there was none (HTTP/1.0). */
    int status; /* Responses. */
    struct cd_str reason; /* Responses; may be empty. */
    const struct http_field *field;
    size_t field_count;
    uint64_t body_len; /* 0: none follows; HTTP_LEN_CHUNKED: not known before its end. */
    int minor; /* HTTP/1.minor */
    bool keep_alive; /* The sender would keep the connection for another message. */
    bool upgrade; /* Requests: asks to switch protocols. Responses: 101. */
    bool expect_continue; /* Requests: "Expect: 100-continue". */
    bool is_head, is_get; /* Requests: the method is HEAD, GET. */
};

enum http_parsed {
    HTTP_PARSED_MORE, /* All of in is consumed. */
    HTTP_PARSED_HEAD, /* p->head is complete; in starts with the first byte behind it. */
    HTTP_PARSED_BODY, /* body is the next piece of the body, a part of what was fed. */
    HTTP_PARSED_END, /* The message is complete; in starts with what follows. Next: http_parser_start. */
    HTTP_PARSED_BAD, /* The message is broken: p->bad_status and p->bad_why. Nothing more can be read. */
};

struct http_parser {
    llhttp_t ll;
    const struct http_limits *limits; /* Borrowed. */
    struct http_head head;
    struct cd_str body; /* Piece that the running call found. */
    struct cd_buf text; /* owned: target, reason, names and values of the head, one behind the other. */
    struct http_field *field; /* owned */
    struct http_parse_slot *slot; /* owned: where in text the fields are, while text still moves. */
    unsigned fields, fields_cap, trailers;
    size_t head_used; /* Bytes of the head so far. */
    size_t trailer_used;
    size_t extension_used; /* Of the current chunk. */
    size_t framing_used; /* Bytes since the last one of the body. */
    uint64_t body_used;
    uint32_t start_len; /* Of target or reason, the first thing in text. */
    uint8_t phase;
    uint8_t protocol_at; /* Bytes of "HTTP" seen. */
    uint8_t hosts; /* Host fields, up to 2. */
    uint8_t codings; /* Transfer-Encoding fields, up to 2. */
    bool in_field, begun, ended, coding_chunked, expect_other;
    int bad_status; /* What a server answers: 400, 413, 414, 417, 431, 501, 505. */
    const char *bad_why; /* For people. Static text. */
};

/* A zeroed parser is valid. start may be called again for the next message, keeping the memory. */
enum http_parse_kind { HTTP_PARSE_REQUEST, HTTP_PARSE_RESPONSE, HTTP_PARSE_RESPONSE_TO_HEAD };
void http_parser_start(struct http_parser *p, enum http_parse_kind kind, const struct http_limits *limits);
void http_parser_deinit(struct http_parser *p);

/* Consumes from the front of in until there is something to tell. An empty in is fine: the end of a message
 * may be known without further bytes. body is set for HTTP_PARSED_BODY only. */
enum http_parsed http_parse(struct http_parser *p, struct cd_str *in, struct cd_str *body);

/* The peer has finished sending. END when that completes the message (a response without a length), else BAD.
 */
enum http_parsed http_parse_eof(struct http_parser *p);

/* Whether a byte of the message has been seen. */
bool http_parser_begun(const struct http_parser *p);
/* Whether the next http_parse returns END, whatever it is fed. */
bool http_parser_ended(const struct http_parser *p);

#endif
