/* The machine under random schedules, against a store that loses, delays, throttles and answers unclearly,
 * and against somebody who seals. */
#include "fixture.h"

#include "base/rng.h"
#include "log/leader.h"

#define SLOTS 80
#define FLYING 256

enum object { ABSENT, OURS, SEAL };

struct world {
    struct log_leader l;
    struct cd_rng rng;
    enum object slot[SLOTS + 8];
    struct request {
        struct log_action a; /* What the leader waits for. */
        bool lands, put; /* A PUT that may land, whoever waits. */
        uint64_t target;
    } flying[FLYING];
    unsigned flyings;
    unsigned faults; /* Percent. */
    uint64_t cut, sealed_at, max_ahead;
    bool fence;
    bool published;
    /* Followers. */
    uint64_t epoch, member[2], first, barrier; /* member: what each has; barrier: of all ensembles before. */
    bool acks, active;
};

static bool chance(struct world *w, unsigned percent)
{
    return cd_rng_below(&w->rng, 100) < percent;
}

static void step(struct world *w, const struct log_event *e);

static void act(struct world *w, struct log_action a)
{
    switch (a.kind) {
    case LOG_DO_NOTHING:
    case LOG_DO_LOOK: return;
    case LOG_DO_FENCE:
        assert_false(w->fence);
        w->fence = true;
        return;
    case LOG_DO_SEALED: assert_int_equal(w->slot[a.slot], SEAL); return;
    case LOG_DO_LEAVE: return;
    case LOG_DO_PUBLISH_ACKS:
    case LOG_DO_PUBLISH:
    case LOG_DO_SEND:
    case LOG_DO_READ:
    case LOG_DO_WAIT: break;
    }
    assert_true(w->flyings < FLYING);
    if (a.kind == LOG_DO_SEND) {
        assert_true(w->published);
        assert_true(a.slot <= w->l.durable_slot + w->l.pipeline);
    }
    w->flying[w->flyings++] = (struct request){.a = a, .put = a.kind == LOG_DO_SEND, .target = a.slot};
}

static void check(struct world *w)
{
    const char *broken = log_leader_validate(&w->l);
    if (broken != NULL)
        fail_msg("not so: %s", broken);
    for (uint64_t n = 1; n <= w->l.durable_slot; n++)
        assert_int_equal(w->slot[n], OURS);
    assert_true(w->sealed_at == 0 || w->l.durable_slot < w->sealed_at);
}

static void step(struct world *w, const struct log_event *e)
{
    struct log_action a = log_leader_step(&w->l, e);
    check(w);
    act(w, a);
}

/* The PUT takes effect, if the key is free. */
static bool land(struct world *w, uint64_t slot)
{
    if (w->slot[slot] != ABSENT)
        return false;
    w->slot[slot] = w->l.phase == LOG_SEALING ? SEAL : OURS;
    return true;
}

static void answer_put(struct world *w, struct request r)
{
    struct log_event e = {.kind = LOG_EVENT_PUT, .slot = r.a.slot, .op = r.a.op};
    bool fault = chance(w, w->faults);
    unsigned how = (unsigned)cd_rng_below(&w->rng, 4);
    if (!fault) {
        e.put = land(w, r.target) ? LOG_PUT_APPLIED : LOG_PUT_REJECTED;
    } else if (how == 0) {
        e.put = LOG_PUT_NOT_COMMITTED;
    } else { /* Done and not told, not done, or done later. */
        e.put = LOG_PUT_UNKNOWN;
        if (how == 1)
            (void)land(w, r.target);
        if (how == 2 && w->l.phase != LOG_SEALING)
            w->flying[w->flyings++] = (struct request){.lands = true, .target = r.target};
    }
    step(w, &e);
}

