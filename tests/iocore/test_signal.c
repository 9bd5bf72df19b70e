/* Signals: how fibers and callbacks wait for each other. */
#include "iocore/tiny.h"

static void test_one_wake_ends_all_that_wait_in_order(void **state)
{
    struct tiny t;
    struct io_signal s;
    struct tiny_count c[100] = {0};
    (void)state;
    tiny_init(&t);
    io_signal_init(&s);
    io_signal_wake(&s, IO_OK); /* Nobody waits: no effect, and nothing is kept for later. */
    for (size_t i = 0; i < 100; i++)
        io_signal_wait(&s, &t.io, &c[i].op, tiny_count_done);
    tiny_turn(&t);
    assert_int_equal(c[0].done, 0);
    io_signal_wake(&s, IO_EOF);
    assert_int_equal(c[0].done, 0); /* Not from inside wake. */
    assert_true(cd_list_empty(&s.waiting));
    io_enter(&t.io);
    assert_false(io_turn_end(&t.io, 40));
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(c[i].done, i < 40);
    assert_true(io_turn_end(&t.io, 100));
    io_leave(&t.io);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(c[i].done, 1);
        assert_int_equal(c[i].status, IO_EOF);
    }
    tiny_deinit(&t);
}

static void test_cancel_takes_one_waiter_out(void **state)
{
    struct tiny t;
    struct io_signal s;
    struct tiny_count c[3] = {0};
    (void)state;
    tiny_init(&t);
    io_signal_init(&s);
    for (size_t i = 0; i < 3; i++)
        io_signal_wait(&s, &t.io, &c[i].op, tiny_count_done);
    io_cancel(&c[1].op);
    io_signal_wake(&s, IO_OK);
    io_cancel(&c[2].op); /* Woken already: too late. */
    tiny_turn(&t);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(c[i].done, 1);
        assert_int_equal(c[i].status, i == 1 ? IO_CANCELED : IO_OK);
    }
    io_signal_wake(&s, IO_OK);
    tiny_turn(&t);
    assert_int_equal(c[0].done, 1);
    tiny_deinit(&t);
}

struct again {
    struct tiny *t;
    struct io_signal *s;
    struct io_op op;
    unsigned seen;
    bool last;
};

static void wait_again_done(struct io_op *op, int status)
{
    struct again *a = CD_CONTAINER(op, struct again, op);
    CHECK_INT(status, IO_OK);
    a->seen++;
    if (!a->last)
        io_signal_wait(a->s, &a->t->io, op, wait_again_done);
}

static void test_who_waits_again_in_done_waits_for_the_next_wake(void **state)
{
    struct tiny t;
    struct io_signal s;
    (void)state;
    tiny_init(&t);
    io_signal_init(&s);
    struct again a = {.t = &t, .s = &s};
    io_signal_wait(&s, &t.io, &a.op, wait_again_done);
    for (unsigned i = 1; i <= 5; i++) {
        io_signal_wake(&s, IO_OK);
        tiny_turn(&t);
        assert_int_equal(a.seen, i);
    }
    a.last = true;
    io_signal_wake(&s, IO_OK);
    tiny_turn(&t);
    assert_int_equal(a.seen, 6);
    tiny_deinit(&t);
}

struct relay {
    struct io_signal *next;
    struct tiny_count *watch;
    struct io_op op;
};

static void relay_done(struct io_op *op, int status)
{
    struct relay *r = CD_CONTAINER(op, struct relay, op);
    unsigned before = r->watch->done;
    io_signal_wake(r->next, status);
    CHECK_INT(r->watch->done, before);
}

static void test_a_callback_may_wake_another_signal(void **state)
{
    struct tiny t;
    struct io_signal first, second;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    io_signal_init(&first);
    io_signal_init(&second);
    struct relay r = {.next = &second, .watch = &c};
    io_signal_wait(&first, &t.io, &r.op, relay_done);
    io_signal_wait(&second, &t.io, &c.op, tiny_count_done);
    io_signal_wake(&first, IO_OK);
    tiny_turn(&t); /* Both in one turn. */
    assert_int_equal(c.done, 1);
    assert_int_equal(c.status, IO_OK);
    tiny_deinit(&t);
}

struct mutual {
    struct io_signal mine, other;
    unsigned seen;
    struct tiny *t;
};

static void ping(void *arg)
{
    struct mutual *m = arg;
    for (unsigned i = 0; i < 1000; i++) {
        struct io_op op = {0};
        io_signal_wait(&m->mine, &m->t->io, &op, NULL);
        io_signal_wake(&m->other, IO_OK);
        CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
        m->seen++;
    }
}

static void pong(void *arg)
{
    struct mutual *m = arg;
    for (unsigned i = 0; i < 1000; i++) {
        struct io_op op = {0};
        io_signal_wait(&m->other, &m->t->io, &op, NULL);
        CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
        io_signal_wake(&m->mine, IO_OK);
    }
}

static void test_two_fibers_play_ping_pong(void **state)
{
    struct tiny t;
    struct mutual m = {.t = &t};
    (void)state;
    tiny_init(&t);
    io_signal_init(&m.mine);
    io_signal_init(&m.other);
    (void)io_spawn(&t.io, "pong", pong, &m);
    (void)io_spawn(&t.io, "ping", ping, &m);
    tiny_run(&t);
    assert_int_equal(m.seen, 1000);
    assert_int_equal(t.io.fibers, 0);
    tiny_deinit(&t);
}

CD_TESTS(signal, cmocka_unit_test(test_one_wake_ends_all_that_wait_in_order),
         cmocka_unit_test(test_cancel_takes_one_waiter_out),
         cmocka_unit_test(test_who_waits_again_in_done_waits_for_the_next_wake),
         cmocka_unit_test(test_a_callback_may_wake_another_signal),
         cmocka_unit_test(test_two_fibers_play_ping_pong))
