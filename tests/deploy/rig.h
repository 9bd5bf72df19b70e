/* tests/deploy/rig.h: project files as texts, and what is said about them. */
#ifndef DEPLOY_RIG_H
#define DEPLOY_RIG_H

#include "deploy/project.h"
#include "support/test.h"

/* A project file that was read: what it says, and what was said about it, as printed. */
struct rig {
    int rc;
    struct deploy_project project; /* With rc 0. */
    struct deploy_problems problems;
    struct cd_buf errors, warnings;
};
struct rig rig_jsonc(const char *text); /* Called wrangler.jsonc */
struct rig rig_toml(const char *text); /* Called wrangler.toml */
struct rig rig_bytes(const char *file, struct cd_str text);
void rig_end(struct rig *r);

/* The whole print of the errors of {"name": "x", "main": "m.js", "compatibility_date": "2026-01-01",
 * MEMBERS}. The text of MEMBERS starts at line 1, column 67. */
void rig_refused(const char *members, const char *errors);
/* Nothing is said about MEMBERS, and it is a project. */
struct rig rig_accepted(const char *members);

/* Reading alone. Gives the tree as JSON, with <date ...> and <inf> for what JSON has no spelling for; or the
 * fault as "line:column: why". The text is good until the next call. */
const char *rig_tree_jsonc(struct cd_str text);
const char *rig_tree_toml(struct cd_str text);
#define rig_tree_is(language, text, want) assert_string_equal(rig_tree_##language(CD_STR(text)), want)

#endif
