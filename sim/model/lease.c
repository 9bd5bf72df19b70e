/* sim/model/lease.c: compare-and-swap of the session's record (fleet.md 4.1, 6.2, 7.2, 7.6).
 *
 * Every CAS has the guard of what its sender has read. So it stays possible until any other is applied,
 * whatever its sender heard; its sender goes on when it has seen it there. */
#include "sim/model/slot_log.h"

/* Whatever was under way has the guard of before. */
static void applied(const struct model *m, struct state *t)
{
    if (m->bug != BUG_PLAINRECORD)
        t->cas = PUBLISH_NONE;
    for (unsigned q = 0; q < MODEL_RECOVERERS; q++)
        t->recoverer[q].cas = CAS_NONE;
}

static void publish_applied(const struct model *m, struct state *t, unsigned what)
{
    applied(m, t);
    t->cas = PUBLISH_NONE;
    t->lease = LEASE_OPEN;
    if (what == PUBLISH_NAME)
        t->epoch++;
    t->may_have_acks = what == PUBLISH_MAY;
    if (what == PUBLISH_SEAL) {
        t->lease = LEASE_SEALED;
        t->seal = model_durable_slot(m, t) + 1;
        t->ended = 1;
    }
}

/* The leader knows that the record says what it wanted. */
static void published(struct state *t)
{
    t->may_known = t->publish == PUBLISH_MAY;
    if (t->publish == PUBLISH_NAME)
        t->named = t->epoch;
    if (t->publish == PUBLISH_SEAL)
        t->own_seal = OWN_RECORDED;
    t->publish = PUBLISH_NONE;
    t->landed = 0;
}

void model_publish(struct model *m, const struct state *s, unsigned what, const char *step)
{
    struct state *t = model_fork(m, s);
    t->publish = what;
    if (m->unclear != 0) {
        t->cas = what;
    } else {
        publish_applied(m, t, what);
        published(t);
    }
    model_add(m, step);
}

void model_lease_leader(struct model *m, const struct state *s)
{
    struct state *t;
    if (s->landed && (s->lease == LEASE_OPEN || s->publish == PUBLISH_SEAL)) {
        t = model_fork(m, s);
        published(t);
        model_add(m, "read record: ours");
    }
    if (m->bug == BUG_UNKNOWNMAY && s->publish == PUBLISH_MAY) {
        t = model_fork(m, s);
        published(t);
        model_add(m, "no answer: taken as published");
    }
}

static void claimed(const struct model *m, struct state *t, unsigned q)
{
    applied(m, t);
    t->lease = LEASE_RECOVERING;
    t->claimant = q;
}

static void recorded(const struct model *m, struct state *t, unsigned q)
{
    applied(m, t);
    t->lease = LEASE_SEALED;
    t->seal = t->recoverer[q].seal;
    t->ended = 1;
}

static void go(struct model *m, const struct state *s, unsigned q, unsigned at, const char *step)
{
    struct state *t = model_fork(m, s);
    t->recoverer[q].at = at;
    model_add(m, step);
}

void model_lease_claim(struct model *m, const struct state *s, unsigned q)
{
    if (s->recoverer[q].at == RECOVER_CLAIM) {
        if (s->lease == LEASE_RECOVERING && s->claimant == q)
            go(m, s, q, RECOVER_MEMBERS, "read record: claimed");
        else if (s->recoverer[q].cas == CAS_NONE)
            go(m, s, q, RECOVER_IDLE, "read record: not claimed");
        return;
    }
    /* The first starts on an open record; the second finds the claim of the first stale. */
    if (s->lease != (q == 0 ? LEASE_OPEN : LEASE_RECOVERING))
        return;
    struct state *t = model_fork(m, s);
    if (m->unclear != 0) {
        t->recoverer[q].at = RECOVER_CLAIM;
        t->recoverer[q].cas = CAS_CLAIM;
    } else {
        claimed(m, t, q);
        t->recoverer[q].at = RECOVER_MEMBERS;
    }
    model_add(m, "claim");
}

void model_lease_record(struct model *m, const struct state *s, unsigned q)
{
    bool mine = s->lease == LEASE_RECOVERING && s->claimant == q;
    if (s->recoverer[q].at == RECOVER_ANSWER) {
        if ((s->lease == LEASE_SEALED && s->claimant == q) || m->bug == BUG_UNRECORDED)
            go(m, s, q, RECOVER_CLEAN, "read record: sealed");
        else if (!mine)
            go(m, s, q, RECOVER_DONE, "claim lost");
        return;
    }
    if (!mine) {
        go(m, s, q, RECOVER_DONE, "claim lost");
        return;
    }
    struct state *t = model_fork(m, s);
    if (m->unclear != 0) {
        t->recoverer[q].at = RECOVER_ANSWER;
        t->recoverer[q].cas = CAS_RECORD;
    } else {
        recorded(m, t, q);
        t->recoverer[q].at = RECOVER_CLEAN;
    }
    model_add(m, "record sealed");
}

static void recoverer_landing(struct model *m, const struct state *s, unsigned q)
{
    bool claim = s->recoverer[q].cas == CAS_CLAIM;
    struct state *t = model_fork(m, s);
    if (claim)
        claimed(m, t, q);
    else
        recorded(m, t, q);
    model_add(m, claim ? "claim lands" : "sealed record lands"); /* The answer is as good as a read. */
}

void model_lease_landings(struct model *m, const struct state *s)
{
    if (s->cas != PUBLISH_NONE) {
        struct state *t = model_fork(m, s);
        publish_applied(m, t, s->cas);
        t->landed = t->publish == s->cas;
        model_add(m, "CAS of the record lands"); /* The answer is as good as a read. */
    }
    for (unsigned q = 0; q < m->recoverers; q++)
        if (s->recoverer[q].cas != CAS_NONE)
            recoverer_landing(m, s, q);
}
