/* http/head.c: writes heads and chunk framing. */
#include "http/head.h"

/* The longest number we write: 20 digits, or 16 hex digits. */
#define NUMBER_MAX 20

static void add_u64(struct cd_buf *out, uint64_t v)
{
    char digits[NUMBER_MAX];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    cd_buf_add(out, digits + at, sizeof digits - at);
}

static void add_field(struct cd_buf *out, struct cd_str name, struct cd_str value)
{
    char *at = cd_buf_reserve(out, name.len + value.len + 4);
    memcpy(at, name.ptr, name.len);
    at += name.len;
    *at++ = ':';
    *at++ = ' ';
    if (value.len > 0)
        memcpy(at, value.ptr, value.len);
    at += value.len;
    *at++ = '\r';
    *at++ = '\n';
    out->len += name.len + value.len + 4;
}

/* Fields that speak about this connection or the framing: ours to write. */
static bool is_ours(struct cd_str name)
{
    switch (name.len) {
    case 2: return cd_str_eq_nocase(name, CD_STR("te"));
    case 7: return cd_str_eq_nocase(name, CD_STR("upgrade")) || cd_str_eq_nocase(name, CD_STR("trailer"));
    case 10:
        return cd_str_eq_nocase(name, CD_STR("connection")) || cd_str_eq_nocase(name, CD_STR("keep-alive"));
    case 16: return cd_str_eq_nocase(name, CD_STR("proxy-connection"));
    case 17: return cd_str_eq_nocase(name, CD_STR("transfer-encoding"));
    }
    return false;
}

static bool is_content_length(struct cd_str name)
{
    return name.len == 14 && cd_str_eq_nocase(name, CD_STR("content-length"));
}

static bool fields_ok(const struct http_field *field, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!http_is_token(field[i].name) || !http_is_value(field[i].value))
            return false;
    }
    return true;
}

static enum http_framing framing_of(const struct http_answer *answer, const struct http_answer_to *to)
{
    if (http_status_bodyless(answer->status))
        return HTTP_FRAMING_NONE;
    if (answer->body_len != HTTP_LEN_CHUNKED)
        return HTTP_FRAMING_LENGTH;
    return to->minor == 0 ? HTTP_FRAMING_CLOSE : HTTP_FRAMING_CHUNKED;
}

/* The author's fields. On HEAD a Content-Length may stay: nobody else knows the length. */
static void add_answer_fields(struct cd_buf *out, const struct http_answer *answer,
                              const struct http_answer_to *to, enum http_framing framing)
{
    bool length_stays = to->is_head && framing != HTTP_FRAMING_NONE && framing != HTTP_FRAMING_LENGTH;
    bool has_length = false, has_date = false;
    for (size_t i = 0; i < answer->field_count; i++) {
        const struct http_field *f = &answer->field[i];
        uint64_t length;
        if (is_ours(f->name))
            continue;
        if (is_content_length(f->name)) {
            if (!length_stays || has_length || cd_str_u64(f->value, &length) != 0)
                continue;
            has_length = true;
        }
        has_date = has_date || (f->name.len == 4 && cd_str_eq_nocase(f->name, CD_STR("date")));
        add_field(out, f->name, f->value);
    }
    if (!has_date && to->date.len > 0)
        add_field(out, CD_STR("Date"), to->date);
    if (framing == HTTP_FRAMING_LENGTH) {
        cd_buf_add_str(out, CD_STR("Content-Length: "));
        add_u64(out, answer->body_len);
        cd_buf_add_str(out, CD_STR("\r\n"));
    } else if (framing == HTTP_FRAMING_CHUNKED && !has_length) {
        cd_buf_add_str(out, CD_STR("Transfer-Encoding: chunked\r\n"));
    }
}

