/* deploy/check.c: what the checks of a project file share. */
#include "deploy/check.h"

#include "deploy/names.h"

#define SHOWN_MAX 80 /* Bytes of a wrong value in a message. */

/* Nobody will see what a further problem says: places and suggestions take time. */
static bool is_full(const struct deploy_check *c)
{
    return c->problems->errors >= DEPLOY_PROBLEMS_MAX;
}

/* Where in the file, what of its path, and the text. suffix is a member that is not there. */
static void report(struct deploy_check *c, struct deploy_problem *problem, const struct deploy_node *node,
                   size_t at, const char *suffix)
{
    struct cd_buf path = {0};
    if (problem->severity == DEPLOY_ERROR && is_full(c)) {
        c->problems->errors++;
        return;
    }
    struct deploy_place place = deploy_place_of(c->text, at);
    deploy_node_path(&path, node);
    if (suffix != NULL)
        cd_buf_addf(&path, "%s%s", path.len > 0 ? "." : "", suffix);
    problem->file = c->project->shown;
    problem->line = place.line;
    problem->column = place.column;
    problem->path = cd_buf_str(&path);
    deploy_problems_add(c->problems, problem);
    cd_buf_deinit(&path);
}

void deploy_check_error(struct deploy_check *c, const struct deploy_node *node, const char *hint,
                        const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    struct deploy_problem problem = {
        .severity = DEPLOY_ERROR, .text = cd_buf_str(&text), .hint = cd_str(hint)};
    report(c, &problem, node, node->at, NULL);
    cd_buf_deinit(&text);
}

void deploy_check_warn(struct deploy_check *c, enum deploy_severity severity, const struct deploy_node *node,
                       const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    struct deploy_problem problem = {.severity = severity, .text = cd_buf_str(&text)};
    report(c, &problem, node, node->at, NULL);
    cd_buf_deinit(&text);
}

/* ---- Values ---- */

bool deploy_check_kind(struct deploy_check *c, const struct deploy_node *node, enum deploy_kind kind)
{
    if (node->kind == kind)
        return true;
    const char *hint = node->kind == DEPLOY_DATE && kind == DEPLOY_STRING
                           ? "TOML reads a bare date as a date: write it in quotes"
                           : NULL;
    deploy_check_error(c, node, hint, "must be %s, not %s", deploy_kind_name(kind),
                       deploy_kind_name(node->kind));
    return false;
}

/* As far as it fits a line, in quotes, safe to show on a terminal. */
static void show(struct cd_buf *out, struct cd_str value)
{
    size_t len = value.len;
    if (len > SHOWN_MAX) {
        len = SHOWN_MAX;
        while (len > 0 && ((unsigned char)value.ptr[len] & 0xc0) == 0x80)
            len--;
    }
    cd_json_quote(out, cd_str_sub(value, 0, len));
    if (len < value.len)
        cd_buf_add_str(out, CD_STR("..."));
}

bool deploy_check_string(struct deploy_check *c, const struct deploy_node *node, struct cd_str *out)
{
    if (!deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    *out = cd_arena_copy(&c->project->arena, node->text);
    return true;
}

static void wanted(struct deploy_check *c, const struct deploy_node *node, const char *want)
{
    struct cd_buf shown = {0};
    show(&shown, node->text);
    deploy_check_error(c, node, NULL, "must be %s; found %s", want, cd_buf_cstr(&shown));
    cd_buf_deinit(&shown);
}

bool deploy_check_grammar(struct deploy_check *c, const struct deploy_node *node, deploy_grammar *grammar,
                          struct cd_str *out)
{
    struct cd_str name;
    if (!deploy_check_string(c, node, &name))
        return false;
    const char *want = grammar(name);
    if (want != NULL) {
        wanted(c, node, want);
        return false;
    }
    *out = name;
    return true;
}

/* ---- Members ---- */

bool deploy_check_text(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       struct cd_str *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    if (node->text.len == 0 || cd_str_find(node->text, '\0', 0) != SIZE_MAX) {
        deploy_check_error(c, node, NULL, "must be a text, not empty and without NUL");
        return false;
    }
    return deploy_check_string(c, node, out);
}

bool deploy_check_flag(struct deploy_check *c, const struct deploy_node *object, const char *key, bool *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_BOOL))
        return false;
    *out = node->flag;
    return true;
}

