/* The contract of the object store: listings. */
#include "store_support.h"

#include "base/rng.h"

static void put_all(struct contract *c, const char *const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        CHECK_INT(store_put_text(c, keys[i], "x", IO_PUT_ANY, NULL), IO_OK);
}

static void walk_is(struct contract *c, const char *prefix, const char *after, char delimiter,
                    const char *want)
{
    static const unsigned pages[] = {1, 2, 3, IO_LIST_MAX};
    struct cd_buf got = {0};
    for (size_t i = 0; i < CD_COUNT(pages); i++) {
        store_walk(c, prefix, after, delimiter, pages[i], &got);
        if (!cd_str_eq(cd_buf_str(&got), cd_str(want)))
            (void)fprintf(stderr, "prefix \"%s\" after \"%s\" page %u: %s\n  want %s\n", prefix, after,
                          pages[i], cd_buf_cstr(&got), want);
        CHECK(cd_str_eq(cd_buf_str(&got), cd_str(want)));
    }
    cd_buf_deinit(&got);
}

static void flow_keys_are_listed_by_prefix_in_byte_order(struct contract *c)
{
    static const char *const keys[] = {"b", "a", "b/1", "b.1", "b/2", "b0", "B", "c/x/1", "c/x/2", "c/y"};
    walk_is(c, "", "", 0, "");
    put_all(c, keys, CD_COUNT(keys));
    walk_is(c, "", "", 0, "B|a|b|b.1|b/1|b/2|b0|c/x/1|c/x/2|c/y|");
    walk_is(c, "b", "", 0, "b|b.1|b/1|b/2|b0|");
    walk_is(c, "b/", "", 0, "b/1|b/2|");
    walk_is(c, "b/1", "", 0, "b/1|");
    walk_is(c, "nothing", "", 0, "");
    walk_is(c, "", "b", 0, "b.1|b/1|b/2|b0|c/x/1|c/x/2|c/y|");
    walk_is(c, "", "b!", 0, "b.1|b/1|b/2|b0|c/x/1|c/x/2|c/y|"); /* after need not be a key. */
    walk_is(c, "b", "b0", 0, "");
    walk_is(c, "b", "a", 0, "b|b.1|b/1|b/2|b0|");
    walk_is(c, "b", "c", 0, "");
    walk_is(c, "", "z", 0, "");
}

static void flow_a_delimiter_makes_groups(struct contract *c)
{
    static const char *const keys[] = {"a",  "b/1", "b/2",     "b/c/3", "b.x",
                                       "b0", "c/",  "d/x/y/z", "e//f",  "/g"};
    put_all(c, keys, CD_COUNT(keys));
    walk_is(c, "", "", '/', "/*|a|b.x|b/*|b0|c/*|d/*|e/*|");
    walk_is(c, "b/", "", '/', "b/1|b/2|b/c/*|");
    walk_is(c, "b", "", '/', "b.x|b/*|b0|");
    walk_is(c, "d/x", "", '/', "d/x/*|");
    walk_is(c, "e/", "", '/', "e//*|");
    walk_is(c, "c/", "", '/', "c/|");
    walk_is(c, "", "b/", '/', "b0|c/*|d/*|e/*|"); /* The group that ended the page before is over. */
    walk_is(c, "", "b/1", '/', "b0|c/*|d/*|e/*|");
    walk_is(c, "", "b.x", '/', "b/*|b0|c/*|d/*|e/*|");
    walk_is(c, "", "b", '/', "b.x|b/*|b0|c/*|d/*|e/*|");
    walk_is(c, "b/", "b/2", '/', "b/c/*|");
    walk_is(c, "b/", "b/c/", '/', "");
    walk_is(c, "", "e/", '/', "");
}

