/* deploy/tree.h: a project file as a tree, whether it was JSONC or TOML (config.md 1).
 *
 * Nodes and their texts live in the arena the caller gives; the file's text is borrowed and must outlive the
 * tree, because places are offsets into it. Parsing is pure: no I/O, no clock. What a file can make large has
 * a limit: its size, its nesting, and therefore the count of nodes. */
#ifndef DEPLOY_TREE_H
#define DEPLOY_TREE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"

#define DEPLOY_FILE_MAX (1u << 20) /* Bytes of a project file. */
#define DEPLOY_DEPTH_MAX CD_JSON_DEPTH_MAX /* Every part of a tree can be written with base/json.h. */

enum deploy_kind {
    DEPLOY_NULL,
    DEPLOY_BOOL,
    DEPLOY_NUMBER, /* text is a JSON number, whatever the spelling in the file was. */
    DEPLOY_NOT_A_NUMBER, /* TOML's inf and nan, which JSON has no spelling for. text as in the file. */
    DEPLOY_DATE, /* TOML only: a date, a time or both. text as in the file. */
    DEPLOY_STRING,
    DEPLOY_ARRAY,
    DEPLOY_OBJECT
};

struct deploy_node {
    enum deploy_kind kind;
    bool flag; /* Of BOOL. */
    unsigned char mark; /* The parsers' own. */
    struct deploy_node *up; /* The array or object that holds it; NULL at the root. */
    struct deploy_node *next; /* The next item or member of up. */
    struct deploy_node *first, *last; /* Items or members in the order of the file. */
    size_t count; /* Of items or members. */
    size_t index; /* In up. */
    unsigned number; /* Of objects: the parsers' own. */
    struct cd_str key; /* Of a member of an object; a NUL stands behind it. */
    struct cd_str text; /* UTF-8; a NUL stands behind it, and may be within a string. */
    size_t at, key_at; /* Offsets in the file. */
};

/* What a parser could not read, and where. */
struct deploy_fault {
    size_t at;
    struct cd_buf why; /* owned by the caller */
};

/* Line and column for people: both count from 1, columns in characters; a byte order mark is none. */
struct deploy_place {
    unsigned line, column;
};
struct deploy_place deploy_place_of(struct cd_str text, size_t at);

/* CD_ESYNTAX with the first fault, CD_ETOOBIG (with a fault too) past DEPLOY_FILE_MAX. text is borrowed. */
CD_MUST_USE int deploy_jsonc_parse(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                                   struct deploy_fault *fault);
CD_MUST_USE int deploy_toml_parse(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                                  struct deploy_fault *fault);

/* The member of an object, or NULL; node may be NULL or of another kind. Looks at every member in turn. */
const struct deploy_node *deploy_node_get(const struct deploy_node *node, const char *key);
const char *deploy_kind_name(enum deploy_kind kind); /* With its article: "an array". */
/* Appends where node stands in the file: `queues.consumers[0].type`. Keys that are not plain words are
 * quoted. The root has the empty path. */
void deploy_node_path(struct cd_buf *out, const struct deploy_node *node);
/* Appends node as JSON without spaces, members in the order of the file. CD_EINVAL for what JSON has no
 * spelling for, and why says which. */
CD_MUST_USE int deploy_node_json(struct cd_buf *out, const struct deploy_node *node,
                                 const struct deploy_node **bad);

/* ---- For the two parsers ---- */

/* Finds members by name in time log(count): one index for all objects of a file, so that a file of nothing
 * but keys is read in no more than its share of time. */
struct deploy_builder {
    struct cd_arena *arena;
    struct cd_map index; /* owned */
    struct cd_buf name; /* owned */
    unsigned objects; /* Their numbers so far: the index names an object by number, never by address. */
};
void deploy_builder_deinit(struct deploy_builder *b);
struct deploy_node *deploy_builder_node(struct deploy_builder *b, enum deploy_kind kind, size_t at);
struct deploy_node *deploy_builder_find(struct deploy_builder *b, const struct deploy_node *object,
                                        struct cd_str key);
/* The key must not be in object yet. It is copied. */
void deploy_builder_member(struct deploy_builder *b, struct deploy_node *object, struct cd_str key,
                           size_t key_at, struct deploy_node *value);
void deploy_builder_item(struct deploy_node *array, struct deploy_node *value);
/* What both parsers refuse before they look at anything: too large, not UTF-8. at is behind a byte order
 * mark. */
CD_MUST_USE int deploy_text_check(struct cd_str text, size_t *at, struct deploy_fault *fault);
/* Appends the UTF-8 of a Unicode scalar value. */
void deploy_utf8_add(struct cd_buf *out, uint32_t code);

#endif
