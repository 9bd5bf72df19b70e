/* cli/check_admin.c: arguments of the operator commands (operations.md 1.3, 1.7 to 1.11), before anything is
 * read or written. */
#include "base/json.h"
#include "cli/command.h"
#include "cli/text.h"

#define KV_KEY_MAX 512
#define KV_METADATA_MAX 1024
#define KV_VALUE_MAX (25u << 20)
#define R2_NAME_MAX 64
#define TTL_MIN 60

/* A number of a flag, min..max. The flag may be absent: otherwise. */
static int flag_number(struct cli *c, enum cli_flag flag, uint64_t min, uint64_t max)
{
    struct cd_str text = c->parsed.value[flag];
    const char *name = cli_flag_info(flag)->name;
    uint64_t number;
    if (!cli_given(&c->parsed, flag))
        return 0;
    const char *wrong = cli_text_number(text, &number);
    if (wrong != NULL) {
        struct cd_buf quoted = {0};
        cli_quote(&quoted, text);
        (void)cli_fail(c, "%s has invalid value %s: %s", name, cd_buf_cstr(&quoted), wrong);
        cd_buf_deinit(&quoted);
        return CD_EINVAL;
    }
    if (number >= min && number <= max)
        return 0;
    if (number == 0 && min == 1)
        return cli_fail(c, "%s must be greater than zero, not 0", name);
    if (max == UINT64_MAX)
        return cli_fail(c, "%s must be at least %llu, not %llu", name, (unsigned long long)min,
                        (unsigned long long)number);
    return cli_fail(c, "%s must be between %llu and %llu, not %llu", name, (unsigned long long)min,
                    (unsigned long long)max, (unsigned long long)number);
}

int cli_check_listing(struct cli *c)
{
    if (cli_given(&c->parsed, CLI_LIMIT) && cli_given(&c->parsed, CLI_ALL))
        return cli_fail(c, "--limit cannot be used with --all");
    return flag_number(c, CLI_LIMIT, 1, UINT64_MAX);
}

/* The characters of a cell scope, and of names that become one. */
static bool is_scope_text(struct cd_str text, const char *marks)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!cli_is_alnum(text.ptr[i]) && strchr(marks, text.ptr[i]) == NULL)
            return false;
    }
    return text.len > 0;
}

static int fail_quoted(struct cli *c, struct cd_str text, const char *wanted)
{
    struct cd_buf quoted = {0};
    cli_quote(&quoted, text);
    (void)cli_fail(c, "%s is %s", cd_buf_cstr(&quoted), wanted);
    cd_buf_deinit(&quoted);
    return CD_EINVAL;
}

int cli_check_cell_list(struct cli *c)
{
    const struct cli_args *a = &c->parsed;
    if (a->positional_count > 0 && !is_scope_text(a->positional[0], "_.$-"))
        return fail_quoted(c, a->positional[0], "no class: want letters, digits and _ . $ -");
    if (cli_given(a, CLI_AFTER)) {
        struct cd_str scope = a->value[CLI_AFTER];
        size_t colon = cd_str_find(scope, ':', 0);
        if (!is_scope_text(scope, "_.:$-") || colon == 0 || colon == SIZE_MAX || colon + 1 == scope.len)
            return cli_fail(c, "--after must be a cell scope such as Room:ID");
    }
    return cli_check_listing(c);
}

int cli_check_cell_gc(struct cli *c)
{
    struct cd_str grace = c->parsed.value[CLI_GRACE_SECS];
    uint64_t secs;
    if (!cli_given(&c->parsed, CLI_DRY_RUN))
        return cli_fail(
            c, "`celld cell gc` deletes nothing itself: pass --dry-run to see what could go; a positive "
               "CELLD_LTX_RETENTION_SECS lets owners delete it");
    if (cli_given(&c->parsed, CLI_GRACE_SECS) && cd_str_u64(grace, &secs) != 0)
        return cli_fail(c, "--grace-secs takes seconds, not \"%.*s\"", (int)grace.len, grace.ptr);
    return cli_check_cell_list(c);
}

int cli_check_d1_execute(struct cli *c)
{
    if (cli_given(&c->parsed, CLI_COMMAND) == cli_given(&c->parsed, CLI_FILE))
        return cli_fail(c, "celld d1 execute needs exactly one of --command or --file");
    return 0;
}