static void flow_keys_may_hold_almost_any_character(struct contract *c)
{
    /* In byte order. */
    static const char *const keys[] = {
        "odd/ leading",     "odd/!'()*",        "odd/#hash",           "odd/$cell:7",
        "odd/%41",          "odd/&amp;",        "odd/+plus a",         "odd/,;=@",
        "odd/<tag>",        "odd/?query",       "odd/[]{}|^`",         "odd/\"quoted\"",
        "odd/a\\b",         "odd/a b",          "odd/~tilde",          "odd/\xc3\xa4",
        "odd/\xe2\x82\xac", "odd/\xef\xbf\xbd", "odd/\xf0\x9f\x98\x80"};
    struct cd_buf want = {0}, got = {0};
    for (size_t i = 0; i < CD_COUNT(keys); i++) {
        CHECK_INT(store_put_text(c, keys[i], keys[i], IO_PUT_IF_ABSENT, NULL), IO_OK);
        CHECK(store_holds(c, keys[i], keys[i]));
    }
    store_walk(c, "odd/", "", 0, 4, &got);
    struct cd_str rest = cd_buf_str(&got);
    unsigned found = 0;
    CHECK(rest.len > 0);
    for (size_t i = 0; i < CD_COUNT(keys); i++)
        found += cd_str_find_str(rest, cd_str(keys[i]), 0) != SIZE_MAX;
    CHECK_INT(found, CD_COUNT(keys)); /* The order was checked by the walk. */
    for (size_t i = 0; i < CD_COUNT(keys); i++) {
        struct io_list l = {0};
        io_store_list(&l, c->bucket, cd_str(keys[i]), CD_STR(""), 2, NULL);
        CHECK_INT(await(&l.op), IO_OK);
        CHECK(l.count == 1 && cd_str_eq(l.entry[0].key, cd_str(keys[i])));
        io_list_deinit(&l);
        CHECK_INT(store_delete(c, keys[i]), IO_OK);
    }
    walk_is(c, "odd/", "", 0, "");
    cd_buf_deinit(&want);
    cd_buf_deinit(&got);
}

static void flow_slashes_and_dots_are_characters_like_others(struct contract *c)
{
    static const char *const keys[] = {"s//x", "s/./x", "s/../x", "s/x/", "s/x//"};
    for (size_t i = 0; i < CD_COUNT(keys); i++)
        CHECK_INT(store_put_text(c, keys[i], keys[i], IO_PUT_IF_ABSENT, NULL), IO_OK);
    for (size_t i = 0; i < CD_COUNT(keys); i++)
        CHECK(store_holds(c, keys[i], keys[i]));
    walk_is(c, "s/", "", 0, "s/../x|s/./x|s//x|s/x/|s/x//|");
}

static void flow_a_listing_shows_what_was_just_done(struct contract *c)
{
    for (unsigned i = 0; i < 10; i++) {
        CHECK_INT(store_put_text(c, "l/1", "x", IO_PUT_ANY, NULL), IO_OK);
        walk_is(c, "l/", "", 0, "l/1|");
        CHECK_INT(store_delete(c, "l/1"), IO_OK);
        walk_is(c, "l/", "", 0, "");
    }
}

static void flow_a_page_says_whether_more_follows(struct contract *c)
{
    static const char *const keys[] = {"p/1", "p/2", "p/3", "p/4", "p/5"};
    put_all(c, keys, CD_COUNT(keys));
    for (unsigned max = 1; max <= 6; max++) {
        struct io_list l = {0};
        io_store_list(&l, c->bucket, CD_STR("p/"), CD_STR(""), max, NULL);
        CHECK_INT(await(&l.op), IO_OK);
        CHECK_INT(l.count, max < 5 ? max : 5);
        CHECK_INT(l.more, max < 5);
        CHECK_INT(l.entry[0].size, 1);
        CHECK(l.entry[0].modified_ms > 0 && !l.entry[0].is_prefix);
        io_list_deinit(&l);
    }
}

static void flow_a_listing_of_a_thousand_keys_is_whole(struct contract *c)
{
    enum { COUNT = 1100, AT_ONCE = 50 };
    static struct io_store op[AT_ONCE];
    static char key[AT_ONCE][32];
    struct cd_buf want = {0}, got = {0};
    for (unsigned i = 0; i < COUNT; i += AT_ONCE) {
        for (unsigned k = 0; k < AT_ONCE; k++) {
            (void)snprintf(key[k], sizeof key[k], "t/%06u", i + k);
            cd_buf_addf(&want, "%s|", key[k]);
            op[k] = (struct io_store){0};
            io_store_put(&op[k], c->bucket, cd_str(key[k]), CD_STR("x"), IO_PUT_ANY, NULL);
        }
        for (unsigned k = 0; k < AT_ONCE; k++)
            CHECK_INT(store_end(&op[k], true), IO_OK);
    }
    store_walk(c, "t/", "", 0, IO_LIST_MAX, &got);
    CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
    store_walk(c, "t/", "", 0, 333, &got);
    CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
    cd_buf_deinit(&want);
    cd_buf_deinit(&got);
}

/* ---- Against a model: a sorted array ---- */

#define MODEL_KEYS 40

struct model {
    char key[MODEL_KEYS][16];
    unsigned count;
};

