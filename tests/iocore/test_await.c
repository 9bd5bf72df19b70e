/* Deadlines and cancellation of awaits: who comes first decides, and nothing is left behind. */
#include "iocore/tiny.h"

#include "base/rng.h"

/* One fiber that awaits one op of the test's, under a deadline. */
struct wait {
    struct tiny t;
    struct io_op op;
    uint64_t deadline;
    void (*start)(struct tiny *t, struct io_op *op, io_done_fn *done);
    struct io_fiber *fiber;
    bool ended;
    int status;
    uint64_t ended_at;
};

static void flow_wait(void *arg)
{
    struct wait *w = arg;
    w->start(&w->t, &w->op, NULL);
    w->status = io_await(&w->op, w->deadline);
    CHECK(!io_busy(&w->op));
    w->ended_at = io_now_ns(&w->t.io);
    w->ended = true;
}

static void wait_begin(struct wait *w, void (*start)(struct tiny *t, struct io_op *op, io_done_fn *done),
                       uint64_t after_ns)
{
    *w = (struct wait){.start = start};
    tiny_init(&w->t);
    w->deadline = after_ns == IO_FOREVER ? IO_FOREVER : w->t.now + after_ns;
    w->fiber = io_spawn(&w->t.io, "wait", flow_wait, w);
    tiny_turn(&w->t);
    assert_false(w->ended);
}

static void wait_end(struct wait *w, int want)
{
    assert_true(w->ended);
    assert_int_equal(w->status, want);
    assert_true(cd_list_empty(&w->t.timers));
    assert_int_equal(w->t.io.busy, 0);
    tiny_deinit(&w->t);
}

static void test_a_result_in_time_is_the_result(void **state)
{
    static const int results[] = {IO_OK, IO_EOF, IO_RESET, IO_CANCELED, IO_TIMEDOUT};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(results); i++) {
        struct wait w;
        wait_begin(&w, tiny_start, 500);
        tiny_advance(&w.t, 499);
        tiny_complete(&w.t, &w.op, results[i]);
        assert_int_equal(w.t.cancels, 1); /* Of the timer, not of the op. */
        wait_end(&w, results[i]);
    }
}

static void test_past_the_deadline_the_op_is_cancelled_and_waited_for(void **state)
{
    struct wait w;
    (void)state;
    wait_begin(&w, tiny_start, 500);
    tiny_advance(&w.t, 499);
    assert_false(w.ended);
    tiny_advance(&w.t, 1);
    assert_int_equal(w.ended_at, w.deadline);
    assert_int_equal(w.t.cancels, 1);
    wait_end(&w, IO_TIMEDOUT);
}

static void test_a_late_op_is_waited_for_until_it_is_done(void **state)
{
    static const struct {
        int result, want;
    } cases[] = {{IO_OK, IO_OK}, {IO_RESET, IO_TIMEDOUT}, {IO_CANCELED, IO_TIMEDOUT}, {IO_EOF, IO_TIMEDOUT}};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(cases); i++) {
        for (int closing = 0; closing < 2; closing++) {
            struct wait w;
            wait_begin(&w, closing != 0 ? tiny_start_closing : tiny_start_deaf, 500);
            tiny_advance(&w.t, 5000);
            assert_false(w.ended);
            assert_true(w.op.canceling);
            assert_int_equal(w.t.cancels, closing != 0 ? 0 : 1);
            tiny_complete(&w.t, &w.op, cases[i].result);
            wait_end(&w, cases[i].want); /* Success at the last moment counts. */
        }
    }
}

static void test_a_deadline_that_has_passed_cancels_at_the_next_turn(void **state)
{
    (void)state;
    for (uint64_t back = 0; back <= 1000; back += 500) {
        struct wait w = {.start = tiny_start};
        tiny_init(&w.t);
        w.deadline = w.t.now - back;
        w.fiber = io_spawn(&w.t.io, "wait", flow_wait, &w);
        tiny_turn(&w.t);
        assert_false(w.ended); /* The timer needs its turn. */
        tiny_advance(&w.t, 0);
        assert_int_equal(w.ended_at, w.t.now);
        wait_end(&w, IO_TIMEDOUT);
    }
}

static void test_a_deadline_at_the_end_of_time_is_no_deadline(void **state)
{
    struct wait w;
    (void)state;
    wait_begin(&w, tiny_start, IO_FOREVER);
    assert_true(cd_list_empty(&w.t.timers));
    tiny_complete(&w.t, &w.op, IO_OK);
    wait_end(&w, IO_OK);
    wait_begin(&w, tiny_start, IO_FOREVER - 5000);
    assert_false(cd_list_empty(&w.t.timers));
    tiny_complete(&w.t, &w.op, IO_OK);
    wait_end(&w, IO_OK);
}

