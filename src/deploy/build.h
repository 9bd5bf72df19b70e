/* deploy/build.h: from a project to a sealed app that can be published. What `celld dev` and `celld deploy`
 * share. */
#ifndef DEPLOY_BUILD_H
#define DEPLOY_BUILD_H

#include "deploy/bundle.h"
#include "deploy/manifest.h"

struct deploy_build {
    struct deploy_bundling bundling; /* In. */
    struct deploy_app *app; /* Out, owned: sealed. */
    struct cd_buf manifest; /* Out, owned. */
    struct cd_buf warnings; /* Out, owned: of the bundler. */
    struct cd_arena arena; /* Out, owned: what inputs borrow from. */
    struct cd_str *inputs; /* Out, owned: as of struct deploy_bundle. */
    size_t input_count;
};

/* In a fiber; errors as deploy_bundle_make's, and CD_EUNSUPPORTED for what this version of celld cannot
 * serve. */
CD_MUST_USE int deploy_build_run(struct deploy_build *b, struct cd_buf *why);
void deploy_build_deinit(struct deploy_build *b); /* bundling stays. */

/* The app of a project, without modules: names, bindings, classes, compatibility. Never fails. */
struct deploy_app *deploy_app_of_project(const struct deploy_project *p);

#endif
