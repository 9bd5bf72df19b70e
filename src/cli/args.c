/* cli/args.c: flags and positionals of one command (operations.md 0.11, 0.12). */
#include "cli/command.h"

static const struct cli_flag_info flags[CLI_FLAG_COUNT] = {
    [CLI_BUCKET] = {"--bucket", "URL",
                    .help = "fleet bucket: s3://NAME, gs://NAME, az://CONTAINER, file:///DIR"},
    [CLI_ENDPOINT] = {"--endpoint", "URL", .help = "endpoint of an S3-compatible store"},
    [CLI_REGION] = {"--region", "REGION", .help = "signing region of S3 (default: us-east-1)"},
    [CLI_UNSAFE_PUBLIC_ADVERTISE] = {"--unsafe-public-advertise",
                                     .help = "allow a literal public IP to be advertised or contacted"},
    [CLI_LISTEN] = {"--listen", "IP:PORT", .help = "public listener (default: 127.0.0.1:8080)"},
    [CLI_INTERNAL_LISTEN] = {"--internal-listen", "IP:PORT",
                             .help = "listener for peers and operators (default: 127.0.0.1:0)"},
    [CLI_ADVERTISE] = {"--advertise", "HOST:PORT",
                       .help = "address of the internal listener for peers (default: its bound address)"},
    [CLI_TRUST_FORWARDED_HEADERS] = {"--trust-forwarded-headers",
                                     .help =
                                         "take host, scheme and client of requests from a proxy's headers"},
    [CLI_LIMIT] = {"--limit", "N", .help = "most rows to print"},
    [CLI_AFTER] = {"--after", "CURSOR", .help = "start behind this row"},
    [CLI_ALL] = {"--all", .help = "read to the end"},
    [CLI_PREFIX] = {"--prefix", "P", .help = "only keys that start with P"},
    [CLI_JSON] = {"--json", .help = "JSON instead of text"},
    [CLI_PEER] = {"--peer", "NODE_ID", .repeatable = true, .help = "probe this node (repeatable)"},
    [CLI_READ_ONLY] = {"--read-only", .help = "write nothing to the bucket"},
    [CLI_CONFIG] = {"--config", "PATH", .repeatable = true, .brief = "-c",
                    .help = "configuration file, or directory, of the project"},
    [CLI_DRY_RUN] = {"--dry-run", .help = "change nothing"},
    [CLI_GRACE_SECS] = {"--grace-secs", "N", .help = "spare epochs younger than this (default: 3600)"},
    [CLI_COMMAND] = {"--command", "SQL", .help = "statements to execute"},
    [CLI_FILE] = {"--file", "PATH", .help = "read from this file"},
    [CLI_PATH] = {"--path", "FILE", .help = "read from this file"},
    [CLI_PIPE] = {"--pipe", .help = "read from standard input"},
    [CLI_TTL] = {"--ttl", "SECS", .help = "expire after so long, at least 60"},
    [CLI_EXPIRATION_TTL] = {"--expiration-ttl", "SECS", .help = "the same as --ttl"},
    [CLI_EXPIRATION] = {"--expiration", "UNIX_SECS", .help = "expire at that time"},
    [CLI_METADATA] = {"--metadata", "JSON", .help = "metadata to store with it"},
    [CLI_FORCE] = {"--force", .help = "really do it"},
    [CLI_CONTENT_TYPE] = {"--content-type", "STR", .help = "header of the object"},
    [CLI_CONTENT_LANGUAGE] = {"--content-language", "STR", .help = "header of the object"},
    [CLI_CONTENT_DISPOSITION] = {"--content-disposition", "STR", .help = "header of the object"},
    [CLI_CONTENT_ENCODING] = {"--content-encoding", "STR", .help = "header of the object"},
    [CLI_CACHE_CONTROL] = {"--cache-control", "STR", .help = "header of the object"},
    [CLI_CACHE_EXPIRY] = {"--cache-expiry", "MS", .help = "Unix time in milliseconds"},
    [CLI_HOST] = {"--host", "IP", .help = "address to listen at (default: 127.0.0.1)"},
    [CLI_PORT] = {"--port", "N", .help = "port to listen at (default: 9876)"},
    [CLI_LOGS] = {"--logs", .help = "show the node's warn and info lines"},
    [CLI_NO_WATCH] = {"--no-watch", .help = "do not rebuild on changes"},
    [CLI_WATCH_IGNORE] = {"--watch-ignore", "PATTERN", .repeatable = true,
                          .help = "changes here start no build (repeatable)"},
    [CLI_CLEAN] = {"--clean", .help = "delete the local state first"},
    [CLI_NODES] = {"--nodes", "N", .help = "a local fleet of N nodes, 1 to 7, at ports from --port on"},
    [CLI_LOCAL] = {.name = "--local"},
    [CLI_REMOTE] = {.name = "--remote"},
    [CLI_PREVIEW] = {.name = "--preview"},
    [CLI_JURISDICTION] = {.name = "--jurisdiction", .value = "NAME"},
};

const struct cli_flag_info *cli_flag_info(enum cli_flag flag)
{
    CD_ASSERT(flag < CLI_FLAG_COUNT);
    return &flags[flag];
}

