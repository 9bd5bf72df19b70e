/* The lease machine against a model of one record: answers that get lost, writes that land late, recoverers,
 * successors, operators, pauses. */
#include "base/rng.h"
#include "fleet/lease_machine.h"
#include "support/test.h"

#define TTL 3000u

enum body_kind { NOTHING, OURS, OURS_RECOVERED, FOREIGN, FOREIGN_LOG };

struct write {
    struct fleet_lease_attempt body;
    uint64_t guard; /* 0: no record */
};

struct world {
    struct fleet_lease_machine m;
    struct cd_rng rng;
    bool faults;
    uint64_t now;
    /* The record. */
    enum body_kind kind;
    struct fleet_lease_attempt body; /* OURS* */
    uint64_t token;
    uint64_t tokens;
    uint64_t newest_deadline; /* The latest expiry that a write of ours put into the record. */
    /* Under way, perhaps for long. */
    struct write late[64];
    unsigned late_count;
    unsigned applied, fenced, held;
};

static bool chance(struct world *w, unsigned percent)
{
    return w->faults && cd_rng_below(&w->rng, 100) < percent;
}

static struct fleet_lease_event event(struct world *w, enum fleet_lease_event_kind kind)
{
    return (struct fleet_lease_event){.kind = kind, .now_ns = w->now};
}

/* One conditional write arrives at the store. */
static bool land(struct world *w, const struct write *x)
{
    uint64_t there = w->kind == NOTHING ? 0 : w->token;
    if (there != x->guard)
        return false;
    /* What must never be overwritten: an open log of somebody else, and our own record once somebody
     * recovered it. */
    assert_int_not_equal(w->kind, FOREIGN_LOG);
    assert_int_not_equal(w->kind, OURS_RECOVERED);
    if (w->m.acquired)
        assert_int_equal(w->kind, OURS);
    if (w->kind == OURS)
        assert_true(x->body.seq > w->body.seq);
    w->kind = OURS;
    w->body = x->body;
    w->token = ++w->tokens;
    if (x->body.anchor_ns + TTL > w->newest_deadline)
        w->newest_deadline = x->body.anchor_ns + TTL;
    w->applied++;
    return true;
}

static void late_ones_land(struct world *w)
{
    for (unsigned i = 0; i < w->late_count;) {
        if (chance(w, 30)) {
            (void)land(w, &w->late[i]);
            w->late[i] = w->late[--w->late_count];
        } else {
            i++;
        }
    }
}

/* Others at work on the record. */
static void meddle(struct world *w)
{
    bool dead = w->kind == OURS && w->now >= w->body.anchor_ns + TTL;
    if (dead && chance(w, 30)) { /* A recoverer; only of what looks dead. */
        w->kind = OURS_RECOVERED;
        w->token = ++w->tokens;
    } else if (chance(w, 1)) { /* One with a fast clock. */
        if (w->kind == OURS) {
            w->kind = OURS_RECOVERED;
            w->token = ++w->tokens;
        }
    } else if (chance(w, 1)) { /* A second process with our id. */
        w->kind = cd_rng_below(&w->rng, 2) == 0 ? FOREIGN : FOREIGN_LOG;
        w->token = ++w->tokens;
    } else if (chance(w, 1)) { /* An operator. */
        w->kind = NOTHING;
    }
}

