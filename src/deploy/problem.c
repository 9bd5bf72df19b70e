/* deploy/problem.c: the list of what is wrong with a project, and its print. */
#include "deploy/problem.h"

void deploy_problems_deinit(struct deploy_problems *all)
{
    cd_arena_deinit(&all->arena);
    *all = (struct deploy_problems){0};
}

static int compare(const struct deploy_problem *a, const struct deploy_problem *b)
{
    if (a->severity != b->severity)
        return a->severity < b->severity ? -1 : 1;
    int order = cd_str_cmp(a->file, b->file);
    if (order != 0)
        return order;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->column < b->column ? -1 : a->column > b->column;
}

void deploy_problems_add(struct deploy_problems *all, const struct deploy_problem *p)
{
    size_t *count = p->severity == DEPLOY_ERROR     ? &all->errors
                    : p->severity == DEPLOY_WARNING ? &all->warnings
                                                    : &all->notes;
    if ((*count)++ >= DEPLOY_PROBLEMS_MAX)
        return;
    struct deploy_problem *own = cd_arena_alloc(&all->arena, sizeof *own);
    *own = *p;
    own->file = cd_arena_copy(&all->arena, p->file);
    own->path = cd_arena_copy(&all->arena, p->path);
    own->text = cd_arena_copy(&all->arena, p->text);
    own->hint = cd_arena_copy(&all->arena, p->hint);
    struct deploy_problem **at = &all->first;
    while (*at != NULL && compare(*at, own) <= 0)
        at = &(*at)->next;
    own->next = *at;
    *at = own;
}

static void print_one(struct cd_buf *out, const struct deploy_problem *p)
{
    static const char *const mark[] = {
        [DEPLOY_ERROR] = "", [DEPLOY_WARNING] = "warning: ", [DEPLOY_NOTE] = "note: "};
    cd_buf_add_str(out, p->file);
    if (p->line != 0)
        cd_buf_addf(out, ":%u", p->line);
    if (p->column != 0)
        cd_buf_addf(out, ":%u", p->column);
    cd_buf_addf(out, "%s%s", p->file.len > 0 ? ": " : "", mark[p->severity]);
    if (p->path.len > 0) {
        cd_buf_add_str(out, p->path);
        cd_buf_add_str(out, CD_STR(": "));
    }
    cd_buf_add_str(out, p->text);
    cd_buf_add_byte(out, '\n');
    if (p->hint.len > 0) {
        cd_buf_add_str(out, CD_STR("    "));
        cd_buf_add_str(out, p->hint);
        cd_buf_add_byte(out, '\n');
    }
}

static void print_more(struct cd_buf *out, size_t count, const char *what)
{
    if (count > DEPLOY_PROBLEMS_MAX)
        cd_buf_addf(out, "and %zu more %s\n", count - DEPLOY_PROBLEMS_MAX, what);
}

/* The keys that stop the deploy by name alone, in one line before the details. */
static void print_keys(struct cd_buf *out, const struct deploy_problems *all)
{
    size_t keys = 0;
    for (const struct deploy_problem *p = all->first; p != NULL; p = p->next) {
        if (!p->refused_key)
            continue;
        if (keys++ == 0) {
            cd_buf_add_str(out, p->file);
            cd_buf_add_str(out, CD_STR(": unsupported configuration key(s): "));
        } else {
            cd_buf_add_str(out, CD_STR(", "));
        }
        cd_buf_add_str(out, p->path);
    }
    if (keys > 0)
        cd_buf_add_byte(out, '\n');
}

void deploy_problems_errors(struct cd_buf *out, const struct deploy_problems *all)
{
    print_keys(out, all);
    for (const struct deploy_problem *p = all->first; p != NULL; p = p->next) {
        if (p->severity == DEPLOY_ERROR)
            print_one(out, p);
    }
    print_more(out, all->errors, "errors");
}

void deploy_problems_warnings(struct cd_buf *out, const struct deploy_problems *all)
{
    for (const struct deploy_problem *p = all->first; p != NULL; p = p->next) {
        if (p->severity != DEPLOY_ERROR)
            print_one(out, p);
    }
    print_more(out, all->warnings, "warnings");
    print_more(out, all->notes, "notes");
}
