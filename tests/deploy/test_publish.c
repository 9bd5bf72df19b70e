/* Publishing to a bucket, and loading from it. */
#include "deploy/fixture.h"
#include "deploy/publish.h"
#include "io_sim/sim_store.h"

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct cd_buf order; /* The keys that were written, in their order. */
    struct deploy_app *app; /* What flow_publish publishes, and flow_load loads. */
    struct cd_buf manifest, why;
    const char *script;
    bool named_only, moved, over;
    int rc;
};

static void note_change(void *arg, const struct sim_store_change *change)
{
    struct rig *r = arg;
    if (change->by != NULL)
        cd_buf_addf(&r->order, "%.*s\n", (int)change->key.len, change->key.ptr);
}

static void rig_open(struct rig *r)
{
    *r = (struct rig){.sim = sim_new(NULL), .script = ""};
    r->node = sim_node(r->sim, &(struct sim_node_opts){.name = "operator", .client = true});
    (void)sim_bucket(sim_io(r->node, 0), "fleet/");
    sim_on_store(r->sim, note_change, r);
}

static void rig_close(struct rig *r)
{
    sim_free(r->sim);
    deploy_app_free(r->app);
    cd_buf_deinit(&r->order);
    cd_buf_deinit(&r->manifest);
    cd_buf_deinit(&r->why);
}

static void flow_publish(void *arg)
{
    struct rig *r = arg;
    struct io *io = io_current();
    struct deploy_publish p = {io, io_bucket(io), r->app, cd_buf_str(&r->manifest), r->named_only, false};
    r->rc = deploy_publish(&p, &r->why);
    r->moved = p.moved;
    r->over = true;
}

static void flow_load(void *arg)
{
    struct rig *r = arg;
    struct io *io = io_current();
    r->rc = deploy_load(&r->app, io, io_bucket(io), cd_str(r->script), &r->why);
    r->over = true;
}

static bool is_over(void *arg)
{
    return ((struct rig *)arg)->over;
}

static int rig_run(struct rig *r, void (*flow)(void *arg))
{
    r->over = false;
    cd_buf_clear(&r->why);
    cd_buf_clear(&r->order);
    (void)io_spawn(sim_io(r->node, 0), "test", flow, r);
    assert_true(sim_run_until(r->sim, is_over, r, IO_SEC(600)));
    assert_int_equal(r->rc != 0, r->why.len > 0);
    return r->rc;
}

static int publish(struct rig *r, struct deploy_app *app)
{
    deploy_app_free(r->app);
    r->app = app;
    cd_buf_clear(&r->manifest);
    deploy_app_seal(app, &r->manifest);
    return rig_run(r, flow_publish);
}

static int load(struct rig *r, const char *script)
{
    deploy_app_free(r->app);
    r->app = NULL;
    r->script = script;
    return rig_run(r, flow_load);
}

static void test_what_was_published_is_loaded(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    struct deploy_app *a = fixture_app("hello", "export default {}");
    cd_buf_add_str(&a->modules[0].source_map, CD_STR("{\"version\":3}"));
    assert_int_equal(publish(&r, a), 0);
    assert_true(r.moved);
    struct cd_buf want = {0};
    cd_buf_addf(
        &want,
        "fleet/deploy/hello/%s/add.wasm\nfleet/deploy/hello/%s/index.js\nfleet/deploy/hello/%s/index.js.map"
        "\nfleet/deploy/hello/%s/manifest.json\nfleet/deploy/hello/current.json\nfleet/deploy/current.json\n",
        a->version, a->version, a->version, a->version);
    assert_str_is(cd_buf_str(&r.order), cd_buf_cstr(&want));
    cd_buf_deinit(&want);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(load(&r, i == 0 ? "" : "hello"), 0);
        assert_str_is(r.app->script, "hello");
        assert_str_is(cd_buf_str(&r.app->main_module->bytes), "export default {}");
        assert_str_is(cd_buf_str(&r.app->main_module->source_map), "{\"version\":3}");
        assert_str_is(cd_buf_str(&r.app->modules[0].bytes), "\1\2\3");
        assert_int_equal(r.app->binding_count, 3);
    }
    rig_close(&r);
}

static void test_publishing_the_same_again_writes_nothing(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    assert_false(r.moved);
    assert_int_equal(r.order.len, 0);
    rig_close(&r);
}

static void test_going_back_moves_the_pointers_alone(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    assert_int_equal(publish(&r, fixture_app("hello", "y")), 0);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    assert_str_is(cd_buf_str(&r.order), "fleet/deploy/hello/current.json\nfleet/deploy/current.json\n");
    rig_close(&r);
}

static void test_a_service_target_leaves_the_application_alone(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("front", "x")), 0);
    r.named_only = true;
    assert_int_equal(publish(&r, fixture_app("api", "y")), 0);
    assert_int_equal(load(&r, ""), 0);
    assert_str_is(r.app->script, "front");
    assert_int_equal(load(&r, "api"), 0);
    assert_str_is(r.app->script, "api");
    assert_int_equal(load(&r, "nobody"), IO_NOENT);
    assert_str_is(cd_buf_str(&r.why), "deploy/nobody/current.json: not found");
    rig_close(&r);
}

