/* deploy/files.h: whole files, and whole trees of them, for building and for the state of celld dev. Blocks,
 * as all file calls of io.h do. Paths are absolute. */
#ifndef DEPLOY_FILES_H
#define DEPLOY_FILES_H

#include "deploy/file.h"

/* A new file, or new bytes of one. Not synced: what can be made again. */
CD_MUST_USE int deploy_file_write(struct io *io, const char *path, struct cd_str bytes);
/* The same in one step for those who read it: by a file of the same name with ".new" behind. */
CD_MUST_USE int deploy_file_replace(struct io *io, const char *path, struct cd_str bytes);
/* Makes the directory and those above it that are missing. */
CD_MUST_USE int deploy_dirs_make(struct io *io, const char *path);
/* Removes path and all below it; links, not what they lead to. IO_NOENT when it is not there. */
CD_MUST_USE int deploy_tree_remove(struct io *io, const char *path);

/* The directory .celld of a project, where everything lies that celld makes there: made when it is missing,
 * with a .gitignore that leaves all of it out. dir: below it, made too ("dev"). *out is its path. */
CD_MUST_USE int deploy_state_dir(struct io *io, struct cd_str root, const char *dir, struct cd_buf *out);

#endif
