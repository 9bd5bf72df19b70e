/* io_sim/console.h: what a simulated command wrote, and readers that go away. */
#ifndef IO_SIM_CONSOLE_H
#define IO_SIM_CONSOLE_H

#include "io_sim/io_sim.h"

/* All bytes written to standard output or error since the last clear. Good until the next write or clear. */
struct cd_str sim_console(struct sim_node *n, enum io_console which);
void sim_console_clear(struct sim_node *n, enum io_console which);
/* Once `after` bytes of the present text were taken, writes fail with status (IO_EOF, IO_NOSPACE, ...). 0:
 * they succeed. */
void sim_console_fail(struct sim_node *n, enum io_console which, uint64_t after, int status);
void sim_console_tty(struct sim_node *n, enum io_console which, bool tty); /* At the start: no. */

#endif
