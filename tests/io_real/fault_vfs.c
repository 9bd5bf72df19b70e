/* tests/io_real/fault_vfs.c: each open file keeps an image of what is durable and the list of writes since
 * then. */
#include "tests/io_real/fault_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/list.h"
#include "support/test.h"

#define SECTOR 512u

struct write {
    struct cd_link link;
    uint64_t at;
    bool truncates;
    struct cd_buf bytes;
};

/* What is known of a path, shared by all who have it open. */
struct image {
    struct cd_link link;
    char *path;
    struct cd_buf durable;
    struct cd_list writes;
};

struct file {
    sqlite3_file base;
    struct image *image; /* NULL: not watched. */
    sqlite3_file *real; /* Behind this struct. */
};

static struct {
    pthread_mutex_t lock;
    sqlite3_vfs vfs, *system;
    struct cd_list images;
    enum fault_call call;
    unsigned skip, count, failed, syncs;
    int result_code;
    uint64_t limit;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct file *file_of(sqlite3_file *f)
{
    return (struct file *)(void *)f;
}

static bool is_log(const struct file *f)
{
    return f->image != NULL && cd_str_ends(cd_str(f->image->path), CD_STR("-wal"));
}

/* Whether this call is one to fail. */
static bool strikes(const struct file *f, enum fault_call call)
{
    bool hit = false;
    pthread_mutex_lock(&state.lock);
    if (state.call == call && is_log(f)) {
        if (state.skip > 0) {
            state.skip--;
        } else if (state.count > 0) {
            state.count--;
            state.failed++;
            hit = true;
        }
    }
    pthread_mutex_unlock(&state.lock);
    return hit;
}

static bool is_beyond_limit(const struct file *f, uint64_t end)
{
    pthread_mutex_lock(&state.lock);
    bool beyond = state.limit != 0 && is_log(f) && end > state.limit;
    if (beyond)
        state.failed++;
    pthread_mutex_unlock(&state.lock);
    return beyond;
}

static void forget_writes(struct image *m)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&m->writes)) != NULL) {
        struct write *w = CD_CONTAINER(k, struct write, link);
        cd_buf_deinit(&w->bytes);
        cd_free(w);
    }
}

static void apply(struct cd_buf *image, const struct write *w, uint64_t from, uint64_t to)
{
    if (w->truncates) {
        if (w->at < image->len)
            image->len = w->at;
        return;
    }
    if (image->len < w->at + to)
        cd_buf_add_zero(image, w->at + to - image->len);
    memcpy(image->ptr + w->at + from, w->bytes.ptr + from, to - from);
}

static void note_write(struct file *f, const void *bytes, size_t len, uint64_t at, bool truncates)
{
    if (f->image == NULL)
        return;
    struct write *w = cd_new(struct write);
    w->at = at;
    w->truncates = truncates;
    cd_buf_add(&w->bytes, bytes, len);
    pthread_mutex_lock(&state.lock);
    cd_list_push(&f->image->writes, &w->link);
    pthread_mutex_unlock(&state.lock);
}

static int vfs_close(sqlite3_file *f)
{
    return file_of(f)->real->pMethods->xClose(file_of(f)->real);
}

static int vfs_read(sqlite3_file *f, void *to, int len, sqlite3_int64 at)
{
    return file_of(f)->real->pMethods->xRead(file_of(f)->real, to, len, at);
}

static int vfs_write(sqlite3_file *f, const void *from, int len, sqlite3_int64 at)
{
    if (strikes(file_of(f), FAULT_WRITE))
        return state.result_code;
    if (is_beyond_limit(file_of(f), (uint64_t)at + (uint64_t)len))
        return SQLITE_FULL;
    int rc = file_of(f)->real->pMethods->xWrite(file_of(f)->real, from, len, at);
    if (rc == SQLITE_OK)
        note_write(file_of(f), from, (size_t)len, (uint64_t)at, false);
    return rc;
}

