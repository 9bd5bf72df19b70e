/* cli/dev.c: `celld dev`: builds a project, runs a node that serves it, and does so again when it changes
 * (operations.md 4). */
#include "cli/dev.h"

#include "cli/dev_internal.h"
#include "cli/paths.h"
#include "deploy/files.h"

#define SIGNAL_INT 2

/* ---- Waiting and tasks ---- */

void cli_dev_wake(struct cli_dev *d)
{
    io_signal_wake(&d->news, IO_OK);
}

bool cli_dev_wait(struct cli_dev *d, bool (*holds)(const void *arg), const void *arg, uint64_t deadline_ns)
{
    while (!holds(arg)) {
        struct io_op op = {0};
        io_signal_wait(&d->news, d->io, &op, NULL);
        if (io_await(&op, deadline_ns) == IO_TIMEDOUT)
            return holds(arg);
    }
    return true;
}

static void task_flow(void *arg)
{
    struct cli_dev *d = arg;
    d->task.rc = d->task.run(d, &d->task.why);
    d->task.running = false;
    cli_dev_wake(d);
}

static bool task_or_stop(const void *arg)
{
    const struct cli_dev *d = arg;
    return !d->task.running || d->stopping;
}

static bool task_over(const void *arg)
{
    return !((const struct cli_dev *)arg)->task.running;
}

int cli_dev_task_run(struct cli_dev *d, const char *name, int (*run)(struct cli_dev *d, struct cd_buf *why),
                     struct cd_buf *why)
{
    CD_ASSERT(!d->task.running);
    d->task.run = run;
    d->task.running = true;
    cd_buf_clear(&d->task.why);
    struct io_fiber *fiber = io_spawn(d->io, name, task_flow, d);
    (void)cli_dev_wait(d, task_or_stop, d, IO_FOREVER); /* A build has a bound of its own. */
    if (d->task.running)
        io_fiber_cancel(fiber);
    (void)cli_dev_wait(d, task_over, d, IO_FOREVER);
    cd_buf_add_str(why, cd_buf_str(&d->task.why));
    return d->stopping && d->task.rc != 0 ? IO_CANCELED : d->task.rc;
}

/* ---- The main flow ---- */

/* A port must be ours alone. The node would share it with another process of this user. */
static int port_check(struct cli_dev *d, uint16_t port, struct cd_buf *why)
{
    struct io_listener listener = {0};
    struct io_addr at = {.port = port};
    struct io_op op = {0};
    memcpy(at.host, d->host.ptr, d->host.len);
    int rc = io_listen(&listener, d->io, &at, 0);
    if (rc == IO_OK) {
        io_listener_close(&listener, &op, NULL);
        return io_await(&op, IO_FOREVER); /* Closing completes by itself. */
    }
    bool v6 = cd_str_find(d->host, ':', 0) != SIZE_MAX;
    cd_buf_addf(why, "cannot listen on %s%.*s%s:%u: ", v6 ? "[" : "", (int)d->host.len, d->host.ptr,
                v6 ? "]" : "", port);
    if (rc == IO_BUSY || rc == IO_EXISTS)
        cd_buf_addf(why, "address already in use; choose another --port");
    else
        cd_buf_addf(why, "%s", cd_err_text(rc));
    return rc;
}

/* Changes are noticed from before the look at the files on: none is missed. */
static int build_first(struct cli_dev *d, struct cd_buf *why)
{
    int rc = d->watched ? cli_dev_watch_start(d, why) : 0;
    if (rc != 0)
        return rc;
    cli_dev_step(&d->view, "building the application");
    return cli_dev_task_run(d, "build", cli_dev_build, why);
}

/* Serves the last version at once when nothing has changed since; whether that is really so is looked at
 * after, and the store is opened for that only: the node has it open itself. */
