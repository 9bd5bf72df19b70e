/* cli/generation.h: a version of the application that nodes run: what deploy/app.h loaded, as src/js takes
 * it.
 *
 * One value for all loops of a node; it never changes, so it is shared. The control loop frees it when no
 * loop serves it any more. */
#ifndef CLI_GENERATION_H
#define CLI_GENERATION_H

#include "deploy/app.h"
#include "js/worker.h"

#define CLI_SCRIPTS_MAX 32 /* The application and what it binds, directly or not. */

/* Settings that reach JavaScript. */
struct cli_limits {
    uint64_t handler_budget_s, fetch_timeout_s;
};

struct cli_generation {
    struct deploy_app *app[CLI_SCRIPTS_MAX]; /* owned; the first is the application */
    struct js_bundle bundle[CLI_SCRIPTS_MAX];
    struct cd_buf config[CLI_SCRIPTS_MAX]; /* owned; of the bundles */
    unsigned count;
    struct cli_limits limits;
    unsigned number; /* 1, 2, ...: of this node. */
    unsigned users; /* Loops that serve it. */
};

/* In a fiber: loads the application and all it binds. On failure the status of deploy_load, why says what and
 * where, and *out is NULL. */
CD_MUST_USE int cli_generation_load(struct cli_generation **out, struct io *io, struct io_bucket *bucket,
                                    const struct cli_limits *limits, struct cd_buf *why);
/* Whether one of its scripts declares classes of Durable Objects. */
bool cli_generation_has_cells(const struct cli_generation *g);
void cli_generation_free(struct cli_generation *g); /* NULL is fine. */

#endif
