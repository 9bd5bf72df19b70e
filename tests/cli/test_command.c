/* tests/cli/test_command.c: commands, flags and help (operations.md 0.11 to 0.14, 1). */
#include "cli/rig.h"

static void expect_help(struct rig *r, const char *args, const char *start)
{
    int code = rig_run(r, args);
    if (code != 0 || !cd_str_starts(rig_out(r), cd_str(start)) || rig_err(r).len > 0)
        fail_msg("celld %s: exit code %d:\n%.*s%.*s", args, code, (int)rig_out(r).len, rig_out(r).ptr,
                 (int)rig_err(r).len, rig_err(r).ptr);
}

static void test_help_and_version(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    expect_help(&r, "", "celld " CELLD_VERSION ": ");
    expect_help(&r, "--help", "celld " CELLD_VERSION ": ");
    expect_help(&r, "-h", "celld " CELLD_VERSION ": ");
    expect_help(&r, "help", "celld " CELLD_VERSION ": ");
    expect_help(&r, "--version", "celld " CELLD_VERSION "\n");
    expect_help(&r, "-V", "celld " CELLD_VERSION "\n");
    expect_help(&r, "version", "celld " CELLD_VERSION "\n");
    expect_help(&r, "diagnose help", "celld diagnose: ");
    expect_help(&r, "diagnose --help", "celld diagnose: ");
    expect_help(&r, "deploy --nonsense --help", "celld deploy: ");
    expect_help(&r, "kv put ns -h", "celld kv put: ");
    expect_help(&r, "kv get", "celld kv get: ");
    expect_help(&r, "kv", "Usage:\n  celld kv get ");
    expect_help(&r, "kv bulk --help", "Usage:\n  celld kv bulk get ");
    expect_help(&r, "d1 migrations", "Usage:\n  celld d1 migrations list ");
    expect_help(&r, "help diagnose", "celld diagnose: ");
    expect_help(&r, "help kv bulk", "Usage:\n  celld kv bulk get ");
    expect_help(&r, "help env", "name\ttype\tdefault\tvalue\nCELLD_BUCKET\t");
    rig_close(&r);
}

static void test_a_debug_build_says_so(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    const char *const args[] = {"--version", NULL};
    struct cli c = {.io = sim_io(r.node, 0), .args = args, .env = r.env, .debug = true};
    assert_int_equal(cli_run(&c), 0);
    assert_str_is(rig_out(&r), "celld " CELLD_VERSION " (debug)\n");
    rig_close(&r);
}

/* Each table entry is in the text, and nothing of the machine is. */
static void test_help_names_everything(void **state)
{
    (void)state;
    struct rig r;
    rig_open(&r);
    assert_int_equal(rig_run(&r, "--help"), 0);
    struct cd_str help = rig_out(&r);
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting((enum cli_set)id);
        struct cd_buf line = {0};
        cd_buf_addf(&line, "\n  %s", s->name);
        if (rig_has(help, cd_buf_cstr(&line)) == s->hidden)
            fail_msg("%s", s->name);
        assert_true(s->alias == NULL || rig_has(help, s->alias));
        cd_buf_deinit(&line);
    }
    for (size_t i = 0; cli_command(i) != NULL; i++)
        assert_true(rig_has(help, cli_command(i)->about));
    assert_true(rig_has(help, "bound of handing cells over when a node stops (default: 40000)"));
    for (size_t i = 1; cli_command(i) != NULL; i++) {
        struct cd_buf args = {0};
        cd_buf_addf(&args, "%s --help", cli_command(i)->name);
        assert_int_equal(rig_run(&r, cd_buf_cstr(&args)), 0);
        for (unsigned flag = 0; flag < CLI_FLAG_COUNT; flag++) {
            cd_buf_clear(&args);
            cd_buf_addf(&args, "\n  %s ", cli_flag_info((enum cli_flag)flag)->name);
            bool listed = rig_has(rig_out(&r), cd_buf_cstr(&args));
            args.ptr[args.len - 1] = '\n'; /* A long name stands on a line of its own. */
            listed = listed || rig_has(rig_out(&r), cd_buf_cstr(&args));
            if (listed != ((cli_command(i)->flags & CLI_F(flag)) != 0))
                fail_msg("celld %s --help: %s", cli_command(i)->name, args.ptr);
        }
        cd_buf_deinit(&args);
    }
    rig_close(&r);
}

