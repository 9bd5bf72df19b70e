/* deploy/toml.c: TOML 1.0, lines, tables and keys. Values are in toml_value.c.
 *
 * A table may be said once. What that means for headers, dotted keys and inline tables is in enum toml_mark:
 * walking a key looks at the mark of each table on the way and at nothing else. */
#include "deploy/toml_internal.h"

int deploy_toml_fault(struct toml *p, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->fault->at = at;
    cd_buf_vaddf(&p->fault->why, format, args);
    va_end(args);
    return CD_ESYNTAX;
}

int deploy_toml_unexpected(struct toml *p, const char *wanted)
{
    if (toml_end(p))
        return deploy_toml_fault(p, p->at, "the file ends where %s was expected", wanted);
    if (toml_peek(p, 0) == '\n' || toml_looks_at(p, CD_STR("\r\n")))
        return deploy_toml_fault(p, p->at, "the line ends where %s was expected", wanted);
    struct cd_str rest = cd_str_sub(p->text, p->at, SIZE_MAX);
    struct cd_buf shown = {0};
    cd_json_escape(&shown, cd_str_sub(rest, 0, cd_utf8_len(rest)));
    int rc = deploy_toml_fault(p, p->at, "expected %s, found '%s'", wanted, cd_buf_cstr(&shown));
    cd_buf_deinit(&shown);
    return rc;
}

/* ---- Blank ---- */

void deploy_toml_skip_space(struct toml *p)
{
    while (toml_peek(p, 0) == ' ' || toml_peek(p, 0) == '\t')
        p->at++;
}

bool deploy_toml_newline(struct toml *p)
{
    size_t len = toml_peek(p, 0) == '\n' ? 1 : toml_looks_at(p, CD_STR("\r\n")) ? 2 : 0;
    p->at += len;
    return len > 0;
}

int deploy_toml_comment(struct toml *p)
{
    if (toml_peek(p, 0) != '#')
        return 0;
    while (!toml_end(p) && toml_peek(p, 0) != '\n' && !toml_looks_at(p, CD_STR("\r\n"))) {
        unsigned char c = (unsigned char)toml_peek(p, 0);
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return deploy_toml_fault(p, p->at, "control character 0x%02x in a comment", (unsigned)c);
        p->at++;
    }
    return 0;
}

int deploy_toml_skip_blank(struct toml *p)
{
    do {
        deploy_toml_skip_space(p);
        int rc = deploy_toml_comment(p);
        if (rc != 0)
            return rc;
    } while (deploy_toml_newline(p));
    return 0;
}

/* ---- Keys ---- */

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* One part of a key. *more: a dot follows, and has been taken. */
static int read_part(struct toml *p, struct cd_str *key, size_t *key_at, bool *more)
{
    deploy_toml_skip_space(p);
    *key_at = p->at;
    if (toml_peek(p, 0) == '"' || toml_peek(p, 0) == '\'') {
        int rc = deploy_toml_string(p, false);
        if (rc != 0)
            return rc;
        *key = cd_arena_copy(p->build.arena, cd_buf_str(&p->string));
    } else {
        while (is_bare(toml_peek(p, 0)))
            p->at++;
        if (p->at == *key_at)
            return deploy_toml_unexpected(p, "a key");
        *key = cd_str_sub(p->text, *key_at, p->at - *key_at);
    }
    deploy_toml_skip_space(p);
    *more = toml_peek(p, 0) == '.';
    if (*more)
        p->at++;
    return 0;
}

static int taken(struct toml *p, size_t at, const struct deploy_node *before, const char *what)
{
    struct cd_buf path = {0};
    struct deploy_place place = deploy_place_of(p->text, before->key_at);
    deploy_node_path(&path, before);
    int rc = deploy_toml_fault(p, at, "%s, which line %u, column %u has defined: %s", cd_buf_cstr(&path),
                               place.line, place.column, what);
    cd_buf_deinit(&path);
    return rc;
}

/* Of a table that a header can reach: how many arrays and tables there are from the root to it, with both. */
static unsigned depth_of(const struct deploy_node *node)
{
    unsigned depth = 1;
    for (; node->up != NULL; node = node->up)
        depth++;
    return depth;
}

static int too_deep(struct toml *p, size_t at)
{
    return deploy_toml_fault(p, at, "nested deeper than %d levels", DEPLOY_DEPTH_MAX);
}

static struct deploy_node *add_table(struct toml *p, struct deploy_node *in, struct cd_str key, size_t key_at,
                                     enum toml_mark mark)
{
    struct deploy_node *table = deploy_builder_node(&p->build, DEPLOY_OBJECT, key_at);
    table->mark = (unsigned char)mark;
    deploy_builder_member(&p->build, in, key, key_at, table);
    return table;
}

/* One part of a dotted key: the table it names, made if it is not there. */
static int step_dotted(struct toml *p, struct deploy_node **table, struct cd_str key, size_t key_at)
{
    struct deploy_node *next = deploy_builder_find(&p->build, *table, key);
    if (p->depth >= DEPLOY_DEPTH_MAX)
        return too_deep(p, key_at);
    if (next == NULL)
        next = add_table(p, *table, key, key_at, TOML_DOTTED);
    else if (next->kind != DEPLOY_OBJECT)
        return taken(p, key_at, next, "not a table");
    else if (next->mark == TOML_IMPLIED)
        next->mark = TOML_DOTTED;
    else if (next->mark != TOML_DOTTED)
        return taken(p, key_at, next, "dotted keys cannot add to it");
    *table = next;
    return 0;
}

