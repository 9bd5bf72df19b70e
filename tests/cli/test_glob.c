/* Patterns of --watch-ignore. */
#include "cli/text.h"
#include "support/test.h"

static void test_what_patterns_cover(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path;
        bool yes;
    } rows[] = {
        {"a.txt", "a.txt", true},
        {"a.txt", "b.txt", false},
        {"a.txt", "d/a.txt", false},
        {"*.txt", "a.txt", true},
        {"*.txt", "d/a.txt", false},
        {"**/*.txt", "a.txt", true},
        {"**/*.txt", "d/e/a.txt", true},
        {"**/*.txt", "d/e/a.md", false},
        {"d", "d/e/a.md", true},
        {"d/", "d/e/a.md", true},
        {"d/*", "d/e/a.md", true},
        {"d/*/x", "d/e/a.md", false},
        {"d", "dd/a", false},
        {"d/**", "d/a", true},
        {"d/**/z", "d/z", true},
        {"d/**/z", "d/a/b/z", true},
        {"d/**/z", "d/a/z/b", true},
        {"d/**/y/*.js", "d/y/y/a.js", true},
        {"**/gen/**/*.ts", "a/gen/b/c/d.ts", true},
        {"**/gen/**/*.ts", "a/gem/b/c/d.ts", false},
        {"?.js", "a.js", true},
        {"?.js", "ab.js", false},
        {"?", "d/e", true},
        {"[abc].js", "b.js", true},
        {"[!abc].js", "b.js", false},
        {"[a-z]x", "mx", true},
        {"[a-z]x", "Mx", false},
        {"[]a]x", "]x", true},
        {"\\*.js", "*.js", true},
        {"\\*.js", "a.js", false},
        {"*a*b*c", "xxaxxbxxc", true},
        {"*a*b*c", "xxaxxcxxb", false},
        {"A", "a", false},
        {"a/b", "a", false},
    };
    for (size_t i = 0; i < CD_COUNT(rows); i++) {
        if (cli_glob_match(cd_str(rows[i].pattern), cd_str(rows[i].path)) != rows[i].yes)
            fail_msg("%s and %s: want %d", rows[i].pattern, rows[i].path, rows[i].yes);
    }
}

static void test_many_stars_take_no_longer_than_the_text_allows(void **state)
{
    char path[2001];
    (void)state;
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_false(cli_glob_match(CD_STR("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"), cd_str(path)));
    for (size_t i = 1; i < sizeof path - 1; i += 2)
        path[i] = '/';
    assert_false(
        cli_glob_match(CD_STR("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b"), cd_str(path)));
}

CD_TESTS(glob, cmocka_unit_test(test_what_patterns_cover),
         cmocka_unit_test(test_many_stars_take_no_longer_than_the_text_allows))
