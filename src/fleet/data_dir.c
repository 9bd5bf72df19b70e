#include "fleet/data_dir.h"

#include "store/names.h"

#define DEPTH_MAX 8u /* Of what is removed: e<E>/ltx/tmp/... */

struct names {
    char **name; /* owned, with each */
    size_t count, cap;
};

static void name_take(void *arg, const char *name)
{
    struct names *n = arg;
    if (n->count == n->cap) {
        n->cap = n->cap == 0 ? 64 : n->cap * 2;
        n->name = cd_realloc(n->name, n->cap * sizeof *n->name);
    }
    n->name[n->count++] = cd_str_dup(cd_str(name));
}

static void names_deinit(struct names *n)
{
    for (size_t i = 0; i < n->count; i++)
        cd_free(n->name[i]);
    cd_free(n->name);
}

static const char *below(struct cd_buf *path, const char *dir, const char *name)
{
    cd_buf_clear(path);
    cd_buf_addf(path, "%s/%s", dir, name);
    return cd_buf_cstr(path);
}

/* Without that a power loss takes the directory away with all that was synced in it. Parents that are not
 * ours may not let us; but then they were there before us. */
static int sync_parent(struct io *io, const char *path, size_t len, bool made)
{
    struct cd_buf up = {0};
    while (len > 1 && path[len - 1] != '/')
        len--;
    cd_buf_add(&up, path, len > 1 ? len - 1 : 1);
    int rc = io_path_sync(io, cd_buf_cstr(&up));
    cd_buf_deinit(&up);
    return made || rc == IO_FAULT || rc == IO_CANCELED ? rc : IO_OK;
}

static int make_dir(struct io *io, const char *path)
{
    struct cd_buf up = {0};
    int rc = IO_OK;
    for (size_t i = 1; rc == IO_OK && i <= strlen(path); i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        cd_buf_clear(&up);
        cd_buf_add(&up, path, i);
        rc = io_path_mkdir(io, cd_buf_cstr(&up));
        bool made = rc == IO_OK;
        if (rc == IO_EXISTS || (rc == IO_DENIED && path[i] != 0)) /* Parents that are not ours to make. */
            rc = IO_OK;
        if (rc == IO_OK) /* Also what was there: whoever made it may have been killed before this. */
            rc = sync_parent(io, path, i, made);
    }
    cd_buf_deinit(&up);
    return rc;
}

/* A cell's directory has the name of its scope: up to 255 bytes. */
static int check_long_names(struct io *io, const char *dir)
{
    char longest[STORE_SCOPE_MAX + 1];
    memset(longest, 'n', STORE_SCOPE_MAX);
    longest[STORE_SCOPE_MAX] = 0;
    struct cd_buf path = {0};
    (void)below(&path, dir, longest);
    int rc = io_path_mkdir(io, cd_buf_cstr(&path));
    if (rc == IO_OK)
        rc = io_path_remove(io, cd_buf_cstr(&path));
    cd_buf_deinit(&path);
    return rc == IO_EXISTS ? IO_OK : rc;
}

int fleet_data_dir_open(struct fleet_data_dir *d, struct io *io, const char *path, struct cd_buf *why)
{
    struct cd_buf lock = {0};
    int rc = make_dir(io, path);
    if (rc != IO_OK) {
        cd_buf_addf(why, "data directory %s: %s", path, cd_err_text(rc));
        return rc;
    }
    rc = io_file_open(&d->lock, io, below(&lock, path, "lock"), IO_FILE_CREATE | IO_FILE_LOCK);
    if (rc == IO_BUSY)
        cd_buf_addf(why, "data directory %s is used by another celld: stop it, or choose another directory",
                    path);
    else if (rc != IO_OK)
        cd_buf_addf(why, "%s: %s", cd_buf_cstr(&lock), cd_err_text(rc));
    cd_buf_deinit(&lock);
    if (rc != IO_OK)
        return rc;
    rc = check_long_names(io, path);
    if (rc != IO_OK) {
        cd_buf_addf(why, "data directory %s: a name of %d bytes cannot be made (%s)", path, STORE_SCOPE_MAX,
                    cd_err_text(rc));
        fleet_data_dir_close(d);
    }
    return rc;
}

void fleet_data_dir_close(struct fleet_data_dir *d)
{
    if (d->lock.io != NULL)
        (void)io_file_close(&d->lock);
}

static void complain(struct io *io, const char *path, int rc)
{
    cd_event(io, CD_WARN, "data_dir_not_cleaned", CD_Z("path", path), CD_Z("error", cd_err_text(rc)));
}

static void remove_all(struct io *io, const char *path, unsigned depth)
{
    struct io_path_info info;
    int rc = io_path_stat(io, path, &info);
    if (rc == IO_OK && info.kind == IO_PATH_DIR && !info.link && depth < DEPTH_MAX) {
        struct names n = {0};
        struct cd_buf child = {0};
        rc = io_path_list(io, path, name_take, &n);
        for (size_t i = 0; i < n.count; i++)
            remove_all(io, below(&child, path, n.name[i]), depth + 1);
        names_deinit(&n);
        cd_buf_deinit(&child);
    }
    if (rc == IO_OK)
        rc = io_path_remove(io, path);
    if (rc != IO_OK && rc != IO_NOENT)
        complain(io, path, rc);
}

static bool there(struct io *io, const char *dir, const char *name)
{
    struct cd_buf path = {0};
    struct io_path_info info;
    int rc = io_path_stat(io, below(&path, dir, name), &info);
    cd_buf_deinit(&path);
    return rc == IO_OK;
}

/* The directory of an epoch: a clean snapshot stays, with nothing beside it. */
static bool clean_epoch(struct io *io, const char *dir)
{
    if (!there(io, dir, "evicted.json") || !there(io, dir, "evicted.sqlite")) {
        remove_all(io, dir, 0);
        return false;
    }
    struct names n = {0};
    struct cd_buf path = {0};
    if (io_path_list(io, dir, name_take, &n) == IO_OK) {
        for (size_t i = 0; i < n.count; i++) {
            if (strcmp(n.name[i], "evicted.json") != 0 && strcmp(n.name[i], "evicted.sqlite") != 0)
                remove_all(io, below(&path, dir, n.name[i]), 0);
        }
    }
    names_deinit(&n);
    cd_buf_deinit(&path);
    return true;
}

static void clean_cell(struct io *io, const char *dir, unsigned *removed)
{
    struct names n = {0};
    struct cd_buf path = {0};
    int rc = io_path_list(io, dir, name_take, &n);
    CD_MAYBE(rc == IO_OK); /* What cannot be listed stays. */
    for (size_t i = 0; i < n.count; i++)
        *removed += !clean_epoch(io, below(&path, dir, n.name[i]));
    names_deinit(&n);
    cd_buf_deinit(&path);
}

void fleet_data_dir_clean(struct io *io, const char *path, unsigned *removed)
{
    struct names n = {0};
    struct cd_buf cells = {0}, cell = {0};
    (void)below(&cells, path, "cells");
    *removed = 0;
    int rc = io_path_list(io, cd_buf_cstr(&cells), name_take, &n);
    for (size_t i = 0; i < n.count; i++)
        clean_cell(io, below(&cell, cd_buf_cstr(&cells), n.name[i]), removed);
    if (rc != IO_OK && rc != IO_NOENT)
        complain(io, cd_buf_cstr(&cells), rc);
    names_deinit(&n);
    cd_buf_deinit(&cells);
    cd_buf_deinit(&cell);
}
