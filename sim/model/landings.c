/* sim/model/landings.c: what was sent arrives: at once, late, never; also when its sender is gone. */
#include "sim/model/slot_log.h"

static void slot_put(struct model *m, const struct state *s, unsigned n, unsigned try)
{
    struct state *t = model_fork(m, s);
    bool created = t->object_last[n] == 0;
    if (created) {
        t->object_first[n] = t->first[n];
        t->object_last[n] = t->flight[n][try];
    }
    t->flight[n][try] = 0;
    if (t->put[n] == PUT_FLIGHT && t->tries[n] == try + 1 && !t->fenced)
        t->put[n] = created ? PUT_STORED : PUT_READ;
    model_add(m, "slot PUT lands");
}

/* A follower gets batch b. */
static void append(struct model *m, const struct state *s, unsigned i, unsigned b)
{
    unsigned e = s->log_epoch[b];
    if (e <= s->lost[i] && m->bug != BUG_REBORN)
        return; /* It was sent to the process that had the disk. */
    struct state *t = model_fork(m, s);
    if (t->fragment[i] != e) { /* Adoption needs the record, not the leader's word. */
        if (t->lease != LEASE_OPEN || t->epoch != e || t->sealed_to[i] >= e || b != t->from[e])
            return;
        t->fragment[i] = e;
        t->base[i] = t->end[i] = b - 1;
    }
    if ((e <= t->sealed_to[i] && m->bug != BUG_UNSEALED) || b > t->end[i] + 1)
        return;
    if (b > t->end[i])
        t->end[i] = b;
    model_add(m, "append stored, answer lost");
    if (t->active == e && !t->fenced && t->confirmed[i] < b) {
        t->confirmed[i] = b;
        if (m->bug != BUG_REBORN) /* A second copy may be under way. */
            t->ship[i] &= ~(1u << b);
        model_add(m, "append confirmed");
    }
}

/* With the disk goes that it was sealed. A log epoch that is being named is named for the process of before.
 */
static void lose_disk(struct model *m, const struct state *s, unsigned i)
{
    struct state *t = model_fork(m, s);
    t->disks++;
    t->fragment[i] = t->base[i] = t->end[i] = t->sealed_to[i] = 0;
    t->lost[i] = s->epoch + (s->cas == PUBLISH_NAME);
    if (m->bug != BUG_REBORN)
        t->ship[i] = 0;
    model_add(m, "member loses its disk");
}

static void follower(struct model *m, const struct state *s, unsigned i)
{
    if (s->disks < m->disks && s->fragment[i] != 0)
        lose_disk(m, s, i);
    for (unsigned b = 1; b <= s->cut; b++)
        if ((s->ship[i] >> b & 1) != 0)
            append(m, s, i, b);
    if (s->active == 0 || s->fragment[i] != s->active || s->fenced || s->sealed_to[i] >= s->active)
        return;
    unsigned to = model_durable_batch(m, s);
    if (m->bug == BUG_TRUNCATE)
        to = s->slots == 0 ? 0 : s->last[s->slots];
    if (to > s->end[i])
        to = s->end[i];
    if (to > s->base[i]) {
        struct state *t = model_fork(m, s);
        t->base[i] = to;
        model_add(m, "member truncates");
    }
}

static void own_seal_put(struct model *m, const struct state *s)
{
    unsigned n = model_durable_slot(m, s) + 1;
    struct state *t = model_fork(m, s);
    bool created = t->object_last[n] == 0;
    if (created) {
        t->object_last[n] = MODEL_SEAL;
        t->object_first[n] = 0;
        t->own_there = 1;
    }
    t->own_put = 0;
    if (t->own_seal == OWN_FLIGHT && !t->fenced)
        t->own_seal = created ? OWN_STORED : OWN_READ;
    model_add(m, "own seal lands");
}

static void late_floor(struct model *m, const struct state *s)
{
    struct state *t = model_fork(m, s);
    unsigned k = t->late_floor[0] - 1;
    if ((t->floor == t->late_floor[1] && !t->frozen) || m->bug == BUG_PLAINFLOOR) {
        t->floor = k;
        t->floor_batch = t->last[k];
        if (!t->fenced && t->own_floor < k)
            t->own_floor = k;
    }
    t->late_floor[0] = t->late_floor[1] = 0;
    model_add(m, "late floor CAS lands");
}

static void seal_put(struct model *m, const struct state *s, unsigned q, unsigned n, unsigned try)
{
    struct state *t = model_fork(m, s);
    struct recoverer *r = &t->recoverer[q];
    bool created = t->object_last[n] == 0 || m->bug == BUG_PLAINSEAL;
    r->seals[n] &= ~(1u << try);
    if (created) {
        t->object_last[n] = MODEL_SEAL;
        t->object_first[n] = 0;
    }
    if (r->at == RECOVER_WAIT && r->end + 1 == n && r->tries == try + 1) {
        r->at = created ? RECOVER_FOLD : RECOVER_READ;
        r->seal = created ? n : 0;
    }
    model_add(m, "seal PUT lands");
}

void model_landings(struct model *m, const struct state *s)
{
    for (unsigned n = 1; n <= s->slots; n++)
        for (unsigned try = 0; try < 2; try++)
            if (s->flight[n][try] != 0)
                slot_put(m, s, n, try);
    for (unsigned i = 0; i < m->members; i++)
        follower(m, s, i);
    model_lease_landings(m, s);
    if (s->own_put != 0)
        own_seal_put(m, s);
    if (s->late_floor[0] != 0)
        late_floor(m, s);
    for (unsigned n = 1; n < MODEL_SLOTS; n++) {
        if ((s->deleting >> n & 1) != 0) {
            struct state *t = model_fork(m, s);
            t->deleting &= ~(1u << n);
            t->object_first[n] = t->object_last[n] = 0;
            model_add(m, "slot DELETE lands");
        }
    }
    for (unsigned q = 0; q < m->recoverers; q++)
        for (unsigned n = 1; n < MODEL_SLOTS; n++)
            for (unsigned try = 0; try < 2; try++)
                if ((s->recoverer[q].seals[n] >> try & 1) != 0)
                    seal_put(m, s, q, n, try);
}
