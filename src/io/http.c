/* io/http.c: what the HTTP groups of both backends share: which requests may be sent, and their text taken
 * apart. Nothing that goes into a request line or a header may add a line of its own, or break out of its
 * place. */
#include "io/backend.h"

#define METHOD_BYTES_MAX 32

/* Letters and digits, and of the punctuation what RFC 9110 5.6.2 allows. */
static bool is_tchar(char c)
{
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

bool io_http_is_token(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!is_tchar(s.ptr[i]))
            return false;
    }
    return s.len > 0;
}

bool io_http_is_value(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

int io_http_line_next(struct cd_str *head, struct cd_str *name, struct cd_str *value)
{
    size_t end = cd_str_find_str(*head, CD_STR("\r\n"), 0);
    struct cd_str line = cd_str_sub(*head, 0, end);
    size_t colon = cd_str_find(line, ':', 0);
    if (end == SIZE_MAX || colon == SIZE_MAX)
        return CD_EINVAL;
    *name = cd_str_sub(line, 0, colon);
    *value = cd_str_sub(line, colon + 1, SIZE_MAX);
    if (!io_http_is_token(*name) || !io_http_is_value(*value))
        return CD_EINVAL;
    *value = cd_str_trim(*value);
    *head = cd_str_sub(*head, end + 2, SIZE_MAX);
    return 0;
}

int io_http_url_split(struct cd_str url, struct io_http_url *out)
{
    for (size_t i = 0; i < url.len; i++) {
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f)
            return CD_EINVAL;
    }
    out->tls = cd_str_eq_nocase(cd_str_sub(url, 0, 8), CD_STR("https://"));
    if (!out->tls && !cd_str_eq_nocase(cd_str_sub(url, 0, 7), CD_STR("http://")))
        return CD_EINVAL;
    struct cd_str rest = cd_str_sub(url, out->tls ? 8 : 7, SIZE_MAX);
    size_t end = 0;
    while (end < rest.len && strchr("/?#", rest.ptr[end]) == NULL)
        end++;
    out->authority = cd_str_sub(rest, 0, end);
    out->rest = cd_str_sub(rest, end, SIZE_MAX);
    bool has_user = cd_str_find(out->authority, '@', 0) != SIZE_MAX;
    return out->authority.len == 0 || has_user ? CD_EINVAL : 0;
}

int io_http_ask_check(const struct io_http_ask *ask)
{
    struct cd_str head = ask->head, name, value;
    struct io_http_url url;
    if (!io_http_is_token(ask->method) || ask->method.len > METHOD_BYTES_MAX ||
        cd_str_eq(ask->method, CD_STR("CONNECT")))
        return CD_EINVAL;
    if (ask->body_len != IO_HTTP_CHUNKED && ask->body_len > INT64_MAX)
        return CD_EINVAL;
    while (head.len > 0) {
        int rc = io_http_line_next(&head, &name, &value);
        if (rc != 0)
            return rc;
    }
    return io_http_url_split(ask->url, &url);
}