static void answer_read(struct world *w, struct request r)
{
    enum object o = w->slot[r.target];
    bool mine = o == OURS || (o == SEAL && w->sealed_at == 0);
    enum log_found f = o == ABSENT ? LOG_FOUND_NOTHING : mine ? LOG_FOUND_OURS : LOG_FOUND_OTHER;
    step(w, &(struct log_event){.kind = LOG_EVENT_READ,
                                .slot = r.a.slot,
                                .op = r.a.op,
                                .found = chance(w, w->faults) ? LOG_FOUND_ERROR : f});
}

/* One of the things that are under way ends. */
static void one_ends(struct world *w)
{
    unsigned i = (unsigned)cd_rng_below(&w->rng, w->flyings);
    struct request r = w->flying[i];
    w->flying[i] = w->flying[--w->flyings];
    if (r.lands) {
        (void)land(w, r.target);
        return;
    }
    if (r.a.kind == LOG_DO_PUBLISH_ACKS) {
        w->acks = true;
        step(w, &(struct log_event){.kind = LOG_EVENT_ACKS, .op = r.a.op, .ok = !chance(w, w->faults / 4)});
    } else if (r.a.kind == LOG_DO_PUBLISH) {
        w->published = !chance(w, w->faults);
        step(w, &(struct log_event){.kind = LOG_EVENT_PUBLISHED, .op = r.a.op, .ok = w->published});
    } else if (r.a.kind == LOG_DO_WAIT) {
        assert_true(r.a.wait_ns >= IO_MS(50) && r.a.wait_ns <= IO_SEC(2));
        step(w, &(struct log_event){.kind = LOG_EVENT_WAITED, .slot = r.a.slot, .op = r.a.op});
    } else if (r.put) {
        answer_put(w, r);
    } else {
        answer_read(w, r);
    }
}

/* Events that nobody waits for change nothing. */
static void stray(struct world *w)
{
    struct log_leader before = w->l;
    struct log_event e = {.kind = (enum log_event_kind)(LOG_EVENT_PUT + cd_rng_below(&w->rng, 3)),
                          .slot = cd_rng_below(&w->rng, SLOTS),
                          .op = w->l.next_op + cd_rng_below(&w->rng, 3),
                          .found = LOG_FOUND_OTHER};
    assert_int_equal(log_leader_step(&w->l, &e).kind, LOG_DO_NOTHING);
    assert_memory_equal(&before, &w->l, sizeof before);
}

/* As a recoverer does: the first slot behind the unbroken row. */
static void seal(struct world *w)
{
    uint64_t n = 1;
    while (w->slot[n] == OURS)
        n++;
    if (w->slot[n] == ABSENT && w->published) {
        w->slot[n] = SEAL;
        w->sealed_at = n;
    }
}

static struct world world_of(uint64_t seed)
{
    struct world w = {0};
    cd_rng_seed(&w.rng, seed, CD_STR("leader"));
    log_leader_init(&w.l, 1 + (unsigned)cd_rng_below(&w.rng, 6));
    w.faults = (unsigned)cd_rng_below(&w.rng, 70);
    check(&w);
    return w;
}

static void cut_some(struct world *w, uint64_t total)
{
    step(w, &(struct log_event){.kind = LOG_EVENT_OPEN});
    static const struct log_pace pace;
    while (w->cut < total && log_leader_may_cut(&w->l, &pace) && chance(w, 60)) {
        w->cut++;
        step(w, &(struct log_event){.kind = LOG_EVENT_CUT, .bytes = w->cut});
        assert_true(log_leader_slot_due(&w->l, &pace)); /* Without followers nothing is lazy. */
        step(w, &(struct log_event){
                    .kind = LOG_EVENT_SLOT, .batch = w->l.next_batch - 1, .bytes = w->l.unslotted_bytes});
    }
}

