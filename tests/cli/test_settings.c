/* tests/cli/test_settings.c: the environment, checked before anything else (operations.md 0.8, 2). */
#include "cli/rig.h"

static void test_every_setting_has_a_name_a_meaning_and_a_part(void **state)
{
    (void)state;
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        if (s->name == NULL || s->help == NULL || s->part == NULL)
            fail_msg("row %u (%s) of the table is not complete", id, s->name == NULL ? "no name" : s->name);
        if (s->kind == CLI_CHOICE)
            assert_true(s->choices != NULL && s->wanted != NULL && s->otherwise != NULL);
        if (s->kind == CLI_UINT || s->kind == CLI_BOOL)
            assert_true(s->otherwise != NULL || (s->fallback >= s->min && s->fallback <= s->max));
        for (unsigned other = 0; other < id; other++)
            assert_string_not_equal(s->name, cli_setting((enum cli_set)other)->name);
    }
}

static void test_unset_settings_have_the_defaults_of_the_table(void **state)
{
    (void)state;
    static const char *const env[] = {NULL};
    struct cli_settings s;
    struct cd_buf errors = {0};
    assert_int_equal(cli_settings_read(&s, env, &errors), 0);
    assert_int_equal(cli_num(&s, CLI_SET_TTL_MS), 10000);
    assert_int_equal(cli_num(&s, CLI_SET_LTX_COMPACTION), 1);
    assert_int_equal(cli_num(&s, CLI_SET_LOCAL_CACHE_MAX_BYTES), 2147483648);
    assert_false(cli_is_set(&s, CLI_SET_TTL_MS));
    cd_buf_deinit(&errors);
}

static void test_every_removed_name_stops_every_command(void **state)
{
    (void)state;
    const struct cli_removed *gone;
    size_t count = 0;
    for (; (gone = cli_removed(count)) != NULL; count++) {
        struct cd_buf env = {0}, error = {0};
        cd_buf_addf(&error, "Error: %s is removed; %s", gone->name, gone->advice);
        cd_buf_addf(&env, "%s=1", gone->name);
        rig_refuses(cd_buf_cstr(&env), "--version", cd_buf_cstr(&error));
        rig_refuses(cd_buf_cstr(&env), "--help", cd_buf_cstr(&error));
        cd_buf_clear(&env);
        cd_buf_addf(&env, "%s=", gone->name);
        if (strcmp(gone->name, "CELLD_WORKER_LOADER") != 0)
            rig_refuses(cd_buf_cstr(&env), "--version", cd_buf_cstr(&error));
        cd_buf_deinit(&env);
        cd_buf_deinit(&error);
    }
    assert_int_equal(count, 20);
}

static void test_what_is_tolerated_of_the_removed(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    rig_env(&r, "CELLD_WORKER_LOADER=");
    rig_env(&r, "CELLD_CLOUD=0");
    assert_int_equal(rig_run(&r, "--version"), 0);
    assert_str_is(rig_out(&r), "celld " CELLD_VERSION "\n");
    assert_str_is(rig_err(&r), "");
    rig_close(&r);
    rig_refuses("CELLD_CLOUD=1", "--version",
                "Error: CELLD_CLOUD=1 is not supported; celld has no control plane");
    rig_refuses("CELLD_VAR_GREETING=", "--version",
                "Error: CELLD_VAR_GREETING is removed; put vars in the project config, or use .dev.vars for "
                "celld dev");
}

static void test_booleans_are_strict(void **state)
{
    (void)state;
    static const char *const bad[] = {"true", "", "2", " 1", "yes", "00", "1 ", "TRUE"};
    unsigned seen = 0;
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        for (size_t i = 0; s->kind == CLI_BOOL && i < CD_COUNT(bad); i++) {
            struct cd_buf env = {0}, error = {0};
            cd_buf_addf(&env, "%s=%s", s->name, bad[i]);
            cd_buf_addf(&error, "Error: %s must be 0 or 1, not \"%s\"", s->name, bad[i]);
            rig_refuses(cd_buf_cstr(&env), "--version", cd_buf_cstr(&error));
            cd_buf_deinit(&env);
            cd_buf_deinit(&error);
            seen++;
        }
    }
    assert_int_equal(seen, 5 * CD_COUNT(bad));
}

