/* deploy/fingerprint.c: the record of what a build was made of. */
#include "deploy/fingerprint.h"

#include "base/encode.h"
#include "base/json.h"
#include "deploy/file.h"

#define FORMAT "1" /* Of the record, and of what the bundler is told: another one starts anew. */
#define INPUT_MAX (256u << 20) /* Of one file. */

struct deploy_print_file {
    bool absent;
    uint64_t size;
    int64_t modified_ms;
    char sha256[DEPLOY_SHA256_LEN + 1];
};

struct deploy_print_dir {
    char names_sha256[DEPLOY_SHA256_LEN + 1];
};

void deploy_fingerprint_deinit(struct deploy_fingerprint *f)
{
    cd_map_deinit(&f->files);
    cd_map_deinit(&f->dirs);
    cd_arena_deinit(&f->arena);
    *f = (struct deploy_fingerprint){0};
}

void deploy_fingerprint_identify(struct deploy_fingerprint *f, const struct cd_str *parts, size_t count)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, FORMAT " " CELLD_VERSION);
    for (size_t i = 0; i < count; i++) {
        cd_buf_add_byte(&text, '\0');
        cd_buf_add_str(&text, parts[i]);
    }
    deploy_sha256(cd_buf_str(&text), f->identity);
    cd_buf_deinit(&text);
}

/* ---- What is there now ---- */

static bool digest_now(struct io *io, const char *path, char out[DEPLOY_SHA256_LEN + 1])
{
    struct cd_buf bytes = {0};
    bool ok = deploy_file_read(io, path, INPUT_MAX, &bytes) == IO_OK;
    if (ok)
        deploy_sha256(cd_buf_str(&bytes), out);
    cd_buf_deinit(&bytes);
    return ok;
}

/* False when it can be neither read nor said to be absent. */
static bool file_now(struct io *io, const char *path, struct deploy_print_file *out)
{
    struct io_path_info info;
    *out = (struct deploy_print_file){0};
    int rc = io_path_stat(io, path, &info);
    out->absent = rc == IO_NOENT;
    if (rc != IO_OK)
        return out->absent;
    out->size = info.size;
    out->modified_ms = info.modified_ms;
    return info.kind == IO_PATH_FILE && digest_now(io, path, out->sha256);
}

static void name_add(void *arg, const char *name)
{
    cd_buf_add(arg, name, strlen(name) + 1);
}

static bool dir_now(struct io *io, const char *path, struct deploy_print_dir *out)
{
    struct cd_buf names = {0};
    bool ok = io_path_list(io, path, name_add, &names) == IO_OK;
    if (ok)
        deploy_sha256(cd_buf_str(&names), out->names_sha256);
    cd_buf_deinit(&names);
    return ok;
}

/* ---- Taking the record ---- */

/* What cannot be read is recorded so that it never holds: the next start builds. */
static void file_add(struct deploy_fingerprint *f, struct io *io, struct cd_str path)
{
    if (cd_map_get(&f->files, path) != NULL)
        return;
    struct deploy_print_file *file = cd_arena_alloc(&f->arena, sizeof *file);
    struct cd_str name = cd_arena_copy(&f->arena, path);
    if (!file_now(io, name.ptr, file) || file->modified_ms >= f->begun_ms)
        file->sha256[0] = 0;
    (void)cd_map_put(&f->files, name, file);
}

static void dir_add(struct deploy_fingerprint *f, struct io *io, struct cd_str path)
{
    if (cd_map_get(&f->dirs, path) != NULL)
        return;
    struct deploy_print_dir *dir = cd_arena_alloc(&f->arena, sizeof *dir);
    struct cd_str name = cd_arena_copy(&f->arena, path);
    if (!dir_now(io, name.ptr, dir))
        dir->names_sha256[0] = 0;
    (void)cd_map_put(&f->dirs, name, dir);
}

static struct cd_str parent(struct cd_str path)
{
    size_t slash = 0;
    for (size_t at = cd_str_find(path, '/', 0); at != SIZE_MAX; at = cd_str_find(path, '/', at + 1))
        slash = at;
    return cd_str_sub(path, 0, slash == 0 ? 1 : slash);
}

/* Between the file and the project stand what the bundler looks into on its way: package.json, tsconfig.json;
 * and, outside of node_modules, other files that an import could find first. */
static void surroundings_add(struct deploy_fingerprint *f, struct io *io, struct cd_str root,
                             struct cd_str path)
{
    static const char *const names[] = {"package.json", "tsconfig.json"};
    struct cd_buf near = {0};
    struct cd_str dir = parent(path);
    if (cd_str_find_str(path, CD_STR("/node_modules/"), 0) == SIZE_MAX)
        dir_add(f, io, dir);
    for (;; dir = parent(dir)) {
        for (size_t i = 0; i < CD_COUNT(names); i++) {
            deploy_file_join(&near, dir, cd_str(names[i]));
            file_add(f, io, cd_buf_str(&near));
        }
        if (dir.len <= root.len || !cd_str_starts(dir, root))
            break;
    }
    cd_buf_deinit(&near);
}