static void read_now(struct world *w, struct fleet_lease_event *e, char token[24])
{
    *e = event(w, FLEET_LEASE_READ);
    if (chance(w, 10)) {
        e->found = FLEET_LEASE_FAILED;
        return;
    }
    (void)snprintf(token, 24, "t%llu", (unsigned long long)w->token);
    e->token = token;
    switch (w->kind) {
    case NOTHING:
        e->found = FLEET_LEASE_ABSENT;
        e->token = NULL;
        break;
    case FOREIGN: e->found = FLEET_LEASE_OTHER; break;
    case FOREIGN_LOG: e->found = FLEET_LEASE_OTHER_LOG; break;
    case OURS_RECOVERED: e->found = FLEET_LEASE_OURS_CHANGED; break;
    case OURS:
        e->found = FLEET_LEASE_OURS;
        e->attempt = FLEET_LEASE_ATTEMPTS;
        for (unsigned i = 0; i < w->m.attempts; i++) {
            if (w->m.attempt[i].seq == w->body.seq)
                e->attempt = i;
        }
        if (w->m.acquired && w->body.seq == w->m.held.seq)
            e->found = FLEET_LEASE_OURS_PRIOR;
        break;
    }
}

static void write_now(struct world *w, struct fleet_lease_event *e, char token[24])
{
    struct write x = {.body = w->m.attempt[w->m.attempts - 1]};
    uint64_t number = 0;
    if (!w->m.guard_absent)
        assert_int_equal(cd_str_u64(cd_str(w->m.token + 1), &number), 0);
    x.guard = number;
    assert_int_equal(x.body.anchor_ns, w->now); /* Before it is sent. */
    if (chance(w, 30))
        w->now += cd_rng_below(&w->rng, TTL);
    meddle(w);
    bool lost = chance(w, 10);
    if (lost && chance(w, 50) && w->late_count < CD_COUNT(w->late)) {
        w->late[w->late_count++] = x;
    } else if (!lost) {
        bool done = land(w, &x);
        if (!chance(w, 10)) {
            if (chance(w, 20)) /* The answer is slow. */
                w->now += cd_rng_below(&w->rng, TTL + TTL / 2);
            *e = event(w, FLEET_LEASE_WROTE);
            e->outcome = done ? FLEET_LEASE_APPLIED : FLEET_LEASE_REJECTED;
            (void)snprintf(token, 24, "t%llu", (unsigned long long)w->token);
            e->token = done ? token : NULL;
            return;
        }
    } else if (chance(w, 30)) {
        *e = event(w, FLEET_LEASE_WROTE);
        e->outcome = FLEET_LEASE_NOT_COMMITTED;
        return;
    }
    *e = event(w, FLEET_LEASE_WROTE);
    e->outcome = FLEET_LEASE_AMBIGUOUS;
}

/* What authority promises to the others: it never outlives an expiry that was really in the record. */
static void check(struct world *w)
{
    fleet_lease_validate(&w->m);
    uint64_t deadline = fleet_lease_deadline_ns(&w->m);
    assert_true(deadline <= w->newest_deadline);
    if (w->m.state == FLEET_LEASE_FENCED)
        assert_int_equal(deadline, 0);
    if (w->m.acquired && w->m.state != FLEET_LEASE_FENCED)
        assert_true(w->m.held.publication <= w->m.wanted);
}

static void walk(struct world *w, unsigned steps)
{
    char token[24] = "";
    struct fleet_lease_event e = event(w, FLEET_LEASE_START);
    for (unsigned i = 0; i < steps; i++) {
        enum fleet_lease_action_kind act = fleet_lease_step(&w->m, &e);
        check(w);
        if (chance(w, 10))
            w->m.wanted++;
        switch (act) {
        case FLEET_LEASE_DO_END: w->fenced++; return;
        case FLEET_LEASE_DO_READ:
            meddle(w);
            late_ones_land(w);
            read_now(w, &e, token);
            break;
        case FLEET_LEASE_DO_WRITE: write_now(w, &e, token); break;
        case FLEET_LEASE_DO_RECOVER:
            e = event(w, FLEET_LEASE_RECOVERED);
            e.ok = !chance(w, 30);
            if (e.ok && w->kind == FOREIGN_LOG) {
                w->kind = FOREIGN;
                w->token = ++w->tokens;
            }
            break;
        case FLEET_LEASE_DO_NOTHING:
        case FLEET_LEASE_DO_WAIT:
            late_ones_land(w);
            if (w->now < w->m.wake_ns && !fleet_lease_wants_write(&w->m))
                w->now = w->m.wake_ns;
            if (chance(w, 3)) /* A pause. */
                w->now += cd_rng_below(&w->rng, (uint64_t)2 * TTL);
            e = event(w, FLEET_LEASE_TICK);
            break;
        }
        if (w->m.state == FLEET_LEASE_HELD)
            w->held++;
    }
}

