/* Network faults of the simulator, one by one. Two nodes: "tx" sends to "rx", which reads all. */
#include "rig.h"

static void assert_between(uint64_t x, uint64_t low, uint64_t high)
{
    assert_true(x >= low && x <= high);
}

struct talk {
    struct sim *sim;
    struct sim_node *tx, *rx;
    size_t bytes, piece; /* In all, and per write. */
    uint64_t pause_ns; /* Between writes. */
    int connected, wrote, read;
    struct cd_buf got;
    uint64_t connected_ns, read_ns; /* When, in true time. */
    unsigned over;
    bool replies; /* rx writes a byte a second too, which tx does not read. */
};

static void tx_flow(void *arg)
{
    struct talk *t = arg;
    struct io *io = sim_io(t->tx, 0);
    struct io_stream s = {0};
    t->connected = rig_connect(io, &s, sim_node_name(t->rx), 7);
    t->connected_ns = sim_now_ns(t->sim);
    if (t->connected == IO_OK) {
        char *bytes = cd_alloc(t->bytes + 1);
        for (size_t i = 0; i < t->bytes; i++)
            bytes[i] = (char)(i * 31 + (i >> 8));
        for (size_t at = 0; at < t->bytes && t->wrote == IO_OK; at += t->piece) {
            t->wrote = rig_write(&s, bytes + at, t->piece < t->bytes - at ? t->piece : t->bytes - at);
            if (t->wrote == IO_OK && t->pause_ns > 0)
                CHECK_INT(io_sleep(io, t->pause_ns), IO_OK);
        }
        cd_free(bytes);
        rig_close(&s);
    }
    t->over++;
}

struct rx_replies {
    struct talk *t;
    struct io_stream *stream;
    bool over;
};

static void reply_flow(void *arg)
{
    struct rx_replies *r = arg;
    while (rig_write(r->stream, "x", 1) == IO_OK)
        (void)io_sleep(sim_io(r->t->rx, 0), IO_SEC(1));
    r->over = true;
}

static void rx_flow(void *arg)
{
    struct talk *t = arg;
    struct io *io = sim_io(t->rx, 0);
    struct io_listener l = {0};
    struct io_stream s = {0};
    CHECK_INT(io_listen(&l, io, &(struct io_addr){.port = 7}, 0), IO_OK);
    struct io_op op = {0};
    io_accept(&l, &s, &op, NULL);
    if (io_await(&op, io_now_ns(io) + IO_SEC(100)) == IO_OK) {
        struct rx_replies r = {.t = t, .stream = &s};
        if (t->replies)
            (void)io_spawn(io, "replies", reply_flow, &r);
        t->read = rig_read_all(&s, &t->got);
        while (t->replies && !r.over)
            CHECK_INT(io_sleep(io, IO_SEC(1)), IO_OK);
        t->read_ns = sim_now_ns(t->sim);
        rig_close(&s);
    }
    rig_listener_close(&l);
    t->over++;
}

static void talk_start(struct talk *t, uint64_t seed, const struct sim_link *link)
{
    t->sim =
        sim_new(&(struct sim_opts){.seed = seed, .policy = (enum sim_policy)(seed % 3), .slack_ns = 10000});
    t->tx = rig_node(t->sim, "tx");
    t->rx = rig_node(t->sim, "rx");
    if (t->bytes == 0)
        t->bytes = 10000;
    if (t->piece == 0)
        t->piece = 100;
    sim_link_set(t->sim, NULL, NULL, link);
    (void)io_spawn(sim_io(t->rx, 0), "rx", rx_flow, t);
    sim_run_for(t->sim, IO_MS(1));
    (void)io_spawn(sim_io(t->tx, 0), "tx", tx_flow, t);
}

static bool talk_over(void *arg)
{
    return ((struct talk *)arg)->over == 2;
}

/* What arrived is always a prefix of what was sent. */
static void talk_check(struct talk *t)
{
    assert_true(t->got.len <= t->bytes);
    for (size_t i = 0; i < t->got.len; i++)
        assert_int_equal(t->got.ptr[i], (char)(i * 31 + (i >> 8)));
    if (t->read == IO_EOF && t->wrote == IO_OK)
        assert_int_equal(t->got.len, t->bytes);
}

static void talk_end(struct talk *t)
{
    talk_check(t);
    sim_free(t->sim);
    cd_buf_deinit(&t->got);
}