static void test_every_schedule_ends_with_all_durable_or_a_fence_that_was_due(void **state)
{
    (void)state;
    unsigned fences = 0, holes = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct world w = world_of(seed);
        bool seals = chance(&w, 40);
        for (unsigned turn = 0; turn < 4000; turn++) {
            if (turn == 300)
                w.faults = 0;
            cut_some(&w, 40);
            if (seals && w.sealed_at == 0 && chance(&w, 2))
                seal(&w);
            if (chance(&w, 20))
                stray(&w);
            if (w.flyings > 0)
                one_ends(&w);
            holes += w.l.backlog_batches > 0 &&
                     w.l.place[(w.l.durable_slot + 2) % LOG_PIPELINE_MAX].state == LOG_PLACE_STORED;
        }
        check(&w);
        fences += w.fence;
        if (w.fence)
            assert_true(w.sealed_at > 0);
        else
            assert_true(w.l.durable_batch == 40 && w.cut == 40 && (w.sealed_at == 0 || w.sealed_at == 41));
    }
    assert_true(fences > 50 && holes > 500); /* The schedules went where it hurts. */
}

static void test_a_graceful_seal_takes_the_first_free_slot_or_leaves_the_log(void **state)
{
    (void)state;
    unsigned sealed = 0, left = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct world w = world_of(seed);
        unsigned faults = w.faults;
        w.faults = 0;
        while (w.cut < 5 || w.flyings > 0) {
            cut_some(&w, 5);
            if (w.flyings > 0)
                one_ends(&w);
        }
        assert_int_equal(w.l.durable_slot, 5);
        w.faults = faults;
        step(&w, &(struct log_event){.kind = LOG_EVENT_SEAL});
        while (w.flyings > 0)
            one_ends(&w);
        assert_true(w.l.phase == LOG_SEALED || w.l.phase == LOG_LEFT);
        assert_false(log_leader_may_cut(&w.l, &(struct log_pace){0}));
        if (w.l.phase == LOG_SEALED)
            assert_int_equal(w.slot[6], SEAL);
        sealed += w.l.phase == LOG_SEALED;
        left += w.l.phase == LOG_LEFT;
    }
    assert_true(sealed > 80 && left > 15);
}

static void test_a_seal_at_any_moment_leaves_a_machine_that_holds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct world w = world_of(seed);
        uint64_t at = cd_rng_below(&w.rng, 60);
        for (uint64_t turn = 0; turn < 400; turn++) {
            if (w.l.phase < LOG_SEALING)
                cut_some(&w, 10);
            if (turn == at)
                step(&w, &(struct log_event){.kind = LOG_EVENT_SEAL});
            if (w.flyings > 0)
                one_ends(&w);
        }
        assert_true(w.l.phase == LOG_SEALED || w.l.phase == LOG_LEFT);
        assert_false(log_leader_may_cut(&w.l, &(struct log_pace){0}));
    }
}

static void test_a_seal_with_something_under_way_is_not_tried(void **state)
{
    (void)state;
    struct world w = world_of(1);
    w.faults = 0;
    while (w.l.phase != LOG_OPEN) {
        step(&w, &(struct log_event){.kind = LOG_EVENT_OPEN});
        one_ends(&w);
    }
    step(&w, &(struct log_event){.kind = LOG_EVENT_CUT, .bytes = 1});
    assert_int_equal(log_leader_step(&w.l, &(struct log_event){.kind = LOG_EVENT_SEAL}).kind, LOG_DO_LEAVE);
    assert_int_equal(w.l.phase, LOG_LEFT);
}

static void test_nothing_is_cut_before_the_record_says_open(void **state)
{
    (void)state;
    struct log_leader l;
    log_leader_init(&l, 4);
    assert_false(log_leader_may_cut(&l, &(struct log_pace){0}));
    assert_int_equal(log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_CUT}).kind, LOG_DO_NOTHING);
    struct log_action a = log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_OPEN});
    assert_int_equal(a.kind, LOG_DO_PUBLISH);
    assert_false(log_leader_may_cut(&l, &(struct log_pace){0}));
    struct log_event lost = {.kind = LOG_EVENT_PUBLISHED, .op = a.op, .lost = true};
    assert_int_equal(log_leader_step(&l, &lost).kind, LOG_DO_NOTHING);
    assert_false(log_leader_may_cut(&l, &(struct log_pace){0}));
    assert_int_equal(log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_OPEN}).kind, LOG_DO_NOTHING);
    assert_null(log_leader_validate(&l));
}