static void test_unknown_words_are_named(void **state)
{
    (void)state;
    rig_refuses(NULL, "frobnicate",
                "Error: unknown command or option: frobnicate; run `celld --help` for usage");
    rig_refuses(NULL, "help frobnicate",
                "Error: unknown command or option: frobnicate; run `celld --help` for usage");
    rig_refuses(NULL, "help deploy now",
                "Error: unknown command or option: now; run `celld --help` for usage");
    rig_refuses(NULL, "serve", "Error: unknown command or option: serve; run `celld --help` for usage");
    rig_refuses(NULL, "connect", "Error: unknown command or option: connect; run `celld --help` for usage");
    rig_refuses(NULL, "--control-plane",
                "Error: unknown command or option: --control-plane; run `celld --help` for usage");
    rig_refuses(NULL, "--listen 127.0.0.1:1 word",
                "Error: unknown command or option: word; run `celld --help` for usage");
    rig_refuses(NULL, "--listen 127.0.0.1:1 --help",
                "Error: unknown command or option: --help; run `celld --help` for usage");
    rig_refuses(NULL, "diagnose --wat",
                "Error: unknown command or option: --wat; run `celld --help` for usage");
    rig_refuses(NULL, "deploy --wat", "Error: unknown option: --wat; run `celld deploy --help` for usage");
    rig_refuses(NULL, "deploy --wat=1",
                "Error: unknown option: --wat=1; run `celld deploy --help` for usage");
    rig_refuses(NULL, "deploy a b", "Error: unexpected argument: b");
    rig_refuses(NULL, "cell frob", "Error: unknown cell command: frob; use celld cell list or celld cell gc");
    rig_refuses(NULL, "d1 frob",
                "Error: unknown d1 command: frob; use celld d1 execute or celld d1 migrations");
    rig_refuses(
        NULL, "kv frob",
        "Error: unknown kv command: frob; use celld kv get, celld kv put, celld kv delete, celld kv list, "
        "celld kv info or celld kv bulk");
    rig_refuses(
        NULL, "kv bulk frob",
        "Error: unknown kv bulk command: frob; use celld kv bulk get, celld kv bulk put or celld kv bulk "
        "delete");
}

/* A terminal obeys what it is shown, and a log keeps it. */
static void test_what_is_repeated_is_safe_to_show(void **state)
{
    (void)state;
    rig_refuses(NULL, "a\033[2J\nError:\x7f",
                "Error: unknown command or option: a\\x1b[2J\\x0aError:\\x7f; run `celld --help` for usage");
    rig_refuses(NULL, "diagnose \r--wat",
                "Error: unknown command or option: \\x0d--wat; run `celld --help` for usage");
    rig_refuses(NULL, "deploy --wat=\x07",
                "Error: unknown option: --wat=\\x07; run `celld deploy --help` for usage");
    rig_refuses(NULL, "deploy a b\tc", "Error: unexpected argument: b\\x09c");
    rig_refuses_with(NULL, "kv fr\033ob", "Error: unknown kv command: fr\\x1bob; use celld kv get");
    /* Letters stay, the controls of eight bits and what is no UTF-8 do not. */
    rig_refuses(NULL, "deploy a \xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
                "Error: unexpected argument: \xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80");
    rig_refuses(NULL, "deploy a \xc2\x9b\xff\xe2\x82",
                "Error: unexpected argument: \\xc2\\x9b\\xff\\xe2\\x82");
    rig_refuses(NULL, "cell gc --dry-run --grace-secs \033 --bucket s3://b",
                "Error: --grace-secs takes seconds, not \"\\x1b\"");
    rig_refuses_with(NULL, "kv get n\033s key --bucket s3://b", "Error: \"n\\x1bs\" is no KV namespace id");
    rig_refuses(NULL, "--bucket s\0333://b",
                "Error: unknown bucket scheme \"s\\x1b3\"; use s3://, gs://, az:// or file://");
    rig_refuses_with("CELLD_TTL_MS=\033[1m", "--version",
                     "Error: CELLD_TTL_MS has invalid value \"\\x1b[1m\"");
    rig_refuses_with("CELLD_VAR_\033=1", "--version", "Error: CELLD_VAR_\\x1b is removed");
    rig_refuses_with("CELLD_LOG=\033=\033", "--version",
                     "Error: CELLD_LOG has invalid value \"\\x1b=\\x1b\"");
}

