/* cell/retire.c: settling what others may have written down about the alarm of a cell. fleet.md 8.3.
 *
 * When a session ends, what it had armed is written to wake/, and every node looks there until that is
 * settled. The cell's owner settles it: with a state of its own epoch that is proven, so whoever comes after
 * restores that state or a later one. */
#include "cell/cell_internal.h"

#include "fleet/waker.h"

#define AGAIN_MS 500 /* The state is not proven yet. */

struct retirement {
    struct cell_flow flow; /* First: freed with it. */
    char *scope; /* owned */
    struct store_wake_retired state;
};

static void retire(struct cell_flow *f)
{
    struct retirement *r = CD_CONTAINER(f, struct retirement, flow);
    struct cell_shard *s = f->shard;
    int rc = fleet_wake_retire(s->o.io, io_bucket(s->o.io), cd_str(r->scope), &r->state);
    struct cell *c = cell_find(s, cd_str(r->scope), false);
    if (c != NULL && c->epoch == r->state.identity.epoch) {
        c->retiring = false;
        if (rc == IO_OK)
            c->entries = false; /* Else the next look tries again. */
    }
    cd_free(r->scope);
}

void cell_retire(struct cell *c)
{
    struct cell_shard *s = c->shard;
    if (!c->entries || c->retiring || s->closing || s->fenced)
        return;
    /* What is committed: storage may know of more, which a rollback takes back, and its number comes again.
     */
    struct db_alarm a = db_alarm(c->db);
    if (a.inst_seq == 0) { /* It never had one. */
        c->entries = false;
        return;
    }
    if (a.armed && c->seq == 0)
        cell_body_alarm(c,
                        true); /* Nothing of this epoch says it: who recovers this session would not know. */
    if (!cell_proven(c, c->seq)) {
        cell_timer_by(s, cd_str(c->scope), io_wall_ms(s->o.io) + AGAIN_MS);
        return;
    }
    struct retirement *r = cd_new(struct retirement);
    r->scope = cd_str_dup(cd_str(c->scope));
    r->state.identity = (struct store_identity){c->epoch, a.inst_seq};
    r->state.armed = a.armed;
    r->state.at_ms = a.armed ? (uint64_t)a.due_ms : 0;
    c->retiring = true;
    cell_flow_detached(s, "retire", &r->flow, retire);
}
