#include "rig.h"

static void test_what_is_wrong_with_rules_is_said(void **state)
{
    (void)state;
    rig_refused("\"rules\": {}", "wrangler.jsonc:1:76: rules: must be an array, not an object\n");
    rig_refused("\"rules\": [{}]", "wrangler.jsonc:1:77: rules[0].type: required\n"
                                   "wrangler.jsonc:1:77: rules[0].globs: required\n");
    rig_refused("\"rules\": [{\"type\": \"Text\", \"globs\": \"*.md\"}]",
                "wrangler.jsonc:1:103: rules[0].globs: must be an array, not a string\n");
    rig_refused("\"rules\": [{\"type\": \"Text\", \"globs\": []}]",
                "wrangler.jsonc:1:103: rules[0].globs: must name at least one glob\n");
    rig_refused(
        "\"rules\": [{\"type\": \"Text\", \"globs\": [\"*.md\", 1, \"docs/*.md\", \"**/*\", \"*.m?\", "
        "\"**/*.{md,txt}\", \"*.\", \"**/*.js\"]}]",
        "wrangler.jsonc:1:112: rules[0].globs[1]: must be a string, not a number\n"
        "wrangler.jsonc:1:115: rules[0].globs[2]: must be **/*.ext or *.ext\n"
        "    the bundler picks loaders by the extension alone, not by the place of a file\n"
        "wrangler.jsonc:1:128: rules[0].globs[3]: must be **/*.ext or *.ext\n"
        "    the bundler picks loaders by the extension alone, not by the place of a file\n"
        "wrangler.jsonc:1:136: rules[0].globs[4]: must be **/*.ext or *.ext\n"
        "    the bundler picks loaders by the extension alone, not by the place of a file\n"
        "wrangler.jsonc:1:144: rules[0].globs[5]: must be **/*.ext or *.ext\n"
        "    the bundler picks loaders by the extension alone, not by the place of a file\n"
        "wrangler.jsonc:1:161: rules[0].globs[6]: must be **/*.ext or *.ext\n"
        "    the bundler picks loaders by the extension alone, not by the place of a file\n"
        "wrangler.jsonc:1:167: rules[0].globs[7]: .js is JavaScript: a rule would leave no code to "
        "run\n");
    rig_refused("\"rules\": [{\"type\": \"ESModule\", \"globs\": [\"*.js\"]}, {\"type\": \"Foo\", \"globs\": "
                "[\"*.x\"]}, "
                "{\"type\": 1, \"globs\": [\"*.x\"]}]",
                "wrangler.jsonc:1:86: rules[0].type: ESModule is not supported here: must be Text, Data or "
                "CompiledWasm\n"
                "    JavaScript is bundled without a rule; Python is not supported\n"
                "wrangler.jsonc:1:127: rules[1].type: must be Text, Data or CompiledWasm\n"
                "wrangler.jsonc:1:162: rules[2].type: must be a string, not a number\n");
    rig_refused("\"rules\": [{\"type\": \"Text\", \"globs\": [\"*.md\"], \"fallthrough\": 1, \"x\": 2}]",
                "wrangler.jsonc: unsupported configuration key(s): rules[0].x\n"
                "wrangler.jsonc:1:128: rules[0].fallthrough: must be a boolean, not a number\n"
                "wrangler.jsonc:1:131: rules[0].x: unknown key\n");
    rig_refused("\"rules\": [{\"type\": \"Text\", \"globs\": [\"*.md\"]}, {\"type\": \"Data\", \"globs\": "
                "[\"**/*.md\"]}]",
                "wrangler.jsonc:1:141: rules[1].globs[0]: .md is claimed by two types: Text and Data\n");
    rig_refused("\"rules\": [{\"type\": \"Data\", \"globs\": [\"*.wasm\"]}]",
                "wrangler.jsonc:1:104: rules[0].globs[0]: .wasm can only be CompiledWasm, not Data\n");
}

