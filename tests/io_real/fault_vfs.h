/* tests/io_real/fault_vfs.h: a SQLite VFS over the system's one that fails calls on demand and knows what a
 * power loss would leave. Process-wide, for one test at a time. */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include "base/rng.h"

enum fault_call { FAULT_NONE, FAULT_WRITE, FAULT_SYNC };

/* Becomes the default VFS until fault_vfs_remove. Databases opened in between must be closed before that. */
void fault_vfs_install(void);
void fault_vfs_remove(void);

/* The calls of this kind number skip+1 .. skip+count on the log file (name ends in "-wal") end with this
 * result code; a failing sync has synced nothing. */
void fault_vfs_fail(enum fault_call call, unsigned skip, unsigned count, int result_code);
/* A disk with room for a log of this length: writes behind it end with SQLITE_FULL. 0: no limit. */
void fault_vfs_limit(uint64_t log_bytes);
unsigned fault_vfs_failed(void); /* How many did since then. */
unsigned fault_vfs_syncs(void); /* Successful syncs of log files since the install. */

/* Writes what a power loss at this moment leaves of every open database and log file to the same name in dir:
 * what was synced, and of every write after that all, nothing, or some of its sectors. */
void fault_vfs_power_loss(const char *dir, struct cd_rng *rng);

#endif
