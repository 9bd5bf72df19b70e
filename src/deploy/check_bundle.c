/* deploy/check_bundle.c: main, the compatibility keys, and what steers the bundler (config.md 3, 6.3). */
#include "deploy/check.h"

#include "deploy/names.h"

void deploy_check_main(struct deploy_check *c, const struct deploy_node *node)
{
    static const char *const ends[] = {".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"};
    struct cd_str path;
    if (!deploy_check_path(c, node->up, "main", false, &path))
        return;
    if (cd_str_ends(path, CD_STR(".py"))) {
        deploy_check_error(c, node, NULL, "Python Workers are not supported");
        return;
    }
    for (size_t i = 0; i < CD_COUNT(ends); i++) {
        if (cd_str_ends(path, cd_str(ends[i]))) {
            c->project->main = path;
            return;
        }
    }
    deploy_check_error(c, node, NULL, "must be a file that ends in .js .mjs .cjs .ts .mts .cts .jsx or .tsx");
}

/* ---- Compatibility ---- */

void deploy_check_date(struct deploy_check *c, const struct deploy_node *node)
{
    struct cd_str date;
    if (!deploy_check_string(c, node, &date))
        return;
    if (!deploy_date_is_real(date)) {
        deploy_check_error(c, node, NULL, "must be a date that exists, as YYYY-MM-DD");
        return;
    }
    c->project->compat.date = date;
    if (cd_str_cmp(date, CD_STR(DEPLOY_COMPAT_NEWEST)) > 0)
        deploy_check_warn(c, DEPLOY_WARNING, node,
                          "later than " DEPLOY_COMPAT_NEWEST
                          ", the newest date that this version of celld knows: it behaves as of that date");
}

static bool check_flag(struct deploy_check *c, const struct deploy_node *node, void *item)
{
    if (!deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    if (node->text.len == 0 || cd_str_find(node->text, '\0', 0) != SIZE_MAX) {
        deploy_check_error(c, node, NULL, "must be the name of a flag");
        return false;
    }
    const char *opposite = deploy_flag_opposite(node->text);
    for (const struct deploy_node *before = node->up->first; before != node; before = before->next) {
        if (before->kind != DEPLOY_STRING)
            continue;
        if (cd_str_eq(before->text, node->text)) {
            deploy_check_error(c, node, NULL, "given twice");
            return false;
        }
        if (opposite != NULL && cd_str_eq(before->text, cd_str(opposite))) {
            deploy_check_error(c, node, NULL, "says the contrary of %s, which is given too", opposite);
            return false;
        }
    }
    if (deploy_flag_kind(node->text) == DEPLOY_FLAG_UNKNOWN)
        deploy_check_warn(c, DEPLOY_WARNING, node,
                          "no flag that celld knows: it has no effect; is it misspelt?");
    return deploy_check_string(c, node, item);
}

void deploy_check_flags(struct deploy_check *c, const struct deploy_node *node)
{
    enum { FLAGS_MAX = 256 };
    if (node->kind == DEPLOY_ARRAY && node->count > FLAGS_MAX) {
        deploy_check_error(c, node, NULL, "%zu flags, at most %d", node->count, FLAGS_MAX);
        return;
    }
    struct deploy_compat *compat = &c->project->compat;
    deploy_check_list(c, node, sizeof *compat->flag, check_flag, (void **)&compat->flag, &compat->flags);
}

/* ---- The bundler ---- */

/* An object of texts. key_is_bad says what is wrong with a key, or NULL. */
static void check_pairs(struct deploy_check *c, const struct deploy_node *node,
                        const char *(*key_is_bad)(struct cd_str), struct deploy_pair **pairs, size_t *count)
{
    if (!deploy_check_kind(c, node, DEPLOY_OBJECT) || node->count == 0)
        return;
    *pairs = cd_arena_alloc(&c->project->arena, node->count * sizeof **pairs);
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        const char *bad = key_is_bad(n->key);
        struct deploy_pair *pair = &(*pairs)[*count];
        if (bad != NULL)
            deploy_check_error(c, n, NULL, "%s", bad);
        else if (!deploy_check_string(c, n, &pair->value))
            continue;
        else if (cd_str_find(pair->value, '\0', 0) != SIZE_MAX || pair->value.len == 0)
            deploy_check_error(c, n, NULL, "must be a text, not empty and without NUL");
        else
            (*count)++;
        pair->name = cd_arena_copy(&c->project->arena, n->key);
    }
}

static const char *bad_define(struct cd_str key)
{
    for (size_t i = 0; i < key.len; i++) {
        if ((unsigned char)key.ptr[i] <= ' ' || key.ptr[i] == '=' || key.ptr[i] == 0x7f)
            return "a name to define has no =, no spaces and no control characters";
    }
    return key.len > 0 ? NULL : "a name to define is not empty";
}

void deploy_check_define(struct deploy_check *c, const struct deploy_node *node)
{
    check_pairs(c, node, bad_define, &c->project->define, &c->project->defines);
}

/* The bundler reads --alias:FROM=TO up to the first =. */
static const char *bad_alias(struct cd_str key)
{
    if (key.len == 0)
        return "the name of a module is not empty";
    return cd_str_find(key, '=', 0) != SIZE_MAX || cd_str_find(key, '\0', 0) != SIZE_MAX
               ? "the name of a module has no = and no NUL"
               : NULL;
}

void deploy_check_alias(struct deploy_check *c, const struct deploy_node *node)
{
    check_pairs(c, node, bad_alias, &c->project->alias, &c->project->aliases);
}

