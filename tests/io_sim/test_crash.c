/* Crashes: a freeze leaves nothing, and its peers see what they would see of a real one. */
#include "rig.h"
#include "support/death.h"

/* ---- A program that has something of everything in flight ---- */

struct busy {
    struct io *io;
    struct io_signal never;
    struct io_msg *letter;
    unsigned unwound;
};

static void busy_files(void *arg)
{
    struct io *io = arg;
    struct io_file f = {0};
    int rc = io_path_mkdir(io, "/d");
    if (rc != IO_OK && rc != IO_EXISTS)
        return;
    rc = io_file_open(&f, io, "/d/f", IO_FILE_CREATE);
    if (rc != IO_OK)
        return;
    for (unsigned i = 0; i < 4 && rc == IO_OK; i++) {
        rc = io_file_pwrite(&f, "0123456789", 10, i * 10);
        if (rc == IO_OK)
            rc = io_file_sync(&f);
        struct io_op op = {0};
        if (rc == IO_OK) {
            io_file_sync_start(&f, &op, NULL);
            rc = io_await(&op, io_now_ns(io) + IO_SEC(1));
        }
    }
    (void)io_file_close(&f);
    if (rc == IO_OK)
        rc = io_path_rename(io, "/d/f", "/d/g");
    if (rc == IO_OK)
        rc = io_path_sync(io, "/d");
    (void)rc;
}

static void busy_server(void *arg)
{
    struct io *io = arg;
    struct io_listener l = {0};
    if (io_listen(&l, io, &(struct io_addr){.port = 80}, 0) != IO_OK)
        return;
    struct io_stream s = {0};
    if (rig_accept(&l, &s) == IO_OK) {
        struct cd_buf in = {0};
        (void)rig_read_all(&s, &in);
        (void)rig_write(&s, "bye", 3);
        cd_buf_deinit(&in);
        rig_close(&s);
    }
    rig_listener_close(&l);
}

static void busy_client(void *arg)
{
    struct io *io = arg;
    struct io_stream s = {0};
    if (io_sleep(io, IO_MS(1)) != IO_OK || rig_connect(io, &s, "localhost", 80) != IO_OK)
        return;
    struct io_op op = {0};
    if (rig_write(&s, "hello", 5) == IO_OK)
        io_stream_finish(&s, &op, NULL);
    if (io_busy(&op))
        (void)io_await(&op, IO_FOREVER);
    struct cd_buf in = {0};
    (void)rig_read_all(&s, &in);
    cd_buf_deinit(&in);
    rig_close(&s);
}

static void busy_waits(void *arg)
{
    struct busy *b = arg;
    struct io_op op = {0};
    io_signal_wait(&b->never, b->io, &op, NULL);
    CHECK(io_await(&op, IO_FOREVER) == IO_CANCELED);
    io_signal_wait(&b->never, b->io, &op, NULL); /* Nobody will send it: that ends too. */
    CHECK(io_await(&op, IO_FOREVER) == IO_CANCELED);
    CHECK(io_sleep(b->io, IO_SEC(1)) == IO_CANCELED);
}

static void busy_letter(struct io *at, struct io_msg *m)
{
    (void)at;
    cd_free(m);
}

static void busy_boot(struct io *io, void *arg)
{
    struct busy *b = &((struct busy *)arg)[io_loop_index(io)];
    b->io = io;
    io_signal_init(&b->never);
    (void)io_spawn(io, "waits", busy_waits, b);
    (void)io_spawn(io, "files", busy_files, io);
    if (io_loop_index(io) == 0) {
        (void)io_spawn(io, "server", busy_server, io);
        (void)io_spawn(io, "client", busy_client, io);
    }
    struct io_msg *m = cd_new(struct io_msg);
    m->handle = busy_letter;
    io_post(io, 1 - io_loop_index(io), m);
}

static void busy_unwind(struct io *io, void *arg)
{
    ((struct busy *)arg)[io_loop_index(io)].unwound++;
}

static struct sim_node *busy_node(struct sim *sim, struct busy busy[2])
{
    busy[0] = busy[1] = (struct busy){0};
    return sim_node(
        sim, &(struct sim_node_opts){.name = "n1", .loops = 2, .program = {busy_boot, busy_unwind, busy}});
}

static void test_a_node_that_dies_in_any_call_leaves_nothing(void **state)
{
    (void)state;
    unsigned deaths = 0;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct sim *sim =
            sim_new(&(struct sim_opts){.seed = k, .policy = (enum sim_policy)(k % 3), .slack_ns = 10000});
        struct busy busy[2];
        struct sim_node *n = busy_node(sim, busy);
        hit = false;
        assert_true(sim_at_call(n, "any", k, k % 2 == 0 ? SIM_DIE_KILL : SIM_DIE_POWER, 0, &hit));
        sim_run_for(sim, IO_SEC(1));
        assert_int_equal(sim_node_life(n), hit ? SIM_DEAD : SIM_UP);
        if (hit) {
            assert_int_equal(sim_left(n, NULL), 0);
            assert_null(sim_io(n, 0));
            for (unsigned i = 0; i < 2; i++)
                assert_int_equal(busy[i].unwound, busy[i].io != NULL); /* Loops that had booted. */
            sim_restart(n, false);
            assert_int_equal(sim_node_lives(n), 2);
            sim_run_for(sim, IO_SEC(1));
            deaths++;
        }
        sim_free(sim);
    }
    assert_true(deaths > 40);
}

