/* The scheduler: order, policies, determinism, draws. */
#include "base/rng.h"
#include "io/backend.h"
#include "rig.h"

/* ---- Order ---- */

struct order {
    struct io_timer timer[8];
    unsigned seen[8], count;
};

static struct order *order_now;

static void order_done(struct io_op *op, int status)
{
    CHECK_INT(status, IO_OK);
    struct io_timer *t = CD_CONTAINER(op, struct io_timer, op);
    order_now->seen[order_now->count++] = (unsigned)(t - order_now->timer);
}

/* Eight timers of one moment; the order in which they come is the policy's. */
static void order_run(struct order *o, const struct sim_opts *opts)
{
    struct sim *sim = sim_new(opts);
    struct sim_node *n = rig_node(sim, "n1");
    *o = (struct order){0};
    order_now = o;
    for (unsigned i = 0; i < 8; i++)
        io_timer_start(&o->timer[i], sim_io(n, 0), IO_MS(1), order_done);
    sim_run_for(sim, IO_MS(10));
    assert_int_equal(o->count, 8);
    sim_free(sim);
}

static void test_fifo_keeps_the_order_of_submission(void **state)
{
    (void)state;
    struct order o;
    order_run(&o, &(struct sim_opts){.seed = 7, .policy = SIM_FIFO, .slack_ns = IO_MS(1)});
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(o.seen[i], i);
}

static void test_random_policy_orders_ties_by_seed(void **state)
{
    (void)state;
    struct order a, b, c;
    order_run(&a, &(struct sim_opts){.seed = 1, .policy = SIM_RANDOM});
    order_run(&b, &(struct sim_opts){.seed = 1, .policy = SIM_RANDOM});
    order_run(&c, &(struct sim_opts){.seed = 2, .policy = SIM_RANDOM});
    assert_memory_equal(a.seen, b.seen, sizeof a.seen);
    assert_memory_not_equal(a.seen, c.seen, sizeof a.seen);
}

struct ranks {
    struct sim_node *node[6];
    struct io_timer timer[6][2];
    struct cd_buf seen;
};

static struct ranks *ranks_now;

static void ranks_done(struct io_op *op, int status)
{
    CHECK_INT(status, IO_OK);
    cd_buf_add_byte(&ranks_now->seen, sim_node_name(sim_node_of(io_current()))[0]);
    (void)op;
}

/* Two timers on each of six nodes, all due within the slack. */
static void ranks_run(struct ranks *r, uint64_t seed)
{
    const char *const name[] = {"a", "b", "c", "d", "e", "f"};
    struct sim *sim = sim_new(
        &(struct sim_opts){.seed = seed, .policy = SIM_PCT, .slack_ns = IO_MS(1), .pct_horizon = UINT64_MAX});
    *r = (struct ranks){0};
    ranks_now = r;
    for (unsigned i = 0; i < 6; i++)
        r->node[i] = rig_node(sim, name[i]);
    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < 6; i++)
            io_timer_start(&r->timer[i][k], sim_io(r->node[i], 0), IO_MS(1) + k, ranks_done);
    }
    sim_run_for(sim, IO_MS(10));
    assert_int_equal(r->seen.len, 12);
    sim_free(sim);
}

static void test_pct_runs_actors_by_their_priority(void **state)
{
    (void)state;
    struct ranks a, b;
    ranks_run(&a, 1);
    ranks_run(&b, 2);
    for (unsigned i = 0; i < 12; i += 2)
        assert_int_equal(a.seen.ptr[i],
                         a.seen.ptr[i + 1]); /* Both timers of a node before those of a lower one. */
    assert_memory_not_equal(a.seen.ptr, b.seen.ptr, 12);
    cd_buf_deinit(&a.seen);
    cd_buf_deinit(&b.seen);
}

/* ---- Time ---- */

static void time_flow(void *arg)
{
    struct io *io = arg;
    for (uint64_t ns = 0; ns < 1000; ns += 37) {
        uint64_t before = io_now_ns(io);
        CHECK_INT(io_sleep(io, ns), IO_OK);
        CHECK(io_now_ns(io) >= before + ns);
    }
    struct io_timer never = {0};
    io_timer_start(&never, io, IO_FOREVER, NULL);
    uint64_t until = io_now_ns(io) + IO_SEC(5);
    CHECK_INT(io_await(&never.op, until), IO_TIMEDOUT);
    CHECK(io_now_ns(io) >= until);
}

