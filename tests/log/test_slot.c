#include "fixture.h"

#include "log/bytes.h"

static struct log_slot_head head_of(enum log_slot_kind kind, uint64_t first, uint64_t last)
{
    struct log_slot_head h = {
        .kind = kind, .slot = 5, .first_batch = first, .last_batch = last, .pipeline = 4};
    memset(h.id, 0x77, sizeof h.id);
    return h;
}

/* Slot 5 with the batches 10 to 12. */
static void build(struct cd_buf *to)
{
    struct log_slot_head h = head_of(LOG_SLOT_BATCHES, 10, 12);
    struct log_slot_out out;
    log_slot_begin(&out, to, CD_STR(SESSION), &h);
    for (uint64_t batch = 10; batch <= 12; batch++) {
        struct log_batch_out b;
        uint8_t digest[LOG_SHA256_SIZE];
        struct log_row *row = row_of("Room:a", batch, 10 * batch);
        log_batch_begin(&b, to, CD_STR(SESSION), batch, 0, 0);
        log_batch_add(&b, row);
        log_batch_end(&b, digest);
        assert_int_equal(to->ptr[row->offset], '0' + (int)batch % 10);
        log_row_free(row);
        log_slot_batch(&out, digest);
    }
    log_slot_end(&out);
}

static void test_a_slot_reads_as_it_was_written(void **state)
{
    (void)state;
    struct cd_buf bytes = {0}, why = {0};
    struct log_slot s;
    build(&bytes);
    assert_int_equal(log_slot_open(&s, cd_buf_str(&bytes), CD_STR(SESSION), 5, &why), 0);
    assert_int_equal(log_slot_batches(&s), 3);
    assert_int_equal(s.head.pipeline, 4);
    assert_int_equal(s.head.id[15], 0x77);
    for (size_t i = 0; i < 3; i++) {
        struct log_batch b;
        assert_int_equal(log_slot_batch_open(&s, i, &b, &why), 0);
        assert_int_equal(b.batch, 10 + i);
    }
    log_slot_deinit(&s);
    struct log_slot_head h;
    assert_int_equal(log_slot_head_read(&h, cd_str_of(bytes.ptr, LOG_SLOT_HEAD_SIZE), NULL), 0);
    assert_int_equal(h.last_batch, 12);
    assert_int_equal(log_slot_head_read(&h, cd_str_of(bytes.ptr, LOG_SLOT_HEAD_SIZE - 1), NULL), CD_ECORRUPT);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

static void test_a_slot_under_another_key_is_refused(void **state)
{
    (void)state;
    struct cd_buf bytes = {0}, why = {0};
    struct log_slot s;
    build(&bytes);
    assert_int_equal(log_slot_open(&s, cd_buf_str(&bytes), CD_STR(SESSION), 6, &why), CD_ECORRUPT);
    assert_true(cd_str_find_str(cd_buf_str(&why), CD_STR("slot 6"), 0) != SIZE_MAX);
    assert_int_equal(log_slot_open(&s, cd_buf_str(&bytes), CD_STR(OTHER), 5, NULL), CD_ECORRUPT);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

static void test_any_changed_byte_of_a_slot_is_noticed(void **state)
{
    (void)state;
    struct cd_buf bytes = {0};
    build(&bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        struct log_slot s;
        struct log_batch b;
        bytes.ptr[i] ^= 0x10;
        int rc = log_slot_open(&s, cd_buf_str(&bytes), CD_STR(SESSION), 5, NULL);
        for (size_t k = 0; rc == 0 && k < log_slot_batches(&s); k++)
            rc = log_slot_batch_open(&s, k, &b, NULL);
        assert_int_equal(rc, CD_ECORRUPT);
        bytes.ptr[i] ^= 0x10;
    }
    for (size_t len = 0; len < bytes.len; len++) {
        struct log_slot s;
        assert_int_equal(log_slot_open(&s, cd_str_of(bytes.ptr, len), CD_STR(SESSION), 5, NULL), CD_ECORRUPT);
    }
    cd_buf_deinit(&bytes);
}

static void test_a_seal_says_who_wrote_it(void **state)
{
    (void)state;
    struct cd_buf bytes = {0}, why = {0};
    struct log_slot s;
    struct log_slot_head h = head_of(LOG_SLOT_SEAL, 13, 12);
    log_slot_seal(&bytes, CD_STR(SESSION), &h,
                  &(struct log_seal_text){CD_STR(OTHER), 1790000000000, 1790000000001});
    assert_int_equal(log_slot_open(&s, cd_buf_str(&bytes), CD_STR(SESSION), 5, &why), 0);
    assert_int_equal(s.head.kind, LOG_SLOT_SEAL);
    assert_int_equal(s.head.last_batch, 12);
    assert_int_equal(log_slot_batches(&s), 0);
    assert_str_is(s.seal.recoverer, OTHER);
    assert_int_equal(s.seal.created_ms, 1790000000001);
    log_slot_deinit(&s);
    for (size_t i = 0; i < bytes.len; i++) {
        bytes.ptr[i] ^= 0x10;
        assert_int_equal(log_slot_open(&s, cd_buf_str(&bytes), CD_STR(SESSION), 5, NULL), CD_ECORRUPT);
        bytes.ptr[i] ^= 0x10;
    }
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

static void test_keys_are_those_of_the_table_and_only_slots_parse_as_slots(void **state)
{
    (void)state;
    struct cd_buf key = {0};
    uint64_t slot = 0;
    static const uint8_t id[LOG_ID_SIZE] = {1, 2, 0xff};
    log_slot_key(&key, CD_STR(SESSION), 0x1f);
    assert_str_is(cd_buf_str(&key), "log/" SESSION "/000000000000001f");
    assert_true(log_slot_key_parse(cd_buf_str(&key), CD_STR(SESSION), &slot));
    assert_int_equal(slot, 0x1f);
    assert_false(log_slot_key_parse(cd_buf_str(&key), CD_STR(OTHER), &slot));
    assert_false(log_slot_key_parse(CD_STR("log/" SESSION "/floor.json"), CD_STR(SESSION), &slot));
    assert_false(log_slot_key_parse(CD_STR("log/" SESSION "/000000000000001F"), CD_STR(SESSION), &slot));
    assert_false(log_slot_key_parse(CD_STR("log/" SESSION "/0000000000000000"), CD_STR(SESSION), &slot));
    assert_false(log_slot_key_parse(CD_STR("log"), CD_STR(SESSION), &slot));
    cd_buf_clear(&key);
    log_apart_key(&key, CD_STR(SESSION), id);
    assert_str_is(cd_buf_str(&key), "log/" SESSION "/rows/0102ff00000000000000000000000000");
    cd_buf_deinit(&key);
}

/* Objects that another program made from the tables of fleet.md 2.10; the fuzz targets start from them too.
 */
static void test_objects_that_follow_the_tables_are_read(void **state)
{
    (void)state;
    static const char *const name[] = {"log_batch/three-kinds", "log_batch/of-an-ensemble",
                                       "log_slot/one-batch",    "log_slot/two-batches",
                                       "log_slot/seal",         "log_slot/not-its-batch"};
    static const int want[] = {0, 0, 0, 0, 0, CD_ECORRUPT};
    static const char session[] = "a/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    for (size_t i = 0; i < CD_COUNT(name); i++) {
        struct cd_buf path = {0}, why = {0};
        static char bytes[4096];
        cd_buf_addf(&path, "%s/fuzz/corpus/%s", CD_TESTS_DIR, name[i]);
        FILE *f = fopen(cd_buf_cstr(&path), "rb");
        assert_non_null(f);
        struct cd_str all = cd_str_of(bytes, fread(bytes, 1, sizeof bytes, f));
        fclose(f);
        struct log_batch b;
        struct log_slot s;
        struct log_slot_head h;
        int rc = 0;
        if (cd_str_starts(cd_str(name[i]), CD_STR("log_batch"))) {
            rc = log_batch_open(&b, all, &why);
        } else {
            assert_int_equal(log_slot_head_read(&h, all, &why), 0);
            assert_int_equal(log_slot_open(&s, all, cd_str(session), h.slot, &why), 0);
            for (size_t k = 0; rc == 0 && k < log_slot_batches(&s); k++)
                rc = log_slot_batch_open(&s, k, &b, &why);
            log_slot_deinit(&s);
        }
        assert_int_equal(rc, want[i]);
        cd_buf_deinit(&path);
        cd_buf_deinit(&why);
    }
}

CD_TESTS(slot, cmocka_unit_test(test_a_slot_reads_as_it_was_written),
         cmocka_unit_test(test_a_slot_under_another_key_is_refused),
         cmocka_unit_test(test_any_changed_byte_of_a_slot_is_noticed),
         cmocka_unit_test(test_a_seal_says_who_wrote_it),
         cmocka_unit_test(test_objects_that_follow_the_tables_are_read),
         cmocka_unit_test(test_keys_are_those_of_the_table_and_only_slots_parse_as_slots))