static void test_a_node_that_dies_between_any_events_leaves_nothing(void **state)
{
    (void)state;
    for (unsigned steps = 0;; steps++) {
        struct sim *sim = sim_new(&(struct sim_opts){.seed = steps, .policy = SIM_RANDOM, .slack_ns = 1000});
        struct busy busy[2];
        struct sim_node *n = busy_node(sim, busy);
        unsigned done = 0;
        while (done < steps && sim_step(sim))
            done++;
        sim_crash_wait(n, SIM_POWER);
        assert_int_equal(sim_left(n, NULL), 0);
        sim_free(sim);
        if (done < steps)
            break;
    }
}

static void test_a_pattern_counts_its_calls(void **state)
{
    (void)state;
    struct sim *sim = sim_new(NULL);
    struct busy busy[2];
    struct sim_node *n = busy_node(sim, busy);
    bool hit = false;
    assert_false(sim_at_call(n, "file.fly", 1, SIM_FAIL, IO_FAULT, &hit));
    assert_true(sim_at_call(n, "file.sync", 3, SIM_DIE_POWER, 0, &hit));
    sim_run_for(sim, IO_SEC(1));
    assert_true(hit);
    assert_int_equal(sim_calls(n, "file.sync"), 3);
    assert_true(sim_calls(n, "file") > 3);
    assert_true(sim_calls(n, "any") > sim_calls(n, "file"));
    sim_free(sim);
}

/* ---- Failing every call ---- */

static void test_every_call_may_fail_and_nothing_is_left(void **state)
{
    (void)state;
    uint64_t last = 0;
    FOR_EACH_FAULT(sweep)
    {
        struct sim *sim = sim_new(NULL);
        struct sim_node *n = rig_node(sim, "n1");
        sim_sweep_arm(&sweep, n);
        (void)io_spawn(sim_io(n, 0), "files", busy_files, sim_io(n, 0));
        assert_true(rig_run(sim, n, NULL));
        /* Exactly one call failed, but in the last round. */
        assert_true(sweep.hit || sim_calls(n, "any") == sweep.at - 1);
        last = sweep.at;
        sim_free(sim);
    }
    assert_int_equal(last, 2 + 4 * 3 + 2 + 1); /* As many as it makes, and the untouched round. */
}

static void forgetful_sweep(void)
{
    FOR_EACH_FAULT(sweep)
    {
        CD_MAYBE(sweep.hit);
    }
}

static void test_a_sweep_that_is_not_armed_stops(void **state)
{
    (void)state;
    assert_dies(forgetful_sweep, "armed");
}

/* ---- Leaks are found ---- */

static void leak_file(void *arg)
{
    static struct io_file f;
    CHECK_INT(io_file_open(&f, arg, "/forgotten", IO_FILE_CREATE), IO_OK);
}

static void leaky(void)
{
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "leak", leak_file, sim_io(n, 0));
    sim_run_for(sim, IO_SEC(1));
    sim_crash_wait(n, SIM_KILL);
}

static void test_a_file_that_is_left_open_is_reported_by_name(void **state)
{
    (void)state;
    assert_dies(leaky, "n1/0 file /forgotten");
}

static void stubborn(void *arg)
{
    while (io_sleep(arg, IO_MS(1)) != IO_OK || true)
        continue; /* Never gives up. */
}

static void endless(void)
{
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1");
    (void)io_spawn(sim_io(n, 0), "stubborn", stubborn, sim_io(n, 0));
    sim_run_for(sim, IO_SEC(1));
    sim_crash_wait(n, SIM_KILL);
}

static void test_a_fiber_that_never_gives_up_is_reported_by_name(void **state)
{
    (void)state;
    assert_dies(endless, "n1/0 fiber stubborn");
}

/* ---- What peers see ---- */

struct peer {
    struct io *io;
    struct cd_buf got;
    int end;
    bool writes; /* Else it only reads. */
    bool ended, heard; /* The latter by itself, not because the test killed it. */
};

static void peer_flow(void *arg)
{
    struct peer *p = arg;
    struct io_stream s = {0};
    CHECK_INT(rig_connect(p->io, &s, "n1", 80), IO_OK);
    if (p->writes) {
        while (rig_write(&s, "x", 1) == IO_OK)
            CHECK_INT(io_sleep(p->io, IO_SEC(1)), IO_OK);
    }
    p->end = rig_read_all(&s, &p->got);
    rig_close(&s);
    p->ended = true;
}

