/* deploy/bundle_plain.c: projects with no_bundle (config.md 6.5): the entry as it is, and the WebAssembly
 * below its directory. */
#include "deploy/bundle_internal.h"
#include "deploy/files.h"

struct walk {
    const struct deploy_bundling *b;
    struct deploy_bundle *out;
    struct cd_buf *why;
    struct cd_buf base; /* The directory of the entry, with a slash at its end. */
    struct cd_buf dirs; /* Still to be walked: relative to base, each with a NUL behind it. */
    struct cd_buf rel, path; /* Of what is being looked at. */
    struct cd_str dir; /* Being listed, relative to base: "" or "a/b/". */
    uint64_t total;
    int rc;
};

static bool is_skipped(const char *name)
{
    static const char *const names[] = {".git", ".celld", ".wrangler", "node_modules"};
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static int file_take(struct walk *w, struct cd_str name, enum deploy_module_kind kind)
{
    struct deploy_module *m = deploy_bundle_add(w->out, name, kind);
    int rc = deploy_file_read(w->b->io, cd_buf_cstr(&w->path), DEPLOY_BYTES_MAX - w->total, &m->bytes);
    w->total += m->bytes.len;
    if (rc != 0)
        cd_buf_addf(w->why, "%s: %s", cd_buf_cstr(&w->path), cd_err_text(rc));
    return rc;
}

static int wasm_take(struct walk *w, const struct io_path_info *info)
{
    struct cd_str name = cd_buf_str(&w->rel);
    if (info->link || info->kind != IO_PATH_FILE || !deploy_module_name_ok(name)) {
        cd_buf_addf(w->why, "%s: WebAssembly must be a regular file with a plain name, not a link",
                    cd_buf_cstr(&w->path));
        return CD_EINVAL;
    }
    return file_take(w, name, DEPLOY_MODULE_WASM);
}

static void walk_name(void *arg, const char *name)
{
    struct walk *w = arg;
    struct io_path_info info;
    if (w->rc != 0)
        return;
    cd_buf_clear(&w->rel);
    cd_buf_addf(&w->rel, "%.*s%s", (int)w->dir.len, w->dir.ptr, name);
    deploy_file_join(&w->path, cd_buf_str(&w->base), cd_buf_str(&w->rel));
    bool wasm =
        cd_str_ends(cd_str(name), CD_STR(".wasm")) || cd_str_ends(cd_str(name), CD_STR(".wasm?module"));
    int rc = io_path_stat(w->b->io, cd_buf_cstr(&w->path), &info);
    if (rc != IO_OK) {
        /* A link to nowhere, or gone by now: nobody imports that, unless it should be WebAssembly. */
        if (wasm) {
            cd_buf_addf(w->why, "%s: %s", cd_buf_cstr(&w->path), cd_err_text(rc));
            w->rc = rc;
        }
        return;
    }
    if (info.kind == IO_PATH_DIR) {
        if (!info.link && !is_skipped(name))
            cd_buf_add(&w->dirs, cd_buf_cstr(&w->rel), w->rel.len + 1);
        return;
    }
    if (wasm)
        w->rc = wasm_take(w, &info);
}

static int walk_run(struct walk *w)
{
    struct cd_buf dir = {0};
    for (size_t at = 0; w->rc == 0 && at < w->dirs.len; at += strlen(w->dirs.ptr + at) + 1) {
        cd_buf_clear(&dir);
        cd_buf_add_str(&dir, cd_str(w->dirs.ptr + at));
        deploy_file_join(&w->path, cd_buf_str(&w->base), cd_buf_str(&dir));
        if (dir.len > 0)
            cd_buf_add_byte(&dir, '/');
        w->dir = cd_buf_str(&dir);
        int rc = io_path_list(w->b->io, cd_buf_cstr(&w->path), walk_name, w);
        if (rc != IO_OK && w->rc == 0) {
            cd_buf_addf(w->why, "%s: %s", cd_buf_cstr(&w->path), cd_err_text(rc));
            w->rc = rc;
        }
    }
    cd_buf_deinit(&dir);
    return w->rc;
}

int deploy_bundle_plain(const struct deploy_bundling *b, struct deploy_bundle *out, struct cd_buf *why)
{
    struct walk w = {.b = b, .out = out, .why = why};
    struct cd_str main = b->project->main;
    size_t slash = SIZE_MAX;
    for (size_t at = cd_str_find(main, '/', 0); at != SIZE_MAX; at = cd_str_find(main, '/', at + 1))
        slash = at;
    deploy_file_join(&w.base, b->project->root, slash == SIZE_MAX ? CD_STR("") : cd_str_sub(main, 0, slash));
    deploy_file_join(&w.path, b->project->root, main);
    w.rc = file_take(&w, CD_STR("index.js"), DEPLOY_MODULE_JS);
    cd_buf_add_byte(&w.dirs, '\0');
    int rc = walk_run(&w);
    for (unsigned i = 0; rc == 0 && i < out->count; i++) {
        struct cd_str name = i == 0 ? cd_str_sub(main, slash + 1, SIZE_MAX) : out->modules[i].name;
        deploy_file_join(&w.path, cd_buf_str(&w.base), name);
        out->inputs = cd_realloc(out->inputs, (out->input_count + 1) * sizeof *out->inputs);
        out->inputs[out->input_count++] = cd_arena_copy(&out->arena, cd_buf_str(&w.path));
    }
    cd_buf_deinit(&w.base);
    cd_buf_deinit(&w.dirs);
    cd_buf_deinit(&w.rel);
    cd_buf_deinit(&w.path);
    return rc;
}
