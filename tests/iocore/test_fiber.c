/* Fibers: starting, order, stacks, and what a backend may do with them. */
#include "iocore/tiny.h"
#include "support/death.h"

#include <string.h>

struct flow {
    struct tiny *t;
    struct io_op op;
    unsigned step;
    int status;
    struct io_fiber *self;
};

static void flow_await(void *arg)
{
    struct flow *f = arg;
    f->step++;
    f->self = io_fiber_current();
    CHECK(io_current() == &f->t->io);
    tiny_start(f->t, &f->op, NULL);
    f->status = io_await(&f->op, IO_FOREVER);
    CHECK(io_fiber_current() == f->self);
    f->step++;
}

static void test_a_fiber_starts_at_the_next_turn_and_waits_for_its_op(void **state)
{
    struct tiny t;
    struct flow f = {.t = &t};
    (void)state;
    tiny_init(&t);
    struct io_fiber *fiber = io_spawn(&t.io, "takeover", flow_await, &f);
    assert_string_equal(io_fiber_name(fiber), "takeover");
    assert_int_equal(f.step, 0);
    assert_int_equal(t.wakes, 1); /* A sleeping loop hears of it. */
    tiny_turn(&t);
    assert_int_equal(f.step, 1);
    assert_ptr_equal(f.self, fiber);
    assert_null(io_fiber_current());
    assert_true(io_busy(&f.op));
    tiny_turn(&t);
    assert_int_equal(f.step, 1);
    tiny_complete(&t, &f.op, IO_RESET);
    assert_int_equal(f.step, 2);
    assert_int_equal(f.status, IO_RESET);
    assert_int_equal(t.io.fibers, 0);
    tiny_deinit(&t);
}

static void flow_await_both(void *arg)
{
    struct flow *f = arg;
    struct io_op first = {0};
    tiny_start(f[0].t, &first, NULL);
    f[0].self = (struct io_fiber *)&first;
    tiny_start(f[0].t, &f[1].op, NULL);
    CHECK_INT(io_await(&f[1].op, IO_FOREVER), IO_OK);
    f->step = 1;
    CHECK(!io_busy(&first));
    CHECK_INT(io_await(&first, IO_FOREVER), IO_EOF);
    CHECK_INT(io_await(&first, 0), IO_EOF); /* Also when the deadline is long past. */
    f->step = 2;
}

static void test_an_op_that_ended_meanwhile_does_not_suspend(void **state)
{
    struct tiny t;
    struct flow f[2] = {{.t = &t}};
    (void)state;
    tiny_init(&t);
    (void)io_spawn(&t.io, "both", flow_await_both, f);
    tiny_turn(&t);
    tiny_complete(&t, (struct io_op *)f[0].self, IO_EOF);
    assert_int_equal(f[0].step, 0);
    tiny_complete(&t, &f[1].op, IO_OK);
    assert_int_equal(f[0].step, 2);
    tiny_deinit(&t);
}

static void flow_defer(void *arg)
{
    struct flow *f = arg;
    for (int i = 0; i < 100; i++) {
        io_defer(&f->op, &f->t->io, i, NULL);
        CHECK(io_busy(&f->op)); /* Not from inside submit. */
        CHECK_INT(io_await(&f->op, IO_FOREVER), i);
    }
    f->step = 1;
}

static void test_nothing_completes_from_inside_submit(void **state)
{
    struct tiny t;
    struct flow f = {.t = &t};
    (void)state;
    tiny_init(&t);
    (void)io_spawn(&t.io, "defer", flow_defer, &f);
    tiny_turn(&t);
    assert_int_equal(f.step, 1);
    tiny_deinit(&t);
}

/* Each spawns the next and waits until it has ended. */
struct chain {
    struct tiny *t;
    struct io_signal ended;
    struct chain *next;
    unsigned *order;
    unsigned depth, sum;
};

static void flow_chain(void *arg)
{
    struct chain *c = arg;
    c->depth = (*c->order)++;
    if (c->next != NULL) {
        struct io_op op = {0};
        (void)io_spawn(&c->t->io, "link", flow_chain, c->next);
        CHECK_INT(c->next->depth, 0); /* It starts at the next turn, not now. */
        io_signal_wait(&c->next->ended, &c->t->io, &op, NULL);
        CHECK_INT(io_await(&op, IO_FOREVER), IO_OK);
        c->sum = c->next->sum;
    }
    c->sum += c->depth;
    io_signal_wake(&c->ended, IO_OK);
}

