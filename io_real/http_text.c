/* io_real/http_text.c: see http.h. Everything that goes into a request line or a header is checked here, so
 * that no value can add a line of its own. */
#include "base/buf.h"
#include "io_real/http.h"

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

static bool value_good(struct cd_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static void line_add(struct curl_slist **out, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*out, line);
    CD_ASSERT(longer != NULL);
    *out = longer;
}

static int line_copy(struct curl_slist **out, struct cd_str line, bool *has_accept)
{
    size_t colon = cd_str_find(line, ':', 0);
    if (colon == SIZE_MAX)
        return CD_EINVAL;
    struct cd_str name = cd_str_sub(line, 0, colon),
                  value = cd_str_trim(cd_str_sub(line, colon + 1, SIZE_MAX));
    if (!all_tokens(name) || !value_good(value))
        return CD_EINVAL;
    if (cd_str_eq_nocase(name, CD_STR("accept")))
        *has_accept = true;
    struct cd_buf text = {0};
    cd_buf_add_str(&text, name);
    /* "Name:" would take the line away, "Name;" sends it empty. */
    cd_buf_add_str(&text, value.len == 0 ? CD_STR(";") : CD_STR(": "));
    cd_buf_add_str(&text, value);
    line_add(out, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
    return 0;
}

int real_http_lines(struct curl_slist **out, struct cd_str head)
{
    bool has_accept = false;
    while (head.len > 0) {
        size_t end = cd_str_find_str(head, CD_STR("\r\n"), 0);
        if (end == SIZE_MAX)
            return CD_EINVAL;
        int rc = line_copy(out, cd_str_sub(head, 0, end), &has_accept);
        if (rc != 0)
            return rc;
        head = cd_str_sub(head, end + 2, SIZE_MAX);
    }
    if (!has_accept)
        line_add(out, "Accept:");
    line_add(out, "Expect:"); /* Bodies are streamed anyway; waiting for a 100 only costs a second. */
    return 0;
}

bool real_http_method_good(struct cd_str method)
{
    return all_tokens(method) && method.len <= 32 && !cd_str_eq(method, CD_STR("CONNECT"));
}

bool real_http_method_safe(struct cd_str method)
{
    return cd_str_eq(method, CD_STR("GET")) || cd_str_eq(method, CD_STR("HEAD")) ||
           cd_str_eq(method, CD_STR("OPTIONS")) || cd_str_eq(method, CD_STR("TRACE"));
}

bool real_http_url_good(struct cd_str url)
{
    struct cd_str rest = url;
    if (cd_str_eq_nocase(cd_str_sub(url, 0, 7), CD_STR("http://")))
        rest = cd_str_sub(url, 7, SIZE_MAX);
    else if (cd_str_eq_nocase(cd_str_sub(url, 0, 8), CD_STR("https://")))
        rest = cd_str_sub(url, 8, SIZE_MAX);
    else
        return false;
    for (size_t i = 0; i < rest.len; i++) {
        if ((unsigned char)rest.ptr[i] <= 0x20 || rest.ptr[i] == 0x7f)
            return false;
    }
    return rest.len > 0 && rest.ptr[0] != '/';
}

int real_http_status_of(struct cd_str line)
{
    size_t space = cd_str_find(line, ' ', 0);
    uint64_t status = 0;
    if (space == SIZE_MAX || cd_str_u64(cd_str_sub(line, space + 1, 3), &status) != 0)
        return 0;
    return (int)status;
}
