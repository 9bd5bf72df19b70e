/* deploy/names.h: grammars of names in a project (config.md 2). Pure.
 *
 * Each returns NULL when name is good, else what was wanted, in words that fit behind "must be". */
#ifndef DEPLOY_NAMES_H
#define DEPLOY_NAMES_H

#include "base/str.h"

#define DEPLOY_CLASS_MAX 190 /* A cell's scope is class, colon and an id of 64 digits, in 255 bytes. */

const char *deploy_name_script(struct cd_str name);
const char *deploy_name_binding(struct cd_str name);
const char *deploy_name_class(struct cd_str name);
const char *deploy_name_kv(struct cd_str name);
const char *deploy_name_queue(struct cd_str name);
const char *deploy_name_d1(struct cd_str name); /* database_id and database_name */
const char *deploy_name_bucket(struct cd_str name); /* R2 buckets, and workflows */
const char *deploy_name_table(struct cd_str name); /* migrations_table */
bool deploy_class_is_reserved(struct cd_str name); /* Classes that celld itself supplies. */
/* A path inside the project: relative, without "..". *out is the same without "./" in front, and of a
 * directory without a slash at its end; "." is the project itself. */
const char *deploy_name_path(struct cd_str path, bool directory, struct cd_str *out);

#endif
