/* cli/deploy.h: `celld deploy`: builds an application and publishes it to a bucket. operations.md 1.6, 6. */
#ifndef CLI_DEPLOY_H
#define CLI_DEPLOY_H

#include "cli/command.h"

CD_MUST_USE int cli_deploy(struct cli *c);

#endif
