/* A cell that was given back is adopted, at the node that takes it: fleet.md 10.5. */
#include "cell/handoff.h"
#include "cell_node/node.h"

#define CELL "C:1"

static struct trial {
    struct cell_handoff *handoff;
    struct cell_adopt adopt;
    uint64_t release; /* Not 0: it is given back at that epoch first. */
    int released, status;
    bool pressured, wanted, done;
} trial;

static void load(void *arg, struct store_load *out)
{
    (void)arg;
    out->pressured = trial.pressured;
}

static void trial_flow(void *arg)
{
    struct io *io = arg;
    trial.released = IO_OK;
    if (trial.release != 0)
        trial.released = fleet_release(io, io_bucket(io), fleet_node_self(node.fleet), CD_STR(CELL),
                                       trial.release, io_now_ns(io) + IO_SEC(5), trial.adopt.token);
    trial.status = cell_handoff_adopt(trial.handoff, &trial.adopt);
    trial.done = true;
}

static void start(struct io *io, void *arg)
{
    (void)arg;
    if (trial.handoff == NULL)
        trial.handoff = cell_handoff_new(
            &(struct cell_handoff_opts){.io = io, .router = node.router, .node = node.fleet, .load = load});
    (void)io_spawn(io, "trial", trial_flow, io);
}

static bool is_done(void *arg)
{
    (void)arg;
    return trial.done;
}

static int adopt(uint64_t epoch, uint64_t release)
{
    trial.release = release;
    trial.done = false;
    trial.adopt = (struct cell_adopt){.scope = CD_STR(CELL), .epoch = epoch, .wanted = trial.wanted};
    sim_in_loop(node.node, 0, start, NULL);
    assert_true(sim_run_until(node.sim, is_done, NULL, IO_SEC(60)));
    assert_int_equal(trial.released, IO_OK);
    return trial.status;
}

static void drop(struct io *io, void *arg)
{
    (void)io, (void)arg;
    cell_handoff_free(trial.handoff);
    trial = (struct trial){0};
}

static void test_a_released_cell_is_adopted_once_however_often_it_is_asked(void **state)
{
    (void)state;
    node_open(NULL);
    node_ready();
    assert_int_equal(node_ask(CELL, "add 7"), 7);
    node_evict(CELL);
    trial.pressured = true;
    assert_int_equal(adopt(1, 1), 409); /* No room: it stays nobody's. */
    assert_string_equal(trial.adopt.reason, "pressured");
    trial.pressured = false;
    assert_int_equal(adopt(4, 0), 409); /* Not at that epoch. */
    assert_string_equal(trial.adopt.reason, "not_released");
    assert_int_equal(adopt(1, 0), 200);
    assert_int_equal(trial.adopt.taken, 2);
    assert_int_equal(adopt(1, 0), 200); /* The same message again: its answer got lost. */
    assert_int_equal(trial.adopt.taken, 2);
    assert_int_equal(node.starts, 1); /* It is in no memory. */
    assert_int_equal(node_ask(CELL, "get"), 7);
    assert_int_equal(node.epoch, 2); /* That one was not used yet. */
    node_evict(CELL);
    assert_int_equal(node_ask(CELL, "get"), 7);
    assert_int_equal(node.epoch, 3);
    assert_int_equal(adopt(1, 0), 200); /* And once more, much later: it is ours still. */
    assert_int_equal(trial.adopt.taken, 3);
    node_evict(CELL);
    trial.wanted = true;
    assert_int_equal(adopt(3, 3), 200);
    node_run(500);
    assert_int_equal(node.starts, 4); /* Nobody had to ask for it. */
    assert_int_equal(node.epoch, 4);
    sim_in_loop(node.node, 0, drop, NULL);
    node_run(5);
    node_free();
}

CD_TESTS(adopt, cmocka_unit_test(test_a_released_cell_is_adopted_once_however_often_it_is_asked))
