/* fuzz/fuzz_log_batch.c: whatever opens as a batch can be walked, and its rows written again give the same
 * bytes: there is one form for each batch. */
#include "fuzz/fuzz.h"

#include "log/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cd_buf why = {0}, again = {0};
    struct log_batch b;
    if (log_batch_open(&b, cd_str_of(data, size), &why) != 0) {
        CD_ASSERT(why.len > 0); /* A refusal says why. */
        cd_buf_deinit(&why);
        return 0;
    }
    struct log_batch_out out;
    struct log_entry e;
    struct cd_str rest = b.table;
    uint8_t digest[LOG_SHA256_SIZE];
    uint32_t rows = 0;
    log_batch_begin(&out, &again, b.session, b.batch, b.log_epoch, b.first_batch);
    for (; log_batch_next(&b, &rest, &e); rows++) {
        struct log_row *row = log_row_new(e.cell, e.epoch);
        row->min_txid = e.min_txid;
        row->max_txid = e.max_txid;
        row->kind = e.kind;
        row->alarm = e.alarm;
        row->length = e.length;
        memcpy(row->id, e.id, sizeof row->id);
        memcpy(row->sha256, e.sha256, sizeof row->sha256);
        cd_buf_add_str(&row->ltx, e.ltx);
        log_batch_add(&out, row);
        log_row_free(row);
    }
    log_batch_end(&out, digest);
    CD_ASSERT(rows == b.rows && cd_str_eq(cd_buf_str(&again), b.bytes));
    CD_ASSERT(memcmp(digest, b.digest, sizeof digest) == 0);
    cd_buf_deinit(&again);
    return 0;
}