bool deploy_check_u32(struct deploy_check *c, const struct deploy_node *object, const char *key, uint32_t low,
                      uint32_t high, uint32_t *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_NUMBER))
        return false;
    uint64_t value;
    if (cd_str_u64(node->text, &value) != 0 || value < low || value > high) {
        deploy_check_error(c, node, NULL, "must be a whole number from %u to %u; found %.*s", low, high,
                           (int)(node->text.len < SHOWN_MAX ? node->text.len : SHOWN_MAX), node->text.ptr);
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

bool deploy_check_name(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       deploy_grammar *grammar, struct cd_str *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    return node != NULL && deploy_check_grammar(c, node, grammar, out);
}

bool deploy_check_path(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       bool directory, struct cd_str *out)
{
    const struct deploy_node *node = deploy_node_get(object, key);
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    struct cd_str path;
    const char *want = deploy_name_path(node->text, directory, &path);
    if (want != NULL) {
        wanted(c, node, want);
        return false;
    }
    *out = cd_arena_copy(&c->project->arena, path);
    return true;
}

void deploy_check_list(struct deploy_check *c, const struct deploy_node *list, size_t size,
                       deploy_check_item *one, void **items, size_t *count)
{
    if (list == NULL || !deploy_check_kind(c, list, DEPLOY_ARRAY) || list->count == 0)
        return;
    char *to = cd_arena_alloc(&c->project->arena, size * list->count);
    *items = to;
    *count = 0;
    for (const struct deploy_node *n = list->first; n != NULL; n = n->next) {
        memset(to + *count * size, 0, size);
        if (one(c, n, to + *count * size))
            (*count)++;
    }
}

void deploy_check_unique(struct deploy_check *c, const struct deploy_node *list, const char *key,
                         const char *text)
{
    struct cd_map seen = {0};
    for (const struct deploy_node *n = list->first; n != NULL; n = n->next) {
        const struct deploy_node *value = deploy_node_get(n, key);
        if (value != NULL && value->kind == DEPLOY_STRING && cd_map_put(&seen, value->text, c) != NULL)
            deploy_check_error(c, value, NULL, "%s", text);
    }
    cd_map_deinit(&seen);
}

/* ---- Which members an object may have ---- */

/* Edit distance of texts that are at most short keys; anything above limit is limit + 1. */
static size_t distance(struct cd_str a, struct cd_str b, size_t limit)
{
    enum { LEN_MAX = 48 };
    size_t row[LEN_MAX + 1];
    if (a.len > LEN_MAX || b.len > LEN_MAX || a.len > b.len + limit || b.len > a.len + limit)
        return limit + 1;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replaced = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replaced < least ? replaced : least;
        }
    }
    return row[b.len] <= limit ? row[b.len] : limit + 1;
}

void deploy_check_refuse(struct deploy_check *c, const struct deploy_node *member, const char *hint)
{
    struct deploy_problem problem = {.severity = DEPLOY_ERROR, .refused_key = true, .text = cd_str(hint)};
    report(c, &problem, member, member->key_at, NULL);
}

void deploy_check_unknown(struct deploy_check *c, const struct deploy_node *member,
                          const struct deploy_member *accepted, size_t count)
{
    enum { NEAR = 2 };
    const char *nearest = NULL;
    size_t least = NEAR + 1;
    for (size_t i = 0; i < count && !is_full(c); i++) {
        size_t far = distance(member->key, cd_str(accepted[i].key), NEAR);
        if (accepted[i].refused == NULL && far < least && far < member->key.len) {
            least = far;
            nearest = accepted[i].key;
        }
    }
    struct cd_buf text = {0};
    cd_buf_add_str(&text, CD_STR("unknown key"));
    if (nearest != NULL)
        cd_buf_addf(&text, "; did you mean %s?", nearest);
    deploy_check_refuse(c, member, cd_buf_cstr(&text));
    cd_buf_deinit(&text);
}

static const struct deploy_member *find_member(const struct deploy_member *members, size_t count,
                                               struct cd_str key)
{
    for (size_t i = 0; i < count; i++) {
        if (cd_str_eq(key, cd_str(members[i].key)))
            return &members[i];
    }
    return NULL;
}

bool deploy_check_object(struct deploy_check *c, const struct deploy_node *node,
                         const struct deploy_member *members, size_t count)
{
    if (!deploy_check_kind(c, node, DEPLOY_OBJECT))
        return false;
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        const struct deploy_member *m = find_member(members, count, n->key);
        if (m == NULL)
            deploy_check_unknown(c, n, members, count);
        else if (m->refused != NULL)
            deploy_check_refuse(c, n, m->refused);
    }
    for (size_t i = 0; i < count; i++) {
        if (!members[i].required || deploy_node_get(node, members[i].key) != NULL)
            continue;
        struct deploy_problem problem = {.severity = DEPLOY_ERROR, .text = CD_STR("required")};
        report(c, &problem, node, node->at, members[i].key);
    }
    return true;
}

/* ---- Names of bindings ---- */

struct bound {
    const char *what;
    const struct deploy_node *node;
};

bool deploy_check_bind(struct deploy_check *c, const struct deploy_node *node, struct cd_str name,
                       const char *what)
{
    const struct bound *before = cd_map_get(&c->names, name);
    if (before != NULL) {
        unsigned line = is_full(c) ? 0 : deploy_place_of(c->text, before->node->at).line;
        deploy_check_error(c, node, NULL, "the name %.*s is taken twice: by %s here, by %s in line %u",
                           (int)name.len, name.ptr, what, before->what, line);
        return false;
    }
    struct bound *b = cd_arena_alloc(&c->project->arena, sizeof *b);
    *b = (struct bound){what, node};
    (void)cd_map_put(&c->names, name, b);
    return true;
}

bool deploy_check_binding(struct deploy_check *c, const struct deploy_node *object, const char *key,
                          const char *what, struct cd_str *out)
{
    return deploy_check_name(c, object, key, deploy_name_binding, out) &&
           deploy_check_bind(c, deploy_node_get(object, key), *out, what);
}
