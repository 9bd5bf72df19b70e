/* deploy/problem.h: what is wrong with a project, collected so that one run shows all of it (config.md
 * 1, 3.1).
 *
 *     wrangler.jsonc: unsupported configuration key(s): routes, limits
 *     wrangler.jsonc:3:3: routes: celld does not route hostnames
 *         use the ingress proxy
 *     wrangler.jsonc:7:11: name: "My App" ...
 *
 * A zeroed struct is a valid empty list. It owns its texts. */
#ifndef DEPLOY_PROBLEM_H
#define DEPLOY_PROBLEM_H

#include "base/arena.h"
#include "base/buf.h"

#define DEPLOY_PROBLEMS_MAX 100 /* More are counted, not kept: nobody reads them in one go. */

enum deploy_severity {
    DEPLOY_ERROR, /* Stops the deploy. */
    DEPLOY_WARNING,
    DEPLOY_NOTE
};

struct deploy_problem {
    struct deploy_problem *next;
    enum deploy_severity severity;
    bool refused_key; /* One of "unsupported configuration key(s)". */
    unsigned line, column; /* 0: the file as a whole; the whole line. */
    struct cd_str file, path, text, hint; /* path: "queues.consumers[0].type". All but text may be empty. */
};

struct deploy_problems {
    struct cd_arena arena; /* owned */
    struct deploy_problem *first; /* Errors, warnings, notes; each by file and place. */
    size_t errors, warnings, notes; /* All, kept or not. */
};

void deploy_problems_deinit(struct deploy_problems *all);
/* Copies what p points to; p->next is ignored. */
void deploy_problems_add(struct deploy_problems *all, const struct deploy_problem *p);
/* Appends the errors, or the rest, a line each (a hint is a second one), in the form above. Warnings and
 * notes are marked as such. Nothing when there are none. */
void deploy_problems_errors(struct cd_buf *out, const struct deploy_problems *all);
void deploy_problems_warnings(struct cd_buf *out, const struct deploy_problems *all);

#endif
