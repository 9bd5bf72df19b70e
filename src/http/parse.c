/* http/parse.c: HTTP/1.1 messages over llhttp.
 *
 * llhttp decides what is well-formed. What it leaves open is decided here: limits, one Host, versions 1.0
 * and 1.1 only, no transfer coding but chunked, the forms of a target. llhttp runs until a callback pauses
 * it: at the end of the head, of each chunk and of the message, so that one call finds at most one piece of
 * the body. */
#include "http/parse.h"

#define FIELDS_CAP_FIRST 16

enum phase { PHASE_HEAD, PHASE_BODY, PHASE_END, PHASE_BAD };

struct http_parse_slot {
    uint32_t name_at, name_len, value_at, value_len;
};

static struct http_parser *parser_of(llhttp_t *ll)
{
    return CD_CONTAINER(ll, struct http_parser, ll);
}

/* For callbacks: says why and stops llhttp. */
static int refuse(struct http_parser *p, int status, const char *why)
{
    p->bad_status = status;
    p->bad_why = why;
    return HPE_USER;
}

static const char *too_large(const struct http_parser *p)
{
    return p->ll.type == HTTP_REQUEST ? "request body too large" : "response body too large";
}

static int on_message_begin(llhttp_t *ll)
{
    parser_of(ll)->begun = true;
    return 0;
}

/* llhttp also reads RTSP and ICE. */
static int on_protocol(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    static const char want[] = "HTTP";
    for (size_t i = 0; i < len; i++) {
        if (p->protocol_at >= sizeof want - 1 || at[i] != want[p->protocol_at++])
            return refuse(p, 400, "unknown protocol");
    }
    return 0;
}

static int on_url(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    cd_buf_add(&p->text, at, len);
    p->start_len += (uint32_t)len;
    return 0;
}

/* Limits are looked at when a part is complete: then a part that is both too long and malformed is the
 * latter, however its bytes were cut. Until then head_max bounds it. */
static int on_url_complete(llhttp_t *ll)
{
    struct http_parser *p = parser_of(ll);
    return p->start_len > p->limits->target_max ? refuse(p, 414, "request target too long") : 0;
}

static int on_status(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    cd_buf_add(&p->text, at, len);
    p->start_len += (uint32_t)len;
    return 0;
}

/* Trailers are counted and dropped. The fields of the head are in use until the message is over, so nothing
 * of a trailer may touch them. */
static int trailer_count(struct http_parser *p, size_t len)
{
    p->trailer_used += len;
    return p->trailer_used > p->limits->head_max ? refuse(p, 400, "trailers too large") : 0;
}

static void fields_grow(struct http_parser *p)
{
    unsigned cap = p->fields_cap == 0 ? FIELDS_CAP_FIRST : p->fields_cap * 2;
    p->field = cd_realloc(p->field, cap * sizeof *p->field);
    p->slot = cd_realloc(p->slot, cap * sizeof *p->slot);
    p->fields_cap = cap;
}

static int on_header_field(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    if (p->phase == PHASE_BODY) {
        p->trailers += !p->in_field;
        p->in_field = true;
        return trailer_count(p, len);
    }
    if (!p->in_field) {
        p->in_field = true;
        if (p->fields == p->fields_cap)
            fields_grow(p);
        p->slot[p->fields++] = (struct http_parse_slot){.name_at = (uint32_t)p->text.len};
    }
    p->slot[p->fields - 1].name_len += (uint32_t)len;
    cd_buf_add(&p->text, at, len);
    return 0;
}

static int on_header_value(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    if (p->phase == PHASE_BODY)
        return trailer_count(p, len);
    struct http_parse_slot *slot = &p->slot[p->fields - 1];
    if (slot->value_len == 0)
        slot->value_at = (uint32_t)p->text.len;
    slot->value_len += (uint32_t)len;
    cd_buf_add(&p->text, at, len);
    return 0;
}

/* The fields that decide about framing, noticed as they pass. */
static void field_notice(struct http_parser *p, struct cd_str name, struct cd_str value)
{
    if (name.len == 4 && cd_str_eq_nocase(name, CD_STR("host"))) {
        if (p->hosts < 2)
            p->hosts++;
    } else if (name.len == 6 && cd_str_eq_nocase(name, CD_STR("expect"))) {
        if (cd_str_eq_nocase(value, CD_STR("100-continue")))
            p->head.expect_continue = true;
        else
            p->expect_other = true;
    } else if (name.len == 17 && cd_str_eq_nocase(name, CD_STR("transfer-encoding"))) {
        p->coding_chunked = cd_str_eq_nocase(value, CD_STR("chunked"));
        if (p->codings < 2)
            p->codings++;
    }
}

