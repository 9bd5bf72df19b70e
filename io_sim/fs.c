/* io_sim/fs.c: names on a simulated disk, now and durable, and what a power loss makes of them. */
#include "io_sim/fs.h"

/* ---- Inodes ---- */

static uint64_t inode_key(struct sim_fs *fs, const char *path)
{
    uint64_t node = cd_hash64(0, fs->node->name, strlen(fs->node->name));
    uint64_t hash = cd_hash64(node, path, strlen(path));
    return sim_mix(hash, fs->created[hash % SIM_PATH_COUNTERS]++);
}

struct sim_inode *sim_inode_new(struct sim_fs *fs, const char *path, bool dir)
{
    struct sim_inode *i = cd_new(struct sim_inode);
    i->fs = fs;
    i->dir = dir;
    i->key = inode_key(fs, path);
    i->modified_ms = sim_wall_ms(fs->node->sim);
    cd_list_init(&i->log);
    cd_list_push(&fs->inodes, &i->link);
    return i;
}

void sim_inode_hold(struct sim_inode *i)
{
    i->refs++;
}

static void map_release(struct cd_map *m)
{
    for (struct cd_map_node *k = cd_map_first(m); k != NULL; k = cd_map_next(k))
        sim_inode_release(cd_map_value(k));
    cd_map_deinit(m);
}

static void inode_free(struct sim_inode *i)
{
    cd_link_remove(&i->link);
    sim_inode_free_pages(i);
    map_release(&i->names);
    map_release(&i->durable_names);
    cd_free(i);
}

void sim_inode_release(struct sim_inode *i)
{
    CD_ASSERT(i->refs > 0);
    if (--i->refs == 0)
        inode_free(i);
}

/* Sets or (i NULL) removes a name in one of the maps. */
static void map_set(struct cd_map *m, struct cd_str name, struct sim_inode *i)
{
    struct sim_inode *old = cd_map_get(m, name);
    if (i != NULL) {
        sim_inode_hold(i);
        (void)cd_map_put(m, name, i);
    } else if (old != NULL) {
        (void)cd_map_remove(m, name);
    }
    if (old != NULL)
        sim_inode_release(old);
}

/* ---- Disks ---- */

struct sim_fs *sim_fs(struct sim_node *n)
{
    while (n->parent != NULL)
        n = n->parent;
    if (n->fs != NULL)
        return n->fs;
    struct sim_fs *fs = cd_new(struct sim_fs);
    n->fs = fs;
    fs->node = n;
    cd_list_init(&fs->inodes);
    cd_list_init(&fs->name_log);
    cd_list_init(&fs->watches);
    cd_list_init(&fs->flips);
    fs->root = sim_inode_new(fs, "/", true);
    sim_inode_hold(fs->root);
    return fs;
}

static void change_free(struct sim_name_change *c)
{
    cd_link_remove(&c->link);
    sim_inode_release(c->inode);
    if (c->to_dir != NULL)
        sim_inode_release(c->to_dir);
    sim_inode_release(c->dir);
    cd_free(c->name);
    cd_free(c->to_name);
    cd_free(c);
}

void sim_fs_free(struct sim_fs *fs)
{
    struct cd_link *k;
    while ((k = cd_list_first(&fs->name_log)) != NULL)
        change_free(CD_CONTAINER(k, struct sim_name_change, link));
    while ((k = cd_list_pop(&fs->flips)) != NULL) {
        struct sim_flip *f = CD_CONTAINER(k, struct sim_flip, link);
        cd_free(f->prefix);
        cd_free(f);
    }
    sim_inode_release(fs->root);
    CD_ASSERT(cd_list_empty(&fs->inodes) && fs->used == 0);
    cd_free(fs->fail_syncs);
    cd_free(fs);
}

/* ---- Looking up ---- */

int sim_fs_parent(struct sim_fs *fs, const char *path, bool durable, struct sim_inode **dir,
                  struct cd_str *name)
{
    struct cd_str rest = cd_str(path), piece;
    CD_ASSERT(path[0] == '/'); /* Paths are absolute. */
    struct sim_inode *at = fs->root;
    *name = (struct cd_str){0};
    while (cd_str_next(&rest, '/', &piece)) {
        if (piece.len == 0)
            continue;
        if (name->len > 0) {
            const struct cd_map *names = durable ? &at->durable_names : &at->names;
            at = cd_map_get(names, *name);
            if (at == NULL || !at->dir)
                return IO_NOENT;
        }
        *name = piece;
    }
    *dir = at;
    return 0;
}

int sim_fs_find(struct sim_fs *fs, const char *path, bool durable, struct sim_inode **out)
{
    struct sim_inode *dir;
    struct cd_str name;
    int rc = sim_fs_parent(fs, path, durable, &dir, &name);
    if (rc != 0)
        return rc;
    struct sim_inode *i = name.len == 0 ? dir : cd_map_get(durable ? &dir->durable_names : &dir->names, name);
    if (i == NULL)
        return IO_NOENT;
    *out = i;
    return 0;
}

/* ---- Changing names ---- */

