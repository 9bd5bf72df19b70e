/* Manifests and pointers as text. */
#include "deploy/fixture.h"

#include "deploy/compat.h"

static void seal(struct deploy_app *a, struct cd_buf *manifest)
{
    cd_buf_clear(manifest);
    deploy_app_seal(a, manifest);
}

static void test_the_digest_is_sha256(void **state)
{
    char hex[DEPLOY_SHA256_LEN + 1];
    (void)state;
    deploy_sha256(CD_STR(""), hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    deploy_sha256(CD_STR("abc"), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_the_version_covers_what_the_specification_says(void **state)
{
    struct deploy_app *a = fixture_app("hello", "export default {}");
    struct cd_buf manifest = {0}, input = {0};
    char hex[DEPLOY_SHA256_LEN + 1];
    (void)state;
    seal(a, &manifest);
    /* Modules by name, each as name, NUL, bytes; then the metadata as it stands in the manifest. */
    cd_buf_add(&input, "add.wasm\0\1\2\3index.js\0export default {}", 38);
    size_t at = cd_str_find_str(cd_buf_str(&manifest), CD_STR("\"raw_metadata\":"), 0);
    assert_true(at != SIZE_MAX);
    struct cd_str metadata = cd_str_sub(cd_buf_str(&manifest), at + 15, manifest.len - at - 16);
    cd_buf_add_str(&input, metadata);
    deploy_sha256(cd_buf_str(&input), hex);
    hex[DEPLOY_VERSION_LEN] = 0;
    assert_string_equal(a->version, hex);
    assert_str_is(metadata,
                  "{\"bindings\":[{\"type\":\"service\",\"name\":\"API\",\"service\":\"api\",\"entrypoint\":"
                  "\"Admin\"},{\"type\":\"plain_text\",\"name\":\"GREETING\",\"text\":\"hello \\\"you\\\"\"},"
                  "{\"type\":\"json\",\"name\":\"LIMITS\",\"json\":{\"max\":18446744073709551616,\"of\":[1,"
                  "null]}}],\"main_module\":\"index.js\",\"compatibility_date\":\"2026-03-01\","
                  "\"compatibility_flags\":[]}");
    cd_buf_deinit(&manifest);
    cd_buf_deinit(&input);
    deploy_app_free(a);
}

static void test_crons_and_source_maps_are_not_part_of_the_version(void **state)
{
    struct deploy_app *a = fixture_app("hello", "x"), *b = fixture_app("hello", "x");
    struct cd_buf one = {0}, two = {0};
    struct cd_str cron = CD_STR("* * * * *");
    (void)state;
    b->crons = cd_alloc(sizeof cron);
    b->crons[b->cron_count++] = cron;
    cd_buf_add_str(&b->modules[0].source_map, CD_STR("{\"version\":3}"));
    seal(a, &one);
    seal(b, &two);
    assert_string_equal(a->version, b->version);
    assert_string_not_equal(a->manifest_sha256, b->manifest_sha256);
    cd_buf_deinit(&one);
    cd_buf_deinit(&two);
    deploy_app_free(a);
    deploy_app_free(b);
}

static void test_each_input_changes_the_version(void **state)
{
    struct cd_buf manifest = {0};
    char versions[6][DEPLOY_VERSION_LEN + 1];
    (void)state;
    for (unsigned i = 0; i < CD_COUNT(versions); i++) {
        struct deploy_app *a = fixture_app("hello", i == 1 ? "y" : "x");
        if (i == 2)
            a->modules[1].name = CD_STR("sub.wasm");
        if (i == 3)
            a->bindings[1].text = CD_STR("other");
        if (i == 4)
            a->compatibility_date = CD_STR("2026-03-02");
        if (i == 5)
            a->binding_count--;
        seal(a, &manifest);
        memcpy(versions[i], a->version, sizeof versions[i]);
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(versions[i], versions[j]);
        deploy_app_free(a);
    }
    cd_buf_deinit(&manifest);
}

static void test_a_manifest_reads_back_as_it_was(void **state)
{
    struct deploy_app *a = fixture_app("hello", "x"), *b = cd_new(struct deploy_app);
    struct cd_buf manifest = {0}, why = {0};
    (void)state;
    cd_buf_add_str(&a->modules[0].source_map, CD_STR("{\"version\":3}"));
    seal(a, &manifest);
    assert_int_equal(deploy_manifest_read(b, cd_buf_str(&manifest), cd_str(a->manifest_sha256), &why), 0);
    assert_str_is(b->script, "hello");
    assert_string_equal(b->version, a->version);
    assert_true(cd_str_eq(b->prefix, a->prefix));
    assert_int_equal(b->module_count, 2);
    assert_str_is(b->modules[0].name, "add.wasm");
    assert_int_equal(b->modules[0].kind, DEPLOY_MODULE_WASM);
    assert_int_equal(b->modules[0].size, 3);
    assert_ptr_equal(b->main_module, &b->modules[1]);
    assert_int_equal(b->main_module->map_size, 13);
    assert_int_equal(b->binding_count, 3);
    assert_str_is(b->bindings[0].service.entrypoint, "Admin");
    assert_str_is(b->bindings[1].text, "hello \"you\"");
    assert_str_is(b->bindings[2].json, "{\"max\":18446744073709551616,\"of\":[1,null]}");
    assert_true((b->compat >> DEPLOY_DELETE_ALL_DELETES_ALARM & 1) != 0);
    assert_true((b->compat >> DEPLOY_WEBSOCKET_BLOBS & 1) == 0);
    assert_null(deploy_app_lacks(b));
    cd_buf_deinit(&manifest);
    deploy_app_free(a);
    deploy_app_free(b);
}

/* Reads the fixture's manifest with one piece of it replaced. */
static int read_with(const char *old, const char *new, struct cd_buf *why)
{
    struct deploy_app *a = fixture_app("hello", "x"), *b = cd_new(struct deploy_app);
    struct cd_buf manifest = {0}, other = {0};
    seal(a, &manifest);
    struct cd_str text = cd_buf_str(&manifest);
    size_t at = cd_str_find_str(text, cd_str(old), 0);
    assert_true(at != SIZE_MAX);
    cd_buf_add_str(&other, cd_str_sub(text, 0, at));
    cd_buf_add_str(&other, cd_str(new));
    cd_buf_add_str(&other, cd_str_sub(text, at + strlen(old), SIZE_MAX));
    cd_buf_clear(why);
    int rc = deploy_manifest_read(b, cd_buf_str(&other), (struct cd_str){0}, why);
    assert_int_equal(rc != 0, why->len > 0);
    cd_buf_deinit(&manifest);
    cd_buf_deinit(&other);
    deploy_app_free(a);
    deploy_app_free(b);
    return rc;
}

static void test_a_manifest_that_is_wrong_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new;
        int rc;
    } rows[] = {
        {"\"schema_version\":1", "\"schema_version\":3", CD_EUNSUPPORTED},
        {"\"schema_version\":1", "\"schema_version\":2", 0},
        {"\"script_name\":\"hello\"", "\"script_name\":\"../x\"", CD_EINVAL},
        {"\"script_name\":\"hello\"", "\"script_name\":1", CD_ECORRUPT},
        {"\"version\":\"", "\"version\":\"0", CD_ECORRUPT},
        {"\"main_module\":\"index.js\"", "\"main_module\":\"other.js\"", CD_ECORRUPT},
        {"\"main_module\":\"index.js\"", "\"main_module\":\"add.wasm\"", CD_ECORRUPT},
        {"\"main_module\":\"index.js\"", "\"main_module\":null", 0},
        {"\"name\":\"add.wasm\"", "\"name\":\"../add.wasm\"", CD_ECORRUPT},
        {"\"name\":\"add.wasm\"", "\"name\":\"manifest.json\"", CD_ECORRUPT},
        {"\"name\":\"add.wasm\"", "\"name\":\"index.js\"", CD_ECORRUPT},
        {"\"name\":\"add.wasm\"", "\"name\":\"z.wasm\"", CD_ECORRUPT},
        {"\"bytes\":3", "\"bytes\":67108864", CD_ETOOBIG},
        {"\"bytes\":3", "\"bytes\":-3", CD_ETOOBIG},
        {"\"kind\":\"wasm\"", "\"kind\":\"cobol\"", CD_EUNSUPPORTED},
        {"\"kind\":\"wasm\"", "\"kind\":7", CD_ECORRUPT},
        {"\"wasm-v1\"", "\"wasm-v1\",\"teleport-v1\"", CD_EUNSUPPORTED},
        {"\"wasm-v1\"", "\"kv-v1\"", CD_EUNSUPPORTED},
        {"\"wasm-v1\"", "1", CD_ECORRUPT},
        {"\"type\":\"service\"", "\"type\":\"teleport\"", CD_EUNSUPPORTED},
        {"\"name\":\"API\"", "\"name\":\"GREETING\"", CD_ECORRUPT},
        {"\"name\":\"API\"", "\"name\":\"\"", CD_ECORRUPT},
        {"\"service\":\"api\"", "\"service\":1", CD_ECORRUPT},
        {"\"entrypoint\":\"Admin\"", "\"entrypoint\":null", 0},
        {"\"text\":", "\"txet\":", CD_ECORRUPT},
        {"\"raw_metadata\":{", "\"raw_metadata\":{\"later\":[1],", 0},
        {"\"raw_metadata\"", "\"wrong_metadata\"", CD_ECORRUPT},
        {"\"compatibility_flags\":[]", "\"compatibility_flags\":[\"js_rpc\"]", 0},
        {"\"compatibility_flags\":[]",
         "\"compatibility_flags\":[\"queues_json_messages\",\"no_queues_json_messages\"]", CD_ECORRUPT},
        {"\"do_classes\":[]", "\"do_classes\":{}", CD_ECORRUPT},
        {"{\"schema", "{{\"schema", CD_ECORRUPT},
    };
    struct cd_buf why = {0};
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        int rc = read_with(rows[i].old, rows[i].new, &why);
        if (rc != rows[i].rc)
            fail_msg("%s -> %s: %d (%s), want %d", rows[i].old, rows[i].new, rc, cd_buf_cstr(&why),
                     rows[i].rc);
    }
    (void)read_with("\"wasm-v1\"", "\"kv-v1\"", &why);
    assert_str_is(cd_buf_str(&why), "deployment requires feature kv-v1, which this celld build does not "
                                    "support; upgrade celld");
    cd_buf_deinit(&why);
}

