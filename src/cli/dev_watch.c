/* cli/dev_watch.c: notices changes in the projects. All directories are watched but those that tools fill; a
 * burst of changes is one, which ends when it has been quiet for a while. */
#include "cli/dev_internal.h"
#include "cli/text.h"
#include "deploy/file.h"

#define QUIET_NS IO_MS(150)
#define BURST_NS IO_SEC(2) /* Who never stops changing things gets a build all the same. */
#define DIRS_MAX 100000u

bool cli_dev_ignores(struct cd_str name)
{
    static const char *const names[] = {
        ".celld",      ".git",  ".wrangler",     "node_modules", "target",   ".cache",
        ".hg",         ".svn",  ".next",         ".nuxt",        ".turbo",   ".yarn",
        ".pnpm-store", ".venv", ".parcel-cache", "__pycache__",  "coverage",
    };
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        if (cd_str_eq(name, cd_str(names[i])))
            return true;
    }
    return false;
}

/* Whether a pattern of the user covers the path. */
static bool is_excluded(const struct cli_dev *d, struct cd_str path, size_t root_len)
{
    const struct cli_args *a = &d->c->parsed;
    struct cd_str rel = cd_str_sub(path, root_len, SIZE_MAX);
    for (unsigned i = 0; i < a->repeated_count; i++) {
        if (a->repeated_flag[i] == CLI_WATCH_IGNORE && cli_glob_match(a->repeated[i], rel))
            return true;
    }
    return false;
}

/* ---- Directories ---- */

struct walk {
    struct cli_dev *d;
    struct cd_buf todo; /* Paths, each with a NUL behind it. */
    struct cd_buf path;
    struct cd_str dir;
    size_t root_len;
};

static void walk_name(void *arg, const char *name)
{
    struct walk *w = arg;
    struct io_path_info info;
    if (cli_dev_ignores(cd_str(name)))
        return;
    deploy_file_join(&w->path, w->dir, cd_str(name));
    if (io_path_stat(w->d->io, cd_buf_cstr(&w->path), &info) == IO_OK && info.kind == IO_PATH_DIR &&
        !info.link && !is_excluded(w->d, cd_buf_str(&w->path), w->root_len))
        cd_buf_add(&w->todo, w->path.ptr, w->path.len + 1);
}

static void dir_free(struct cli_dev_dir *dir)
{
    if (dir != NULL)
        cd_free(dir->path);
    cd_free(dir);
}

static void dir_watch(struct cli_dev *d, const char *path, size_t root_len)
{
    unsigned number;
    int rc = d->watch.dirs.count >= DIRS_MAX ? IO_NOSPACE : io_watch_add(&d->watch.watch, path, &number);
    if (rc == IO_NOSPACE && !d->watch.full) {
        d->watch.full = true;
        cli_dev_warning(&d->view,
                        CD_STR("warning: this machine watches no more directories; changes in some of the "
                               "project are not noticed (fs.inotify.max_user_watches)"));
    }
    if (rc != IO_OK)
        return; /* Gone again, or not ours to read: no build needs it either. */
    struct cli_dev_dir *dir = cd_new(struct cli_dev_dir);
    dir->path = cd_str_dup(cd_str(path));
    dir->root_len = root_len;
    dir_free(cd_map_put_u64(&d->watch.dirs, number, dir));
}

/* Watches path and all below it. First the watch, then the look: what comes meanwhile is told or seen. */
static void tree_watch(struct cli_dev *d, struct cd_str path, size_t root_len)
{
    struct walk w = {.d = d, .root_len = root_len};
    struct cd_buf dir = {0};
    cd_buf_add_str(&w.todo, path);
    cd_buf_add_byte(&w.todo, '\0');
    for (size_t at = 0; at < w.todo.len; at += dir.len + 1) {
        cd_buf_clear(&dir);
        cd_buf_add_str(&dir, cd_str(w.todo.ptr + at));
        dir_watch(d, cd_buf_cstr(&dir), root_len);
        w.dir = cd_buf_str(&dir);
        int rc = io_path_list(d->io, dir.ptr, walk_name, &w);
        CD_MAYBE(rc == IO_OK); /* Gone again. */
    }
    cd_buf_deinit(&w.todo);
    cd_buf_deinit(&w.path);
    cd_buf_deinit(&dir);
}

