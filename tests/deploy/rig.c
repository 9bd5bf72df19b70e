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
