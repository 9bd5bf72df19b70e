/* deploy/manifest.h: deployments as objects in a bucket: manifest and pointer (config.md 7).
 *
 * Text from and to struct deploy_app, without I/O. What is written here is read by every node and every later
 * version, and the version of a deployment is a digest over it: the order of members is part of the format.
 */
#ifndef DEPLOY_MANIFEST_H
#define DEPLOY_MANIFEST_H

#include "base/json.h"
#include "deploy/app.h"

#define DEPLOY_FLEET_POINTER "deploy/current.json"

void deploy_sha256(struct cd_str bytes, char out[DEPLOY_SHA256_LEN + 1]); /* Lowercase hex. */

/* Appends the metadata of config.md 5, which the version covers: bindings, compatibility, migrations. */
void deploy_metadata_write(struct cd_buf *out, const struct deploy_app *a);

/* For one who has filled in script, modules, bindings, compatibility, classes and crons: sorts the modules,
 * fills in what follows from all that (digests, sizes, version, prefix, manifest_sha256) and appends the
 * manifest to out. */
void deploy_app_seal(struct deploy_app *a, struct cd_buf *out);

/* Fills in all of an empty app but the bytes of modules. The text must have the digest want (empty: any).
 * Errors as deploy_load's; then a is to be freed all the same. */
CD_MUST_USE int deploy_manifest_read(struct deploy_app *a, struct cd_str text, struct cd_str want,
                                     struct cd_buf *why);
/* Takes the bytes of a module that were read from the bucket: CD_ECORRUPT when they are not the manifest's.
 */
CD_MUST_USE int deploy_module_take(struct deploy_module *m, struct cd_buf *bytes, struct cd_buf *why);
CD_MUST_USE int deploy_module_take_map(struct deploy_module *m, struct cd_buf *bytes, struct cd_buf *why);

void deploy_module_key(struct cd_buf *out, const struct deploy_app *a, const struct deploy_module *m);
void deploy_module_map_key(struct cd_buf *out, const struct deploy_app *a, const struct deploy_module *m);
void deploy_manifest_key(struct cd_buf *out, struct cd_str prefix);
/* Empty script: the fleet's. */
void deploy_pointer_key(struct cd_buf *out, struct cd_str script);

struct deploy_pointer { /* Borrows from the document it was read from. */
    struct cd_str script, version, prefix;
    struct cd_str manifest_sha256; /* Empty: it has none. */
};
void deploy_pointer_write(struct cd_buf *out, const struct deploy_app *a);
CD_MUST_USE int deploy_pointer_read(struct deploy_pointer *p, const struct cd_json_doc *doc,
                                    struct cd_buf *why);

/* Whether modules may have this name: relative, with /, no empty or dotted segment, no control character. */
bool deploy_module_name_ok(struct cd_str name);

struct deploy_feature {
    const char *name; /* "kv-v1" */
    const char *what; /* For people: "KV namespaces". */
    uint32_t uses;
    bool here; /* This version of celld has it. */
};
/* The first thing that the app makes use of and this version of celld lacks, or NULL. */
const struct deploy_feature *deploy_app_lacks(const struct deploy_app *a);

#endif