static void refuse_number(const char *name, const char *value, const char *format)
{
    struct cd_buf env = {0}, error = {0};
    cd_buf_addf(&env, "%s=%s", name, value);
    cd_buf_addf(&error, "Error: %s %s", name, format);
    rig_refuses(cd_buf_cstr(&env), "--version", cd_buf_cstr(&error));
    cd_buf_deinit(&env);
    cd_buf_deinit(&error);
}

static void test_integers_are_strict(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "has invalid value \"\": empty value"},
        {"-1", "has invalid value \"-1\": not a decimal integer"},
        {"1.5", "has invalid value \"1.5\": not a decimal integer"},
        {"1e3", "has invalid value \"1e3\": not a decimal integer"},
        {" 1", "has invalid value \" 1\": not a decimal integer"},
        {"+", "has invalid value \"+\": not a decimal integer"},
        {"0x10", "has invalid value \"0x10\": not a decimal integer"},
        {"18446744073709551616", "has invalid value \"18446744073709551616\": out of range"},
    };
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        if (s->kind != CLI_UINT)
            continue;
        for (size_t i = 0; i < CD_COUNT(bad); i++)
            refuse_number(s->name, bad[i][0], bad[i][1]);
        if (s->min == 1 && (s->max == UINT64_MAX || s->max == s->fallback)) /* Else it has bounds to name. */
            refuse_number(s->name, "0", "must be greater than zero, not 0");
    }
    refuse_number("CELLD_LOG_PIPELINE", "65", "must be between 1 and 64, not 65");
    refuse_number("CELLD_LOG_PIPELINE", "0", "must be between 1 and 64, not 0");
    refuse_number("CELLD_LTX_COMPACTION_MIN_MB", "65", "must be between 1 and 64, not 65");
    refuse_number("CELLD_MAX_REQUEST_BODY_BYTES", "1073741825", "must be at most 1073741824");
    refuse_number("CELLD_HEAP_LIMIT_MB", "17592186044416", "is too large: 17592186044416");
}

static void test_numbers_are_taken_as_they_are(void **state)
{
    (void)state;
    static const char *const env[] = {"CELLD_TTL_MS=+7",
                                      "CELLD_LOG_HEDGE_MS=0",
                                      "CELLD_SHUTDOWN_TOTAL_MS=18446744073709551615",
                                      "CELLD_VERIFY_LOCAL=1",
                                      "OTEL_TRACES_SAMPLER_ARG=0.25",
                                      "CELLD_TTL_MS=9", /* The first one counts. */
                                      NULL};
    struct cli_settings s;
    struct cd_buf errors = {0};
    assert_int_equal(cli_settings_read(&s, env, &errors), 0);
    assert_int_equal(cli_num(&s, CLI_SET_TTL_MS), 7);
    assert_int_equal(cli_num(&s, CLI_SET_LOG_HEDGE_MS), 0);
    assert_true(cli_num(&s, CLI_SET_SHUTDOWN_TOTAL_MS) == UINT64_MAX);
    assert_int_equal(cli_num(&s, CLI_SET_VERIFY_LOCAL), 1);
    assert_int_equal(cli_num(&s, CLI_SET_OTEL_SAMPLER_ARG), 250000);
    cd_buf_deinit(&errors);
}

