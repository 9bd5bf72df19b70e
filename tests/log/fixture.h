/* tests/log/fixture.h: rows and names for the tests of src/log. */
#ifndef TESTS_LOG_FIXTURE_H
#define TESTS_LOG_FIXTURE_H

#include "log/slot.h"
#include "support/test.h"

#define SESSION "node_a/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "node_b/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A row of one transaction whose segment is bytes times the last digit of its txid. */
static inline struct log_row *row_of(const char *scope, uint64_t txid, size_t bytes)
{
    struct log_row *r = log_row_new(cd_str(scope), 3);
    r->min_txid = r->max_txid = txid;
    for (size_t i = 0; i < bytes; i++)
        cd_buf_add_byte(&r->ltx, (char)('0' + txid % 10));
    return r;
}

static inline struct log_row *note_of(const char *scope, int64_t due_ms)
{
    struct log_row *r = log_row_new(cd_str(scope), 3);
    r->kind = LOG_ROW_NOTE;
    r->alarm = (struct log_alarm){.armed = true, .due_ms = due_ms, .inst_seq = 9};
    return r;
}

#endif
