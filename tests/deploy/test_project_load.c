/* Projects on a disk: which file is read, and what is looked at besides. */
#include "deploy/project.h"
#include "io_sim/io_sim.h"
#include "rig.h"

#define MINIMAL(main) "{\"name\": \"x\", \"main\": \"" main "\", \"compatibility_date\": \"2026-01-01\"}"

struct disk {
    const char *path; /* What to load. */
    const char *shown;
    unsigned how; /* And as celld dev does. */
    struct {
        const char *path, *text;
    } file[8];
    /* What came of it. */
    int rc;
    char name[64], root[64], vars[64], said[1024];
};

static void load(struct io *io, void *arg)
{
    struct disk *d = arg;
    struct deploy_project p = {0};
    struct deploy_problems problems = {0};
    struct cd_buf said = {0};
    d->rc = deploy_project_load(&p, io, d->path, d->shown, DEPLOY_LOAD_DEV | d->how, &problems);
    if (d->rc == 0) {
        (void)snprintf(d->name, sizeof d->name, "%s", p.name.ptr);
        (void)snprintf(d->root, sizeof d->root, "%s", p.root.ptr);
        for (size_t i = 0; i < p.vars; i++)
            (void)snprintf(d->vars + strlen(d->vars), sizeof d->vars - strlen(d->vars), "%s=%s;",
                           p.var[i].name.ptr, p.var[i].value.ptr);
        deploy_project_deinit(&p);
    }
    deploy_problems_errors(&said, &problems);
    deploy_problems_warnings(&said, &problems);
    (void)snprintf(d->said, sizeof d->said, "%s", cd_buf_cstr(&said));
    cd_buf_deinit(&said);
    deploy_problems_deinit(&problems);
}

/* Loads from a disk with these files; the caller asserts. */
static void run(struct disk *d)
{
    struct sim *sim = sim_new(NULL);
    struct sim_node *n = sim_node(sim, &(struct sim_node_opts){.name = "n"});
    for (size_t i = 0; i < CD_COUNT(d->file) && d->file[i].path != NULL; i++)
        sim_disk_put(n, d->file[i].path, cd_str(d->file[i].text));
    d->rc = 1;
    sim_in_loop(n, 0, load, d);
    sim_run_for(sim, IO_SEC(1));
    assert_int_not_equal(d->rc, 1); /* It ran. */
    sim_free(sim);
}

static void test_a_directory_gives_the_first_of_three_names(void **state)
{
    (void)state;
    struct disk d = {.path = "/p",
                     .file = {{"/p/wrangler.toml", "name = \"t\"\nmain = \"a.js\"\n"}, {"/p/a.js", ""}}};
    run(&d);
    assert_int_equal(d.rc, 0);
    assert_string_equal(d.name, "t");
    assert_string_equal(d.root, "/p");

    d = (struct disk){
        .path = "/p/",
        .shown = "here",
        .file = {{"/p/wrangler.toml", "bad"}, {"/p/wrangler.json", MINIMAL("a.js")}, {"/p/a.js", ""}}};
    run(&d);
    assert_int_equal(d.rc, 0);
    assert_string_equal(d.name, "x");
    assert_string_equal(d.root, "/p");
    assert_string_equal(d.said, "here/wrangler.json: warning: ignored beside it: wrangler.toml\n");

    d.file[3].path = "/p/wrangler.jsonc";
    d.file[3].text = "{";
    run(&d);
    assert_int_equal(d.rc, CD_ESYNTAX);
    assert_string_equal(d.said,
                        "here/wrangler.jsonc:1:2: the file ends where a key in double quotes or '}' was "
                        "expected\n"
                        "here/wrangler.jsonc: warning: ignored beside it: wrangler.json and wrangler.toml\n");

    d = (struct disk){
        .path = "/p",
        .file = {{"/p/wrangler.jsonc/x", ""}, {"/p/wrangler.json", MINIMAL("a.js")}, {"/p/a.js", ""}}};
    run(&d);
    assert_int_equal(d.rc, 0); /* A directory is no project file. */
    assert_string_equal(d.said, "");

    d = (struct disk){.path = "/p", .shown = "here", .file = {{"/p/package.json", "{}"}}};
    run(&d);
    assert_int_equal(d.rc, CD_ENOTFOUND);
    assert_string_equal(d.said, "no wrangler.jsonc, wrangler.json or wrangler.toml in here\n");

    d = (struct disk){.path = "/p/none", .file = {{"/p/package.json", "{}"}}};
    run(&d);
    assert_int_equal(d.rc, IO_NOENT);
    assert_string_equal(d.said, "/p/none: there is no such file or directory\n");
}

