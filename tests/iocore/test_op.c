/* The life of an operation: begun, completed exactly once, never from inside submit or cancel. */
#include "iocore/tiny.h"
#include "support/death.h"

static void test_a_zeroed_op_is_idle_and_cancel_of_it_does_nothing(void **state)
{
    struct io_op op = {0};
    (void)state;
    assert_false(io_busy(&op));
    io_cancel(&op);
    assert_false(io_busy(&op));
    assert_false(op.canceling);
}

static void test_an_op_completes_once_and_is_idle_in_done(void **state)
{
    struct tiny t;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    assert_true(io_busy(&c.op));
    assert_int_equal(t.io.busy, 1);
    tiny_turn(&t);
    assert_int_equal(c.done, 0);
    tiny_complete(&t, &c.op, IO_RESET);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.status, IO_RESET);
    assert_int_equal(t.io.busy, 0);
    tiny_turn(&t);
    assert_int_equal(c.done, 1);
    c.op.impl = &t; /* Nothing of one life is seen in the next. */
    tiny_start(&t, &c.op, tiny_count_done);
    assert_int_equal(c.op.status, 0);
    assert_null(c.op.impl);
    assert_false(c.op.canceling);
    tiny_complete(&t, &c.op, IO_OK);
    tiny_deinit(&t);
}

static void test_serials_count_the_ops_of_a_loop(void **state)
{
    struct tiny t;
    struct tiny_count c[3] = {0};
    (void)state;
    tiny_init(&t);
    for (size_t i = 0; i < 3; i++) {
        tiny_start(&t, &c[i].op, tiny_count_done);
        assert_int_equal(c[i].op.serial, i + 1);
    }
    size_t i = 0;
    for (struct cd_link *k = cd_list_first(&t.io.ops); k != NULL; k = cd_list_next(&t.io.ops, k))
        assert_ptr_equal(CD_CONTAINER(k, struct io_op, all), &c[i++].op);
    assert_int_equal(i, 3);
    for (i = 3; i-- > 0;)
        tiny_complete(&t, &c[i].op, IO_OK);
    tiny_start(&t, &c[0].op, tiny_count_done);
    assert_int_equal(c[0].op.serial, 4);
    tiny_complete(&t, &c[0].op, IO_OK);
    tiny_deinit(&t);
}

static void test_a_deferred_op_completes_at_the_next_turn(void **state)
{
    struct tiny t;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    io_defer(&c.op, &t.io, IO_EOF, tiny_count_done);
    assert_int_equal(c.done, 0);
    assert_true(io_busy(&c.op));
    tiny_turn(&t);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.status, IO_EOF);
    tiny_deinit(&t);
}

static void test_cancel_comes_later_and_once(void **state)
{
    struct tiny t;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    io_cancel(&c.op);
    assert_int_equal(c.done, 0);
    assert_true(io_busy(&c.op));
    assert_true(c.op.canceling);
    io_cancel(&c.op);
    io_cancel(&c.op);
    assert_int_equal(t.cancels, 1);
    tiny_turn(&t);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.status, IO_CANCELED);
    assert_false(c.op.canceling);
    io_cancel(&c.op);
    tiny_turn(&t);
    assert_int_equal(c.done, 1);
    tiny_deinit(&t);
}

static void test_a_result_that_came_first_survives_the_cancel(void **state)
{
    struct tiny t;
    struct tiny_count deferred = {0}, deaf = {0};
    (void)state;
    tiny_init(&t);
    io_defer(&deferred.op, &t.io, IO_OK, tiny_count_done);
    io_cancel(&deferred.op);
    tiny_start_deaf(&t, &deaf.op, tiny_count_done);
    io_cancel(&deaf.op);
    io_cancel(&deaf.op);
    assert_int_equal(t.cancels, 1);
    tiny_turn(&t);
    assert_int_equal(deferred.done, 1);
    assert_int_equal(deferred.status, IO_OK);
    assert_int_equal(deaf.done, 0);
    tiny_complete(&t, &deaf.op, IO_OK);
    assert_int_equal(deaf.done, 1);
    assert_int_equal(deaf.status, IO_OK);
    tiny_deinit(&t);
}

static void test_a_backend_may_complete_what_it_had_put_off(void **state)
{
    struct tiny t;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    io_cancel(&c.op); /* Now on the deferred list. */
    tiny_complete(&t, &c.op, IO_OK);
    assert_int_equal(c.done, 1);
    assert_int_equal(c.status, IO_OK);
    tiny_turn(&t);
    assert_int_equal(c.done, 1);
    tiny_deinit(&t);
}

/* Submits itself again in done until its count is down. */
struct again {
    struct tiny *t;
    struct io_op op;
    unsigned left, seen;
};

