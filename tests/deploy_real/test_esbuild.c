/* Bundling with the esbuild of the build root, in projects in a directory of our own. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "deploy/build.h"
#include "deploy/files.h"
#include "io_real/io_real.h"
#include "support/test.h"

struct rig {
    char dir[64];
    struct io_real *node;
    struct io *io;
    const char *env[3];
    struct cd_str tool;
    bool dev;
    struct deploy_build build; /* Of the last run. */
    struct cd_buf why;
    int rc;
};

static void rig_open(struct rig *r)
{
    *r = (struct rig){.dir = "/tmp/celld-deploy-XXXXXX", .env = {"PATH=/usr/bin:/bin"}};
    assert_non_null(mkdtemp(r->dir));
}

static void rig_put(struct rig *r, const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", r->dir, name);
    char *slash = strrchr(path, '/');
    *slash = 0;
    (void)mkdir(path, 0700);
    *slash = '/';
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void flow(void *arg)
{
    struct rig *r = arg;
    struct deploy_project project;
    struct deploy_problems problems = {0};
    int rc = deploy_project_load(&project, r->io, r->dir, NULL, 0, &problems);
    if (rc == 0) {
        r->build.bundling = (struct deploy_bundling){r->io, &project, r->env, r->tool, r->dev};
        r->rc = deploy_build_run(&r->build, &r->why);
        deploy_project_deinit(&project);
    } else {
        r->rc = rc;
        deploy_problems_errors(&r->why, &problems);
    }
    deploy_problems_deinit(&problems);
    io_real_stop(r->node);
}

static void entry(struct io *io, void *arg)
{
    (void)io_spawn(io, "build", flow, arg);
}

static void run_node(struct rig *r, void (*start)(struct io *io, void *arg))
{
    r->node = io_real_new(&(struct io_real_opts){.log_fd = -1});
    r->io = io_real_loop(r->node, 0);
    io_real_run(r->node, start, r);
    assert_int_equal(io_real_open_count(r->io), 0);
    io_real_free(r->node);
}

static int rig_build(struct rig *r)
{
    deploy_build_deinit(&r->build);
    cd_buf_clear(&r->why);
    run_node(r, entry);
    if (r->rc == 0)
        assert_int_equal(r->why.len, 0);
    return r->rc;
}

static void remove_flow(void *arg)
{
    struct rig *r = arg;
    r->rc = deploy_tree_remove(r->io, r->dir);
    io_real_stop(r->node);
}

static void remove_entry(struct io *io, void *arg)
{
    (void)io_spawn(io, "remove", remove_flow, arg);
}

/* Nothing of a build is left behind but .celld itself. */
static void rig_close(struct rig *r)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/.celld/.gitignore", r->dir);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/.celld", r->dir);
    assert_true(rmdir(path) == 0 || access(path, F_OK) != 0);
    run_node(r, remove_entry);
    assert_int_equal(r->rc, 0);
    deploy_build_deinit(&r->build);
    cd_buf_deinit(&r->why);
}

static bool main_has(struct rig *r, const char *text)
{
    return cd_str_find_str(cd_buf_str(&r->build.app->main_module->bytes), cd_str(text), 0) != SIZE_MAX;
}