int http_head_answer(struct cd_buf *out, const struct http_answer *answer, const struct http_answer_to *to,
                     enum http_framing *framing, bool *keep_alive)
{
    bool switching = answer->status == 101 && to->upgrade.len > 0;
    if (!switching && (answer->status < 200 || answer->status > 599))
        return CD_EINVAL;
    if (!fields_ok(answer->field, answer->field_count) || !http_is_value(answer->reason))
        return CD_EINVAL;
    enum http_framing how = framing_of(answer, to);
    bool keep = to->keep_alive && !answer->close && how != HTTP_FRAMING_CLOSE;
    struct cd_str reason = answer->reason.len > 0 ? answer->reason : http_status_text(answer->status);
    cd_buf_add_str(out, CD_STR("HTTP/1.1 "));
    add_u64(out, (uint64_t)answer->status);
    cd_buf_add_byte(out, ' ');
    cd_buf_add_str(out, reason);
    cd_buf_add_str(out, CD_STR("\r\n"));
    add_answer_fields(out, answer, to, how);
    if (switching) {
        cd_buf_add_str(out, CD_STR("Connection: Upgrade\r\n"));
        add_field(out, CD_STR("Upgrade"), to->upgrade);
    } else if (!keep) {
        cd_buf_add_str(out, CD_STR("Connection: close\r\n"));
    } else if (to->minor == 0) {
        cd_buf_add_str(out, CD_STR("Connection: keep-alive\r\n"));
    }
    cd_buf_add_str(out, CD_STR("\r\n"));
    *framing = to->is_head ? HTTP_FRAMING_NONE : how;
    *keep_alive = keep;
    return 0;
}

static bool target_ok(struct cd_str target)
{
    for (size_t i = 0; i < target.len; i++) {
        unsigned char c = (unsigned char)target.ptr[i];
        if (c <= 0x20 || c >= 0x7f)
            return false;
    }
    return target.len > 0 && (target.ptr[0] == '/' || cd_str_eq(target, CD_STR("*")));
}

int http_head_request(struct cd_buf *out, const struct http_ask *ask)
{
    if (!http_is_token(ask->method) || !target_ok(ask->target) || !http_is_value(ask->authority) ||
        !http_is_value(ask->upgrade) || !fields_ok(ask->field, ask->field_count))
        return CD_EINVAL;
    cd_buf_add_str(out, ask->method);
    cd_buf_add_byte(out, ' ');
    cd_buf_add_str(out, ask->target);
    cd_buf_add_str(out, CD_STR(" HTTP/1.1\r\n"));
    add_field(out, CD_STR("Host"), ask->authority);
    for (size_t i = 0; i < ask->field_count; i++) {
        const struct http_field *f = &ask->field[i];
        if (is_ours(f->name) || is_content_length(f->name) || cd_str_eq_nocase(f->name, CD_STR("host")) ||
            cd_str_eq_nocase(f->name, CD_STR("expect")))
            continue;
        add_field(out, f->name, f->value);
    }
    if (ask->body_len == HTTP_LEN_CHUNKED) {
        cd_buf_add_str(out, CD_STR("Transfer-Encoding: chunked\r\n"));
    } else if (ask->body_len > 0 || cd_str_eq(ask->method, CD_STR("POST")) ||
               cd_str_eq(ask->method, CD_STR("PUT")) || cd_str_eq(ask->method, CD_STR("PATCH"))) {
        cd_buf_add_str(out, CD_STR("Content-Length: "));
        add_u64(out, ask->body_len);
        cd_buf_add_str(out, CD_STR("\r\n"));
    }
    if (ask->upgrade.len > 0) {
        cd_buf_add_str(out, CD_STR("Connection: Upgrade\r\n"));
        add_field(out, CD_STR("Upgrade"), ask->upgrade);
    } else if (ask->close) {
        cd_buf_add_str(out, CD_STR("Connection: close\r\n"));
    }
    cd_buf_add_str(out, CD_STR("\r\n"));
    return 0;
}

void http_chunk_head(struct cd_buf *out, uint64_t len)
{
    CD_ASSERT(len > 0); /* An empty chunk is the end of the body. */
    char digits[NUMBER_MAX];
    size_t at = sizeof digits;
    for (; len > 0; len >>= 4)
        digits[--at] = "0123456789abcdef"[len & 15];
    cd_buf_add(out, digits + at, sizeof digits - at);
    cd_buf_add_str(out, CD_STR("\r\n"));
}
