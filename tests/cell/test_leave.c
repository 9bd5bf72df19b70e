/* Cells that go to other nodes, at their shard: which, when, and who answers for their alarms meanwhile.
 * fleet.md 9.2, 9.9, 10.5. The control loop is the test's. */
#include "cell/cell_internal.h"
#include "cell/rig.h"

static struct {
    enum { TAKE, REFUSE, KEEP } offers; /* KEEP: nobody answers. */
    unsigned made;
    char last[256]; /* Whose. */
    bool armed, balance;
} stage;

static void answer(struct io *at, struct io_msg *m)
{
    struct cell_offer *o = CD_CONTAINER(m, struct cell_offer, msg);
    (void)at;
    if (o->abandoned) {
        cell_offer_free(o);
        return;
    }
    o->answered = true;
    io_signal_wake(&o->answer, IO_OK);
}

static struct cell_offer *kept[4]; /* Those that nobody answered. */
static unsigned keeps;

static void offered(struct cell_router *r, struct io *from, struct cell_offer *o)
{
    (void)r;
    stage.made++;
    stage.armed = o->alarm.known && o->alarm.armed;
    stage.balance = o->balance;
    (void)snprintf(stage.last, sizeof stage.last, "%s", o->scope);
    o->taken = stage.offers == TAKE;
    o->taken_epoch = o->epoch + 1;
    o->until_ms = io_wall_ms(from) + 60000;
    (void)snprintf(o->session, sizeof o->session, "m/1");
    (void)snprintf(o->addr, sizeof o->addr, "m:90");
    o->msg.handle = answer;
    if (stage.offers == KEEP)
        kept[keeps++] = o;
    else
        io_post(from, o->loop, &o->msg);
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

static void do_donate(struct io *io, void *arg)
{
    cell_shard_donate(rig.shard[io_loop_index(io)], *(unsigned *)arg);
}

static void do_drain(struct io *io, void *arg)
{
    cell_shard_drain(rig.shard[io_loop_index(io)], *(unsigned *)arg, io_now_ns(io) + IO_SEC(30));
}

static void on_shard(void (*fn)(struct io *io, void *arg), unsigned count)
{
    sim_in_loop(rig.node, 1, fn, &count);
    rig_run(2000);
}

/* Three cells of one shard, the first two out of memory. */
static void open_three(void)
{
    rig_open_two();
    memset(&stage, 0, sizeof stage);
    keeps = 0;
    fake.owner = NULL;
    fake.entries_late = true;
    rig.router->offer = offered;
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(rig_ask(scope(i), "add 7"), "7");
    rig_evict(scope(1));
    rig_run(10);
    rig_evict(scope(0));
}

static void test_the_longest_unused_go_and_none_that_is_in_memory(void **state)
{
    (void)state;
    open_three();
    on_shard(do_donate, 1);
    assert_int_equal(stage.made, 1);
    assert_string_equal(stage.last, scope(0)); /* It was in use first. */
    assert_true(stage.balance);
    assert_string_equal(rig_phase(scope(0)), "remote");
    on_shard(do_donate, 5);
    assert_int_equal(stage.made, 2);
    assert_string_equal(rig_phase(scope(2)), "resident");
    struct cell_tally t = cell_shard_tally(rig.shard[1]);
    assert_int_equal(t.owned, 1);
    assert_true(t.rebalanced == 2 && t.handed_off == 2 && t.rebalance_failed == 0);
    assert_string_equal(rig_ask(scope(0), "add 1"), "8"); /* At m now. */
    assert_int_equal(cell_shard_tally(rig.other.shard[1]).resident, 1);
    rig_free();
}

static void test_a_cell_that_nobody_takes_is_nobodys_and_ours_when_it_is_needed(void **state)
{
    (void)state;
    open_three();
    stage.offers = REFUSE;
    on_shard(do_donate, 1);
    assert_int_equal(stage.made, 1);
    assert_true(fake_cell(cd_str(scope(0)))->released);
    assert_int_equal(cell_shard_tally(rig.shard[1]).rebalance_failed, 1);
    assert_string_equal(rig_ask(scope(0), "add 1"), "8");
    assert_string_equal(rig_phase(scope(0)), "resident");
    rig_free();
}

static void test_who_calls_a_cell_that_moves_follows_it(void **state)
{
    (void)state;
    open_three();
    stage.offers = KEEP;
    on_shard(do_donate, 1);
    assert_string_equal(rig_phase(scope(0)), "adopting");
    struct call *c = rig_call(scope(0), "add 1");
    rig_run(1000);
    assert_int_equal(c->messages, 0);
    kept[0]->taken = true;
    io_post(sim_io(rig.node, 1), 1, &kept[0]->msg);
    rig_run(500);
    assert_string_equal(c->got, "8 ");
    assert_string_equal(rig_phase(scope(0)), "remote");
    rig_free();
}

static void test_parked_sockets_do_not_move(void **state)
{
    (void)state;
    open_three();
    struct call *c = rig_call(scope(1), "served");
    rig_send(c, "park");
    rig_run(100);
    rig_evict(scope(1));
    assert_false(c->closed);
    on_shard(do_donate, 2);
    assert_string_equal(rig_phase(scope(1)), "remote");
    assert_true(c->closed); /* The client comes again, and finds it. */
    rig_free();
}

static void test_an_alarm_that_nobody_took_along_gets_an_entry(void **state)
{
    (void)state;
    open_three();
    assert_string_equal(rig_ask(scope(0), "alarm 7000000"), "ok");
    rig_evict(scope(0));
    stage.offers = REFUSE;
    on_shard(do_donate, 2);
    assert_int_equal(stage.made, 2);
    assert_int_equal(fake.entries, 1);
    rig_free();
}

static void test_a_drain_is_not_over_while_a_cell_is_on_its_way(void **state)
{
    (void)state;
    open_three();
    stage.offers = KEEP;
    on_shard(do_drain, 8);
    assert_int_equal(cell_shard_tally(rig.shard[1]).owned, 0); /* All records were given back, */
    assert_int_equal(cell_shard_drained(rig.shard[1]).left, 3); /* and nobody has them yet. */
    rig_crash();
    for (unsigned i = 0; i < keeps; i++)
        cell_offer_free(kept[i]); /* Abandoned: nobody else does. */
    rig_free();
}

/* ---- The other side ---- */

static struct {
    struct cell_owned alarm;
    int status;
    bool done;
} adoption;

static void adopt_flow(void *arg)
{
    struct io *io = arg;
    adoption.status = cell_adoption_tell(rig.router, io, cd_str(scope(5)), 4, &adoption.alarm, false,
                                         io_now_ns(io) + IO_SEC(5));
    adoption.done = true;
}

static void adopt(struct io *io, void *arg)
{
    (void)arg;
    (void)io_spawn(io, "adopt", adopt_flow, io);
}

static void test_an_adoption_with_an_alarm_is_answered_when_its_note_is_proven(void **state)
{
    (void)state;
    rig_open();
    memset(&adoption, 0, sizeof adoption);
    adoption.alarm =
        (struct cell_owned){.known = true, .armed = true, .due_ms = INT64_MAX / 2, .inst_seq = 1};
    fake.stall = true;
    sim_in_loop(rig.node, 0, adopt, NULL);
    rig_run(4000);
    assert_false(adoption.done);
    rig_run(2000);
    assert_true(adoption.done && adoption.status == IO_TIMEDOUT);
    assert_int_equal(fake.notes, 1);
    rig_crash();
    rig_free();
}

CD_TESTS(leave, cmocka_unit_test(test_the_longest_unused_go_and_none_that_is_in_memory),
         cmocka_unit_test(test_a_cell_that_nobody_takes_is_nobodys_and_ours_when_it_is_needed),
         cmocka_unit_test(test_who_calls_a_cell_that_moves_follows_it),
         cmocka_unit_test(test_parked_sockets_do_not_move),
         cmocka_unit_test(test_an_alarm_that_nobody_took_along_gets_an_entry),
         cmocka_unit_test(test_a_drain_is_not_over_while_a_cell_is_on_its_way),
         cmocka_unit_test(test_an_adoption_with_an_alarm_is_answered_when_its_note_is_proven))