static void test_a_project_with_all_kinds_of_imports(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.toml",
            "name = \"all\"\nmain = \"src/index.ts\"\ncompatibility_date = \"2026-01-01\"\n"
            "[vars]\nGREETING = \"hi\"\nLIMIT = 3\n[[rules]]\ntype = \"Text\"\nglobs = [\"**/*.md\"]\n");
    rig_put(
        &r, "src/index.ts",
        "import page from './page.html'; import sql from './q.sql'; import bin from './d.bin';\n"
        "import note from './n.md'; import add from './add.wasm'; import { View } from './view';\n"
        "import old from 'oldstyle'; import { readFileSync } from 'node:fs'; import data from './x.json';\n"
        "import { DurableObject } from 'cloudflare:workers';\n"
        "export class C extends DurableObject {}\n"
        "export default { fetch(r: Request): Response { return new Response([page, sql, bin, note, add, "
        "View,\n"
        "  old, readFileSync, data, process.env.NODE_ENV] as any) } };\n");
    rig_put(&r, "src/page.html", "<p>page");
    rig_put(&r, "src/q.sql", "select 1");
    rig_put(&r, "src/d.bin", "\1\2");
    rig_put(&r, "src/n.md", "# note");
    rig_put(&r, "src/x.json", "{\"deep\":1}");
    rig_put(&r, "src/add.wasm", "\1asm");
    rig_put(&r, "src/view.tsx",
            "const h = (t: string) => t;\nexport const View = () => <b/>;\n"
            "declare const React: any;\n");
    rig_put(&r, "node_modules/.keep", "");
    rig_put(&r, "node_modules/oldstyle/package.json", "{\"main\":\"main.js\"}");
    rig_put(&r, "node_modules/oldstyle/main.js",
            "const fs = require('fs'), path = require('node:path'); module.exports = [fs, path.join];\n");
    int rc = rig_build(&r);
    if (rc != 0)
        fail_msg("%s", cd_buf_cstr(&r.why));
    const struct deploy_app *a = r.build.app;
    assert_int_equal(a->module_count, 2);
    assert_int_equal(a->modules[0].kind, DEPLOY_MODULE_WASM);
    assert_true(cd_str_starts(a->modules[0].name, CD_STR("add-")));
    assert_true(main_has(&r, a->modules[0].name.ptr)); /* Imported by the name under which it is stored. */
    assert_ptr_equal(a->main_module, &a->modules[1]);
    static const char *const parts[] = {
        "<p>page",        "select 1",           "# note",          "deep", "node:fs", "var require =",
        "\"production\"", "cloudflare:workers", "MODULE_NOT_FOUND"};
    for (size_t i = 0; i < CD_COUNT(parts); i++) {
        if (!main_has(&r, parts[i]))
            fail_msg("the bundle lacks %s", parts[i]);
    }
    assert_int_equal(a->main_module->source_map.len, 0);
    assert_int_equal(a->binding_count, 2);
    assert_str_is(a->bindings[0].text, "hi");
    assert_str_is(a->bindings[1].json, "3");
    assert_true(r.build.input_count >= 9);
    rig_close(&r);
}

#define HELLO "{\"name\": \"hello\", \"main\": \"src/index.js\", \"compatibility_date\": \"2026-01-01\""

static void test_the_same_source_gives_the_same_version_anywhere(void **state)
{
    char version[2][DEPLOY_VERSION_LEN + 1];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct rig r;
        rig_open(&r);
        rig_put(&r, "wrangler.json", HELLO "}");
        rig_put(&r, "src/index.js",
                "import w from './a.wasm'; import t from './t.txt'; export default [w, t];");
        rig_put(&r, "src/a.wasm", "wasm");
        rig_put(&r, "src/t.txt", "text");
        assert_int_equal(rig_build(&r), 0);
        memcpy(version[i], r.build.app->version, sizeof version[i]);
        assert_int_equal(rig_build(&r), 0);
        assert_string_equal(version[i], r.build.app->version);
        rig_close(&r);
    }
    assert_string_equal(version[0], version[1]);
}

static void test_dev_has_a_source_map_with_paths_of_the_project(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    r.dev = true;
    rig_put(&r, "wrangler.json", HELLO "}");
    rig_put(&r, "src/index.js", "import './other.js';\nexport default console.log(process.env.NODE_ENV);");
    rig_put(&r, "src/other.js", "globalThis.x = 1;");
    assert_int_equal(rig_build(&r), 0);
    assert_true(main_has(&r, "\"development\""));
    struct cd_str map = cd_buf_str(&r.build.app->main_module->source_map);
    assert_true(cd_str_find_str(map, CD_STR("\"sources\":[\"src/other.js\",\"src/index.js\"]"), 0) !=
                SIZE_MAX);
    assert_true(cd_str_find_str(map, CD_STR("sourcesContent"), 0) == SIZE_MAX);
    assert_int_equal(r.build.app->module_count, 1);
    rig_close(&r);
}