/* ---- All orders of what can happen to one await ---- */

enum happening { OP_ENDS, DEADLINE, FIBER_CANCEL, HAPPENINGS };

static void happen(struct wait *w, enum happening what, int result)
{
    switch (what) {
    case OP_ENDS:
        if (io_busy(&w->op))
            io_complete(&w->op, result);
        return;
    case DEADLINE: {
        struct cd_link *first = cd_list_first(&w->t.timers);
        if (first != NULL) {
            w->t.now = w->deadline;
            io_complete(CD_CONTAINER(first, struct io_op, link), IO_OK);
        }
        return;
    }
    case FIBER_CANCEL:
        if (!w->ended)
            io_fiber_cancel(w->fiber);
        return;
    case HAPPENINGS: break;
    }
    CD_UNREACHABLE();
}

/* What the await has to return. gap: a bit for each happening after which the turn ends. An op that is not
 * deaf ends by its cancel when the turn does. */
static int expected(const enum happening *order, unsigned gaps, int result, bool deaf)
{
    bool late = false, asked = false;
    for (unsigned i = 0; i < HAPPENINGS; i++) {
        if (order[i] == OP_ENDS)
            return late && result != IO_OK ? IO_TIMEDOUT : result;
        late |= order[i] == DEADLINE;
        asked = true;
        if (!deaf && asked && (gaps >> i & 1) != 0)
            break;
    }
    return late ? IO_TIMEDOUT : IO_CANCELED;
}

static void check_order(const enum happening *order, unsigned gaps, int result, bool deaf)
{
    struct wait w;
    wait_begin(&w, deaf ? tiny_start_deaf : tiny_start, 500);
    io_enter(&w.t.io);
    for (unsigned i = 0; i < HAPPENINGS; i++) {
        happen(&w, order[i], result);
        if ((gaps >> i & 1) != 0)
            assert_true(io_turn_end(&w.t.io, 100));
    }
    assert_true(io_turn_end(&w.t.io, 100));
    io_leave(&w.t.io);
    wait_end(&w, expected(order, gaps, result, deaf));
}

static void test_every_order_of_result_deadline_and_cancel(void **state)
{
    static const enum happening orders[6][3] = {
        {OP_ENDS, DEADLINE, FIBER_CANCEL}, {OP_ENDS, FIBER_CANCEL, DEADLINE},
        {DEADLINE, OP_ENDS, FIBER_CANCEL}, {DEADLINE, FIBER_CANCEL, OP_ENDS},
        {FIBER_CANCEL, OP_ENDS, DEADLINE}, {FIBER_CANCEL, DEADLINE, OP_ENDS}};
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        for (unsigned gaps = 0; gaps < 8; gaps++) {
            for (int deaf = 0; deaf < 2; deaf++) {
                check_order(orders[i], gaps, IO_OK, deaf != 0);
                check_order(orders[i], gaps, IO_RESET, deaf != 0);
            }
        }
    }
}

/* ---- Cancellation of fibers ---- */

struct cancel {
    struct tiny *t;
    struct io_op finished, closing;
    int status[6];
    unsigned step;
};

static void note_step(struct cancel *c, int status)
{
    c->status[c->step++] = status;
}

static void flow_canceled(void *arg)
{
    struct cancel *c = arg;
    struct tiny *t = c->t;
    struct io_op op = {0};
    tiny_start(t, &c->finished, NULL);
    tiny_start(t, &op, NULL);
    note_step(c, io_await(&op, IO_FOREVER));
    tiny_start(t, &op, NULL);
    note_step(c, io_await(&op, IO_FOREVER));
    tiny_start(t, &op, NULL);
    note_step(c, io_await(&op, t->now + 500));
    note_step(c, io_sleep(&t->io, 1000));
    note_step(c, io_await(&c->finished, IO_FOREVER)); /* Its result came before. */
    tiny_start_closing(t, &c->closing, NULL);
    note_step(c, io_await(&c->closing, IO_FOREVER));
}

