/* Wake entries, packs and retirements on the simulator. What was settled goes, nothing else does. */
#include "base/rng.h"
#include "fleet/wake_format.h"
#include "fleet/waker.h"
#include "rig.h"

#define TICK_MS 60000u

struct stage {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct fleet_self self;
    struct fleet_authority authority;
    struct fleet_waker waker;
    int (*flow)(struct stage *g);
    int rc;
    bool done;
    struct cd_buf hints; /* Scopes, each with a comma. */
    struct store_alarm alarm;
    struct store_wake_retired retired;
    struct cd_buf why;
};

static void hint(void *arg, struct cd_str scope)
{
    struct stage *g = arg;
    cd_buf_add_str(&g->hints, scope);
    cd_buf_add_byte(&g->hints, ',');
}

static void stage_open(struct stage *g, uint64_t seed)
{
    *g = (struct stage){.sim = sim_new(&(struct sim_opts){.seed = seed})};
    sim_store_set(g->sim, &(struct sim_store_opts){.latency_ns = IO_MS(5), .jitter_ns = IO_MS(5)});
    g->node = sim_node(g->sim, &(struct sim_node_opts){.name = "n1"});
    sim_run_for(g->sim, 1);
    g->io = sim_io(g->node, 0);
    struct io_bucket *b = sim_bucket(g->io, "");
    (void)snprintf(g->self.node, sizeof g->self.node, "a");
    memcpy(g->self.generation, rig_generation('1'), STORE_GENERATION_LEN);
    (void)snprintf(g->self.session, sizeof g->self.session, "a/%s", rig_generation('1'));
    g->self.authority = &g->authority;
    g->waker = (struct fleet_waker){
        .io = g->io, .bucket = b, .self = &g->self, .tick_ms = TICK_MS, .hint = hint, .arg = g};
}

static void stage_close(struct stage *g)
{
    fleet_waker_deinit(&g->waker);
    cd_buf_deinit(&g->hints);
    cd_buf_deinit(&g->why);
    sim_free(g->sim);
}

static void flow(void *arg)
{
    struct stage *g = arg;
    g->rc = g->flow(g);
    g->done = true;
}

static bool is_done(void *arg)
{
    return ((struct stage *)arg)->done;
}

static int play(struct stage *g, int (*what)(struct stage *g))
{
    g->flow = what;
    g->done = false;
    cd_buf_clear(&g->hints);
    (void)io_spawn(g->io, "flow", flow, g);
    assert_true(sim_run_until(g->sim, is_done, g, IO_SEC(600)));
    return g->rc;
}

static int pass(struct stage *g)
{
    return fleet_waker_pass(&g->waker);
}

static int entry(struct stage *g)
{
    return fleet_wake_entry(g->io, g->waker.bucket, &g->alarm);
}

static int retire(struct stage *g)
{
    return fleet_wake_retire(g->io, g->waker.bucket, CD_STR("Room:x"), &g->retired);
}

static int format(struct stage *g)
{
    return fleet_wake_format(g->io, g->waker.bucket, &g->why);
}

static uint64_t now_ms(struct stage *g)
{
    return (uint64_t)io_wall_ms(g->io);
}

static void put_entry(struct stage *g, const char *cell, uint64_t epoch, uint64_t seq, uint64_t due_ms)
{
    g->alarm = (struct store_alarm){cd_str(cell), {epoch, seq}, due_ms};
    assert_int_equal(play(g, entry), IO_OK);
}

static void put_text(struct stage *g, struct cd_buf *key, struct cd_buf *body)
{
    sim_store_put_truth(g->sim, cd_buf_str(key), cd_buf_str(body));
    cd_buf_deinit(key);
    cd_buf_deinit(body);
}

static void put_retired(struct stage *g, const char *cell, uint64_t epoch, uint64_t seq, bool armed)
{
    struct store_wake_retired r = {.identity = {epoch, seq}, .armed = armed, .at_ms = armed ? 1 : 0};
    struct cd_buf key = {0}, body = {0};
    store_key_wake_retired(&key, cd_str(cell));
    store_wake_retired_write(&body, &r);
    put_text(g, &key, &body);
}

