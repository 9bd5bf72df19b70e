/* The sample of all leases that a fleet shares: fleet.md 2.6, 9.8; who takes a new cell: 4.6; who gives cells
 * away: 9.9. */
#include "fleet/sample.h"

#include "io_sim/io_sim.h"
#include "io_sim/sim_store.h"
#include "support/test.h"

#define INTERVAL_MS 5000

static struct store_lease lease(const char *node, uint64_t cells)
{
    struct store_lease l = {
        .seq = 1, .expires_ms = 20000, .ttl_ms = 10000, .peer_protocol = 1, .paced_handoff = true};
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    (void)snprintf(l.addr, sizeof l.addr, "%s:1", node);
    memset(l.generation, node[0], STORE_GENERATION_LEN);
    memset(l.probe_key, node[0], STORE_GENERATION_LEN);
    store_load_init(&l.load);
    l.load.sampled_ms = 1;
    l.load.resident_cells = l.load.owned_cells = cells;
    l.load.host_websockets = l.load.rss_bytes = 0;
    l.load.placement_weight = 1;
    return l;
}

static struct fleet_authority authority;
static const struct fleet_self self = {.node = "a", .authority = &authority};

/* ---- Choices ---- */

static struct fleet_sampled node[6];
static struct fleet_sample made;

static void make(unsigned count)
{
    authority = (struct fleet_authority){.deadline_ns = UINT64_MAX};
    memset(node, 0, sizeof node);
    made = (struct fleet_sample){.self = &self, .node = node, .count = count, .started_ms = 1000};
    for (unsigned i = 0; i < count; i++) {
        char name[2] = {(char)('a' + i), 0};
        node[i] = (struct fleet_sampled){.lease = lease(name, 1), .live = true};
    }
}

static const char *placed(void)
{
    const struct fleet_sampled *n = fleet_sample_place(&made);
    return n == NULL ? "nowhere" : n->lease.node;
}

static void test_a_cell_goes_to_the_node_with_the_fewest_then_sockets_then_memory(void **state)
{
    (void)state;
    make(4);
    node[1].lease.load.resident_cells = 2;
    assert_string_equal(placed(), "c");
    assert_string_equal(placed(), "d"); /* The one before counts. */
    assert_string_equal(placed(), "b"); /* All have two: by name. */
    make(4);
    node[1].lease.load.host_websockets = 1;
    node[2].lease.load.rss_bytes = 10;
    node[3].lease.load.rss_bytes = 90;
    node[3].lease.load.in_use_bytes = 5; /* Goes before the resident size. */
    assert_string_equal(placed(), "d");
    assert_string_equal(placed(), "c");
    assert_string_equal(placed(), "b");
}

static void test_who_cannot_take_a_cell_is_not_asked(void **state)
{
    (void)state;
    make(1);
    assert_string_equal(placed(), "nowhere"); /* Only ourselves. */
    for (unsigned i = 0; i < 7; i++) {
        make(2);
        struct fleet_sampled *b = &node[1];
        b->live = i != 0;
        b->lease.addr[0] = i == 1 ? 0 : 'b';
        b->lease.peer_protocol = i == 2 ? 2 : 1;
        b->lease.load.sampled_ms = i == 3 ? 0 : 1;
        b->lease.load.pressured = i == 4;
        b->lease.load.draining = i == 5;
        assert_string_equal(placed(), i == 6 ? "b" : "nowhere");
    }
    char session[STORE_SESSION_MAX + 1];
    (void)snprintf(session, sizeof session, "b/%s", node[1].lease.generation);
    fleet_sample_refused(&made, cd_str(session));
    assert_string_equal(placed(), "nowhere");
}

static unsigned surplus(uint64_t owned, struct fleet_receiver *to, unsigned *count)
{
    static struct fleet_receiver all[FLEET_RECEIVERS_MAX];
    unsigned n = fleet_sample_surplus(&made, owned, 16, all, count);
    memcpy(to, all, *count * sizeof *to);
    return n;
}

static void test_the_node_with_the_most_gives_and_nobody_else(void **state)
{
    struct fleet_receiver to[6];
    unsigned count;
    (void)state;
    make(3);
    node[1].lease.load.owned_cells = 40;
    node[2].lease.load.owned_cells = 10;
    assert_int_equal(surplus(100, to, &count), 32); /* 150 over three: 50 too many, in batches. */
    assert_int_equal(count, 2);
    assert_true(to[0].cells == 40 && to[0].room == 9); /* 98 of 100 of its share. */
    assert_true(to[1].cells == 10 && to[1].room == 39);
    assert_int_equal(surplus(52, to, &count), 18); /* 102, of which a third is 34; only c has room. */
    assert_int_equal(surplus(39, to, &count), 0); /* b has more. */
    node[1].lease.load.owned_cells = 100; /* As many as we: then by name. */
    assert_int_equal(surplus(100, to, &count), 30);
    node[0].lease.load.placement_weight = 2; /* More for its weight. */
    assert_int_equal(surplus(100, to, &count), 0);
}

