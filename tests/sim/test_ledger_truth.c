/* The ledger oracle against hand-written histories: each invariant by the shortest one that breaks it. */
#include "sim/ledger_truth.h"
#include "support/test.h"

static struct ledger_entry line(uint64_t id, uint64_t epoch, uint64_t before)
{
    return (struct ledger_entry){id, epoch, ledger_hash(before, id)};
}

static void ends(const char *broken, const char *want)
{
    if (want == NULL)
        assert_null(broken);
    else
        assert_string_equal(broken == NULL ? "nothing" : broken, want);
}

/* Cell 1 with acknowledged lines 1..count, by appends 1..count. Returns the last hash. */
static uint64_t filled(struct ledger_truth *t, unsigned count)
{
    struct cd_buf why = {0};
    uint64_t hash = 0;
    ledger_truth_init(t, 2);
    for (unsigned i = 1; i <= count; i++) {
        uint64_t id = ledger_truth_begin(t, 1);
        struct ledger_entry e = line(id, 1, hash);
        ends(ledger_truth_ack(t, i, &e, &why), NULL);
        hash = e.hash;
    }
    return hash;
}

static void test_acknowledged_lines_are_read_back(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    (void)filled(&t, 2);
    struct ledger_entry e[] = {line(1, 1, 0), {0}};
    e[1] = line(2, 1, e[0].hash);
    ends(ledger_truth_read(&t, 1, 2, 1, e, 2, 2, &why), NULL);
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_a_line_that_is_gone_or_another_is_lost(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    (void)filled(&t, 2);
    struct ledger_entry e[] = {line(1, 1, 0), {0}};
    ends(ledger_truth_read(&t, 1, 2, 1, e, 1, 1, &why), "ledger.lost");
    uint64_t id = ledger_truth_begin(&t, 1);
    e[1] = line(id, 1, e[0].hash);
    ends(ledger_truth_read(&t, 1, 2, 1, e, 2, 2, &why), "ledger.lost");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_what_was_refused_is_never_seen(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    uint64_t hash = filled(&t, 1), id = ledger_truth_begin(&t, 1), other = ledger_truth_begin(&t, 1);
    ends(ledger_truth_refuse(&t, id, &why), NULL);
    struct ledger_entry e = line(id, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), "ledger.refused");
    e = line(other, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), NULL);
    ends(ledger_truth_refuse(&t, other, &why), "ledger.refused");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_an_append_is_one_line_and_of_its_cell(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    uint64_t hash = filled(&t, 1);
    struct ledger_entry e = line(1, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), "ledger.twice");
    e = line(99, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), "ledger.invented");
    uint64_t elsewhere = ledger_truth_begin(&t, 2);
    e = line(elsewhere, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), "ledger.invented");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_what_began_later_lies_behind(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    ledger_truth_init(&t, 1);
    uint64_t first = ledger_truth_begin(&t, 1);
    struct ledger_entry e = line(first, 1, ledger_hash(0, 7)); /* Line 2: line 1 was not seen yet. */
    ends(ledger_truth_ack(&t, 2, &e, &why), NULL);
    uint64_t second = ledger_truth_begin(&t, 1);
    e = line(second, 1, 0);
    ends(ledger_truth_ack(&t, 1, &e, &why), "ledger.order");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_hashes_chain_and_epochs_do_not_fall(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    uint64_t hash = filled(&t, 1), id = ledger_truth_begin(&t, 1);
    struct ledger_entry e = line(id, 1, hash + 1);
    ends(ledger_truth_ack(&t, 2, &e, &why), "ledger.hash");
    ledger_truth_deinit(&t);
    hash = filled(&t, 1);
    id = ledger_truth_begin(&t, 1);
    e = line(id, 0, hash);
    ends(ledger_truth_ack(&t, 2, &e, &why), "ledger.epoch");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

static void test_what_is_unknown_may_come_once_and_stays(void **state)
{
    (void)state;
    struct ledger_truth t;
    struct cd_buf why = {0};
    uint64_t hash = filled(&t, 1), id = ledger_truth_begin(&t, 1);
    ledger_truth_lose(&t, id);
    struct ledger_entry e = line(id, 1, hash);
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 0, 1, &why), NULL); /* Not yet. */
    ends(ledger_truth_read(&t, 1, 1, 2, &e, 1, 2, &why), NULL);
    ends(ledger_truth_read(&t, 1, ledger_truth_floor(&t, 1), 2, &e, 0, 1, &why), "ledger.lost");
    ledger_truth_deinit(&t);
    cd_buf_deinit(&why);
}

CD_TESTS(ledger_truth, cmocka_unit_test(test_acknowledged_lines_are_read_back),
         cmocka_unit_test(test_a_line_that_is_gone_or_another_is_lost),
         cmocka_unit_test(test_what_was_refused_is_never_seen),
         cmocka_unit_test(test_an_append_is_one_line_and_of_its_cell),
         cmocka_unit_test(test_what_began_later_lies_behind),
         cmocka_unit_test(test_hashes_chain_and_epochs_do_not_fall),
         cmocka_unit_test(test_what_is_unknown_may_come_once_and_stays))