static int vfs_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    int rc = file_of(f)->real->pMethods->xTruncate(file_of(f)->real, size);
    if (rc == SQLITE_OK)
        note_write(file_of(f), "", 0, (uint64_t)size, true);
    return rc;
}

static int vfs_sync(sqlite3_file *f, int flags)
{
    struct image *m = file_of(f)->image;
    if (strikes(file_of(f), FAULT_SYNC))
        return state.result_code;
    int rc = file_of(f)->real->pMethods->xSync(file_of(f)->real, flags);
    if (rc != SQLITE_OK || m == NULL)
        return rc;
    pthread_mutex_lock(&state.lock);
    for (struct cd_link *k = cd_list_first(&m->writes); k != NULL; k = cd_list_next(&m->writes, k)) {
        struct write *w = CD_CONTAINER(k, struct write, link);
        apply(&m->durable, w, 0, w->bytes.len);
    }
    forget_writes(m);
    if (is_log(file_of(f)))
        state.syncs++;
    pthread_mutex_unlock(&state.lock);
    return rc;
}

static int vfs_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return file_of(f)->real->pMethods->xFileSize(file_of(f)->real, size);
}

static int vfs_lock(sqlite3_file *f, int level)
{
    return file_of(f)->real->pMethods->xLock(file_of(f)->real, level);
}

static int vfs_unlock(sqlite3_file *f, int level)
{
    return file_of(f)->real->pMethods->xUnlock(file_of(f)->real, level);
}

static int vfs_check_lock(sqlite3_file *f, int *out)
{
    return file_of(f)->real->pMethods->xCheckReservedLock(file_of(f)->real, out);
}

static int vfs_control(sqlite3_file *f, int op, void *arg)
{
    return file_of(f)->real->pMethods->xFileControl(file_of(f)->real, op, arg);
}

static int vfs_sector(sqlite3_file *f)
{
    return file_of(f)->real->pMethods->xSectorSize(file_of(f)->real);
}

static int vfs_traits(sqlite3_file *f)
{
    return file_of(f)->real->pMethods->xDeviceCharacteristics(file_of(f)->real);
}

static int vfs_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return file_of(f)->real->pMethods->xShmMap(file_of(f)->real, page, size, extend, out);
}

static int vfs_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
    return file_of(f)->real->pMethods->xShmLock(file_of(f)->real, at, n, flags);
}

static void vfs_shm_barrier(sqlite3_file *f)
{
    file_of(f)->real->pMethods->xShmBarrier(file_of(f)->real);
}

static int vfs_shm_unmap(sqlite3_file *f, int gone)
{
    return file_of(f)->real->pMethods->xShmUnmap(file_of(f)->real, gone);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2,
    .xClose = vfs_close,
    .xRead = vfs_read,
    .xWrite = vfs_write,
    .xTruncate = vfs_truncate,
    .xSync = vfs_sync,
    .xFileSize = vfs_size,
    .xLock = vfs_lock,
    .xUnlock = vfs_unlock,
    .xCheckReservedLock = vfs_check_lock,
    .xFileControl = vfs_control,
    .xSectorSize = vfs_sector,
    .xDeviceCharacteristics = vfs_traits,
    .xShmMap = vfs_shm_map,
    .xShmLock = vfs_shm_lock,
    .xShmBarrier = vfs_shm_barrier,
    .xShmUnmap = vfs_shm_unmap,
};

static struct image *image_of(const char *path)
{
    struct image *found = NULL;
    pthread_mutex_lock(&state.lock);
    for (struct cd_link *k = cd_list_first(&state.images); k != NULL; k = cd_list_next(&state.images, k)) {
        struct image *m = CD_CONTAINER(k, struct image, link);
        if (strcmp(m->path, path) == 0)
            found = m;
    }
    if (found == NULL) {
        found = cd_new(struct image);
        found->path = cd_str_dup(cd_str(path));
        cd_list_init(&found->writes);
        cd_list_push(&state.images, &found->link);
    }
    pthread_mutex_unlock(&state.lock);
    return found;
}

