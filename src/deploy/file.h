/* deploy/file.h: whole files and paths. Calls block; they are for commands, not for a node that serves. */
#ifndef DEPLOY_FILE_H
#define DEPLOY_FILE_H

#include "base/buf.h"
#include "io/io.h"

/* dir/name in place of what out holds; no second slash if dir ends in one. */
void deploy_file_join(struct cd_buf *out, struct cd_str dir, struct cd_str name);
/* Appends the bytes of a file of at most max bytes: CD_ETOOBIG past that, or what opening and reading gave.
 * path is absolute. */
CD_MUST_USE int deploy_file_read(struct io *io, const char *path, size_t max, struct cd_buf *out);

#endif
