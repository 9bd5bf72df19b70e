/* deploy/app_internal.h: names of things in a deployment, for the files of src/deploy and their tests. */
#ifndef DEPLOY_APP_INTERNAL_H
#define DEPLOY_APP_INTERNAL_H

#include "deploy/manifest.h"

#define DEPLOY_MODULE_NAME_MAX 512
#define DEPLOY_MODULES_MAX 4096
#define DEPLOY_BINDINGS_MAX 4096

const char *deploy_binding_type(enum deploy_binding_kind kind);
CD_MUST_USE bool deploy_binding_kind_named(struct cd_str type, enum deploy_binding_kind *out);
const char *deploy_module_kind_name(enum deploy_module_kind kind); /* Empty for JavaScript. */
CD_MUST_USE bool deploy_module_kind_named(struct cd_str name, enum deploy_module_kind *out);

/* What an app makes use of, as bits: kinds of bindings, and what comes after them. */
#define DEPLOY_USES_BINDING(kind) (1u << (kind))
#define DEPLOY_USES_CRON (1u << DEPLOY_BINDING_KINDS)
#define DEPLOY_USES_CONSUMER (2u << DEPLOY_BINDING_KINDS)
#define DEPLOY_USES_WASM (4u << DEPLOY_BINDING_KINDS)
#define DEPLOY_USES_VEC (8u << DEPLOY_BINDING_KINDS)
uint32_t deploy_app_uses(const struct deploy_app *a);

const struct deploy_feature *deploy_feature(size_t index); /* NULL behind the last. */

#endif