static void test_fibers_spawn_fibers(void **state)
{
    static struct chain c[200];
    struct tiny t;
    unsigned order = 1;
    (void)state;
    tiny_init(&t);
    for (size_t i = 0; i < CD_COUNT(c); i++) {
        c[i] = (struct chain){.t = &t, .next = i + 1 < CD_COUNT(c) ? &c[i + 1] : NULL, .order = &order};
        io_signal_init(&c[i].ended);
    }
    (void)io_spawn(&t.io, "link", flow_chain, &c[0]);
    tiny_run(&t);
    assert_int_equal(c[0].sum, 200 * 201 / 2);
    assert_int_equal(t.io.fibers, 0);
    tiny_deinit(&t);
}

/* ---- Stacks ---- */

struct stacks {
    uintptr_t at[8];
    unsigned count, ran;
};

static void flow_note_stack(void *arg)
{
    struct stacks *s = arg;
    uintptr_t block = (uintptr_t)__builtin_frame_address(0) >> 18;
    unsigned i = 0;
    while (i < s->count && s->at[i] != block)
        i++;
    if (i == s->count && s->count < CD_COUNT(s->at))
        s->at[s->count++] = block;
    s->ran++;
}

static void test_10000_fibers_in_sequence_share_a_stack(void **state)
{
    struct tiny t;
    struct stacks s = {.count = 0};
    (void)state;
    tiny_init(&t);
    for (unsigned i = 0; i < 10000; i++) {
        (void)io_spawn(&t.io, "short", flow_note_stack, &s);
        tiny_turn(&t);
    }
    assert_int_equal(s.ran, 10000);
    assert_int_equal(s.count, 1);
    assert_int_equal(t.io.spares, 1);
    tiny_deinit(&t);
    assert_int_equal(t.io.spares, 0);
}

static void test_few_stacks_are_kept_after_a_crowd(void **state)
{
    struct tiny t;
    struct stacks s = {.count = 0};
    (void)state;
    tiny_init(&t);
    for (unsigned i = 0; i < 2000; i++)
        (void)io_spawn(&t.io, "crowd", flow_note_stack, &s);
    assert_int_equal(t.io.fibers, 2000);
    tiny_turn(&t);
    assert_int_equal(s.ran, 2000);
    assert_true(s.count > 1);
    assert_int_equal(t.io.fibers, 0);
    assert_int_equal(t.io.spares, 32);
    tiny_deinit(&t);
}

/* Whatever the optimizer thinks, all of the array is needed. */
#define KEEP(array) __asm__ volatile("" : : "r"(array) : "memory")

__attribute__((noinline)) static unsigned use_stack(unsigned frames)
{
    char room[1024];
    memset(room, (int)frames, sizeof room);
    KEEP(room);
    unsigned below = frames == 0 ? 0 : use_stack(frames - 1);
    KEEP(room);
    CHECK_INT(room[0], (char)frames);
    CHECK_INT(room[1023], (char)frames);
    return below + 1;
}

static void flow_use_stack(void *arg)
{
    struct flow *f = arg;
    CHECK_INT(use_stack(150), 151);
    io_defer(&f->op, &f->t->io, IO_OK, NULL);
    CHECK_INT(io_await(&f->op, IO_FOREVER), IO_OK);
    CHECK_INT(use_stack(150), 151);
    f->step = 1;
}

static void test_150_kilobytes_of_stack_may_be_used(void **state)
{
    struct tiny t;
    (void)state;
    tiny_init(&t);
    for (int i = 0; i < 3; i++) { /* The second and third on the stack of the first. */
        struct flow f = {.t = &t};
        (void)io_spawn(&t.io, "deep", flow_use_stack, &f);
        tiny_turn(&t);
        assert_int_equal(f.step, 1);
    }
    assert_int_equal(t.io.spares, 1);
    tiny_deinit(&t);
}

static void flow_use_too_much(void *arg)
{
    (void)arg;
    (void)use_stack(1000);
}

static void overflow_a_stack(void)
{
    struct tiny t;
    tiny_init(&t);
    /* Stacks above and below, so that running over would hit one of them. */
    for (int i = 0; i < 3; i++)
        (void)io_spawn(&t.io, "too deep", flow_use_too_much, NULL);
    (void)signal(SIGSEGV, SIG_DFL);
    tiny_turn(&t);
}