static void again_done(struct io_op *op, int status)
{
    struct again *a = CD_CONTAINER(op, struct again, op);
    unsigned before = a->seen++;
    CHECK_INT(status, IO_OK);
    if (a->left-- > 1) {
        io_defer(op, &a->t->io, IO_OK, again_done);
        CHECK_INT(a->seen, before + 1); /* Not from inside submit. */
    }
}

static void test_an_op_may_be_submitted_again_in_done(void **state)
{
    struct tiny t;
    struct again a = {.t = &t, .left = 1000};
    (void)state;
    tiny_init(&t);
    io_defer(&a.op, &t.io, IO_OK, again_done);
    tiny_turn(&t);
    assert_int_equal(a.seen, 1000);
    tiny_deinit(&t);
}

static void free_done(struct io_op *op, int status)
{
    (void)status;
    cd_free(CD_CONTAINER(op, struct tiny_count, op));
}

static void test_an_op_may_be_freed_in_done(void **state)
{
    struct tiny t;
    (void)state;
    tiny_init(&t);
    for (int i = 0; i < 3; i++) {
        struct tiny_count *c = cd_new(struct tiny_count);
        if (i == 0) {
            io_defer(&c->op, &t.io, IO_OK, free_done);
        } else {
            tiny_start(&t, &c->op, free_done);
            io_cancel(&c->op);
        }
    }
    tiny_turn(&t);
    assert_int_equal(t.io.busy, 0);
    tiny_deinit(&t);
}

struct pair {
    struct tiny_count *other;
    struct io_op op;
};

static void cancel_other_done(struct io_op *op, int status)
{
    struct pair *p = CD_CONTAINER(op, struct pair, op);
    (void)status;
    unsigned before = p->other->done;
    io_cancel(&p->other->op);
    CHECK_INT(p->other->done, before); /* Not from inside cancel, inside a callback neither. */
}

static void test_done_may_cancel_another_op_of_the_same_turn(void **state)
{
    struct tiny t;
    (void)state;
    for (int deferred = 0; deferred < 2; deferred++) {
        struct tiny_count c = {0};
        struct pair p = {.other = &c};
        tiny_init(&t);
        io_defer(&p.op, &t.io, IO_OK, cancel_other_done);
        if (deferred == 1)
            io_defer(&c.op, &t.io, IO_OK, tiny_count_done);
        else
            tiny_start(&t, &c.op, tiny_count_done);
        tiny_turn(&t);
        assert_int_equal(c.done, 1);
        assert_int_equal(c.status, deferred == 1 ? IO_OK : IO_CANCELED);
        tiny_deinit(&t);
    }
}

static void test_a_turn_is_bounded_and_keeps_order(void **state)
{
    struct tiny t;
    struct tiny_count c[10] = {0};
    (void)state;
    tiny_init(&t);
    for (size_t i = 0; i < 10; i++)
        io_defer(&c[i].op, &t.io, IO_OK, tiny_count_done);
    io_enter(&t.io);
    assert_false(io_turn_end(&t.io, 0));
    assert_false(io_turn_end(&t.io, 4));
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(c[i].done, i < 4);
    assert_true(io_turn_end(&t.io, 6)); /* Just enough. */
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(c[i].done, 1);
    assert_true(io_turn_end(&t.io, 0));
    io_leave(&t.io);
    tiny_deinit(&t);
}

static void test_a_sleeping_loop_is_woken_once_per_deferred_op(void **state)
{
    struct tiny t;
    struct tiny_count c[2] = {0};
    (void)state;
    tiny_init(&t);
    io_defer(&c[0].op, &t.io, IO_OK, tiny_count_done);
    assert_int_equal(t.wakes, 1);
    io_enter(&t.io);
    io_defer(&c[1].op, &t.io, IO_OK, tiny_count_done);
    assert_int_equal(t.wakes, 1); /* It is awake. */
    assert_true(io_turn_end(&t.io, 10));
    io_leave(&t.io);
    assert_int_equal(c[0].done + c[1].done, 2);
    tiny_deinit(&t);
}

static struct {
    struct io_op *op;
    int status;
    unsigned calls;
} deferred;

static void defer_hook(struct io *io, struct io_op *op, int status)
{
    CHECK(op->io == io);
    deferred.op = op;
    deferred.status = status;
    deferred.calls++;
}

static void test_the_defer_hook_takes_ops_in_place_of_the_list(void **state)
{
    struct tiny t;
    struct tiny_count c = {0};
    (void)state;
    tiny_init(&t);
    deferred.calls = 0;
    t.io.defer = defer_hook;
    io_defer(&c.op, &t.io, IO_EOF, tiny_count_done);
    assert_int_equal(deferred.calls, 1);
    assert_ptr_equal(deferred.op, &c.op);
    assert_int_equal(deferred.status, IO_EOF);
    assert_int_equal(t.wakes, 0); /* The hook's own affair. */
    tiny_turn(&t);
    assert_int_equal(c.done, 0);
    tiny_complete(&t, &c.op, IO_EOF);
    tiny_start(&t, &c.op, tiny_count_done);
    io_cancel(&c.op);
    assert_int_equal(deferred.calls, 2);
    assert_int_equal(deferred.status, IO_CANCELED);
    tiny_complete(&t, &c.op, IO_CANCELED);
    assert_int_equal(c.done, 2);
    tiny_deinit(&t);
}

