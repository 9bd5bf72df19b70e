/* deploy/toml_internal.h: what the two files of the TOML reader share. */
#ifndef DEPLOY_TOML_INTERNAL_H
#define DEPLOY_TOML_INTERNAL_H

#include "deploy/tree.h"

struct toml {
    struct deploy_builder build;
    struct cd_str text;
    size_t at;
    unsigned depth; /* Arrays and tables around p->at, from the root on. */
    struct cd_buf string; /* owned; the string or key being read */
    struct deploy_fault *fault;
};

/* What may still be done to a table or an array: struct deploy_node.mark. */
enum toml_mark {
    TOML_CLOSED, /* A value: inline tables and arrays are complete where they stand. */
    TOML_IMPLIED, /* A table that a longer header made: its own header may still come. */
    TOML_HEADED, /* A table with a header of its own. */
    TOML_DOTTED, /* A table that dotted keys made: dotted keys may go on with it, a header may not. */
    TOML_LIST /* An array of tables. */
};

int deploy_toml_fault(struct toml *p, size_t at, const char *format, ...) CD_PRINTF(3, 4);
int deploy_toml_unexpected(struct toml *p, const char *wanted);

static inline bool toml_end(const struct toml *p)
{
    return p->at >= p->text.len;
}

static inline char toml_peek(const struct toml *p, size_t ahead) /* NUL at the end; a NUL is no token. */
{
    return p->text.len - p->at > ahead ? p->text.ptr[p->at + ahead] : '\0';
}

static inline bool toml_looks_at(const struct toml *p, struct cd_str word)
{
    return cd_str_starts(cd_str_sub(p->text, p->at, SIZE_MAX), word);
}

void deploy_toml_skip_space(struct toml *p); /* Spaces and tabs. */
/* Spaces, comments and the ends of lines. */
CD_MUST_USE int deploy_toml_skip_blank(struct toml *p);
CD_MUST_USE int deploy_toml_comment(struct toml *p); /* If there is one, up to the end of its line. */
bool deploy_toml_newline(struct toml *p); /* Takes LF or CRLF. */

/* toml_value.c. Strings go to p->string. */
CD_MUST_USE int deploy_toml_string(struct toml *p, bool may_be_multiline);
CD_MUST_USE int deploy_toml_value(struct toml *p, struct deploy_node **out);

/* toml.c: "key = value" into table, which p->depth counts. */
CD_MUST_USE int deploy_toml_pair(struct toml *p, struct deploy_node *table);

#endif