static int begin(struct cli_dev *d, struct cd_buf *why)
{
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < d->nodes; i++)
        rc = port_check(d, (uint16_t)(d->port + i), why);
    bool built = rc == 0 && cli_dev_is_built(d);
    if (rc == 0 && !built)
        rc = d->c->store_add(d->c, d->io, cd_buf_str(&d->state));
    if (rc == 0 && !built)
        rc = build_first(d, why);
    if (rc == 0)
        cli_dev_fleet_start(d);
    if (rc == 0 && built && d->watched)
        rc = cli_dev_watch_start(d, why);
    if (rc == 0)
        rc = cli_dev_fleet_wait(d, why);
    if (rc == 0 && built)
        rc = d->c->store_add(d->c, d->io, cd_buf_str(&d->state));
    if (rc == 0 && built && cli_dev_task_run(d, "verify", cli_dev_verify, why) != 0)
        d->watch.changed = true;
    return rc;
}

/* Errors of the application end nothing: what it served before it goes on serving. */
static void rebuild(struct cli_dev *d)
{
    struct cd_buf reason = {0};
    cli_dev_step(&d->view, "change detected; rebuilding the application");
    int rc = cli_dev_task_run(d, "build", cli_dev_build, &reason);
    if (rc != 0 && rc != IO_CANCELED)
        cli_dev_error(&d->view, "reload failed", cd_buf_str(&reason));
    for (unsigned i = 0; rc == 0 && d->moved && i < d->nodes; i++)
        d->node[i].stale = true;
    cd_buf_deinit(&reason);
}

static bool has_news(const void *arg)
{
    const struct cli_dev *d = arg;
    return d->stopping || cli_dev_fleet_over(d) || d->watch.changed || cli_dev_fleet_stale(d);
}

static int attend(struct cli_dev *d, struct cd_buf *why)
{
    for (;;) {
        (void)cli_dev_wait(d, has_news, d, IO_FOREVER); /* Until there is something to do. */
        if (d->stopping)
            return 0;
        if (cli_dev_fleet_over(d)) {
            cd_buf_add_str(why, cd_buf_str(&d->node[0].failure));
            return CD_ECLOSED;
        }
        if (d->watch.changed) {
            d->watch.changed = false;
            rebuild(d);
        }
        cli_dev_fleet_reload(d);
    }
}

static void main_flow(void *arg)
{
    struct cli_dev *d = arg;
    int rc = begin(d, &d->failure);
    if (rc == 0) {
        if (d->fleet)
            cli_dev_keys_start(d);
        rc = attend(d, &d->failure);
    }
    cli_dev_keys_stop(d);
    cli_dev_watch_stop(d);
    cli_dev_fleet_stop(d);
    d->rc = d->signals > 1 ? CD_ECLOSED : d->stopping ? 0 : rc;
    if (d->stopping)
        cd_buf_clear(&d->failure);
    io_stop(d->io);
}

static void entry(struct io *io, void *arg)
{
    struct cli_dev *d = arg;
    d->io = io;
    d->view.io = io;
    (void)io_spawn(io, "dev", main_flow, d);
}

/* The first one asks the nodes to go, the second does not wait for that. */
static void signaled(struct io *io, int number, void *arg)
{
    struct cli_dev *d = arg;
    (void)io;
    if (d->stopping && number == SIGNAL_INT)
        d->signals++;
    if (!d->stopping)
        d->signals = 1;
    d->stopping = true;
    if (d->signals > 1)
        cli_dev_fleet_kill(d);
    cli_dev_wake(d);
}

/* ---- Before it runs ---- */

/* The file that tells a second `celld dev` of the first one. It lies beside the state, which --clean removes.
 */
