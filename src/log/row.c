#include "log/row.h"

#include "store/names.h"

struct log_row *log_row_new(struct cd_str scope, uint64_t epoch)
{
    CD_ASSERT(store_scope_valid(scope));
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

void log_rows_free(struct cd_list *rows)
{
    struct cd_link *k;
    while ((k = cd_list_pop(rows)) != NULL)
        log_row_free(CD_CONTAINER(k, struct log_row, link));
}