static void test_enumerations_and_composites(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"CELLD_DURABILITY=both", "CELLD_DURABILITY must be `bucket` or `fleet`, not \"both\""},
        {"CELLD_DURABILITY=", "CELLD_DURABILITY must be `bucket` or `fleet`, not \"\""},
        {"CELLD_LOG_TRANSPORT=stream",
         "CELLD_LOG_TRANSPORT must be `http` (stream is not built yet), not \"stream\""},
        {"CELLD_PRESSURE_OWNERSHIP=x", "CELLD_PRESSURE_OWNERSHIP must be release or sticky, not \"x\""},
        {"CELLD_LOG_FORMAT=xml", "CELLD_LOG_FORMAT must be text or json, not \"xml\""},
        {"CELLD_S3_ETAG_MODE=raw", "CELLD_S3_ETAG_MODE must be preserve, quoted or unquoted, not \"raw\""},
        {"CELLD_NODE=..",
         "CELLD_NODE must be 1 to 128 of A-Z a-z 0-9 . _ - and neither . nor .., not \"..\""},
        {"CELLD_NODE=a/b",
         "CELLD_NODE must be 1 to 128 of A-Z a-z 0-9 . _ - and neither . nor .., not \"a/b\""},
        {"CELLD_WATCH=", "CELLD_WATCH has invalid value \"\": empty value"},
        {"CELLD_LOG=", "CELLD_LOG has invalid value \"\": empty value"},
        {"CELLD_LOG=info,a=b=c",
         "CELLD_LOG has invalid value \"info,a=b=c\": \"a=b=c\" is neither LEVEL, TARGET=LEVEL nor TARGET"},
        {"CELLD_OTEL=yes",
         "CELLD_OTEL must be 0, 1 or an http(s) URL without query and fragment, not \"yes\""},
        {"CELLD_OTEL=http://a/?b",
         "CELLD_OTEL must be 0, 1 or an http(s) URL without query and fragment, not \"http://a/?b\""},
        {"CELLD_OTEL_RETENTION=30",
         "CELLD_OTEL_RETENTION must be a number of days such as 30d, or none, not \"30\""},
        {"CELLD_OTEL_RETENTION=0d",
         "CELLD_OTEL_RETENTION must be a number of days such as 30d, or none, not \"0d\""},
        {"OTEL_TRACES_SAMPLER_ARG=1.1", "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not \"1.1\""},
        {"OTEL_TRACES_SAMPLER_ARG=1.", "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not \"1.\""},
        {"OTEL_TRACES_SAMPLER_ARG=.5", "OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, not \".5\""},
        {"OTEL_EXPORTER_OTLP_HEADERS=secret",
         "OTEL_EXPORTER_OTLP_HEADERS must be k=v,k=v with percent-encoded values"},
        {"OTEL_EXPORTER_OTLP_HEADERS=a=%zz",
         "OTEL_EXPORTER_OTLP_HEADERS must be k=v,k=v with percent-encoded values"},
        {"CELLD_WATCH=\xff", "read CELLD_WATCH: value is not valid UTF-8"},
        {"CELLD_TTL_MS=\xc0\x80", "read CELLD_TTL_MS: value is not valid UTF-8"},
        {"CELLD_DURABILITY=a\x1b[31m", "CELLD_DURABILITY must be `bucket` or `fleet`, not \"a\\x1b[31m\""},
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct cd_buf error = {0};
        cd_buf_addf(&error, "Error: %s", bad[i][1]);
        rig_refuses(bad[i][0], "--version", cd_buf_cstr(&error));
        cd_buf_deinit(&error);
    }
    static const char *const good[] = {
        "CELLD_DURABILITY=bucket",
        "CELLD_NODE=node_a-1.b",
        "CELLD_LOG=off,celld::lease=TRACE,store",
        "CELLD_OTEL=https://a:4318",
        "CELLD_OTEL_RETENTION=none",
        "OTEL_TRACES_SAMPLER=parentbased_traceidratio",
        "OTEL_EXPORTER_OTLP_HEADERS=a=b%20c,d=",
        "OTEL_TRACES_SAMPLER_ARG=1.000",
    };
    struct rig r;
    rig_open(&r);
    for (size_t i = 0; i < CD_COUNT(good); i++)
        rig_env(&r, good[i]);
    assert_int_equal(rig_run(&r, "--version"), 0);
    rig_close(&r);
}

static void test_all_failures_are_told_in_order(void **state)
{
    (void)state;
    rig_refuses(
        "CELLD_LOG_FORMAT=x\nCELLD_LOG_FLUSH_MS=x\nCELLD_TTL_MS=0\nCELLD_LTX_PAGED=x\nCELLD_VAR_A=1\n"
        "CELLD_EVICTIONS=4",
        "--version",
        "Error: CELLD_EVICTIONS is removed; delete it; there is a built-in limit of 4 concurrent evictions\n"
        "Error: CELLD_VAR_A is removed; put vars in the project config, or use .dev.vars for celld dev\n"
        "Error: CELLD_LTX_PAGED must be 0 or 1, not \"x\"\n"
        "Error: CELLD_TTL_MS must be greater than zero, not 0\n"
        "Error: CELLD_LOG_FLUSH_MS has invalid value \"x\": not a decimal integer\n"
        "Error: CELLD_LOG_FORMAT must be text or json, not \"x\"");
}