static struct talk talk(uint64_t seed, const struct sim_link *link)
{
    struct talk t = {0};
    talk_start(&t, seed, link);
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(3600)));
    talk_check(&t);
    sim_free(t.sim);
    t.sim = NULL;
    return t;
}

/* ---- Delay and bandwidth ---- */

static void test_delay_and_bandwidth_take_their_time(void **state)
{
    (void)state;
    struct talk t = {.bytes = 100000, .piece = 10000};
    talk_start(&t, 3, &(struct sim_link){.delay_ns = IO_MS(20), .bytes_per_s = 1000000});
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(3600)));
    assert_int_equal(t.read, IO_EOF);
    assert_between(t.connected_ns, IO_MS(41), IO_MS(42)); /* There and back, from 1 ms on. */
    assert_between(t.read_ns, IO_MS(41 + 100 + 20), IO_MS(41 + 100 + 20 + 25));
    talk_end(&t);
}

/* ---- Loss, resets, refusals ---- */

static void test_loss_is_delay_and_seldom_a_reset(void **state)
{
    (void)state;
    unsigned whole = 0, reset = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct talk t = talk(seed, &(struct sim_link){.delay_ns = 1000, .loss_ppm = 300000});
        whole += t.connected == IO_OK && t.read == IO_EOF;
        reset += t.connected == IO_OK && t.read == IO_RESET;
        assert_true(t.read_ns == 0 || t.read_ns > IO_MS(200)); /* A hundred writes: some were sent again. */
        cd_buf_deinit(&t.got);
    }
    assert_true(whole > 20 && reset > 0);
}

static void test_a_reset_delivers_a_prefix(void **state)
{
    (void)state;
    unsigned reset = 0, midway = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct talk t = talk(seed, &(struct sim_link){.delay_ns = 1000, .reset_ppm = 10000});
        if (t.read == IO_RESET) {
            reset++;
            midway += t.got.len % 100 != 0;
        } else {
            assert_int_equal(t.read, IO_EOF);
        }
        cd_buf_deinit(&t.got);
    }
    assert_true(reset > 10 && reset < 40 && midway > reset / 2);
}

static void test_refused_connects(void **state)
{
    (void)state;
    unsigned refused = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct talk t = talk(seed, &(struct sim_link){.delay_ns = 1000, .refuse_ppm = 500000});
        assert_true(t.connected == IO_REFUSED || t.read == IO_EOF);
        refused += t.connected == IO_REFUSED;
        cd_buf_deinit(&t.got);
    }
    assert_true(refused > 10 && refused < 30);
}

static void test_split_reads_and_slow_readers_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct talk t = talk(seed, &(struct sim_link){.split_ppm = 900000, .window = 500});
        assert_int_equal(t.read, IO_EOF);
        assert_int_equal(t.got.len, t.bytes);
        cd_buf_deinit(&t.got);
        t = talk(seed, &(struct sim_link){.slow_ppm = 1000000, .slow_ns = IO_MS(100)});
        assert_int_equal(t.read, IO_EOF);
        assert_true(t.read_ns > IO_MS(100) * 9); /* 10,000 bytes, at most 1 KiB at a time. */
        cd_buf_deinit(&t.got);
    }
}

static void test_a_half_open_connection_swallows_and_its_writer_gives_up(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(500)};
    talk_start(&t, 4, &(struct sim_link){.half_open_ppm = 1000000, .give_up_ns = IO_SEC(5)});
    sim_run_for(t.sim, IO_SEC(200));
    assert_int_equal(t.connected, IO_OK);
    assert_int_equal(t.wrote, IO_RESET);
    assert_int_equal(t.over, 1); /* The reader never hears of it. */
    assert_true(t.got.len < 4096);
    talk_check(&t);
    sim_crash_wait(t.rx, SIM_KILL);
    talk_end(&t);
}

/* ---- Cuts and clogs ---- */

static void test_a_short_cut_is_only_late(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(100)};
    talk_start(&t, 5, &(struct sim_link){.delay_ns = 1000});
    sim_run_for(t.sim, IO_SEC(2));
    size_t before = t.got.len;
    assert_true(before > 0);
    sim_cut_both(t.sim, t.tx, t.rx);
    sim_run_for(t.sim, IO_SEC(5));
    assert_between(t.got.len, before, before + 100);
    sim_heal_both(t.sim, t.tx, t.rx);
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(100)));
    assert_int_equal(t.read, IO_EOF);
    talk_end(&t);
}

