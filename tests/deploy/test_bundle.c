/* The parts of bundling that are text. */
#include "deploy/bundle_internal.h"
#include "support/test.h"

static void test_which_versions_of_the_bundler_will_do(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        bool yes;
    } rows[] = {{"0.21.0\n", true}, {"0.28.2", true}, {"1.0.0", true},   {"0.20.9", false},
                {"0.9.9", false},   {"", true},       {"nightly", true}, {"0.21.beta", true}};
    for (size_t i = 0; i < CD_COUNT(rows); i++)
        assert_int_equal(deploy_esbuild_is_recent(cd_str(rows[i].version)), rows[i].yes);
}

static void rebased(const char *sources, const char *want)
{
    struct cd_buf map = {0}, out = {0}, why = {0};
    cd_buf_addf(
        &map,
        "{\"version\":3,\"sources\":[%s],\"sourcesContent\":null,\"mappings\":\"AAAA\",\"names\":[\"a\"]}",
        sources);
    int rc = deploy_source_map_rebase(&out, cd_buf_str(&map), CD_STR(".celld/build-1/out"), &why);
    if (rc != 0)
        fail_msg("%s", cd_buf_cstr(&why));
    cd_buf_clear(&map);
    cd_buf_addf(&map, "{\"version\":3,\"sources\":[%s],\"names\":[\"a\"],\"mappings\":\"AAAA\"}", want);
    assert_str_is(cd_buf_str(&out), cd_buf_cstr(&map));
    cd_buf_deinit(&map);
    cd_buf_deinit(&out);
}

static void test_sources_of_a_map_become_relative_to_the_project(void **state)
{
    struct cd_buf out = {0}, why = {0};
    (void)state;
    rebased("\"../../../src/a.ts\",null", "\"src/a.ts\",null");
    rebased("\"../../../../lib/b.js\"", "\"../lib/b.js\"");
    rebased("\"x.js\",\"../y.js\"", "\".celld/build-1/out/x.js\",\".celld/build-1/y.js\"");
    rebased("\"/abs.js\",\"ns:thing\",\"https://h/x\"", "\"/abs.js\",\"ns:thing\",\"https://h/x\"");
    static const char *const bad[] = {"", "{}", "{\"version\":2,\"sources\":[],\"mappings\":\"\"}",
                                      "{\"version\":3,\"sources\":{},\"mappings\":\"\"}",
                                      "{\"version\":3,\"sources\":[]}"};
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_int_equal(deploy_source_map_rebase(&out, cd_str(bad[i]), CD_STR("o"), &why), CD_ECORRUPT);
    assert_int_equal(out.len, 0);
    cd_buf_deinit(&why);
}

static void test_inputs_of_a_metafile(void **state)
{
    struct deploy_bundle b = {0};
    struct cd_buf why = {0};
    (void)state;
    assert_int_equal(deploy_metafile_read(&b,
                                          CD_STR("{\"inputs\":{\"src/a.ts\":{},\"<define:x>\":{},"
                                                 "\"(disabled):node_modules/m/fs.js\":{}},\"outputs\":{}}"),
                                          &why),
                     0);
    assert_int_equal(b.input_count, 2);
    assert_str_is(b.inputs[0], "src/a.ts");
    assert_str_is(b.inputs[1], "node_modules/m/fs.js");
    deploy_bundle_deinit(&b);
    assert_int_equal(deploy_metafile_read(&b, CD_STR("{"), &why), CD_ECORRUPT);
    cd_buf_deinit(&why);
    deploy_bundle_deinit(&b);
}

static void test_exports_of_a_metafile(void **state)
{
    struct deploy_bundle b = {0};
    struct cd_buf why = {0};
    (void)state;
    assert_int_equal(
        deploy_metafile_read(
            &b,
            CD_STR("{\"inputs\":{},\"outputs\":{\"index.js.map\":{\"exports\":[]},"
                   "\"index.js\":{\"entryPoint\":\"a.ts\",\"exports\":[\"default\",\"Room\"]}}}"),
            &why),
        0);
    assert_int_equal(b.export_count, 2);
    assert_str_is(b.exports[1], "Room");
    deploy_bundle_deinit(&b);
    assert_int_equal(deploy_metafile_read(&b, CD_STR("{\"inputs\":{},\"outputs\":{}}"), &why), 0);
    assert_null(b.exports);
    deploy_bundle_deinit(&b);
    cd_buf_deinit(&why);
}

static void test_modules_are_sorted_and_bounded(void **state)
{
    struct deploy_bundle b = {0};
    struct cd_buf why = {0};
    (void)state;
    (void)deploy_bundle_add(&b, CD_STR("index.js"), DEPLOY_MODULE_JS);
    (void)deploy_bundle_add(&b, CD_STR("z.wasm"), DEPLOY_MODULE_WASM);
    struct deploy_module *last = deploy_bundle_add(&b, CD_STR("a.wasm"), DEPLOY_MODULE_WASM);
    (void)cd_buf_reserve(&last->bytes, DEPLOY_BYTES_MAX + 1);
    last->bytes.len = DEPLOY_BYTES_MAX;
    assert_int_equal(deploy_bundle_check(&b, &why), 0);
    assert_str_is(b.modules[0].name, "index.js");
    assert_str_is(b.modules[1].name, "a.wasm");
    b.modules[1].bytes.len++;
    assert_int_equal(deploy_bundle_check(&b, &why), CD_ETOOBIG);
    assert_str_is(cd_buf_str(&why), "the modules have 67108865 bytes, at most 67108864 are allowed");
    cd_buf_deinit(&why);
    deploy_bundle_deinit(&b);
}

CD_TESTS(bundle, cmocka_unit_test(test_which_versions_of_the_bundler_will_do),
         cmocka_unit_test(test_sources_of_a_map_become_relative_to_the_project),
         cmocka_unit_test(test_inputs_of_a_metafile), cmocka_unit_test(test_exports_of_a_metafile),
         cmocka_unit_test(test_modules_are_sorted_and_bounded))