/* Whatever becomes of an invocation, nobody sees the password in it. */
static void test_passwords_of_urls_are_not_repeated(void **state)
{
    (void)state;
    static const char *const env[] = {NULL, "CELLD_BUCKET=s3://user:secret@b",
                                      "CELLD_OTEL=http://user:secret@h/?q",
                                      "S3_ENDPOINT=http://user:secret@h/x y"};
    static const char *const args[] = {
        "s3://user:secret@b",
        "--bukcet=s3://user:secret@b",
        "--bucket s3://user:secret@b",
        "--bucket s3://user:sec/ret:secret@b",
        "--bucket user:secret@b",
        "--bucket file://user:secret@h/d",
        "--bucket nfs://user:secret@h/d",
        "--bucket user:secret@s3://b",
        "deploy a https://user:secret@host/path",
        "deploy --endpoint=ftp://user:secret@h --bucket s3://b",
        "kv get https://user:secret@h key --bucket s3://b",
        "diagnose --peer http://user:secret@h",
        "help env",
    };
    for (size_t i = 0; i < CD_COUNT(env); i++) {
        for (size_t j = 0; j < CD_COUNT(args); j++) {
            struct rig r;
            rig_open(&r);
            if (env[i] != NULL)
                rig_env(&r, env[i]);
            (void)rig_run(&r, args[j]);
            assert_true(rig_out(&r).len + rig_err(&r).len > 0);
            if (rig_has(rig_err(&r), "secret") || rig_has(rig_out(&r), "secret@"))
                fail_msg("%s celld %s: %.*s", env[i] == NULL ? "" : env[i], args[j], (int)rig_err(&r).len,
                         rig_err(&r).ptr);
            rig_close(&r);
        }
    }
    rig_refuses(NULL, "deploy a https://user:secret@host/path",
                "Error: unexpected argument: https://***@host/path");
    rig_refuses_with("CELLD_OTEL=http://user:secret@h/?q", "--version", "not \"http://***@h/?q\"");
}

static void test_values_of_flags(void **state)
{
    (void)state;
    rig_refuses(NULL, "--bucket", "Error: --bucket requires a value");
    rig_refuses(NULL, "kv get ns key --bucket", "Error: --bucket requires a value");
    rig_refuses(NULL, "--bucket s3://b --listen=", "Error: --listen requires a value");
    rig_refuses(NULL, "--bucket s3://b --advertise=", "Error: --advertise requires a value");
    rig_refuses(NULL, "dev --port +65536", "Error: --port must be between 1 and 65535");
    rig_refuses(NULL, "deploy --dry-run=yes", "Error: --dry-run takes no value");
    rig_refuses(NULL, "kv get ns key --ttl 60", "Error: `celld kv get` takes no --ttl");
    rig_refuses(NULL, "d1 migrations list db --command x",
                "Error: `celld d1 migrations list` takes no --command");
    rig_refuses(NULL, "kv get ns key --local",
                "Error: --local is not supported: `celld kv` always addresses the fleet");
    rig_refuses(NULL, "r2 get b key --jurisdiction eu",
                "Error: --jurisdiction is not supported: `celld r2` always addresses the fleet");
    rig_refuses(NULL, "kv get ns", "Error: `celld kv get` requires NAMESPACE KEY");
    rig_accepts(NULL, "kv get ns key --bucket=s3://b");
    rig_accepts(NULL, "kv get ns key --bucket nonsense://x --bucket s3://b"); /* The last one wins. */
    rig_accepts(NULL, "kv get --bucket s3://b -- ns --key");
    rig_refuses_with(NULL, "deploy - --bucket s3://b", "Error: -: there is no such file or directory");
}

