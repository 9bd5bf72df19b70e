/* deploy/bundle.h: from a project to modules: esbuild, or the files as they are (config.md 6). */
#ifndef DEPLOY_BUNDLE_H
#define DEPLOY_BUNDLE_H

#include "deploy/app.h"
#include "deploy/project.h"

struct deploy_bundling {
    struct io *io;
    const struct deploy_project *project; /* Has a main. */
    const char *const *env; /* Of the bundler, ending with NULL: PATH. */
    struct cd_str
        tool; /* CELLD_ESBUILD: a path, absolute or from the working directory, or a name. Empty: not set. */
    bool dev; /* process.env.NODE_ENV is "development", and there is a source map. */
};

struct deploy_bundle { /* Zeroed: nothing. */
    struct cd_arena arena; /* owned: names and inputs */
    struct deploy_module *modules; /* owned; modules[0] is the main one. */
    unsigned count;
    /* The files that it was made of: absolute, or relative to the project. */
    struct cd_str *inputs; /* owned */
    size_t input_count;
    struct cd_str *exports; /* owned; names that the main module exports; NULL: nobody knows. */
    size_t export_count;
    struct cd_buf warnings; /* What the bundler said although it succeeded; lines. */
};

/* In a fiber. Everything it makes lies in a directory of its own below .celld and is gone when it returns.
 *
 * 0, or why there is no bundle: in why is one line, and what the bundler said behind it, unchanged.
 * IO_CANCELED when the fiber was cancelled. */
CD_MUST_USE int deploy_bundle_make(const struct deploy_bundling *b, struct deploy_bundle *out,
                                   struct cd_buf *why);
void deploy_bundle_deinit(struct deploy_bundle *out);

#endif