static void test_a_stack_that_runs_over_stops_the_process(void **state)
{
    char said[8192];
    (void)state;
    int ended = death_run(overflow_a_stack, said, sizeof said);
    bool by_signal = WIFSIGNALED(ended) && (WTERMSIG(ended) == SIGSEGV || WTERMSIG(ended) == SIGBUS);
    bool by_sanitizer = WIFEXITED(ended) && WEXITSTATUS(ended) != 0 && said[0] != '\0';
    if (!by_signal && !by_sanitizer)
        fail_msg("status %d, said: %s", ended, said);
}

/* One large frame near the end of the stack must not land behind the guard, in somebody else's memory. */
__attribute__((noinline)) static unsigned leap(void)
{
    __attribute__((uninitialized)) char room[40000]; /* Touched at its far end only. */
    room[0] = 1;
    KEEP(room);
    return (unsigned)room[0];
}

/* Uses the stack up to 20 of its 256 kilobytes, then leaps. */
__attribute__((noinline)) static unsigned use_and_leap(uintptr_t top)
{
    char room[512];
    room[0] = 1;
    KEEP(room);
    unsigned n = top - (uintptr_t)__builtin_frame_address(0) > (256 - 20) << 10 ? leap() : use_and_leap(top);
    KEEP(room);
    return n + (unsigned)room[0];
}

static void flow_leap(void *arg)
{
    (void)arg;
    (void)use_and_leap((uintptr_t)__builtin_frame_address(0));
}

static void flow_rest(void *arg)
{
    (void)arg;
}

static void leap_over_the_guard(void)
{
    struct tiny t;
    tiny_init(&t);
    (void)io_spawn(&t.io, "leap", flow_leap, NULL);
    for (int i = 0; i < 4; i++) /* Their stacks lie below the first one's guard. */
        (void)io_spawn(&t.io, "rest", flow_rest, NULL);
    (void)signal(SIGSEGV, SIG_DFL);
    tiny_turn(&t);
}

static void test_a_large_frame_does_not_jump_over_the_guard(void **state)
{
    char said[8192];
    (void)state;
#ifdef DEATH_SANITIZED
    skip(); /* The sanitizers keep locals elsewhere. */
#endif
    int ended = death_run(leap_over_the_guard, said, sizeof said);
    if (ended == 0)
        fail_msg("wrote past the end of its stack unseen");
}

/* ---- What the backend sees ---- */

static struct {
    struct io_fiber *ready[8];
    unsigned count;
} heard;

static void hear(struct io *io, struct io_fiber *f)
{
    (void)io;
    CHECK(heard.count < CD_COUNT(heard.ready));
    heard.ready[heard.count++] = f;
}

struct named {
    char name;
    struct cd_buf *said;
    struct io_op op;
    struct io *io;
};

static void flow_say(void *arg)
{
    struct named *n = arg;
    cd_buf_add_byte(n->said, n->name);
    io_defer(&n->op, n->io, IO_OK, NULL);
    CHECK_INT(io_await(&n->op, IO_FOREVER), IO_OK);
    cd_buf_add_byte(n->said, (char)(n->name - 'a' + 'A'));
}

static void spawn_three(struct tiny *t, struct named *n, struct cd_buf *said)
{
    for (size_t i = 0; i < 3; i++) {
        n[i] = (struct named){.name = (char)('a' + i), .said = said, .io = &t->io};
        (void)io_spawn(&t->io, "say", flow_say, &n[i]);
    }
}

static void test_fibers_run_in_the_order_they_were_woken(void **state)
{
    struct tiny t;
    struct named n[3];
    struct cd_buf said = {0};
    (void)state;
    tiny_init(&t);
    spawn_three(&t, n, &said);
    tiny_turn(&t);
    assert_str_is(cd_buf_str(&said), "abcABC");
    cd_buf_deinit(&said);
    tiny_deinit(&t);
}

