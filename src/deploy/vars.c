/* deploy/vars.c: .dev.vars. */
#include "deploy/vars.h"

#include "deploy/file.h"
#include "deploy/names.h"

#define FILE_NAME CD_STR(".dev.vars")

/* Beside the project file, as the user called that. */
static void report(const struct deploy_project *p, struct deploy_problems *problems, size_t line,
                   const char *text)
{
    struct cd_buf file = {0};
    size_t dir = p->shown.len;
    while (dir > 0 && p->shown.ptr[dir - 1] != '/')
        dir--;
    cd_buf_add(&file, p->shown.ptr, dir);
    cd_buf_add_str(&file, FILE_NAME);
    struct deploy_problem problem = {
        .severity = DEPLOY_ERROR, .file = cd_buf_str(&file), .line = (unsigned)line, .text = cd_str(text)};
    deploy_problems_add(problems, &problem);
    cd_buf_deinit(&file);
}

static struct cd_str without_quotes(struct cd_str s)
{
    bool quoted = s.len >= 2 && (s.ptr[0] == '"' || s.ptr[0] == '\'') && s.ptr[s.len - 1] == s.ptr[0];
    return quoted ? cd_str_sub(s, 1, s.len - 2) : s;
}

/* NAME=value; false when it is not that. */
static bool read_line(struct cd_str line, struct cd_str *name, struct cd_str *value)
{
    if (cd_str_starts(line, CD_STR("export ")) || cd_str_starts(line, CD_STR("export\t")))
        line = cd_str_sub(line, 7, SIZE_MAX);
    size_t equals = cd_str_find(line, '=', 0);
    if (equals == SIZE_MAX)
        return false;
    *name = cd_str_trim(cd_str_sub(line, 0, equals));
    *value = without_quotes(cd_str_trim(cd_str_sub(line, equals + 1, SIZE_MAX)));
    return deploy_name_binding(*name) == NULL;
}

/* What has this name and is no variable, or NULL. */
static const char *other_kind(const struct deploy_project *p, struct cd_str name)
{
#define LOOK(items, count, what)                                                                             \
    for (size_t i = 0; i < p->count; i++) {                                                                  \
        if (cd_str_eq(p->items[i].binding, name))                                                            \
            return what;                                                                                     \
    }
    LOOK(durable, durables, "a Durable Object")
    LOOK(service, services, "a service")
    LOOK(d1, d1s, "a D1 database")
    LOOK(kv, kvs, "a KV namespace")
    LOOK(producer, producers, "a queue")
    LOOK(r2, r2s, "an R2 bucket")
    LOOK(workflow, workflows, "a workflow")
    LOOK(worker_loader, worker_loaders, "a worker loader")
#undef LOOK
    return cd_str_eq(p->assets.binding, name) ? "the static assets" : NULL;
}

/* Line by line into vars, by name, over what is there. */
static void read_lines(struct deploy_project *p, struct cd_str text, struct cd_map *vars,
                       struct deploy_problems *problems)
{
    struct cd_str line, name, value;
    for (size_t number = 1; cd_str_next(&text, '\n', &line); number++) {
        const char *kind = NULL;
        line = cd_str_trim(line);
        if (line.len == 0 || line.ptr[0] == '#')
            continue;
        if (!cd_str_is_utf8(line)) {
            report(p, problems, number, "not UTF-8");
        } else if (!read_line(line, &name, &value)) {
            report(p, problems, number, "expected NAME=value");
        } else if ((kind = other_kind(p, name)) != NULL) {
            struct cd_buf why = {0};
            cd_buf_addf(&why, "the name %.*s is taken by %s", (int)name.len, name.ptr, kind);
            report(p, problems, number, cd_buf_cstr(&why));
            cd_buf_deinit(&why);
        } else {
            struct deploy_var *var = cd_arena_alloc(&p->arena, sizeof *var);
            *var = (struct deploy_var){cd_arena_copy(&p->arena, name), cd_arena_copy(&p->arena, value),
                                       .dev = true};
            (void)cd_map_put(vars, name, var);
        }
    }
}

int deploy_vars_merge(struct deploy_project *p, struct cd_str text, struct deploy_problems *problems)
{
    struct cd_map vars = {0};
    size_t before = problems->errors;
    if (p->main.len == 0)
        return 0;
    if (cd_str_starts(text, CD_STR("\xef\xbb\xbf")))
        text = cd_str_sub(text, 3, SIZE_MAX);
    for (size_t i = 0; i < p->vars; i++)
        (void)cd_map_put(&vars, p->var[i].name, &p->var[i]);
    read_lines(p, text, &vars, problems);
    if (problems->errors == before && vars.count > 0) {
        struct deploy_var *merged = cd_arena_alloc(&p->arena, vars.count * sizeof *merged);
        size_t count = 0;
        for (struct cd_map_node *n = cd_map_first(&vars); n != NULL; n = cd_map_next(n))
            merged[count++] = *(struct deploy_var *)cd_map_value(n);
        p->var = merged;
        p->vars = count;
    }
    cd_map_deinit(&vars);
    return problems->errors > before ? CD_EINVAL : 0;
}

int deploy_vars_load(struct deploy_project *p, struct io *io, struct deploy_problems *problems)
{
    struct cd_buf path = {0}, text = {0};
    deploy_file_join(&path, p->root, FILE_NAME);
    int rc = deploy_file_read(io, cd_buf_cstr(&path), DEPLOY_FILE_MAX, &text);
    if (rc == 0) {
        rc = deploy_vars_merge(p, cd_buf_str(&text), problems);
    } else if (rc == IO_NOENT) {
        rc = 0;
    } else {
        report(p, problems, 0, cd_err_text(rc));
    }
    cd_buf_deinit(&path);
    cd_buf_deinit(&text);
    return rc;
}