static void test_what_is_wrong_with_define_and_alias_is_said(void **state)
{
    (void)state;
    rig_refused("\"define\": {\"A\": 1, \"\": \"x\", \"a=b\": \"x\", \"a b\": \"x\", \"B\": \"\"}",
                "wrangler.jsonc:1:83: define.A: must be a string, not a number\n"
                "wrangler.jsonc:1:90: define.\"\": a name to define is not empty\n"
                "wrangler.jsonc:1:102: define.\"a=b\": a name to define has no =, no spaces and no control "
                "characters\n"
                "wrangler.jsonc:1:114: define.\"a b\": a name to define has no =, no spaces and no control "
                "characters\n"
                "wrangler.jsonc:1:124: define.B: must be a text, not empty and without NUL\n");
    rig_refused("\"alias\": {\"\": \"x\", \"a=b\": \"x\", \"B\": \"\", \"C\": 1}",
                "wrangler.jsonc:1:81: alias.\"\": the name of a module is not empty\n"
                "wrangler.jsonc:1:93: alias.\"a=b\": the name of a module has no = and no NUL\n"
                "wrangler.jsonc:1:103: alias.B: must be a text, not empty and without NUL\n"
                "wrangler.jsonc:1:112: alias.C: must be a string, not a number\n");
    rig_refused("\"alias\": []", "wrangler.jsonc:1:76: alias: must be an object, not an array\n");
}

static void test_what_is_wrong_with_simple_keys_is_said(void **state)
{
    (void)state;
    rig_refused("\"minify\": 1", "wrangler.jsonc:1:77: minify: must be a boolean, not a number\n");
    rig_refused("\"keep_names\": \"yes\"",
                "wrangler.jsonc:1:81: keep_names: must be a boolean, not a string\n");
    rig_refused("\"tsconfig\": \"../tsconfig.json\"",
                "wrangler.jsonc:1:79: tsconfig: must be a path inside the project, without ..; found "
                "\"../tsconfig.json\"\n");
    rig_refused("\"jsx_factory\": \"\"",
                "wrangler.jsonc:1:82: jsx_factory: must be a text, not empty and without NUL\n");
    rig_refused("\"jsx_fragment\": 1", "wrangler.jsonc:1:83: jsx_fragment: must be a string, not a number\n");
    rig_refused("\"$schema\": 1", "wrangler.jsonc:1:78: $schema: must be a string, not a number\n");
    rig_refused("\"no_bundle\": \"true\"",
                "wrangler.jsonc:1:80: no_bundle: must be a boolean, not a string\n");
}

static void test_no_bundle_leaves_nothing_to_the_bundler(void **state)
{
    (void)state;
    rig_refused("\"no_bundle\": true, \"define\": {}, \"rules\": [], \"alias\": {}, \"minify\": true",
                "wrangler.jsonc:1:96: define: cannot be used with no_bundle, which leaves the source as it "
                "is\n"
                "wrangler.jsonc:1:109: rules: cannot be used with no_bundle, which leaves the source as it "
                "is\n"
                "wrangler.jsonc:1:122: alias: cannot be used with no_bundle, which leaves the source as it "
                "is\n"
                "wrangler.jsonc:1:136: minify: cannot be used with no_bundle, which leaves the source as it "
                "is\n");
}

static void test_what_is_wrong_with_flags_is_said(void **state)
{
    (void)state;
    rig_refused("\"compatibility_flags\": \"nodejs_compat\"",
                "wrangler.jsonc:1:90: compatibility_flags: must be an array, not a string\n");
    rig_refused(
        "\"compatibility_flags\": [\"nodejs_compat\", \"\", 1, \"nodejs_compat\", \"no_nodejs_compat\"]",
        "wrangler.jsonc:1:108: compatibility_flags[1]: must be the name of a flag\n"
        "wrangler.jsonc:1:112: compatibility_flags[2]: must be a string, not a number\n"
        "wrangler.jsonc:1:115: compatibility_flags[3]: given twice\n"
        "wrangler.jsonc:1:132: compatibility_flags[4]: says the contrary of nodejs_compat, which is "
        "given too\n");
}

static void test_names_are_kept_unless_the_file_says_no(void **state)
{
    (void)state;
    struct rig r = rig_accepted("\"minify\": true");
    assert_true(r.project.keep_names);
    rig_end(&r);
}

