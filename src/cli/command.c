/* cli/command.c: the command table, and how an invocation finds its command and ends. */
#include "cli/command.h"

#include "cli/cells.h"
#include "cli/deploy.h"
#include "cli/dev.h"
#include "cli/diagnose.h"
#include "cli/serve.h"
#include "cli/text.h"

#define MANY UINT32_MAX
#define KV CLI_ROUTED_FLAGS
#define KV_REFUSED (CLI_F(CLI_LOCAL) | CLI_F(CLI_REMOTE) | CLI_F(CLI_PREVIEW))
#define R2_REFUSED (CLI_F(CLI_LOCAL) | CLI_F(CLI_REMOTE) | CLI_F(CLI_JURISDICTION))
#define QUEUE (CLI_ROUTED_FLAGS | CLI_F(CLI_JSON))
#define R2_HEADERS                                                                                           \
    (CLI_F(CLI_CONTENT_TYPE) | CLI_F(CLI_CONTENT_LANGUAGE) | CLI_F(CLI_CONTENT_DISPOSITION) |                \
     CLI_F(CLI_CONTENT_ENCODING) | CLI_F(CLI_CACHE_CONTROL) | CLI_F(CLI_CACHE_EXPIRY))

static const struct cli_command commands[] = {
    {"", "[options]", "run a node", CLI_SERVE_FLAGS, .node = true, .check = cli_check_serve,
     .run = cli_serve},
    {"dev", "[PROJECT] [options]", "local development server",
     CLI_F(CLI_HOST) | CLI_F(CLI_PORT) | CLI_F(CLI_LOGS) | CLI_F(CLI_NO_WATCH) | CLI_F(CLI_WATCH_IGNORE) |
         CLI_F(CLI_CLEAN) | CLI_F(CLI_CONFIG) | CLI_F(CLI_NODES),
     .max = 1, .node = true, .check = cli_check_dev, .run = cli_dev,
     .more =
         "PROJECT is a directory or a configuration file (default: the current directory). Without PROJECT "
         "the first --config is the project; each further one is a script that service bindings of the "
         "others can name. State is kept in .celld/dev of the project. Sources outside of the projects are "
         "not watched. With --nodes the nodes are processes that share the state and answer for each other; "
         "lines on "
         "standard input (kill 2, freeze 2, thaw 2, drain 2, start 2) show what happens when one of them "
         "goes. "
         "A node that was killed starts again after twice its lease's time, CELLD_TTL_MS, here 4 seconds."},
    {"deploy", "[PROJECT] [options]", "build and publish an application",
     CLI_FLEET_FLAGS | CLI_F(CLI_CONFIG) | CLI_F(CLI_DRY_RUN) | CLI_F(CLI_JSON), .max = 1,
     .needs_bucket = "deploy", .run = cli_deploy,
     .more = "PROJECT is a directory or a configuration file (default: the current directory)."},
    {"diagnose", "[options]", "check configuration, bucket and peers",
     CLI_SERVE_FLAGS | CLI_F(CLI_PEER) | CLI_F(CLI_READ_ONLY) | CLI_F(CLI_JSON), .needs_bucket = "diagnose",
     .check = cli_check_diagnose, .run = cli_diagnose},
    {"cell list", "[CLASS] [options]", "list cells", CLI_FLEET_FLAGS | CLI_LISTING_FLAGS, .max = 1,
     .needs_bucket = "cell list", .check = cli_check_cell_list, .run = cli_cell_list,
     .more = "CLASS shows the cells of that class alone. A row is a cell's scope, in the order of the "
             "bucket's keys; "
             "a cell is there from the first time somebody called it. Without --all at most 1000 rows come, "
             "and stderr "
             "tells how to go on."},
    {"cell gc", "--dry-run [CLASS] [options]", "show which superseded epochs could go",
     CLI_FLEET_FLAGS | CLI_LISTING_FLAGS | CLI_F(CLI_DRY_RUN) | CLI_F(CLI_GRACE_SECS), .max = 1,
     .needs_bucket = "cell gc", .check = cli_check_cell_gc, .run = cli_cell_gc,
     .more = "Reads the chain of each cell as a restore would, and shows the epochs below it that nothing "
             "reads any "
             "more, with their bytes. It deletes nothing: with CELLD_LTX_RETENTION_SECS above 0 the owners "
             "of the "
             "cells do."},
    {"d1 execute", "DATABASE [PROJECT] (--command SQL | --file PATH) [options]", "execute SQL in a database",
     CLI_ROUTED_FLAGS | CLI_F(CLI_COMMAND) | CLI_F(CLI_FILE), .min = 1, .max = 2, .needs_bucket = "d1",
     .check = cli_check_d1_execute},
    {"d1 migrations list", "DATABASE [PROJECT] [options]", "list migrations to be applied", CLI_ROUTED_FLAGS,
     .min = 1, .max = 2, .needs_bucket = "d1"},
    {"d1 migrations apply", "DATABASE [PROJECT] [options]", "apply migrations", CLI_ROUTED_FLAGS, .min = 1,
     .max = 2, .needs_bucket = "d1"},
    {"kv get", "NAMESPACE KEY [options]", "print a value", KV, KV_REFUSED, 2, 2, "kv", .check = cli_check_kv},
    {"kv put", "NAMESPACE KEY (VALUE | --path FILE) [options]", "store a value",
     KV | CLI_F(CLI_PATH) | CLI_F(CLI_TTL) | CLI_F(CLI_EXPIRATION_TTL) | CLI_F(CLI_EXPIRATION) |
         CLI_F(CLI_METADATA),
     KV_REFUSED, 2, 3, "kv", .check = cli_check_kv_put},
    {"kv delete", "NAMESPACE KEY... [options]", "delete keys", KV, KV_REFUSED, 2, MANY, "kv",
     .check = cli_check_kv},
    {"kv list", "NAMESPACE [options]", "list keys", KV | CLI_LISTING_FLAGS | CLI_F(CLI_PREFIX), KV_REFUSED, 1,
     1, "kv", .check = cli_check_kv},
    {"kv info", "NAMESPACE [options]", "count keys and bytes", KV | CLI_F(CLI_JSON), KV_REFUSED, 1, 1, "kv",
     .check = cli_check_kv},
    {"kv bulk get", "NAMESPACE [FILE] [options]", "write all values to FILE or standard output",
     KV | CLI_F(CLI_PREFIX), KV_REFUSED, 1, 2, "kv", .check = cli_check_kv},
    {"kv bulk put", "NAMESPACE FILE [options]", "store the values of a JSON file", KV, KV_REFUSED, 2, 2, "kv",
     .check = cli_check_kv},
    {"kv bulk delete", "NAMESPACE FILE [options]", "delete the keys of a JSON file", KV, KV_REFUSED, 2, 2,
     "kv", .check = cli_check_kv},
    {"queue info", "QUEUE [options]", "show backlog and state", QUEUE, .min = 1, .max = 1,
     .needs_bucket = "queue"},
    {"queue peek", "QUEUE [options]", "show messages without leasing them", QUEUE | CLI_F(CLI_LIMIT),
     .min = 1, .max = 1, .needs_bucket = "queue", .check = cli_check_queue_limit},
    {"queue purge", "QUEUE --force [options]", "delete every message", QUEUE | CLI_F(CLI_FORCE), .min = 1,
     .max = 1, .needs_bucket = "queue", .check = cli_check_queue_purge},
    {"queue pause", "QUEUE [options]", "stop delivery", QUEUE, .min = 1, .max = 1, .needs_bucket = "queue"},
    {"queue resume", "QUEUE [options]", "resume delivery", QUEUE, .min = 1, .max = 1,
     .needs_bucket = "queue"},
    {"queue redrive", "QUEUE [options]", "move dead letters back", QUEUE | CLI_F(CLI_LIMIT), .min = 1,
     .max = 1, .needs_bucket = "queue", .check = cli_check_queue_limit},
    {"r2 get", "BUCKET_NAME KEY [options]", "print an object", CLI_FLEET_FLAGS, R2_REFUSED, 2, 2, "r2",
     .check = cli_check_r2},
    {"r2 head", "BUCKET_NAME KEY [options]", "show what is known of an object",
     CLI_FLEET_FLAGS | CLI_F(CLI_JSON), R2_REFUSED, 2, 2, "r2", .check = cli_check_r2},
    {"r2 put", "BUCKET_NAME KEY (--path FILE | --file FILE | --pipe) [options]", "store an object",
     CLI_FLEET_FLAGS | CLI_F(CLI_PATH) | CLI_F(CLI_FILE) | CLI_F(CLI_PIPE) | CLI_F(CLI_METADATA) | R2_HEADERS,
     R2_REFUSED, 2, 2, "r2", .check = cli_check_r2_put},
    {"r2 delete", "BUCKET_NAME KEY... [options]", "delete objects", CLI_FLEET_FLAGS, R2_REFUSED, 2, MANY,
     "r2", .check = cli_check_r2},
    {"r2 list", "BUCKET_NAME [options]", "list objects",
     CLI_FLEET_FLAGS | CLI_LISTING_FLAGS | CLI_F(CLI_PREFIX), R2_REFUSED, 1, 1, "r2", .check = cli_check_r2},
};