static void test_aliases(void **state)
{
    (void)state;
    rig_refuses("CELLD_THREADS=2\nCELLD_TOKIO_THREADS=3", "--version",
                "Error: CELLD_THREADS and CELLD_TOKIO_THREADS disagree");
    rig_refuses("CELLD_V8_HEAP_LIMIT_MB=0", "--version",
                "Error: CELLD_V8_HEAP_LIMIT_MB must be greater than zero, not 0");
    static const char *const env[] = {"CELLD_THREADS=2", "CELLD_TOKIO_THREADS=2", "CELLD_V8_HEAP_LIMIT_MB=64",
                                      "CELLD_LOG=warn",  "RUST_LOG=a=b=c",        NULL};
    struct cli_settings s;
    struct cd_buf errors = {0};
    assert_int_equal(cli_settings_read(&s, env, &errors), 0);
    assert_int_equal(cli_num(&s, CLI_SET_THREADS), 2);
    assert_int_equal(cli_num(&s, CLI_SET_HEAP_LIMIT_MB), 64);
    assert_string_equal(s.value[CLI_SET_HEAP_LIMIT_MB].name, "CELLD_V8_HEAP_LIMIT_MB");
    assert_str_is(s.value[CLI_SET_LOG].text, "warn");
    cd_buf_deinit(&errors);
}

static void test_blank_mirrors_of_flags_count_as_unset(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    rig_env(&r, "CELLD_BUCKET= \t");
    rig_env(&r, "CELLD_ADDR=");
    rig_env(&r, "CELLD_ADVERTISE= ");
    assert_int_equal(rig_run(&r, ""), 0);
    assert_true(rig_has(rig_out(&r), "Usage:\n"));
    rig_close(&r);
}

static void test_unknown_names_and_settings_without_effect_are_told_when_a_node_starts(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    rig_env(&r, "CELLD_BUCKET=s3://b");
    rig_env(&r, "CELLD_TTLMS=5");
    rig_env(&r, "CELLD_SOMETHING_ELSE_ALTOGETHER=5");
    rig_env(&r, "CELLD_DOCKER=podman");
    assert_int_equal(rig_run(&r, ""), 1);
    assert_true(rig_has(rig_err(&r),
                        " WARN celld: unknown_setting event=\"unknown_setting\" name=\"CELLD_TTLMS\" "
                        "near=\"CELLD_TTL_MS\"\n"));
    assert_true(rig_has(rig_err(&r), "name=\"CELLD_SOMETHING_ELSE_ALTOGETHER\"\n"));
    assert_true(rig_has(rig_err(&r), " WARN celld: setting_without_effect event=\"setting_without_effect\" "
                                     "name=\"CELLD_DOCKER\" steers=\"deploy\""));
    assert_false(rig_has(rig_err(&r), "name=\"CELLD_DOCKER\" near"));
    rig_close(&r);
}

CD_TESTS(settings, cmocka_unit_test(test_every_setting_has_a_name_a_meaning_and_a_part),
         cmocka_unit_test(test_unset_settings_have_the_defaults_of_the_table),
         cmocka_unit_test(test_every_removed_name_stops_every_command),
         cmocka_unit_test(test_what_is_tolerated_of_the_removed), cmocka_unit_test(test_booleans_are_strict),
         cmocka_unit_test(test_integers_are_strict), cmocka_unit_test(test_numbers_are_taken_as_they_are),
         cmocka_unit_test(test_enumerations_and_composites),
         cmocka_unit_test(test_all_failures_are_told_in_order), cmocka_unit_test(test_aliases),
         cmocka_unit_test(test_blank_mirrors_of_flags_count_as_unset),
         cmocka_unit_test(test_unknown_names_and_settings_without_effect_are_told_when_a_node_starts))
