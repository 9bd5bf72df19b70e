#include "store/reconcile.h"

enum store_fate store_fate_of(const struct store_write *w, int status, struct cd_str body, const char *token)
{
    CD_ASSERT(status == IO_OK || status == IO_NOENT);
    if (status == IO_OK && cd_str_eq(body, w->body))
        return STORE_FATE_OURS;
    switch (w->how) {
    case IO_PUT_ANY: return STORE_FATE_OPEN; /* Without a guard it may land on top of anything. */
    case IO_PUT_IF_ABSENT: return status == IO_OK ? STORE_FATE_OTHERS : STORE_FATE_OPEN;
    case IO_PUT_IF_MATCH:
        return status == IO_OK && strcmp(token, w->guard) == 0 ? STORE_FATE_OPEN : STORE_FATE_OTHERS;
    }
    CD_UNREACHABLE();
}

int store_read_back(struct io_store *s, struct io *io, struct io_bucket *b, const struct store_write *w,
                    const struct store_policy *p, enum store_fate *fate)
{
    int status = store_retry_get(s, io, b, w->key, 0, IO_WHOLE, p);
    if (status != IO_OK && status != IO_NOENT)
        return status;
    if (status == IO_NOENT)
        s->token[0] = 0;
    *fate = store_fate_of(w, status, cd_buf_str(&s->body), s->token);
    return IO_OK;
}