static int lock_take(struct cli_dev *d, struct cd_str root)
{
    struct cd_buf path = {0}, text = {0};
    int rc = deploy_state_dir(d->io, root, "", &path);
    if (rc != IO_OK) {
        rc = cli_fail(d->c, "%s: %s", cd_buf_cstr(&path), cd_err_text(rc));
        goto end;
    }
    cd_buf_add_str(&path, CD_STR("dev.lock"));
    rc = io_file_open(&d->lock, d->io, cd_buf_cstr(&path), IO_FILE_CREATE | IO_FILE_LOCK);
    if (rc == IO_BUSY) {
        int read = deploy_file_read(d->io, cd_buf_cstr(&path), 32, &text);
        struct cd_str pid = read == IO_OK ? cd_str_trim(cd_buf_str(&text)) : CD_STR("unknown");
        rc =
            cli_fail(d->c, "another celld dev is running for this project (pid %.*s)", (int)pid.len, pid.ptr);
    } else if (rc != IO_OK) {
        rc = cli_fail(d->c, "%s: %s", cd_buf_cstr(&path), cd_err_text(rc));
    } else {
        cd_buf_addf(&text, "%u\n", io_process_id(d->io));
        rc = io_file_truncate(&d->lock, 0);
        if (rc == IO_OK)
            rc = io_file_pwrite(&d->lock, text.ptr, text.len, 0);
        if (rc != IO_OK)
            rc = cli_fail(d->c, "%s: %s", cd_buf_cstr(&path), cd_err_text(rc));
    }
end:
    cd_buf_deinit(&path);
    cd_buf_deinit(&text);
    return rc;
}

/* Removes exactly the state of the project, and nothing that a link leads to. */
static int state_clean(struct cli_dev *d, struct cd_str root, const char **said)
{
    static const char *const parts[] = {".celld", ".celld/dev"};
    struct cd_buf path = {0};
    struct io_path_info info;
    int rc = IO_OK;
    for (size_t i = 0; rc == IO_OK && i < CD_COUNT(parts); i++) {
        deploy_file_join(&path, root, cd_str(parts[i]));
        rc = io_path_stat(d->io, cd_buf_cstr(&path), &info);
        if (rc == IO_OK && (info.link || info.kind != IO_PATH_DIR))
            rc = cli_fail(d->c, "--clean removes a directory, and %s is %s", cd_buf_cstr(&path),
                          info.link ? "a symbolic link" : "none");
    }
    *said = rc == IO_OK ? "discarded the existing local state" : "no local state to discard";
    if (rc == IO_OK) {
        CD_ASSERT(cd_str_ends(cd_buf_str(&path), CD_STR("/.celld/dev")));
        rc = deploy_tree_remove(d->io, cd_buf_cstr(&path));
        if (rc != IO_OK && rc != IO_NOENT)
            rc = cli_fail(d->c, "%s: %s", cd_buf_cstr(&path), cd_err_text(rc));
    }
    cd_buf_deinit(&path);
    return rc == IO_NOENT ? IO_OK : rc;
}

/* The projects of the command line: PROJECT, or the current directory, then those of --config. */
static int projects_name(struct cli_dev *d)
{
    const struct cli_args *a = &d->c->parsed;
    if (a->positional_count > 0)
        d->project[d->projects++].shown = a->positional[0];
    for (unsigned i = 0; i < a->repeated_count; i++) {
        if (a->repeated_flag[i] != CLI_CONFIG)
            continue;
        if (d->projects == CLI_DEV_PROJECTS_MAX)
            return cli_fail(d->c, "more than %d projects", CLI_DEV_PROJECTS_MAX);
        d->project[d->projects++].shown = a->repeated[i];
    }
    if (d->projects == 0)
        d->project[d->projects++].shown = CD_STR(".");
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < d->projects; i++)
        rc = cli_path_absolute(d->c, d->project[i].shown, &d->project[i].path);
    return rc;
}

