/* deploy/files.c: whole files and trees. */
#include "deploy/files.h"

int deploy_file_write(struct io *io, const char *path, struct cd_str bytes)
{
    struct io_file f = {0};
    int rc = io_file_open(&f, io, path, IO_FILE_CREATE | IO_FILE_TRUNCATE);
    if (rc != IO_OK)
        return rc;
    if (bytes.len > 0)
        rc = io_file_pwrite(&f, bytes.ptr, bytes.len, 0);
    int closed = io_file_close(&f);
    return rc != IO_OK ? rc : closed;
}

int deploy_file_replace(struct io *io, const char *path, struct cd_str bytes)
{
    struct cd_buf other = {0};
    cd_buf_addf(&other, "%s.new", path);
    int rc = deploy_file_write(io, cd_buf_cstr(&other), bytes);
    if (rc == IO_OK)
        rc = io_path_rename(io, cd_buf_cstr(&other), path);
    cd_buf_deinit(&other);
    return rc;
}

int deploy_dirs_make(struct io *io, const char *path)
{
    struct cd_buf part = {0};
    int rc = IO_OK;
    /* From the root down; what is there already is fine. */
    for (size_t end = 0; rc == IO_OK && end != SIZE_MAX;) {
        end = cd_str_find(cd_str(path), '/', end + 1);
        cd_buf_clear(&part);
        cd_buf_add_str(&part, cd_str_sub(cd_str(path), 0, end));
        rc = io_path_mkdir(io, cd_buf_cstr(&part));
        if (rc != IO_OK) {
            struct io_path_info info;
            if (io_path_stat(io, cd_buf_cstr(&part), &info) == IO_OK)
                rc = info.kind == IO_PATH_DIR ? IO_OK : IO_EXISTS;
        }
    }
    cd_buf_deinit(&part);
    return rc;
}

/* ---- Trees ---- */

struct removal {
    struct io *io;
    char **path; /* owned, each of them too */
    size_t count, cap;
    const char *dir; /* Whose names are being listed. */
};

static void removal_push(struct removal *r, char *path)
{
    if (r->count == r->cap) {
        r->cap = r->cap == 0 ? 64 : r->cap * 2;
        r->path = cd_realloc(r->path, r->cap * sizeof *r->path);
    }
    r->path[r->count++] = path;
}

static void removal_name(void *arg, const char *name)
{
    struct removal *r = arg;
    struct cd_buf path = {0};
    deploy_file_join(&path, cd_str(r->dir), cd_str(name));
    removal_push(r, cd_str_dup(cd_buf_str(&path)));
    cd_buf_deinit(&path);
}

/* Removes what is on top of the stack, or pushes what is in it. */
static int removal_step(struct removal *r)
{
    char *path = r->path[r->count - 1];
    size_t before = r->count;
    struct io_path_info info;
    int rc = io_path_remove(r->io, path); /* A file, a link, an empty directory. */
    if (rc == IO_OK || (rc == IO_NOENT && r->count > 1)) {
        r->count--;
        cd_free(path);
        return IO_OK;
    }
    if (io_path_stat(r->io, path, &info) != IO_OK || info.link || info.kind != IO_PATH_DIR)
        return rc;
    r->dir = path;
    int listed = io_path_list(r->io, path, removal_name, r);
    /* Empty, and yet it cannot be removed: that is what is wrong. */
    return listed == IO_OK && r->count == before ? rc : listed;
}

int deploy_tree_remove(struct io *io, const char *path)
{
    struct removal r = {.io = io};
    int rc = IO_OK;
    removal_push(&r, cd_str_dup(cd_str(path)));
    while (rc == IO_OK && r.count > 0)
        rc = removal_step(&r);
    while (r.count > 0)
        cd_free(r.path[--r.count]);
    cd_free(r.path);
    return rc;
}

int deploy_state_dir(struct io *io, struct cd_str root, const char *dir, struct cd_buf *out)
{
    struct cd_buf path = {0}, ignore = {0};
    struct io_path_info info;
    deploy_file_join(&path, root, CD_STR(".celld"));
    bool fresh = io_path_stat(io, cd_buf_cstr(&path), &info) == IO_NOENT;
    deploy_file_join(out, cd_buf_str(&path), cd_str(dir));
    int rc = deploy_dirs_make(io, cd_buf_cstr(out));
    if (rc == IO_OK && fresh) {
        deploy_file_join(&ignore, cd_buf_str(&path), CD_STR(".gitignore"));
        rc = deploy_file_write(io, cd_buf_cstr(&ignore), CD_STR("*\n"));
    }
    cd_buf_deinit(&path);
    cd_buf_deinit(&ignore);
    return rc;
}
