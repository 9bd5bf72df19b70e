/* cli/command.h: what one invocation of celld is, and the table of its commands (operations.md 1). */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/node.h"
#include "cli/out.h"
#include "cli/settings.h"

/* Every flag of every command. A command lists the ones it takes. */
enum cli_flag {
    CLI_BUCKET,
    CLI_ENDPOINT,
    CLI_REGION,
    CLI_UNSAFE_PUBLIC_ADVERTISE,
    CLI_LISTEN,
    CLI_INTERNAL_LISTEN,
    CLI_ADVERTISE,
    CLI_TRUST_FORWARDED_HEADERS,
    CLI_LIMIT,
    CLI_AFTER,
    CLI_ALL,
    CLI_PREFIX,
    CLI_JSON,
    CLI_PEER,
    CLI_READ_ONLY,
    CLI_CONFIG,
    CLI_DRY_RUN,
    CLI_GRACE_SECS,
    CLI_COMMAND,
    CLI_FILE,
    CLI_PATH,
    CLI_PIPE,
    CLI_TTL,
    CLI_EXPIRATION_TTL,
    CLI_EXPIRATION,
    CLI_METADATA,
    CLI_FORCE,
    CLI_CONTENT_TYPE,
    CLI_CONTENT_LANGUAGE,
    CLI_CONTENT_DISPOSITION,
    CLI_CONTENT_ENCODING,
    CLI_CACHE_CONTROL,
    CLI_CACHE_EXPIRY,
    CLI_HOST,
    CLI_PORT,
    CLI_LOGS,
    CLI_NO_WATCH,
    CLI_WATCH_IGNORE,
    CLI_CLEAN,
    CLI_NODES,
    CLI_LOCAL, /* These four are always refused, with the reason. */
    CLI_REMOTE,
    CLI_PREVIEW,
    CLI_JURISDICTION,
    CLI_FLAG_COUNT
};

#define CLI_DEV_PORT 9876 /* Unless --port says otherwise. */
#define CLI_DEV_FLEET_BUCKET                                                                                 \
    "celld-dev-fleet" /* What CELLD_BUCKET says when nodes share the internal store. */
#define CLI_DEV_NODES_MAX 7u /* Of --nodes. */
#define CLI_REPEAT_MAX 256 /* Of repeatable flags. */

struct cli_flag_info {
    const char *name; /* "--bucket" */
    const char *value; /* Its placeholder in help, "URL"; NULL: the flag takes none. */
    bool repeatable;
    const char *help;
    const char *brief; /* "-c"; NULL: none. */
};
const struct cli_flag_info *cli_flag_info(enum cli_flag flag);

/* Sets of flags. */
#define CLI_F(flag) (UINT64_C(1) << (flag))
CD_STATIC_ASSERT(CLI_FLAG_COUNT <= 64, "a set of flags is one word");
#define CLI_FLEET_FLAGS (CLI_F(CLI_BUCKET) | CLI_F(CLI_ENDPOINT) | CLI_F(CLI_REGION))
/* Flags with a value that a variable can set too. */
#define CLI_MIRRORED_FLAGS                                                                                   \
    (CLI_FLEET_FLAGS | CLI_F(CLI_LISTEN) | CLI_F(CLI_INTERNAL_LISTEN) | CLI_F(CLI_ADVERTISE))
#define CLI_ROUTED_FLAGS (CLI_FLEET_FLAGS | CLI_F(CLI_UNSAFE_PUBLIC_ADVERTISE))
#define CLI_LISTING_FLAGS (CLI_F(CLI_LIMIT) | CLI_F(CLI_AFTER) | CLI_F(CLI_ALL) | CLI_F(CLI_JSON))
#define CLI_SERVE_FLAGS                                                                                      \
    (CLI_ROUTED_FLAGS | CLI_F(CLI_LISTEN) | CLI_F(CLI_INTERNAL_LISTEN) | CLI_F(CLI_ADVERTISE) |              \
     CLI_F(CLI_TRUST_FORWARDED_HEADERS))

struct cli_args {
    uint64_t given;
    struct cd_str value[CLI_FLAG_COUNT]; /* Of the last one, when given. */
    struct cd_str repeated[CLI_REPEAT_MAX]; /* All values of repeatable flags, in their order, */
    enum cli_flag repeated_flag[CLI_REPEAT_MAX]; /* and which one each is of. */
    unsigned repeated_count;
    struct cd_str *positional; /* owned */
    unsigned positional_count;
};

static inline bool cli_given(const struct cli_args *a, enum cli_flag flag)
{
    return (a->given & CLI_F(flag)) != 0;
}

