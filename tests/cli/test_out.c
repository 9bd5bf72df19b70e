/* tests/cli/test_out.c: the stdout data sink, colors, error printing and docs (operations.md 0.3 to 0.7). */
#include <stdio.h>

#include "cli/rig.h"

static void test_a_reader_that_has_gone_is_satisfied(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    sim_console_fail(r.node, IO_STDOUT, 0, IO_EOF);
    assert_int_equal(rig_run(&r, "--help"), 0);
    assert_str_is(rig_err(&r), "");
    sim_console_fail(r.node, IO_STDOUT, 100, IO_EOF);
    assert_int_equal(rig_run(&r, "--help"), 0);
    assert_str_is(rig_err(&r), "");
    rig_close(&r);
}

static void test_any_other_failure_to_write_is_an_error(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *text;
    } of[] = {{IO_NOSPACE, "Error: write standard output: No space left on device\n"},
              {IO_FAULT, "Error: write standard output: Input/output error\n"},
              {CD_ECLOSED, "Error: write standard output: Bad file descriptor\n"}};
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < CD_COUNT(of); i++) {
        sim_console_fail(r.node, IO_STDOUT, 10, of[i].status);
        assert_int_equal(rig_run(&r, "--version"), 1);
        assert_str_is(rig_err(&r), of[i].text);
    }
    rig_close(&r);
}

static void test_a_full_standard_error_hurts_nobody(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    sim_console_fail(r.node, IO_STDERR, 0, IO_NOSPACE);
    assert_int_equal(rig_run(&r, "frobnicate"), 1);
    assert_int_equal(rig_run(&r, "--version"), 0);
    rig_close(&r);
}

static void test_rows_are_written_at_once_on_a_terminal_and_in_pieces_elsewhere(void **state)
{
    (void)state;
    struct rig r;
    struct cli_out out;
    char row[1000];
    memset(row, 'x', sizeof row);
    rig_open(&r);
    sim_console_tty(r.node, IO_STDOUT, true);
    cli_out_init(&out, sim_io(r.node, 0));
    assert_true(cli_out_row(&out, CD_STR("one")));
    assert_str_is(rig_out(&r), "one\n");
    cli_out_deinit(&out);
    sim_console_tty(r.node, IO_STDOUT, false);
    cli_out_init(&out, sim_io(r.node, 0));
    for (unsigned i = 0; i < 65; i++)
        assert_true(cli_out_row(&out, cd_str_of(row, sizeof row)));
    assert_str_is(rig_out(&r), "one\n");
    assert_true(cli_out_row(&out, cd_str_of(row, sizeof row)));
    assert_int_equal(rig_out(&r).len, 4 + 66 * 1001);
    cli_out_deinit(&out);
    rig_close(&r);
}

static void test_a_listing_stops_when_nobody_reads(void **state)
{
    (void)state;
    struct rig r;
    struct cli_out out;
    struct cd_buf why = {0};
    rig_open(&r);
    sim_console_tty(r.node, IO_STDOUT, true);
    cli_out_init(&out, sim_io(r.node, 0));
    sim_console_fail(r.node, IO_STDOUT, 4, IO_EOF);
    assert_true(cli_out_row(&out, CD_STR("one")));
    assert_false(cli_out_row(&out, CD_STR("two")));
    assert_false(cli_out_text(&out, CD_STR("three")));
    assert_int_equal(cli_out_end(&out, &why), IO_OK);
    assert_str_is(rig_out(&r), "one\n");
    cli_out_deinit(&out);
    cd_buf_deinit(&why);
    rig_close(&r);
}

static void test_color(void **state)
{
    (void)state;
    static const char *const none[] = {NULL}, *const no[] = {"FORCE_COLOR=1", "NO_COLOR=", NULL};
    static const char *const force[] = {"FORCE_COLOR=", NULL}, *const zero[] = {"FORCE_COLOR=0", NULL};
    assert_true(cli_color(none, true));
    assert_false(cli_color(none, false));
    assert_false(cli_color(no, true));
    assert_true(cli_color(force, false));
    assert_false(cli_color(zero, false));
    assert_true(cli_color(zero, true));
}

static void read_file(const char *path, struct cd_buf *out)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("%s is not there", path);
    for (size_t got = 1; got > 0; out->len += got)
        got = fread(cd_buf_reserve(out, 4096), 1, 4096, f);
    (void)fclose(f);
}

static void test_docs_settings_is_what_the_table_says(void **state)
{
    (void)state;
    struct cd_buf want = {0}, have = {0};
    cli_settings_markdown(&want);
    read_file(CLI_DOCS_DIR "/settings.md", &have);
    if (!cd_str_eq(cd_buf_str(&want), cd_buf_str(&have)))
        fail_msg("docs/settings.md differs from the table; run tools/docs");
    cd_buf_deinit(&want);
    cd_buf_deinit(&have);
}

static void test_secrets_are_masked(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    rig_env(&r, "AWS_SECRET_ACCESS_KEY=hush");
    rig_env(&r, "OTEL_EXPORTER_OTLP_HEADERS=authorization=hush");
    rig_env(&r, "CELLD_TTL_MS=5");
    assert_int_equal(rig_run(&r, "help env"), 0);
    assert_false(rig_has(rig_out(&r), "hush"));
    assert_true(rig_has(rig_out(&r), "AWS_SECRET_ACCESS_KEY\ttext\tunset\t(set)\n"));
    assert_true(rig_has(rig_out(&r), "CELLD_TTL_MS\tinteger, 1 or more\t10000\t\"5\"\n"));
    assert_true(rig_has(rig_out(&r), "CELLD_RELEASES\tinteger, 1 or more\t128\t128\n"));
    rig_close(&r);
}

CD_TESTS(out, cmocka_unit_test(test_a_reader_that_has_gone_is_satisfied),
         cmocka_unit_test(test_any_other_failure_to_write_is_an_error),
         cmocka_unit_test(test_a_full_standard_error_hurts_nobody),
         cmocka_unit_test(test_rows_are_written_at_once_on_a_terminal_and_in_pieces_elsewhere),
         cmocka_unit_test(test_a_listing_stops_when_nobody_reads), cmocka_unit_test(test_color),
         cmocka_unit_test(test_docs_settings_is_what_the_table_says),
         cmocka_unit_test(test_secrets_are_masked))
