/* deploy/check_bindings.c: variables, services, Durable Objects and their migrations, workflows, worker
 * loaders (config.md 3, services.md 1.1, 6, 9). */
#include <stdlib.h>

#include "deploy/check.h"
#include "deploy/names.h"

/* ---- vars ---- */

static int compare_vars(const void *a, const void *b)
{
    return cd_str_cmp(((const struct deploy_var *)a)->name, ((const struct deploy_var *)b)->name);
}

static bool check_var(struct deploy_check *c, const struct deploy_node *node, struct deploy_var *var)
{
    struct deploy_project *p = c->project;
    const char *want = deploy_name_binding(node->key);
    if (want != NULL) {
        deploy_check_error(c, node, NULL, "the name of a variable must be %s", want);
        return false;
    }
    if (node->kind == DEPLOY_NULL) {
        deploy_check_error(c, node, NULL, "null is no value of a variable: give it a value or take it out");
        return false;
    }
    struct cd_buf json = {0};
    const struct deploy_node *bad = NULL;
    if (node->kind != DEPLOY_STRING && deploy_node_json(&json, node, &bad) != 0) {
        deploy_check_error(c, bad, bad->kind == DEPLOY_DATE ? "write it in quotes" : NULL,
                           "%s cannot be in a variable: JSON has none",
                           bad->kind == DEPLOY_DATE ? "a date" : "an infinite number or nan");
        cd_buf_deinit(&json);
        return false;
    }
    var->json = node->kind != DEPLOY_STRING;
    var->value = cd_arena_copy(&p->arena, var->json ? cd_buf_str(&json) : node->text);
    var->name = cd_arena_copy(&p->arena, node->key);
    cd_buf_deinit(&json);
    return deploy_check_bind(c, node, var->name, "a variable");
}

void deploy_check_vars(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    if (!deploy_check_kind(c, node, DEPLOY_OBJECT) || node->count == 0)
        return;
    p->var = cd_arena_alloc(&p->arena, node->count * sizeof *p->var);
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        if (check_var(c, n, &p->var[p->vars]))
            p->vars++;
    }
    qsort(p->var, p->vars, sizeof *p->var, compare_vars);
}

/* ---- services ---- */

static bool check_service(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"service", true, NULL},
        {"entrypoint", false, NULL},
        {"props", false, "props of a service binding are not available"},
        {"remote", false, "remote bindings are not available: all services run in this fleet"},
        {"environment", false, "environments are not available"},
    };
    struct deploy_service *s = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "a service", &s->binding);
    good = deploy_check_name(c, node, "service", deploy_name_script, &s->service) && good;
    if (deploy_node_get(node, "entrypoint") != NULL)
        good = deploy_check_name(c, node, "entrypoint", deploy_name_class, &s->entrypoint) && good;
    if (cd_str_eq(s->entrypoint, CD_STR("default")))
        s->entrypoint = (struct cd_str){NULL, 0};
    return good;
}

void deploy_check_services(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->service, check_service, (void **)&p->service, &p->services);
}

/* ---- durable_objects, migrations ---- */

/* Whether script_name is absent or the script's own name. */
static bool is_own_script(struct deploy_check *c, const struct deploy_node *node, const char *what)
{
    const struct deploy_node *script = deploy_node_get(node, "script_name"),
                             *own = deploy_node_get(c->root, "name");
    if (script == NULL)
        return true;
    if (!deploy_check_kind(c, script, DEPLOY_STRING))
        return false;
    if (own != NULL && own->kind == DEPLOY_STRING && cd_str_eq(script->text, own->text))
        return true;
    deploy_check_error(c, script, NULL,
                       "%s of another script cannot be bound yet: leave it out or give this script's name",
                       what);
    return false;
}

static bool check_durable(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"name", true, NULL},
        {"class_name", true, NULL},
        {"script_name", false, NULL},
        {"environment", false, "environments are not available"},
    };
    struct deploy_durable *d = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "name", "a Durable Object", &d->binding);
    good = deploy_check_name(c, node, "class_name", deploy_name_class, &d->class_name) && good;
    return is_own_script(c, node, "a class") && good;
}

void deploy_check_durable(struct deploy_check *c, const struct deploy_node *node)
{
    static const struct deploy_member members[] = {{"bindings", true, NULL}};
    struct deploy_project *p = c->project;
    if (DEPLOY_CHECK_OBJECT(c, node, members))
        deploy_check_list(c, deploy_node_get(node, "bindings"), sizeof *p->durable, check_durable,
                          (void **)&p->durable, &p->durables);
}