static void test_a_pointer_that_moved_meanwhile_is_left_alone(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    /* The answer to our write of the fleet's pointer comes late, and another deploy lands before it does. */
    sim_store_rule(r.sim, &(struct sim_store_rule){.effect = SIM_STORE_LATE,
                                                   .op = "put",
                                                   .pattern = "*deploy/current.json",
                                                   .ns = IO_SEC(5)});
    deploy_app_free(r.app);
    r.app = fixture_app("hello", "y");
    cd_buf_clear(&r.manifest);
    deploy_app_seal(r.app, &r.manifest);
    r.over = false;
    (void)io_spawn(sim_io(r.node, 0), "test", flow_publish, &r);
    sim_run_for(r.sim, IO_SEC(2));
    assert_false(r.over);
    sim_store_put_truth(r.sim, CD_STR("fleet/deploy/current.json"), CD_STR("theirs"));
    assert_true(sim_run_until(r.sim, is_over, &r, IO_SEC(60)));
    assert_int_equal(r.rc, IO_CONFLICT);
    assert_str_is(cd_buf_str(&r.why), "write deploy/current.json lost a race\nAnother deploy may have landed "
                                      "first; re-run `celld deploy`.");
    struct sim_object o;
    assert_true(sim_store_get_truth(r.sim, CD_STR("fleet/deploy/current.json"), &o));
    assert_str_is(o.body, "theirs");
    rig_close(&r);
}

static void test_an_unclear_answer_is_read_back(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    sim_store_rule(r.sim, &(struct sim_store_rule){
                              .effect = SIM_STORE_LOSE_ANSWER, .op = "put", .pattern = "*/current.json"});
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    assert_true(r.moved);
    assert_int_equal(load(&r, ""), 0);
    sim_store_heal(r.sim);
    sim_store_rule(r.sim, &(struct sim_store_rule){
                              .effect = SIM_STORE_LOSE_REQUEST, .op = "put", .pattern = "*/current.json"});
    assert_int_equal(publish(&r, fixture_app("hello", "y")), IO_TIMEDOUT);
    assert_false(r.moved);
    rig_close(&r);
}

/* A deploy that is cut off anywhere leaves the old deployment whole, and can be repeated. */
static void test_a_deploy_cut_off_anywhere_changes_nothing_or_all(void **state)
{
    unsigned cuts = 0;
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct rig r;
        bool hit = false;
        rig_open(&r);
        assert_int_equal(publish(&r, fixture_app("hello", "old")), 0);
        assert_true(sim_at_call(r.node, "store", k, SIM_FAIL, IO_DENIED, &hit));
        int rc = publish(&r, fixture_app("hello", "new"));
        assert_true(sim_at_call(r.node, "store", 0, SIM_FAIL, 0, NULL));
        assert_int_equal(load(&r, ""), 0);
        struct cd_str got = cd_buf_str(&r.app->main_module->bytes);
        assert_true(cd_str_eq(got, CD_STR("new")) || (rc != 0 && cd_str_eq(got, CD_STR("old"))));
        assert_int_equal(publish(&r, fixture_app("hello", "new")), 0);
        assert_int_equal(load(&r, ""), 0);
        assert_str_is(cd_buf_str(&r.app->main_module->bytes), "new");
        rig_close(&r);
        if (!hit)
            break;
        cuts++;
    }
    assert_true(cuts >= 8);
}

static void test_damage_is_told(void **state)
{
    struct rig r;
    struct cd_buf key = {0};
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("hello", "x")), 0);
    cd_buf_addf(&key, "fleet/deploy/hello/%s/index.js", r.app->version);
    sim_store_put_truth(r.sim, cd_buf_str(&key), CD_STR("y"));
    assert_int_equal(load(&r, ""), CD_ECORRUPT);
    assert_true(cd_str_starts(cd_buf_str(&r.why), CD_STR("module index.js digest mismatch")));
    sim_store_put_truth(r.sim, cd_buf_str(&key), CD_STR("xx"));
    assert_int_equal(load(&r, ""), CD_ECORRUPT);
    sim_store_delete_truth(r.sim, cd_buf_str(&key));
    assert_int_equal(load(&r, ""), CD_ECORRUPT);
    sim_store_put_truth(r.sim, cd_buf_str(&key), CD_STR("x"));
    assert_int_equal(load(&r, ""), 0);
    sim_store_put_truth(r.sim, CD_STR("fleet/deploy/current.json"), CD_STR("{"));
    assert_int_equal(load(&r, ""), CD_ECORRUPT);
    cd_buf_deinit(&key);
    rig_close(&r);
}

static void test_an_empty_module_is_a_module(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    assert_int_equal(publish(&r, fixture_app("hello", "")), 0);
    assert_int_equal(load(&r, ""), 0);
    assert_int_equal(r.app->main_module->bytes.len, 0);
    rig_close(&r);
}

CD_TESTS(publish, cmocka_unit_test(test_what_was_published_is_loaded),
         cmocka_unit_test(test_publishing_the_same_again_writes_nothing),
         cmocka_unit_test(test_going_back_moves_the_pointers_alone),
         cmocka_unit_test(test_a_service_target_leaves_the_application_alone),
         cmocka_unit_test(test_a_pointer_that_moved_meanwhile_is_left_alone),
         cmocka_unit_test(test_an_unclear_answer_is_read_back),
         cmocka_unit_test(test_a_deploy_cut_off_anywhere_changes_nothing_or_all),
         cmocka_unit_test(test_damage_is_told), cmocka_unit_test(test_an_empty_module_is_a_module))