static int header(struct cli_dev *d)
{
    const struct cli_args *a = &d->c->parsed;
    struct cd_str root = d->project[0].project.root;
    const char *cleaned = NULL;
    int rc = lock_take(d, root);
    if (rc == 0 && cli_given(a, CLI_CLEAN))
        rc = state_clean(d, root, &cleaned);
    if (rc != 0)
        return rc;
    rc = deploy_state_dir(d->io, root, "dev", &d->state);
    if (rc != IO_OK)
        return cli_fail(d->c, "%s: %s", cd_buf_cstr(&d->state), cd_err_text(rc));
    cli_dev_title(&d->view);
    for (unsigned i = 0; i < d->projects; i++)
        cli_dev_label(&d->view, i == 0 ? "Project" : "Service", "%s (%s)", d->project[i].project.file.ptr,
                      d->project[i].project.name.ptr);
    cli_dev_label(&d->view, "State", "%s", cd_buf_cstr(&d->state));
    if (cleaned != NULL)
        cli_dev_label(&d->view, "Clean", "%s", cleaned);
    if (d->fleet) {
        struct cd_buf keys = {0};
        cli_dev_key_help(&keys);
        cli_dev_label(&d->view, "Nodes", "%u, at ports %u to %u; their leases last %llu ms", d->nodes,
                      d->port, d->port + d->nodes - 1, (unsigned long long)d->ttl_ms);
        cli_dev_label(&d->view, "Keys", "%s", cd_buf_cstr(&keys));
        cd_buf_deinit(&keys);
    }
    cli_dev_label(&d->view, "Logs", "%s", d->logs ? "shown" : "hidden (use --logs)");
    cli_dev_label(&d->view, "Watch", "%s", d->watched ? "enabled" : "disabled");
    return 0;
}

static int prepare(struct cli_dev *d)
{
    const struct cli_args *a = &d->c->parsed;
    const struct cli_settings *set = &d->c->settings;
    uint64_t port = CLI_DEV_PORT, nodes = 1;
    d->host = cli_given(a, CLI_HOST) ? a->value[CLI_HOST] : CD_STR("127.0.0.1");
    int rc = cli_given(a, CLI_PORT) ? cd_str_u64(a->value[CLI_PORT], &port) : 0;
    if (rc == 0 && cli_given(a, CLI_NODES))
        rc = cd_str_u64(a->value[CLI_NODES], &nodes);
    CD_ASSERT(rc == 0 && port <= UINT16_MAX && nodes <= CLI_DEV_NODES_MAX); /* cli_check_dev has looked. */
    d->port = (uint16_t)port;
    d->nodes = (unsigned)nodes;
    d->fleet = cli_given(a, CLI_NODES);
    d->ttl_ms = cli_is_set(set, CLI_SET_TTL_MS) ? cli_num(set, CLI_SET_TTL_MS) : CLI_DEV_TTL_MS;
    d->logs = cli_given(a, CLI_LOGS);
    d->watched = !cli_given(a, CLI_NO_WATCH);
    rc = projects_name(d);
    if (rc == 0 && cli_dev_projects_load(d, &d->failure) != 0)
        return cli_fail_text(d->c, cd_buf_str(&d->failure));
    return rc == 0 ? header(d) : rc;
}

static void finish(struct cli_dev *d)
{
    if (d->lock.io != NULL)
        (void)io_file_close(&d->lock); /* Nothing of it must last. */
    for (unsigned i = 0; i < d->projects; i++) {
        cd_buf_deinit(&d->project[i].path);
        cd_buf_deinit(&d->project[i].warned);
        if (d->project[i].loaded)
            deploy_project_deinit(&d->project[i].project);
    }
    deploy_fingerprint_deinit(&d->built);
    cd_buf_deinit(&d->state);
    cd_buf_deinit(&d->failure);
    cd_buf_deinit(&d->task.why);
    cd_free(d);
}

int cli_dev(struct cli *c)
{
    struct cli_dev *d = cd_new(struct cli_dev);
    d->c = c;
    d->io = d->view.io = c->io;
    d->view.color = cli_color(c->env, io_console_is_tty(c->io, IO_STDOUT));
    io_signal_init(&d->news);
    int rc = prepare(d);
    if (rc == 0) {
        struct cli_node node = {
            .log_filter = CD_STR("error"), .entry = entry, .signaled = signaled, .arg = d};
        rc = c->run_node(c, &node);
        d->io = c->io; /* The loop it ran on is gone. */
        if (rc == 0 && d->rc != 0)
            rc = d->failure.len > 0 ? cli_fail_text(d->c, cd_buf_str(&d->failure)) : d->rc;
    }
    finish(d);
    return rc;
}
