/* Symbolic links, which the simulated disk has none of: io_path_stat tells them, and a project may not lead
 * out of its directory by one. */
#include <unistd.h>

#include "deploy/project.h"
#include "node_help.h"

struct links {
    char root[32];
    char path[8][64]; /* Removed in the end, last first. */
    size_t paths;
};

static const char *name(struct links *l, const char *path)
{
    CHECK(l->paths < CD_COUNT(l->path));
    char full[64];
    (void)snprintf(full, sizeof full, "%s/%s", l->root, path);
    memcpy(l->path[l->paths], full, sizeof full);
    return l->path[l->paths++];
}

static void add_file(struct links *l, const char *path, const char *text)
{
    FILE *f = fopen(name(l, path), "w");
    CHECK(f != NULL);
    CHECK(fputs(text, f) >= 0);
    CHECK_INT(fclose(f), 0);
}

static void add_link(struct links *l, const char *path, const char *to)
{
    CHECK_INT(symlink(to, name(l, path)), 0);
}

static void run(struct links *l, void (*flow)(struct contract *c))
{
    (void)snprintf(l->root, sizeof l->root, "/tmp/celld-links-XXXXXX");
    CHECK(mkdtemp(l->root) != NULL);
    node_run(&(struct node_run){.flow = flow, .arg = l});
    while (l->paths-- > 0)
        CHECK_INT(unlink(l->path[l->paths]), 0);
    CHECK_INT(rmdir(l->root), 0);
}

static void flow_stat(struct contract *c)
{
    struct links *l = c->arg;
    struct io_path_info info;
    add_file(l, "file", "abc");
    add_link(l, "link", "file");
    add_link(l, "dangling", "nowhere");
    CHECK_INT(io_path_stat(c->io, l->path[0], &info), IO_OK);
    CHECK(info.kind == IO_PATH_FILE && !info.link && info.size == 3);
    CHECK_INT(io_path_stat(c->io, l->path[1], &info), IO_OK);
    CHECK(info.kind == IO_PATH_FILE && info.link && info.size == 3);
    CHECK_INT(io_path_stat(c->io, l->path[2], &info), IO_NOENT);
}

static void test_a_link_is_told_from_the_file_it_leads_to(void **state)
{
    (void)state;
    run(&(struct links){0}, flow_stat);
}

/* The errors of the project whose main is this. */
static void said_of(struct contract *c, struct links *l, const char *main, struct cd_buf *out)
{
    struct deploy_project p;
    struct deploy_problems problems = {0};
    struct cd_buf text = {0};
    cd_buf_addf(&text, "{\"name\": \"x\", \"main\": \"%s\"}", main);
    add_file(l, "wrangler.json", cd_buf_cstr(&text));
    if (deploy_project_load(&p, c->io, l->root, "p", 0, &problems) == 0)
        deploy_project_deinit(&p);
    cd_buf_clear(out);
    deploy_problems_errors(out, &problems);
    deploy_problems_deinit(&problems);
    cd_buf_deinit(&text);
    CHECK_INT(unlink(l->path[--l->paths]), 0);
}

static void flow_project(struct contract *c)
{
    struct links *l = c->arg;
    struct cd_buf said = {0};
    add_file(l, "file.js", "");
    add_link(l, "link.js", "file.js");
    add_link(l, "tmp", "..");
    said_of(c, l, "file.js", &said);
    CHECK(said.len == 0);
    said_of(c, l, "./link.js", &said);
    CHECK_INT(strcmp(cd_buf_cstr(&said),
                     "p/wrangler.json:1:15: main: link.js: a symbolic link: the project must hold the "
                     "file itself\n"),
              0);
    struct cd_buf around = {0};
    cd_buf_addf(&around, "tmp/%s/file.js", strrchr(l->root, '/') + 1);
    said_of(c, l, cd_buf_cstr(&around), &said);
    CHECK(strstr(cd_buf_cstr(&said), "a symbolic link: the project must hold the file itself") != NULL);
    cd_buf_deinit(&around);
    cd_buf_deinit(&said);
}

static void test_main_is_no_link_and_not_behind_one(void **state)
{
    (void)state;
    run(&(struct links){0}, flow_project);
}

CD_TESTS(links, cmocka_unit_test(test_a_link_is_told_from_the_file_it_leads_to),
         cmocka_unit_test(test_main_is_no_link_and_not_behind_one))