static void speaker_flow(void *arg)
{
    struct io *io = arg;
    struct io_listener l = {0};
    struct io_stream s = {0};
    if (io_listen(&l, io, &(struct io_addr){.port = 80}, 0) != IO_OK)
        return;
    if (rig_accept(&l, &s) == IO_OK) {
        (void)rig_write(&s, "last words", 10);
        (void)io_sleep(io, IO_SEC(1000));
        rig_close(&s);
    }
    rig_listener_close(&l);
}

/* The node dies right after it wrote; what its peer sees of it. */
static void peer_of_a_crash(struct peer *p, enum sim_crash how, bool writes, bool restart)
{
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = rig_node(sim, "n1"), *m = rig_node(sim, "peer");
    sim_link_set(sim, NULL, NULL, &(struct sim_link){.delay_ns = IO_MS(5)});
    *p = (struct peer){.io = sim_io(m, 0), .writes = writes};
    (void)io_spawn(sim_io(n, 0), "speaker", speaker_flow, sim_io(n, 0));
    (void)io_spawn(p->io, "peer", peer_flow, p);
    sim_run_for(sim, IO_MS(6)); /* Connected and written, nothing has arrived yet. */
    sim_crash_wait(n, how);
    if (restart)
        sim_restart(n, false);
    sim_run_for(sim, IO_SEC(60));
    p->heard = p->ended;
    if (!p->ended)
        sim_crash_wait(m, SIM_KILL);
    sim_free(sim);
}

static void test_peers_of_a_killed_process_see_the_end_behind_its_last_words(void **state)
{
    (void)state;
    struct peer p;
    peer_of_a_crash(&p, SIM_KILL, false, false);
    assert_true(p.heard);
    assert_int_equal(p.end, IO_EOF);
    assert_str_is(cd_buf_str(&p.got), "last words"); /* It was on the wire. */
    cd_buf_deinit(&p.got);
    peer_of_a_crash(&p, SIM_KILL, true, false);
    assert_true(p.heard); /* Its bytes met nobody: a reset. */
    cd_buf_deinit(&p.got);
}

static void test_peers_of_a_machine_without_power_hear_nothing(void **state)
{
    (void)state;
    struct peer p;
    peer_of_a_crash(&p, SIM_POWER, false, false);
    assert_false(p.heard); /* A reader waits for ever. */
    assert_int_equal(p.end, IO_CANCELED);
    assert_str_is(cd_buf_str(&p.got), "last words");
    cd_buf_deinit(&p.got);
    peer_of_a_crash(&p, SIM_POWER, true, false);
    assert_true(p.heard); /* A writer loses patience. */
    assert_int_equal(p.end, IO_RESET);
    cd_buf_deinit(&p.got);
    peer_of_a_crash(&p, SIM_POWER, true, true);
    assert_true(p.heard); /* The machine that came back knows nothing of it. */
    assert_int_equal(p.end, IO_RESET);
    cd_buf_deinit(&p.got);
}

static void late_client(void *arg)
{
    struct peer *p = arg;
    struct io_stream s = {0};
    p->end = rig_connect(p->io, &s, "n1", 80);
}

static void test_connecting_to_the_dead(void **state)
{
    (void)state;
    const enum sim_crash how[] = {SIM_KILL, SIM_POWER};
    const int want[] = {IO_REFUSED, IO_TIMEDOUT};
    for (unsigned i = 0; i < 2; i++) {
        struct sim *sim = sim_new(NULL);
        struct sim_node *n = rig_node(sim, "n1"), *m = rig_node(sim, "peer");
        struct peer p = {.io = sim_io(m, 0)};
        (void)io_spawn(sim_io(n, 0), "speaker", speaker_flow, sim_io(n, 0));
        sim_run_for(sim, IO_MS(1));
        sim_crash_wait(n, how[i]);
        (void)io_spawn(p.io, "late", late_client, &p);
        assert_true(rig_run(sim, m, NULL));
        assert_int_equal(p.end, want[i]);
        sim_free(sim);
    }
}

CD_TESTS(crash, cmocka_unit_test(test_a_node_that_dies_in_any_call_leaves_nothing),
         cmocka_unit_test(test_a_node_that_dies_between_any_events_leaves_nothing),
         cmocka_unit_test(test_a_pattern_counts_its_calls),
         cmocka_unit_test(test_every_call_may_fail_and_nothing_is_left),
         cmocka_unit_test(test_a_sweep_that_is_not_armed_stops),
         cmocka_unit_test(test_a_file_that_is_left_open_is_reported_by_name),
         cmocka_unit_test(test_a_fiber_that_never_gives_up_is_reported_by_name),
         cmocka_unit_test(test_peers_of_a_killed_process_see_the_end_behind_its_last_words),
         cmocka_unit_test(test_peers_of_a_machine_without_power_hear_nothing),
         cmocka_unit_test(test_connecting_to_the_dead))
