/* A node: threads, the common end, signals, work from outside. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "node_help.h"

struct presence {
    struct io_real *node;
    atomic_uint entered, wrong_thread;
    pthread_t main;
};

static void count_entry(struct io *io, void *arg)
{
    struct presence *p = arg;
    bool is_main = pthread_equal(p->main, pthread_self()) != 0;
    if (is_main != (io_loop_index(io) == 0) || io_current() != io)
        atomic_fetch_add(&p->wrong_thread, 1);
    if (atomic_fetch_add(&p->entered, 1) + 1 == io_loop_count(io))
        io_real_stop(p->node);
}

static void test_each_loop_enters_once_on_a_thread_of_its_own(void **state)
{
    (void)state;
    for (unsigned shards = 0; shards < 7; shards += 3) {
        struct presence p = {.main = pthread_self()};
        p.node = io_real_new(&(struct io_real_opts){.shards = shards, .pin = true, .log_fd = -1});
        assert_int_equal(io_real_loops(p.node), shards + 1);
        io_real_run(p.node, count_entry, &p);
        assert_int_equal(atomic_load(&p.entered), shards + 1);
        assert_int_equal(atomic_load(&p.wrong_thread), 0);
        io_real_free(p.node);
    }
}

static void no_entry(struct io *io, void *arg)
{
    (void)io;
    (void)arg;
}

static void test_a_node_may_be_stopped_before_it_runs_or_never_run(void **state)
{
    (void)state;
    struct io_real *node = io_real_new(&(struct io_real_opts){.shards = 2, .log_fd = -1});
    io_real_stop(node);
    io_real_run(node, no_entry, NULL);
    io_real_stop(node); /* Once more, too late: no effect. */
    io_real_free(node);
    io_real_free(io_real_new(&(struct io_real_opts){.shards = 1, .log_fd = -1}));
}

/* ---- The common end ---- */

#define RELAYS 500

struct relay {
    struct io_msg msg;
    atomic_uint hops;
    unsigned hops_max;
};

static void relay_hop(struct io *at, struct io_msg *m)
{
    struct relay *r = CD_CONTAINER(m, struct relay, msg);
    if (atomic_fetch_add(&r->hops, 1) + 1 < r->hops_max)
        io_post(at, (io_loop_index(at) + 1) % io_loop_count(at), m);
}

static struct relay relays[RELAYS];

static void relay_entry(struct io *io, void *arg)
{
    if (io_loop_index(io) != 0)
        return;
    for (unsigned i = 0; i < RELAYS; i++) {
        relays[i] = (struct relay){.msg.handle = relay_hop, .hops_max = i};
        if (i > 0)
            io_post(io, i % io_loop_count(io), &relays[i].msg);
    }
    io_real_stop(arg); /* While all of them are under way. */
}

static void test_messages_that_are_under_way_arrive_before_the_end(void **state)
{
    (void)state;
    struct io_real *node = io_real_new(&(struct io_real_opts){.shards = 3, .log_fd = -1});
    io_real_run(node, relay_entry, node);
    for (unsigned i = 0; i < RELAYS; i++)
        assert_int_equal(atomic_load(&relays[i].hops), i);
    io_real_free(node);
}

struct last_words {
    struct io_real *node;
    struct io_msg ask, answer;
    struct io_signal answered;
    bool heard;
};

static void answer_heard(struct io *at, struct io_msg *m)
{
    struct last_words *w = CD_CONTAINER(m, struct last_words, answer);
    (void)at;
    w->heard = true;
}

static void ask_heard(struct io *at, struct io_msg *m)
{
    struct last_words *w = CD_CONTAINER(m, struct last_words, ask);
    w->answer.handle = answer_heard;
    io_post(at, 0, &w->answer);
}

static void unwinding(void *arg)
{
    struct last_words *w = arg;
    struct io *io = io_current();
    CHECK_INT(io_sleep(io, IO_SEC(3600)), IO_CANCELED);
    w->ask.handle = ask_heard; /* Its clean-up needs a loop that has long been idle. */
    io_post(io, 1, &w->ask);
}

static void unwind_entry(struct io *io, void *arg)
{
    struct last_words *w = arg;
    if (io_loop_index(io) != 0)
        return;
    (void)io_spawn(io, "unwinding", unwinding, w);
    io_real_stop(w->node);
}