static void test_random_worlds_never_break_the_promises_of_the_lease(void **state)
{
    (void)state;
    unsigned fenced = 0, held = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        struct world w = {.faults = true};
        cd_rng_seed(&w.rng, seed, CD_STR("lease"));
        w.kind = (enum body_kind)(seed % 5 == OURS || seed % 5 == OURS_RECOVERED ? NOTHING : seed % 5);
        w.token = w.tokens = w.kind == NOTHING ? 0 : 1;
        fleet_lease_machine_init(&w.m, TTL, seed % 2 == 0);
        walk(&w, 200);
        fenced += w.fenced != 0;
        held += w.held != 0;
    }
    assert_true(fenced > 300); /* The worlds are rough enough, and not too rough. */
    assert_true(held > 1500);
}

static void test_without_faults_the_lease_is_renewed_every_third_of_its_time(void **state)
{
    (void)state;
    static const enum body_kind before[] = {NOTHING, FOREIGN, FOREIGN_LOG};
    for (size_t i = 0; i < CD_COUNT(before); i++) {
        struct world w = {.kind = before[i], .token = 1, .tokens = 1};
        cd_rng_seed(&w.rng, 1, CD_STR("lease"));
        fleet_lease_machine_init(&w.m, TTL, i == 0);
        walk(&w, 40);
        assert_true(w.m.acquired);
        assert_int_equal(w.fenced, 0);
        assert_true(w.applied >= 15);
        assert_int_equal(w.m.held.anchor_ns, (uint64_t)(w.m.held.seq - 1) * TTL / 3);
    }
}

/* ---- Single rules, step by step ---- */

static enum fleet_lease_action_kind at(struct fleet_lease_machine *m, struct fleet_lease_event e)
{
    enum fleet_lease_action_kind act = fleet_lease_step(m, &e);
    fleet_lease_validate(m);
    return act;
}

#define READ_(n, f, ...)                                                                                     \
    ((struct fleet_lease_event){.kind = FLEET_LEASE_READ, .now_ns = (n), .found = (f), __VA_ARGS__})
#define WROTE_(n, o, t)                                                                                      \
    ((struct fleet_lease_event){.kind = FLEET_LEASE_WROTE, .now_ns = (n), .outcome = (o), .token = (t)})
#define TICK_(n) ((struct fleet_lease_event){.kind = FLEET_LEASE_TICK, .now_ns = (n)})
#define START_ ((struct fleet_lease_event){.kind = FLEET_LEASE_START})

/* Acquired at 0, the answer came at 10. */
static void acquire(struct fleet_lease_machine *m)
{
    fleet_lease_machine_init(m, TTL, false);
    assert_int_equal(at(m, START_), FLEET_LEASE_DO_READ);
    assert_int_equal(at(m, READ_(0, FLEET_LEASE_ABSENT, .token = NULL)), FLEET_LEASE_DO_WRITE);
    assert_int_equal(at(m, WROTE_(10, FLEET_LEASE_APPLIED, "a")), FLEET_LEASE_DO_WAIT);
    assert_int_equal(m->state, FLEET_LEASE_HELD);
    assert_int_equal(m->wake_ns, TTL / 3);
    assert_int_equal(fleet_lease_deadline_ns(m), TTL);
}