static bool check_new_class(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    return deploy_check_grammar(c, node, deploy_name_class, item);
}

#define OPERATOR "this changes stored state, which no deploy does: it needs a procedure of the operator"

static bool check_migration(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"tag", true, NULL},
        {"new_sqlite_classes", false, NULL},
        {"new_classes", false, NULL},
        {"renamed_classes", false, OPERATOR},
        {"deleted_classes", false, OPERATOR},
        {"transferred_classes", false, OPERATOR},
    };
    struct deploy_migration *m = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    const struct deploy_node *classes = deploy_node_get(node, "new_sqlite_classes");
    deploy_check_list(c, classes, sizeof *m->sqlite_class, check_new_class, (void **)&m->sqlite_class,
                      &m->sqlite_classes);
    deploy_check_list(c, deploy_node_get(node, "new_classes"), sizeof *m->plain_class, check_new_class,
                      (void **)&m->plain_class, &m->plain_classes);
    return deploy_check_text(c, node, "tag", &m->tag);
}

static void check_introduced(struct deploy_check *c, const struct deploy_node *list, struct cd_map *classes)
{
    if (list == NULL || list->kind != DEPLOY_ARRAY)
        return;
    for (const struct deploy_node *k = list->first; k != NULL; k = k->next) {
        if (k->kind == DEPLOY_STRING && cd_map_put(classes, k->text, c) != NULL)
            deploy_check_error(c, k, NULL, "this class is introduced twice");
    }
}

/* Tags are unique, and a class is new only once. */
static void check_introductions(struct deploy_check *c, const struct deploy_node *list)
{
    struct cd_map tags = {0}, classes = {0};
    for (const struct deploy_node *n = list->first; n != NULL; n = n->next) {
        const struct deploy_node *tag = deploy_node_get(n, "tag");
        if (tag != NULL && tag->kind == DEPLOY_STRING && cd_map_put(&tags, tag->text, c) != NULL)
            deploy_check_error(c, tag, NULL, "this tag is given twice");
        check_introduced(c, deploy_node_get(n, "new_sqlite_classes"), &classes);
        check_introduced(c, deploy_node_get(n, "new_classes"), &classes);
    }
    cd_map_deinit(&tags);
    cd_map_deinit(&classes);
}

void deploy_check_migrations(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    if (!deploy_check_kind(c, node, DEPLOY_ARRAY))
        return;
    deploy_check_list(c, node, sizeof *p->migration, check_migration, (void **)&p->migration, &p->migrations);
    check_introductions(c, node);
}

/* ---- workflows, worker_loaders ---- */

static bool check_workflow(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"name", true, NULL},
        {"binding", true, NULL},
        {"class_name", true, NULL},
        {"script_name", false, NULL},
        {"schedules", false, "schedules are not available: use triggers.crons and create instances there"},
        {"limits", false, "limits of workflows are not set here"},
        {"remote", false, "remote bindings are not available: all services run in this fleet"},
    };
    struct deploy_workflow *w = item;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return false;
    bool good = deploy_check_binding(c, node, "binding", "a workflow", &w->binding);
    good = deploy_check_name(c, node, "name", deploy_name_bucket, &w->name) && good;
    good = deploy_check_name(c, node, "class_name", deploy_name_class, &w->class_name) && good;
    return is_own_script(c, node, "a workflow") && good;
}

void deploy_check_workflows(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->workflow, check_workflow, (void **)&p->workflow, &p->workflows);
    deploy_check_unique(c, node, "name", "this workflow is declared twice");
}

static bool check_loader(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    static const struct deploy_member members[] = {
        {"binding", true, NULL},
        {"limits", false, "limits are given to each Worker that is loaded"},
        {"tails", false, "tails are given to each Worker that is loaded"},
        {"allowExperimental", false, "experimental features cannot be allowed"},
    };
    struct deploy_worker_loader *l = item;
    return DEPLOY_CHECK_OBJECT(c, node, members) &&
           deploy_check_binding(c, node, "binding", "a worker loader", &l->binding);
}

void deploy_check_loaders(struct deploy_check *c, const struct deploy_node *node)
{
    struct deploy_project *p = c->project;
    deploy_check_list(c, node, sizeof *p->worker_loader, check_loader, (void **)&p->worker_loader,
                      &p->worker_loaders);
}