static void test_a_manifest_must_have_the_digest_of_the_pointer(void **state)
{
    struct deploy_app *a = fixture_app("hello", "x"), *b = cd_new(struct deploy_app);
    struct cd_buf manifest = {0}, why = {0};
    (void)state;
    seal(a, &manifest);
    a->manifest_sha256[0] ^= 1;
    assert_int_equal(deploy_manifest_read(b, cd_buf_str(&manifest), cd_str(a->manifest_sha256), &why),
                     CD_ECORRUPT);
    assert_true(cd_str_starts(cd_buf_str(&why), CD_STR("manifest digest mismatch")));
    cd_buf_deinit(&manifest);
    cd_buf_deinit(&why);
    deploy_app_free(a);
    deploy_app_free(b);
}

static void test_the_bytes_of_a_module_are_verified(void **state)
{
    struct cd_buf bytes = {0}, why = {0};
    struct deploy_module m = {.name = CD_STR("a.js"), .size = 3};
    (void)state;
    /* An old manifest has the first 16 digits; what is kept are all. */
    memcpy(m.sha256, "ba7816bf8f01cfea", 17);
    cd_buf_add_str(&bytes, CD_STR("abd"));
    assert_int_equal(deploy_module_take(&m, &bytes, &why), CD_ECORRUPT);
    assert_true(cd_str_starts(cd_buf_str(&why), CD_STR("module a.js digest mismatch")));
    bytes.ptr[2] = 'c';
    m.size = 4;
    assert_int_equal(deploy_module_take(&m, &bytes, &why), CD_ECORRUPT);
    m.size = 3;
    assert_int_equal(deploy_module_take(&m, &bytes, &why), 0);
    assert_str_is(cd_buf_str(&m.bytes), "abc");
    assert_int_equal(strlen(m.sha256), DEPLOY_SHA256_LEN);
    cd_buf_deinit(&m.bytes);
    cd_buf_deinit(&bytes);
    cd_buf_deinit(&why);
}

