#include "cell/machine.h"

#include "support/test.h"

/* From every state that can be reached, every event: the state stays consistent, and the actions match what
 * was held before and after. */
struct reach {
    struct cell_state state[512];
    unsigned count;
};

static bool same(const struct cell_state *a, const struct cell_state *b)
{
    return a->phase == b->phase && (a->cause == b->cause || a->phase != CELL_STOPPING) &&
           a->permit == b->permit && a->slot == b->slot && a->runtime == b->runtime &&
           a->database == b->database && a->again == b->again && a->handoff == b->handoff;
}

static void add(struct reach *r, const struct cell_state *s)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (same(&r->state[i], s))
            return;
    }
    assert_true(r->count < CD_COUNT(r->state));
    r->state[r->count++] = *s;
}

static void check_step(const struct cell_state *before, const struct cell_state *after, unsigned todo)
{
    assert_null(cell_state_check(after));
    assert_int_equal(before->permit && !after->permit, (todo & CELL_DO_DROP_PERMIT) != 0);
    assert_int_equal(before->slot && !after->slot, (todo & CELL_DO_DROP_SLOT) != 0);
    if (todo & CELL_DO_START)
        assert_true(after->phase == CELL_STARTING && before->phase != CELL_STARTING);
    if (todo & CELL_DO_STOP)
        assert_true(after->phase == CELL_STOPPING && before->runtime);
    /* What is held at the gate is let fail before the code goes for any reason but an eviction. */
    if ((todo & CELL_DO_STOP) && after->cause != CELL_STOP_EVICT)
        assert_true(todo & CELL_DO_FAIL_GATE);
    /* A database is closed by somebody when it goes. */
    if (before->database && !after->database)
        assert_true((todo & CELL_DO_CLOSE) || before->phase == CELL_KEEPING ||
                    before->phase == CELL_DISCARDING);
}

static void test_every_event_in_every_state_keeps_it_consistent(void **state)
{
    (void)state;
    struct reach *r = cd_new(struct reach);
    add(r, &(struct cell_state){0});
    for (unsigned i = 0; i < r->count; i++) {
        for (enum cell_event e = 0; e < CELL_EVENT_COUNT; e++) {
            struct cell_state s = r->state[i];
            unsigned todo = cell_step(&s, e);
            check_step(&r->state[i], &s, todo);
            add(r, &s);
        }
    }
    bool seen[CELL_PHASE_COUNT] = {0};
    for (unsigned i = 0; i < r->count; i++)
        seen[r->state[i].phase] = true;
    for (unsigned i = 0; i < CELL_PHASE_COUNT; i++)
        assert_true(seen[i]);
    cd_free(r);
}

static void test_fenced_is_final(void **state)
{
    (void)state;
    struct cell_state s = {.phase = CELL_FENCED};
    for (enum cell_event e = 0; e < CELL_EVENT_COUNT; e++) {
        unsigned todo = cell_step(&s, e);
        assert_int_equal(todo, e == CELL_EV_DEMAND ? CELL_DO_FAIL_CALLS : 0);
        assert_int_equal(s.phase, CELL_FENCED);
    }
}

static void test_a_call_during_an_eviction_gives_the_cell_back(void **state)
{
    (void)state;
    struct cell_state s = {.phase = CELL_RESIDENT, .slot = true, .runtime = true, .database = true};
    assert_int_equal(cell_step(&s, CELL_EV_EVICT), CELL_DO_PROVE);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), CELL_DO_ADMIT);
    assert_int_equal(s.phase, CELL_RESIDENT);
    assert_int_equal(cell_step(&s, CELL_EV_EVICT), CELL_DO_PROVE);
    assert_int_equal(cell_step(&s, CELL_EV_PROVED), CELL_DO_STOP);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), 0);
    assert_int_equal(cell_step(&s, CELL_EV_STOPPED), CELL_DO_START);
    assert_int_equal(s.phase, CELL_STARTING);
    assert_true(s.database && s.slot);
}

static void test_a_handoff_is_not_given_back(void **state)
{
    (void)state;
    struct cell_state s = {.phase = CELL_RESIDENT, .slot = true, .runtime = true, .database = true};
    assert_int_equal(cell_step(&s, CELL_EV_HAND_OFF), 0);
    assert_int_equal(s.phase, CELL_QUIESCING);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), 0); /* It waits for the next owner. */
    assert_int_equal(cell_step(&s, CELL_EV_EVICT), CELL_DO_PROVE);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), 0);
    assert_int_equal(cell_step(&s, CELL_EV_NOT_PROVED), 0);
    assert_int_equal(cell_step(&s, CELL_EV_EVICT), CELL_DO_PROVE);
    assert_int_equal(cell_step(&s, CELL_EV_PROVED), CELL_DO_STOP);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), 0);
    assert_int_equal(cell_step(&s, CELL_EV_STOPPED), CELL_DO_KEEP);
    assert_int_equal(cell_step(&s, CELL_EV_RELEASED), CELL_DO_DROP_SLOT | CELL_DO_OFFER);
    assert_int_equal(cell_step(&s, CELL_EV_REMOTE), CELL_DO_FORWARD);
    assert_int_equal(s.phase, CELL_REMOTE);
}

static void test_a_cell_that_is_not_in_memory_is_handed_off_too(void **state)
{
    (void)state;
    struct cell_state s = {.phase = CELL_DORMANT};
    assert_int_equal(cell_step(&s, CELL_EV_HAND_OFF), CELL_DO_RELEASE);
    assert_int_equal(cell_step(&s, CELL_EV_DEMAND), 0);
    assert_int_equal(cell_step(&s, CELL_EV_RELEASED), CELL_DO_OFFER);
    assert_int_equal(cell_step(&s, CELL_EV_FAILED), 0); /* Nobody took it. */
    assert_int_equal(s.phase, CELL_INACTIVE);
    assert_int_equal(cell_step(&s, CELL_EV_ADOPTED), 0);
    assert_int_equal(s.phase, CELL_DORMANT);
}

static void test_who_may_be_evicted(void **state)
{
    (void)state;
    struct cell_evict_facts f = {.phase = CELL_RESIDENT, .now_ms = 1000, .alarm_resident_ms = 500};
    assert_null(cell_evict_refusal(&f));
    f.alarm_armed = true;
    f.alarm_due_ms = 1501;
    assert_null(cell_evict_refusal(&f));
    f.alarm_due_ms = 1500;
    assert_string_equal(cell_evict_refusal(&f), "alarm_imminent");
    f.pressed = true;
    assert_null(cell_evict_refusal(&f));
    f.alarm_runs = true;
    assert_string_equal(cell_evict_refusal(&f), "alarm_imminent");
    f.active = true;
    assert_string_equal(cell_evict_refusal(&f), "cell_active");
    f.phase = CELL_STARTING;
    assert_string_equal(cell_evict_refusal(&f), "cell_transitioning");
}

CD_TESTS(machine, cmocka_unit_test(test_every_event_in_every_state_keeps_it_consistent),
         cmocka_unit_test(test_fenced_is_final),
         cmocka_unit_test(test_a_call_during_an_eviction_gives_the_cell_back),
         cmocka_unit_test(test_a_handoff_is_not_given_back),
         cmocka_unit_test(test_a_cell_that_is_not_in_memory_is_handed_off_too),
         cmocka_unit_test(test_who_may_be_evicted))