int cli_check_kv(struct cli *c)
{
    const struct cli_args *a = &c->parsed;
    if (!is_scope_text(a->positional[0], "_-.:$"))
        return fail_quoted(c, a->positional[0], "no KV namespace id: want letters, digits and _ - . : $");
    return cli_check_listing(c);
}

static int check_json(struct cli *c, enum cli_flag flag, bool strings)
{
    struct cd_json_doc *doc;
    struct cd_buf why = {0};
    struct cd_str text = c->parsed.value[flag];
    if (!cli_given(&c->parsed, flag))
        return 0;
    int rc = cd_json_parse(&doc, text, &why);
    if (rc != 0) {
        (void)cli_fail(c, "%s is no JSON: %s", cli_flag_info(flag)->name, cd_buf_cstr(&why));
    } else {
        const struct cd_json *root = cd_json_root(doc);
        bool good = !strings || cd_json_kind(root) == CD_JSON_OBJECT;
        for (size_t i = 0; strings && good && i < cd_json_count(root); i++) {
            struct cd_str key;
            good = cd_json_kind(cd_json_member(root, i, &key)) == CD_JSON_STRING;
        }
        if (!good)
            rc = cli_fail(c, "%s must be a JSON object of strings", cli_flag_info(flag)->name);
        cd_json_free(doc);
    }
    cd_buf_deinit(&why);
    return rc;
}

int cli_check_kv_put(struct cli *c)
{
    const struct cli_args *a = &c->parsed;
    int rc = cli_check_kv(c);
    if (rc != 0)
        return rc;
    if (a->positional[1].len == 0 || a->positional[1].len > KV_KEY_MAX)
        return cli_fail(c, "a key has 1 to %d bytes, not %zu", KV_KEY_MAX, a->positional[1].len);
    if ((a->positional_count == 3) == cli_given(a, CLI_PATH))
        return cli_fail(c, "`celld kv put` needs exactly one of VALUE or --path");
    if (a->positional_count == 3 && a->positional[2].len > KV_VALUE_MAX)
        return cli_fail(c, "a value has at most %u bytes, not %zu", KV_VALUE_MAX, a->positional[2].len);
    unsigned ways = (unsigned)cli_given(a, CLI_TTL) + (unsigned)cli_given(a, CLI_EXPIRATION_TTL) +
                    (unsigned)cli_given(a, CLI_EXPIRATION);
    if (ways > 1)
        return cli_fail(c, "only one of --ttl, --expiration-ttl and --expiration can be used");
    rc = flag_number(c, CLI_TTL, TTL_MIN, UINT64_MAX);
    if (rc == 0)
        rc = flag_number(c, CLI_EXPIRATION_TTL, TTL_MIN, UINT64_MAX);
    if (rc == 0)
        rc = flag_number(c, CLI_EXPIRATION, 1, UINT64_MAX);
    if (rc == 0 && a->value[CLI_METADATA].len > KV_METADATA_MAX)
        rc = cli_fail(c, "--metadata has at most %d bytes, not %zu", KV_METADATA_MAX,
                      a->value[CLI_METADATA].len);
    return rc == 0 ? check_json(c, CLI_METADATA, false) : rc;
}

int cli_check_queue_limit(struct cli *c)
{
    return flag_number(c, CLI_LIMIT, 1, 100);
}

int cli_check_queue_purge(struct cli *c)
{
    if (!cli_given(&c->parsed, CLI_FORCE))
        return cli_fail(c, "`celld queue purge` deletes every message of the queue; pass --force to do it");
    return 0;
}

int cli_check_r2(struct cli *c)
{
    struct cd_str name = c->parsed.positional[0];
    if (!is_scope_text(name, "_-") || name.ptr[0] == '-' || name.len > R2_NAME_MAX)
        return fail_quoted(c, name,
                           "no r2 bucket name: want at most 64 letters, digits, - and _, not a - first");
    return cli_check_listing(c);
}

int cli_check_r2_put(struct cli *c)
{
    const struct cli_args *a = &c->parsed;
    unsigned sources = (unsigned)cli_given(a, CLI_PATH) + (unsigned)cli_given(a, CLI_FILE) +
                       (unsigned)cli_given(a, CLI_PIPE);
    int rc = cli_check_r2(c);
    if (rc == 0 && sources != 1)
        rc = cli_fail(c, "`celld r2 put` needs exactly one of --path, --file or --pipe");
    if (rc == 0)
        rc = flag_number(c, CLI_CACHE_EXPIRY, 0, UINT64_MAX);
    return rc == 0 ? check_json(c, CLI_METADATA, true) : rc;
}