static void test_a_seal_while_the_log_opens_leaves_it(void **state)
{
    (void)state;
    struct log_leader l;
    log_leader_init(&l, 4);
    struct log_action a = log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_OPEN});
    assert_int_equal(log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_SEAL}).kind, LOG_DO_LEAVE);
    assert_null(log_leader_validate(&l));
    struct log_event late = {.kind = LOG_EVENT_PUBLISHED, .op = a.op, .ok = true};
    assert_int_equal(log_leader_step(&l, &late).kind, LOG_DO_NOTHING);
    assert_null(log_leader_validate(&l));
    assert_false(log_leader_may_cut(&l, &(struct log_pace){0}));
}

/* ---- With followers ---- */

/* What a recoverer would find: the slots up to the first hole, and, when the record says that there may be
 * acknowledgements, what the members have. */
static void check_proofs(struct world *w)
{
    uint64_t proven = log_leader_proven(&w->l),
             least = w->member[0] < w->member[1] ? w->member[0] : w->member[1];
    if (proven <= w->l.durable_batch)
        return;
    if (w->l.fleet == LOG_FLEET_ACTIVE && proven > w->barrier) {
        assert_true(w->acks); /* The record tells recovery to ask. */
        assert_true(proven <= least && w->l.durable_batch + 1 >= w->first);
    }
    assert_true(proven <= (least > w->barrier ? least : w->barrier));
}

static void name_ensemble(struct world *w)
{
    if (w->l.fleet == LOG_FLEET_ACTIVE && chance(w, 80))
        return;
    step(w, &(struct log_event){.kind = LOG_EVENT_DEGRADE});
    struct log_leader before = w->l;
    struct log_event e = {.kind = LOG_EVENT_ENSEMBLE, .batch = w->epoch + 1};
    step(w, &e);
    if (w->l.fleet != LOG_FLEET_ACTIVE) {
        assert_true(!log_leader_barrier(&before) || w->l.phase != LOG_OPEN);
        return;
    }
    assert_true(w->l.durable_batch >= before.credited); /* Nobody asks the old members any more. */
    w->epoch++;
    w->acks = false;
    w->barrier = before.credited;
    w->first = w->l.first_batch;
    w->member[0] = w->member[1] = w->first - 1;
}

static void confirm(struct world *w)
{
    uint64_t *m = &w->member[cd_rng_below(&w->rng, 2)];
    if (w->l.fleet != LOG_FLEET_ACTIVE || *m + 1 >= w->l.next_batch)
        return;
    *m += 1 + cd_rng_below(&w->rng, w->l.next_batch - 1 - *m);
    step(w, &(struct log_event){.kind = LOG_EVENT_CONFIRMED,
                                .batch = w->member[0] < w->member[1] ? w->member[0] : w->member[1]});
}

static void slot_some(struct world *w, const struct log_pace *pace)
{
    while (log_leader_slot_due(&w->l, pace)) {
        uint64_t left = w->l.next_batch - 1 - w->l.slotted, n = 1 + cd_rng_below(&w->rng, left);
        step(w, &(struct log_event){.kind = LOG_EVENT_SLOT,
                                    .batch = w->l.slotted + n,
                                    .bytes = n == left ? w->l.unslotted_bytes : 0});
    }
}

