#include "log/row.h"

struct log_row *log_row_new(struct cd_str scope, uint64_t epoch)
{
    CD_ASSERT(log_scope_valid(scope));
    struct log_row *r = cd_new(struct log_row);
    r->scope = cd_str_dup(scope);
    r->epoch = epoch;
    r->kind = LOG_ROW_BYTES;
    return r;
}

void log_row_free(struct log_row *r)
{
    CD_ASSERT(!cd_link_linked(&r->link));
    cd_free(r->scope);
    cd_buf_deinit(&r->ltx);
    cd_free(r);
}

static bool name_valid(struct cd_str s, size_t max, const char *also)
{
    if (s.len == 0 || s.len > max || cd_str_eq(s, CD_STR(".")) || cd_str_eq(s, CD_STR("..")))
        return false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && (c == 0 || strchr(also, c) == NULL))
            return false;
    }
    return true;
}

bool log_scope_valid(struct cd_str scope)
{
    return name_valid(scope, LOG_SCOPE_MAX, "_.:$-");
}

bool log_session_valid(struct cd_str session)
{
    size_t slash = cd_str_find(session, '/', 0);
    if (slash == SIZE_MAX || session.len - slash - 1 != 64)
        return false;
    for (size_t i = slash + 1; i < session.len; i++) {
        char c = session.ptr[i];
        if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
            return false;
    }
    return name_valid(cd_str_sub(session, 0, slash), 128, "_.-");
}
