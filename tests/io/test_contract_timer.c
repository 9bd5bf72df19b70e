/* Timers. */
#include "support.h"

#define MANY 500

struct alarm {
    struct io_timer timer;
    struct contract *c;
    uint64_t wanted_ns; /* Not before. */
    unsigned rings;
    int status;
    uint64_t order;
};

struct clockwork {
    struct alarm alarm[MANY];
    uint64_t order;
    struct io_signal rang;
};

static struct clockwork *clockwork_new(struct contract *c)
{
    struct clockwork *w = cd_new(struct clockwork);
    io_signal_init(&w->rang);
    c->arg = w;
    return w;
}

static void alarm_done(struct io_op *op, int status)
{
    struct alarm *a = CD_CONTAINER(op, struct alarm, timer.op);
    struct clockwork *w = a->c->arg;
    CHECK(!io_busy(op));
    if (status == IO_OK)
        CHECK(io_now_ns(a->c->io) >= a->wanted_ns); /* Never early. */
    a->rings++;
    a->status = status;
    a->order = ++w->order;
    io_signal_wake(&w->rang, IO_OK);
}

static void alarm_start(struct contract *c, struct alarm *a, uint64_t after_ns)
{
    a->c = c;
    a->wanted_ns = io_now_ns(c->io) + after_ns;
    io_timer_start(&a->timer, c->io, after_ns, alarm_done);
    CHECK(io_busy(&a->timer.op) && a->rings == 0);
}

static void wait_rings(struct contract *c, unsigned count)
{
    struct clockwork *w = c->arg;
    struct io_op op = {0};
    while (w->order < count) {
        io_signal_wait(&w->rang, c->io, &op, NULL);
        CHECK_INT(await(&op), IO_OK);
    }
}

static void flow_many(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    for (unsigned i = 0; i < MANY; i++)
        alarm_start(c, &w->alarm[i], io_random_below(c->io, IO_RAND_JITTER, IO_MS(30)));
    wait_rings(c, MANY);
    turn(c);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_INT(w->alarm[i].rings, 1);
        CHECK_INT(w->alarm[i].status, IO_OK);
    }
    cd_free(w);
}

static void test_many_timers_ring_once_each_and_never_early(void **state)
{
    (void)state;
    contract_run(flow_many);
}

static void flow_order(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    static const unsigned after_ms[] = {40, 10, 30, 20, 10, 40};
    static const unsigned order[] = {5, 1, 4, 3, 2, 6};
    for (unsigned i = 0; i < CD_COUNT(after_ms); i++)
        alarm_start(c, &w->alarm[i], IO_MS(after_ms[i]));
    wait_rings(c, CD_COUNT(after_ms));
    for (unsigned i = 0; i < CD_COUNT(after_ms); i++) {
        if (contract_keeps_ties())
            CHECK_INT(w->alarm[i].order, order[i]);
        for (unsigned k = 0; k < CD_COUNT(after_ms); k++)
            CHECK(after_ms[i] >= after_ms[k] || w->alarm[i].order < w->alarm[k].order);
    }
    cd_free(w);
}

static void test_timers_ring_by_time_and_equal_ones_as_they_were_started(void **state)
{
    (void)state;
    contract_run(flow_order);
}

static void flow_zero(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    uint64_t now = io_now_ns(c->io);
    alarm_start(c, &w->alarm[0], 0);
    wait_rings(c, 1);
    CHECK_INT(w->alarm[0].status, IO_OK);
    CHECK(io_now_ns(c->io) - now < IO_SEC(10));
    cd_free(w);
}

static void test_a_timer_of_zero_rings_at_the_next_turn(void **state)
{
    (void)state;
    contract_run(flow_zero);
}

