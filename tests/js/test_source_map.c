/* tests/js/test_source_map.c: places in a bundle as places in its sources. */
#include "js/source_map.h"

#include "support/test.h"

/* Two sources; the bundle's line 1 starts in a.ts 1:1, its column 5 is a.ts 3:2, line 3 is b.ts 10:1. */
#define MAP                                                                                                  \
    "{\"version\":3,\"sources\":[\"src/a.ts\",\"src/b.ts\"],\"names\":[],\"mappings\":\"AAAA,IAEC;;ACOD\"}"

static struct js_source_map *map(const char *text)
{
    return js_source_map_parse(cd_str(text));
}

static void is(const struct js_source_map *m, unsigned line, unsigned column, const char *want)
{
    struct js_source_place p;
    struct cd_buf got = {0};
    if (js_source_map_find(m, line, column, &p))
        cd_buf_addf(&got, "%.*s:%u:%u", (int)p.source.len, p.source.ptr, p.line, p.column);
    if (strcmp(cd_buf_cstr(&got), want) != 0)
        fail_msg("%u:%u gave %s, want %s", line, column, cd_buf_cstr(&got), want);
    cd_buf_deinit(&got);
}

static void test_places(void **state)
{
    (void)state;
    struct js_source_map *m = map(MAP);
    assert_non_null(m);
    is(m, 1, 1, "src/a.ts:1:1");
    is(m, 1, 4, "src/a.ts:1:1");
    is(m, 1, 5, "src/a.ts:3:2");
    is(m, 1, 500, "src/a.ts:3:2");
    is(m, 2, 1, "");
    is(m, 3, 7, "src/b.ts:10:1");
    is(m, 4, 1, "");
    is(m, 0, 1, "");
    js_source_map_free(m);
}

static void test_stacks(void **state)
{
    (void)state;
    struct js_source_map *m = map(MAP);
    struct cd_buf out = {0};
    js_source_map_stack(m, CD_STR("index.js"),
                        CD_STR("Error: in index.js:1:1 and index.js\n    at f (index.js:1:6)\n"
                               "    at lib/index.js:1:1\n    at index.js:2:1\n    at g (index.js:3:1)"),
                        &out);
    assert_string_equal(cd_buf_cstr(&out), "Error: in src/a.ts:1:1 and index.js\n    at f (src/a.ts:3:2)\n"
                                           "    at lib/index.js:1:1\n    at index.js:2:1\n"
                                           "    at g (src/b.ts:10:1)");
    cd_buf_deinit(&out);
    js_source_map_free(m);
}

static void test_malformed_maps_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"sources\":[],\"mappings\":1}",
        "{\"sources\":[1],\"mappings\":\"\"}",
        "{\"sources\":[\"a\"],\"mappings\":\"A!\"}",
        "{\"sources\":[\"a\"],\"mappings\":\"AC\"}",
        "{\"sources\":[\"a\"],\"mappings\":\"ACAA\"}", /* A source that is not there. */
        "{\"sources\":[\"a\"],\"mappings\":\"AADA\"}", /* A line before the first. */
        "{\"sources\":[\"a\"],\"mappings\":\"gggggggggA\"}",
        "{\"sources\":[\"a\"],\"mappings\":\"AAAA,DAAA\"}", /* Columns go back. */
    };
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct js_source_map *m = map(bad[i]);
        if (m != NULL)
            fail_msg("taken for a map: %s", bad[i]);
    }
    struct js_source_map *empty = map("{\"sources\":[],\"mappings\":\"\"}");
    assert_non_null(empty);
    is(empty, 1, 1, "");
    js_source_map_free(empty);
}

CD_TESTS(source_map, cmocka_unit_test(test_places), cmocka_unit_test(test_stacks),
         cmocka_unit_test(test_malformed_maps_are_none))
