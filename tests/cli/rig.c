/* tests/cli/rig.c: one invocation of celld on the simulator. */
#include "cli/rig.h"

void rig_open(struct rig *r)
{
    *r = (struct rig){.sim = sim_new(NULL)};
    r->node = sim_node(r->sim, &(struct sim_node_opts){.name = "operator", .client = true});
}

void rig_close(struct rig *r)
{
    sim_free(r->sim);
}

void rig_env(struct rig *r, const char *entry)
{
    unsigned count = 0;
    while (r->env[count] != NULL)
        count++;
    assert_true(count + 1 < RIG_MAX);
    r->env[count] = entry;
}

#define WOULD_RUN "a node would run now"

/* What a command that passed its checks comes to. */
static int run_node(struct cli *c, const struct cli_node *n)
{
    (void)n;
    return cli_fail(c, WOULD_RUN);
}

int rig_run(struct rig *r, const char *args)
{
    const char *argv[RIG_MAX] = {NULL};
    struct cd_str rest = cd_str(args), word;
    unsigned count = 0;
    while (rest.len > 0 && cd_str_next(&rest, ' ', &word)) {
        assert_true(count + 1 < RIG_MAX);
        argv[count++] = cd_str_dup(cd_str_eq(word, CD_STR("''")) ? CD_STR("") : word);
    }
    sim_console_clear(r->node, IO_STDOUT);
    sim_console_clear(r->node, IO_STDERR);
    struct cli c = {
        .io = sim_io(r->node, 0), .args = argv, .env = r->env, .run_node = run_node, .threads = 2};
    int code = cli_run(&c);
    for (unsigned i = 0; i < count; i++)
        cd_free((void *)(uintptr_t)argv[i]);
    return code;
}

struct cd_str rig_out(struct rig *r)
{
    return sim_console(r->node, IO_STDOUT);
}

struct cd_str rig_err(struct rig *r)
{
    return sim_console(r->node, IO_STDERR);
}

bool rig_has(struct cd_str text, const char *part)
{
    return cd_str_find_str(text, cd_str(part), 0) != SIZE_MAX;
}

/* Runs and expects exit code 1 and no data. The caller compares stderr. */
static void run_refused(struct rig *r, const char *env, const char *args, char **lines)
{
    struct cd_str rest = cd_str(env), line;
    unsigned count = 0;
    rig_open(r);
    while (rest.ptr != NULL && cd_str_next(&rest, '\n', &line)) {
        lines[count] = cd_str_dup(line);
        rig_env(r, lines[count++]);
    }
    int code = rig_run(r, args);
    if (code != 1 || rig_out(r).len != 0)
        fail_msg("celld %s: exit code %d, %zu bytes of output", args, code, rig_out(r).len);
}

static void close_refused(struct rig *r, char **lines)
{
    rig_close(r);
    for (unsigned i = 0; lines[i] != NULL; i++)
        cd_free(lines[i]);
}

static void refuse(const char *env, const char *args, const char *text, bool whole)
{
    struct rig r;
    char *lines[RIG_MAX] = {NULL};
    run_refused(&r, env, args, lines);
    struct cd_str err = cd_str_trim(rig_err(&r));
    if (whole ? !cd_str_eq(err, cd_str(text)) : !rig_has(err, text))
        fail_msg("celld %s said\n%.*s\nwant\n%s", args, (int)err.len, err.ptr, text);
    close_refused(&r, lines);
}

void rig_refuses(const char *env, const char *args, const char *error)
{
    refuse(env, args, error, true);
}

void rig_refuses_with(const char *env, const char *args, const char *text)
{
    refuse(env, args, text, false);
}

void rig_accepts(const char *env, const char *args)
{
    struct rig r;
    char *lines[RIG_MAX] = {NULL};
    run_refused(&r, env, args, lines);
    struct cd_str err = cd_str_trim(rig_err(&r));
    if (!rig_has(err, WOULD_RUN) && !rig_has(err, "is not available in this version (" CELLD_VERSION ") yet"))
        fail_msg("celld %s said\n%.*s", args, (int)err.len, err.ptr);
    close_refused(&r, lines);
}
