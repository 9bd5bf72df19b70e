/* deploy/bundle.c: runs esbuild and takes what it made. */
#include "deploy/bundle.h"

#include <stdlib.h>

#include "base/encode.h"
#include "deploy/bundle_internal.h"
#include "deploy/files.h"

#define BUILD_NS IO_SEC(600) /* A bundler that takes longer hangs. */
#define SAID_MAX (1u << 20) /* Of its messages. */
#define META_MAX (64u << 20)

struct run { /* Of one process. */
    struct io_child child;
    struct cd_buf out, err;
};

struct building {
    const struct deploy_bundling *b;
    struct deploy_bundle *out;
    struct cd_buf *why;
    struct cd_buf temp; /* Relative to the project. */
    struct cd_buf path;
    const char *tool;
    struct cd_buf tool_path;
};

/* ---- Processes ---- */

static void stream_close(struct io_stream *s)
{
    struct io_op op = {0};
    if (s->io == NULL)
        return;
    io_stream_close(s, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing completes by itself. */
}

static int stream_read_all(struct io_stream *s, struct cd_buf *out, uint64_t deadline_ns)
{
    struct io_read r = {0};
    for (;;) {
        r.buf = cd_buf_reserve(out, 4096);
        r.cap = 4096;
        io_stream_read(s, &r, NULL);
        int rc = io_await(&r.op, deadline_ns);
        if (rc != IO_OK)
            return rc == IO_EOF ? IO_OK : rc;
        out->len += r.len;
        if (out->len > SAID_MAX)
            return CD_ETOOBIG;
    }
}

static void run_start(struct run *r, const struct deploy_bundling *b, const char *const *argv)
{
    r->child.flags = IO_CHILD_ERR | (io_loop_index(b->io) == 0 ? (unsigned)IO_CHILD_TIED : 0);
    io_child_start(&r->child, b->io, argv, b->env, b->project->root.ptr, NULL);
}

/* Its end: IO_OK with its exit code in child.code, or why it did not come to one. */
static int run_end(struct run *r, uint64_t deadline_ns)
{
    stream_close(&r->child.in);
    int rc = r->child.out.io == NULL ? IO_OK : stream_read_all(&r->child.out, &r->out, deadline_ns);
    int other = r->child.err.io == NULL ? IO_OK : stream_read_all(&r->child.err, &r->err, deadline_ns);
    if (rc == IO_OK)
        rc = other;
    if (rc != IO_OK)
        io_cancel(&r->child.exited);
    int ended = io_await(&r->child.exited, rc == IO_OK ? deadline_ns : IO_FOREVER); /* Killed: it ends. */
    stream_close(&r->child.out);
    stream_close(&r->child.err);
    return ended != IO_OK && ended != IO_CANCELED ? ended : rc != IO_OK ? rc : ended;
}

static void run_deinit(struct run *r)
{
    cd_buf_deinit(&r->out);
    cd_buf_deinit(&r->err);
}

/* ---- The bundler ---- */

static int tool_missing(struct building *x)
{
    cd_buf_addf(x->why,
                "esbuild not found (%s).\ncelld bundles with esbuild; install it (for example `npm install "
                "--save-dev esbuild`) and retry,\nor set CELLD_ESBUILD to its path.",
                x->tool);
    return CD_ENOTFOUND;
}

/* A path of CELLD_ESBUILD is one from the working directory, and the child works elsewhere. */
static int tool_first(struct building *x)
{
    struct cd_str tool = x->b->tool;
    if (tool.len == 0) {
        x->tool = "esbuild";
        return 0;
    }
    if (cd_str_find(tool, '/', 0) != SIZE_MAX && tool.ptr[0] != '/') {
        int rc = io_path_cwd(x->b->io, &x->tool_path);
        if (rc != IO_OK) {
            cd_buf_addf(x->why, "working directory: %s", cd_err_text(rc));
            return rc;
        }
        cd_buf_add_byte(&x->tool_path, '/');
    }
    cd_buf_add_str(&x->tool_path, tool);
    x->tool = cd_buf_cstr(&x->tool_path);
    return 0;
}

/* Where npm puts it, when it is not on PATH. */
static bool tool_next(struct building *x)
{
    if (x->b->tool.len > 0 || x->tool_path.len > 0)
        return false;
    deploy_file_join(&x->tool_path, x->b->project->root, CD_STR("node_modules/.bin/esbuild"));
    x->tool = cd_buf_cstr(&x->tool_path);
    return true;
}

/* The version is asked while the bundle is made: it costs no time that anybody waits for. */
static int bundler_run(struct building *x, struct deploy_words *w)
{
    struct run bundle = {0}, version = {0};
    uint64_t deadline_ns = io_now_ns(x->b->io) + BUILD_NS;
    w->word[0] = x->tool;
    const char *const ask[] = {x->tool, "--version", NULL};
    run_start(&bundle, x->b, w->word);
    run_start(&version, x->b, ask);
    int rc = run_end(&bundle, deadline_ns);
    int asked = run_end(&version, deadline_ns);
    struct cd_str said = cd_str_trim(cd_buf_str(&version.out));
    if (rc == IO_CANCELED || asked == IO_CANCELED) {
        rc = IO_CANCELED;
    } else if (rc == IO_OK && asked == IO_OK && !deploy_esbuild_is_recent(said)) {
        cd_buf_addf(x->why, "%s is esbuild %.*s; celld needs " DEPLOY_ESBUILD_MIN " or later", x->tool,
                    (int)said.len, said.ptr);
        rc = CD_EUNSUPPORTED;
    } else if (rc == IO_OK && bundle.child.code != 0) {
        struct cd_str text = cd_buf_str(&bundle.err);
        cd_buf_addf(x->why, "esbuild failed:\n%.*s", (int)text.len, text.ptr);
        if (text.len == 0)
            cd_buf_addf(x->why, "%s ended with code %d", x->tool, bundle.child.code);
        rc = CD_EINVAL;
    } else if (rc == IO_OK) {
        x->out->warnings = cd_buf_move(&bundle.err);
    } else if (rc != IO_NOENT) {
        cd_buf_addf(x->why, "%s: %s", x->tool, cd_err_text(rc));
    }
    run_deinit(&bundle);
    run_deinit(&version);
    return rc;
}

static int bundler(struct building *x)
{
    struct cd_arena arena = {0};
    struct deploy_words words = {.arena = &arena};
    int rc = tool_first(x);
    if (rc == 0) {
        deploy_words_addf(&words, "%s", x->tool);
        deploy_esbuild_args(&words, x->b->project, cd_buf_cstr(&x->temp), x->b->dev);
        rc = bundler_run(x, &words);
        if (rc == IO_NOENT && tool_next(x))
            rc = bundler_run(x, &words);
        if (rc == IO_NOENT)
            rc = tool_missing(x);
    }
    cd_free(words.word);
    cd_arena_deinit(&arena);
    return rc;
}

/* ---- What it made ---- */

struct deploy_module *deploy_bundle_add(struct deploy_bundle *out, struct cd_str name,
                                        enum deploy_module_kind kind)
{
    out->modules = cd_realloc(out->modules, (out->count + 1) * sizeof *out->modules);
    struct deploy_module *m = &out->modules[out->count++];
    *m = (struct deploy_module){.name = cd_arena_copy(&out->arena, name), .kind = kind};
    return m;
}

static int temp_read(struct building *x, const char *name, uint64_t max, struct cd_buf *to)
{
    cd_buf_clear(&x->path);
    cd_buf_addf(&x->path, "%s/%s/%s", x->b->project->root.ptr, cd_buf_cstr(&x->temp), name);
    int rc = deploy_file_read(x->b->io, cd_buf_cstr(&x->path), max, to);
    if (rc == CD_ETOOBIG)
        cd_buf_addf(x->why, "%s: more than %u MiB", name, (unsigned)(max >> 20));
    else if (rc != IO_OK)
        cd_buf_addf(x->why, "%s: %s", cd_buf_cstr(&x->path), cd_err_text(rc));
    return rc;
}

struct listing {
    struct building *x;
    struct cd_buf names; /* Each with a NUL behind it; in order. */
};

static void listing_add(void *arg, const char *name)
{
    cd_buf_add(&((struct listing *)arg)->names, name, strlen(name) + 1);
}

static int map_take(struct building *x, struct deploy_module *m)
{
    struct cd_buf text = {0}, out = {0};
    int rc = temp_read(x, "out/index.js.map", META_MAX, &text);
    cd_buf_addf(&out, "%s/out", cd_buf_cstr(&x->temp));
    if (rc == 0)
        rc = deploy_source_map_rebase(&m->source_map, cd_buf_str(&text), cd_buf_str(&out), x->why);
    cd_buf_deinit(&text);
    cd_buf_deinit(&out);
    return rc;
}

static int output_take(struct building *x, const char *name)
{
    struct cd_buf file = {0};
    cd_buf_addf(&file, "out/%s", name);
    int rc = 0;
    if (strcmp(name, "index.css") == 0 || cd_str_ends(cd_str(name), CD_STR(".css"))) {
        cd_buf_addf(x->why,
                    "unexpected bundler output: %s; a Worker cannot import style sheets (rules can make them "
                    "text)",
                    name);
        rc = CD_EUNSUPPORTED;
    } else if (strcmp(name, "index.js") != 0 && strcmp(name, "index.js.map") != 0) {
        struct deploy_module *m = deploy_bundle_add(x->out, cd_str(name), DEPLOY_MODULE_WASM);
        rc = temp_read(x, cd_buf_cstr(&file), DEPLOY_BYTES_MAX, &m->bytes);
    }
    cd_buf_deinit(&file);
    return rc;
}

static int outputs_take(struct building *x)
{
    struct listing l = {.x = x};
    struct deploy_module *main = deploy_bundle_add(x->out, CD_STR("index.js"), DEPLOY_MODULE_JS);
    int rc = temp_read(x, "out/index.js", DEPLOY_BYTES_MAX, &main->bytes);
    if (rc == 0 && x->b->dev)
        rc = map_take(x, main);
    if (rc != 0)
        return rc;
    cd_buf_clear(&x->path);
    cd_buf_addf(&x->path, "%s/%s/out", x->b->project->root.ptr, cd_buf_cstr(&x->temp));
    rc = io_path_list(x->b->io, cd_buf_cstr(&x->path), listing_add, &l);
    if (rc != IO_OK)
        cd_buf_addf(x->why, "%s: %s", cd_buf_cstr(&x->path), cd_err_text(rc));
    for (size_t at = 0; rc == 0 && at < l.names.len; at += strlen(l.names.ptr + at) + 1)
        rc = output_take(x, l.names.ptr + at);
    cd_buf_deinit(&l.names);
    return rc;
}

static int meta_take(struct building *x)
{
    struct cd_buf text = {0};
    int rc = temp_read(x, "meta.json", META_MAX, &text);
    if (rc == 0)
        rc = deploy_metafile_read(x->out, cd_buf_str(&text), x->why);
    cd_buf_deinit(&text);
    return rc;
}

/* ---- The whole ---- */

static int temp_make(struct building *x)
{
    struct cd_buf name = {0};
    unsigned char id[6];
    io_random(x->b->io, IO_RAND_ID, id, sizeof id);
    cd_buf_add_str(&name, CD_STR("build-"));
    cd_hex_encode(&name, cd_str_of(id, sizeof id));
    int rc = deploy_state_dir(x->b->io, x->b->project->root, cd_buf_cstr(&name), &x->path);
    if (rc != IO_OK)
        cd_buf_addf(x->why, "%s: %s", cd_buf_cstr(&x->path), cd_err_text(rc));
    cd_buf_addf(&x->temp, ".celld/%s", cd_buf_cstr(&name));
    cd_buf_deinit(&name);
    return rc;
}

static void temp_remove(struct building *x)
{
    deploy_file_join(&x->path, x->b->project->root, cd_buf_str(&x->temp));
    int rc = deploy_tree_remove(x->b->io, cd_buf_cstr(&x->path));
    CD_MAYBE(rc == IO_OK); /* What is left there disturbs nobody. */
}

static int bundle_by_esbuild(const struct deploy_bundling *b, struct deploy_bundle *out, struct cd_buf *why)
{
    struct building x = {.b = b, .out = out, .why = why};
    int rc = temp_make(&x);
    if (rc == 0) {
        rc = bundler(&x);
        if (rc == 0)
            rc = outputs_take(&x);
        if (rc == 0)
            rc = meta_take(&x);
        temp_remove(&x);
    }
    cd_buf_deinit(&x.temp);
    cd_buf_deinit(&x.path);
    cd_buf_deinit(&x.tool_path);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return cd_str_cmp(((const struct deploy_module *)a)->name, ((const struct deploy_module *)b)->name);
}

int deploy_bundle_check(struct deploy_bundle *out, struct cd_buf *why)
{
    uint64_t total = 0;
    CD_ASSERT(out->count > 0);
    qsort(out->modules + 1, out->count - 1, sizeof *out->modules, by_name);
    for (unsigned i = 0; i < out->count; i++) {
        const struct deploy_module *m = &out->modules[i];
        total += m->bytes.len;
        if (!deploy_module_name_ok(m->name)) {
            cd_buf_addf(why, "module %.*s: such a name cannot be stored", (int)m->name.len, m->name.ptr);
            return CD_EINVAL;
        }
        if (i > 0 && cd_str_eq(m->name, out->modules[0].name)) {
            cd_buf_addf(why, "module %.*s: the entry has this name", (int)m->name.len, m->name.ptr);
            return CD_EINVAL;
        }
    }
    if (total > DEPLOY_BYTES_MAX) {
        cd_buf_addf(why, "the modules have %llu bytes, at most %u are allowed", (unsigned long long)total,
                    DEPLOY_BYTES_MAX);
        return CD_ETOOBIG;
    }
    return 0;
}

int deploy_bundle_make(const struct deploy_bundling *b, struct deploy_bundle *out, struct cd_buf *why)
{
    CD_ASSERT(b->project->main.len > 0 && out->count == 0);
    int rc = b->project->no_bundle ? deploy_bundle_plain(b, out, why) : bundle_by_esbuild(b, out, why);
    if (rc == 0)
        rc = deploy_bundle_check(out, why);
    if (rc != 0)
        deploy_bundle_deinit(out);
    return rc;
}

void deploy_bundle_deinit(struct deploy_bundle *out)
{
    for (unsigned i = 0; i < out->count; i++) {
        cd_buf_deinit(&out->modules[i].bytes);
        cd_buf_deinit(&out->modules[i].source_map);
    }
    cd_free(out->modules);
    cd_free(out->inputs);
    cd_free(out->exports);
    cd_buf_deinit(&out->warnings);
    cd_arena_deinit(&out->arena);
    *out = (struct deploy_bundle){0};
}
