/* Request targets and authorities: http/target.h. */
#include "http/target.h"

#include "support/test.h"

static void test_targets(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum http_target_form form;
        const char *authority, *path, *query; /* query NULL: there is none. */
    } good[] = {
        {"/", HTTP_TARGET_ORIGIN, "", "/", NULL},
        {"/?", HTTP_TARGET_ORIGIN, "", "/", ""},
        {"/a//b?c?d", HTTP_TARGET_ORIGIN, "", "/a//b", "c?d"},
        {"//x/y", HTTP_TARGET_ORIGIN, "", "//x/y", NULL},
        {"*", HTTP_TARGET_ASTERISK, "", "*", NULL},
        {"http://h", HTTP_TARGET_ABSOLUTE, "h", "/", NULL},
        {"HTTPS://h:9?q", HTTP_TARGET_ABSOLUTE, "h:9", "/", "q"},
        {"http://[::1]:9/p", HTTP_TARGET_ABSOLUTE, "[::1]:9", "/p", NULL},
    };
    for (size_t i = 0; i < CD_COUNT(good); i++) {
        struct http_target t;
        assert_int_equal(http_target_parse(cd_str(good[i].text), &t), 0);
        assert_int_equal(t.form, good[i].form);
        assert_str_is(t.authority, good[i].authority);
        assert_str_is(t.path, good[i].path);
        assert_int_equal(t.query.ptr == NULL, good[i].query == NULL);
        if (good[i].query != NULL)
            assert_str_is(t.query, good[i].query);
    }
    static const char *const bad[] = {"",         "a",           "/a b",     "/a#b",    "/\x7f",
                                      "/\xff",    "/\t",         "ftp://h/", "http:/h", "http://",
                                      "http:///", "http://u@h/", "**",       "?",       "http://h:0/"};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct http_target t;
        assert_int_equal(http_target_parse(cd_str(bad[i]), &t), CD_ESYNTAX);
    }
}

static void test_authorities(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        uint16_t port;
    } good[] = {{"a", "a", 0},
                {"a.b-c:80", "a.b-c", 80},
                {"1.2.3.4:65535", "1.2.3.4", 65535},
                {"[::1]", "[::1]", 0},
                {"[::ffff:1.2.3.4]:1", "[::ffff:1.2.3.4]", 1}};
    for (size_t i = 0; i < CD_COUNT(good); i++) {
        struct http_authority a;
        assert_int_equal(http_authority_parse(cd_str(good[i].text), &a), 0);
        assert_str_is(a.host, good[i].host);
        assert_int_equal(a.port, good[i].port);
    }
    static const char *const bad[] = {"",        ":80",    "a:",  "a:0",   "a:65536", "a:+1",    "a:1x",
                                      "a b",     "u@h",    "a/b", "a:1:2", "[::1",    "[]",      "[x]:1",
                                      "[::1]80", "[::1]:", "::1", "a\xff", "a,b\n",   "a:00080 "};
    for (size_t i = 0; i < CD_COUNT(bad); i++) {
        struct http_authority a;
        assert_int_equal(http_authority_parse(cd_str(bad[i]), &a), CD_ESYNTAX);
    }
}

static void test_the_same_place_by_two_names(void **state)
{
    (void)state;
    const struct http_authority a = {CD_STR("Host"), 0}, b = {CD_STR("hOST"), 80}, c = {CD_STR("host"), 81},
                                d = {CD_STR("hos"), 80};
    assert_true(http_authority_same(&a, &b));
    assert_false(http_authority_same(&a, &c));
    assert_false(http_authority_same(&b, &d));
}

CD_TESTS(target, cmocka_unit_test(test_targets), cmocka_unit_test(test_authorities),
         cmocka_unit_test(test_the_same_place_by_two_names))