static void check_canceled(struct cancel *c, struct tiny *t, int first)
{
    assert_int_equal(c->step, 5);
    assert_int_equal(c->status[0], first);
    assert_int_equal(c->status[1], IO_CANCELED);
    assert_int_equal(c->status[2], IO_CANCELED);
    assert_int_equal(c->status[3], IO_CANCELED);
    assert_int_equal(c->status[4], IO_EOF);
    tiny_complete(t, &c->closing, IO_OK); /* Cleanup goes on: closing ops are not cut short. */
    assert_int_equal(c->step, 6);
    assert_int_equal(c->status[5], IO_OK);
    assert_int_equal(t->io.fibers, 0);
    tiny_deinit(t);
}

static void test_cancel_of_a_fiber_holds_for_every_later_await(void **state)
{
    struct tiny t;
    struct cancel c = {.t = &t};
    (void)state;
    tiny_init(&t);
    struct io_fiber *f = io_spawn(&t.io, "canceled", flow_canceled, &c);
    tiny_turn(&t);
    tiny_complete(&t, &c.finished, IO_EOF);
    assert_int_equal(c.step, 0);
    io_fiber_cancel(f);
    assert_int_equal(c.step, 0); /* Not from inside cancel. */
    io_fiber_cancel(f);
    tiny_turn(&t);
    assert_int_equal(t.now, 1000); /* No sleep was slept, no deadline waited for. */
    check_canceled(&c, &t, IO_CANCELED);
}

static void test_a_fiber_may_be_cancelled_between_wake_and_run(void **state)
{
    struct tiny t;
    struct cancel c = {.t = &t};
    (void)state;
    tiny_init(&t);
    struct io_fiber *f = io_spawn(&t.io, "canceled", flow_canceled, &c);
    tiny_turn(&t);
    tiny_complete(&t, &c.finished, IO_EOF);
    io_enter(&t.io);
    struct cd_link *last = t.io.ops.head.prev;
    io_complete(CD_CONTAINER(last, struct io_op, all), IO_NOENT);
    io_fiber_cancel(f);
    assert_true(io_turn_end(&t.io, 1000));
    io_leave(&t.io);
    check_canceled(&c, &t, IO_NOENT);
}

struct early {
    struct tiny *t;
    int status;
    bool self;
};

static void flow_early(void *arg)
{
    struct early *e = arg;
    struct io_op op = {0};
    if (e->self)
        io_fiber_cancel(io_fiber_current());
    tiny_start(e->t, &op, NULL);
    e->status = io_await(&op, e->t->now + 100);
}

static void test_cancel_before_the_first_run_and_of_oneself(void **state)
{
    (void)state;
    for (int self = 0; self < 2; self++) {
        struct tiny t;
        struct early e = {.t = &t, .self = self != 0};
        tiny_init(&t);
        struct io_fiber *f = io_spawn(&t.io, "early", flow_early, &e);
        if (self == 0)
            io_fiber_cancel(f);
        tiny_turn(&t);
        assert_int_equal(e.status, IO_CANCELED);
        tiny_deinit(&t);
    }
}

static void flow_sleep(void *arg)
{
    struct early *e = arg;
    e->status = io_sleep(&e->t->io, 700);
}

static void test_sleep_ends_in_time_and_a_reused_fiber_starts_uncancelled(void **state)
{
    struct tiny t;
    (void)state;
    tiny_init(&t);
    for (int round = 0; round < 4; round++) {
        struct early e = {.t = &t, .status = 1};
        struct io_fiber *f = io_spawn(&t.io, "sleep", flow_sleep, &e);
        tiny_turn(&t);
        if (round % 2 == 0)
            io_fiber_cancel(f);
        tiny_advance(&t, 699);
        assert_int_equal(e.status, round % 2 == 0 ? IO_CANCELED : 1);
        tiny_advance(&t, 1);
        assert_int_equal(e.status, round % 2 == 0 ? IO_CANCELED : IO_OK);
    }
    assert_int_equal(t.io.spares, 1);
    tiny_deinit(&t);
}

static void test_all_fibers_of_a_loop_can_be_cancelled_at_once(void **state)
{
    struct tiny t;
    struct early e[20];
    (void)state;
    tiny_init(&t);
    for (size_t i = 0; i < 20; i++) {
        e[i] = (struct early){.t = &t, .status = 1};
        (void)io_spawn(&t.io, "sleep", flow_sleep, &e[i]);
        if (i == 9)
            tiny_turn(&t); /* Half of them sleep, the others have not begun. */
    }
    io_fibers_cancel(&t.io);
    tiny_turn(&t);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(e[i].status, IO_CANCELED);
    assert_true(cd_list_empty(&t.timers));
    tiny_deinit(&t);
}

/* ---- Many fibers at random ---- */

#define WORKERS 60