static int on_header_value_complete(llhttp_t *ll)
{
    struct http_parser *p = parser_of(ll);
    p->in_field = false;
    if (p->phase == PHASE_BODY)
        return p->trailers > p->limits->fields_max ? refuse(p, 400, "too many trailers") : 0;
    if (p->fields > p->limits->fields_max)
        return refuse(p, 431, "too many header fields");
    struct http_parse_slot *slot = &p->slot[p->fields - 1];
    const char *value = slot->value_len == 0 ? "" : p->text.ptr + slot->value_at;
    while (slot->value_len > 0 && (value[slot->value_len - 1] == ' ' || value[slot->value_len - 1] == '\t'))
        slot->value_len--; /* llhttp leaves the outer spaces at the end. */
    field_notice(p, cd_str_of(p->text.ptr + slot->name_at, slot->name_len),
                 cd_str_of(value, slot->value_len));
    return 0;
}

static int on_headers_complete(llhttp_t *ll)
{
    struct http_parser *p = parser_of(ll);
    p->ended = false;
    if (p->head.is_head)
        ll->flags |= F_SKIPBODY; /* An answer to HEAD. A request never is: see http_parser_start. */
    return HPE_PAUSED;
}

static int on_body(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    CD_ASSERT(p->body.len == 0); /* Each chunk ends in a pause. */
    p->body = cd_str_of(at, len);
    p->body_used += len;
    return 0;
}

static int on_chunk_extension(llhttp_t *ll, const char *at, size_t len)
{
    struct http_parser *p = parser_of(ll);
    (void)at;
    p->extension_used += len;
    return p->extension_used > HTTP_CHUNK_EXTENSION_MAX ? refuse(p, 400, "chunk extension too long") : 0;
}

static int on_chunk_extension_complete(llhttp_t *ll)
{
    return on_chunk_extension(ll, NULL, 1); /* The separator is work too. */
}

static int on_chunk_header(llhttp_t *ll)
{
    struct http_parser *p = parser_of(ll);
    p->extension_used = 0;
    if (ll->content_length > p->limits->body_max - p->body_used)
        return refuse(p, 413, too_large(p));
    return 0;
}

static int on_chunk_complete(llhttp_t *ll)
{
    (void)ll;
    return HPE_PAUSED;
}

static int on_message_complete(llhttp_t *ll)
{
    parser_of(ll)->ended = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_protocol = on_protocol,
    .on_url = on_url,
    .on_url_complete = on_url_complete,
    .on_status = on_status,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_chunk_extension_name_complete = on_chunk_extension_complete,
    .on_chunk_extension_value_complete = on_chunk_extension_complete,
    .on_chunk_header = on_chunk_header,
    .on_chunk_complete = on_chunk_complete,
    .on_message_complete = on_message_complete,
};

void http_parser_start(struct http_parser *p, enum http_parse_kind kind, const struct http_limits *limits)
{
    CD_ASSERT(limits->fields_max <= HTTP_FIELDS_MAX && limits->head_max <= UINT32_MAX / 4);
    struct cd_buf text = p->text;
    struct http_field *field = p->field;
    struct http_parse_slot *slot = p->slot;
    unsigned fields_cap = p->fields_cap;
    *p = (struct http_parser){
        .limits = limits, .text = text, .field = field, .slot = slot, .fields_cap = fields_cap};
    cd_buf_clear(&p->text);
    llhttp_init(&p->ll, kind == HTTP_PARSE_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE, &settings);
    p->head.is_head = kind == HTTP_PARSE_RESPONSE_TO_HEAD;
}

void http_parser_deinit(struct http_parser *p)
{
    cd_buf_deinit(&p->text);
    cd_free(p->field);
    cd_free(p->slot);
    *p = (struct http_parser){0};
}

bool http_parser_begun(const struct http_parser *p)
{
    return p->begun;
}

bool http_parser_ended(const struct http_parser *p)
{
    return p->phase == PHASE_BODY && (p->ended || p->head.body_len == 0);
}

static enum http_parsed bad(struct http_parser *p, int status, const char *why)
{
    if (p->phase != PHASE_BAD && p->bad_status == 0) {
        p->bad_status = status;
        p->bad_why = why;
    }
    p->phase = PHASE_BAD;
    return HTTP_PARSED_BAD;
}