static void roots_watch(struct cli_dev *d)
{
    for (unsigned i = 0; i < d->projects; i++) {
        struct cd_str root = d->project[i].project.root;
        tree_watch(d, root, root.len + 1);
    }
}

/* ---- Changes ---- */

/* Whether it is one that a build could see. */
static bool is_change(struct cli_dev *d, const struct io_change *change)
{
    if (change->lost) {
        roots_watch(d);
        return true;
    }
    const struct cli_dev_dir *dir = cd_map_get_u64(&d->watch.dirs, change->dir);
    if (dir == NULL || (change->is_dir && cli_dev_ignores(cd_str(change->name))))
        return false;
    struct cd_buf path = {0};
    struct io_path_info info;
    deploy_file_join(&path, cd_str(dir->path), cd_str(change->name));
    bool counts = !is_excluded(d, cd_buf_str(&path), dir->root_len);
    if (counts && change->is_dir && io_path_stat(d->io, cd_buf_cstr(&path), &info) == IO_OK &&
        info.kind == IO_PATH_DIR && !info.link)
        tree_watch(d, cd_buf_str(&path), dir->root_len);
    cd_buf_deinit(&path);
    return counts;
}

/* Takes all changes there are. */
static bool changes_take(struct cli_dev *d)
{
    struct io_change change;
    bool any = false;
    while (io_watch_next(&d->watch.watch, &change))
        any = is_change(d, &change) || any;
    return any;
}

static void watch_flow(void *arg)
{
    struct cli_dev *d = arg;
    struct io_op op = {0};
    int rc;
    do {
        io_watch_wait(&d->watch.watch, &op, NULL);
        rc = io_await(&op, IO_FOREVER); /* Until somebody changes something. */
        if (rc != IO_OK || !changes_take(d))
            continue;
        uint64_t first_ns = io_now_ns(d->io), last_ns = first_ns;
        while (rc == IO_OK && io_now_ns(d->io) < last_ns + QUIET_NS &&
               io_now_ns(d->io) < first_ns + BURST_NS) {
            rc = io_sleep(d->io, QUIET_NS / 5);
            if (changes_take(d))
                last_ns = io_now_ns(d->io);
        }
        d->watch.changed = true;
        cli_dev_wake(d);
    } while (rc == IO_OK);
    d->watch.fiber = NULL;
    cli_dev_wake(d);
}

int cli_dev_watch_start(struct cli_dev *d, struct cd_buf *why)
{
    int rc = io_watch_open(&d->watch.watch, d->io);
    if (rc != IO_OK) {
        cd_buf_addf(why, "cannot watch the project: %s; --no-watch does without", cd_err_text(rc));
        return rc;
    }
    roots_watch(d);
    d->watch.fiber = io_spawn(d->io, "watch", watch_flow, d);
    return 0;
}

static bool has_ended(const void *arg)
{
    const struct cli_dev *d = arg;
    return d->watch.fiber == NULL;
}

void cli_dev_watch_stop(struct cli_dev *d)
{
    if (d->watch.watch.io == NULL)
        return;
    if (d->watch.fiber != NULL)
        io_fiber_cancel(d->watch.fiber);
    bool ended = cli_dev_wait(d, has_ended, d, IO_FOREVER); /* Cancelled: it ends. */
    CD_ASSERT(ended);
    io_watch_close(&d->watch.watch);
    for (struct cd_map_node *n = cd_map_first(&d->watch.dirs); n != NULL; n = cd_map_next(n))
        dir_free(cd_map_value(n));
    cd_map_deinit(&d->watch.dirs);
}
