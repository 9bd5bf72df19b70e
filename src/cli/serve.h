/* cli/serve.h: `celld` without a command: a node that serves. operations.md 1.4, 5, 8; config.md 8. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/command.h"

CD_MUST_USE int cli_serve(struct cli *c);

#endif
