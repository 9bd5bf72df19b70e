/* io_sim/file.c: io_file_* over the simulated disk. Calls are synchronous; their latency keeps the loop busy.
 */
#include <stdio.h>

#include "io_sim/fs.h"

#define STUCK_NS IO_SEC(5)

static struct sim_disk *disk_of(struct sim_fs *fs)
{
    return &fs->node->disk;
}

static uint64_t draw_of(const struct sim_inode *i, const char *purpose, uint64_t ordinal)
{
    return sim_draw(i->fs->node->sim, purpose, i->key, ordinal);
}

static bool path_starts(const char *path, const char *prefix)
{
    return cd_str_starts(cd_str(path), cd_str(prefix));
}

/* ---- Open and close ---- */

static int open_inode(struct sim_fs *fs, const char *path, unsigned flags, struct sim_inode **out)
{
    struct sim_inode *dir, *i;
    struct cd_str name;
    int rc = sim_fs_parent(fs, path, false, &dir, &name);
    if (rc != 0)
        return rc;
    if (name.len == 0)
        return IO_FAULT;
    i = cd_map_get(&dir->names, name);
    if (i == NULL && (flags & IO_FILE_CREATE) == 0)
        return IO_NOENT;
    if (i == NULL) {
        i = sim_inode_new(fs, path, false); /* A name takes no room of its own here. */
        sim_name_create(dir, name, i);
        sim_watch_tell(dir, name, false);
    } else if ((flags & IO_FILE_CREATE) != 0 && (flags & IO_FILE_EXCLUSIVE) != 0) {
        return IO_EXISTS;
    }
    if (i->dir)
        return IO_FAULT; /* As EISDIR is told. */
    if ((flags & IO_FILE_LOCK) != 0 && i->locked)
        return IO_BUSY;
    if ((flags & IO_FILE_TRUNCATE) != 0 && i->now.size > 0) {
        sim_inode_truncate(i, 0);
        sim_watch_tell(dir, name, false);
    }
    *out = i;
    return 0;
}

int io_file_open(struct io_file *f, struct io *io, const char *path, unsigned flags)
{
    struct sim_loop *loop = sim_loop_of(io);
    CD_ASSERT(f->io == NULL);
    int rc = sim_call(loop, SIM_FILE_OPEN);
    if (rc != 0)
        return rc;
    struct sim_inode *i = NULL;
    rc = open_inode(sim_fs(loop->node), path, flags, &i);
    sim_note(loop, SIM_FILE_OPEN, rc, NULL, 0, path);
    if (rc != 0)
        return rc;
    struct sim_handle *h = cd_new(struct sim_handle);
    h->loop = loop;
    h->inode = i;
    h->flags = flags;
    h->path = cd_str_dup(cd_str(path));
    sim_inode_hold(i);
    i->locked = i->locked || (flags & IO_FILE_LOCK) != 0;
    cd_list_push(&loop->files, &h->link);
    f->io = io;
    f->impl = h;
    return 0;
}

int io_file_close(struct io_file *f)
{
    struct sim_handle *h = f->impl;
    CD_ASSERT(f->io != NULL && h->syncs == 0);
    if (!h->loop->frozen)
        sim_note(h->loop, SIM_FILE_CLOSE, 0, NULL, 0, h->path);
    if ((h->flags & IO_FILE_LOCK) != 0)
        h->inode->locked = false;
    cd_link_remove(&h->link);
    sim_inode_release(h->inode);
    cd_free(h->path);
    cd_free(h);
    f->io = NULL;
    f->impl = NULL;
    return 0;
}

size_t sim_files_left(struct sim_loop *loop, struct cd_buf *report)
{
    size_t count = 0;
    for (struct cd_link *k = cd_list_first(&loop->files); k != NULL; k = cd_list_next(&loop->files, k)) {
        count++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u file %s\n", loop->node->name, loop->index,
                        CD_CONTAINER(k, struct sim_handle, link)->path);
    }
    return count;
}

/* ---- Read and write ---- */