static void test_what_the_bundler_says_is_passed_on_unchanged(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json", HELLO "}");
    rig_put(&r, "src/index.js", "export default {\n  fetch( { \n");
    assert_int_equal(rig_build(&r), CD_EINVAL);
    struct cd_str why = cd_buf_str(&r.why);
    assert_true(cd_str_starts(why, CD_STR("esbuild failed:\n")));
    assert_true(cd_str_find_str(why, CD_STR("[ERROR]"), 0) != SIZE_MAX);
    assert_true(cd_str_find_str(why, CD_STR("src/index.js:"), 0) != SIZE_MAX);
    rig_put(&r, "src/index.js", "import './absent.js';");
    assert_int_equal(rig_build(&r), CD_EINVAL);
    assert_true(cd_str_find_str(cd_buf_str(&r.why), CD_STR("Could not resolve \"./absent.js\""), 0) !=
                SIZE_MAX);
    rig_put(&r, "src/index.js", "export default { a: 1, a: 2 };");
    assert_int_equal(rig_build(&r), 0); /* A warning only. */
    assert_true(cd_str_find_str(cd_buf_str(&r.build.warnings), CD_STR("[WARNING]"), 0) != SIZE_MAX);
    rig_close(&r);
}

static void test_a_bundler_that_is_missing_or_strange_is_named(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json", HELLO "}");
    rig_put(&r, "src/index.js", "export default 1;");
    r.env[0] = "PATH=/nowhere";
    assert_int_equal(rig_build(&r), CD_ENOTFOUND);
    assert_true(cd_str_starts(cd_buf_str(&r.why), CD_STR("esbuild not found (")));
    r.tool = CD_STR("/nowhere/esbuild");
    assert_int_equal(rig_build(&r), CD_ENOTFOUND);
    assert_true(cd_str_starts(cd_buf_str(&r.why), CD_STR("esbuild not found (/nowhere/esbuild).")));
    r.tool = CD_STR("/usr/bin/esbuild");
    assert_int_equal(rig_build(&r), 0);
    /* In the project, as npm installs it. */
    r.tool = CD_STR("");
    rig_put(&r, "node_modules/.keep", "");
    rig_put(&r, "node_modules/.bin/.keep", "");
    char link[200];
    (void)snprintf(link, sizeof link, "%s/node_modules/.bin/esbuild", r.dir);
    assert_int_equal(symlink("/usr/bin/esbuild", link), 0);
    assert_int_equal(rig_build(&r), 0);
    r.tool = CD_STR("/bin/false");
    assert_int_equal(rig_build(&r), CD_EINVAL);
    assert_str_is(cd_buf_str(&r.why), "esbuild failed:\n/bin/false ended with code 1");
    rig_close(&r);
}

static void test_style_sheets_are_refused(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json", HELLO "}");
    rig_put(&r, "src/index.js", "import './a.css'; export default 1;");
    rig_put(&r, "src/a.css", "a { color: red }");
    assert_int_equal(rig_build(&r), CD_EUNSUPPORTED);
    assert_true(cd_str_starts(cd_buf_str(&r.why), CD_STR("unexpected bundler output: index.css")));
    rig_close(&r);
}

