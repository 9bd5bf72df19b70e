/* io_sim/path.c: io_path_* over the simulated disk. */
#include "io_sim/fs.h"

static void charge(struct sim_loop *loop, uint64_t ns)
{
    sim_charge(loop->sim, &loop->actor, ns);
}

int io_path_stat(struct io *io, const char *path, struct io_path_info *out)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_STAT);
    if (rc != 0)
        return rc;
    struct sim_inode *i;
    rc = sim_fs_find(sim_fs(loop->node), path, false, &i);
    if (rc == 0)
        *out = (struct io_path_info){
            .kind = i->dir ? IO_PATH_DIR : IO_PATH_FILE, .size = i->now.size, .modified_ms = i->modified_ms};
    sim_note(loop, SIM_PATH_STAT, rc, NULL, rc == 0 ? out->size : 0, path);
    return rc;
}

int io_path_cwd(struct io *io, struct cd_buf *out)
{
    int rc = sim_call(sim_loop_of(io), SIM_PATH_STAT);
    if (rc == 0)
        cd_buf_add_byte(out, '/');
    return rc;
}

static int make_dir(struct sim_fs *fs, const char *path)
{
    struct sim_inode *dir;
    struct cd_str name;
    int rc = sim_fs_parent(fs, path, false, &dir, &name);
    if (rc != 0)
        return rc;
    if (name.len == 0 || cd_map_get(&dir->names, name) != NULL)
        return IO_EXISTS;
    sim_name_create(dir, name, sim_inode_new(fs, path, true));
    sim_watch_tell(dir, name, true);
    return 0;
}

int io_path_mkdir(struct io *io, const char *path)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_MKDIR);
    if (rc != 0)
        return rc;
    rc = make_dir(sim_fs(loop->node), path);
    sim_note(loop, SIM_PATH_MKDIR, rc, NULL, 0, path);
    return rc;
}

/* Whether dir is i or lies in it: i must not move there. */
static bool within(struct sim_inode *i, struct sim_inode *dir)
{
    if (i == dir)
        return true;
    for (struct cd_map_node *k = cd_map_first(&i->names); k != NULL; k = cd_map_next(k)) {
        struct sim_inode *child = cd_map_value(k);
        if (child->dir && within(child, dir)) /* As deep as the tests' trees. */
            return true;
    }
    return false;
}

static int move(struct sim_fs *fs, const char *from, const char *to)
{
    struct sim_inode *dir, *to_dir;
    struct cd_str name, to_name;
    int rc = sim_fs_parent(fs, from, false, &dir, &name);
    if (rc == 0)
        rc = sim_fs_parent(fs, to, false, &to_dir, &to_name);
    if (rc != 0)
        return rc;
    struct sim_inode *i = cd_map_get(&dir->names, name), *old = cd_map_get(&to_dir->names, to_name);
    if (i == NULL)
        return IO_NOENT;
    if (i == old)
        return 0;
    if (i->dir && within(i, to_dir))
        return IO_FAULT;
    if (old != NULL && i->dir != old->dir)
        return i->dir ? IO_NOENT : IO_FAULT; /* As ENOTDIR and EISDIR are told. */
    if (old != NULL && old->names.count > 0)
        return IO_BUSY;
    sim_name_rename(dir, name, to_dir, to_name);
    sim_watch_tell(dir, name, i->dir);
    sim_watch_tell(to_dir, to_name, i->dir);
    return 0;
}

int io_path_rename(struct io *io, const char *from, const char *to)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_RENAME);
    if (rc != 0)
        return rc;
    charge(loop, loop->node->disk.write_ns);
    rc = move(sim_fs(loop->node), from, to);
    sim_note(loop, SIM_PATH_RENAME, rc, to, strlen(to), from);
    return rc;
}

static int unlink_name(struct sim_fs *fs, const char *path)
{
    struct sim_inode *dir;
    struct cd_str name;
    int rc = sim_fs_parent(fs, path, false, &dir, &name);
    if (rc != 0)
        return rc;
    struct sim_inode *i = name.len == 0 ? NULL : cd_map_get(&dir->names, name);
    if (i == NULL)
        return IO_NOENT;
    if (i->dir && i->names.count > 0)
        return IO_BUSY; /* Not empty. */
    bool was_dir = i->dir;
    sim_name_remove(dir, name);
    sim_watch_tell(dir, name, was_dir);
    return 0;
}

int io_path_remove(struct io *io, const char *path)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_REMOVE);
    if (rc != 0)
        return rc;
    charge(loop, loop->node->disk.write_ns);
    rc = unlink_name(sim_fs(loop->node), path);
    sim_note(loop, SIM_PATH_REMOVE, rc, NULL, 0, path);
    return rc;
}

static int find_dir(struct sim_loop *loop, const char *path, struct sim_inode **out)
{
    int rc = sim_fs_find(sim_fs(loop->node), path, false, out);
    return rc == 0 && !(*out)->dir ? IO_NOENT : rc;
}

int io_path_sync(struct io *io, const char *path)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_SYNC);
    if (rc != 0)
        return rc;
    const struct sim_disk *d = &loop->node->disk;
    charge(loop, d->sync_ns);
    struct sim_inode *dir;
    rc = find_dir(loop, path, &dir);
    if (rc == 0 && sim_strikes(sim_draw(loop->sim, "path sync", dir->key, ++dir->syncs), d->sync_fail_ppm))
        rc = IO_FAULT; /* The names stay as unsure as they were. */
    else if (rc == 0)
        sim_fs_sync_dir(dir);
    sim_note(loop, SIM_PATH_SYNC, rc, NULL, 0, path);
    return rc;
}

int io_path_list(struct io *io, const char *path, void (*each)(void *arg, const char *name), void *arg)
{
    struct sim_loop *loop = sim_loop_of(io);
    int rc = sim_call(loop, SIM_PATH_LIST);
    if (rc != 0)
        return rc;
    struct sim_inode *dir;
    rc = find_dir(loop, path, &dir);
    uint32_t fails = loop->node->disk.read_fail_ppm;
    if (rc == 0 && fails > 0 && sim_strikes(sim_draw(loop->sim, "list", dir->key, ++dir->reads), fails))
        rc = IO_FAULT;
    sim_note(loop, SIM_PATH_LIST, rc, NULL, rc == 0 ? dir->names.count : 0, path);
    if (rc != 0)
        return rc;
    /* A copy first: what is called may create and remove. */
    struct cd_buf names = {0};
    for (struct cd_map_node *k = cd_map_first(&dir->names); k != NULL; k = cd_map_next(k)) {
        cd_buf_add_str(&names, cd_map_key(k));
        cd_buf_add_byte(&names, '\0');
    }
    for (size_t at = 0; at < names.len; at += strlen(names.ptr + at) + 1)
        each(arg, names.ptr + at);
    cd_buf_deinit(&names);
    return 0;
}
