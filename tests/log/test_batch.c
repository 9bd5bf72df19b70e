#include "fixture.h"

#include "log/bytes.h"
#include "store/names.h"

/* Two segments, an alarm note and a row apart. */
static void build(struct cd_buf *to, uint64_t batch)
{
    struct log_row *row[] = {row_of("Room:a", 7, 100), note_of("Room:b", 1790000000000),
                             row_of("Room:c", 1, 1), row_of("Room:a", 8, 50)};
    row[2]->kind = LOG_ROW_APART;
    row[2]->length = 9 << 20;
    memset(row[2]->id, 0xab, sizeof row[2]->id);
    memset(row[2]->sha256, 0xcd, sizeof row[2]->sha256);
    row[3]->alarm = (struct log_alarm){.inst_seq = 12};
    struct log_batch_out out;
    uint8_t digest[LOG_SHA256_SIZE];
    log_batch_begin(&out, to, CD_STR(SESSION), batch, 0, 0);
    for (size_t i = 0; i < CD_COUNT(row); i++)
        log_batch_add(&out, row[i]);
    log_batch_end(&out, digest);
    for (size_t i = 0; i < CD_COUNT(row); i++)
        log_row_free(row[i]);
}

static void test_a_batch_reads_as_it_was_written(void **state)
{
    (void)state;
    struct cd_buf bytes = {0}, why = {0};
    struct log_batch b;
    struct log_entry e;
    build(&bytes, 42);
    assert_true(bytes.len <= log_batch_overhead(4) + 150);
    assert_int_equal(log_batch_open(&b, cd_buf_str(&bytes), &why), 0);
    assert_int_equal(b.batch, 42);
    assert_int_equal(b.rows, 4);
    assert_str_is(b.session, SESSION);
    struct cd_str rest = b.table;
    assert_true(log_batch_next(&b, &rest, &e));
    assert_str_is(e.cell, "Room:a");
    assert_int_equal(e.min_txid, 7);
    assert_int_equal(e.epoch, 3);
    assert_int_equal(e.ltx.len, 100);
    assert_true(e.ltx.ptr[0] == '7' && e.ltx.ptr[99] == '7');
    assert_true(log_batch_next(&b, &rest, &e));
    assert_int_equal(e.kind, LOG_ROW_NOTE);
    assert_true(e.alarm.armed && e.alarm.due_ms == 1790000000000 && e.alarm.inst_seq == 9);
    assert_int_equal(e.ltx.len, 0);
    assert_true(log_batch_next(&b, &rest, &e));
    assert_int_equal(e.kind, LOG_ROW_APART);
    assert_int_equal(e.length, 9 << 20);
    assert_int_equal(e.id[15], 0xab);
    assert_int_equal(e.sha256[31], 0xcd);
    assert_true(log_batch_next(&b, &rest, &e));
    assert_int_equal(e.ltx.len, 50);
    assert_true(!e.alarm.armed && e.alarm.inst_seq == 12);
    assert_false(log_batch_next(&b, &rest, &e));
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

static void test_any_changed_byte_of_a_batch_is_noticed_and_named(void **state)
{
    (void)state;
    struct cd_buf bytes = {0}, why = {0};
    struct log_batch b;
    build(&bytes, 42);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.ptr[i] ^= 0x10;
        cd_buf_clear(&why);
        assert_int_equal(log_batch_open(&b, cd_buf_str(&bytes), &why), CD_ECORRUPT);
        assert_true(why.len > 0);
        bytes.ptr[i] ^= 0x10;
    }
    for (size_t len = 0; len < bytes.len; len++)
        assert_int_equal(log_batch_open(&b, cd_str_of(bytes.ptr, len), NULL), CD_ECORRUPT);
    cd_buf_add_byte(&bytes, 0);
    assert_int_equal(log_batch_open(&b, cd_buf_str(&bytes), NULL), CD_ECORRUPT);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

/* Sets a byte of the table and makes all checksums right again: what only the checks of the table can see. */
static int open_with(const struct cd_buf *good, size_t at_table, uint8_t byte)
{
    struct cd_buf bytes = {0};
    struct log_batch b;
    cd_buf_add_str(&bytes, cd_buf_str(good));
    size_t table = cd_get_u64(bytes.ptr + 32), end = bytes.len - 44;
    bytes.ptr[table + at_table] = (char)byte;
    log_sha256(cd_str_of(bytes.ptr, end), (struct cd_str){0}, (uint8_t *)bytes.ptr + end);
    int rc = log_batch_open(&b, cd_buf_str(&bytes), NULL);
    cd_buf_deinit(&bytes);
    return rc;
}

static void test_a_row_table_that_does_not_fit_its_batch_is_refused(void **state)
{
    (void)state;
    struct cd_buf bytes = {0};
    build(&bytes, 42);
    /* The first entry: length of the name 0, name 2, epoch 8, min 16, max 24, kind 32, alarm 33, due 34,
     * sequence 42, offset 50, length 58. */
    assert_int_equal(open_with(&bytes, 8, 4), 0); /* Another epoch is no contradiction. */
    assert_int_equal(open_with(&bytes, 0, 7), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 2, '/'), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 16, 8), CD_ECORRUPT); /* min above max */
    assert_int_equal(open_with(&bytes, 32, 0), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 32, 3), CD_ECORRUPT); /* A note with txids. */
    assert_int_equal(open_with(&bytes, 32, 4), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 33, 2), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 34, 1), CD_ECORRUPT); /* Due, but not armed. */
    assert_int_equal(open_with(&bytes, 50, 0), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 58, 101), CD_ECORRUPT);
    assert_int_equal(open_with(&bytes, 65, 0x80), CD_ECORRUPT);
    cd_buf_deinit(&bytes);
}

static void test_scopes_and_sessions_are_checked(void **state)
{
    (void)state;
    assert_true(store_scope_valid(CD_STR("Room:a_B-9.$")));
    assert_false(store_scope_valid(CD_STR("")));
    assert_false(store_scope_valid(CD_STR("..")));
    assert_false(store_scope_valid(CD_STR("a/b")));
    assert_false(store_scope_valid(cd_str_of("a\0b", 3)));
    assert_true(store_session_valid(CD_STR(SESSION)));
    assert_false(store_session_valid(CD_STR("node_a/0123")));
    assert_false(store_session_valid(cd_str_sub(CD_STR(SESSION), 6, SIZE_MAX)));
    assert_false(
        store_session_valid(CD_STR("node/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeF")));
}

CD_TESTS(batch, cmocka_unit_test(test_a_batch_reads_as_it_was_written),
         cmocka_unit_test(test_any_changed_byte_of_a_batch_is_noticed_and_named),
         cmocka_unit_test(test_a_row_table_that_does_not_fit_its_batch_is_refused),
         cmocka_unit_test(test_scopes_and_sessions_are_checked))
