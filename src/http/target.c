/* http/target.c: request targets and authorities. */
#include "http/target.h"

static bool target_chars_ok(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= 0x20 || c >= 0x7f || c == '#')
            return false;
    }
    return true;
}

static struct cd_str cut_prefix_nocase(struct cd_str s, struct cd_str prefix)
{
    if (!cd_str_eq_nocase(cd_str_sub(s, 0, prefix.len), prefix))
        return (struct cd_str){NULL, 0};
    return cd_str_sub(s, prefix.len, SIZE_MAX);
}

int http_target_parse(struct cd_str text, struct http_target *out)
{
    struct http_target t = {.form = HTTP_TARGET_ORIGIN};
    if (text.len == 0 || !target_chars_ok(text))
        return CD_ESYNTAX;
    struct cd_str rest = text;
    if (cd_str_eq(text, CD_STR("*"))) {
        out->form = HTTP_TARGET_ASTERISK;
        out->authority = out->query = (struct cd_str){NULL, 0};
        out->path = text;
        return 0;
    }
    if (text.ptr[0] != '/') {
        t.form = HTTP_TARGET_ABSOLUTE;
        rest = cut_prefix_nocase(text, CD_STR("http://"));
        if (rest.ptr == NULL)
            rest = cut_prefix_nocase(text, CD_STR("https://"));
        if (rest.ptr == NULL)
            return CD_ESYNTAX;
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?')
            end++;
        t.authority = cd_str_sub(rest, 0, end);
        rest = cd_str_sub(rest, end, SIZE_MAX);
        struct http_authority ignored;
        if (http_authority_parse(t.authority, &ignored) != 0)
            return CD_ESYNTAX;
    }
    size_t mark = cd_str_find(rest, '?', 0);
    t.path = cd_str_sub(rest, 0, mark);
    if (mark != SIZE_MAX)
        t.query = cd_str_sub(rest, mark + 1, SIZE_MAX);
    if (t.path.len == 0)
        t.path = CD_STR("/");
    *out = t;
    return 0;
}

static int port_parse(struct cd_str text, uint16_t *out)
{
    uint64_t port = 0;
    if (text.len == 0 || text.len > 5 || cd_str_u64(text, &port) != 0 || port == 0 || port > 65535)
        return CD_ESYNTAX;
    *out = (uint16_t)port;
    return 0;
}

/* Whether s may stand between brackets: hex digits, colons and, for an embedded IPv4, dots. */
static bool is_ipv6_text(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (!hex && c != ':' && c != '.')
            return false;
    }
    return s.len >= 2;
}

static bool is_reg_name(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c <= 0x20 || c >= 0x7f || strchr("/?#@[]:\\\"<>^`{|}", c) != NULL)
            return false;
    }
    return s.len > 0;
}

int http_authority_parse(struct cd_str text, struct http_authority *out)
{
    struct http_authority a = {.port = 0};
    struct cd_str port = {NULL, 0};
    if (text.len > 0 && text.ptr[0] == '[') {
        size_t close = cd_str_find(text, ']', 0);
        if (close == SIZE_MAX || !is_ipv6_text(cd_str_sub(text, 1, close - 1)))
            return CD_ESYNTAX;
        a.host = cd_str_sub(text, 0, close + 1);
        port = cd_str_sub(text, close + 1, SIZE_MAX);
        if (port.len > 0 && port.ptr[0] != ':')
            return CD_ESYNTAX;
    } else {
        size_t colon = cd_str_find(text, ':', 0);
        a.host = cd_str_sub(text, 0, colon);
        if (!is_reg_name(a.host))
            return CD_ESYNTAX;
        port = colon == SIZE_MAX ? (struct cd_str){NULL, 0} : cd_str_sub(text, colon, SIZE_MAX);
    }
    if (port.len > 0 && port_parse(cd_str_sub(port, 1, SIZE_MAX), &a.port) != 0)
        return CD_ESYNTAX;
    *out = a;
    return 0;
}

bool http_authority_same(const struct http_authority *a, const struct http_authority *b)
{
    const uint16_t http_port = 80;
    uint16_t port_a = a->port == 0 ? http_port : a->port;
    uint16_t port_b = b->port == 0 ? http_port : b->port;
    return port_a == port_b && cd_str_eq_nocase(a->host, b->host);
}