/* text no longer moves: offsets become pointers. */
static void head_settle(struct http_parser *p)
{
    struct http_head *h = &p->head;
    const char *text = p->text.ptr;
    for (unsigned i = 0; i < p->fields; i++) {
        const struct http_parse_slot *s = &p->slot[i];
        p->field[i] =
            (struct http_field){cd_str_of(text + s->name_at, s->name_len),
                                cd_str_of(s->value_len == 0 ? "" : text + s->value_at, s->value_len)};
    }
    h->field = p->field;
    h->field_count = p->fields;
    h->minor = p->ll.http_minor;
    h->keep_alive = llhttp_should_keep_alive(&p->ll) != 0 && (p->ll.flags & F_CONNECTION_CLOSE) == 0;
    h->upgrade = p->ll.upgrade != 0;
}

static enum http_parsed request_target_check(struct http_parser *p)
{
    struct http_head *h = &p->head;
    if (p->ll.method == HTTP_CONNECT)
        return bad(p, 501, "CONNECT is not supported");
    if (http_target_parse(h->target, &h->where) != 0)
        return bad(p, 400, "malformed request target");
    if (h->where.form == HTTP_TARGET_ASTERISK && p->ll.method != HTTP_OPTIONS)
        return bad(p, 400, "malformed request target");
    if (p->hosts > 1 || (p->hosts == 0 && h->minor > 0))
        return bad(p, 400, "want one Host field");
    if (p->hosts == 1)
        h->authority = http_field_value(h->field, h->field_count, CD_STR("host"));
    struct http_authority target, host;
    if (h->authority.len > 0 && http_authority_parse(h->authority, &host) != 0)
        return bad(p, 400, "malformed Host");
    if (h->where.form == HTTP_TARGET_ABSOLUTE && p->hosts == 1) {
        if (http_authority_parse(h->where.authority, &target) != 0 || h->authority.len == 0 ||
            !http_authority_same(&target, &host))
            return bad(p, 400, "Host differs from the request target");
    }
    return HTTP_PARSED_HEAD;
}

/* The one coding we read is chunked, alone; HTTP/1.0 has none at all (RFC 9112 6.1). */
static enum http_parsed coding_check(struct http_parser *p)
{
    if (p->codings == 0)
        return HTTP_PARSED_HEAD;
    if (p->head.minor == 0)
        return bad(p, 400, "Transfer-Encoding in HTTP/1.0");
    if (p->codings > 1)
        return bad(p, 400, "several Transfer-Encoding fields");
    if (!p->coding_chunked)
        return (p->ll.flags & F_CHUNKED) != 0 ? bad(p, 501, "unsupported transfer coding")
                                              : bad(p, 400, "transfer coding does not end in chunked");
    /* llhttp does not take "chunked\t" for chunked and would read the body as the next message. */
    if ((p->ll.flags & F_CHUNKED) == 0)
        return bad(p, 400, "malformed Transfer-Encoding");
    return HTTP_PARSED_HEAD;
}

static enum http_parsed request_check(struct http_parser *p)
{
    struct http_head *h = &p->head;
    h->method = cd_str(llhttp_method_name((llhttp_method_t)p->ll.method));
    h->target = cd_str_of(p->text.ptr, p->start_len);
    h->is_head = p->ll.method == HTTP_HEAD;
    h->is_get = p->ll.method == HTTP_GET;
    if (request_target_check(p) == HTTP_PARSED_BAD || coding_check(p) == HTTP_PARSED_BAD)
        return HTTP_PARSED_BAD;
    if (p->expect_other)
        return bad(p, 417, "unknown expectation");
    if (h->minor == 0)
        h->expect_continue = false; /* RFC 9110 10.1.1: ignored in HTTP/1.0. */
    h->body_len = (p->ll.flags & F_CHUNKED) != 0 ? HTTP_LEN_CHUNKED : p->ll.content_length;
    if (h->body_len == 0)
        h->expect_continue = false;
    return HTTP_PARSED_HEAD;
}

static enum http_parsed response_check(struct http_parser *p)
{
    struct http_head *h = &p->head;
    h->status = p->ll.status_code;
    h->reason = cd_str_of(p->start_len == 0 ? "" : p->text.ptr, p->start_len);
    if (coding_check(p) == HTTP_PARSED_BAD)
        return HTTP_PARSED_BAD;
    if (h->is_head || http_status_bodyless(h->status))
        h->body_len = 0;
    else if ((p->ll.flags & F_CONTENT_LENGTH) != 0)
        h->body_len = p->ll.content_length;
    else
        h->body_len = HTTP_LEN_CHUNKED; /* Or up to the end of the connection. */
    return HTTP_PARSED_HEAD;
}