static void put_owner(struct stage *g, const char *cell, const char *node, char digit)
{
    struct store_owner o = {.epoch = 3};
    if (node != NULL)
        (void)snprintf(o.session, sizeof o.session, "%s/%s", node, rig_generation(digit));
    struct cd_buf key = {0}, body = {0};
    store_key_owner(&key, cd_str(cell));
    store_owner_write(&body, &o);
    put_text(g, &key, &body);
}

static void put_lease(struct stage *g, const char *node, bool live)
{
    struct store_lease l = {.seq = 1, .ttl_ms = 10000, .peer_protocol = 1};
    (void)snprintf(l.node, sizeof l.node, "%s", node);
    memcpy(l.generation, rig_generation('2'), STORE_GENERATION_LEN);
    memcpy(l.probe_key, rig_generation('2'), STORE_GENERATION_LEN);
    l.expires_ms = live ? now_ms(g) + 3600000 : 1;
    store_load_init(&l.load);
    struct cd_buf key = {0}, body = {0};
    store_key_lease(&key, cd_str(node));
    store_lease_write(&body, &l);
    put_text(g, &key, &body);
}

static void put_pack(struct stage *g, const struct store_alarm *items, size_t count, struct cd_buf *key)
{
    struct cd_buf body = {0};
    char session[STORE_SESSION_MAX + 1];
    (void)snprintf(session, sizeof session, "b/%s", rig_generation('2'));
    store_pack_write(&body, key, cd_str(session), items, count);
    sim_store_put_truth(g->sim, cd_buf_str(key), cd_buf_str(&body));
    cd_buf_deinit(&body);
}

static unsigned count(struct sim *sim, const char *prefix);

static void one_more(void *arg, struct cd_str key, const struct sim_object *o)
{
    (void)key;
    (void)o;
    ++*(unsigned *)arg;
}

static unsigned count(struct sim *sim, const char *prefix)
{
    unsigned n = 0;
    sim_store_each(sim, cd_str(prefix), one_more, &n);
    return n;
}

#define assert_hints(g, text) assert_string_equal(cd_buf_cstr(&(g)->hints), text)

static void test_due_cells_of_nobody_alive_are_looked_at_once(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    put_lease(&g, "live", true);
    put_lease(&g, "dead", false);
    static const char *const cells[] = {"C:absent", "C:dead", "C:far",     "C:gone",
                                        "C:live",   "C:mine", "C:released"};
    for (size_t i = 0; i < CD_COUNT(cells); i++)
        put_entry(&g, cells[i], 3, 1, i == 2 ? now_ms(&g) + 600000 : now_ms(&g) - 1000 * (uint64_t)i);
    put_entry(&g, "C:mine", 3, 2, now_ms(&g) - 600000); /* Twice. */
    put_owner(&g, "C:dead", "dead", '2');
    put_owner(&g, "C:far", NULL, 0);
    put_owner(&g, "C:gone", "gone", '2');
    put_owner(&g, "C:live", "live", '2');
    put_owner(&g, "C:mine", "a", '7');
    put_owner(&g, "C:released", NULL, 0);
    assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "C:absent,C:dead,C:gone,C:mine,C:released,");
    assert_int_equal(count(g.sim, "wake/entries/"), 8); /* Nothing is settled by a look. */
    stage_close(&g);
}

static void test_without_the_role_only_own_cells_are_looked_at(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    struct store_waker other = {.node = "b", .expires_ms = now_ms(&g) + 100000};
    struct cd_buf key = {0}, body = {0};
    cd_buf_add_str(&key, CD_STR(STORE_KEY_WAKER));
    store_waker_write(&body, &other);
    put_text(&g, &key, &body);
    put_entry(&g, "C:absent", 3, 1, now_ms(&g));
    put_entry(&g, "C:mine", 3, 1, now_ms(&g));
    put_owner(&g, "C:mine", "a", '1');
    assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "C:mine,");
    sim_run_for(g.sim, IO_SEC(101)); /* Its holder is gone. */
    assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "C:absent,C:mine,");
    assert_true(g.waker.holds_role);
    stage_close(&g);
}