static void test_the_current_loop_is_the_one_entered(void **state)
{
    struct tiny t;
    (void)state;
    tiny_init(&t);
    assert_null(io_current());
    io_enter(&t.io);
    io_enter(&t.io);
    assert_ptr_equal(io_current(), &t.io);
    io_leave(&t.io);
    assert_ptr_equal(io_current(), &t.io);
    io_leave(&t.io);
    assert_null(io_current());
    tiny_deinit(&t);
}

static void test_random_below_is_below_and_reaches_everything(void **state)
{
    struct tiny t;
    unsigned seen[5] = {0};
    (void)state;
    tiny_init(&t);
    for (int i = 0; i < 1000; i++)
        seen[io_random_below(&t.io, IO_RAND_JITTER, 5)]++;
    for (size_t i = 0; i < 5; i++)
        assert_true(seen[i] > 100);
    assert_int_equal(io_random_below(&t.io, IO_RAND_ID, 1), 0);
    tiny_deinit(&t);
}

static void submit_busy(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    tiny_start(&t, &c.op, tiny_count_done);
}

static void complete_idle(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    tiny_complete(&t, &c.op, IO_OK);
}

static void complete_twice(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    tiny_complete(&t, &c.op, IO_OK);
    tiny_complete(&t, &c.op, IO_OK);
}

static void complete_outside_the_loop(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    io_complete(&c.op, IO_OK);
}

static void deinit_with_an_op(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    tiny_start(&t, &c.op, tiny_count_done);
    io_deinit(&t.io);
}

static void deinit_with_a_deferred_op(void)
{
    struct tiny t;
    struct tiny_count c = {0};
    tiny_init(&t);
    io_defer(&c.op, &t.io, IO_OK, tiny_count_done);
    io_deinit(&t.io);
}

static void enter_two_loops(void)
{
    struct tiny a, b;
    tiny_init(&a);
    tiny_init(&b);
    io_enter(&a.io);
    io_enter(&b.io);
}

static void leave_without_enter(void)
{
    struct tiny t;
    tiny_init(&t);
    io_leave(&t.io);
}

static void none_of_nothing(void)
{
    struct tiny t;
    tiny_init(&t);
    (void)io_random_below(&t.io, IO_RAND_ID, 0);
}

static void test_broken_rules_stop_the_process(void **state)
{
    (void)state;
    assert_dies(submit_busy, "op->io == NULL");
    assert_dies(complete_idle, "io != NULL");
    assert_dies(complete_twice, "io != NULL");
    assert_dies(complete_outside_the_loop, "io_complete: assertion failed");
    assert_dies(deinit_with_an_op, "io_deinit: assertion failed: io->busy == 0");
    assert_dies(deinit_with_a_deferred_op, "io_deinit: assertion failed: io->busy == 0");
    assert_dies(enter_two_loops, "io_enter: assertion failed");
    assert_dies(leave_without_enter, "io->entered > 0");
    assert_dies(none_of_nothing, "n > 0");
}

CD_TESTS(op, cmocka_unit_test(test_a_zeroed_op_is_idle_and_cancel_of_it_does_nothing),
         cmocka_unit_test(test_an_op_completes_once_and_is_idle_in_done),
         cmocka_unit_test(test_serials_count_the_ops_of_a_loop),
         cmocka_unit_test(test_a_deferred_op_completes_at_the_next_turn),
         cmocka_unit_test(test_cancel_comes_later_and_once),
         cmocka_unit_test(test_a_result_that_came_first_survives_the_cancel),
         cmocka_unit_test(test_a_backend_may_complete_what_it_had_put_off),
         cmocka_unit_test(test_an_op_may_be_submitted_again_in_done),
         cmocka_unit_test(test_an_op_may_be_freed_in_done),
         cmocka_unit_test(test_done_may_cancel_another_op_of_the_same_turn),
         cmocka_unit_test(test_a_turn_is_bounded_and_keeps_order),
         cmocka_unit_test(test_a_sleeping_loop_is_woken_once_per_deferred_op),
         cmocka_unit_test(test_the_defer_hook_takes_ops_in_place_of_the_list),
         cmocka_unit_test(test_the_current_loop_is_the_one_entered),
         cmocka_unit_test(test_random_below_is_below_and_reaches_everything),
         cmocka_unit_test(test_broken_rules_stop_the_process))