static void test_timers_are_never_early(void **state)
{
    (void)state;
    const int32_t drift[] = {0, 200, -200, 1000, -1000, 7};
    for (unsigned i = 0; i < CD_COUNT(drift); i++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = i + 1, .policy = SIM_RANDOM, .slack_ns = 10});
        struct sim_node *n = rig_node(sim, "n1");
        sim_clock_drift(n, drift[i]);
        (void)io_spawn(sim_io(n, 0), "time", time_flow, sim_io(n, 0));
        assert_true(rig_run(sim, n, NULL));
        sim_free(sim);
    }
}

static void drift_flow(void *arg)
{
    struct io *io = arg;
    uint64_t before = io_now_ns(io);
    CHECK_INT(io_sleep(io, IO_SEC(10)), IO_OK);
    CHECK(io_now_ns(io) - before >= IO_SEC(10));
}

static void test_a_rate_change_moves_running_timers(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "drift", drift_flow, sim_io(n, 0));
    sim_run_for(sim, IO_SEC(5));
    sim_clock_drift(n, 500000); /* Half as fast again: the other five seconds take 3.34. */
    sim_run_for(sim, IO_MS(3330));
    assert_int_not_equal(sim_left(n, NULL), 0);
    sim_run_for(sim, IO_MS(10));
    assert_int_equal(sim_left(n, NULL), 0);
    sim_free(sim);
}

static void test_wall_clock_steps_and_the_monotonic_one_does_not(void **state)
{
    (void)state;
    struct sim *sim = sim_new(&(struct sim_opts){.seed = 3, .wall_ms = 1000000});
    struct sim_node *n = rig_node(sim, "n1");
    struct io *io = sim_io(n, 0);
    sim_run_for(sim, IO_SEC(1));
    uint64_t now = io_now_ns(io);
    assert_int_equal(io_wall_ms(io), 1001000);
    sim_clock_step(n, -5000);
    assert_int_equal(io_wall_ms(io), 996000);
    assert_int_equal(io_now_ns(io), now);
    sim_clock_step(n, -2000000);
    assert_int_equal(io_wall_ms(io), -1004000);
    sim_free(sim);
}

static void test_a_pause_makes_timers_late_and_time_runs_on(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    struct io *io = sim_io(n, 0);
    uint64_t start = io_now_ns(io);
    (void)io_spawn(io, "drift", drift_flow, io);
    sim_run_for(sim, IO_SEC(9));
    sim_pause(n, IO_SEC(20));
    sim_run_for(sim, IO_SEC(19));
    assert_int_not_equal(sim_left(n, NULL), 0); /* Due at 10 s, but nothing runs. */
    assert_int_equal(io_now_ns(io) - start, IO_SEC(28));
    sim_run_for(sim, IO_SEC(2));
    assert_int_equal(sim_left(n, NULL), 0);
    sim_free(sim);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void test_run_until_stops_at_the_limit_or_when_nothing_is_left(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "drift", drift_flow, sim_io(n, 0));
    assert_false(sim_run_until(sim, never, NULL, IO_SEC(4)));
    assert_int_equal(sim_now_ns(sim), IO_SEC(4));
    assert_false(sim_run_until(sim, never, NULL, IO_SEC(100)));
    assert_int_equal(sim_now_ns(sim), IO_SEC(10));
    assert_false(sim_step(sim));
    sim_free(sim);
}

/* ---- Determinism ---- */

struct chatter {
    struct io *io;
    unsigned left;
};

static void chatter_flow(void *arg)
{
    struct chatter *c = arg;
    while (c->left-- > 0) {
        unsigned char byte;
        io_random(c->io, IO_RAND_JITTER, &byte, 1);
        CHECK_INT(io_sleep(c->io, byte * 1000u), IO_OK);
        cd_event(c->io, CD_INFO, "chatter.slept", CD_U("byte", byte));
    }
}