static void test_operator_commands_want_a_bucket(void **state)
{
    (void)state;
    static const char *const of[][2] = {
        {"deploy", "deploy"},
        {"cell list", "cell list"},
        {"cell gc --dry-run", "cell gc"},
        {"d1 migrations list x", "d1"},
        {"kv get a b", "kv"},
        {"queue info q", "queue"},
        {"r2 list b", "r2"},
    };
    for (size_t i = 0; i < CD_COUNT(of); i++) {
        struct cd_buf error = {0};
        cd_buf_addf(
            &error,
            "Error: `celld %s` requires --bucket s3://NAME, gs://NAME or az://CONTAINER (or CELLD_BUCKET)",
            of[i][1]);
        rig_refuses(NULL, of[i][0], cd_buf_cstr(&error));
        rig_refuses("CELLD_BUCKET= ", of[i][0], cd_buf_cstr(&error));
        if (strcmp(of[i][0], "deploy") == 0)
            rig_refuses_with("CELLD_BUCKET=gs://b", of[i][0], "Error: no wrangler.jsonc, ");
        else
            rig_accepts("CELLD_BUCKET=gs://b", of[i][0]);
        cd_buf_deinit(&error);
    }
    rig_refuses_with(NULL, "deploy --dry-run", "no wrangler.jsonc, wrangler.json or wrangler.toml in .");
    rig_refuses_with(NULL, "kv get a b --bucket ftp://x", "unknown bucket scheme");
    rig_refuses_with("S3_ENDPOINT=http://h", "kv get a b --bucket gs://x", "takes no S3 endpoint");
    rig_refuses("S3_ENDPOINT=h:80", "kv get a b --bucket s3://x",
                "Error: S3_ENDPOINT must be an http or https URL");
}