static void test_an_idle_loop_still_answers_one_that_unwinds(void **state)
{
    (void)state;
    struct last_words w = {0};
    w.node = io_real_new(&(struct io_real_opts){.shards = 1, .log_fd = -1});
    io_real_run(w.node, unwind_entry, &w);
    assert_true(w.heard);
    io_real_free(w.node);
}

static void stop_own(struct io *io, void *arg)
{
    (void)arg;
    io_stop(io);
}

static void test_a_node_ends_when_each_loop_has_stopped(void **state)
{
    (void)state;
    struct io_real *node = io_real_new(&(struct io_real_opts){.shards = 3, .log_fd = -1});
    io_real_run(node, stop_own, NULL);
    io_real_free(node);
}

/* ---- Signals ---- */

static void signal_count(struct io *io, int number, void *arg)
{
    unsigned *seen = arg;
    CHECK(io_loop_index(io) == 0 && io_current() == io);
    *seen = *seen * 100 + (unsigned)number;
    io_real_stop(io_real_of(io));
}

static void raise_entry(struct io *io, void *arg)
{
    (void)arg;
    if (io_loop_index(io) == io_loop_count(io) - 1) /* On any thread. */
        CHECK(kill(getpid(), SIGTERM) == 0);
}

static void test_signals_are_callbacks_of_loop_0(void **state)
{
    (void)state;
    unsigned seen = 0;
    struct io_real *node = io_real_new(&(struct io_real_opts){.shards = 2, .log_fd = -1});
    io_real_on_signal(node, signal_count, &seen);
    io_real_run(node, raise_entry, NULL);
    io_real_free(node);
    assert_int_equal(seen, SIGTERM);
    assert_ptr_equal(signal(SIGPIPE, SIG_IGN), SIG_IGN);
}

/* ---- Work from outside ---- */

#define ERRANDS 5000

struct outside {
    struct io_real *node;
    unsigned next;
    atomic_uint misplaced;
};

struct outside_work {
    struct outside *o;
    unsigned number;
};

static void outside_step(struct io *io, void *arg)
{
    struct outside_work *w = arg;
    if (io_loop_index(io) != 1 || io_current() != io || w->number != w->o->next)
        atomic_fetch_add(&w->o->misplaced, 1);
    w->o->next++;
    if (w->o->next == ERRANDS)
        io_real_stop(w->o->node);
    cd_free(w);
}

static void *outside_thread(void *arg)
{
    struct outside *o = arg;
    for (unsigned i = 0; i < ERRANDS; i++) {
        struct outside_work *w = cd_new(struct outside_work);
        *w = (struct outside_work){o, i};
        io_real_post(o->node, 1, outside_step, w);
    }
    return NULL;
}

static void test_any_thread_may_post_work(void **state)
{
    (void)state;
    struct outside o = {0};
    pthread_t thread;
    o.node = io_real_new(&(struct io_real_opts){.shards = 1, .log_fd = -1});
    assert_int_equal(pthread_create(&thread, NULL, outside_thread, &o), 0);
    io_real_run(o.node, no_entry, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(o.next, ERRANDS);
    assert_int_equal(atomic_load(&o.misplaced), 0);
    io_real_free(o.node);
}

static void test_the_machine_has_cpus_and_descriptors(void **state)
{
    (void)state;
    assert_true(io_real_cpu_count() >= 1 && io_real_cpu_count() <= 4096);
    assert_true(io_real_raise_fd_limit() >= 256);
}

CD_TESTS(node, cmocka_unit_test(test_each_loop_enters_once_on_a_thread_of_its_own),
         cmocka_unit_test(test_a_node_may_be_stopped_before_it_runs_or_never_run),
         cmocka_unit_test(test_messages_that_are_under_way_arrive_before_the_end),
         cmocka_unit_test(test_an_idle_loop_still_answers_one_that_unwinds),
         cmocka_unit_test(test_a_node_ends_when_each_loop_has_stopped),
         cmocka_unit_test(test_signals_are_callbacks_of_loop_0),
         cmocka_unit_test(test_any_thread_may_post_work),
         cmocka_unit_test(test_the_machine_has_cpus_and_descriptors))
