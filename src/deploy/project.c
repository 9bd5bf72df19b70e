/* deploy/project.c: from a text to a checked project. What is here is what needs more than one key. */
#include "deploy/project.h"

#include "deploy/check.h"

void deploy_project_deinit(struct deploy_project *p)
{
    cd_arena_deinit(&p->arena);
    *p = (struct deploy_project){0};
}

/* ---- Rules about several keys ---- */

static bool given(const struct deploy_check *c, const char *key)
{
    return deploy_node_get(c->root, key) != NULL;
}

static void require(struct deploy_check *c, const char *key, const char *text)
{
    struct deploy_place place = deploy_place_of(c->text, c->root->at);
    struct deploy_problem problem = {.severity = DEPLOY_ERROR,
                                     .file = c->project->shown,
                                     .line = place.line,
                                     .column = place.column,
                                     .path = cd_str(key),
                                     .text = cd_str(text)};
    deploy_problems_add(c->problems, &problem);
}

/* The source goes as it is: nothing may ask for a change to it. */
static void check_no_bundle(struct deploy_check *c)
{
    static const char *const others[] = {"define", "rules", "alias", "minify"};
    if (!c->project->no_bundle)
        return;
    for (size_t i = 0; i < CD_COUNT(others); i++) {
        const struct deploy_node *node = deploy_node_get(c->root, others[i]);
        if (node != NULL && !(node->kind == DEPLOY_BOOL && !node->flag))
            deploy_check_error(c, node, NULL,
                               "cannot be used with no_bundle, which leaves the source as it is");
    }
}

/* What a project without main declares and nobody would answer for. */
static void check_asset_only(struct deploy_check *c)
{
    static const char *const keys[] = {"no_bundle",  "vars",           "services",     "durable_objects",
                                       "migrations", "worker_loaders", "d1_databases", "kv_namespaces",
                                       "r2_buckets", "queues",         "workflows",    "triggers"};
    for (size_t i = 0; i < CD_COUNT(keys); i++) {
        const struct deploy_node *node = deploy_node_get(c->root, keys[i]);
        if (node != NULL)
            deploy_check_error(c, node, NULL, "needs main: this project has static assets alone");
    }
    static const char *const members[] = {"binding", "run_worker_first"};
    for (size_t i = 0; i < CD_COUNT(members); i++) {
        const struct deploy_node *node = deploy_node_get(deploy_node_get(c->root, "assets"), members[i]);
        if (node != NULL)
            deploy_check_error(c, node, NULL, "needs main: this project has static assets alone");
    }
}

static void check_together(struct deploy_check *c)
{
    if (!given(c, "name"))
        require(c, "name", "required");
    if (given(c, "main"))
        check_no_bundle(c);
    else if (given(c, "assets"))
        check_asset_only(c);
    else
        require(c, "main", "required, unless the project has static assets alone (assets)");
    if (given(c, "main") && !given(c, "compatibility_date")) {
        struct deploy_problem problem = {
            .severity = DEPLOY_WARNING,
            .file = c->project->shown,
            .path = CD_STR("compatibility_date"),
            .text = CD_STR(
                "not given: every switch behaves as it did at the oldest date; set it to the date of today")};
        deploy_problems_add(c->problems, &problem);
    }
}

/* ---- From text to tree to project ---- */

static int read_tree(struct deploy_project *p, struct cd_str text, struct deploy_problems *problems,
                     const struct deploy_node **root)
{
    struct deploy_fault fault = {0};
    struct deploy_node *tree = NULL;
    int rc = cd_str_ends(p->file, CD_STR(".toml")) ? deploy_toml_parse(&p->arena, text, &tree, &fault)
                                                   : deploy_jsonc_parse(&p->arena, text, &tree, &fault);
    size_t at = fault.at;
    if (rc == 0 && tree->kind != DEPLOY_OBJECT) {
        cd_buf_addf(&fault.why, "a project file is an object, not %s", deploy_kind_name(tree->kind));
        at = tree->at;
        rc = CD_EINVAL;
    }
    if (rc != 0) {
        struct deploy_place place = deploy_place_of(text, at);
        struct deploy_problem problem = {.severity = DEPLOY_ERROR,
                                         .file = p->shown,
                                         .line = place.line,
                                         .column = place.column,
                                         .text = cd_buf_str(&fault.why)};
        deploy_problems_add(problems, &problem);
    }
    cd_buf_deinit(&fault.why);
    *root = tree;
    return rc;
}

