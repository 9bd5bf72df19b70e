#include "rig.h"

struct rig rig_bytes(const char *file, struct cd_str text)
{
    struct rig r = {0};
    const char *shown = strrchr(file, '/') + 1;
    r.rc = deploy_project_parse(&r.project, file, shown, text, &r.problems);
    deploy_problems_errors(&r.errors, &r.problems);
    deploy_problems_warnings(&r.warnings, &r.problems);
    assert_int_equal(r.rc != 0, r.errors.len > 0);
    return r;
}

struct rig rig_jsonc(const char *text)
{
    return rig_bytes("/project/wrangler.jsonc", cd_str(text));
}

struct rig rig_toml(const char *text)
{
    return rig_bytes("/project/wrangler.toml", cd_str(text));
}

void rig_end(struct rig *r)
{
    deploy_project_deinit(&r->project);
    deploy_problems_deinit(&r->problems);
    cd_buf_deinit(&r->errors);
    cd_buf_deinit(&r->warnings);
}

static struct rig with_members(const char *members)
{
    struct cd_buf text = {0};
    cd_buf_addf(&text, "{\"name\": \"x\", \"main\": \"m.js\", \"compatibility_date\": \"2026-01-01\", %s}",
                members);
    struct rig r = rig_bytes("/project/wrangler.jsonc", cd_buf_str(&text));
    cd_buf_deinit(&text);
    return r;
}

void rig_refused(const char *members, const char *errors)
{
    struct rig r = with_members(members);
    assert_string_equal(cd_buf_cstr(&r.errors), errors);
    rig_end(&r);
}

struct rig rig_accepted(const char *members)
{
    struct rig r = with_members(members);
    assert_string_equal(cd_buf_cstr(&r.errors), "");
    assert_string_equal(cd_buf_cstr(&r.warnings), "");
    return r;
}

static void dump(struct cd_buf *out, const struct deploy_node *node)
{
    const struct deploy_node *bad;
    switch (node->kind) {
    case DEPLOY_NOT_A_NUMBER: cd_buf_addf(out, "<%s>", node->text.ptr); return;
    case DEPLOY_DATE: cd_buf_addf(out, "<date %s>", node->text.ptr); return;
    case DEPLOY_ARRAY:
    case DEPLOY_OBJECT: break;
    case DEPLOY_NULL:
    case DEPLOY_BOOL:
    case DEPLOY_NUMBER:
    case DEPLOY_STRING: assert_int_equal(deploy_node_json(out, node, &bad), 0); return;
    }
    size_t count = 0;
    cd_buf_add_byte(out, node->kind == DEPLOY_ARRAY ? '[' : '{');
    for (const struct deploy_node *n = node->first; n != NULL; n = n->next) {
        assert_ptr_equal(n->up, node);
        assert_int_equal(n->index, count);
        if (count++ > 0)
            cd_buf_add_byte(out, ',');
        if (node->kind == DEPLOY_OBJECT) {
            cd_json_quote(out, n->key);
            cd_buf_add_byte(out, ':');
        }
        dump(out, n);
    }
    assert_int_equal(count, node->count);
    cd_buf_add_byte(out, node->kind == DEPLOY_ARRAY ? ']' : '}');
}

typedef int parse_fn(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                     struct deploy_fault *fault);

static const char *tree_text(parse_fn *parse, struct cd_str text)
{
    static char last[4096];
    struct cd_arena arena = {0};
    struct deploy_node *root;
    struct deploy_fault fault = {0};
    struct cd_buf out = {0};
    if (parse(&arena, text, &root, &fault) == 0) {
        assert_int_equal(fault.why.len, 0);
        dump(&out, root);
    } else {
        struct deploy_place at = deploy_place_of(text, fault.at);
        assert_true(fault.why.len > 0);
        cd_buf_addf(&out, "%u:%u: %s", at.line, at.column, cd_buf_cstr(&fault.why));
    }
    assert_true(out.len < sizeof last);
    (void)snprintf(last, sizeof last, "%s", cd_buf_cstr(&out));
    cd_buf_deinit(&out);
    cd_buf_deinit(&fault.why);
    cd_arena_deinit(&arena);
    return last;
}

const char *rig_tree_jsonc(struct cd_str text)
{
    return tree_text(deploy_jsonc_parse, text);
}

const char *rig_tree_toml(struct cd_str text)
{
    return tree_text(deploy_toml_parse, text);
}