static int pointer_with(const char *text, struct cd_buf *why)
{
    struct cd_json_doc *doc;
    struct deploy_pointer p;
    cd_buf_clear(why);
    assert_int_equal(cd_json_parse(&doc, cd_str(text), why), 0);
    int rc = deploy_pointer_read(&p, doc, why);
    cd_json_free(doc);
    return rc;
}

static void test_pointers(void **state)
{
    struct deploy_app *a = fixture_app("hello", "x");
    struct cd_buf manifest = {0}, text = {0}, why = {0};
    (void)state;
    seal(a, &manifest);
    deploy_pointer_write(&text, a);
    assert_int_equal(pointer_with(cd_buf_cstr(&text), &why), 0);
    static const struct {
        const char *text;
        int rc;
    } rows[] = {
        {"{\"script_name\":\"a\",\"version\":\"0123456789abcdef\",\"prefix\":\"deploy/a/0123456789abcdef\"}",
         0},
        {"{\"script_name\":\"a\",\"version\":\"0123456789abcdeg\",\"prefix\":\"deploy/a/0123456789abcdeg\"}",
         CD_ECORRUPT},
        {"{\"script_name\":\"a\",\"version\":\"0123456789abcdef\",\"prefix\":\"deploy/b/0123456789abcdef\"}",
         CD_ECORRUPT},
        {"{\"script_name\":\"A\",\"version\":\"0123456789abcdef\",\"prefix\":\"deploy/A/0123456789abcdef\"}",
         CD_EINVAL},
        {"{\"script_name\":\"a\",\"version\":\"0123456789abcdef\",\"prefix\":\"deploy/a/0123456789abcdef\","
         "\"rollout\":{\"percent\":50}}",
         CD_EUNSUPPORTED},
        {"{\"script_name\":\"a\",\"version\":\"0123456789abcdef\",\"prefix\":\"deploy/a/0123456789abcdef\","
         "\"manifest_sha256\":\"12\"}",
         CD_ECORRUPT},
        {"{}", CD_ECORRUPT},
        {"[]", CD_ECORRUPT},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++)
        assert_int_equal(pointer_with(rows[i].text, &why), rows[i].rc);
    cd_buf_deinit(&manifest);
    cd_buf_deinit(&text);
    cd_buf_deinit(&why);
    deploy_app_free(a);
}

