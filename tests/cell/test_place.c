/* A node that is full: cells that others have need no room, and those of nobody may go where there is some.
 * fleet.md 4.4, 4.6. */
#include "cell/cell_internal.h"
#include "cell/rig.h"
#include "cell/rig_links.h"

static struct {
    unsigned asked, refusals;
    bool none; /* There is no node with room. */
    char refused[STORE_SESSION_MAX + 1];
} place;

static void answer(struct io *at, struct io_msg *m)
{
    struct cell_place *p = CD_CONTAINER(m, struct cell_place, msg);
    (void)at;
    if (p->abandoned) {
        cell_place_free(p);
        return;
    }
    p->answered = true;
    io_signal_wake(&p->answer, IO_OK);
}

static void find(struct cell_router *r, struct io *from, struct cell_place *p)
{
    (void)r;
    place.asked++;
    p->found = !place.none;
    (void)snprintf(p->session, sizeof p->session, "m/1");
    (void)snprintf(p->addr, sizeof p->addr, "m:90");
    p->msg.handle = answer;
    io_post(from, p->loop, &p->msg);
}

static void refused(struct cell_router *r, struct io *from, const char *session)
{
    (void)r, (void)from;
    place.refusals++;
    place.none = true; /* As the sample would have it. */
    (void)snprintf(place.refused, sizeof place.refused, "%s", session);
}

/* Scopes of the first shard. */
static const char *scope(unsigned n)
{
    static char text[8][16];
    static unsigned turn;
    char *out = text[turn++ % 8];
    unsigned i = 0;
    for (unsigned seen = 0;; i++) {
        (void)snprintf(out, sizeof text[0], "C:%u", i);
        if (cell_scope_loop(cd_str(out), RIG_LOOPS) == 1 && seen++ == n)
            return out;
    }
}

/* n has room for one cell in each shard, and m is another node; nobody has any cell. */
static void open_full(void)
{
    rig_open_two();
    memset(&place, 0, sizeof place);
    rig.router->place = find;
    rig.router->place_refused = refused;
    rig.shard[1]->o.limits.resident_max = 1;
    fake.owner = NULL;
    assert_string_equal(rig_ask(scope(0), "add 1"), "1");
    assert_string_equal(rig_phase(scope(0)), "resident");
    assert_int_equal(place.asked, 0);
}

static unsigned at_m(void)
{
    return (unsigned)cell_shard_tally(rig.other.shard[1]).resident;
}

static void test_a_cell_that_another_node_has_needs_no_room_here(void **state)
{
    (void)state;
    open_full();
    fake.owner = "m/1";
    assert_string_equal(rig_ask(scope(1), "add 5"), "5");
    assert_int_equal(place.asked, 0);
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 0);
    assert_string_equal(rig_phase(scope(0)), "resident"); /* Nobody had to go. */
    assert_string_equal(rig_phase(scope(1)), "remote");
    rig_free();
}

static void test_a_cell_of_nobody_goes_to_a_node_with_room(void **state)
{
    (void)state;
    open_full();
    assert_string_equal(rig_ask(scope(1), "add 5"), "5");
    assert_int_equal(place.asked, 1);
    assert_int_equal(at_m(), 1);
    assert_string_equal(rig_ask(scope(1), "add 5"), "10");
    assert_int_equal(place.asked, 1); /* The way is known for a while. */
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 0);
    rig_free();
}

static void test_who_has_no_room_refuses_at_once_and_is_passed_over(void **state)
{
    (void)state;
    open_full();
    rig.other.shard[1]->o.limits.resident_max = 0;
    uint64_t before = sim_now_ns(rig.sim);
    assert_string_equal(rig_ask(scope(1), "add 5"), "5"); /* Here, in the place of the other one. */
    assert_true(sim_now_ns(rig.sim) - before < IO_SEC(1));
    assert_int_equal(place.refusals, 1);
    assert_string_equal(place.refused, "m/1");
    assert_int_equal(at_m(), 0);
    assert_int_equal(rig.stops[CELL_STOP_EVICT], 1);
    rig_free();
}

static void test_without_a_node_with_room_it_waits_for_its_turn(void **state)
{
    (void)state;
    open_full();
    place.none = true;
    struct call *hold = rig_call(scope(0), "hang");
    rig_run(20);
    struct call *c = rig_call(scope(1), "add 1");
    rig_run(2000);
    assert_int_equal(place.asked, 1);
    assert_string_equal(rig_phase(scope(1)), "waiting_capacity");
    rig_run(5000);
    assert_int_equal(place.asked, 2); /* Somebody may have room by now. */
    rig_hang_up(hold);
    rig_run(500);
    assert_string_equal(c->got, "1 ");
    assert_string_equal(rig_phase(scope(1)), "resident");
    rig_free();
}

/* Each grant looks at shard.placed, so it may hold none of those that wait for a permit here. */
static void test_only_who_was_sent_here_is_looked_at_when_there_is_room(void **state)
{
    (void)state;
    open_full();
    place.none = true;
    rig.shard[1]->o.limits.activations_max = 1;
    struct call *hold = rig_call(scope(0), "hang"), *call[6];
    for (unsigned i = 0; i < CD_COUNT(call); i++)
        call[i] = rig_call(scope(1 + i), "add 1");
    rig_run(500);
    assert_int_equal(cell_shard_tally(rig.shard[1]).activation_waiting, CD_COUNT(call) - 1);
    assert_true(cd_list_empty(&rig.shard[1]->placed));
    rig_hang_up(hold);
    for (unsigned i = 0; i < CD_COUNT(call); i++) {
        rig_run(500);
        assert_string_equal(call[i]->got, "1 ");
        rig_hang_up(call[i]);
    }
    place.none = false;
    rig.other.shard[1]->o.limits.activations_max = 0;
    assert_string_equal(rig_ask(scope(7), "add 5"), "5"); /* m refused it, */
    assert_int_equal(place.refusals, 1);
    assert_true(cd_list_empty(&rig.other.shard[1]->placed)); /* and has nothing of it left to look at. */
    rig_free();
}

static void test_an_alarm_is_not_sent_elsewhere(void **state)
{
    (void)state;
    open_full();
    assert_string_equal(rig_ask(scope(0), "alarm 4000000"), "ok");
    rig_evict(scope(0));
    assert_string_equal(rig.evicted, "evicted");
    assert_string_equal(rig_ask(scope(1), "add 1"), "1");
    struct call *hold = rig_call(scope(1), "hang");
    rig_run(4010000);
    assert_int_equal(place.asked, 0); /* Its owner is full, and keeps it. */
    assert_int_equal(rig.alarms, 0);
    rig_hang_up(hold);
    rig_run(1000);
    assert_int_equal(rig.alarms, 1);
    rig_free();
}

CD_TESTS(place, cmocka_unit_test(test_a_cell_that_another_node_has_needs_no_room_here),
         cmocka_unit_test(test_a_cell_of_nobody_goes_to_a_node_with_room),
         cmocka_unit_test(test_who_has_no_room_refuses_at_once_and_is_passed_over),
         cmocka_unit_test(test_without_a_node_with_room_it_waits_for_its_turn),
         cmocka_unit_test(test_only_who_was_sent_here_is_looked_at_when_there_is_room),
         cmocka_unit_test(test_an_alarm_is_not_sent_elsewhere))
