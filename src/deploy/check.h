/* deploy/check.h: what the checks of a project file share: reporting where, reading members by type.
 *
 * A getter that fails has reported why, with file, line, column and path; the check goes on, so that one run
 * finds everything. Internal to src/deploy. */
#ifndef DEPLOY_CHECK_H
#define DEPLOY_CHECK_H

#include "deploy/project.h"

struct deploy_check {
    struct deploy_project *project;
    struct deploy_problems *problems;
    struct cd_str text; /* The file; offsets of nodes are into it. */
    struct cd_map names; /* owned; binding name to struct deploy_bound in the arena */
    const struct deploy_node *root;
};

/* Reports at node. hint may be NULL. */
void deploy_check_error(struct deploy_check *c, const struct deploy_node *node, const char *hint,
                        const char *format, ...) CD_PRINTF(4, 5);
void deploy_check_warn(struct deploy_check *c, enum deploy_severity severity, const struct deploy_node *node,
                       const char *format, ...) CD_PRINTF(4, 5);

/* The members an object may have. */
struct deploy_member {
    const char *key;
    bool required;
    const char *refused; /* A hint: known, and not accepted. NULL: accepted. */
};
/* Whether node is an object: then what is there is worth a look, even if something is missing. Reports
 * otherwise, and every member that is not accepted, and every required one that is missing. */
bool deploy_check_object(struct deploy_check *c, const struct deploy_node *node,
                         const struct deploy_member *members, size_t count);
#define DEPLOY_CHECK_OBJECT(c, node, members) deploy_check_object(c, node, members, CD_COUNT(members))
/* Reports a key that is refused: at its key, among "unsupported configuration key(s)". */
void deploy_check_refuse(struct deploy_check *c, const struct deploy_node *member, const char *hint);
/* "unknown key", with the nearest of the accepted ones if there is one at an edit distance of 2 or less. */
void deploy_check_unknown(struct deploy_check *c, const struct deploy_node *member,
                          const struct deploy_member *accepted, size_t count);

/* Whether node is of this kind. */
bool deploy_check_kind(struct deploy_check *c, const struct deploy_node *node, enum deploy_kind kind);
/* Members by name: false when absent (nothing is reported) or wrong (reported). Texts are copied into the
 * arena. */
bool deploy_check_text(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       struct cd_str *out);
bool deploy_check_flag(struct deploy_check *c, const struct deploy_node *object, const char *key, bool *out);
bool deploy_check_u32(struct deploy_check *c, const struct deploy_node *object, const char *key, uint32_t low,
                      uint32_t high, uint32_t *out);
/* A text of one of the grammars of names.h. */
typedef const char *deploy_grammar(struct cd_str name);
bool deploy_check_name(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       deploy_grammar *grammar, struct cd_str *out);
bool deploy_check_path(struct deploy_check *c, const struct deploy_node *object, const char *key,
                       bool directory, struct cd_str *out);
/* The same for a node that is there. */
bool deploy_check_string(struct deploy_check *c, const struct deploy_node *node, struct cd_str *out);
bool deploy_check_grammar(struct deploy_check *c, const struct deploy_node *node, deploy_grammar *grammar,
                          struct cd_str *out);

/* The list at key: an array whose items each are passed to one, with room for the result. *items is in the
 * arena; items that one rejects are left out. Absent: no items. */
typedef bool deploy_check_item(struct deploy_check *c, const struct deploy_node *node, void *item);
void deploy_check_list(struct deploy_check *c, const struct deploy_node *list, size_t size,
                       deploy_check_item *one, void **items, size_t *count);

/* Reports each item of list whose text at key another item had before. */
void deploy_check_unique(struct deploy_check *c, const struct deploy_node *list, const char *key,
                         const char *text);

/* Takes a binding name; reports one that is taken already, naming both kinds. what: "a KV namespace". */
bool deploy_check_binding(struct deploy_check *c, const struct deploy_node *object, const char *key,
                          const char *what, struct cd_str *out);
bool deploy_check_bind(struct deploy_check *c, const struct deploy_node *node, struct cd_str name,
                       const char *what);

/* One key at the top of the file each. */
typedef void deploy_check_key(struct deploy_check *c, const struct deploy_node *node);
deploy_check_key deploy_check_define, deploy_check_alias, deploy_check_rules; /* check_bundle.c */
deploy_check_key deploy_check_main, deploy_check_date, deploy_check_flags;
deploy_check_key deploy_check_durable, deploy_check_migrations, deploy_check_services, deploy_check_vars;
deploy_check_key deploy_check_workflows, deploy_check_loaders, deploy_check_triggers;
deploy_check_key deploy_check_d1, deploy_check_kv, deploy_check_r2, deploy_check_queues;
deploy_check_key deploy_check_assets;

/* keys.c: the key at the top of the file, checked, refused or unknown. */
deploy_check_key deploy_check_top;

#endif
