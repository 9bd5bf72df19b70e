/* deploy/check_assets.c: static assets and cron triggers (services.md 7, 8). */
#include "deploy/check.h"

#include "base/cron.h"

/* The index of the word in a list of words that ends with NULL; reports and gives false otherwise. */
static bool check_word(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       const char *const *words, unsigned *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    struct cd_buf list = {0};
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (cd_str_eq(node->text, cd_str(words[i]))) {
            cd_buf_deinit(&list);
            *out = i;
            return true;
        }
        cd_buf_addf(&list, "%s%s", i == 0 ? "" : words[i + 1] == NULL ? " or " : ", ", words[i]);
    }
    deploy_check_error(c, node, NULL, "must be %s", cd_buf_cstr(&list));
    cd_buf_deinit(&list);
    return false;
}

/* ---- run_worker_first ---- */

#define RULES_MAX 100
#define RULE_LEN_MAX 100

static bool check_route(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    if (!deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    struct cd_str rule = node->text;
    bool starts = cd_str_starts(rule, CD_STR("/")) || cd_str_starts(rule, CD_STR("!/"));
    bool sized = rule.len >= 2 && rule.len <= RULE_LEN_MAX;
    if (!starts || cd_str_find(rule, '\0', 0) != SIZE_MAX || (!sized && !cd_str_eq(rule, CD_STR("/")))) {
        deploy_check_error(c, node, NULL, "must start with / or !/ and have at most %d characters",
                           RULE_LEN_MAX);
        return false;
    }
    for (const struct deploy_node *before = node->up->first; before != node; before = before->next) {
        if (before->kind == DEPLOY_STRING && cd_str_eq(before->text, rule)) {
            deploy_check_error(c, node, NULL, "given twice");
            return false;
        }
    }
    return deploy_check_string(c, node, item);
}

static void check_worker_first(struct deploy_check *c, const struct deploy_node *node,
                               struct deploy_assets *a)
{
    if (node->kind == DEPLOY_BOOL) {
        a->run_worker_first = node->flag ? DEPLOY_WORKER_FIRST : DEPLOY_ASSETS_FIRST;
        return;
    }
    if (node->kind != DEPLOY_ARRAY) {
        deploy_check_error(c, node, NULL, "must be a boolean or an array of rules, not %s",
                           deploy_kind_name(node->kind));
        return;
    }
    if (node->count < 1 || node->count > RULES_MAX) {
        deploy_check_error(c, node, NULL, "must have 1 to %d rules", RULES_MAX);
        return;
    }
    a->run_worker_first = DEPLOY_WORKER_FIRST_RULES;
    deploy_check_list(c, node, sizeof *a->rule, check_route, (void **)&a->rule, &a->rules);
    bool positive = false;
    for (size_t i = 0; i < a->rules; i++)
        positive = positive || a->rule[i].ptr[0] == '/';
    if (!positive && a->rules == node->count)
        deploy_check_error(c, node, NULL, "needs at least one rule that does not start with !");
}

void deploy_check_assets(struct deploy_check *c, const struct deploy_node *node)
{
    static const struct deploy_member members[] = {
        {"directory", true, NULL},         {"binding", false, NULL},
        {"html_handling", false, NULL},    {"not_found_handling", false, NULL},
        {"run_worker_first", false, NULL},
    };
    static const char *const html[] = {"auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash",
                                       "none", NULL};
    static const char *const missing[] = {"none", "single-page-application", "404-page", NULL};
    struct deploy_assets *a = &c->project->assets;
    unsigned word;
    a->given = true;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return;
    (void)deploy_check_path(c, node, "directory", true, &a->directory);
    (void)deploy_check_binding(c, node, "binding", "the static assets", &a->binding);
    if (check_word(c, node, "html_handling", html, &word))
        a->html_handling = (enum deploy_html)word;
    if (check_word(c, node, "not_found_handling", missing, &word))
        a->not_found_handling = (enum deploy_missing)word;
    const struct deploy_node *first = deploy_node_get(node, "run_worker_first");
    if (first != NULL)
        check_worker_first(c, first, a);
}

/* ---- triggers ---- */

static bool check_cron(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    struct deploy_cron *cron = item;
    struct cd_cron parsed;
    struct cd_buf why = {0};
    if (!deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    struct cd_str text = cd_str_trim(node->text);
    bool good = cd_cron_parse(&parsed, text, &why) == 0;
    if (good)
        cron->text = cd_arena_copy(&c->project->arena, text);
    else
        deploy_check_error(c, node, NULL, "%s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
    return good;
}

void deploy_check_triggers(struct deploy_check *c, const struct deploy_node *node)
{
    static const struct deploy_member members[] = {{"crons", true, NULL}};
    struct deploy_project *p = c->project;
    if (!DEPLOY_CHECK_OBJECT(c, node, members))
        return;
    deploy_check_list(c, deploy_node_get(node, "crons"), sizeof *p->cron, check_cron, (void **)&p->cron,
                      &p->crons);
    struct cd_map seen = {0};
    size_t kept = 0;
    for (size_t i = 0; i < p->crons; i++) {
        if (cd_map_put(&seen, p->cron[i].text, p) == NULL)
            p->cron[kept++] = p->cron[i];
    }
    p->crons = kept;
    cd_map_deinit(&seen);
}
