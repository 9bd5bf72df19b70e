/* io_real/spare.h: the copy of this process that waits to become a child, for child.c and node.c. */
#ifndef IO_REAL_SPARE_H
#define IO_REAL_SPARE_H

#include <sys/types.h>

/* Gives the copy its order: the pid of a child of ours that runs now, or 0: there is none. */
pid_t real_spare_take(const char *const argv[], const char *const env[], const char *cwd,
                      const int stream[3]);
void real_spare_drop(void); /* Nobody will need it. */

#endif