static uint64_t chatter_hash(uint64_t seed, enum sim_policy policy, size_t *checkpoints)
{
    struct sim *sim = sim_new(&(struct sim_opts){.seed = seed, .policy = policy, .slack_ns = 10000});
    struct sim_node *a = rig_node_loops(sim, "a", 2), *b = rig_node(sim, "b");
    struct chatter c[] = {{sim_io(a, 0), 6000}, {sim_io(a, 1), 6000}, {sim_io(b, 0), 100}};
    for (unsigned i = 0; i < CD_COUNT(c); i++)
        (void)io_spawn(c[i].io, "chatter", chatter_flow, &c[i]);
    assert_true(rig_run(sim, a, b));
    uint64_t hash = sim_hash(sim);
    (void)sim_checkpoints(sim, checkpoints);
    sim_free(sim);
    return hash;
}

static void test_same_seed_same_hash_other_seed_other_hash(void **state)
{
    (void)state;
    const enum sim_policy policies[] = {SIM_FIFO, SIM_RANDOM, SIM_PCT};
    for (unsigned p = 0; p < CD_COUNT(policies); p++) {
        size_t checkpoints;
        uint64_t one = chatter_hash(1, policies[p], &checkpoints);
        assert_int_equal(checkpoints, 1); /* Of 12,100 events and a few. */
        assert_true(one == chatter_hash(1, policies[p], &checkpoints));
        assert_true(one != chatter_hash(2, policies[p], &checkpoints));
    }
}

static void test_random_bytes_per_node_use_and_life_are_apart(void **state)
{
    (void)state;
    uint64_t first[2], again[2], other;
    for (unsigned round = 0; round < 2; round++) {
        struct sim *sim = sim_new(NULL);
        struct sim_node *n = rig_node(sim, "n1");
        if (round == 1) {
            /* More draws of another use and another node: nothing shifts. */
            struct sim_node *m = rig_node(sim, "m");
            io_random(sim_io(m, 0), IO_RAND_ID, &other, sizeof other);
            io_random(sim_io(n, 0), IO_RAND_JS, &other, sizeof other);
        }
        uint64_t *got = round == 0 ? first : again;
        io_random(sim_io(n, 0), IO_RAND_ID, &got[0], sizeof got[0]);
        sim_crash_wait(n, SIM_KILL);
        sim_restart(n, false);
        io_random(sim_io(n, 0), IO_RAND_ID, &got[1], sizeof got[1]);
        sim_free(sim);
    }
    assert_true(first[0] == again[0] && first[1] == again[1]);
    assert_true(first[0] != first[1]); /* A new life draws other ids. */
}

static void test_streams_and_micro_draws_by_purpose(void **state)
{
    (void)state;
    struct sim *sim = sim_new(&(struct sim_opts){.seed = 5});
    struct cd_rng swarm, plan, swarm2;
    sim_rng(sim, "swarm", &swarm);
    sim_rng(sim, "plan", &plan);
    (void)cd_rng_next(&plan);
    sim_rng(sim, "swarm", &swarm2);
    uint64_t x = cd_rng_next(&swarm);
    assert_true(x == cd_rng_next(&swarm2));
    sim_rng(sim, "plan", &plan);
    assert_true(x != cd_rng_next(&plan));
    assert_true(sim_draw(sim, "delay", 1, 2) == sim_draw(sim, "delay", 1, 2));
    assert_true(sim_draw(sim, "delay", 1, 2) != sim_draw(sim, "delay", 1, 3));
    assert_true(sim_draw(sim, "delay", 1, 2) != sim_draw(sim, "delay", 2, 2));
    assert_true(sim_draw(sim, "delay", 1, 2) != sim_draw(sim, "loss", 1, 2));
    sim_free(sim);
}

/* ---- Marks, events, hooks ---- */

struct watch {
    struct cd_buf logs, records;
    unsigned events;
};

static void watch_log(void *arg, const struct sim_log *log)
{
    struct watch *w = arg;
    cd_buf_addf(&w->logs, "%s %s %u;", sim_node_name(log->node), log->name, (unsigned)log->count);
}

static void watch_event(void *arg, const struct sim_record *r)
{
    struct watch *w = arg;
    w->events++;
    sim_record_text(&w->records, r);
    sim_record_json(&w->records, r);
}