static void test_an_entry_goes_when_it_is_settled_and_not_before(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    put_entry(&g, "C:x", 3, 5, now_ms(&g) + 3600000);
    static const struct {
        uint64_t epoch, seq;
        bool armed, settled;
    } rows[] = {{3, 4, false, false}, {2, 9, false, false}, {3, 5, true, false},
                {3, 5, false, true},  {3, 6, true, true},   {4, 1, true, true}};
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        put_entry(&g, "C:x", 3, 5, now_ms(&g) + 3600000);
        unsigned before = count(g.sim, "wake/entries/");
        assert_int_equal(play(&g, pass), IO_OK);
        put_retired(&g, "C:x", rows[i].epoch, rows[i].seq, rows[i].armed);
        assert_int_equal(play(&g, pass), IO_OK);
        assert_int_equal(count(g.sim, "wake/entries/"), rows[i].settled ? 0 : before);
        sim_store_delete_truth(g.sim, CD_STR("wake/retired/C:x.json"));
    }
    stage_close(&g);
}

static void test_what_does_not_parse_is_never_deleted(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    sim_store_put_truth(g.sim, CD_STR("wake/entries/000000000001/C:x/03.1"), CD_STR("{}"));
    sim_store_put_truth(g.sim, CD_STR("wake/entries/1/C:x/3.1"), CD_STR("{}"));
    sim_store_put_truth(g.sim, CD_STR("wake/packs/000000000001/b/2/x.json"), CD_STR("{}"));
    put_retired(&g, "C:x", 9, 1, false);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "");
    assert_int_equal(count(g.sim, "wake/entries/"), 2);
    assert_int_equal(count(g.sim, "wake/packs/"), 1);
    stage_close(&g);
}

static void test_a_pack_is_read_once_and_goes_when_all_of_it_is_settled(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    uint64_t now = now_ms(&g);
    struct store_alarm items[] = {{CD_STR("C:a"), {3, 1}, now - 1000},
                                  {CD_STR("C:b"), {4, 2}, now - 500},
                                  {CD_STR("C:c"), {5, 3}, now + 90000}};
    struct cd_buf key = {0};
    put_pack(&g, items, 3, &key);
    assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "C:a,C:b,"); /* An item has a due time of its own. */
    put_retired(&g, "C:a", 3, 1, false);
    put_retired(&g, "C:c", 6, 1, true);
    sim_store_rule(
        g.sim, &(struct sim_store_rule){.effect = SIM_STORE_DOWN, .op = "get", .pattern = "wake/packs/*"});
    assert_int_equal(play(&g, pass), IO_OK);
    assert_int_equal(play(&g, pass), IO_OK);
    assert_hints(&g, "C:b,");
    assert_int_equal(count(g.sim, "wake/packs/"), 1);
    put_retired(&g, "C:b", 4, 3, true);
    assert_int_equal(play(&g, pass), IO_OK);
    assert_int_equal(count(g.sim, "wake/packs/"), 0);
    assert_int_equal(g.waker.packs.count, 0);
    assert_int_equal(g.waker.pack_bytes, 0);
    cd_buf_deinit(&key);
    stage_close(&g);
}

static void test_the_collector_goes_round_in_pages(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    for (unsigned i = 0; i < 300; i++) {
        char cell[32];
        (void)snprintf(cell, sizeof cell, "C:%03u", i);
        put_entry(&g, cell, 3, 1, now_ms(&g) + 3600000);
        if (i % 2 == 0)
            put_retired(&g, cell, 3, 1, false);
    }
    unsigned passes = 0;
    while (count(g.sim, "wake/entries/") > 150) {
        assert_true(passes++ < 6);
        assert_int_equal(play(&g, pass), IO_OK);
    }
    assert_true(passes >= 3);
    assert_int_equal(play(&g, pass), IO_OK);
    assert_int_equal(count(g.sim, "wake/entries/"), 150);
    stage_close(&g);
}

