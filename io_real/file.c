/* io_real/file.c: files. Calls are synchronous; io_file_sync_start alone runs in libuv's thread pool.
 *
 * A sync that failed has told the truth once: the kernel then forgets what it could not write, and the next
 * fdatasync says all is well. So a file whose sync failed never reports a good one again. */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io_real/real.h"

struct file {
    struct real_loop *loop;
    int fd;
    bool readonly;
    bool sync_failed;
    unsigned syncs; /* In the thread pool. */
};

struct sync {
    uv_work_t work;
    struct io_op *op;
    struct file *file;
    int error;
};

static struct file *file_of(const struct io_file *f)
{
    CD_ASSERT(f->io != NULL && f->impl != NULL);
    return f->impl;
}

static int open_regular(const char *path, unsigned flags)
{
    int mode = (flags & IO_FILE_READONLY) != 0 ? O_RDONLY : O_RDWR;
    if ((flags & IO_FILE_CREATE) != 0)
        mode |= O_CREAT;
    if ((flags & IO_FILE_EXCLUSIVE) != 0)
        mode |= O_EXCL;
    /* Non-blocking matters for what is no file: a fifo would wait for its other end. */
    int fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0)
        return -errno;
    struct stat st;
    int error = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EISDIR;
    /* Not by open(2): a file that somebody else has locked must stay as it is. */
    if (error == 0 && (flags & IO_FILE_LOCK) != 0 && flock(fd, LOCK_EX | LOCK_NB) != 0)
        error = errno;
    if (error == 0 && (flags & IO_FILE_TRUNCATE) != 0 && ftruncate(fd, 0) != 0)
        error = errno;
    if (error == 0)
        return fd;
    (void)close(fd);
    return -error;
}

int io_file_open(struct io_file *f, struct io *io, const char *path, unsigned flags)
{
    CD_ASSERT(path[0] == '/');
    CD_ASSERT((flags & IO_FILE_EXCLUSIVE) == 0 || (flags & IO_FILE_CREATE) != 0);
    CD_ASSERT((flags & IO_FILE_READONLY) == 0 || (flags & (IO_FILE_CREATE | IO_FILE_TRUNCATE)) == 0);
    int fd = open_regular(path, flags);
    if (fd < 0)
        return real_status(fd);
    struct file *file = cd_new(struct file);
    file->loop = real_loop(io);
    file->fd = fd;
    file->readonly = (flags & IO_FILE_READONLY) != 0;
    file->loop->open++;
    *f = (struct io_file){.io = io, .impl = file};
    return IO_OK;
}

int io_file_pread(struct io_file *f, void *buf, size_t len, uint64_t at, size_t *got)
{
    struct file *file = file_of(f);
    size_t have = 0;
    while (have < len) {
        ssize_t n = pread(file->fd, (char *)buf + have, len - have, (off_t)(at + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return real_status(errno);
        if (n == 0)
            break;
        have += (size_t)n;
    }
    *got = have;
    return IO_OK;
}

int io_file_pwrite(struct io_file *f, const void *buf, size_t len, uint64_t at)
{
    struct file *file = file_of(f);
    if (file->readonly)
        return IO_DENIED; /* The kernel's EBADF would be a fault. */
    for (size_t done = 0; done < len;) {
        ssize_t n = pwrite(file->fd, (const char *)buf + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return real_status(errno);
        done += (size_t)n;
    }
    return IO_OK;
}

int io_file_truncate(struct io_file *f, uint64_t size)
{
    struct file *file = file_of(f);
    if (file->readonly)
        return IO_DENIED;
    int rc;
    do {
        rc = ftruncate(file->fd, (off_t)size);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? IO_OK : real_status(errno);
}

int io_file_size(struct io_file *f, uint64_t *size)
{
    struct stat st;
    if (fstat(file_of(f)->fd, &st) != 0)
        return real_status(errno);
    *size = (uint64_t)st.st_size;
    return IO_OK;
}

/* ---- Sync ---- */

static int sync_now(int fd)
{
    int rc;
    do {
        rc = fdatasync(fd);
    } while (rc != 0 && errno == EINTR);
    return rc == 0 ? 0 : errno;
}

/* Whatever the reason was: what it means for the caller is the same. */
static int sync_status(struct file *file, int error)
{
    if (error != 0)
        file->sync_failed = true;
    return file->sync_failed ? IO_FAULT : IO_OK;
}

int io_file_sync(struct io_file *f)
{
    struct file *file = file_of(f);
    return sync_status(file, sync_now(file->fd));
}

static void sync_work(uv_work_t *work)
{
    struct sync *s = CD_CONTAINER(work, struct sync, work);
    s->error = sync_now(s->file->fd);
}

static void sync_after(uv_work_t *work, int status)
{
    struct sync *s = CD_CONTAINER(work, struct sync, work);
    struct real_loop *l = s->file->loop;
    struct io_op *op = s->op;
    real_enter(l);
    s->file->syncs--;
    int result = status == UV_ECANCELED ? IO_CANCELED : sync_status(s->file, s->error);
    cd_free(s);
    io_complete(op, result);
    real_leave(l);
}

/* Only a sync that no thread has begun can be stopped; sync_after is called in either case. */
static void sync_cancel(struct io_op *op)
{
    struct sync *s = op->impl;
    (void)uv_cancel((uv_req_t *)&s->work);
}

void io_file_sync_start(struct io_file *f, struct io_op *op, io_done_fn *done)
{
    struct file *file = file_of(f);
    if (!real_begin(file->loop, op, done, sync_cancel))
        return;
    struct sync *s = cd_new(struct sync);
    s->op = op;
    s->file = file;
    op->impl = s;
    file->syncs++;
    int rc = uv_queue_work(&file->loop->uv, &s->work, sync_work, sync_after);
    CD_ASSERT(rc == 0);
}

int io_file_close(struct io_file *f)
{
    struct file *file = file_of(f);
    CD_ASSERT(file->syncs == 0);
    int rc = close(file->fd) == 0 || errno == EINTR ? IO_OK : real_status(errno);
    file->loop->open--;
    cd_free(file);
    *f = (struct io_file){0};
    return rc;
}