static void list_keys(struct deploy_check *c)
{
    struct deploy_project *p = c->project;
    p->key = cd_arena_alloc(&p->arena, (c->root->count + 1) * sizeof *p->key);
    for (const struct deploy_node *n = c->root->first; n != NULL; n = n->next)
        p->key[p->keys++] = (struct deploy_key){n->key, deploy_place_of(c->text, n->key_at)};
}

int deploy_project_read(struct deploy_project *out, const char *file, const char *shown, struct cd_str text,
                        struct deploy_problems *problems)
{
    struct deploy_project p = {.keep_names =
                                   true}; /* As Wrangler has it: packages look at names of classes. */
    const char *slash = strrchr(file, '/');
    CD_ASSERT(file[0] == '/' && slash != NULL);
    p.file = cd_arena_copy(&p.arena, cd_str(file));
    p.root = cd_arena_copy(&p.arena, cd_str_of(file, slash == file ? 1 : (size_t)(slash - file)));
    p.shown = cd_arena_copy(&p.arena, cd_str(shown == NULL ? file : shown));

    struct deploy_check c = {.project = &p, .problems = problems, .text = text};
    int rc = read_tree(&p, text, problems, &c.root);
    if (rc != 0) {
        deploy_project_deinit(&p);
        return rc;
    }
    for (const struct deploy_node *n = c.root->first; n != NULL; n = n->next)
        deploy_check_top(&c, n);
    check_together(&c);
    cd_map_deinit(&c.names);
    list_keys(&c);
    *out = p;
    return 0;
}

int deploy_project_parse(struct deploy_project *out, const char *file, const char *shown, struct cd_str text,
                         struct deploy_problems *problems)
{
    struct deploy_project p;
    size_t before = problems->errors;
    int rc = deploy_project_read(&p, file, shown, text, problems);
    if (rc != 0)
        return rc;
    if (problems->errors > before) {
        deploy_project_deinit(&p);
        return CD_EINVAL;
    }
    deploy_compat_decide(&p.compat);
    *out = p;
    return 0;
}

/* ---- What is not served yet ---- */

struct unserved {
    const char *key;
    bool declares; /* Something: an empty list asks for nothing. */
};

static const struct deploy_key *find_key(const struct deploy_project *p, const char *key)
{
    for (size_t i = 0; i < p->keys; i++) {
        if (cd_str_eq(p->key[i].name, cd_str(key)))
            return &p->key[i];
    }
    return NULL;
}

static void add_unserved(const struct deploy_project *p, struct deploy_problems *problems, const char *key,
                         const char *text)
{
    const struct deploy_key *at = find_key(p, key);
    CD_ASSERT(at != NULL);
    struct deploy_problem problem = {.severity = DEPLOY_ERROR,
                                     .file = p->shown,
                                     .line = at->at.line,
                                     .column = at->at.column,
                                     .path = at->name,
                                     .text = cd_str(text)};
    deploy_problems_add(problems, &problem);
}

int deploy_project_check_served(const struct deploy_project *p, struct deploy_problems *problems)
{
    const struct unserved keys[] = {
        {"assets", p->assets.given && p->main.len > 0},
        {"d1_databases", p->d1s > 0},
        {"kv_namespaces", p->kvs > 0},
        {"queues", p->producers + p->consumers > 0},
        {"r2_buckets", p->r2s > 0},
        {"workflows", p->workflows > 0},
        {"worker_loaders", p->worker_loaders > 0},
        {"triggers", p->crons > 0},
    };
    size_t before = problems->errors;
    for (size_t i = 0; i < CD_COUNT(keys); i++) {
        if (keys[i].declares)
            add_unserved(p, problems, keys[i].key, "accepted, but not available in this version of celld");
    }
    if (find_key(p, "main") == NULL && p->assets.given)
        add_unserved(
            p, problems, "assets",
            "a project of static assets alone is accepted, but not available in this version of celld");
    return problems->errors > before ? CD_EUNSUPPORTED : 0;
}