static void flow_cancel(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    for (unsigned i = 0; i < MANY; i++)
        alarm_start(c, &w->alarm[i],
                    i % 3 == 0 ? 0 : IO_MS(5) + io_random_below(c->io, IO_RAND_JITTER, IO_SEC(3600)));
    for (unsigned i = 0; i < MANY; i++) {
        io_cancel(&w->alarm[i].timer.op);
        io_cancel(&w->alarm[i].timer.op); /* Twice is once. */
        CHECK_INT(w->alarm[i].rings, 0);
        CHECK(io_busy(&w->alarm[i].timer.op));
    }
    wait_rings(c, MANY);
    turn(c);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK_INT(w->alarm[i].rings, 1);
        /* Those of zero were done already, only not told. */
        CHECK(w->alarm[i].status == IO_CANCELED || (i % 3 == 0 && w->alarm[i].status == IO_OK));
        io_cancel(&w->alarm[i].timer.op); /* Idle: no effect. */
    }
    turn(c);
    CHECK_INT(w->order, MANY);
    cd_free(w);
}

static void test_canceled_timers_end_once_and_not_inside_cancel(void **state)
{
    (void)state;
    contract_run(flow_cancel);
}

static void cancel_others_done(struct io_op *op, int status)
{
    struct alarm *a = CD_CONTAINER(op, struct alarm, timer.op);
    struct clockwork *w = a->c->arg;
    alarm_done(op, status);
    for (unsigned i = 1; i < 10; i++)
        io_cancel(&w->alarm[i].timer.op);
}

static void flow_cancel_due(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    /* All are due at once; the first one cancels the others. */
    w->alarm[0].c = c;
    io_timer_start(&w->alarm[0].timer, c->io, IO_MS(1), cancel_others_done);
    for (unsigned i = 1; i < 10; i++)
        alarm_start(c, &w->alarm[i], IO_MS(1));
    wait_rings(c, 10);
    for (unsigned i = 1; i < 10; i++) {
        CHECK_INT(w->alarm[i].rings, 1);
        CHECK(w->alarm[i].status == IO_CANCELED || w->alarm[i].status == IO_OK);
    }
    cd_free(w);
}

static void test_a_timer_may_cancel_others_that_are_due_too(void **state)
{
    (void)state;
    contract_run(flow_cancel_due);
}

static void again_done(struct io_op *op, int status)
{
    struct alarm *a = CD_CONTAINER(op, struct alarm, timer.op);
    struct clockwork *w = a->c->arg;
    CHECK_INT(status, IO_OK);
    w->order++;
    if (++a->rings < 50)
        io_timer_start(&a->timer, a->c->io, a->rings % 2 == 0 ? 0 : 1000, again_done);
    io_signal_wake(&w->rang, IO_OK);
}

static void flow_again(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    w->alarm[0].c = c;
    io_timer_start(&w->alarm[0].timer, c->io, 0, again_done);
    wait_rings(c, 50);
    turn(c);
    CHECK_INT(w->alarm[0].rings, 50);
    cd_free(w);
}

static void test_a_timer_may_be_started_again_in_its_done(void **state)
{
    (void)state;
    contract_run(flow_again);
}

static void flow_far(struct contract *c)
{
    struct clockwork *w = clockwork_new(c);
    alarm_start(c, &w->alarm[0], 1);
    io_timer_start(&w->alarm[1].timer, c->io, UINT64_MAX, alarm_done); /* Never: no overflow to the past. */
    w->alarm[1].c = c;
    wait_rings(c, 1);
    CHECK_INT(io_sleep(c->io, IO_MS(5)), IO_OK);
    CHECK(io_busy(&w->alarm[1].timer.op));
    io_cancel(&w->alarm[1].timer.op);
    wait_rings(c, 2);
    CHECK_INT(w->alarm[1].status, IO_CANCELED);
    cd_free(w);
}

static void test_the_farthest_timer_does_not_ring(void **state)
{
    (void)state;
    contract_run(flow_far);
}

CD_TESTS(contract_timer, cmocka_unit_test(test_many_timers_ring_once_each_and_never_early),
         cmocka_unit_test(test_timers_ring_by_time_and_equal_ones_as_they_were_started),
         cmocka_unit_test(test_a_timer_of_zero_rings_at_the_next_turn),
         cmocka_unit_test(test_canceled_timers_end_once_and_not_inside_cancel),
         cmocka_unit_test(test_a_timer_may_cancel_others_that_are_due_too),
         cmocka_unit_test(test_a_timer_may_be_started_again_in_its_done),
         cmocka_unit_test(test_the_farthest_timer_does_not_ring))
