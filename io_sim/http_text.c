/* io_sim/http_text.c: takes apart what is asked for. What may be asked at all is in io/http.c. */
#include "io/backend.h"
#include "io_sim/http.h"

static void lines_copy(struct cd_buf *out, struct cd_str head)
{
    struct cd_str name, value;
    while (head.len > 0) {
        int rc = io_http_line_next(&head, &name, &value);
        CD_ASSERT(rc == 0);
        cd_buf_add_str(out, name);
        cd_buf_add_str(out, CD_STR(": "));
        cd_buf_add_str(out, value);
        cd_buf_add_str(out, CD_STR("\r\n"));
    }
}

/* host, host:port, [v6], [v6]:port */
static int host_parse(struct sim_http *x, struct cd_str authority)
{
    size_t close = cd_str_find(authority, ']', 0);
    size_t colon = cd_str_find(authority, ':', close == SIZE_MAX ? 0 : close);
    struct cd_str host = cd_str_sub(authority, 0, colon);
    if (host.len == 0 || host.len >= IO_HOST_MAX)
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

int sim_http_ask_parse(struct sim_http *x, const struct io_http_ask *ask)
{
    struct io_http_url url;
    int rc = io_http_ask_check(ask);
    if (rc == 0)
        rc = io_http_url_split(ask->url, &url);
    if (rc != 0)
        return rc;
    cd_buf_add_str(&x->method, ask->method);
    x->body_len = x->body_left = ask->body_len;
    x->out_ended = ask->body_len == IO_HTTP_NO_BODY;
    lines_copy(&x->lines, ask->head);
    struct cd_str target = cd_str_sub(url.rest, 0, cd_str_find(url.rest, '#', 0));
    if (target.len == 0 || target.ptr[0] != '/')
        cd_buf_add_byte(&x->target, '/');
    cd_buf_add_str(&x->target, target);
    x->port = url.tls ? 443 : 80;
    return host_parse(x, url.authority);
}
