/* sim/model/recover.c: what a recoverer may do, step by step (fleet.md 7.2 to 7.6). */
#include "sim/model/slot_log.h"

/* Batch number below slot n as a reader knows it. */
static unsigned below(const struct state *s, unsigned n)
{
    return n - 1 <= s->floor ? s->floor_batch : s->object_last[n - 1];
}

static void members(struct model *m, const struct state *s, unsigned q)
{
    if (s->may_have_acks == 0 || m->members == 0 || m->bug == BUG_NOTAIL) {
        struct state *t = model_fork(m, s);
        t->recoverer[q].witness_base = MODEL_SEAL;
        t->recoverer[q].at = RECOVER_FREEZE;
        model_add(m, "no witness needed");
        return;
    }
    unsigned witnesses = 0, left = 0;
    for (unsigned i = 0; i < m->members; i++) {
        witnesses += s->fragment[i] == s->epoch;
        left += s->lost[i] < s->epoch;
    }
    if (witnesses == 0 || (witnesses < m->members && m->bug == BUG_HASTY)) {
        struct state *t = model_fork(m, s);
        t->declared = 1;
        t->recoverer[q].witness_base = MODEL_SEAL;
        t->recoverer[q].at = RECOVER_FREEZE;
        if (left > 0)
            m->verdict = "VIOLATION loss declared, a disk is left";
        model_add(m, "no member has it: declare the loss");
    }
    /* Any of them: the others give no answer. */
    for (unsigned i = 0; i < m->members; i++) {
        if (s->fragment[i] != s->epoch)
            continue;
        struct state *t = model_fork(m, s);
        if (t->sealed_to[i] < t->epoch)
            t->sealed_to[i] = t->epoch;
        t->recoverer[q].witness_base = t->base[i];
        t->recoverer[q].witness_end = t->end[i];
        t->recoverer[q].at = RECOVER_FREEZE;
        model_add(m, "seal member, read tail");
    }
}

/* One step that only moves the recoverer on. */
static void go(struct model *m, const struct state *s, unsigned q, unsigned at, const char *step)
{
    struct state *t = model_fork(m, s);
    t->recoverer[q].at = at;
    model_add(m, step);
}

static void found_seal(struct model *m, const struct state *s, unsigned q, unsigned n, const char *step)
{
    struct state *t = model_fork(m, s);
    t->recoverer[q].seal = n;
    t->recoverer[q].at = RECOVER_FOLD;
    model_add(m, step);
}

static void list(struct model *m, const struct state *s, unsigned q)
{
    if (s->lease == LEASE_SEALED) {
        go(m, s, q, RECOVER_DONE, "already sealed");
        return;
    }
    unsigned top = s->floor;
    for (unsigned n = top + 1; n < MODEL_SLOTS; n++) {
        if (s->object_last[n] == MODEL_SEAL) {
            found_seal(m, s, q, n, "seal found");
            return;
        }
    }
    while (top + 1 < MODEL_SLOTS && s->object_last[top + 1] != 0)
        top++;
    for (unsigned n = top + m->pipeline + 1; n < MODEL_SLOTS; n++)
        if (s->object_last[n] != 0)
            m->verdict = "VIOLATION slot missing";
    if (m->verdict != NULL || top + 1 >= MODEL_SLOTS)
        return;
    struct state *t = model_fork(m, s);
    t->recoverer[q].end = top;
    t->recoverer[q].at = RECOVER_CREATE;
    model_add(m, "list");
}

static void create(struct model *m, const struct state *s, unsigned q)
{
    if (s->recoverer[q].tries >= m->seal_puts)
        return;
    struct state *t = model_fork(m, s);
    struct recoverer *r = &t->recoverer[q];
    r->seals[r->end + 1] |= 1u << r->tries;
    r->tries++;
    r->at = RECOVER_WAIT;
    model_add(m, "send seal PUT");
}