static void test_what_followers_prove_is_in_the_bucket_or_at_all_of_them(void **state)
{
    (void)state;
    unsigned credits = 0, lazy = 0, swaps = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct world w = world_of(seed);
        w.faults = w.faults / 2;
        for (unsigned turn = 0; turn < 1200; turn++) {
            struct log_pace pace = {.now_ns = IO_SEC(1), .flush_ns = turn % 40 == 0 ? 1 : IO_SEC(2)};
            if (turn == 900) {
                w.faults = 0;
                step(&w, &(struct log_event){.kind = LOG_EVENT_HURRY, .batch = UINT64_MAX});
            }
            step(&w, &(struct log_event){.kind = LOG_EVENT_OPEN});
            if (chance(&w, 3)) {
                uint64_t before = w.epoch;
                name_ensemble(&w);
                swaps += w.epoch != before;
            }
            while (w.cut < 50 && log_leader_may_cut(&w.l, &pace) && chance(&w, 40)) {
                w.cut++;
                step(&w, &(struct log_event){.kind = LOG_EVENT_CUT, .bytes = 1});
            }
            slot_some(&w, &pace);
            bool creditable = w.l.fleet == LOG_FLEET_ACTIVE && w.l.acks && w.l.durable_batch + 1 >= w.first;
            bool place = w.l.next_slot <= w.l.durable_slot + w.l.pipeline;
            assert_true(w.l.slotted + 1 == w.l.next_batch || creditable ||
                        !place); /* Gates wait for slots. */
            lazy += w.l.slotted + 1 < w.l.next_batch;
            if (chance(&w, 60))
                confirm(&w);
            if (chance(&w, 2))
                step(&w, &(struct log_event){.kind = LOG_EVENT_DEGRADE});
            if (w.flyings > 0)
                one_ends(&w);
            credits += log_leader_proven(&w.l) > w.l.durable_batch;
            check_proofs(&w);
        }
        while (w.l.durable_batch < w.l.next_batch - 1) { /* All of it reaches the bucket in the end. */
            slot_some(&w, &(struct log_pace){0});
            assert_true(w.flyings > 0);
            one_ends(&w);
        }
        assert_true(w.cut > 0);
    }
    assert_true(credits > 3000 && lazy > 3000 && swaps > 500); /* The schedules went where it hurts. */
}

/* Else what cannot be credited would wait for the flush time in vain. */
static void test_slots_are_lazy_only_while_followers_prove_what_they_hold(void **state)
{
    (void)state;
    const struct log_pace pace = {.now_ns = IO_SEC(1), .flush_ns = IO_SEC(30)};
    struct log_leader l;
    log_leader_init(&l, 4);
    struct log_action a = log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_OPEN});
    (void)log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_PUBLISHED, .op = a.op, .ok = true});
    (void)log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_ENSEMBLE, .batch = 1});
    struct log_event cut = {.kind = LOG_EVENT_CUT, .bytes = 1};
    (void)log_leader_step(&l, &cut);
    assert_true(log_leader_slot_due(&l, &pace)); /* The record does not say yet that followers may prove. */
    (void)log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_SLOT, .batch = 1});
    a = log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_CONFIRMED, .batch = 1});
    assert_int_equal(a.kind, LOG_DO_PUBLISH_ACKS);
    (void)log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_ACKS, .op = a.op, .ok = true});
    (void)log_leader_step(&l, &cut);
    assert_false(log_leader_slot_due(&l, &pace));
    (void)log_leader_step(&l, &(struct log_event){.kind = LOG_EVENT_DEGRADE});
    assert_true(log_leader_slot_due(&l, &pace));
}

CD_TESTS(leader, cmocka_unit_test(test_slots_are_lazy_only_while_followers_prove_what_they_hold),
         cmocka_unit_test(test_what_followers_prove_is_in_the_bucket_or_at_all_of_them),
         cmocka_unit_test(test_a_seal_while_the_log_opens_leaves_it),
         cmocka_unit_test(test_every_schedule_ends_with_all_durable_or_a_fence_that_was_due),
         cmocka_unit_test(test_a_graceful_seal_takes_the_first_free_slot_or_leaves_the_log),
         cmocka_unit_test(test_a_seal_at_any_moment_leaves_a_machine_that_holds),
         cmocka_unit_test(test_a_seal_with_something_under_way_is_not_tried),
         cmocka_unit_test(test_nothing_is_cut_before_the_record_says_open))