static void test_a_backend_may_choose_the_order_itself(void **state)
{
    struct tiny t;
    struct named n[3];
    struct cd_buf said = {0};
    (void)state;
    tiny_init(&t);
    t.io.ready_hook = hear;
    heard.count = 0;
    spawn_three(&t, n, &said);
    assert_int_equal(heard.count, 3);
    io_enter(&t.io);
    for (unsigned i = 3; i-- > 0;)
        io_fiber_resume(heard.ready[i]);
    assert_str_is(cd_buf_str(&said), "cba");
    assert_false(io_fiber_run_one(&t.io)); /* All wait. */
    heard.count = 0;
    for (size_t i = 0; i < 3; i++)
        io_complete(&n[(i + 1) % 3].op, IO_OK);
    assert_int_equal(heard.count, 3);
    assert_str_is(cd_buf_str(&said), "cba"); /* Woken, not resumed. */
    for (unsigned i = 3; i-- > 0;)
        io_fiber_resume(heard.ready[i]);
    assert_str_is(cd_buf_str(&said), "cbaACB");
    assert_true(io_turn_end(&t.io, 0));
    io_leave(&t.io);
    cd_buf_deinit(&said);
    tiny_deinit(&t);
}

static void test_a_turn_is_bounded_for_fibers_too(void **state)
{
    struct tiny t;
    struct named n[3];
    struct cd_buf said = {0};
    (void)state;
    tiny_init(&t);
    spawn_three(&t, n, &said);
    io_enter(&t.io);
    assert_false(io_turn_end(&t.io, 2));
    assert_str_is(cd_buf_str(&said), "ab");
    assert_false(io_turn_end(&t.io, 1));
    assert_str_is(cd_buf_str(&said), "abc");
    assert_false(io_turn_end(&t.io, 1)); /* One completion, which wakes a. */
    assert_str_is(cd_buf_str(&said), "abc");
    assert_true(io_turn_end(&t.io, 5));
    assert_str_is(cd_buf_str(&said), "abcABC");
    io_leave(&t.io);
    cd_buf_deinit(&said);
    tiny_deinit(&t);
}

static void said_done(struct io_op *op, int status)
{
    struct named *n = CD_CONTAINER(op, struct named, op);
    CHECK_INT(status, IO_OK);
    cd_buf_add_byte(n->said, n->name);
}

/* A woken fiber may use bytes that are lent for this turn only. */
static void test_woken_fibers_run_before_deferred_completions(void **state)
{
    struct tiny t;
    struct flow f = {.t = &t};
    struct cd_buf said = {0};
    struct named later = {.name = 'd', .said = &said};
    (void)state;
    tiny_init(&t);
    (void)io_spawn(&t.io, "reader", flow_await, &f);
    tiny_turn(&t);
    io_defer(&later.op, &t.io, IO_OK, said_done);
    io_enter(&t.io);
    io_complete(&f.op, IO_OK);
    assert_false(io_turn_end(&t.io, 1));
    assert_int_equal(f.step, 2);
    assert_int_equal(said.len, 0);
    assert_true(io_turn_end(&t.io, 1));
    assert_str_is(cd_buf_str(&said), "d");
    io_leave(&t.io);
    cd_buf_deinit(&said);
    tiny_deinit(&t);
}

static void list_fiber(void *arg, const char *name, uint64_t op_serial)
{
    cd_buf_addf(arg, "%s:%llu ", name, (unsigned long long)op_serial);
}

static void test_the_living_fibers_are_listed_with_what_they_await(void **state)
{
    struct tiny t;
    struct flow f[2] = {{.t = &t}, {.t = &t}};
    struct cd_buf said = {0};
    (void)state;
    tiny_init(&t);
    (void)io_spawn(&t.io, "drain", flow_await, &f[0]);
    (void)io_spawn(&t.io, "renew", flow_await, &f[1]);
    io_fibers_each(&t.io, list_fiber, &said);
    tiny_turn(&t);
    io_fibers_each(&t.io, list_fiber, &said);
    tiny_complete(&t, &f[0].op, IO_OK);
    io_fibers_each(&t.io, list_fiber, &said);
    tiny_complete(&t, &f[1].op, IO_OK);
    io_fibers_each(&t.io, list_fiber, &said);
    assert_str_is(cd_buf_str(&said), "drain:0 renew:0 drain:1 renew:2 renew:2 ");
    cd_buf_deinit(&said);
    tiny_deinit(&t);
}

/* ---- Mistakes ---- */

static void in_a_fiber(void (*flow)(void *arg))
{
    static struct flow f;
    static struct tiny t;
    tiny_init(&t);
    f = (struct flow){.t = &t};
    (void)io_spawn(&t.io, "mistake", flow, &f);
    tiny_turn(&t);
    tiny_turn(&t);
}