struct crowd {
    struct tiny t;
    struct cd_rng rng;
    struct io_signal bell;
    struct io_fiber *worker[WORKERS];
    unsigned alive, rounds;
    unsigned outcome[3]; /* OK, CANCELED, TIMEDOUT */
};

struct worker {
    struct crowd *c;
    unsigned index;
};

static void note(struct crowd *c, int status)
{
    CHECK(status == IO_OK || status == IO_CANCELED || status == IO_TIMEDOUT);
    c->outcome[status == IO_OK ? 0 : status == IO_CANCELED ? 1 : 2]++;
    c->rounds++;
}

static void flow_work(void *arg)
{
    struct worker *w = arg;
    struct crowd *c = w->c;
    struct io *io = &c->t.io;
    uint64_t pattern[32];
    c->alive++;
    for (unsigned i = 0; i < 32; i++)
        pattern[i] = (uint64_t)w->index << 32 | i;
    for (unsigned i = 0; i < 40; i++) {
        struct io_op op = {0};
        switch (cd_rng_below(&c->rng, 16)) {
        case 0: io_signal_wake(&c->bell, IO_OK); break;
        case 1:
        case 2:
        case 3:
        case 4:
            io_defer(&op, io, IO_OK, NULL);
            note(c, io_await(&op, c->t.now + cd_rng_below(&c->rng, 2)));
            break;
        case 5:
        case 6:
        case 7:
        case 8:
            io_signal_wait(&c->bell, io, &op, NULL);
            note(c, io_await(&op, c->t.now + cd_rng_below(&c->rng, 100)));
            break;
        default: note(c, io_sleep(io, cd_rng_below(&c->rng, 100))); break;
        }
        /* Nobody else has been on this stack. */
        for (unsigned k = 0; k < 32; k++)
            CHECK(pattern[k] == ((uint64_t)w->index << 32 | k));
    }
    c->worker[w->index] = NULL;
    c->alive--;
}

static void flow_disturb(void *arg)
{
    struct crowd *c = arg;
    for (unsigned i = 0; i < 200; i++) {
        CHECK_INT(io_sleep(&c->t.io, 20), IO_OK);
        unsigned who = (unsigned)cd_rng_below(&c->rng, WORKERS);
        if (i % 10 == 0 && c->worker[who] != NULL)
            io_fiber_cancel(c->worker[who]);
    }
}

static void test_a_crowd_of_fibers_leaves_nothing_behind(void **state)
{
    static struct crowd c;
    static struct worker w[WORKERS];
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        c = (struct crowd){.rounds = 0};
        tiny_init(&c.t);
        cd_rng_seed(&c.rng, seed, CD_STR("crowd"));
        io_signal_init(&c.bell);
        for (unsigned i = 0; i < WORKERS; i++) {
            w[i] = (struct worker){&c, i};
            c.worker[i] = io_spawn(&c.t.io, "worker", flow_work, &w[i]);
        }
        (void)io_spawn(&c.t.io, "disturb", flow_disturb, &c);
        tiny_run(&c.t);
        if (c.alive != 0 || c.t.io.fibers != 0 || !cd_list_empty(&c.bell.waiting))
            fail_msg("seed %llu: %u alive", (unsigned long long)seed, c.alive);
        assert_true(c.rounds > 1000);
        assert_true(c.outcome[0] > 100);
        assert_true(c.outcome[1] > 10);
        assert_true(c.outcome[2] > 10);
        tiny_deinit(&c.t);
    }
}

CD_TESTS(await, cmocka_unit_test(test_a_result_in_time_is_the_result),
         cmocka_unit_test(test_past_the_deadline_the_op_is_cancelled_and_waited_for),
         cmocka_unit_test(test_a_late_op_is_waited_for_until_it_is_done),
         cmocka_unit_test(test_a_deadline_that_has_passed_cancels_at_the_next_turn),
         cmocka_unit_test(test_a_deadline_at_the_end_of_time_is_no_deadline),
         cmocka_unit_test(test_every_order_of_result_deadline_and_cancel),
         cmocka_unit_test(test_cancel_of_a_fiber_holds_for_every_later_await),
         cmocka_unit_test(test_a_fiber_may_be_cancelled_between_wake_and_run),
         cmocka_unit_test(test_cancel_before_the_first_run_and_of_oneself),
         cmocka_unit_test(test_sleep_ends_in_time_and_a_reused_fiber_starts_uncancelled),
         cmocka_unit_test(test_all_fibers_of_a_loop_can_be_cancelled_at_once),
         cmocka_unit_test(test_a_crowd_of_fibers_leaves_nothing_behind))
