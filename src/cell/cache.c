/* cell/cache.c: how many bytes of kept databases may lie on this shard's part of the disk. fleet.md 5.9.
 *
 * A kept database spares a restore and is never the only copy of anything: deleting one is always right. The
 * index is made from the disk when the shard opens, and then follows what this shard itself does: nobody else
 * touches its cells' directories. */
#include <stdlib.h>

#include "cell/cell_internal.h"

struct cache_entry {
    char *scope; /* owned */
    uint64_t epoch, bytes;
    int64_t modified_ms; /* When it was found. */
    struct cd_link link; /* In cache.lru. */
};

struct cell_cache {
    struct cd_map entries; /* By scope: the newest of a cell. */
    struct cd_list lru; /* The longest unused first. */
    uint64_t bytes;
};

static void entry_free(struct cell_cache *k, struct cache_entry *e)
{
    (void)cd_map_remove(&k->entries, cd_str(e->scope));
    cd_link_remove(&e->link);
    k->bytes -= e->bytes;
    cd_free(e->scope);
    cd_free(e);
}

static int entry_delete(struct cell_shard *s, struct cache_entry *e)
{
    struct cd_buf dir = {0};
    cell_dir(&dir, s, cd_str(e->scope), e->epoch);
    cell_chain_let_go(s, cd_str(e->scope));
    int rc = db_remove(s->o.io, cd_buf_cstr(&dir));
    cd_buf_deinit(&dir);
    return rc;
}

static void trim(struct cell_shard *s)
{
    struct cell_cache *k = s->cache;
    struct cd_link *next;
    for (struct cd_link *at = cd_list_first(&k->lru); at != NULL && k->bytes > s->o.limits.cache_bytes;
         at = next) {
        struct cache_entry *e = CD_CONTAINER(at, struct cache_entry, link);
        next = cd_list_next(&k->lru, at);
        int rc = entry_delete(s, e);
        if (rc == IO_OK) {
            io_mark(s->o.io, "cell.cache_trimmed");
            entry_free(k, e);
        } else { /* Its bytes are still there; the next one goes. */
            cd_event(s->o.io, CD_WARN, "cell_cache_not_trimmed", CD_Z("scope", e->scope),
                     CD_Z("error", cd_err_text(rc)));
        }
    }
}

static void add(struct cell_shard *s, struct cd_str scope, uint64_t epoch, uint64_t bytes,
                int64_t modified_ms)
{
    struct cell_cache *k = s->cache;
    struct cache_entry *e = cd_new(struct cache_entry);
    *e = (struct cache_entry){
        .scope = cd_str_dup(scope), .epoch = epoch, .bytes = bytes, .modified_ms = modified_ms};
    (void)cd_map_put(&k->entries, scope, e);
    k->bytes += bytes;
    cd_list_push(&k->lru, &e->link);
}

void cell_cache_taken(struct cell_shard *s, struct cd_str scope)
{
    struct cache_entry *e = cd_map_get(&s->cache->entries, scope);
    cell_chain_let_go(s, scope);
    if (e != NULL)
        entry_free(s->cache, e);
}

/* The size of what is kept in an epoch's directory; 0: nothing is. */
static uint64_t kept_size(struct cell_shard *s, struct cd_str scope, uint64_t epoch, int64_t *modified_ms)
{
    struct cd_buf path = {0};
    struct io_path_info info = {0};
    struct cd_buf dir = {0};
    cell_dir(&dir, s, scope, epoch);
    db_snapshot_path(&path, cd_buf_cstr(&dir));
    int rc = io_path_stat(s->o.io, cd_buf_cstr(&path), &info);
    cd_buf_deinit(&path);
    cd_buf_deinit(&dir);
    *modified_ms = info.modified_ms;
    return rc == IO_OK ? info.size : 0;
}

