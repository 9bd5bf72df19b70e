/* sim/model/steps.c: what the leader may do. */
#include "sim/model/slot_log.h"

unsigned model_up_to(unsigned batch)
{
    return (1u << (batch + 1)) - 2;
}

unsigned model_durable_slot(const struct model *m, const struct state *s)
{
    unsigned d = 0;
    if (m->bug == BUG_HOLE) {
        for (unsigned n = 1; n <= s->slots; n++)
            if (s->put[n] == PUT_STORED)
                d = n;
        return d;
    }
    while (d < s->slots && s->put[d + 1] == PUT_STORED)
        d++;
    return d;
}

unsigned model_durable_batch(const struct model *m, const struct state *s)
{
    unsigned d = model_durable_slot(m, s);
    return d == 0 ? 0 : s->last[d];
}

/* The batch up to which the ensemble has confirmed. */
static unsigned confirmed(const struct model *m, const struct state *s)
{
    unsigned c = s->confirmed[0];
    for (unsigned i = 1; i < m->members; i++)
        if (m->bug == BUG_ANY ? s->confirmed[i] > c : s->confirmed[i] < c)
            c = s->confirmed[i];
    return c;
}

static void cut_batch(struct model *m, const struct state *s)
{
    struct state *t = model_fork(m, s);
    t->cut++;
    t->log_epoch[t->cut] = t->active;
    for (unsigned i = 0; t->active != 0 && i < m->members; i++)
        if (t->active > t->lost[i])
            t->ship[i] |= 1u << t->cut;
    model_add(m, "cut batch");
}

/* Any number of un-slotted batches, at any time a place is free: that covers eager and lazy cutting. */
static void cut_slot(struct model *m, const struct state *s)
{
    unsigned packed = s->slots == 0 ? 0 : s->last[s->slots], from = packed + 1;
    if (s->cut <= packed || s->slots >= MODEL_SLOTS - 1 || s->slots >= model_durable_slot(m, s) + m->pipeline)
        return;
    if (m->bug == BUG_FORGET && s->named == 0 && s->active == 0 && s->epoch != 0)
        from = s->cut;
    for (unsigned last = from; last <= s->cut; last++) {
        struct state *t = model_fork(m, s);
        unsigned n = ++t->slots;
        t->first[n] = from;
        t->last[n] = last;
        t->put[n] = PUT_FLIGHT;
        t->tries[n] = 1;
        t->flight[n][0] = last;
        model_add(m, "cut and send slot");
    }
}

static void slot(struct model *m, const struct state *s, unsigned n)
{
    struct state *t;
    if (s->put[n] == PUT_FLIGHT) {
        t = model_fork(m, s);
        t->put[n] = m->bug == BUG_UNREAD ? PUT_STORED : PUT_READ;
        model_add(m, "slot PUT: no answer");
    }
    if (s->put[n] == PUT_READ && s->object_last[n] == MODEL_SEAL) {
        t = model_fork(m, s);
        t->fenced = 1;
        model_add(m, "read slot: seal, fence");
    } else if (s->put[n] == PUT_READ) {
        t = model_fork(m, s);
        t->put[n] = s->object_last[n] != 0 ? PUT_STORED : PUT_IDLE;
        model_add(m, "read slot");
    }
    if (s->put[n] == PUT_IDLE && s->tries[n] < m->puts) {
        t = model_fork(m, s);
        if (m->bug == BUG_REPACK && n == t->slots)
            t->last[n] = t->cut;
        t->flight[n][t->tries[n]++] = t->last[n];
        t->put[n] = PUT_FLIGHT;
        model_add(m, "send slot again");
    }
}

static void ensemble(struct model *m, const struct state *s)
{
    unsigned durable = model_durable_batch(m, s);
    struct state *t;
    if (s->active == 0 && s->named == 0 && s->publish == PUBLISH_NONE && s->epoch < m->epochs &&
        s->own_seal == OWN_NONE && s->lease == LEASE_OPEN &&
        (durable >= s->credited || m->bug == BUG_BARRIER))
        model_publish(m, s, PUBLISH_NAME, "name ensemble");
    if (s->named != 0) {
        t = model_fork(m, s);
        t->active = t->named;
        t->named = 0;
        t->from[t->active] = t->cut + 1;
        for (unsigned i = 0; i < m->members; i++)
            t->confirmed[i] = t->cut;
        model_add(m, "install ensemble");
    }
    if (s->active == 0)
        return;
    t = model_fork(m, s);
    t->active = 0;
    model_add(m, "degrade");
    unsigned c = confirmed(m, s), first = s->from[s->active];
    bool joined = c >= first && (durable >= first - 1 || m->bug == BUG_UNJOINED);
    if (joined && s->may_known == 0 && s->publish == PUBLISH_NONE && s->lease == LEASE_OPEN)
        model_publish(m, s, PUBLISH_MAY, "publish may_have_fleet_acks");
    if (joined && c > s->credited && (s->may_known != 0 || m->bug == BUG_NOMAY)) {
        t = model_fork(m, s);
        t->credited = c;
        model_add(m, "credit");
    }
}