static void flow_complete(void *arg)
{
    struct flow *f = arg;
    tiny_start(f->t, &f->op, tiny_count_done);
    io_complete(&f->op, IO_OK);
}

static void complete_in_a_fiber(void)
{
    in_a_fiber(flow_complete);
}

static void flow_await_never_begun(void *arg)
{
    struct io_op op = {0};
    (void)arg;
    (void)io_await(&op, IO_FOREVER);
}

static void await_what_was_never_begun(void)
{
    in_a_fiber(flow_await_never_begun);
}

static void flow_await_with_done(void *arg)
{
    struct flow *f = arg;
    tiny_start(f->t, &f->op, tiny_count_done);
    (void)io_await(&f->op, IO_FOREVER);
}

static void await_what_has_a_callback(void)
{
    in_a_fiber(flow_await_with_done);
}

static void flow_await_again(void *arg)
{
    struct flow *f = arg;
    (void)io_await(&f->op, IO_FOREVER);
}

static void flow_await_and_share(void *arg)
{
    struct flow *f = arg;
    tiny_start(f->t, &f->op, NULL);
    (void)io_spawn(&f->t->io, "second", flow_await_again, f);
    (void)io_await(&f->op, IO_FOREVER);
}

static void await_by_two(void)
{
    in_a_fiber(flow_await_and_share);
}

static void await_outside(void)
{
    struct tiny t;
    struct io_op op = {0};
    tiny_init(&t);
    tiny_start(&t, &op, NULL);
    io_enter(&t.io);
    (void)io_await(&op, IO_FOREVER);
}

static void flow_turn(void *arg)
{
    struct flow *f = arg;
    (void)io_turn_end(&f->t->io, 10);
}

static void turn_in_a_fiber(void)
{
    in_a_fiber(flow_turn);
}

static void resume_one_that_waits(void)
{
    struct tiny t;
    struct flow f = {.t = &t};
    tiny_init(&t);
    struct io_fiber *fiber = io_spawn(&t.io, "waits", flow_await, &f);
    tiny_turn(&t);
    io_enter(&t.io);
    io_fiber_resume(fiber);
}

static void deinit_with_a_fiber(void)
{
    struct tiny t;
    struct flow f = {.t = &t};
    tiny_init(&t);
    (void)io_spawn(&t.io, "left", flow_await, &f);
    io_deinit(&t.io);
}

static void test_broken_rules_stop_the_process(void **state)
{
    (void)state;
    assert_dies(complete_in_a_fiber, "io_complete: assertion failed: io->running == NULL");
    assert_dies(await_what_was_never_begun, "op->serial != 0");
    assert_dies(await_what_has_a_callback, "op->done == NULL");
    assert_dies(await_by_two, "op->waiter == NULL");
    assert_dies(await_outside, "io_await: assertion failed");
    assert_dies(turn_in_a_fiber, "io_turn_end: assertion failed");
    assert_dies(resume_one_that_waits, "io_fiber_resume: assertion failed");
    assert_dies(deinit_with_a_fiber, "io_deinit: assertion failed: io->fibers == 0");
}

CD_TESTS(fiber, cmocka_unit_test(test_a_fiber_starts_at_the_next_turn_and_waits_for_its_op),
         cmocka_unit_test(test_an_op_that_ended_meanwhile_does_not_suspend),
         cmocka_unit_test(test_nothing_completes_from_inside_submit),
         cmocka_unit_test(test_fibers_spawn_fibers),
         cmocka_unit_test(test_10000_fibers_in_sequence_share_a_stack),
         cmocka_unit_test(test_few_stacks_are_kept_after_a_crowd),
         cmocka_unit_test(test_150_kilobytes_of_stack_may_be_used),
         cmocka_unit_test(test_a_stack_that_runs_over_stops_the_process),
         cmocka_unit_test(test_a_large_frame_does_not_jump_over_the_guard),
         cmocka_unit_test(test_fibers_run_in_the_order_they_were_woken),
         cmocka_unit_test(test_a_backend_may_choose_the_order_itself),
         cmocka_unit_test(test_a_turn_is_bounded_for_fibers_too),
         cmocka_unit_test(test_woken_fibers_run_before_deferred_completions),
         cmocka_unit_test(test_the_living_fibers_are_listed_with_what_they_await),
         cmocka_unit_test(test_broken_rules_stop_the_process))