static int vfs_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *out_flags)
{
    struct file *self = file_of(f);
    (void)v;
    *self = (struct file){.real = (sqlite3_file *)(void *)(self + 1)};
    int rc = state.system->xOpen(state.system, name, self->real, flags, out_flags);
    if (rc == SQLITE_OK) {
        self->base.pMethods = &methods;
        if ((flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) != 0)
            self->image = image_of(name);
    }
    return rc;
}

void fault_vfs_install(void)
{
    state.system = sqlite3_vfs_find(NULL);
    state.vfs = *state.system;
    state.vfs.zName = "celld-test-fault";
    state.vfs.szOsFile = (int)sizeof(struct file) + state.system->szOsFile;
    state.vfs.xOpen = vfs_open;
    state.call = FAULT_NONE;
    state.syncs = state.failed = 0;
    state.limit = 0;
    cd_list_init(&state.images);
    assert_int_equal(sqlite3_vfs_register(&state.vfs, 1), SQLITE_OK);
}

void fault_vfs_remove(void)
{
    struct cd_link *k;
    assert_int_equal(sqlite3_vfs_register(state.system, 1), SQLITE_OK);
    assert_int_equal(sqlite3_vfs_unregister(&state.vfs), SQLITE_OK);
    while ((k = cd_list_pop(&state.images)) != NULL) {
        struct image *m = CD_CONTAINER(k, struct image, link);
        forget_writes(m);
        cd_buf_deinit(&m->durable);
        cd_free(m->path);
        cd_free(m);
    }
}

void fault_vfs_fail(enum fault_call call, unsigned skip, unsigned count, int result_code)
{
    pthread_mutex_lock(&state.lock);
    state.call = call;
    state.skip = skip;
    state.count = count;
    state.failed = 0;
    state.result_code = result_code;
    pthread_mutex_unlock(&state.lock);
}

void fault_vfs_limit(uint64_t log_bytes)
{
    pthread_mutex_lock(&state.lock);
    state.limit = log_bytes;
    pthread_mutex_unlock(&state.lock);
}

unsigned fault_vfs_failed(void)
{
    pthread_mutex_lock(&state.lock);
    unsigned failed = state.failed;
    pthread_mutex_unlock(&state.lock);
    return failed;
}

unsigned fault_vfs_syncs(void)
{
    pthread_mutex_lock(&state.lock);
    unsigned syncs = state.syncs;
    pthread_mutex_unlock(&state.lock);
    return syncs;
}

static void lose(struct cd_buf *image, const struct write *w, struct cd_rng *rng)
{
    uint64_t fate = cd_rng_below(rng, 3);
    if (w->truncates || fate == 0) {
        if (fate != 1)
            apply(image, w, 0, w->bytes.len);
        return;
    }
    for (uint64_t from = 0; fate == 2 && from < w->bytes.len; from += SECTOR) {
        uint64_t to = from + SECTOR < w->bytes.len ? from + SECTOR : w->bytes.len;
        if (cd_rng_below(rng, 2) == 0)
            apply(image, w, from, to);
    }
}

void fault_vfs_power_loss(const char *dir, struct cd_rng *rng)
{
    pthread_mutex_lock(&state.lock);
    for (struct cd_link *k = cd_list_first(&state.images); k != NULL; k = cd_list_next(&state.images, k)) {
        struct image *m = CD_CONTAINER(k, struct image, link);
        struct cd_buf left = {0}, path = {0};
        cd_buf_add_str(&left, cd_buf_str(&m->durable));
        for (struct cd_link *j = cd_list_first(&m->writes); j != NULL; j = cd_list_next(&m->writes, j))
            lose(&left, CD_CONTAINER(j, struct write, link), rng);
        cd_buf_addf(&path, "%s%s", dir, strrchr(m->path, '/'));
        int fd = open(cd_buf_cstr(&path), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(write(fd, left.len == 0 ? "" : left.ptr, left.len), left.len);
        close(fd);
        cd_buf_deinit(&left);
        cd_buf_deinit(&path);
    }
    pthread_mutex_unlock(&state.lock);
}
