/* io_real/http_text.c: see http.h. */
#include "io/backend.h"
#include "io_real/http.h"

static void line_add(struct curl_slist **out, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*out, line);
    CD_ASSERT(longer != NULL);
    *out = longer;
}

void real_http_lines(struct curl_slist **out, struct cd_str head)
{
    bool has_accept = false;
    struct cd_str name, value;
    struct cd_buf text = {0};
    while (head.len > 0) {
        int rc = io_http_line_next(&head, &name, &value);
        CD_ASSERT(rc == 0);
        if (cd_str_eq_nocase(name, CD_STR("accept")))
            has_accept = true;
        cd_buf_clear(&text);
        cd_buf_add_str(&text, name);
        /* "Name:" would take the line away, "Name;" sends it empty. */
        cd_buf_add_str(&text, value.len == 0 ? CD_STR(";") : CD_STR(": "));
        cd_buf_add_str(&text, value);
        line_add(out, cd_buf_cstr(&text));
    }
    cd_buf_deinit(&text);
    if (!has_accept)
        line_add(out, "Accept:");
    line_add(out, "Expect:"); /* Bodies are streamed anyway; waiting for a 100 only costs a second. */
}

bool real_http_method_safe(struct cd_str method)
{
    return cd_str_eq(method, CD_STR("GET")) || cd_str_eq(method, CD_STR("HEAD")) ||
           cd_str_eq(method, CD_STR("OPTIONS")) || cd_str_eq(method, CD_STR("TRACE"));
}

int real_http_status_of(struct cd_str line)
{
    size_t space = cd_str_find(line, ' ', 0);
    uint64_t status = 0;
    if (space == SIZE_MAX || cd_str_u64(cd_str_sub(line, space + 1, 3), &status) != 0)
        return 0;
    return (int)status;
}
