/* io_sim/http_text.c: checks and takes apart what is asked for: no value may add a line of its own to a
 * request. */
#include "io_sim/http.h"

static bool is_token(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool all_tokens(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_token(s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

static int lines_parse(struct cd_buf *out, struct cd_str head)
{
    while (head.len > 0) {
        size_t end = cd_str_find_str(head, CD_STR("\r\n"), 0);
        if (end == SIZE_MAX)
            return CD_EINVAL;
        struct cd_str line = cd_str_sub(head, 0, end);
        size_t colon = cd_str_find(line, ':', 0);
        if (colon == SIZE_MAX || !all_tokens(cd_str_sub(line, 0, colon)))
            return CD_EINVAL;
        for (size_t i = colon; i < line.len; i++) {
            unsigned char c = (unsigned char)line.ptr[i];
            if ((c < 0x20 && c != '\t') || c == 0x7f)
                return CD_EINVAL;
        }
        cd_buf_add_str(out, cd_str_sub(line, 0, colon));
        cd_buf_add_str(out, CD_STR(": "));
        cd_buf_add_str(out, cd_str_trim(cd_str_sub(line, colon + 1, SIZE_MAX)));
        cd_buf_add_str(out, CD_STR("\r\n"));
        head = cd_str_sub(head, end + 2, SIZE_MAX);
    }
    return 0;
}

/* host, host:port, [v6], [v6]:port; names and passwords are refused. */
static int host_parse(struct sim_http *x, struct cd_str authority)
{
    size_t close = cd_str_find(authority, ']', 0);
    size_t colon = cd_str_find(authority, ':', close == SIZE_MAX ? 0 : close);
    struct cd_str host = cd_str_sub(authority, 0, colon);
    if (cd_str_find(authority, '@', 0) != SIZE_MAX || host.len == 0 || host.len >= IO_HOST_MAX)
        return CD_EINVAL;
    if (colon != SIZE_MAX) {
        uint64_t port;
        if (cd_str_u64(cd_str_sub(authority, colon + 1, SIZE_MAX), &port) != 0 || port == 0 || port > 65535)
            return CD_EINVAL;
        x->port = (uint16_t)port;
    }
    if (host.ptr[0] == '[')
        host = cd_str_sub(host, 1, host.len - 2);
    cd_buf_add_str(&x->host, host);
    return 0;
}

static int url_parse(struct sim_http *x, struct cd_str url)
{
    struct cd_str rest;
    for (size_t i = 0; i < url.len; i++) {
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7f)
            return CD_EINVAL;
    }
    if (cd_str_eq_nocase(cd_str_sub(url, 0, 7), CD_STR("http://"))) {
        rest = cd_str_sub(url, 7, SIZE_MAX);
        x->port = 80;
    } else if (cd_str_eq_nocase(cd_str_sub(url, 0, 8), CD_STR("https://"))) {
        rest = cd_str_sub(url, 8, SIZE_MAX);
        x->port = 443;
    } else {
        return CD_EINVAL;
    }
    size_t end = 0;
    while (end < rest.len && strchr("/?#", rest.ptr[end]) == NULL)
        end++;
    struct cd_str target = cd_str_sub(rest, end, SIZE_MAX);
    target = cd_str_sub(target, 0, cd_str_find(target, '#', 0));
    if (target.len == 0 || target.ptr[0] != '/')
        cd_buf_add_byte(&x->target, '/');
    cd_buf_add_str(&x->target, target);
    return host_parse(x, cd_str_sub(rest, 0, end));
}

int sim_http_ask_parse(struct sim_http *x, const struct io_http_ask *ask)
{
    if (!all_tokens(ask->method) || ask->method.len > 32 || cd_str_eq(ask->method, CD_STR("CONNECT")))
        return CD_EINVAL;
    if (ask->body_len != IO_HTTP_CHUNKED && ask->body_len > INT64_MAX)
        return CD_EINVAL;
    cd_buf_add_str(&x->method, ask->method);
    x->body_len = x->body_left = ask->body_len;
    x->out_ended = ask->body_len == IO_HTTP_NO_BODY;
    int rc = lines_parse(&x->lines, ask->head);
    return rc != 0 ? rc : url_parse(x, ask->url);
}
