/* tests/deploy/fixture.h: an app to publish. */
#ifndef DEPLOY_FIXTURE_H
#define DEPLOY_FIXTURE_H

#include "deploy/app_internal.h"
#include "support/test.h"

/* A script with two modules, a text, a JSON value and a service binding; the main module says text. */
struct deploy_app *fixture_app(const char *script, const char *text);
struct deploy_module *fixture_module(struct deploy_app *a, const char *name, enum deploy_module_kind kind,
                                     const char *bytes);
struct deploy_binding *fixture_binding(struct deploy_app *a, const char *name, enum deploy_binding_kind kind);

#endif