static void test_a_long_cut_ends_the_sender_and_not_the_reader(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(100), .bytes = 100000};
    talk_start(&t, 6, &(struct sim_link){.delay_ns = 1000});
    sim_run_for(t.sim, IO_SEC(2));
    sim_cut_both(t.sim, t.tx, t.rx);
    sim_run_for(t.sim, IO_SEC(60));
    assert_int_equal(t.wrote, IO_RESET);
    assert_int_equal(t.over, 1);
    sim_heal_all(t.sim);
    sim_run_for(t.sim, IO_SEC(60));
    assert_int_equal(t.over, 1); /* What was lost stays lost. */
    sim_crash_wait(t.rx, SIM_KILL);
    talk_end(&t);
}

static void test_a_reader_that_writes_after_a_long_cut_hears_of_the_reset(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(100), .bytes = 100000, .replies = true};
    talk_start(&t, 6, &(struct sim_link){.delay_ns = 1000});
    sim_run_for(t.sim, IO_SEC(2));
    sim_cut(t.sim, t.tx, t.rx);
    sim_run_for(t.sim, IO_SEC(30));
    assert_int_equal(t.wrote, IO_RESET);
    sim_heal_all(t.sim);
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(100)));
    assert_int_equal(t.read, IO_RESET);
    talk_end(&t);
}

static void test_a_cut_of_one_way_lets_the_other_pass(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(100), .bytes = 100000};
    talk_start(&t, 7, &(struct sim_link){.delay_ns = 1000});
    sim_run_for(t.sim, IO_SEC(2));
    size_t before = t.got.len;
    sim_cut(t.sim, t.rx, t.tx); /* Confirmations do not come back. */
    sim_run_for(t.sim, IO_SEC(4));
    assert_true(t.got.len > before);
    sim_run_for(t.sim, IO_SEC(60));
    assert_int_equal(t.wrote, IO_RESET);
    sim_crash_wait(t.rx, SIM_KILL);
    talk_end(&t);
}

static void test_connecting_over_a_cut_times_out(void **state)
{
    (void)state;
    struct talk t = {0};
    talk_start(&t, 8, &(struct sim_link){.delay_ns = 1000, .give_up_ns = IO_SEC(3)});
    sim_cut(t.sim, t.tx, t.rx);
    sim_run_for(t.sim, IO_SEC(4));
    assert_int_equal(t.connected, IO_TIMEDOUT);
    assert_between(t.connected_ns, IO_SEC(3), IO_SEC(4));
    sim_run_for(t.sim, IO_SEC(200));
    talk_end(&t);
}

static void test_a_clog_bursts_and_nobody_gives_up(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(100)};
    talk_start(&t, 9, &(struct sim_link){.delay_ns = 1000, .give_up_ns = IO_SEC(1)});
    sim_run_for(t.sim, IO_SEC(2));
    sim_clog(t.sim, t.tx, t.rx, IO_SEC(5));
    sim_run_for(t.sim, IO_MS(4900));
    size_t before = t.got.len;
    sim_run_for(t.sim, IO_MS(200));
    assert_true(t.got.len >= before + 4000); /* All at once. */
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(100)));
    assert_int_equal(t.read, IO_EOF);
    talk_end(&t);
}

static void test_a_swizzle_passes_and_nothing_is_lost(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct talk t = {.pause_ns = IO_MS(50)};
        talk_start(&t, seed, &(struct sim_link){.delay_ns = 1000});
        sim_run_for(t.sim, IO_SEC(1));
        sim_swizzle(t.rx, IO_SEC(6));
        sim_run_for(t.sim, IO_SEC(3));
        size_t before = t.got.len;
        sim_run_for(t.sim, 1000);
        assert_int_equal(t.got.len, before); /* In the middle everything is held. */
        assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(100)));
        assert_int_equal(t.read, IO_EOF);
        talk_end(&t);
    }
}

static void test_a_reset_of_all_connections_between_two_nodes(void **state)
{
    (void)state;
    struct talk t = {.pause_ns = IO_MS(50)};
    talk_start(&t, 11, &(struct sim_link){.delay_ns = 1000});
    sim_run_for(t.sim, IO_SEC(1));
    assert_int_equal(sim_reset(t.sim, t.rx, t.tx), 1);
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(1)));
    assert_int_equal(t.read, IO_RESET);
    assert_int_equal(t.wrote, IO_RESET);
    talk_end(&t);
}

