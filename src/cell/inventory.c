/* cell/inventory.c: the cells of which this node's disk still has something, when a shard opens: which of
 * them are this node's. fleet.md 9.5. Those are dormant here: they count as owned, and a drain hands them
 * off. Their alarms are found by their wake entries and packs. */
#include "cell/cell_internal.h"
#include "fleet/inventory.h"

#define READERS 16u /* Of a shard. */
#define AGAIN_NS IO_SEC(1)

struct inventory {
    unsigned readers; /* That run. */
    size_t next, count;
    char **scope; /* owned, with each */
    uint64_t *epoch; /* owned; 0: not ours */
};

struct reader {
    struct cell_flow flow; /* First: freed with it. */
    struct inventory *of;
};

static void inventory_free(struct inventory *v)
{
    for (size_t i = 0; i < v->count; i++)
        cd_free(v->scope[i]);
    cd_free(v->scope);
    cd_free(v->epoch);
    cd_free(v);
}

/* Until the store says it, one way or the other. */
static int for_certain(struct cell_shard *s, const char *scope, uint64_t *epoch)
{
    struct io *io = s->o.io;
    for (;;) {
        int rc = scope != NULL ? fleet_inventory_read(io, io_bucket(io), s->o.self, cd_str(scope), epoch)
                               : fleet_inventory_confirm(io, io_bucket(io), s->o.self);
        if (rc == IO_OK || rc == IO_CANCELED || rc == CD_EFENCED || rc == CD_ECORRUPT)
            return rc;
        if (io_sleep(io, AGAIN_NS) != IO_OK)
            return IO_CANCELED;
    }
}

/* A directory of a cell that is not ours and holds nothing any more. */
static void remove_empty(struct cell_shard *s, const char *scope)
{
    struct cd_buf dir = {0};
    cd_buf_addf(&dir, "%s/cells/%s", s->o.data_dir, scope);
    int rc = io_path_remove(s->o.io, cd_buf_cstr(&dir));
    CD_MAYBE(rc != IO_OK); /* A snapshot is in it: the bound of the cache removes that (cache.c). */
    cd_buf_deinit(&dir);
}

static void enter(struct cell_shard *s, const struct inventory *v)
{
    uint64_t found = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct cd_str scope = cd_str(v->scope[i]);
        if (v->epoch[i] == 0 && cell_owned(s, scope, false) == NULL && cell_find(s, scope, false) == NULL)
            remove_empty(s, v->scope[i]);
        if (v->epoch[i] == 0 || cell_owned(s, scope, false) != NULL)
            continue; /* It was claimed meanwhile. */
        *cell_owned(s, scope, true) =
            (struct cell_owned){.epoch = v->epoch[i], .inherited = true, .entries = true};
        found++;
    }
    if (found > 0)
        CD_MARK("cell.inventory");
    cd_event(s->o.io, CD_DEBUG, "cell_inventory", CD_U("cells", v->count), CD_U("owned", found));
}

static void read_flow(struct cell_flow *f)
{
    struct inventory *v = CD_CONTAINER(f, struct reader, flow)->of;
    struct cell_shard *s = f->shard;
    int rc = IO_OK;
    while (rc == IO_OK && v->next < v->count) {
        size_t i = v->next++;
        rc = for_certain(s, v->scope[i], &v->epoch[i]);
        if (rc == CD_ECORRUPT) { /* Whoever needs the cell says so. */
            v->epoch[i] = 0;
            rc = IO_OK;
        }
    }
    if (rc != IO_OK)
        v->next = SIZE_MAX; /* It is over, for the others too. */
    if (--v->readers > 0)
        return;
    if (v->next != SIZE_MAX && for_certain(s, NULL, NULL) == IO_OK && !s->closing && !s->fenced) {
        enter(s, v);
        s->inventoried = true;
    }
    inventory_free(v);
}

void cell_inventory_start(struct cell_shard *s, char **scope, size_t count)
{
    if (count == 0) {
        s->inventoried = true;
        cd_free(scope);
        return;
    }
    struct inventory *v = cd_new(struct inventory);
    v->scope = scope;
    v->count = count;
    v->epoch = cd_alloc(count * sizeof *v->epoch);
    v->readers = count < READERS ? (unsigned)count : READERS;
    for (unsigned i = v->readers; i > 0; i--) {
        struct reader *r = cd_new(struct reader);
        r->of = v;
        cell_flow_detached(s, "inventory", &r->flow, read_flow);
    }
}
