/* sim/cells_call.c: a POST and its answer. */
#include "sim/cells_call.h"

#include <stdio.h>

#include "sim/cells_life.h"

#define ANSWER_MAX (16u << 20)

/* IO_EOF: the whole answer is there. */
static int read_all(struct cells_ask *a, struct http_call *h)
{
    for (;;) {
        struct io_read r = {0};
        http_call_read(h, &r, NULL);
        int rc = io_await(&r.op, a->deadline_ns);
        if (rc != 0)
            return rc;
        if (a->text.len + r.len > ANSWER_MAX)
            return IO_TOOBIG;
        cd_buf_add(&a->text, r.buf, r.len);
    }
}

static enum cells_outcome judge(struct cells_ask *a, struct http_call *h)
{
    a->status = h->head->status;
    if (a->status == 503)
        return CELLS_REFUSED;
    if (read_all(a, h) != IO_EOF || a->status != 200) {
        CD_MARK("cells.answer_cut_or_error");
        return CELLS_UNKNOWN;
    }
    return CELLS_ANSWERED;
}

void cells_ask(struct cells_ask *a)
{
    struct http_call h = {0};
    struct io_op op = {0};
    struct io_addr to = {.port = CELLS_PORT};
    char target[40];
    (void)snprintf(to.host, sizeof to.host, "n%u", a->node);
    (void)snprintf(target, sizeof target, "/%s/%u", a->class, a->cell);
    struct http_ask ask = {.method = CD_STR("POST"),
                           .target = cd_str(target),
                           .authority = CD_STR("fleet.example"),
                           .body_len = a->message.len};
    cd_buf_clear(&a->text);
    a->status = 0;
    http_call_start(&h, a->pool, &to, &ask, a->message, &op, NULL);
    int rc = io_await(&op, a->deadline_ns);
    if (rc == 0)
        a->outcome = judge(a, &h);
    else if (h.fate == HTTP_UNSENT)
        a->outcome = CELLS_REFUSED;
    else
        a->outcome = CELLS_UNKNOWN;
    http_call_close(&h);
}