/* ---- Traces ---- */

struct ways {
    bool there, reset;
};

static void note_way(void *arg, const struct sim_record *r)
{
    struct ways *w = arg;
    w->there = w->there || (r->note != NULL && strcmp(r->note, "tx:32768 -> rx:7") == 0 && r->len == 100);
    w->reset = w->reset || (r->note != NULL && strcmp(r->note, "rx:7 -> tx:32768 reset") == 0);
}

static void test_traces_tell_which_way_bytes_flew(void **state)
{
    (void)state;
    struct ways ways = {0};
    struct talk t = {.bytes = 1000};
    talk_start(&t, 3, &(struct sim_link){.delay_ns = 1000});
    sim_on_record(t.sim, note_way, &ways);
    sim_run_for(t.sim, 2500);
    sim_crash_wait(t.rx, SIM_KILL); /* Connected, and the bytes are still on the wire. */
    sim_run_for(t.sim, IO_SEC(1));
    assert_true(ways.there && ways.reset);
    talk_end(&t);
}

/* ---- Draws ---- */

struct arrivals {
    struct cd_buf times;
    struct sim *sim;
};

static void note_read(void *arg, const struct sim_record *r)
{
    struct arrivals *a = arg;
    if (strcmp(r->kind, "net.read") == 0 && strcmp(sim_node_name(r->node), "rx") == 0)
        cd_buf_addf(&a->times, "%llu ", (unsigned long long)r->at_ns);
}

/* When the bytes of tx come to rx, while a third node does or does not talk to rx too. */
static void arrivals_run(struct arrivals *a, bool third)
{
    struct talk t = {.pause_ns = IO_MS(3)};
    talk_start(&t, 12, &(struct sim_link){.delay_ns = 1000, .jitter_ns = IO_MS(50), .loss_ppm = 50000});
    *a = (struct arrivals){.sim = t.sim};
    sim_on_event(t.sim, note_read, a);
    struct talk other = {.sim = t.sim, .bytes = 5000, .piece = 100};
    other.tx = rig_node(t.sim, "tx2");
    other.rx = rig_node(t.sim, "rx2");
    if (third) {
        (void)io_spawn(sim_io(other.rx, 0), "rx", rx_flow, &other);
        (void)io_spawn(sim_io(other.tx, 0), "tx", tx_flow, &other);
    }
    assert_true(sim_run_until(t.sim, talk_over, &t, IO_SEC(3600)));
    sim_crash_wait(other.tx, SIM_KILL);
    sim_crash_wait(other.rx, SIM_KILL);
    cd_buf_deinit(&other.got);
    talk_end(&t);
}

static void test_more_traffic_elsewhere_leaves_all_draws_alone(void **state)
{
    (void)state;
    struct arrivals alone, busy;
    arrivals_run(&alone, false);
    arrivals_run(&busy, true);
    assert_true(alone.times.len > 150);
    assert_true(cd_str_eq(cd_buf_str(&alone.times), cd_buf_str(&busy.times)));
    cd_buf_deinit(&alone.times);
    cd_buf_deinit(&busy.times);
}

CD_TESTS(netfault, cmocka_unit_test(test_delay_and_bandwidth_take_their_time),
         cmocka_unit_test(test_loss_is_delay_and_seldom_a_reset),
         cmocka_unit_test(test_a_reset_delivers_a_prefix), cmocka_unit_test(test_refused_connects),
         cmocka_unit_test(test_split_reads_and_slow_readers_lose_nothing),
         cmocka_unit_test(test_a_half_open_connection_swallows_and_its_writer_gives_up),
         cmocka_unit_test(test_a_short_cut_is_only_late),
         cmocka_unit_test(test_a_long_cut_ends_the_sender_and_not_the_reader),
         cmocka_unit_test(test_a_reader_that_writes_after_a_long_cut_hears_of_the_reset),
         cmocka_unit_test(test_a_cut_of_one_way_lets_the_other_pass),
         cmocka_unit_test(test_connecting_over_a_cut_times_out),
         cmocka_unit_test(test_a_clog_bursts_and_nobody_gives_up),
         cmocka_unit_test(test_a_swizzle_passes_and_nothing_is_lost),
         cmocka_unit_test(test_a_reset_of_all_connections_between_two_nodes),
         cmocka_unit_test(test_traces_tell_which_way_bytes_flew),
         cmocka_unit_test(test_more_traffic_elsewhere_leaves_all_draws_alone))
