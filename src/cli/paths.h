/* cli/paths.h: paths as people write them on the command line. */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H

#include "cli/command.h"

/* Appends path, from the working directory if it is relative, without slashes at its end. On failure the
 * message is in c->error. */
CD_MUST_USE int cli_path_absolute(struct cli *c, struct cd_str path, struct cd_buf *out);

#endif