static enum http_parsed head_check(struct http_parser *p)
{
    head_settle(p);
    if (p->ll.http_major != 1 || p->protocol_at != 4)
        return bad(p, 505, "HTTP version not supported");
    enum http_parsed found = p->ll.type == HTTP_REQUEST ? request_check(p) : response_check(p);
    if (found == HTTP_PARSED_BAD)
        return found;
    if ((p->ll.flags & F_CONTENT_LENGTH) != 0 && p->head.body_len != 0 &&
        (p->ll.content_length > p->limits->body_max || p->ll.content_length == HTTP_LEN_CHUNKED))
        return bad(p, 413, too_large(p));
    p->phase = PHASE_BODY;
    return HTTP_PARSED_HEAD;
}

/* Bytes that are no body bring nobody forward, and no other limit counts them: a chunk size may have zeros in
 * front for ever. Trailers are the longest thing that is wanted. */
static bool framing_ok(struct http_parser *p, const char *at, size_t len)
{
    size_t before = p->body.len > 0 ? (size_t)(p->body.ptr - at) : len;
    if (p->framing_used + before > p->limits->head_max + 2 * HTTP_CHUNK_EXTENSION_MAX)
        return false;
    p->framing_used = p->body.len > 0 ? len - before - p->body.len : p->framing_used + len;
    return true;
}

/* Runs llhttp over the front of in and takes off what it consumed. */
static llhttp_errno_t execute(struct http_parser *p, struct cd_str *in)
{
    size_t len = in->len, head_room = p->limits->head_max - p->head_used;
    if (p->phase == PHASE_HEAD && len > head_room)
        len = head_room;
    const char *at = in->ptr == NULL ? "" : in->ptr;
    if (p->ll.error == HPE_PAUSED)
        llhttp_resume(&p->ll);
    llhttp_errno_t err = llhttp_execute(&p->ll, at, len);
    if (err == HPE_PAUSED)
        len = (size_t)(llhttp_get_error_pos(&p->ll) - at);
    if (err != HPE_OK && err != HPE_PAUSED)
        return err;
    if (p->phase == PHASE_HEAD) {
        p->head_used += len;
    } else if (!framing_ok(p, at, len)) {
        llhttp_set_error_reason(&p->ll, "chunk framing too long");
        p->body = (struct cd_str){NULL, 0};
        return HPE_USER;
    }
    *in = cd_str_sub(*in, len, SIZE_MAX);
    return err;
}

enum http_parsed http_parse(struct http_parser *p, struct cd_str *in, struct cd_str *body)
{
    CD_ASSERT(p->limits != NULL && p->phase != PHASE_END);
    if (p->phase == PHASE_BAD)
        return HTTP_PARSED_BAD;
    for (;;) {
        if (http_parser_ended(p)) {
            p->phase = PHASE_END;
            return HTTP_PARSED_END;
        }
        p->body = (struct cd_str){NULL, 0};
        llhttp_errno_t err = execute(p, in);
        if (err == HPE_PAUSED_H2_UPGRADE)
            return bad(p, 505, "HTTP version not supported");
        if (err != HPE_OK && err != HPE_PAUSED) {
            (void)bad(p, 400, llhttp_get_error_reason(&p->ll));
            if (p->body.len == 0)
                return HTTP_PARSED_BAD;
            *body = p->body; /* What came before the error counts, as if it had come alone. */
            return HTTP_PARSED_BODY;
        }
        if (p->phase == PHASE_HEAD) {
            if (err == HPE_PAUSED)
                return head_check(p);
            if (p->head_used == p->limits->head_max)
                return p->fields == 0 && p->ll.type == HTTP_REQUEST ? bad(p, 414, "request target too long")
                                                                    : bad(p, 431, "request head too large");
            return HTTP_PARSED_MORE;
        }
        if (p->body_used > p->limits->body_max)
            return bad(p, 413, too_large(p));
        if (p->body.len > 0) {
            *body = p->body;
            return HTTP_PARSED_BODY;
        }
        if (err == HPE_OK)
            return HTTP_PARSED_MORE;
    }
}

enum http_parsed http_parse_eof(struct http_parser *p)
{
    if (p->phase == PHASE_BODY && !http_parser_ended(p)) {
        if (p->ll.error == HPE_PAUSED)
            llhttp_resume(&p->ll);
        (void)llhttp_finish(&p->ll); /* Calls on_message_complete when the message may end here. */
    }
    if (http_parser_ended(p)) {
        p->phase = PHASE_END;
        return HTTP_PARSED_END;
    }
    return bad(p, 400, "connection ended inside a message");
}