void deploy_fingerprint_add(struct deploy_fingerprint *f, struct io *io, const struct deploy_project *p,
                            const struct deploy_build *build)
{
    static const char *const own[] = {".dev.vars", "wrangler.jsonc", "wrangler.json", "wrangler.toml"};
    struct cd_buf path = {0};
    file_add(f, io, p->file);
    for (size_t i = 0; i < CD_COUNT(own); i++) {
        deploy_file_join(&path, p->root, cd_str(own[i]));
        file_add(f, io, cd_buf_str(&path));
    }
    if (p->tsconfig.len > 0) {
        deploy_file_join(&path, p->root, p->tsconfig);
        file_add(f, io, cd_buf_str(&path));
    }
    for (size_t i = 0; i < build->input_count; i++) {
        struct cd_str input = build->inputs[i];
        cd_buf_clear(&path);
        if (input.ptr[0] == '/')
            cd_buf_add_str(&path, input);
        else
            deploy_file_join(&path, p->root, input);
        file_add(f, io, cd_buf_str(&path));
        surroundings_add(f, io, p->root, cd_buf_str(&path));
    }
    cd_buf_deinit(&path);
}

void deploy_fingerprint_published(struct deploy_fingerprint *f, const struct deploy_app *app)
{
    CD_ASSERT(f->app_count < DEPLOY_PUBLISHED_MAX);
    f->app[f->app_count++] = (struct deploy_published){
        cd_arena_copy(&f->arena, app->script), cd_arena_copy(&f->arena, cd_str(app->version)),
        cd_arena_copy(&f->arena, cd_str(app->manifest_sha256))};
}

/* ---- Text ---- */

static void files_write(struct cd_json_out *o, const struct deploy_fingerprint *f)
{
    for (struct cd_map_node *n = cd_map_first(&f->files); n != NULL; n = cd_map_next(n)) {
        const struct deploy_print_file *file = cd_map_value(n);
        cd_json_out_array(o);
        cd_json_out_str(o, cd_map_key(n));
        if (!file->absent) {
            cd_json_out_u64(o, file->size);
            cd_json_out_u64(o, (uint64_t)file->modified_ms);
            cd_json_out_str(o, cd_str(file->sha256));
        }
        cd_json_out_end(o, ']');
    }
}

void deploy_fingerprint_write(struct cd_buf *out, const struct deploy_fingerprint *f)
{
    struct cd_json_out o;
    cd_json_out_init(&o, out);
    cd_json_out_object(&o);
    cd_json_out_key(&o, "identity");
    cd_json_out_str(&o, cd_str(f->identity));
    cd_json_out_key(&o, "files");
    cd_json_out_array(&o);
    files_write(&o, f);
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "dirs");
    cd_json_out_array(&o);
    for (struct cd_map_node *n = cd_map_first(&f->dirs); n != NULL; n = cd_map_next(n)) {
        cd_json_out_array(&o);
        cd_json_out_str(&o, cd_map_key(n));
        cd_json_out_str(&o, cd_str(((const struct deploy_print_dir *)cd_map_value(n))->names_sha256));
        cd_json_out_end(&o, ']');
    }
    cd_json_out_end(&o, ']');
    cd_json_out_key(&o, "apps");
    cd_json_out_array(&o);
    for (unsigned i = 0; i < f->app_count; i++) {
        cd_json_out_array(&o);
        cd_json_out_str(&o, f->app[i].script);
        cd_json_out_str(&o, f->app[i].version);
        cd_json_out_str(&o, f->app[i].manifest_sha256);
        cd_json_out_end(&o, ']');
    }
    cd_json_out_end(&o, ']');
    cd_json_out_end(&o, '}');
}

static int digest_read(const struct cd_json *v, char out[DEPLOY_SHA256_LEN + 1])
{
    struct cd_str text;
    if (cd_json_str(v, &text) != 0 || (text.len != DEPLOY_SHA256_LEN && text.len != 0))
        return CD_ECORRUPT;
    memcpy(out, text.ptr, text.len);
    out[text.len] = 0;
    return 0;
}

static int text_read(struct deploy_fingerprint *f, const struct cd_json *v, struct cd_str *out)
{
    struct cd_str text;
    if (cd_json_str(v, &text) != 0 || cd_str_find(text, '\0', 0) != SIZE_MAX)
        return CD_ECORRUPT;
    *out = cd_arena_copy(&f->arena, text);
    return 0;
}

