/* Ops, fibers, signals and the end of a loop. */
#include "support.h"

static void flow_defer(struct contract *c)
{
    struct probe p[3];
    for (int i = 0; i < 3; i++) {
        probe_init(&p[i]);
        CHECK(!io_busy(&p[i].op));
        io_defer(&p[i].op, c->io, i == 1 ? IO_FAULT : IO_OK, probe_done);
        CHECK(io_busy(&p[i].op) && p[i].op.io == c->io && p[i].calls == 0);
    }
    CHECK(p[0].op.serial < p[1].op.serial && p[1].op.serial < p[2].op.serial);
    io_cancel(&p[2].op); /* The result is there already. */
    CHECK_INT(p[2].calls, 0);
    for (int i = 0; i < 3; i++)
        CHECK_INT(probe_wait(c, &p[i]), i == 1 ? IO_FAULT : IO_OK);
    turn(c);
    CHECK(p[0].calls == 1 && p[1].calls == 1 && p[2].calls == 1);
}

static void test_a_deferred_op_ends_once_at_a_later_turn(void **state)
{
    (void)state;
    contract_run(flow_defer);
}

static void flow_current(struct contract *c)
{
    CHECK(io_current() == c->io);
    CHECK(io_fiber_current() != NULL);
    CHECK_INT(io_loop_index(c->io), 0);
    CHECK_INT(io_loop_count(c->io), 1);
    CHECK(io_bucket(c->io) == c->bucket);
    io_mark(c->io, "contract.mark");
    CD_MARK("contract.mark");
    cd_event(c->io, CD_DEBUG, "contract_event", CD_U("number", 1));
}

static void test_a_fiber_knows_its_loop(void **state)
{
    (void)state;
    contract_run(flow_current);
}

static void note_run(struct contract *c, void *arg)
{
    struct cd_buf *text = arg;
    cd_buf_add_byte(text, 'b');
    CHECK_INT(io_sleep(c->io, 0), IO_OK);
    cd_buf_add_byte(text, 'd');
}

static void flow_spawn(struct contract *c)
{
    struct cd_buf text = {0};
    struct task t;
    struct io_fiber *me = io_fiber_current();
    task_start(&t, c, note_run, &text);
    CHECK(t.fiber != NULL && t.fiber != me);
    cd_buf_add_byte(&text, 'c'); /* It has not run inside spawn. */
    task_join(&t);
    CHECK(cd_str_eq(cd_buf_str(&text), CD_STR("cbd")));
    cd_buf_deinit(&text);
    CHECK(io_fiber_current() == me);
}

static void test_a_fiber_starts_at_the_next_turn(void **state)
{
    (void)state;
    contract_run(flow_spawn);
}

static void child_fiber_run(struct contract *c, void *arg)
{
    unsigned *left = arg;
    struct task t;
    CHECK_INT(io_sleep(c->io, *left % 3 == 0 ? IO_MS(1) : 0), IO_OK);
    if (--*left == 0)
        return;
    task_start(&t, c, child_fiber_run, left);
    task_join(&t);
}

static void flow_many(struct contract *c)
{
    struct task t[50];
    unsigned left[50];
    for (unsigned i = 0; i < 50; i++) {
        left[i] = 1 + i % 7;
        task_start(&t[i], c, child_fiber_run, &left[i]);
    }
    for (unsigned i = 0; i < 50; i++)
        task_join(&t[i]);
}

static void test_many_fibers_come_and_go(void **state)
{
    (void)state;
    contract_run(flow_many);
}

static void flow_deadline(struct contract *c)
{
    struct io_signal s;
    struct io_op op = {0};
    io_signal_init(&s);
    uint64_t from = io_now_ns(c->io);
    io_signal_wait(&s, c->io, &op, NULL);
    CHECK_INT(io_await(&op, from + IO_MS(3)), IO_TIMEDOUT);
    CHECK(!io_busy(&op));
    CHECK(io_now_ns(c->io) >= from + IO_MS(3));
    /* A deadline that has passed already. */
    io_signal_wait(&s, c->io, &op, NULL);
    CHECK_INT(io_await(&op, 1), IO_TIMEDOUT);
    /* A success is a success, however late. */
    io_defer(&op, c->io, IO_OK, NULL);
    CHECK_INT(io_await(&op, 1), IO_OK);
    /* An idle op: what it ended with. */
    CHECK_INT(io_await(&op, io_now_ns(c->io) + IO_SEC(1)), IO_OK);
    /* In time. */
    struct io_timer t = {0};
    io_timer_start(&t, c->io, IO_MS(1), NULL);
    CHECK_INT(io_await(&t.op, io_now_ns(c->io) + IO_SEC(60)), IO_OK);
}