static void mark_flow(void *arg)
{
    CD_MARK("test.here");
    CD_MARK("test.here");
    cd_event(arg, CD_INFO, "test.said", CD_U("n", 1), CD_Z("why", "because"));
    cd_event(arg, CD_DEBUG, "test.detail");
}

static void count_mark(void *arg, const char *name, uint64_t count)
{
    cd_buf_addf(arg, "%s=%u;", name, (unsigned)count);
}

static void test_marks_are_counted_and_events_captured(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct watch w = {0};
    sim_on_log(sim, watch_log, &w);
    sim_on_event(sim, watch_event, &w);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "mark", mark_flow, sim_io(n, 0));
    assert_true(rig_run(sim, n, NULL));
    assert_int_equal(sim_marks(sim, "test.here"), 2);
    assert_int_equal(sim_marks(sim, "test.never"), 0);
    assert_str_is(cd_buf_str(&w.logs), "n1 test.said 2;");
    assert_int_equal(w.events, sim_events(sim));
    assert_true(cd_str_find_str(cd_buf_str(&w.records), CD_STR("n1/0 run #"), 0) != SIZE_MAX);
    struct cd_buf marks = {0};
    sim_marks_each(sim, count_mark, &marks);
    assert_str_is(cd_buf_str(&marks), "test.here=2;");
    cd_buf_deinit(&marks);
    sim_free(sim); /* Its last events are told to the hooks too. */
    cd_buf_deinit(&w.logs);
    cd_buf_deinit(&w.records);
}

/* ---- Mailbox ---- */

struct letter {
    struct io_msg msg;
    unsigned from, n;
};

struct letters {
    unsigned next[3], got;
};

static void letter_handle(struct io *at, struct io_msg *m)
{
    struct letter *l = CD_CONTAINER(m, struct letter, msg);
    struct letters *all = at->user;
    CHECK_INT(io_loop_index(at), 0);
    CHECK_INT(l->n, all->next[l->from]++); /* In order per pair. */
    all->got++;
    cd_free(l);
}

static void letters_flow(void *arg)
{
    struct io *io = arg;
    for (unsigned i = 0; i < 50; i++) {
        struct letter *l = cd_new(struct letter);
        *l = (struct letter){.msg.handle = letter_handle, .from = io_loop_index(io), .n = i};
        io_post(io, 0, &l->msg);
        if (i % 7 == 0)
            CHECK_INT(io_sleep(io, 1000), IO_OK);
    }
}

static void test_mailbox_keeps_the_order_of_each_pair(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = seed, .policy = SIM_RANDOM, .slack_ns = 10000});
        struct sim_node *n = rig_node_loops(sim, "n1", 3);
        struct letters all = {0};
        sim_io(n, 0)->user = &all;
        for (unsigned i = 0; i < 3; i++)
            (void)io_spawn(sim_io(n, i), "letters", letters_flow, sim_io(n, i));
        sim_run_for(sim, IO_SEC(1));
        assert_int_equal(all.got, 150);
        sim_free(sim);
    }
}

CD_TESTS(kernel, cmocka_unit_test(test_fifo_keeps_the_order_of_submission),
         cmocka_unit_test(test_random_policy_orders_ties_by_seed),
         cmocka_unit_test(test_pct_runs_actors_by_their_priority),
         cmocka_unit_test(test_timers_are_never_early),
         cmocka_unit_test(test_a_rate_change_moves_running_timers),
         cmocka_unit_test(test_wall_clock_steps_and_the_monotonic_one_does_not),
         cmocka_unit_test(test_a_pause_makes_timers_late_and_time_runs_on),
         cmocka_unit_test(test_run_until_stops_at_the_limit_or_when_nothing_is_left),
         cmocka_unit_test(test_same_seed_same_hash_other_seed_other_hash),
         cmocka_unit_test(test_random_bytes_per_node_use_and_life_are_apart),
         cmocka_unit_test(test_streams_and_micro_draws_by_purpose),
         cmocka_unit_test(test_marks_are_counted_and_events_captured),
         cmocka_unit_test(test_mailbox_keeps_the_order_of_each_pair))