static void test_retirement_only_rises(void **state)
{
    (void)state;
    struct stage g;
    stage_open(&g, 1);
    static const struct {
        uint64_t epoch, seq, at_ms;
        int rc;
    } rows[] = {{3, 1, 500, IO_OK}, {3, 1, 500, IO_OK},     {3, 2, 0, IO_OK}, {3, 1, 500, IO_OK},
                {2, 9, 1, IO_OK},   {3, 2, 7, CD_ECORRUPT}, {4, 1, 9, IO_OK}};
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        g.retired =
            (struct store_wake_retired){{rows[i].epoch, rows[i].seq}, rows[i].at_ms != 0, rows[i].at_ms};
        if (i == 2) /* An unclear answer is looked after. */
            sim_store_rule(
                g.sim, &(struct sim_store_rule){.effect = SIM_STORE_LOSE_ANSWER, .op = "put", .times = 1});
        assert_int_equal(play(&g, retire), rows[i].rc);
    }
    struct sim_object o;
    struct store_wake_retired r;
    assert_true(sim_store_get_truth(g.sim, CD_STR("wake/retired/Room:x.json"), &o));
    assert_int_equal(store_wake_retired_read(&r, o.body, NULL), 0);
    assert_int_equal(r.identity.epoch, 4);
    stage_close(&g);
}

/* In rough weather: what is deleted is settled, judged by the truth at that very event. */
static void on_store(void *arg, const struct sim_store_change *c)
{
    struct stage *g = arg;
    struct store_wake_name n;
    if (c->after != NULL || c->by == NULL)
        return;
    CHECK(store_wake_entry_parse(&n, c->key));
    struct cd_buf key = {0};
    struct sim_object o;
    struct store_wake_retired r;
    store_key_wake_retired(&key, n.scope);
    CHECK(sim_store_get_truth(g->sim, cd_buf_str(&key), &o));
    CHECK_INT(store_wake_retired_read(&r, o.body, NULL), 0);
    CHECK(store_wake_settled(&r, n.identity));
    cd_buf_deinit(&key);
}

static void test_in_rough_weather_nothing_is_deleted_that_is_not_settled(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct stage g;
        stage_open(&g, seed);
        struct cd_rng rng;
        sim_rng(g.sim, "plan", &rng);
        for (unsigned i = 0; i < 40; i++) {
            char cell[32];
            (void)snprintf(cell, sizeof cell, "C:%02u", (unsigned)cd_rng_below(&rng, 10));
            put_entry(&g, cell, 1 + cd_rng_below(&rng, 3), 1 + cd_rng_below(&rng, 3),
                      now_ms(&g) + cd_rng_below(&rng, 200000));
        }
        sim_store_set(g.sim, &(struct sim_store_opts){.latency_ns = IO_MS(5),
                                                      .jitter_ns = IO_MS(50),
                                                      .throttle_ppm = 50000,
                                                      .fail_ppm = 50000,
                                                      .lose_request_ppm = 50000,
                                                      .lose_answer_ppm = 50000,
                                                      .late_ppm = 50000});
        sim_on_store(g.sim, on_store, &g);
        for (unsigned i = 0; i < 8; i++) {
            char cell[32];
            (void)snprintf(cell, sizeof cell, "C:%02u", (unsigned)cd_rng_below(&rng, 10));
            put_retired(&g, cell, 1 + cd_rng_below(&rng, 4), 1 + cd_rng_below(&rng, 3),
                        cd_rng_below(&rng, 2) == 0);
            assert_int_equal(play(&g, pass), IO_OK);
            sim_run_for(g.sim, IO_SEC(cd_rng_below(&rng, 120)));
        }
        stage_close(&g);
    }
}

static void test_a_crash_in_any_call_of_a_pass_leaves_nothing(void **state)
{
    (void)state;
    bool hit = true;
    for (uint64_t k = 1; hit; k++) {
        struct stage g;
        stage_open(&g, k);
        struct store_alarm item = {CD_STR("C:p"), {3, 1}, now_ms(&g)};
        struct cd_buf key = {0};
        put_pack(&g, &item, 1, &key);
        put_entry(&g, "C:x", 3, 1, now_ms(&g));
        put_retired(&g, "C:x", 3, 1, false);
        put_owner(&g, "C:p", "gone", '2');
        hit = false;
        assert_true(sim_at_call(g.node, "any", k, SIM_DIE_KILL, 0, &hit));
        g.flow = pass;
        g.done = false;
        (void)io_spawn(g.io, "flow", flow, &g);
        sim_run_for(g.sim, IO_SEC(60));
        assert_true(g.done);
        assert_int_equal(g.rc, hit ? IO_CANCELED : IO_OK);
        cd_buf_deinit(&key);
        stage_close(&g);
    }
}

