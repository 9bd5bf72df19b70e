/* Whether the record of a build notices what would change it. */
#include "deploy/fingerprint.h"
#include "io_sim/io_sim.h"
#include "support/test.h"

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct deploy_project project;
    struct deploy_build build;
    struct cd_str inputs[4];
    struct deploy_fingerprint print;
};

static void put(struct rig *r, const char *path, const char *text)
{
    sim_disk_put(r->node, path, cd_str(text));
}

/* What a program writes has a time, as what is put there by hand has not. */
static void change(struct rig *r, const char *path, const char *text)
{
    struct io_file f = {0};
    assert_int_equal(io_file_open(&f, r->io, path, IO_FILE_CREATE | IO_FILE_TRUNCATE), IO_OK);
    assert_int_equal(io_file_pwrite(&f, text, strlen(text), 0), IO_OK);
    assert_int_equal(io_file_close(&f), IO_OK);
}

/* A project of two files and a package, built a while ago. */
static void rig_open(struct rig *r)
{
    *r = (struct rig){.sim = sim_new(NULL)};
    r->node = sim_node(r->sim, &(struct sim_node_opts){.name = "machine"});
    r->io = sim_io(r->node, 0);
    put(r, "/p/wrangler.json", "{}");
    put(r, "/p/src/a.js", "one");
    put(r, "/p/src/b.js", "two");
    put(r, "/p/node_modules/x/lib/i.js", "lib");
    put(r, "/p/node_modules/x/package.json", "{}");
    r->project.root = CD_STR("/p");
    r->project.file = CD_STR("/p/wrangler.json");
    r->inputs[0] = CD_STR("src/a.js");
    r->inputs[1] = CD_STR("/p/src/b.js");
    r->inputs[2] = CD_STR("node_modules/x/lib/i.js");
    r->build.inputs = r->inputs;
    r->build.input_count = 3;
    sim_run_for(r->sim, IO_SEC(5));
    r->print.begun_ms = io_wall_ms(r->io);
    deploy_fingerprint_identify(&r->print, r->inputs, 2);
    deploy_fingerprint_add(&r->print, r->io, &r->project, &r->build);
    struct deploy_app app = {.script = CD_STR("s"), .version = "0123456789abcdef", .manifest_sha256 = "ab"};
    deploy_fingerprint_published(&r->print, &app);
    sim_run_for(r->sim, IO_SEC(5));
}

static void rig_close(struct rig *r)
{
    deploy_fingerprint_deinit(&r->print);
    sim_free(r->sim);
}

static bool holds(struct rig *r)
{
    return deploy_fingerprint_holds(&r->print, r->io, false);
}

static void test_it_holds_while_nothing_changes(void **state)
{
    struct rig r;
    struct deploy_fingerprint again = {0};
    struct cd_buf text = {0};
    (void)state;
    rig_open(&r);
    assert_true(holds(&r));
    assert_true(deploy_fingerprint_holds(&r.print, r.io, true));
    deploy_fingerprint_write(&text, &r.print);
    assert_int_equal(deploy_fingerprint_read(&again, cd_buf_str(&text)), 0);
    assert_string_equal(again.identity, r.print.identity);
    assert_int_equal(again.app_count, 1);
    assert_str_is(again.app[0].version, "0123456789abcdef");
    assert_true(deploy_fingerprint_holds(&again, r.io, true));
    deploy_fingerprint_deinit(&again);
    cd_buf_deinit(&text);
    rig_close(&r);
}

static void test_each_change_is_noticed(void **state)
{
    (void)state;
    static const char *const changed[][2] = {
        {"/p/src/a.js", "1"},
        {"/p/src/b.js", "TWO"},
        {"/p/node_modules/x/lib/i.js", "new"},
        {"/p/node_modules/x/package.json", "{\"main\":1}"},
        {"/p/node_modules/x/lib/package.json", "{}"},
        {"/p/package.json", "{}"},
        {"/p/src/tsconfig.json", "{}"},
        {"/p/src/a.ts", "would be found first"},
        {"/p/.dev.vars", "A=1"},
        {"/p/wrangler.jsonc", "{}"},
        {"/p/wrangler.json", "{ }"},
    };
    for (size_t i = 0; i < CD_COUNT(changed); i++) {
        struct rig r;
        rig_open(&r);
        change(&r, changed[i][0], changed[i][1]);
        if (holds(&r))
            fail_msg("%s was not noticed", changed[i][0]);
        rig_close(&r);
    }
    struct rig r;
    rig_open(&r);
    assert_int_equal(io_path_remove(r.io, "/p/src/b.js"), IO_OK);
    assert_false(holds(&r));
    rig_close(&r);
}

static void test_what_does_not_matter_is_not(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    change(&r, "/p/src/a.js", "one"); /* Another time, the same bytes. */
    change(&r, "/p/node_modules/x/lib/other.js", "x");
    put(&r, "/elsewhere/x.js", "");
    assert_true(holds(&r));
    rig_close(&r);
}

/* The bundler may have read it before or after. */
static void test_a_file_that_changed_during_the_build_never_holds(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    deploy_fingerprint_deinit(&r.print);
    r.print.begun_ms = io_wall_ms(r.io);
    sim_run_for(r.sim, IO_MS(10));
    change(&r, "/p/src/a.js", "one");
    deploy_fingerprint_add(&r.print, r.io, &r.project, &r.build);
    assert_false(holds(&r));
    rig_close(&r);
}

static void test_other_circumstances_have_another_identity(void **state)
{
    struct deploy_fingerprint a = {0}, b = {0}, c = {0};
    const struct cd_str one[] = {CD_STR("x"), CD_STR("y")}, two[] = {CD_STR("xy"), CD_STR("")};
    (void)state;
    deploy_fingerprint_identify(&a, one, 2);
    deploy_fingerprint_identify(&b, two, 2);
    deploy_fingerprint_identify(&c, one, 1);
    assert_string_not_equal(a.identity, b.identity);
    assert_string_not_equal(a.identity, c.identity);
}

static void test_what_is_no_record_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"identity\":\"\",\"files\":[],\"dirs\":[],\"apps\":[]}",
        "{\"identity\":\"12\",\"files\":[],\"dirs\":[],\"apps\":[[\"a\",\"b\",\"c\"]]}",
        "{\"identity\":\"\",\"files\":[[\"/a\",1]],\"dirs\":[],\"apps\":[[\"a\",\"b\",\"c\"]]}",
        "{\"identity\":\"\",\"files\":[],\"dirs\":[[\"/a\"]],\"apps\":[[\"a\",\"b\",\"c\"]]}",
        "{\"identity\":\"\",\"files\":[],\"dirs\":[],\"apps\":[[\"a\"]]}",
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct deploy_fingerprint f = {0};
        assert_int_equal(deploy_fingerprint_read(&f, cd_str(bad[i])), CD_ECORRUPT);
        deploy_fingerprint_deinit(&f);
    }
}

CD_TESTS(fingerprint, cmocka_unit_test(test_it_holds_while_nothing_changes),
         cmocka_unit_test(test_each_change_is_noticed), cmocka_unit_test(test_what_does_not_matter_is_not),
         cmocka_unit_test(test_a_file_that_changed_during_the_build_never_holds),
         cmocka_unit_test(test_other_circumstances_have_another_identity),
         cmocka_unit_test(test_what_is_no_record_is_refused))