static void test_an_await_ends_at_its_deadline(void **state)
{
    (void)state;
    contract_run(flow_deadline);
}

static void flow_early(struct contract *c)
{
    struct io_timer t = {0};
    io_timer_start(&t, c->io, IO_MS(1), NULL);
    while (io_busy(&t.op))
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
    CHECK_INT(io_await(&t.op, IO_FOREVER), IO_OK); /* It was done before anybody waited. */
}

static void test_an_op_may_be_done_before_it_is_awaited(void **state)
{
    (void)state;
    contract_run(flow_early);
}

static void flow_signal(struct contract *c)
{
    struct io_signal s;
    struct probe p[4];
    io_signal_init(&s);
    io_signal_wake(&s, IO_OK); /* Nobody waits: lost. */
    for (int i = 0; i < 4; i++) {
        probe_init(&p[i]);
        io_signal_wait(&s, c->io, &p[i].op, probe_done);
    }
    io_cancel(&p[2].op);
    io_signal_wake(&s, IO_EXISTS);
    CHECK_INT(p[0].calls + p[1].calls + p[2].calls + p[3].calls, 0);
    struct probe late;
    probe_init(&late);
    io_signal_wait(&s, c->io, &late.op, probe_done); /* After the wake: waits for the next one. */
    for (int i = 0; i < 4; i++)
        CHECK_INT(probe_wait(c, &p[i]), i == 2 ? IO_CANCELED : IO_EXISTS);
    turn(c);
    CHECK_INT(late.calls, 0);
    io_signal_wake(&s, IO_OK);
    CHECK_INT(probe_wait(c, &late), IO_OK);
}

static void test_a_signal_ends_all_that_wait_now(void **state)
{
    (void)state;
    contract_run(flow_signal);
}

struct victim {
    struct pair pair;
    unsigned steps;
};

static void victim_run(struct contract *c, void *arg)
{
    struct victim *v = arg;
    char byte;
    struct io_read r = {.buf = &byte, .cap = 1};
    struct io_op op = {0};
    struct io_signal s;
    io_signal_init(&s);
    io_stream_read(&v->pair.server, &r, NULL);
    CHECK_INT(io_await(&r.op, IO_FOREVER), IO_CANCELED);
    v->steps++;
    CHECK_INT(io_sleep(c->io, IO_SEC(3600)), IO_CANCELED); /* Every later await too, at once. */
    v->steps++;
    io_signal_wait(&s, c->io, &op, NULL);
    CHECK_INT(io_await(&op, io_now_ns(c->io) + IO_SEC(3600)), IO_CANCELED);
    v->steps++;
    io_stream_close(&v->pair.server, false, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK); /* Closing completes regardless. */
    v->steps++;
}

static void flow_cancel(struct contract *c)
{
    struct victim v = {0};
    struct task t;
    pair_open(c, &v.pair);
    uint64_t from = io_now_ns(c->io);
    task_start(&t, c, victim_run, &v);
    turn(c);
    io_fiber_cancel(t.fiber);
    io_fiber_cancel(t.fiber);
    CHECK_INT(v.steps, 0); /* Not inside. */
    task_join(&t);
    CHECK_INT(v.steps, 4);
    CHECK(io_now_ns(c->io) - from < IO_SEC(60));
    pair_close(&v.pair);
}

static void test_a_canceled_fiber_unwinds_by_its_error_paths(void **state)
{
    (void)state;
    contract_run(flow_cancel);
}

static void unborn_run(struct contract *c, void *arg)
{
    *(int *)arg = io_sleep(c->io, IO_SEC(3600));
}

static void flow_cancel_unborn(struct contract *c)
{
    struct task t;
    int status = IO_OK;
    task_start(&t, c, unborn_run, &status);
    io_fiber_cancel(t.fiber); /* Before it has run at all. */
    task_join(&t);
    CHECK_INT(status, IO_CANCELED);
}

static void test_a_fiber_may_be_canceled_before_it_starts(void **state)
{
    (void)state;
    contract_run(flow_cancel_unborn);
}