/* ---- The format mark ---- */

static void test_an_empty_bucket_gets_the_mark_and_an_unclear_one_does_not(void **state)
{
    (void)state;
    static const struct {
        const char *mark, *key;
        int rc;
    } rows[] = {
        {NULL, NULL, IO_OK},
        {"{\"format\":2,\"state\":\"initializing\"}", NULL, IO_OK},
        {"{\"format\":2,\"state\":\"ready\"}", "wake/entries/000000000001/C:x/3.1", IO_OK},
        {NULL, "wake/entries/000000000001/C:x/3.1", CD_EUNSUPPORTED},
        {NULL, "wake/packs/x", CD_EUNSUPPORTED},
        {"{\"format\":2,\"state\":\"initializing\"}", "wake/retired/x.json", CD_EUNSUPPORTED},
        {"{\"format\":3,\"state\":\"ready\"}", NULL, CD_EUNSUPPORTED},
        {"what is this", NULL, CD_EUNSUPPORTED},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        for (unsigned lossy = 0; lossy < 2; lossy++) {
            struct stage g;
            stage_open(&g, 1);
            if (rows[i].mark != NULL)
                sim_store_put_truth(g.sim, CD_STR(STORE_KEY_WAKE_FORMAT), cd_str(rows[i].mark));
            if (rows[i].key != NULL)
                sim_store_put_truth(g.sim, cd_str(rows[i].key), CD_STR("{}"));
            if (lossy)
                sim_store_rule(g.sim, &(struct sim_store_rule){
                                          .effect = SIM_STORE_LOSE_ANSWER, .op = "put", .times = 2});
            assert_int_equal(play(&g, format), rows[i].rc);
            struct sim_object o;
            bool ready = false;
            bool there = sim_store_get_truth(g.sim, CD_STR(STORE_KEY_WAKE_FORMAT), &o);
            if (rows[i].rc == IO_OK)
                assert_true(there && store_wake_format_read(&ready, o.body, NULL) == 0 && ready);
            else
                assert_true(g.why.len > 10 && there == (rows[i].mark != NULL));
            stage_close(&g);
        }
    }
}

static void another_starter(struct sim *sim, void *arg)
{
    (void)arg;
    sim_store_put_truth(sim, CD_STR(STORE_KEY_WAKE_FORMAT), CD_STR("{\"format\":2,\"state\":\"ready\"}"));
    sim_store_put_truth(sim, CD_STR("wake/entries/000000000001/C:x/3.1"), CD_STR("{}"));
}

static void test_a_starter_that_was_faster_is_no_unknown_format(void **state)
{
    (void)state;
    for (unsigned ms = 0; ms < 80; ms += 2) {
        struct stage g;
        stage_open(&g, 1 + ms);
        sim_at(g.sim, IO_MS(ms), another_starter, NULL);
        assert_int_equal(play(&g, format), IO_OK);
        stage_close(&g);
    }
}

CD_TESTS(waker, cmocka_unit_test(test_due_cells_of_nobody_alive_are_looked_at_once),
         cmocka_unit_test(test_without_the_role_only_own_cells_are_looked_at),
         cmocka_unit_test(test_an_entry_goes_when_it_is_settled_and_not_before),
         cmocka_unit_test(test_what_does_not_parse_is_never_deleted),
         cmocka_unit_test(test_a_pack_is_read_once_and_goes_when_all_of_it_is_settled),
         cmocka_unit_test(test_the_collector_goes_round_in_pages),
         cmocka_unit_test(test_retirement_only_rises),
         cmocka_unit_test(test_in_rough_weather_nothing_is_deleted_that_is_not_settled),
         cmocka_unit_test(test_a_crash_in_any_call_of_a_pass_leaves_nothing),
         cmocka_unit_test(test_an_empty_bucket_gets_the_mark_and_an_unclear_one_does_not),
         cmocka_unit_test(test_a_starter_that_was_faster_is_no_unknown_format))