static void test_authority_counts_from_before_the_request(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    acquire(&m);
    assert_int_equal(at(&m, TICK_(1000)), FLEET_LEASE_DO_WRITE);
    assert_int_equal(at(&m, WROTE_(2500, FLEET_LEASE_APPLIED, "b")), FLEET_LEASE_DO_WAIT);
    assert_int_equal(fleet_lease_deadline_ns(&m), 1000 + TTL);
    assert_int_equal(at(&m, TICK_(2501)), FLEET_LEASE_DO_WRITE); /* It is late for the next one. */
}

static void test_a_renewal_that_was_applied_after_the_expiry_fences(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    acquire(&m);
    assert_int_equal(at(&m, TICK_(1000)), FLEET_LEASE_DO_WRITE);
    assert_int_equal(at(&m, WROTE_(TTL, FLEET_LEASE_APPLIED, "b")), FLEET_LEASE_DO_END);
    assert_string_equal(m.cause, "node_lease_watchdog_fence");
    assert_int_equal(fleet_lease_deadline_ns(&m), 0);
    assert_int_equal(at(&m, WROTE_(TTL, FLEET_LEASE_APPLIED, "c")), FLEET_LEASE_DO_END);
    assert_int_equal(at(&m, START_), FLEET_LEASE_DO_END);
}

static void test_an_older_attempt_that_landed_is_adopted_with_its_own_anchor(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    acquire(&m);
    m.wanted = 1;
    assert_int_equal(at(&m, TICK_(500)), FLEET_LEASE_DO_WRITE);
    assert_int_equal(at(&m, WROTE_(600, FLEET_LEASE_AMBIGUOUS, NULL)), FLEET_LEASE_DO_READ);
    assert_int_equal(at(&m, READ_(700, FLEET_LEASE_OURS_PRIOR, .token = "a")), FLEET_LEASE_DO_WAIT);
    m.wanted = 2;
    assert_int_equal(at(&m, TICK_(1200)), FLEET_LEASE_DO_WRITE);
    assert_int_equal(m.attempts, 2);
    assert_int_equal(at(&m, WROTE_(1300, FLEET_LEASE_REJECTED, NULL)), FLEET_LEASE_DO_READ);
    /* The first one was there meanwhile; the second publication is not in it, so the next write follows. */
    assert_int_equal(at(&m, READ_(1400, FLEET_LEASE_OURS, .attempt = 0, .token = "b")), FLEET_LEASE_DO_WRITE);
    assert_int_equal(m.held.anchor_ns, 500);
    assert_int_equal(m.held.publication, 1);
    assert_int_equal(m.attempt[0].publication, 2);
    assert_string_equal(m.token, "b");
}

static void test_a_readback_that_shows_somebody_else_fences(void **state)
{
    (void)state;
    static const struct {
        enum fleet_lease_found found;
        const char *cause;
    } rows[] = {
        {FLEET_LEASE_ABSENT, "node_lease_record_missing_fence"},
        {FLEET_LEASE_OTHER, "node_lease_record_mismatch_fence"},
        {FLEET_LEASE_OTHER_LOG, "node_lease_record_mismatch_fence"},
        {FLEET_LEASE_OURS_CHANGED, "node_lease_record_mismatch_fence"},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        struct fleet_lease_machine m;
        acquire(&m);
        assert_int_equal(at(&m, TICK_(1000)), FLEET_LEASE_DO_WRITE);
        assert_int_equal(at(&m, WROTE_(1100, FLEET_LEASE_REJECTED, NULL)), FLEET_LEASE_DO_READ);
        assert_int_equal(at(&m, READ_(1200, rows[i].found, .token = "x")), FLEET_LEASE_DO_END);
        assert_string_equal(m.cause, rows[i].cause);
    }
}