static void flow_stop(struct contract *c)
{
    struct pair p;
    struct io_signal s;
    struct probe signal_wait;
    struct io_timer t = {0};
    struct io_read r = {0};
    struct io_listener l = {0};
    struct io_stream s_accept = {0}, s_connect = {0};
    struct io_op accept = {0}, op = {0};
    struct io_addr at;
    char byte;
    io_signal_init(&s);
    probe_init(&signal_wait);
    pair_open(c, &p);
    listen_any(c, &l, &at);
    io_timer_start(&t, c->io, IO_SEC(3600), NULL);
    io_stream_read(&p.server, &r, NULL);
    io_accept(&l, &s_accept, &accept, NULL);
    io_signal_wait(&s, c->io, &signal_wait.op, probe_done);
    io_stop(c->io);
    io_stop(c->io); /* Twice is once. */
    CHECK(io_busy(&t.op) && io_busy(&r.op) && io_busy(&accept) && signal_wait.calls == 0);
    int timer = io_await(&t.op, IO_FOREVER), read = io_await(&r.op, IO_FOREVER);
    int accepted = io_await(&accept, IO_FOREVER);
    CHECK(timer == IO_CANCELED || timer == IO_FAULT);
    CHECK(read == IO_CANCELED || read == IO_FAULT);
    CHECK(accepted == IO_CANCELED || accepted == IO_FAULT);
    for (int i = 0; i < 20 && signal_wait.calls == 0; i++) /* No order among them is promised. */
        (void)io_sleep(c->io, 0);
    CHECK(signal_wait.calls == 1 && (signal_wait.status == IO_CANCELED || signal_wait.status == IO_FAULT));
    /* Later ones have no effect. */
    io_connect(&s_connect, c->io, &at, &op, NULL);
    CHECK(io_await(&op, IO_FOREVER) != IO_OK && s_connect.io == NULL);
    struct cd_str part = CD_STR("late");
    struct io_write w = {.part = &part, .parts = 1};
    io_stream_write(&p.client, &w, NULL);
    CHECK(io_await(&w.op, IO_FOREVER) != IO_OK);
    r.buf = &byte;
    r.cap = 1;
    io_stream_read(&p.server, &r, NULL);
    CHECK(io_await(&r.op, IO_FOREVER) != IO_OK);
    CHECK(io_sleep(c->io, IO_SEC(3600)) != IO_OK);
    CHECK(io_sleep(c->io, 0) != IO_OK);
    io_signal_wait(&s, c->io, &op, NULL);
    CHECK(io_await(&op, IO_FOREVER) != IO_OK);
    /* But closing does. */
    io_listener_close(&l, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    io_stream_close(&p.client, false, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
    io_stream_close(&p.server, false, &op, NULL);
    CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
}

static void test_stopping_ends_every_pending_and_later_op(void **state)
{
    (void)state;
    contract_run(flow_stop);
}

static void spin_run(struct contract *c, void *arg)
{
    unsigned *turns = arg;
    while (io_sleep(c->io, 0) == IO_OK)
        ++*turns;
}

static void flow_fair(struct contract *c)
{
    struct task t[3];
    unsigned turns[3] = {0};
    struct pair p;
    char byte;
    size_t len;
    pair_open(c, &p);
    for (int i = 0; i < 3; i++)
        task_start(&t[i], c, spin_run, &turns[i]);
    /* Fibers that are always ready keep neither timers nor streams from their turns. */
    for (int i = 0; i < 20; i++) {
        CHECK_INT(io_sleep(c->io, IO_MS(1)), IO_OK);
        CHECK_INT(stream_write(&p.client, CD_STR("x")), IO_OK);
        CHECK_INT(stream_read(&p.server, &byte, 1, &len), IO_OK);
    }
    for (int i = 0; i < 3; i++) {
        io_fiber_cancel(t[i].fiber);
        task_join(&t[i]);
        CHECK(turns[i] > 0);
    }
    pair_close(&p);
}

static void test_ready_fibers_do_not_starve_the_loop(void **state)
{
    (void)state;
    contract_run(flow_fair);
}

CD_TESTS(contract_fiber, cmocka_unit_test(test_a_deferred_op_ends_once_at_a_later_turn),
         cmocka_unit_test(test_a_fiber_knows_its_loop),
         cmocka_unit_test(test_a_fiber_starts_at_the_next_turn),
         cmocka_unit_test(test_many_fibers_come_and_go), cmocka_unit_test(test_an_await_ends_at_its_deadline),
         cmocka_unit_test(test_an_op_may_be_done_before_it_is_awaited),
         cmocka_unit_test(test_a_signal_ends_all_that_wait_now),
         cmocka_unit_test(test_a_canceled_fiber_unwinds_by_its_error_paths),
         cmocka_unit_test(test_a_fiber_may_be_canceled_before_it_starts),
         cmocka_unit_test(test_stopping_ends_every_pending_and_later_op),
         cmocka_unit_test(test_ready_fibers_do_not_starve_the_loop))