/* Bit rot that a checksum above has to notice. */
static void read_flip(struct sim_handle *h, char *bytes, size_t len)
{
    struct sim_fs *fs = h->inode->fs;
    for (struct cd_link *k = cd_list_first(&fs->flips); k != NULL; k = cd_list_next(&fs->flips, k)) {
        const struct sim_flip *flip = CD_CONTAINER(k, struct sim_flip, link);
        if (!path_starts(h->path, flip->prefix))
            continue;
        uint64_t draw = draw_of(h->inode, "flip", h->inode->reads);
        if (!sim_strikes(draw, flip->ppm))
            return;
        uint64_t bit = sim_mix(draw, 1) % (len * 8);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        return;
    }
}

int io_file_pread(struct io_file *f, void *buf, size_t len, uint64_t at, size_t *got)
{
    struct sim_handle *h = f->impl;
    CD_ASSERT(f->io != NULL);
    int rc = sim_call(h->loop, SIM_FILE_READ);
    if (rc != 0)
        return rc;
    struct sim_inode *i = h->inode;
    const struct sim_disk *d = disk_of(i->fs);
    sim_charge(h->loop->sim, &h->loop->actor, d->read_ns);
    i->reads++;
    size_t have = at >= i->now.size ? 0 : len;
    if (have > 0 && i->now.size - at < have)
        have = (size_t)(i->now.size - at);
    if (d->read_fail_ppm > 0 && sim_strikes(draw_of(i, "read", i->reads), d->read_fail_ppm))
        rc = IO_FAULT;
    if (rc == 0 && have > 0) {
        sim_inode_read(&i->now, buf, have, at);
        read_flip(h, buf, have);
    }
    if (rc == 0)
        *got = have;
    sim_note(h->loop, SIM_FILE_READ, rc, NULL, rc == 0 ? have : 0, h->path);
    return rc;
}

static bool no_room(struct sim_inode *i, size_t len, uint64_t at)
{
    const struct sim_fs *fs = i->fs;
    if (fs->node->disk_full && at + len > i->now.size)
        return true;
    return fs->node->disk.capacity > 0 && fs->used + sim_inode_growth(i, len, at) > fs->node->disk.capacity;
}

/* How much of a failing write is done all the same. */
static size_t prefix_of(struct sim_inode *i, size_t len, uint64_t at, bool grows)
{
    uint64_t draw = draw_of(i, "prefix", i->changes);
    size_t most = len;
    if (!grows)
        most = at >= i->now.size ? 0 : (i->now.size - at < len ? (size_t)(i->now.size - at) : len);
    return most == 0 || draw % 2 == 0 ? 0 : (size_t)(sim_mix(draw, 1) % (most + 1));
}

static void write_now(struct sim_inode *i, const void *buf, size_t len, uint64_t at)
{
    struct sim *sim = i->fs->node->sim;
    if (len == 0)
        return;
    sim_inode_write(i, buf, len, at);
    i->modified_ms = sim_wall_ms(sim);
}

int io_file_pwrite(struct io_file *f, const void *buf, size_t len, uint64_t at)
{
    struct sim_handle *h = f->impl;
    CD_ASSERT(f->io != NULL);
    int rc = sim_call(h->loop, SIM_FILE_WRITE);
    if (rc != 0)
        return rc;
    struct sim_inode *i = h->inode;
    const struct sim_disk *d = disk_of(i->fs);
    sim_charge(h->loop->sim, &h->loop->actor, d->write_ns);
    size_t wrote = len;
    if ((h->flags & IO_FILE_READONLY) != 0) {
        rc = IO_DENIED;
        wrote = 0;
    } else if (no_room(i, len, at)) {
        rc = IO_NOSPACE;
        wrote = prefix_of(i, len, at, false);
    } else if (d->write_fail_ppm > 0 && sim_strikes(draw_of(i, "write", i->changes), d->write_fail_ppm)) {
        rc = IO_FAULT;
        wrote = prefix_of(i, len, at, true);
    }
    write_now(i, buf, wrote, at);
    if (wrote > 0)
        sim_watch_tell_path(i->fs, h->path);
    sim_note(h->loop, SIM_FILE_WRITE, rc, buf, wrote, h->path);
    return rc;
}

