/* io_real/path.c: names in the file system. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_real/real.h"

static int result(int rc)
{
    return rc == 0 ? IO_OK : real_status(errno);
}

int io_path_stat(struct io *io, const char *path, struct io_path_info *out)
{
    (void)io;
    struct stat st;
    if (lstat(path, &st) != 0)
        return real_status(errno);
    out->link = S_ISLNK(st.st_mode);
    if (out->link && stat(path, &st) != 0)
        return real_status(errno);
    out->kind = S_ISREG(st.st_mode) ? IO_PATH_FILE : S_ISDIR(st.st_mode) ? IO_PATH_DIR : IO_PATH_OTHER;
    out->size = (uint64_t)st.st_size;
    out->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return IO_OK;
}

int io_path_cwd(struct io *io, struct cd_buf *out)
{
    (void)io;
    char *path = getcwd(NULL, 0);
    if (path == NULL)
        return real_status(errno);
    /* Out of the reach of a changed root it is no absolute path. */
    int rc = path[0] == '/' ? IO_OK : IO_NOENT;
    if (rc == IO_OK)
        cd_buf_add_str(out, cd_str(path));
    free(path);
    return rc;
}

int io_path_mkdir(struct io *io, const char *path)
{
    (void)io;
    return result(mkdir(path, 0700));
}

int io_path_rename(struct io *io, const char *from, const char *to)
{
    (void)io;
    return result(rename(from, to));
}

int io_path_remove(struct io *io, const char *path)
{
    (void)io;
    if (unlink(path) == 0)
        return IO_OK;
    int error = errno;
    if (error != EISDIR)
        return real_status(error);
    return result(rmdir(path));
}

int io_path_sync(struct io *io, const char *dir)
{
    (void)io;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return real_status(errno);
    int rc;
    do {
        rc = fsync(fd);
    } while (rc != 0 && errno == EINTR);
    (void)close(fd);
    return rc == 0 ? IO_OK : IO_FAULT;
}

struct names {
    char **name; /* owned, each of them too */
    size_t count, cap;
};

static void names_add(struct names *n, const char *name)
{
    if (n->count == n->cap) {
        n->cap = n->cap == 0 ? 64 : n->cap * 2;
        n->name = cd_realloc(n->name, n->cap * sizeof *n->name);
    }
    n->name[n->count++] = cd_str_dup(cd_str(name));
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b); /* By unsigned byte. */
}

static int names_read(struct names *n, const char *dir)
{
    DIR *d = opendir(dir);
    if (d == NULL)
        return real_status(errno);
    struct dirent *e;
    errno = 0;
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            names_add(n, e->d_name);
        errno = 0;
    }
    int rc = errno == 0 ? IO_OK : real_status(errno);
    (void)closedir(d);
    return rc;
}

/* The whole directory is read before each is called, which may therefore change it. */
int io_path_list(struct io *io, const char *dir, void (*each)(void *arg, const char *name), void *arg)
{
    (void)io;
    struct names n = {0};
    int rc = names_read(&n, dir);
    if (n.count > 1)
        qsort(n.name, n.count, sizeof *n.name, compare);
    for (size_t i = 0; i < n.count; i++) {
        if (rc == IO_OK)
            each(arg, n.name[i]);
        cd_free(n.name[i]);
    }
    cd_free(n.name);
    return rc;
}