static enum cli_flag flag_named(struct cd_str name)
{
    for (unsigned i = 0; i < CLI_FLAG_COUNT; i++) {
        if (cd_str_eq(name, cd_str(flags[i].name)) ||
            (flags[i].brief != NULL && cd_str_eq(name, cd_str(flags[i].brief))))
            return (enum cli_flag)i;
    }
    return CLI_FLAG_COUNT;
}

static bool is_serve_like(const struct cli_command *command)
{
    return command->name[0] == 0 || strcmp(command->name, "diagnose") == 0;
}

/* The flags of all commands that begin with the same word. */
static uint64_t family_flags(const struct cli_command *command)
{
    struct cd_str word = cd_str_sub(cd_str(command->name), 0, cd_str_find(cd_str(command->name), ' ', 0));
    uint64_t all = 0;
    for (size_t i = 0; cli_command(i) != NULL; i++) {
        struct cd_str name = cd_str(cli_command(i)->name);
        if (word.len < name.len && cd_str_starts(name, word) && name.ptr[word.len] == ' ')
            all |= cli_command(i)->flags;
    }
    return all;
}

static int fail_unknown(struct cli *c, const struct cli_command *command, struct cd_str text,
                        enum cli_flag flag)
{
    if (is_serve_like(command))
        return cli_fail(c, "unknown command or option: %.*s; run `celld --help` for usage", (int)text.len,
                        text.ptr);
    if (text.len == 0 || text.ptr[0] != '-')
        return cli_fail(c, "unexpected argument: %.*s", (int)text.len, text.ptr);
    if (flag != CLI_FLAG_COUNT && (command->refused & CLI_F(flag)) != 0) {
        struct cd_str word = cd_str_sub(cd_str(command->name), 0, cd_str_find(cd_str(command->name), ' ', 0));
        return cli_fail(c, "%s is not supported: `celld %.*s` always addresses the fleet", flags[flag].name,
                        (int)word.len, word.ptr);
    }
    if (flag != CLI_FLAG_COUNT && (family_flags(command) & CLI_F(flag)) != 0)
        return cli_fail(c, "`celld %s` takes no %s", command->name, flags[flag].name);
    return cli_fail(c, "unknown option: %.*s; run `celld %s --help` for usage", (int)text.len, text.ptr,
                    command->name);
}

/* One flag; its value may be in *next. Moves *next behind what it took. */
static int parse_flag(struct cli *c, const struct cli_command *command, struct cd_str text,
                      const char *const **next)
{
    struct cli_args *a = &c->parsed;
    size_t equals = cd_str_find(text, '=', 0);
    struct cd_str name = cd_str_sub(text, 0, equals);
    enum cli_flag flag = flag_named(name);
    if (flag == CLI_FLAG_COUNT || (command->flags & CLI_F(flag)) == 0)
        return fail_unknown(c, command, equals == SIZE_MAX || flag != CLI_FLAG_COUNT ? name : text, flag);
    const struct cli_flag_info *info = &flags[flag];
    struct cd_str value = {0};
    if (info->value == NULL) {
        if (equals != SIZE_MAX)
            return cli_fail(c, "%s takes no value", info->name);
    } else if (equals != SIZE_MAX) {
        value = cd_str_sub(text, equals + 1, SIZE_MAX);
    } else if (**next == NULL) {
        return cli_fail(c, "%s requires a value", info->name);
    } else {
        value = cd_str(*(*next)++);
    }
    /* Where a variable stands behind the flag, an empty value would beat it and mean nothing. */
    if ((CLI_F(flag) & CLI_MIRRORED_FLAGS) != 0 && cd_str_trim(value).len == 0)
        return cli_fail(c, "%s requires a value", info->name);
    if (info->repeatable) {
        if (a->repeated_count == CLI_REPEAT_MAX)
            return cli_fail(c, "%s is given more than %d times", info->name, CLI_REPEAT_MAX);
        a->repeated_flag[a->repeated_count] = flag;
        a->repeated[a->repeated_count++] = value;
    }
    a->given |= CLI_F(flag);
    a->value[flag] = value;
    return 0;
}

static int add_positional(struct cli *c, const struct cli_command *command, struct cd_str text)
{
    struct cli_args *a = &c->parsed;
    if (a->positional_count == command->max)
        return fail_unknown(c, command, text, CLI_FLAG_COUNT);
    a->positional = cd_realloc(a->positional, (a->positional_count + 1) * sizeof *a->positional);
    a->positional[a->positional_count++] = text;
    return 0;
}

int cli_args_parse(struct cli *c, const struct cli_command *command, const char *const *args)
{
    bool options = true;
    int rc = 0;
    while (rc == 0 && *args != NULL) {
        struct cd_str text = cd_str(*args++);
        bool dash = text.len > 1 && text.ptr[0] == '-'; /* A single - is a name. */
        if (options && command->max > 0 && cd_str_eq(text, CD_STR("--")))
            options = false;
        else if (options && dash)
            rc = parse_flag(c, command, text, &args);
        else
            rc = add_positional(c, command, text);
    }
    if (rc == 0 && c->parsed.positional_count < command->min) {
        struct cd_str wanted =
            cd_str_sub(cd_str(command->args), 0, cd_str_find_str(cd_str(command->args), CD_STR(" ["), 0));
        rc = cli_fail(c, "`celld %s` requires %.*s", command->name, (int)wanted.len, wanted.ptr);
    }
    return rc;
}

void cli_args_deinit(struct cli_args *a)
{
    cd_free(a->positional);
    *a = (struct cli_args){0};
}
