/* cli/serve.h: `celld` without a command: a node that serves. operations.md 1.4, 5, 8; config.md 8. */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/command.h"

CD_MUST_USE int cli_serve(struct cli *c);

/* The listeners of a node, also for who only tries them. The flags and settings were checked. */
CD_MUST_USE int cli_serve_addr(struct cli *c, enum cli_flag flag, enum cli_set set, const char *otherwise,
                               struct io_addr *out);
void cli_serve_addr_text(struct cd_buf *out, const struct io_addr *a); /* "127.0.0.1:80", "[::1]:80" */

#endif