const struct cli_command *cli_command(size_t index)
{
    return index < CD_COUNT(commands) ? &commands[index] : NULL;
}

int cli_fail(struct cli *c, const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    cli_echo(&c->error, cd_buf_str(&text));
    cd_buf_deinit(&text);
    return CD_EINVAL;
}

int cli_fail_text(struct cli *c, struct cd_str text)
{
    struct cd_buf lines = {0};
    text = cd_str_trim(text);
    cd_buf_addf(&lines, "Error: %.*s", (int)text.len, text.ptr);
    cli_say(c->io, cd_buf_str(&lines));
    cd_buf_deinit(&lines);
    return CD_EINVAL;
}

void cli_cause(struct cli *c, const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    if (c->causes.len > 0)
        cd_buf_add_byte(&c->causes, '\n');
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    cli_echo(&c->causes, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

static bool is_help(const char *arg)
{
    return strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0;
}

/* Whether the first words of args are those of name; how many. "" has none. */
static unsigned words_matched(const char *name, const char *const *args)
{
    struct cd_str rest = cd_str(name), word;
    unsigned count = 0;
    while (cd_str_next(&rest, ' ', &word)) {
        if (args[count] == NULL || !cd_str_eq(word, cd_str(args[count])))
            return 0;
        count++;
    }
    return count;
}

static const struct cli_command *find_command(const char *const *args, unsigned *words)
{
    for (size_t i = 1; i < CD_COUNT(commands); i++) {
        *words = words_matched(commands[i].name, args);
        if (*words > 0)
            return &commands[i];
    }
    return NULL;
}

/* The longest start of args that is the start of a command's words: "kv" or "kv bulk". Empty: none. */
static void find_group(struct cd_buf *group, const char *const *args, unsigned *words)
{
    *words = 0;
    for (unsigned n = 1; n <= 2 && args[n - 1] != NULL; n++) {
        struct cd_buf start = {0};
        for (unsigned i = 0; i < n; i++)
            cd_buf_addf(&start, "%s ", args[i]);
        for (size_t i = 0; *words < n && i < CD_COUNT(commands); i++) {
            if (cd_str_starts(cd_str(commands[i].name), cd_buf_str(&start))) {
                cd_buf_clear(group);
                cd_buf_add(group, start.ptr, start.len - 1);
                *words = n;
            }
        }
        cd_buf_deinit(&start);
    }
}

/* "celld cell list or celld cell gc": the words that may follow group. */
static void list_verbs(struct cd_buf *out, struct cd_str group)
{
    struct cd_str verbs[CD_COUNT(commands)];
    size_t count = 0;
    for (size_t i = 0; i < CD_COUNT(commands); i++) {
        struct cd_str name = cd_str(commands[i].name);
        if (name.len <= group.len || !cd_str_starts(name, group) || name.ptr[group.len] != ' ')
            continue;
        name = cd_str_sub(name, 0, cd_str_find(name, ' ', group.len + 1));
        if (count == 0 || !cd_str_eq(verbs[count - 1], name))
            verbs[count++] = name;
    }
    for (size_t i = 0; i < count; i++)
        cd_buf_addf(out, "%scelld %.*s",
                    i == 0           ? ""
                    : i + 1 == count ? " or "
                                     : ", ",
                    (int)verbs[i].len, verbs[i].ptr);
}

static int run_group(struct cli *c, struct cd_str group, const char *const *rest)
{
    struct cd_buf text = {0};
    int rc = 0;
    if (*rest == NULL || is_help(*rest)) {
        cli_help_group(&text, group);
        (void)cli_out_text(&c->out, cd_buf_str(&text));
    } else {
        list_verbs(&text, group);
        rc = cli_fail(c, "unknown %.*s command: %s; use %s", (int)group.len, group.ptr, *rest,
                      cd_buf_cstr(&text));
    }
    cd_buf_deinit(&text);
    return rc;
}

static void print_help(struct cli *c, const struct cli_command *command)
{
    struct cd_buf text = {0};
    if (command == NULL)
        cli_help_main(&text);
    else
        cli_help_command(&text, command);
    (void)cli_out_text(&c->out, cd_buf_str(&text));
    cd_buf_deinit(&text);
}

/* Help anywhere in the arguments of a subcommand, before all else; of diagnose only as the first one. */
static bool wants_help(const struct cli_command *command, const char *const *args)
{
    if (*args == NULL)
        return command->min > 0;
    if (strcmp(command->name, "diagnose") == 0)
        return is_help(*args) || strcmp(*args, "help") == 0;
    for (; *args != NULL && strcmp(*args, "--") != 0; args++) {
        if (is_help(*args))
            return true;
    }
    return false;
}

static void warn_unknown(void *arg, struct cd_str name, const char *near)
{
    struct cli *c = arg;
    struct cd_buf line = {0};
    struct cd_field fields[] = {CD_S("name", name), CD_Z("near", near)};
    cd_event_format(&line, CD_EVENT_TEXT, io_wall_us(c->io), CD_WARN, "celld", "unknown_setting", fields,
                    near == NULL ? 1 : 2);
    cli_say(c->io, cd_str_trim(cd_buf_str(&line)));
    cd_buf_deinit(&line);
}

/* What was asked for and will not happen must be seen before it is missed. */
static void warn_without_effect(struct cli *c)
{
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_value *v = &c->settings.value[id];
        if (!v->set || cli_setting((enum cli_set)id)->effective)
            continue;
        struct cd_buf line = {0};
        struct cd_field fields[] = {
            CD_Z("name", v->name), CD_Z("steers", cli_setting((enum cli_set)id)->part),
            CD_Z("note", "accepted and checked, but it has no effect in this version")};
        cd_event_format(&line, CD_EVENT_TEXT, io_wall_us(c->io), CD_WARN, "celld", "setting_without_effect",
                        fields, CD_COUNT(fields));
        cli_say(c->io, cd_str_trim(cd_buf_str(&line)));
        cd_buf_deinit(&line);
    }
}

static int run_command(struct cli *c, const struct cli_command *command, const char *const *args)
{
    int rc = cli_args_parse(c, command, args);
    if (rc == 0 && command->check != NULL)
        rc = command->check(c);
    if (rc == 0 && command->needs_bucket != NULL)
        rc = cli_check_fleet(c, command);
    if (rc != 0)
        return rc;
    /* Of the node that celld dev runs, celld dev has told already. */
    if (command->node && !cli_is_set(&c->settings, CLI_SET_INTERNAL_DEV_STORE)) {
        cli_settings_unknown(c->env, warn_unknown, c);
        warn_without_effect(c);
    }
    if (command->run != NULL)
        return command->run(c);
    const char *space = command->name[0] == 0 ? "" : " ";
    return cli_fail(c, "`celld%s%s` is not available in this version (%s) yet", space, command->name,
                    CELLD_VERSION);
}

/* Without arguments a configured machine serves, and a person gets help. */
static bool is_configured(const struct cli *c)
{
    return cli_is_set(&c->settings, CLI_SET_BUCKET) || cli_is_set(&c->settings, CLI_SET_ADDR) ||
           cli_is_set(&c->settings, CLI_SET_INTERNAL_ADDR) || cli_is_set(&c->settings, CLI_SET_ADVERTISE);
}

/* `celld help WORD...`: what the words with --help would show. */
static int help(struct cli *c, const char *const *words)
{
    struct cd_buf text = {0};
    unsigned count = 0;
    int rc = 0;
    if (strcmp(words[0], "env") == 0) {
        if (words[1] != NULL && strcmp(words[1], "--markdown") == 0)
            cli_settings_markdown(&text);
        else
            cli_help_env(&text, &c->settings);
        (void)cli_out_text(&c->out, cd_buf_str(&text));
        cd_buf_deinit(&text);
        return 0;
    }
    const struct cli_command *command = find_command(words, &count);
    if (command == NULL)
        find_group(&text, words, &count);
    const char *rest = words[command != NULL || text.len > 0 ? count : 0];
    if (rest != NULL)
        rc = cli_fail(c, "unknown command or option: %s; run `celld --help` for usage", rest);
    else if (command != NULL)
        print_help(c, command);
    else
        rc = run_group(c, cd_buf_str(&text), words + count);
    cd_buf_deinit(&text);
    return rc;
}

static int dispatch(struct cli *c)
{
    const char *first = c->args[0];
    struct cd_buf text = {0};
    unsigned words = 0;
    int rc = 0;
    if (first == NULL ? !is_configured(c) : is_help(first) || strcmp(first, "help") == 0) {
        rc = first == NULL || c->args[1] == NULL ? (print_help(c, NULL), 0) : help(c, c->args + 1);
    } else if (first != NULL && (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0 ||
                                 strcmp(first, "version") == 0)) {
        (void)cli_out_row(&c->out, c->debug ? CD_STR("celld " CELLD_VERSION " (debug)")
                                            : CD_STR("celld " CELLD_VERSION));
    } else if (first == NULL || first[0] == '-') {
        rc = run_command(c, &commands[0], c->args);
    } else {
        const struct cli_command *command = find_command(c->args, &words);
        if (command == NULL)
            find_group(&text, c->args, &words);
        if (command != NULL && wants_help(command, c->args + words))
            print_help(c, command);
        else if (command != NULL)
            rc = run_command(c, command, c->args + words);
        else if (text.len > 0)
            rc = run_group(c, cd_buf_str(&text), c->args + words);
        else
            rc = cli_fail(c, "unknown command or option: %s; run `celld --help` for usage", first);
    }
    cd_buf_deinit(&text);
    return rc;
}

/* operations.md 0.3. Further failures of the environment are lines of their own. */
static void print_error(struct cli *c)
{
    struct cd_str rest = cd_buf_str(&c->error), line;
    while (rest.ptr != NULL && cd_str_next(&rest, '\n', &line)) {
        struct cd_buf text = {0};
        cd_buf_addf(&text, "Error: %.*s", (int)line.len, line.ptr);
        cli_say(c->io, cd_buf_str(&text));
        cd_buf_deinit(&text);
    }
    if (c->causes.len == 0)
        return;
    cli_say(c->io, CD_STR("\nCaused by:"));
    bool several = cd_str_find(cd_buf_str(&c->causes), '\n', 0) != SIZE_MAX;
    rest = cd_buf_str(&c->causes);
    for (unsigned i = 0; cd_str_next(&rest, '\n', &line); i++) {
        struct cd_buf text = {0};
        if (several)
            cd_buf_addf(&text, "%5u: %.*s", i, (int)line.len, line.ptr);
        else
            cd_buf_addf(&text, "    %.*s", (int)line.len, line.ptr);
        cli_say(c->io, cd_buf_str(&text));
        cd_buf_deinit(&text);
    }
}

int cli_run(struct cli *c)
{
    cli_out_init(&c->out, c->io);
    int rc = cli_settings_read(&c->settings, c->env, &c->error);
    if (rc == 0)
        rc = dispatch(c);
    if (rc == 0)
        rc = cli_out_end(&c->out, &c->error);
    else
        (void)cli_out_flush(&c->out);
    if (rc != 0)
        print_error(c);
    cli_args_deinit(&c->parsed);
    cli_out_deinit(&c->out);
    cd_buf_deinit(&c->error);
    cd_buf_deinit(&c->causes);
    return rc == 0 ? 0 : rc == CD_EFENCED ? CLI_EXIT_FENCED : 1;
}