static void test_a_file_is_taken_as_it_is_named(void **state)
{
    (void)state;
    struct disk d = {.path = "/p/sub/my.toml",
                     .file = {{"/p/sub/my.toml", "name = \"t\"\nmain = \"src/a.ts\"\ncompatibility_date = "
                                                 "\"2026-01-01\"\n"},
                              {"/p/wrangler.jsonc", "bad"},
                              {"/p/sub/src/a.ts", ""}}};
    run(&d);
    assert_int_equal(d.rc, 0);
    assert_string_equal(d.said, "");
    assert_string_equal(d.root, "/p/sub");

    d = (struct disk){.path = "/wrangler.json", .file = {{"/wrangler.json", MINIMAL("a.js")}, {"/a.js", ""}}};
    run(&d);
    assert_int_equal(d.rc, 0);
    assert_string_equal(d.root, "/");
}

static void test_main_and_assets_must_be_there(void **state)
{
    (void)state;
    struct disk d = {
        .path = "/p",
        .file = {{"/p/wrangler.json", "{\"name\": \"x\", \"compatibility_date\": \"2026-01-01\",\n"
                                      "  \"main\": \"src/a.js\",\n"
                                      "  \"assets\": {\"directory\": \"public\"}}"},
                 {"/p/public", "a file"}}};
    run(&d);
    assert_int_equal(d.rc, CD_EINVAL);
    assert_string_equal(d.said, "/p/wrangler.json:2:3: main: src/a.js: there is no such file\n"
                                "/p/wrangler.json:3:3: assets: public: not a directory\n");

    d.file[1].path = "/p/public/index.html";
    d.file[2].path = "/p/src/a.js/b.js";
    d.file[2].text = "";
    run(&d);
    assert_string_equal(d.said, "/p/wrangler.json:2:3: main: src/a.js: not a regular file\n");

    d.file[2].path = "/p/src/a.js";
    run(&d);
    assert_int_equal(d.rc, 0);
}

static void test_dev_vars_stand_beside_the_file(void **state)
{
    (void)state;
    struct disk d = {
        .path = "/p",
        .file = {{"/p/wrangler.json", MINIMAL("a.js")}, {"/p/a.js", ""}, {"/p/.dev.vars", "B=2\nA='1'"}}};
    run(&d);
    assert_int_equal(d.rc, 0);
    assert_string_equal(d.vars, "A=1;B=2;");

    d.file[2].text = "secret";
    run(&d);
    assert_int_equal(d.rc, CD_EINVAL);
    assert_string_equal(d.said, "/p/.dev.vars:1: expected NAME=value\n");

    d.file[2].path = "/p/.dev.vars/x";
    run(&d);
    assert_int_not_equal(d.rc, 0);
    assert_memory_equal(d.said, "/p/.dev.vars: ", 14);
}

static void test_all_that_is_wrong_is_told_at_once(void **state)
{
    (void)state;
    struct disk d = {.path = "/p",
                     .shown = "p",
                     .how = DEPLOY_LOAD_SERVED,
                     .file = {{"/p/wrangler.json", "{\"name\": \"No\",\n"
                                                   "\"main\": \"a.js\",\n"
                                                   "\"crons\": 1,\n"
                                                   "\"r2_buckets\": [{\"binding\": \"R\", "
                                                   "\"bucket_name\": \"r\"}],\n"
                                                   "\"compatibility_date\": \"2026-01-01\"}"},
                              {"/p/.dev.vars", "R=1\nx"}}};
    run(&d);
    assert_int_equal(d.rc, CD_EINVAL);
    for (const char *const *line =
             (const char *const[]){
                 "p/wrangler.json:1:10: name: ", "p/wrangler.json:2:1: main: a.js: there is no such file\n",
                 "p/wrangler.json:3:1: crons: unknown key", "p/wrangler.json:4:1: r2_buckets: accepted, but",
                 "p/.dev.vars:1: the name R is taken by an R2 bucket\n",
                 "p/.dev.vars:2: expected NAME=value\n", NULL};
         *line != NULL; line++) {
        if (strstr(d.said, *line) == NULL)
            fail_msg("no %s in\n%s", *line, d.said);
    }
}

static void test_a_file_past_the_limit_is_not_read(void **state)
{
    (void)state;
    struct cd_buf text = {0};
    while (text.len <= DEPLOY_FILE_MAX)
        cd_buf_add_str(&text, CD_STR("                                                                "));
    struct disk d = {.path = "/p", .file = {{"/p/wrangler.json", cd_buf_cstr(&text)}}};
    run(&d);
    assert_int_equal(d.rc, CD_ETOOBIG);
    assert_string_equal(d.said, "/p/wrangler.json: cannot be read: larger than the limit\n");
    cd_buf_deinit(&text);
}

CD_TESTS(project_load, cmocka_unit_test(test_a_directory_gives_the_first_of_three_names),
         cmocka_unit_test(test_a_file_is_taken_as_it_is_named),
         cmocka_unit_test(test_main_and_assets_must_be_there),
         cmocka_unit_test(test_dev_vars_stand_beside_the_file),
         cmocka_unit_test(test_all_that_is_wrong_is_told_at_once),
         cmocka_unit_test(test_a_file_past_the_limit_is_not_read))
