/* cli/dev.h: `celld dev`: a local server for a project that is being written. operations.md 4. */
#ifndef CLI_DEV_H
#define CLI_DEV_H

#include "cli/command.h"

CD_MUST_USE int cli_dev(struct cli *c);

#endif
