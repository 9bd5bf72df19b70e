/* The oracle of the files workload against hand-written histories: each bad one is caught by the invariant
 * named for it. */
#include "sim/files_truth.h"
#include "support/test.h"

#define NODE 3

struct history {
    struct files_truth t;
    struct cd_buf log;
    struct files_record record[16];
    struct files_found found;
    uint64_t chain;
};

static uint32_t issue(struct history *h, uint64_t seq, size_t len)
{
    uint32_t attempt = files_truth_attempt(&h->t);
    uint64_t chain = files_record_add(&h->log, NODE, seq, attempt, h->chain, len);
    files_truth_issue(&h->t, &(struct files_issued){seq, chain, attempt, (uint32_t)len});
    h->chain = chain;
    return attempt;
}

static void start(struct history *h, unsigned acked, unsigned open)
{
    *h = (struct history){0};
    files_truth_init(&h->t, NODE);
    for (unsigned i = 1; i <= acked; i++)
        files_truth_ack(&h->t, i, issue(h, i, 100 * i));
    for (unsigned i = acked + 1; i <= acked + open; i++)
        issue(h, i, 100);
}

static void read_back(struct history *h, unsigned records)
{
    struct cd_str rest = cd_buf_str(&h->log);
    for (unsigned i = 0; i < records; i++) {
        assert_int_equal(files_record_parse(rest, true, &h->record[i]), 0);
        rest = cd_str_sub(rest, h->record[i].size, SIZE_MAX);
    }
    h->found.record = h->record;
    h->found.records = records;
}

static void end(struct history *h, const char *want)
{
    struct cd_buf why = {0};
    const char *broken = files_truth_check(&h->t, &h->found, &why);
    if (want == NULL ? broken != NULL : broken == NULL || strcmp(broken, want) != 0)
        fail_msg("got %s (%s), want %s", broken == NULL ? "nothing" : broken, cd_buf_cstr(&why),
                 want == NULL ? "nothing" : want);
    assert_true((broken == NULL) == (why.len == 0));
    cd_buf_deinit(&why);
    files_truth_deinit(&h->t);
    cd_buf_deinit(&h->log);
}

static void test_acknowledged_records_with_or_without_open_ones_are_fine(void **state)
{
    (void)state;
    for (unsigned found = 3; found <= 5; found++) {
        struct history h;
        start(&h, 3, 2);
        read_back(&h, found);
        end(&h, NULL);
    }
}

static void test_a_missing_acknowledged_record_is_lost(void **state)
{
    (void)state;
    struct history h;
    start(&h, 3, 0);
    read_back(&h, 2);
    end(&h, "files.acked-lost");
}

static void test_a_record_with_other_bytes_is_torn(void **state)
{
    (void)state;
    struct history h;
    start(&h, 3, 0);
    h.log.ptr[h.log.len - 1] ^= 1;
    struct cd_str last = cd_str_sub(cd_buf_str(&h.log), h.log.len - 340, SIZE_MAX);
    read_back(&h, 2);
    assert_int_equal(files_record_parse(last, true, &h.record[2]), CD_ECORRUPT);
    assert_int_equal(files_record_parse(last, false, &h.record[2]), 0);
    h.found.records = 3;
    end(&h, "files.torn");
}

static void test_a_record_out_of_place_breaks_the_order(void **state)
{
    (void)state;
    struct history h;
    start(&h, 3, 0);
    read_back(&h, 3);
    h.record[1] = h.record[2];
    end(&h, "files.order");
}

static void test_an_older_attempt_of_an_acknowledged_record_breaks_the_order(void **state)
{
    (void)state;
    struct history h;
    start(&h, 1, 1); /* Record 2 was on its way when the node crashed. */
    read_back(&h, 2);
    struct files_record old = h.record[1];
    h.found.records = 1;
    files_truth_saw(&h.t, &h.found);
    files_truth_settle(&h.t); /* It was not found. */
    h.chain = h.record[0].chain;
    files_truth_ack(&h.t, 2, issue(&h, 2, 50)); /* So it was written again, and acknowledged. */
    h.record[1] = old;
    h.found.records = 2;
    end(&h, "files.order");
}

static void test_a_record_that_nobody_wrote_is_invented(void **state)
{
    (void)state;
    struct history h;
    start(&h, 2, 0);
    (void)files_record_add(&h.log, NODE, 3, 77, h.chain, 10);
    read_back(&h, 3);
    end(&h, "files.invented");
}