static void test_define_alias_and_minify_reach_the_bundler(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json",
            HELLO ", \"define\": {\"NAME\": \"\\\"me\\\"\", \"process.env.NODE_ENV\": \"\\\"mine\\\"\"}, "
                  "\"alias\": {\"things\": \"./src/other.js\"}, \"minify\": true}");
    rig_put(&r, "src/index.js",
            "import { thing } from 'things';\nexport default [NAME, process.env.NODE_ENV, thing];");
    rig_put(&r, "src/other.js", "export const thing = 'a thing';");
    assert_int_equal(rig_build(&r), 0);
    assert_true(main_has(&r, "=[\"me\",\"mine\","));
    assert_true(main_has(&r, "a thing"));
    rig_close(&r);
}

static void test_jsx_names_and_tsconfig_reach_the_bundler(void **state)
{
    struct rig r;
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json",
            HELLO ", \"jsx_factory\": \"h\", \"jsx_fragment\": \"F\", \"minify\": true, "
                  "\"tsconfig\": \"ts.json\"}");
    rig_put(&r, "src/index.js", "import { named } from '@/deep'; export default [<><b/></>, named];");
    rig_put(&r, "lib/deep.js", "export function named() {}");
    rig_put(&r, "ts.json", "{\"compilerOptions\": {\"paths\": {\"@/*\": [\"./lib/*\"]}}}");
    int rc = rig_build(&r);
    if (rc != 0)
        fail_msg("%s", cd_buf_cstr(&r.why));
    assert_true(main_has(&r, "h(F,null,h(\"b\",null))"));
    assert_true(main_has(&r, "\"named\""));
    rig_close(&r);
}

static void test_without_bundling_the_entry_is_stored_as_it_is(void **state)
{
    struct rig r;
    char path[200];
    (void)state;
    rig_open(&r);
    rig_put(&r, "wrangler.json", HELLO ", \"no_bundle\": true}");
    rig_put(&r, "src/index.js", "import a from './deep/a.wasm';\n// kept\n");
    rig_put(&r, "src/b.wasm", "b");
    rig_put(&r, "src/deep/a.wasm", "a");
    rig_put(&r, "src/deep/c.wasm?module", "c");
    rig_put(&r, "src/deep/other.js", "not collected");
    rig_put(&r, "src/node_modules/no.wasm", "no");
    r.tool = CD_STR("/bin/false"); /* It is not asked. */
    assert_int_equal(rig_build(&r), 0);
    const struct deploy_app *a = r.build.app;
    assert_int_equal(a->module_count, 4);
    static const char *const names[] = {"b.wasm", "deep/a.wasm", "deep/c.wasm?module", "index.js"};
    for (unsigned i = 0; i < 4; i++)
        assert_str_is(a->modules[i].name, names[i]);
    assert_str_is(cd_buf_str(&a->main_module->bytes), "import a from './deep/a.wasm';\n// kept\n");
    assert_int_equal(r.build.input_count, 4);
    (void)snprintf(path, sizeof path, "%s/src/l.wasm", r.dir);
    assert_int_equal(symlink("b.wasm", path), 0);
    assert_int_equal(rig_build(&r), CD_EINVAL);
    assert_true(cd_str_find_str(cd_buf_str(&r.why), CD_STR("src/l.wasm: WebAssembly must be a regular file"),
                                0) != SIZE_MAX);
    rig_close(&r);
}

CD_TESTS(esbuild, cmocka_unit_test(test_a_project_with_all_kinds_of_imports),
         cmocka_unit_test(test_the_same_source_gives_the_same_version_anywhere),
         cmocka_unit_test(test_dev_has_a_source_map_with_paths_of_the_project),
         cmocka_unit_test(test_what_the_bundler_says_is_passed_on_unchanged),
         cmocka_unit_test(test_a_bundler_that_is_missing_or_strange_is_named),
         cmocka_unit_test(test_style_sheets_are_refused),
         cmocka_unit_test(test_define_alias_and_minify_reach_the_bundler),
         cmocka_unit_test(test_jsx_names_and_tsconfig_reach_the_bundler),
         cmocka_unit_test(test_without_bundling_the_entry_is_stored_as_it_is))