/* Exit codes of a node that others are to start again (operations.md 0.2). */
#define CLI_EXIT_FENCED 3 /* It could not prove its lease. */
#define CLI_EXIT_STUCK 4 /* A turn of JavaScript could not be ended. */

struct cli {
    struct io *io;
    const char *const *args; /* Without the program's name, ending with NULL. */
    const char *const *env; /* NAME=value, ending with NULL. */
    bool debug; /* Built with sanitizers: the version says so. */
    cli_node_fn *run_node; /* For commands that run loops. */
    cli_give_up_fn *give_up;
    cli_store_fn *store_add; /* For those that need a store only later. */
    unsigned threads; /* CPUs there are: shards of a node unless a setting says otherwise. */
    struct cli_settings settings;
    struct cli_args parsed;
    struct cli_out out;
    struct cd_buf error; /* Lines: the message of the failure, and further ones. */
    struct cd_buf causes; /* Lines, from the outer to the inner. */
};

struct cli_command {
    const char *name; /* "cell list"; "" is serve. */
    const char *args; /* Of the usage line: "[CLASS] [options]". */
    const char *about; /* One line. */
    uint64_t flags, refused;
    unsigned min, max; /* Positionals. */
    /* Operator commands refuse to start without a bucket, under this name ("d1"). NULL: they do not. */
    const char *needs_bucket;
    const char *more; /* Further help, lines. May be NULL. */
    /* Checks what the table cannot say. On failure the message is in c->error. May be NULL. */
    int (*check)(struct cli *c);
    /* NULL: it is not built yet. */
    int (*run)(struct cli *c);
    bool node; /* Runs a node: settings without effect are told. */
};

/* The commands in the order of help; NULL at the end. */
const struct cli_command *cli_command(size_t index);

/* Runs the invocation to its end and returns the exit code (operations.md 0.2). Writes through c->io alone.
 * The caller sets io, args, env and debug, and zeroes the rest. Call from a fiber of io's loop, or before the
 * loop runs. */
int cli_run(struct cli *c);

/* For commands: says why they fail, in one line; whatever of it somebody gave us is made safe for a terminal
 * (cli_echo). Returns CD_EINVAL. */
int cli_fail(struct cli *c, const char *format, ...) CD_PRINTF(2, 3);
/* The same, at once, for a text of several lines: the first one is ours, the rest stands below it as it is.
 */
int cli_fail_text(struct cli *c, struct cd_str text);
void cli_cause(struct cli *c, const char *format, ...) CD_PRINTF(2, 3);

/* Parses the arguments behind the command's words into c->parsed. */
CD_MUST_USE int cli_args_parse(struct cli *c, const struct cli_command *command, const char *const *args);
void cli_args_deinit(struct cli_args *a);

/* cli/check.c: what commands share. */
CD_MUST_USE int cli_check_fleet(struct cli *c, const struct cli_command *command);
CD_MUST_USE int cli_check_serve(struct cli *c);
CD_MUST_USE int cli_check_diagnose(struct cli *c);
CD_MUST_USE int cli_check_dev(struct cli *c);
/* cli/check_admin.c */
CD_MUST_USE int cli_check_listing(struct cli *c);
CD_MUST_USE int cli_check_cell_list(struct cli *c);
CD_MUST_USE int cli_check_cell_gc(struct cli *c);
CD_MUST_USE int cli_check_d1_execute(struct cli *c);
CD_MUST_USE int cli_check_kv_put(struct cli *c);
CD_MUST_USE int cli_check_kv(struct cli *c);
CD_MUST_USE int cli_check_queue_limit(struct cli *c);
CD_MUST_USE int cli_check_queue_purge(struct cli *c);
CD_MUST_USE int cli_check_r2(struct cli *c);
CD_MUST_USE int cli_check_r2_put(struct cli *c);

/* The flag's value, else the variable's that it mirrors when that is not blank, else empty. */
struct cd_str cli_either(const struct cli *c, enum cli_flag flag, enum cli_set set);
/* A switch: the flag was given, or the variable is 1. */
bool cli_on(const struct cli *c, enum cli_flag flag, enum cli_set set);

/* cli/help.c */
void cli_help_main(struct cd_buf *out);
void cli_help_command(struct cd_buf *out, const struct cli_command *command);
/* The commands below a word: "cell", "kv bulk". */
void cli_help_group(struct cd_buf *out, struct cd_str word);
/* `celld help env`: each setting with its value. */
void cli_help_env(struct cd_buf *out, const struct cli_settings *settings);
void cli_settings_markdown(struct cd_buf *out); /* docs/settings.md */

#endif
