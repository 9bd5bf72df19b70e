/* deploy/vars.h: .dev.vars, the variables that only celld dev reads (config.md 4, operations.md 4.4).
 *
 *     # a comment
 *     NAME=value
 *     export NAME = "value with spaces at its ends "
 *
 * One line each; a # inside a value belongs to it, and nothing is unescaped or filled in. Values are secrets:
 * they never stand in a message. */
#ifndef DEPLOY_VARS_H
#define DEPLOY_VARS_H

#include "deploy/project.h"

/* Puts the variables of text into p: each a text binding, in place of a variable of that name. Of lines with
 * one name the last counts. CD_EINVAL with an error for each malformed line ("api/.dev.vars:3: expected
 * NAME=value") and for each name that another kind of binding has; p is as before then. A project without
 * main takes none. */
CD_MUST_USE int deploy_vars_merge(struct deploy_project *p, struct cd_str text,
                                  struct deploy_problems *problems);
/* The same for the file beside the project file; 0 when there is none. Blocks for the file calls. */
CD_MUST_USE int deploy_vars_load(struct deploy_project *p, struct io *io, struct deploy_problems *problems);

#endif