static void model_make(struct model *m, struct cd_rng *rng)
{
    static const char letters[] = "ab/.0";
    m->count = 0;
    while (m->count < MODEL_KEYS) {
        char key[16];
        unsigned len = 1 + (unsigned)cd_rng_below(rng, 6), at = 0;
        for (unsigned i = 0; i < len; i++)
            key[i] = letters[cd_rng_below(rng, sizeof letters - 1)];
        key[len] = 0;
        while (at < m->count && strcmp(m->key[at], key) < 0)
            at++;
        if (at < m->count && strcmp(m->key[at], key) == 0)
            continue;
        memmove(m->key[at + 1], m->key[at], (m->count - at) * sizeof m->key[0]);
        memcpy(m->key[at], key, sizeof key);
        m->count++;
        if (m->count == MODEL_KEYS - 1)
            break; /* memmove needs the last place. */
    }
}

static void model_walk(const struct model *m, const char *prefix, const char *after, char delimiter,
                       struct cd_buf *out)
{
    char last[20] = "";
    cd_buf_clear(out);
    for (unsigned i = 0; i < m->count; i++) {
        char entry[20];
        struct cd_str key = cd_str(m->key[i]);
        if (!cd_str_starts(key, cd_str(prefix)))
            continue;
        size_t at = delimiter == 0 ? SIZE_MAX : cd_str_find(key, delimiter, strlen(prefix));
        struct cd_str shown = at == SIZE_MAX ? key : cd_str_sub(key, 0, at + 1);
        if (after[0] != 0 && cd_str_cmp(shown, cd_str(after)) <= 0)
            continue;
        (void)snprintf(entry, sizeof entry, "%.*s%s|", (int)shown.len, shown.ptr, at == SIZE_MAX ? "" : "*");
        if (strcmp(entry, last) == 0)
            continue;
        memcpy(last, entry, sizeof last);
        cd_buf_add_str(out, cd_str(entry));
    }
}

static void flow_listings_agree_with_a_model(struct contract *c)
{
    static const char *const texts[] = {"", "a", "a/", "b", "b/a", "/", "0", ".", "ab", "b.", "//", "a//"};
    struct cd_rng rng;
    struct model m;
    struct cd_buf want = {0}, got = {0};
    cd_rng_seed(&rng, 11, CD_STR("list"));
    model_make(&m, &rng);
    for (unsigned i = 0; i < m.count; i++)
        CHECK_INT(store_put_text(c, m.key[i], "x", IO_PUT_ANY, NULL), IO_OK);
    for (unsigned i = 0; i < 60; i++) {
        const char *prefix = texts[cd_rng_below(&rng, CD_COUNT(texts))];
        const char *after = cd_rng_below(&rng, 2) == 0 ? m.key[cd_rng_below(&rng, m.count)]
                                                       : texts[cd_rng_below(&rng, CD_COUNT(texts))];
        char delimiter = cd_rng_below(&rng, 3) == 0 ? 0 : '/';
        unsigned max = 1 + (unsigned)cd_rng_below(&rng, 10);
        model_walk(&m, prefix, after, delimiter, &want);
        store_walk(c, prefix, after, delimiter, max, &got);
        if (!cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)))
            (void)fprintf(stderr, "prefix \"%s\" after \"%s\" delimiter %d page %u: %s\n  want %s\n", prefix,
                          after, delimiter, max, cd_buf_cstr(&got), cd_buf_cstr(&want));
        CHECK(cd_str_eq(cd_buf_str(&got), cd_buf_str(&want)));
    }
    cd_buf_deinit(&want);
    cd_buf_deinit(&got);
}

STORE_TEST(keys_are_listed_by_prefix_in_byte_order, 1)
STORE_TEST(a_delimiter_makes_groups, 1)
STORE_TEST(keys_may_hold_almost_any_character, 1)
STORE_TEST(slashes_and_dots_are_characters_like_others, 1)
STORE_TEST(a_listing_shows_what_was_just_done, 1)
STORE_TEST(a_page_says_whether_more_follows, 1)
STORE_TEST(a_listing_of_a_thousand_keys_is_whole, 1)
STORE_TEST(listings_agree_with_a_model, 1)

CD_TESTS(contract_store_list, cmocka_unit_test(test_keys_are_listed_by_prefix_in_byte_order),
         cmocka_unit_test(test_a_delimiter_makes_groups),
         cmocka_unit_test(test_keys_may_hold_almost_any_character),
         cmocka_unit_test(test_slashes_and_dots_are_characters_like_others),
         cmocka_unit_test(test_a_listing_shows_what_was_just_done),
         cmocka_unit_test(test_a_page_says_whether_more_follows),
         cmocka_unit_test(test_a_listing_of_a_thousand_keys_is_whole),
         cmocka_unit_test(test_listings_agree_with_a_model))