static void test_shares_that_are_nearly_even_stay(void **state)
{
    struct fleet_receiver to[6];
    unsigned count;
    (void)state;
    make(2);
    node[1].lease.load.owned_cells = 0;
    assert_int_equal(surplus(1, to, &count), 0);
    assert_int_equal(surplus(2, to, &count), 0);
    assert_int_equal(surplus(3, to, &count), 1);
    fleet_sample_gave(&made, (struct cd_str){0}); /* Nobody's. */
    node[1].reserved = 1; /* It went there; the sample does not say so yet. */
    assert_int_equal(surplus(2, to, &count), 0);
    node[1].lease.load.owned_cells = STORE_ABSENT;
    node[1].reserved = 0;
    assert_int_equal(surplus(100, to, &count), 0); /* It does not know what it has. */
    node[1].live = false;
    assert_int_equal(surplus(100, to, &count), 0); /* Nobody is left to take any. */
    make(2);
    node[1].lease.load.rebalance_paused = true;
    assert_int_equal(surplus(100, to, &count), 0);
    make(2);
    node[1].lease.load.restoring = 17;
    assert_int_equal(surplus(100, to, &count), 0);
}

/* ---- The object ---- */

static struct stage {
    struct sim *sim;
    struct sim_node *node[2];
    unsigned over;
    unsigned refreshes;
    int64_t started_ms; /* Of the newest that was ready. */
    bool fell;
} stage;

static void put_lease(const char *name, uint64_t cells, uint64_t expires_ms)
{
    struct store_lease l = lease(name, cells);
    struct cd_buf key = {0}, body = {0};
    l.expires_ms = expires_ms;
    store_key_lease(&key, cd_str(name));
    store_lease_write(&body, &l);
    sim_store_put_truth(stage.sim, cd_buf_str(&key), cd_buf_str(&body));
    cd_buf_deinit(&key);
    cd_buf_deinit(&body);
}

static void on_store(void *arg, const struct sim_store_change *c)
{
    struct cd_json_doc *doc;
    uint64_t started = 0;
    (void)arg;
    if (!cd_str_eq(c->key, CD_STR(FLEET_SAMPLE_KEY)) || c->after == NULL)
        return;
    CHECK_INT(cd_json_parse(&doc, c->after->body, NULL), 0);
    const struct cd_json *ready = cd_json_get(cd_json_root(doc), "ready");
    if (ready == NULL)
        stage.refreshes++;
    else
        CHECK_INT(cd_json_u64(cd_json_get(ready, "started_ms"), &started), 0);
    stage.fell = stage.fell || (ready != NULL && (int64_t)started < stage.started_ms);
    if (ready != NULL)
        stage.started_ms = (int64_t)started;
    cd_json_free(doc);
}

static void unwind(struct io *io, void *arg)
{
    (void)io, (void)arg;
}

static void stage_open(void)
{
    authority = (struct fleet_authority){.deadline_ns = UINT64_MAX};
    stage = (struct stage){.sim = sim_new(NULL)};
    sim_store_set(stage.sim, &(struct sim_store_opts){.latency_ns = IO_MS(10)});
    sim_on_store(stage.sim, on_store, NULL);
}

static void stage_run(void (*boot)(struct io *io, void *arg), unsigned nodes)
{
    static const char *const names[] = {"n", "m"};
    for (unsigned i = 0; i < nodes; i++)
        stage.node[i] = sim_node(
            stage.sim, &(struct sim_node_opts){
                           .name = names[i], .loops = 1, .program = {.boot = boot, .unwind = unwind}});
}

static bool is_over(void *arg)
{
    return stage.over == *(unsigned *)arg;
}

static void stage_close(unsigned flows)
{
    assert_true(sim_run_until(stage.sim, is_over, &flows, IO_SEC(300)));
    sim_free(stage.sim);
}

static struct fleet_sample sample_of(struct io *io)
{
    return (struct fleet_sample){
        .io = io, .bucket = io_bucket(io), .self = &self, .interval_ms = INTERVAL_MS, .ttl_ms = 10000};
}