static void look(struct model *m, const struct state *s, unsigned q)
{
    unsigned n = s->recoverer[q].end + 1;
    if (s->object_last[n] == MODEL_SEAL) {
        found_seal(m, s, q, n, "read slot: sealed");
    } else if (s->object_last[n] == 0) {
        go(m, s, q, s->lease == LEASE_SEALED ? RECOVER_DONE : RECOVER_CREATE, "read slot: empty");
    } else if (n + 1 < MODEL_SLOTS) {
        struct state *t = model_fork(m, s);
        t->recoverer[q].end = n;
        t->recoverer[q].tries = 0;
        t->recoverer[q].at = RECOVER_CREATE;
        model_add(m, "read slot: batches, go on");
    }
}

static void fold(struct model *m, const struct state *s, unsigned q)
{
    const struct recoverer *r = &s->recoverer[q];
    if (s->lease == LEASE_SEALED) {
        go(m, s, q, RECOVER_DONE, "already sealed");
        return;
    }
    unsigned b = below(s, s->floor + 1), cells = 0;
    bool lost = false;
    for (unsigned n = s->floor + 1; n < r->seal && !lost; n++) {
        lost = s->object_last[n] == 0 || s->object_last[n] == MODEL_SEAL || s->object_first[n] != b + 1;
        if (!lost) {
            cells |= model_up_to(s->object_last[n]) & ~model_up_to(b);
            b = s->object_last[n];
        }
    }
    if (m->bug == BUG_JOIN) /* Takes the slot number for the batch number. */
        b = r->seal - 1;
    if (r->witness_base != MODEL_SEAL && !(m->bug == BUG_FOUNDSEAL && r->tries == 0)) {
        lost = lost || r->witness_base > b;
        if (r->witness_end > b)
            cells |= model_up_to(r->witness_end) & ~model_up_to(b);
    }
    if (lost) {
        m->verdict = "VIOLATION batch missing";
        return;
    }
    struct state *t = model_fork(m, s);
    t->cells |= cells;
    t->recoverer[q].batch = b;
    t->recoverer[q].at = RECOVER_RECORD;
    model_add(m, "fold history");
}

static void clean(struct model *m, const struct state *s, unsigned q)
{
    struct state *t = model_fork(m, s);
    for (unsigned n = 1; n < MODEL_SLOTS; n++)
        if (n != t->seal || m->bug == BUG_NOSEAL)
            t->object_first[n] = t->object_last[n] = 0;
    t->floor = t->floor_batch = t->frozen = 0;
    t->recoverer[q].at = RECOVER_DONE;
    model_add(m, "clean up");
}

static void freeze(struct model *m, const struct state *s, unsigned q)
{
    struct state *t = model_fork(m, s);
    if (m->bug != BUG_NOFREEZE)
        t->frozen = 1;
    t->recoverer[q].at = RECOVER_LIST;
    model_add(m, "freeze floor");
}

void model_recoverer(struct model *m, const struct state *s, unsigned q)
{
    switch (s->recoverer[q].at) {
    case RECOVER_IDLE:
    case RECOVER_CLAIM: model_lease_claim(m, s, q); return;
    case RECOVER_MEMBERS: members(m, s, q); return;
    case RECOVER_FREEZE: freeze(m, s, q); return;
    case RECOVER_LIST: list(m, s, q); return;
    case RECOVER_CREATE: create(m, s, q); return;
    case RECOVER_WAIT: go(m, s, q, RECOVER_READ, "seal PUT: no answer"); return;
    case RECOVER_READ: look(m, s, q); return;
    case RECOVER_FOLD: fold(m, s, q); return;
    case RECOVER_RECORD:
    case RECOVER_ANSWER: model_lease_record(m, s, q); return;
    case RECOVER_CLEAN: clean(m, s, q); return;
    case RECOVER_DONE: return;
    }
    CD_UNREACHABLE();
}
