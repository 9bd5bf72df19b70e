/* fuzz/project_run.h: what holds for every text of a project file, in either language. */
#ifndef FUZZ_PROJECT_RUN_H
#define FUZZ_PROJECT_RUN_H

#include "deploy/project.h"

typedef int parse_fn(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                     struct deploy_fault *fault);

/* Links, counts, kinds and places of a tree; depth counts from 1 at the root. */
static inline void project_walk(const struct deploy_node *node, struct cd_str text, unsigned depth)
{
    CD_ASSERT(node->at <= text.len);
    bool holds = node->kind == DEPLOY_ARRAY || node->kind == DEPLOY_OBJECT;
    CD_ASSERT(depth <= DEPLOY_DEPTH_MAX + (holds ? 0u : 1u));
    CD_ASSERT(holds || (node->first == NULL && node->count == 0));
    if (node->kind == DEPLOY_STRING)
        CD_ASSERT(cd_str_is_utf8(node->text));
    size_t count = 0;
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        CD_ASSERT(n->up == node);
        CD_ASSERT(n->index == count);
        CD_ASSERT(n->key_at <= text.len);
        CD_ASSERT(cd_str_is_utf8(n->key));
        project_walk(n, text, depth + 1);
        count++;
    }
    CD_ASSERT(count == node->count);
}

static inline void project_again(const struct deploy_node *root)
{
    struct cd_arena arena = {0};
    struct cd_buf json = {0}, again = {0};
    struct deploy_fault fault = {0};
    const struct deploy_node *bad = NULL;
    struct deploy_node *copy = NULL;
    if (deploy_node_json(&json, root, &bad) == 0) {
        CD_ASSERT(deploy_jsonc_parse(&arena, cd_buf_str(&json), &copy, &fault) == 0 ||
                  json.len > DEPLOY_FILE_MAX);
        CD_ASSERT(copy == NULL || deploy_node_json(&again, copy, &bad) == 0);
        CD_ASSERT(copy == NULL || cd_str_eq(cd_buf_str(&json), cd_buf_str(&again)));
    } else {
        CD_ASSERT(bad->kind == DEPLOY_DATE || bad->kind == DEPLOY_NOT_A_NUMBER);
    }
    cd_buf_deinit(&json);
    cd_buf_deinit(&again);
    cd_buf_deinit(&fault.why);
    cd_arena_deinit(&arena);
}

static inline void project_run(parse_fn *parse, const char *file, struct cd_str text)
{
    struct cd_arena arena = {0};
    struct deploy_node *root = NULL;
    struct deploy_fault fault = {0};
    struct deploy_project project;
    struct deploy_problems problems = {0};
    struct cd_buf said = {0};
    bool read = parse(&arena, text, &root, &fault) == 0;
    if (read) {
        project_walk(root, text, 1);
        project_again(root);
    } else {
        CD_ASSERT(fault.why.len > 0);
        CD_ASSERT(fault.at <= text.len);
    }
    bool good = deploy_project_parse(&project, file, NULL, text, &problems) == 0;
    CD_ASSERT(read || !good);
    deploy_problems_errors(&said, &problems);
    CD_ASSERT(good == (said.len == 0));
    if (good)
        deploy_project_deinit(&project);
    deploy_problems_deinit(&problems);
    cd_buf_deinit(&said);
    cd_buf_deinit(&fault.why);
    cd_arena_deinit(&arena);
}

#endif