static int file_read(struct deploy_fingerprint *f, const struct cd_json *row)
{
    struct deploy_print_file *file = cd_arena_alloc(&f->arena, sizeof *file);
    struct cd_str path;
    uint64_t modified = 0;
    if (text_read(f, cd_json_item(row, 0), &path) != 0)
        return CD_ECORRUPT;
    file->absent = cd_json_count(row) == 1;
    if (!file->absent && (cd_json_u64(cd_json_item(row, 1), &file->size) != 0 ||
                          cd_json_u64(cd_json_item(row, 2), &modified) != 0 ||
                          digest_read(cd_json_item(row, 3), file->sha256) != 0))
        return CD_ECORRUPT;
    file->modified_ms = (int64_t)modified;
    (void)cd_map_put(&f->files, path, file);
    return 0;
}

static int dir_read(struct deploy_fingerprint *f, const struct cd_json *row)
{
    struct deploy_print_dir *dir = cd_arena_alloc(&f->arena, sizeof *dir);
    struct cd_str path;
    if (text_read(f, cd_json_item(row, 0), &path) != 0 ||
        digest_read(cd_json_item(row, 1), dir->names_sha256) != 0)
        return CD_ECORRUPT;
    (void)cd_map_put(&f->dirs, path, dir);
    return 0;
}

static int app_read(struct deploy_fingerprint *f, const struct cd_json *row)
{
    struct deploy_published *app = &f->app[f->app_count];
    if (f->app_count == DEPLOY_PUBLISHED_MAX || text_read(f, cd_json_item(row, 0), &app->script) != 0 ||
        text_read(f, cd_json_item(row, 1), &app->version) != 0 ||
        text_read(f, cd_json_item(row, 2), &app->manifest_sha256) != 0)
        return CD_ECORRUPT;
    f->app_count++;
    return 0;
}

static int rows_read(struct deploy_fingerprint *f, const struct cd_json *list,
                     int (*one)(struct deploy_fingerprint *f, const struct cd_json *row))
{
    const struct cd_json *row = NULL;
    int rc = list != NULL && cd_json_kind(list) == CD_JSON_ARRAY ? 0 : CD_ECORRUPT;
    while (rc == 0 && (row = cd_json_next(list, row, NULL)) != NULL)
        rc = one(f, row);
    return rc;
}

int deploy_fingerprint_read(struct deploy_fingerprint *f, struct cd_str text)
{
    struct cd_json_doc *doc;
    if (cd_json_parse(&doc, text, NULL) != 0)
        return CD_ECORRUPT;
    const struct cd_json *root = cd_json_root(doc);
    int rc = digest_read(cd_json_get(root, "identity"), f->identity);
    if (rc == 0)
        rc = rows_read(f, cd_json_get(root, "files"), file_read);
    if (rc == 0)
        rc = rows_read(f, cd_json_get(root, "dirs"), dir_read);
    if (rc == 0)
        rc = rows_read(f, cd_json_get(root, "apps"), app_read);
    cd_json_free(doc);
    return rc == 0 && f->app_count > 0 ? 0 : CD_ECORRUPT;
}

/* ---- Comparing ---- */

static bool file_holds(struct io *io, const char *path, const struct deploy_print_file *was, bool closely)
{
    struct io_path_info info;
    char sha256[DEPLOY_SHA256_LEN + 1];
    int rc = io_path_stat(io, path, &info);
    if (was->absent || rc != IO_OK)
        return was->absent && rc == IO_NOENT;
    if (info.kind != IO_PATH_FILE || info.size != was->size || was->sha256[0] == 0)
        return false;
    if (!closely && info.modified_ms == was->modified_ms)
        return true;
    return digest_now(io, path, sha256) && strcmp(sha256, was->sha256) == 0;
}

bool deploy_fingerprint_holds(const struct deploy_fingerprint *f, struct io *io, bool closely)
{
    for (struct cd_map_node *n = cd_map_first(&f->files); n != NULL; n = cd_map_next(n)) {
        struct cd_buf path = {0};
        cd_buf_add_str(&path, cd_map_key(n));
        bool holds = file_holds(io, cd_buf_cstr(&path), cd_map_value(n), closely);
        cd_buf_deinit(&path);
        if (!holds)
            return false;
    }
    for (struct cd_map_node *n = cd_map_first(&f->dirs); n != NULL; n = cd_map_next(n)) {
        const struct deploy_print_dir *was = cd_map_value(n);
        struct deploy_print_dir now;
        struct cd_buf path = {0};
        cd_buf_add_str(&path, cd_map_key(n));
        bool holds =
            dir_now(io, cd_buf_cstr(&path), &now) && strcmp(now.names_sha256, was->names_sha256) == 0;
        cd_buf_deinit(&path);
        if (!holds)
            return false;
    }
    return true;
}