void cell_cache_kept(struct cell_shard *s, struct cd_str scope, uint64_t epoch)
{
    int64_t modified_ms;
    uint64_t bytes = kept_size(s, scope, epoch, &modified_ms);
    struct cache_entry *old = cd_map_get(&s->cache->entries, scope);
    if (old != NULL) { /* Of an earlier epoch, which nobody can use any more. */
        int rc = old->epoch == epoch ? IO_OK : entry_delete(s, old);
        CD_MAYBE(rc == IO_OK); /* The next start sweeps what stays. */
        entry_free(s->cache, old);
    }
    add(s, scope, epoch, bytes, modified_ms);
    trim(s);
}

/* ---- At the start ---- */

struct found {
    struct cell_shard *s;
    struct cd_str scope;
    struct cd_buf cells; /* Directory. */
    char **all; /* Every cell that has a directory. */
    size_t count, cap;
};

static void found_epoch(void *arg, const char *name)
{
    struct found *f = arg;
    uint64_t epoch, bytes;
    int64_t modified_ms;
    if (name[0] != 'e' || cd_str_u64(cd_str(name + 1), &epoch) != 0)
        return;
    bytes = kept_size(f->s, f->scope, epoch, &modified_ms);
    struct cache_entry *old = cd_map_get(&f->s->cache->entries, f->scope);
    if (bytes == 0 || (old != NULL && old->epoch > epoch))
        return;
    if (old != NULL)
        entry_free(f->s->cache, old);
    add(f->s, f->scope, epoch, bytes, modified_ms);
}

static void found_cell(void *arg, const char *name)
{
    struct found *f = arg;
    struct cd_buf dir = {0};
    f->scope = cd_str(name);
    if (!cell_scope_valid(f->scope) ||
        cell_scope_loop(f->scope, f->s->o.router->loops) != io_loop_index(f->s->o.io))
        return;
    if (f->count == f->cap) {
        f->cap = f->cap == 0 ? 64 : f->cap * 2;
        f->all = cd_realloc(f->all, f->cap * sizeof *f->all);
    }
    f->all[f->count++] = cd_str_dup(f->scope);
    cd_buf_addf(&dir, "%s/%s", cd_buf_cstr(&f->cells), name);
    int rc = io_path_list(f->s->o.io, cd_buf_cstr(&dir), found_epoch, f);
    CD_MAYBE(rc == IO_OK); /* What cannot be listed is not counted. */
    cd_buf_deinit(&dir);
}

static int by_age(const void *a, const void *b)
{
    const struct cache_entry *const *x = a, *const *y = b;
    if ((*x)->modified_ms != (*y)->modified_ms)
        return (*x)->modified_ms < (*y)->modified_ms ? -1 : 1;
    return strcmp((*x)->scope, (*y)->scope);
}

static void sort(struct cell_cache *k)
{
    struct cache_entry **all = cd_alloc((k->entries.count + 1) * sizeof *all);
    size_t n = 0;
    for (struct cd_link *at; (at = cd_list_pop(&k->lru)) != NULL;)
        all[n++] = CD_CONTAINER(at, struct cache_entry, link);
    if (n > 1)
        qsort(all, n, sizeof *all, by_age);
    for (size_t i = 0; i < n; i++)
        cd_list_push(&k->lru, &all[i]->link);
    cd_free(all);
}

void cell_cache_open(struct cell_shard *s)
{
    struct found f = {.s = s};
    s->cache = cd_new(struct cell_cache);
    cd_list_init(&s->cache->lru);
    cd_buf_addf(&f.cells, "%s/cells", s->o.data_dir);
    int rc = io_path_list(s->o.io, cd_buf_cstr(&f.cells), found_cell, &f);
    CD_MAYBE(rc == IO_OK); /* There is none yet. */
    cd_buf_deinit(&f.cells);
    sort(s->cache);
    trim(s);
    cell_inventory_start(s, f.all, f.count);
}

void cell_cache_free(struct cell_shard *s)
{
    for (struct cd_link *k; (k = cd_list_first(&s->cache->lru)) != NULL;)
        entry_free(s->cache, CD_CONTAINER(k, struct cache_entry, link));
    cd_map_deinit(&s->cache->entries);
    cd_free(s->cache);
    s->cache = NULL;
}