int io_file_truncate(struct io_file *f, uint64_t size)
{
    struct sim_handle *h = f->impl;
    int rc = sim_call(h->loop, SIM_FILE_TRUNCATE);
    if (rc != 0)
        return rc;
    sim_charge(h->loop->sim, &h->loop->actor, disk_of(h->inode->fs)->write_ns);
    if ((h->flags & IO_FILE_READONLY) != 0) {
        rc = IO_DENIED;
    } else if (h->inode->now.size != size) {
        sim_inode_truncate(h->inode, size);
        sim_watch_tell_path(h->inode->fs, h->path);
    }
    sim_note(h->loop, SIM_FILE_TRUNCATE, rc, NULL, size, h->path);
    return rc;
}

int io_file_size(struct io_file *f, uint64_t *size)
{
    struct sim_handle *h = f->impl;
    int rc = sim_call(h->loop, SIM_FILE_SIZE);
    if (rc != 0)
        return rc;
    *size = h->inode->now.size;
    sim_note(h->loop, SIM_FILE_SIZE, 0, NULL, *size, h->path);
    return 0;
}

/* ---- Sync ---- */

static bool sync_strikes(struct sim_handle *h)
{
    struct sim_inode *i = h->inode;
    struct sim_fs *fs = i->fs;
    if (fs->fail_syncs_left > 0 && path_starts(h->path, fs->fail_syncs)) {
        fs->fail_syncs_left--;
        return true;
    }
    return sim_strikes(draw_of(i, "sync", i->syncs), disk_of(fs)->sync_fail_ppm);
}

static uint64_t sync_cost(struct sim_handle *h)
{
    const struct sim_disk *d = disk_of(h->inode->fs);
    uint64_t draw = draw_of(h->inode, "sync time", h->inode->syncs);
    if (sim_strikes(draw, d->stuck_ppm))
        return d->stuck_ns == 0 ? STUCK_NS : d->stuck_ns;
    return d->sync_ns + (d->sync_jitter_ns == 0 ? 0 : sim_mix(draw, 1) % (d->sync_jitter_ns + 1));
}

static int sync_upto(struct sim_handle *h, uint64_t upto)
{
    struct sim_inode *i = h->inode;
    if (sync_strikes(h)) {
        sim_inode_sync_fails(i, upto, draw_of(i, "sync fate", i->syncs));
        return IO_FAULT;
    }
    sim_inode_sync(i, upto);
    return 0;
}

int io_file_sync(struct io_file *f)
{
    struct sim_handle *h = f->impl;
    CD_ASSERT(f->io != NULL);
    int rc = sim_call(h->loop, SIM_FILE_SYNC);
    if (rc != 0)
        return rc;
    h->inode->syncs++;
    sim_charge(h->loop->sim, &h->loop->actor, sync_cost(h));
    rc = sync_upto(h, h->inode->changes);
    sim_note(h->loop, SIM_FILE_SYNC, rc, NULL, 0, h->path);
    return rc;
}

static void sync_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_handle *h = e->owner;
    int rc = sync_upto(h, e->num);
    /* A copy: done may close the file, and the record is shown afterwards. */
    (void)snprintf(sim->note, sizeof sim->note, "%s", h->path);
    sim->record.note = sim->note;
    sim_op_done(sim, e, rc);
}

static void sync_ended(struct sim *sim, struct sim_event *e)
{
    (void)sim;
    ((struct sim_handle *)e->owner)->syncs--;
}

void io_file_sync_start(struct io_file *f, struct io_op *op, io_done_fn *done)
{
    struct sim_handle *h = f->impl;
    CD_ASSERT(f->io != NULL);
    struct sim_event *e = sim_op_begin(op, f->io, done, SIM_FILE_SYNC);
    struct sim_event *any = op->impl;
    any->owner = h;
    any->ended = sync_ended;
    h->syncs++;
    if (e == NULL)
        return;
    h->inode->syncs++;
    e->num = h->inode->changes;
    e->fire = sync_fire;
    sim_schedule(h->loop->sim, e, sync_cost(h));
}