int deploy_toml_pair(struct toml *p, struct deploy_node *table)
{
    struct cd_str key;
    size_t key_at;
    bool more;
    unsigned depth = p->depth;
    int rc = read_part(p, &key, &key_at, &more);
    for (; rc == 0 && more; p->depth++) {
        rc = step_dotted(p, &table, key, key_at);
        if (rc == 0)
            rc = read_part(p, &key, &key_at, &more);
    }
    if (rc != 0)
        return rc;
    const struct deploy_node *before = deploy_builder_find(&p->build, table, key);
    if (before != NULL)
        return taken(p, key_at, before, "duplicate key");
    if (toml_peek(p, 0) != '=')
        return deploy_toml_unexpected(p, "'='");
    p->at++;
    deploy_toml_skip_space(p);
    struct deploy_node *value;
    rc = deploy_toml_value(p, &value);
    if (rc == 0)
        deploy_builder_member(&p->build, table, key, key_at, value);
    p->depth = depth;
    return rc;
}

/* ---- Headers ---- */

/* On the way of a header: the table at key, made if it is not there; of an array of tables the last one. */
static int step_into(struct toml *p, struct deploy_node **table, struct cd_str key, size_t key_at)
{
    struct deploy_node *next = deploy_builder_find(&p->build, *table, key);
    if (next == NULL && depth_of(*table) >= DEPLOY_DEPTH_MAX)
        return too_deep(p, key_at);
    if (next == NULL)
        next = add_table(p, *table, key, key_at, TOML_IMPLIED);
    else if (next->kind == DEPLOY_ARRAY && next->mark == TOML_LIST)
        next = next->last;
    else if (next->kind != DEPLOY_OBJECT)
        return taken(p, key_at, next, "not a table");
    else if (next->mark == TOML_CLOSED)
        return taken(p, key_at, next, "an inline table is complete");
    *table = next;
    return 0;
}

static int open_table(struct toml *p, struct deploy_node **table, struct cd_str key, size_t key_at)
{
    struct deploy_node *next = deploy_builder_find(&p->build, *table, key);
    if (next == NULL && depth_of(*table) >= DEPLOY_DEPTH_MAX)
        return too_deep(p, key_at);
    if (next == NULL)
        next = add_table(p, *table, key, key_at, TOML_HEADED);
    else if (next->kind != DEPLOY_OBJECT)
        return taken(p, key_at, next, "not a table");
    else if (next->mark != TOML_IMPLIED)
        return taken(p, key_at, next, "a table is defined once");
    next->mark = TOML_HEADED;
    next->at = next->key_at = key_at; /* Where people look for it. */
    *table = next;
    return 0;
}

static int open_list_item(struct toml *p, struct deploy_node **table, struct cd_str key, size_t key_at)
{
    struct deploy_node *list = deploy_builder_find(&p->build, *table, key);
    if (depth_of(*table) + 1 >= DEPLOY_DEPTH_MAX) /* The list, and the table in it. */
        return too_deep(p, key_at);
    if (list == NULL) {
        list = deploy_builder_node(&p->build, DEPLOY_ARRAY, key_at);
        list->mark = TOML_LIST;
        deploy_builder_member(&p->build, *table, key, key_at, list);
    } else if (list->kind != DEPLOY_ARRAY || list->mark != TOML_LIST) {
        return taken(p, key_at, list, "not an array of tables");
    }
    *table = deploy_builder_node(&p->build, DEPLOY_OBJECT, key_at);
    (*table)->mark = TOML_HEADED;
    deploy_builder_item(list, *table);
    return 0;
}

static int read_header(struct toml *p, struct deploy_node *root, struct deploy_node **table)
{
    bool list = toml_looks_at(p, CD_STR("[["));
    struct cd_str key;
    size_t key_at;
    bool more;
    p->at += list ? 2 : 1;
    *table = root;
    int rc = read_part(p, &key, &key_at, &more);
    while (rc == 0 && more) {
        rc = step_into(p, table, key, key_at);
        if (rc == 0)
            rc = read_part(p, &key, &key_at, &more);
    }
    if (rc == 0)
        rc = list ? open_list_item(p, table, key, key_at) : open_table(p, table, key, key_at);
    if (rc != 0)
        return rc;
    if (!toml_looks_at(p, list ? CD_STR("]]") : CD_STR("]")))
        return deploy_toml_unexpected(p, list ? "']]'" : "']'");
    p->at += list ? 2 : 1;
    return 0;
}

/* ---- The file ---- */

static int end_line(struct toml *p)
{
    deploy_toml_skip_space(p);
    int rc = deploy_toml_comment(p);
    if (rc == 0 && !toml_end(p) && !deploy_toml_newline(p))
        rc = deploy_toml_unexpected(p, "the end of the line");
    return rc;
}

static int read_lines(struct toml *p, struct deploy_node *root)
{
    struct deploy_node *table = root;
    for (;;) {
        int rc = deploy_toml_skip_blank(p);
        if (rc != 0 || toml_end(p))
            return rc;
        p->depth = depth_of(table);
        rc = toml_peek(p, 0) == '[' ? read_header(p, root, &table) : deploy_toml_pair(p, table);
        if (rc == 0)
            rc = end_line(p);
        if (rc != 0)
            return rc;
    }
}

int deploy_toml_parse(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                      struct deploy_fault *fault)
{
    struct toml p = {.build = {.arena = arena}, .text = text, .fault = fault};
    struct deploy_node *top = NULL;
    int rc = deploy_text_check(text, &p.at, fault);
    if (rc == 0) {
        top = deploy_builder_node(&p.build, DEPLOY_OBJECT, p.at);
        top->mark = TOML_HEADED;
        rc = read_lines(&p, top);
    }
    if (rc == 0)
        *root = top;
    deploy_builder_deinit(&p.build);
    cd_buf_deinit(&p.string);
    return rc;
}