static void test_what_steers_the_bundler_is_read(void **state)
{
    (void)state;
    struct rig r = rig_accepted(
        "\"minify\": true, \"keep_names\": false, \"tsconfig\": \"./tsconfig.build.json\", \"jsx_factory\": "
        "\"h\","
        "\"jsx_fragment\": \"Fragment\", \"$schema\": \"node_modules/wrangler/config-schema.json\","
        "\"define\": {\"process.env.X\": \"\\\"a=b\\\"\", \"V\": \"1\"}, \"alias\": {\"lib\": "
        "\"./lib/x.js\"},"
        "\"rules\": [{\"type\": \"Text\", \"globs\": [\"**/*.md\", \"*.html\"], \"fallthrough\": true},"
        "  {\"type\": \"Data\", \"globs\": [\"*.bin\", \"*.d.raw\"]}, {\"type\": \"CompiledWasm\", "
        "\"globs\": "
        "[\"**/*.wasm\"]}, {\"type\": \"Text\", \"globs\": [\"*.md\"]}]");
    const struct deploy_project *p = &r.project;
    assert_true(p->minify && !p->keep_names && !p->no_bundle);
    assert_str_is(p->tsconfig, "tsconfig.build.json");
    assert_str_is(p->jsx_factory, "h");
    assert_str_is(p->jsx_fragment, "Fragment");
    assert_int_equal(p->defines, 2);
    assert_str_is(p->define[0].name, "process.env.X");
    assert_str_is(p->define[0].value, "\"a=b\"");
    assert_int_equal(p->aliases, 1);
    assert_str_is(p->alias[0].value, "./lib/x.js");
    static const struct {
        const char *extension;
        enum deploy_loader loader;
    } want[] = {{".bin", DEPLOY_LOADER_BINARY},
                {".d.raw", DEPLOY_LOADER_BINARY},
                {".html", DEPLOY_LOADER_TEXT},
                {".md", DEPLOY_LOADER_TEXT},
                {".wasm", DEPLOY_LOADER_COPY}};
    assert_int_equal(p->rules, CD_COUNT(want));
    for (size_t i = 0; i < CD_COUNT(want); i++) {
        assert_str_is(p->rule[i].extension, want[i].extension);
        assert_int_equal(p->rule[i].loader, want[i].loader);
    }
    rig_end(&r);

    r = rig_accepted("\"no_bundle\": true, \"minify\": false");
    assert_true(r.project.no_bundle);
    rig_end(&r);
}

static void test_main_may_have_any_ending_of_javascript(void **state)
{
    (void)state;
    static const char *const ends[] = {"js", "mjs", "cjs", "ts", "mts", "cts", "jsx", "tsx"};
    for (size_t i = 0; i < CD_COUNT(ends); i++) {
        struct cd_buf text = {0};
        cd_buf_addf(&text, "{\"name\": \"x\", \"main\": \"./a/.b/c.%s\"}", ends[i]);
        struct rig r = rig_jsonc(cd_buf_cstr(&text));
        assert_int_equal(r.rc, 0);
        cd_buf_clear(&text);
        cd_buf_addf(&text, "a/.b/c.%s", ends[i]);
        assert_str_is(r.project.main, cd_buf_cstr(&text));
        rig_end(&r);
        cd_buf_deinit(&text);
    }
}

CD_TESTS(check_bundle, cmocka_unit_test(test_what_is_wrong_with_rules_is_said),
         cmocka_unit_test(test_what_is_wrong_with_define_and_alias_is_said),
         cmocka_unit_test(test_what_is_wrong_with_simple_keys_is_said),
         cmocka_unit_test(test_no_bundle_leaves_nothing_to_the_bundler),
         cmocka_unit_test(test_what_is_wrong_with_flags_is_said),
         cmocka_unit_test(test_names_are_kept_unless_the_file_says_no),
         cmocka_unit_test(test_what_steers_the_bundler_is_read),
         cmocka_unit_test(test_main_may_have_any_ending_of_javascript))