static void test_names_of_modules(void **state)
{
    (void)state;
    static const char *const good[] = {"index.js", "a/b.wasm", ".hidden", "a b", "\xc3\xa4.js"};
    static const char *const bad[] = {"",     "/a",   "a/",  "a//b", ".",           "..",           "a/../b",
                                      "a\\b", "\xff", "a\n", "./a",  "assets.json", "manifest.json"};
    for (size_t i = 0; i < CD_COUNT(good); i++)
        assert_true(deploy_module_name_ok(cd_str(good[i])));
    for (size_t i = 0; i < CD_COUNT(bad); i++)
        assert_false(deploy_module_name_ok(cd_str(bad[i])));
}

CD_TESTS(manifest, cmocka_unit_test(test_the_digest_is_sha256),
         cmocka_unit_test(test_the_version_covers_what_the_specification_says),
         cmocka_unit_test(test_crons_and_source_maps_are_not_part_of_the_version),
         cmocka_unit_test(test_each_input_changes_the_version),
         cmocka_unit_test(test_a_manifest_reads_back_as_it_was),
         cmocka_unit_test(test_a_manifest_that_is_wrong_is_refused),
         cmocka_unit_test(test_a_manifest_must_have_the_digest_of_the_pointer),
         cmocka_unit_test(test_the_bytes_of_a_module_are_verified), cmocka_unit_test(test_pointers),
         cmocka_unit_test(test_names_of_modules))