/* ---- rules ---- */

static const char *const rule_types[] = {
    [DEPLOY_LOADER_TEXT] = "Text", [DEPLOY_LOADER_BINARY] = "Data", [DEPLOY_LOADER_COPY] = "CompiledWasm"};

static bool check_rule_type(struct deploy_check *c, const struct deploy_node *node, enum deploy_loader *out)
{
    if (node == NULL || !deploy_check_kind(c, node, DEPLOY_STRING))
        return false;
    for (unsigned i = 0; i < CD_COUNT(rule_types); i++) {
        if (cd_str_eq(node->text, cd_str(rule_types[i]))) {
            *out = (enum deploy_loader)i;
            return true;
        }
    }
    static const char *const refused[] = {"ESModule", "CommonJS", "PythonModule", "PythonRequirement"};
    for (unsigned i = 0; i < CD_COUNT(refused); i++) {
        if (cd_str_eq(node->text, cd_str(refused[i]))) {
            deploy_check_error(c, node, "JavaScript is bundled without a rule; Python is not supported",
                               "%s is not supported here: must be Text, Data or CompiledWasm", refused[i]);
            return false;
        }
    }
    deploy_check_error(c, node, NULL, "must be Text, Data or CompiledWasm");
    return false;
}

/* The ".ext" of a glob of the two forms that the bundler can be told, which picks loaders by extension. */
static bool read_extension(struct cd_str glob, struct cd_str *out)
{
    if (cd_str_starts(glob, CD_STR("**/")))
        glob = cd_str_sub(glob, 3, SIZE_MAX);
    if (!cd_str_starts(glob, CD_STR("*.")))
        return false;
    *out = cd_str_sub(glob, 1, SIZE_MAX);
    for (size_t i = 1; i < out->len; i++) {
        char c = out->ptr[i];
        if ((unsigned char)c <= ' ' || c == 0x7f || strchr("*?[]{}!/\\,:=()|@+", c) != NULL)
            return false;
    }
    return out->ptr[out->len - 1] != '.';
}

/* Puts a rule at its place in the order of extensions, once. */
static void add_rule(struct deploy_check *c, const struct deploy_node *glob, struct cd_str extension,
                     enum deploy_loader loader)
{
    struct deploy_project *p = c->project;
    size_t at = 0;
    while (at < p->rules && cd_str_cmp(p->rule[at].extension, extension) < 0)
        at++;
    if (at < p->rules && cd_str_eq(p->rule[at].extension, extension)) {
        if (p->rule[at].loader != loader)
            deploy_check_error(c, glob, NULL, "%.*s is claimed by two types: %s and %s", (int)extension.len,
                               extension.ptr, rule_types[p->rule[at].loader], rule_types[loader]);
        return;
    }
    memmove(&p->rule[at + 1], &p->rule[at], (p->rules++ - at) * sizeof *p->rule);
    p->rule[at] = (struct deploy_rule){cd_arena_copy(&p->arena, extension), loader};
}

static void check_glob(struct deploy_check *c, const struct deploy_node *node, enum deploy_loader loader)
{
    static const char *const javascript[] = {".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"};
    struct cd_str extension;
    if (!deploy_check_kind(c, node, DEPLOY_STRING))
        return;
    if (!read_extension(node->text, &extension)) {
        deploy_check_error(c, node,
                           "the bundler picks loaders by the extension alone, not by the place of a file",
                           "must be **/*.ext or *.ext");
        return;
    }
    for (size_t i = 0; i < CD_COUNT(javascript); i++) {
        if (cd_str_eq(extension, cd_str(javascript[i]))) {
            deploy_check_error(c, node, NULL, "%s is JavaScript: a rule would leave no code to run",
                               javascript[i]);
            return;
        }
    }
    if (cd_str_eq(extension, CD_STR(".wasm")) && loader != DEPLOY_LOADER_COPY)
        deploy_check_error(c, node, NULL, ".wasm can only be CompiledWasm, not %s", rule_types[loader]);
    else
        add_rule(c, node, extension, loader);
}

void deploy_check_rules(struct deploy_check *c, const struct deploy_node *node)
{
    static const struct deploy_member members[] = {
        {"type", true, NULL}, {"globs", true, NULL}, {"fallthrough", false, NULL}};
    enum { GLOBS_MAX = 1000 }; /* Sorting by insertion stays cheap. */
    if (!deploy_check_kind(c, node, DEPLOY_ARRAY))
        return;
    size_t globs = 0;
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        const struct deploy_node *list = deploy_node_get(n, "globs");
        globs += list == NULL ? 0 : list->count;
    }
    if (globs > GLOBS_MAX) {
        deploy_check_error(c, node, NULL, "%zu globs, at most %d", globs, GLOBS_MAX);
        return;
    }
    c->project->rule = cd_arena_alloc(&c->project->arena, (globs + 1) * sizeof *c->project->rule);
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        enum deploy_loader loader;
        bool ignored;
        if (!DEPLOY_CHECK_OBJECT(c, n, members))
            continue;
        (void)deploy_check_flag(c, n, "fallthrough", &ignored);
        const struct deploy_node *list = deploy_node_get(n, "globs");
        if (!check_rule_type(c, deploy_node_get(n, "type"), &loader) || list == NULL ||
            !deploy_check_kind(c, list, DEPLOY_ARRAY))
            continue;
        if (list->count == 0)
            deploy_check_error(c, list, NULL, "must name at least one glob");
        for (const struct deploy_node *glob = list->first; glob != NULL; glob = glob->next)
            check_glob(c, glob, loader);
    }
}