static void use_flow(void *arg)
{
    struct io *io = arg;
    struct fleet_sample s = sample_of(io);
    assert_int_equal(fleet_sample_read(&s), IO_NOENT); /* Not one lease: that is no picture of a fleet. */
    uint64_t now = (uint64_t)io_wall_ms(io);
    put_lease("a", 1, now + 20000);
    put_lease("b", 2, now + 3000);
    put_lease("c", 3, now - 1);
    assert_int_equal(io_sleep(io, IO_MS(3 * INTERVAL_MS + 100)),
                     IO_OK); /* The refresh that failed expires. */
    assert_int_equal(fleet_sample_read(&s), IO_OK);
    assert_int_equal(s.count, 3);
    assert_true(s.node[0].live && !s.node[1].live && !s.node[2].live);
    now = (uint64_t)io_wall_ms(io);
    put_lease("b", 2, now + 3000);
    assert_int_equal(io_sleep(io, IO_MS(INTERVAL_MS)), IO_OK);
    assert_false(fleet_sample_fresh(&s));
    put_lease("b", 2, (uint64_t)io_wall_ms(io) + 1000);
    assert_int_equal(fleet_sample_read(&s), IO_OK);
    assert_true(fleet_sample_fresh(&s) && s.node[1].live);
    assert_string_equal(fleet_sample_place(&s)->lease.node, "b");
    assert_int_equal(s.node[1].reserved, 1);
    assert_int_equal(io_sleep(io, IO_MS(2000)), IO_OK);
    struct fleet_sample other = sample_of(io); /* Another node, after b's lease has ended. */
    unsigned refreshes = stage.refreshes;
    assert_int_equal(fleet_sample_read(&other), IO_OK);
    assert_int_equal(stage.refreshes, refreshes); /* It uses what is there, */
    assert_true(other.node[1].live); /* as of its time. */
    assert_int_equal(io_sleep(io, IO_MS(INTERVAL_MS)), IO_OK);
    assert_int_equal(fleet_sample_read(&s), IO_OK);
    assert_false(s.node[1].live);
    assert_int_equal(s.node[1].reserved, 1); /* It has not sampled itself since. */
    fleet_sample_deinit(&s);
    fleet_sample_deinit(&other);
    stage.over++;
}

static void use_boot(struct io *io, void *arg)
{
    (void)arg;
    (void)sim_bucket(io, "");
    (void)io_spawn(io, "use", use_flow, io);
}

static void test_a_sample_is_shared_and_judged_at_its_own_time(void **state)
{
    (void)state;
    stage_open();
    stage_run(use_boot, 1);
    stage_close(1);
}

/* Two nodes that refresh as soon as they may; the store is slow now and then. */
static void race_flow(void *arg)
{
    struct io *io = arg;
    struct fleet_sample s = sample_of(io);
    s.interval_ms = 200;
    for (unsigned i = 0; i < 60; i++) {
        put_lease("a", 1, INT64_MAX / 1000000); /* It is renewed. */
        int rc = fleet_sample_read(&s);
        assert_true((rc == IO_OK) == (s.count > 0));
        uint64_t wait;
        io_random(io, IO_RAND_JITTER, &wait, sizeof wait);
        assert_int_equal(io_sleep(io, IO_MS(wait % 400)), IO_OK);
    }
    fleet_sample_deinit(&s);
    stage.over++;
}

static void race_boot(struct io *io, void *arg)
{
    (void)arg;
    (void)sim_bucket(io, "");
    (void)io_spawn(io, "race", race_flow, io);
}

static void test_a_late_refresh_never_replaces_a_newer_sample(void **state)
{
    (void)state;
    stage_open();
    sim_store_set(stage.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5), .jitter_ns = IO_MS(900)});
    stage_run(race_boot, 2);
    stage_close(2);
    assert_false(stage.fell);
    assert_true(stage.refreshes > 10 && stage.started_ms > 0);
}

CD_TESTS(sample, cmocka_unit_test(test_a_cell_goes_to_the_node_with_the_fewest_then_sockets_then_memory),
         cmocka_unit_test(test_who_cannot_take_a_cell_is_not_asked),
         cmocka_unit_test(test_the_node_with_the_most_gives_and_nobody_else),
         cmocka_unit_test(test_shares_that_are_nearly_even_stay),
         cmocka_unit_test(test_a_sample_is_shared_and_judged_at_its_own_time),
         cmocka_unit_test(test_a_late_refresh_never_replaces_a_newer_sample))