static void test_arguments_of_operator_commands(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"cell list --limit 5 --all", "--limit cannot be used with --all"},
        {"cell list --limit 0", "--limit must be greater than zero, not 0"},
        {"cell list --limit x", "--limit has invalid value \"x\": not a decimal integer"},
        {"cell list --after Room", "--after must be a cell scope such as Room:ID"},
        {"cell list Room:1", "\"Room:1\" is no class: want letters, digits and _ . $ -"},
        {"cell gc --dry-run --grace-secs soon", "--grace-secs takes seconds, not \"soon\""},
        {"d1 execute db", "celld d1 execute needs exactly one of --command or --file"},
        {"d1 execute db --command a --file b", "celld d1 execute needs exactly one of --command or --file"},
        {"kv get n/s key", "\"n/s\" is no KV namespace id: want letters, digits and _ - . : $"},
        {"kv put ns key", "`celld kv put` needs exactly one of VALUE or --path"},
        {"kv put ns key value --path f", "`celld kv put` needs exactly one of VALUE or --path"},
        {"kv put ns '' value", "a key has 1 to 512 bytes, not 0"},
        {"kv put ns key value --ttl 59", "--ttl must be at least 60, not 59"},
        {"kv put ns key value --ttl 60 --expiration 9",
         "only one of --ttl, --expiration-ttl and --expiration can be used"},
        {"queue peek q --limit 101", "--limit must be between 1 and 100, not 101"},
        {"queue purge q", "`celld queue purge` deletes every message of the queue; pass --force to do it"},
        {"r2 get -b key", "unknown option: -b; run `celld r2 get --help` for usage"},
        {"r2 get b.c key",
         "\"b.c\" is no r2 bucket name: want at most 64 letters, digits, - and _, not a - first"},
        {"r2 put b key", "`celld r2 put` needs exactly one of --path, --file or --pipe"},
        {"r2 put b key --pipe --file f", "`celld r2 put` needs exactly one of --path, --file or --pipe"},
        {"r2 put b key --pipe --metadata {\"a\":1}", "--metadata must be a JSON object of strings"},
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct cd_buf error = {0};
        cd_buf_addf(&error, "Error: %s", bad[i][1]);
        rig_refuses("CELLD_BUCKET=s3://b", bad[i][0], cd_buf_cstr(&error));
        cd_buf_deinit(&error);
    }
    rig_refuses_with("CELLD_BUCKET=s3://b", "cell gc", "pass --dry-run");
    rig_refuses_with("CELLD_BUCKET=s3://b", "cell gc", "CELLD_LTX_RETENTION_SECS");
    rig_refuses_with("CELLD_BUCKET=s3://b", "kv put ns key v --metadata {", "--metadata is no JSON: ");
    static const char *const good[] = {
        "cell list Room --after Room:1 --limit 5000 --json",
        "cell gc --dry-run --grace-secs 0 --all",
        "d1 execute db --command x",
        "d1 execute db dir --file y",
        "kv put ns key v --ttl 60 --metadata {\"a\":1}",
        "kv bulk get ns",
        "kv delete ns a b c d",
        "queue purge q --force",
        "queue redrive q --limit 100",
        "r2 put b key --pipe --metadata {\"a\":\"b\"}",
    };
    for (size_t i = 0; i < CD_COUNT(good); i++)
        rig_accepts("CELLD_BUCKET=s3://b", good[i]);
}

static void test_arguments_of_dev(void **state)
{
    (void)state;
    rig_refuses(NULL, "dev --host localhost", "Error: --host must be an IP address such as 127.0.0.1");
    rig_refuses(NULL, "dev --port 0", "Error: --port must be between 1 and 65535");
    rig_refuses(NULL, "dev --port 65536", "Error: --port must be between 1 and 65535");
    static const char nodes[] = "Error: --nodes must be between 1 and 7";
    rig_refuses(NULL, "dev --nodes 0", nodes);
    rig_refuses(NULL, "dev --nodes 8", nodes);
    rig_refuses(NULL, "dev --nodes three", nodes);
    rig_refuses(NULL, "dev --nodes 3 --port 65534",
                "Error: --port must be at most 65533 with --nodes 3: each node has a port of its own");
    rig_refuses_with(NULL, "dev app --nodes 7 --port 65529", "app: there is no such file or directory");
    rig_refuses(NULL, "dev --watch-ignore a --no-watch",
                "Error: --watch-ignore cannot be used with --no-watch");
    rig_refuses(NULL, "dev --watch-ignore dist/** --watch-ignore [a",
                "Error: --watch-ignore has invalid pattern \"[a\": a [ is not closed");
    rig_refuses(NULL, "dev --watch-ignore ''", "Error: --watch-ignore has invalid pattern \"\": it is empty");
    rig_refuses_with(NULL,
                     "dev app --host ::1 --port 1 --logs --clean --watch-ignore []a] --watch-ignore \\[",
                     "app: there is no such file or directory");
}

CD_TESTS(command, cmocka_unit_test(test_help_and_version), cmocka_unit_test(test_a_debug_build_says_so),
         cmocka_unit_test(test_help_names_everything), cmocka_unit_test(test_unknown_words_are_named),
         cmocka_unit_test(test_what_is_repeated_is_safe_to_show),
         cmocka_unit_test(test_passwords_of_urls_are_not_repeated), cmocka_unit_test(test_values_of_flags),
         cmocka_unit_test(test_operator_commands_want_a_bucket),
         cmocka_unit_test(test_arguments_of_operator_commands), cmocka_unit_test(test_arguments_of_dev))
