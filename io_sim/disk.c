/* io_sim/disk.c: settings and faults of disks, and what checkers and tests may look at. */
#include "io_sim/fs.h"

void sim_disk_set(struct sim_node *n, const struct sim_disk *disk)
{
    n->disk = *disk;
}

void sim_disk_get(const struct sim_node *n, struct sim_disk *out)
{
    *out = n->disk;
}

void sim_disk_full(struct sim_node *n, bool on)
{
    n->disk_full = on;
}

void sim_disk_fail_syncs(struct sim_node *n, const char *prefix, unsigned count)
{
    struct sim_fs *fs = sim_fs(n);
    cd_free(fs->fail_syncs);
    fs->fail_syncs = cd_str_dup(cd_str(prefix));
    fs->fail_syncs_left = count;
}

void sim_disk_flip(struct sim_node *n, const char *prefix, uint32_t ppm)
{
    struct sim_flip *f = cd_new(struct sim_flip);
    f->prefix = cd_str_dup(cd_str(prefix));
    f->ppm = ppm;
    cd_list_push_front(&sim_fs(n)->flips, &f->link); /* The newest rule counts. */
}

bool sim_disk_rot(struct sim_node *n, const char *path, uint64_t at, unsigned bit)
{
    struct sim_inode *i;
    return sim_fs_find(sim_fs(n), path, false, &i) == 0 && !i->dir && sim_inode_flip(i, at, bit);
}

static int look(struct sim_node *n, const char *path, bool durable, struct cd_buf *out)
{
    struct sim_inode *i;
    int rc = sim_fs_find(sim_fs(n), path, durable, &i);
    if (rc != 0 || i->dir)
        return rc != 0 ? rc : IO_NOENT;
    const struct sim_pages *p = durable ? &i->durable : &i->now;
    char *to = cd_buf_reserve(out, (size_t)p->size);
    sim_inode_read(p, to, (size_t)p->size, 0);
    out->len += (size_t)p->size;
    return 0;
}

int sim_disk_durable(struct sim_node *n, const char *path, struct cd_buf *out)
{
    return look(n, path, true, out);
}

void sim_disk_names(struct sim_node *n, const char *dir, void (*each)(void *arg, const char *name), void *arg)
{
    struct sim_inode *i;
    struct cd_buf name = {0};
    if (sim_fs_find(sim_fs(n), dir, true, &i) != 0 || !i->dir)
        return;
    for (struct cd_map_node *k = cd_map_first(&i->durable_names); k != NULL; k = cd_map_next(k)) {
        cd_buf_clear(&name);
        cd_buf_add_str(&name, cd_map_key(k));
        each(arg, cd_buf_cstr(&name));
    }
    cd_buf_deinit(&name);
}

int sim_disk_now(struct sim_node *n, const char *path, struct cd_buf *out)
{
    return look(n, path, false, out);
}

uint64_t sim_disk_used(struct sim_node *n)
{
    return sim_fs(n)->used;
}

/* Makes the directories above path, durable. */
static struct sim_inode *make_parents(struct sim_fs *fs, const char *path, struct cd_str *name)
{
    struct sim_inode *dir = fs->root;
    for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        char *upto = cd_str_dup(cd_str_of(path, (size_t)(slash - path)));
        struct sim_inode *next;
        struct cd_str piece;
        if (sim_fs_find(fs, upto, false, &next) != 0) {
            int rc = sim_fs_parent(fs, upto, false, &dir, &piece);
            CD_ASSERT(rc == 0);
            next = sim_inode_new(fs, upto, true);
            sim_name_create(dir, piece, next);
        }
        sim_fs_sync_dir(dir);
        dir = next;
        cd_free(upto);
    }
    *name = cd_str(strrchr(path, '/') + 1);
    return dir;
}

void sim_disk_put(struct sim_node *n, const char *path, struct cd_str bytes)
{
    struct sim_fs *fs = sim_fs(n);
    struct cd_str name;
    CD_ASSERT(path[0] == '/' && path[1] != '\0');
    struct sim_inode *dir = make_parents(fs, path, &name), *i;
    if (name.len == 0)
        return; /* A directory alone. */
    i = cd_map_get(&dir->names, name);
    if (i == NULL) {
        i = sim_inode_new(fs, path, false);
        sim_name_create(dir, name, i);
    }
    sim_inode_truncate(i, 0);
    if (bytes.len > 0)
        sim_inode_write(i, bytes.ptr, bytes.len, 0);
    sim_inode_sync(i, i->changes);
    sim_fs_sync_dir(dir);
}

/* ---- Images ---- */

struct image_file {
    struct cd_link link;
    char *path; /* owned; a directory ends in '/' */
    struct cd_buf bytes;
};

struct sim_image {
    struct cd_list files;
};

static void image_add(struct sim_image *image, struct sim_inode *dir, const char *path)
{
    for (struct cd_map_node *k = cd_map_first(&dir->names); k != NULL; k = cd_map_next(k)) {
        struct sim_inode *i = cd_map_value(k);
        struct cd_str name = cd_map_key(k);
        struct cd_buf full = {0};
        cd_buf_addf(&full, "%s/%.*s%s", path, (int)name.len, name.ptr, i->dir ? "/" : "");
        struct image_file *f = cd_new(struct image_file);
        f->path = cd_str_dup(cd_buf_str(&full));
        if (!i->dir) {
            sim_inode_read(&i->now, cd_buf_reserve(&f->bytes, (size_t)i->now.size), (size_t)i->now.size, 0);
            f->bytes.len = (size_t)i->now.size;
        }
        cd_list_push(&image->files, &f->link);
        if (i->dir) {
            full.len--; /* Without the slash; as deep as the trees of tests. */
            image_add(image, i, cd_buf_cstr(&full));
        }
        cd_buf_deinit(&full);
    }
}

struct sim_image *sim_disk_copy(struct sim_node *n)
{
    struct sim_image *image = cd_new(struct sim_image);
    cd_list_init(&image->files);
    image_add(image, sim_fs(n)->root, "");
    return image;
}

void sim_disk_restore(struct sim_node *n, const struct sim_image *image)
{
    CD_ASSERT(n->state == SIM_DEAD);
    sim_parts_wipe(n);
    for (struct cd_link *k = cd_list_first(&image->files); k != NULL; k = cd_list_next(&image->files, k)) {
        const struct image_file *f = CD_CONTAINER(k, struct image_file, link);
        sim_disk_put(n, f->path, cd_buf_str(&f->bytes));
    }
}

void sim_image_free(struct sim_image *image)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&image->files)) != NULL) {
        struct image_file *f = CD_CONTAINER(k, struct image_file, link);
        cd_free(f->path);
        cd_buf_deinit(&f->bytes);
        cd_free(f);
    }
    cd_free(image);
}

/* ---- Crash and wipe ---- */

void sim_disk_crash(struct sim_node *n, enum sim_crash how)
{
    if (how == SIM_POWER && n->fs != NULL)
        sim_fs_power_loss(n->fs);
}

void sim_disk_wipe(struct sim_node *n)
{
    if (n->fs != NULL)
        sim_fs_free(n->fs);
    n->fs = NULL;
}