static struct sim_name_change *log_name(struct sim_inode *dir, struct cd_str name, struct sim_inode *i,
                                        enum sim_name_kind kind)
{
    struct sim_fs *fs = dir->fs;
    struct sim_name_change *c = cd_new(struct sim_name_change);
    c->kind = kind;
    c->dir = dir;
    c->inode = i;
    sim_inode_hold(dir);
    sim_inode_hold(i);
    c->name = cd_str_dup(name);
    c->key = sim_mix(sim_mix(dir->key, cd_hash64(0, name.ptr, name.len)), ++fs->name_changes);
    cd_list_push(&fs->name_log, &c->link);
    return c;
}

void sim_name_create(struct sim_inode *dir, struct cd_str name, struct sim_inode *i)
{
    (void)log_name(dir, name, i, SIM_NAME_CREATE);
    map_set(&dir->names, name, i);
}

void sim_name_remove(struct sim_inode *dir, struct cd_str name)
{
    (void)log_name(dir, name, cd_map_get(&dir->names, name), SIM_NAME_REMOVE);
    map_set(&dir->names, name, NULL);
}

void sim_name_rename(struct sim_inode *dir, struct cd_str name, struct sim_inode *to_dir,
                     struct cd_str to_name)
{
    struct sim_inode *i = cd_map_get(&dir->names, name);
    struct sim_name_change *c = log_name(dir, name, i, SIM_NAME_RENAME);
    c->to_dir = to_dir;
    c->to_name = cd_str_dup(to_name);
    sim_inode_hold(to_dir);
    map_set(&to_dir->names, to_name, i);
    map_set(&dir->names, name, NULL);
}

static void apply(const struct sim_name_change *c)
{
    switch (c->kind) {
    case SIM_NAME_CREATE: map_set(&c->dir->durable_names, cd_str(c->name), c->inode); return;
    case SIM_NAME_REMOVE: map_set(&c->dir->durable_names, cd_str(c->name), NULL); return;
    case SIM_NAME_RENAME:
        map_set(&c->to_dir->durable_names, cd_str(c->to_name), c->inode);
        map_set(&c->dir->durable_names, cd_str(c->name), NULL);
        return;
    }
    CD_UNREACHABLE();
}

static bool touches(const struct sim_name_change *c, const struct sim_inode *dir)
{
    return c->dir == dir || c->to_dir == dir;
}

/* A rename between directories takes all that happened before it along, as a journal does: else an older
 * change of the other directory could come after it. */
void sim_fs_sync_dir(struct sim_inode *dir)
{
    struct cd_list *log = &dir->fs->name_log;
    const struct cd_link *all_until = NULL;
    for (struct cd_link *k = cd_list_first(log); k != NULL; k = cd_list_next(log, k)) {
        const struct sim_name_change *c = CD_CONTAINER(k, struct sim_name_change, link);
        if (touches(c, dir) && c->to_dir != NULL && c->to_dir != c->dir)
            all_until = k;
    }
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(log); k != NULL; k = next) {
        struct sim_name_change *c = CD_CONTAINER(k, struct sim_name_change, link);
        next = cd_list_next(log, k);
        bool last = k == all_until;
        if (all_until != NULL || touches(c, dir)) {
            apply(c);
            change_free(c);
        }
        if (last)
            all_until = NULL;
    }
}

/* ---- Power loss ---- */

static void show_durable_names(struct sim_inode *dir)
{
    struct cd_map old = dir->names;
    dir->names = (struct cd_map){0};
    for (struct cd_map_node *k = cd_map_first(&dir->durable_names); k != NULL; k = cd_map_next(k)) {
        struct sim_inode *i = cd_map_value(k);
        sim_inode_hold(i);
        (void)cd_map_put(&dir->names, cd_map_key(k), i);
    }
    map_release(&old);
}

void sim_fs_power_loss(struct sim_fs *fs)
{
    struct cd_link *k;
    fs->crashes++;
    while ((k = cd_list_first(&fs->name_log)) != NULL) {
        struct sim_name_change *c = CD_CONTAINER(k, struct sim_name_change, link);
        uint64_t draw = sim_draw(fs->node->sim, "names", c->key, fs->crashes);
        if (sim_fate(&fs->node->disk, draw, false) == SIM_KEEP)
            apply(c);
        change_free(c);
    }
    /* Showing what is durable may free inodes, among them the next of the list: hold them all meanwhile. */
    for (k = cd_list_first(&fs->inodes); k != NULL; k = cd_list_next(&fs->inodes, k))
        sim_inode_hold(CD_CONTAINER(k, struct sim_inode, link));
    for (k = cd_list_first(&fs->inodes); k != NULL; k = cd_list_next(&fs->inodes, k)) {
        struct sim_inode *i = CD_CONTAINER(k, struct sim_inode, link);
        if (i->dir)
            show_durable_names(i);
        else
            sim_inode_power_loss(i);
    }
    struct cd_list all = {0};
    cd_list_init(&all);
    while ((k = cd_list_pop(&fs->inodes)) != NULL)
        cd_list_push(&all, k);
    while ((k = cd_list_pop(&all)) != NULL) {
        cd_list_push(&fs->inodes, k);
        sim_inode_release(CD_CONTAINER(k, struct sim_inode, link));
    }
}
