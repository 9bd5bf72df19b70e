/* fleet/data_dir.h: the data directory of a node: one process at a time, and nothing in it that a crash may
 * have spoilt. fleet.md Appendix B 1, Appendix E. Synchronous; at start only. */
#ifndef FLEET_DATA_DIR_H
#define FLEET_DATA_DIR_H

#include "io/io.h"

struct fleet_data_dir {
    struct io_file lock; /* Open as long as the directory is ours. */
};
/* Makes it when absent and locks it. IO_BUSY: another process has it. IO_NOSPACE and others as they come; why
 * says what could not be done. */
CD_MUST_USE int fleet_data_dir_open(struct fleet_data_dir *d, struct io *io, const char *path,
                                    struct cd_buf *why);
void fleet_data_dir_close(struct fleet_data_dir *d);
/* Removes what an earlier process left below cells/ and may not be trusted: live databases, scratch. Of each
 * cell the snapshots that were closed cleanly stay (5.9): the next epoch decides about them; and its own
 * directory, which says that this node has had it (9.5). *removed counts directories of epochs. Best effort:
 * what cannot be removed is reported and left. */
void fleet_data_dir_clean(struct io *io, const char *path, unsigned *removed);

#endif