static void test_what_a_recovery_made_durable_counts_as_acknowledged(void **state)
{
    (void)state;
    struct history h;
    start(&h, 1, 2);
    read_back(&h, 3);
    files_truth_saw(&h.t, &h.found);
    files_truth_settle(&h.t);
    assert_int_equal(h.t.acked, 3);
    h.found.records = 2;
    end(&h, "files.acked-lost");
}

static void test_a_state_of_a_recovery_that_was_cut_is_gone_on_from(void **state)
{
    (void)state;
    struct history h;
    start(&h, 1, 2);
    read_back(&h, 3);
    files_truth_saw(&h.t, &h.found);
    /* Its state was renamed into place when the node crashed: the next one finds that and no records. */
    h.found.state = (struct files_state){.version = 1, .base = 3, .chain = h.chain, .log = 1};
    files_truth_issue_state(&h.t, &h.found.state);
    h.found.records = 0;
    files_truth_saw(&h.t, &h.found);
    files_truth_settle(&h.t);
    assert_int_equal(h.t.acked, 3);
    files_truth_ack(&h.t, 4, issue(&h, 4, 10));
    h.found.state.base = 2;
    end(&h, "files.rename");
}

static void test_states_are_found_as_written_and_never_older_than_acknowledged(void **state)
{
    (void)state;
    struct history h;
    start(&h, 2, 0);
    struct files_state one = {1, 2, h.chain, 5}, two = {2, 2, h.chain, 6};
    files_truth_issue_state(&h.t, &one);
    files_truth_ack_state(&h.t, 1);
    files_truth_issue_state(&h.t, &two);
    struct cd_buf why = {0};
    h.found.state = one;
    assert_null(files_truth_check(&h.t, &h.found, &why));
    h.found.state = two;
    assert_null(files_truth_check(&h.t, &h.found, &why));
    h.found.state.base = 1;
    assert_string_equal(files_truth_check(&h.t, &h.found, &why), "files.rename");
    cd_buf_deinit(&why);
    h.found.state = (struct files_state){0};
    end(&h, "files.acked-lost");
}

static void test_a_lost_disk_has_to_be_empty(void **state)
{
    (void)state;
    struct history h;
    start(&h, 3, 1);
    read_back(&h, 1);
    files_truth_lost(&h.t);
    struct cd_buf why = {0};
    assert_string_equal(files_truth_check(&h.t, &h.found, &why), "files.invented");
    cd_buf_deinit(&why);
    h.found.records = 0;
    end(&h, NULL);
}

static void test_states_survive_their_bytes_and_a_flipped_bit_is_noticed(void **state)
{
    (void)state;
    struct files_state s = {7, 8, 9, 10}, got;
    struct cd_buf b = {0};
    files_state_add(&b, &s);
    assert_int_equal(b.len, FILES_STATE_BYTES);
    assert_int_equal(files_state_parse(cd_buf_str(&b), &got), 0);
    assert_memory_equal(&s, &got, sizeof s);
    for (size_t i = 0; i < b.len; i += 37) {
        b.ptr[i] ^= 4;
        assert_int_equal(files_state_parse(cd_buf_str(&b), &got), CD_ECORRUPT);
        b.ptr[i] ^= 4;
    }
    assert_int_equal(files_state_parse(cd_str_sub(cd_buf_str(&b), 0, b.len - 1), &got), CD_ECORRUPT);
    cd_buf_deinit(&b);
}

CD_TESTS(files_truth, cmocka_unit_test(test_acknowledged_records_with_or_without_open_ones_are_fine),
         cmocka_unit_test(test_a_missing_acknowledged_record_is_lost),
         cmocka_unit_test(test_a_record_with_other_bytes_is_torn),
         cmocka_unit_test(test_a_record_out_of_place_breaks_the_order),
         cmocka_unit_test(test_an_older_attempt_of_an_acknowledged_record_breaks_the_order),
         cmocka_unit_test(test_a_record_that_nobody_wrote_is_invented),
         cmocka_unit_test(test_what_a_recovery_made_durable_counts_as_acknowledged),
         cmocka_unit_test(test_a_state_of_a_recovery_that_was_cut_is_gone_on_from),
         cmocka_unit_test(test_states_are_found_as_written_and_never_older_than_acknowledged),
         cmocka_unit_test(test_a_lost_disk_has_to_be_empty),
         cmocka_unit_test(test_states_survive_their_bytes_and_a_flipped_bit_is_noticed))