static void floor_cas(struct model *m, const struct state *s)
{
    struct state *t;
    if (s->frozen) {
        t = model_fork(m, s);
        t->fenced = 1;
        model_add(m, "floor frozen: fence");
    } else if (s->floor == s->want_from || m->bug == BUG_PLAINFLOOR) {
        t = model_fork(m, s);
        t->floor = t->own_floor = t->want;
        t->floor_batch = t->last[t->want];
        t->want = 0;
        model_add(m, "floor CAS applied");
    }
    if (s->late_floor[0] == 0) {
        t = model_fork(m, s);
        t->late_floor[0] = s->want + 1;
        t->late_floor[1] = s->want_from;
        t->want = 0;
        model_add(m, "floor CAS: late");
    }
}

static void fold_and_delete(struct model *m, const struct state *s)
{
    unsigned d = model_durable_slot(m, s), wanted = m->bug == BUG_UNCOVERED ? d : s->folded;
    struct state *t;
    if (s->folded < d) {
        t = model_fork(m, s);
        t->folded = d;
        t->cells |= model_up_to(model_durable_batch(m, s));
        model_add(m, "fold");
    }
    if (s->want == 0 && wanted > s->own_floor) {
        t = model_fork(m, s);
        t->want = wanted;
        t->want_from = t->own_floor;
        model_add(m, "send floor CAS");
    }
    if (s->want != 0)
        floor_cas(m, s);
    unsigned may_delete = m->bug == BUG_EARLY && s->want != 0 ? s->want : s->own_floor;
    for (unsigned n = 1; n <= may_delete; n++) {
        if ((s->asked >> n & 1) != 0)
            continue;
        t = model_fork(m, s);
        t->asked |= 1u << n;
        t->deleting |= 1u << n;
        model_add(m, "send slot DELETE");
    }
}

/* The graceful end (fleet.md 9.3): all that was cut is durable and folded, then a seal of our own in the next
 * slot, then the record. Nothing is cut from the moment the seal is sent. */
static void close_log(struct model *m, const struct state *s)
{
    unsigned d = model_durable_slot(m, s), n = d + 1;
    struct state *t;
    if (n >= MODEL_SLOTS)
        return;
    switch (s->own_seal) {
    case OWN_NONE:
        if (s->cut != model_durable_batch(m, s) || s->active != 0 || s->named != 0 ||
            s->publish != PUBLISH_NONE || (s->folded != d && m->bug != BUG_UNFOLDED))
            return;
        t = model_fork(m, s);
        t->own_seal = OWN_FLIGHT;
        t->own_put = 1;
        model_add(m, "send own seal");
        return;
    case OWN_FLIGHT:
        t = model_fork(m, s);
        t->own_seal = OWN_READ;
        model_add(m, "own seal: no answer");
        return;
    case OWN_READ:
        t = model_fork(m, s);
        if (s->object_last[n] == 0)
            t->own_seal = OWN_LEFT;
        else if (s->object_last[n] == MODEL_SEAL && s->own_there)
            t->own_seal = OWN_STORED;
        else
            t->fenced = 1;
        model_add(m, "read own seal");
        return;
    case OWN_STORED:
        if (s->lease == LEASE_OPEN && s->publish == PUBLISH_NONE)
            model_publish(m, s, PUBLISH_SEAL, "record own seal");
        return;
    case OWN_RECORDED:
    case OWN_LEFT: return;
    }
    CD_UNREACHABLE();
}

void model_leader(struct model *m, const struct state *s)
{
    if (s->cut < m->batches && s->own_seal == OWN_NONE)
        cut_batch(m, s);
    if (s->own_seal == OWN_NONE)
        cut_slot(m, s);
    if (m->closes != 0)
        close_log(m, s);
    for (unsigned n = 1; n <= s->slots; n++)
        slot(m, s, n);
    if (s->publish != PUBLISH_NONE)
        model_lease_leader(m, s);
    if (m->members != 0)
        ensemble(m, s);
    if (m->floors != 0)
        fold_and_delete(m, s);
}