static void test_failures_alone_never_fence_before_the_expiry(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    acquire(&m);
    uint64_t now = 1000;
    while (now < TTL) {
        assert_int_equal(at(&m, TICK_(now)), FLEET_LEASE_DO_WRITE);
        enum fleet_lease_action_kind act = at(&m, WROTE_(now + 10, FLEET_LEASE_NOT_COMMITTED, NULL));
        if (now + 10 >= TTL)
            break;
        assert_int_equal(act, FLEET_LEASE_DO_WAIT);
        assert_int_equal(m.state, FLEET_LEASE_HELD);
        now = m.wake_ns;
    }
    assert_int_equal(fleet_lease_deadline_ns(&m), TTL);
    assert_int_equal(at(&m, TICK_(TTL)), FLEET_LEASE_DO_END);
    assert_string_equal(m.cause, "node_lease_watchdog_fence");
}

static void test_a_first_write_that_ran_out_before_its_answer_is_no_lease(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    fleet_lease_machine_init(&m, TTL, false);
    (void)at(&m, START_);
    (void)at(&m, READ_(0, FLEET_LEASE_ABSENT, .token = NULL));
    assert_int_equal(at(&m, WROTE_(TTL, FLEET_LEASE_APPLIED, "a")), FLEET_LEASE_DO_WAIT);
    assert_int_equal(m.state, FLEET_LEASE_RETRYING);
    assert_int_equal(fleet_lease_deadline_ns(&m), 0);
    assert_int_equal(at(&m, TICK_(m.wake_ns)), FLEET_LEASE_DO_READ);
    /* Somebody sealed that dead session meanwhile: it must not come back to life. */
    assert_int_equal(at(&m, READ_(m.wake_ns, FLEET_LEASE_OURS_CHANGED, .token = "b")), FLEET_LEASE_DO_END);
}

static void test_a_log_of_an_earlier_session_is_recovered_before_the_lease_is_installed(void **state)
{
    (void)state;
    struct fleet_lease_machine m;
    fleet_lease_machine_init(&m, TTL, true);
    (void)at(&m, START_);
    assert_int_equal(at(&m, READ_(0, FLEET_LEASE_OTHER_LOG, .token = "x")), FLEET_LEASE_DO_RECOVER);
    struct fleet_lease_event failed = {.kind = FLEET_LEASE_RECOVERED, .now_ns = 5};
    assert_int_equal(at(&m, failed), FLEET_LEASE_DO_WAIT);
    assert_int_equal(at(&m, TICK_(m.wake_ns)), FLEET_LEASE_DO_READ);
    assert_int_equal(at(&m, READ_(1100, FLEET_LEASE_OTHER_LOG, .token = "x")), FLEET_LEASE_DO_RECOVER);
    struct fleet_lease_event done = {.kind = FLEET_LEASE_RECOVERED, .now_ns = 1200, .ok = true};
    assert_int_equal(at(&m, done), FLEET_LEASE_DO_READ);
    /* That says nothing of what an absent record may hide. */
    assert_int_equal(at(&m, READ_(1300, FLEET_LEASE_ABSENT, .token = NULL)), FLEET_LEASE_DO_RECOVER);
    assert_int_equal(at(&m, done), FLEET_LEASE_DO_READ);
    assert_int_equal(at(&m, READ_(1400, FLEET_LEASE_ABSENT, .token = NULL)), FLEET_LEASE_DO_WRITE);
}

CD_TESTS(lease_machine, cmocka_unit_test(test_random_worlds_never_break_the_promises_of_the_lease),
         cmocka_unit_test(test_without_faults_the_lease_is_renewed_every_third_of_its_time),
         cmocka_unit_test(test_authority_counts_from_before_the_request),
         cmocka_unit_test(test_a_renewal_that_was_applied_after_the_expiry_fences),
         cmocka_unit_test(test_an_older_attempt_that_landed_is_adopted_with_its_own_anchor),
         cmocka_unit_test(test_a_readback_that_shows_somebody_else_fences),
         cmocka_unit_test(test_failures_alone_never_fence_before_the_expiry),
         cmocka_unit_test(test_a_first_write_that_ran_out_before_its_answer_is_no_lease),
         cmocka_unit_test(test_a_log_of_an_earlier_session_is_recovered_before_the_lease_is_installed))
