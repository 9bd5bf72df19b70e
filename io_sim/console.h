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
/* From now on io_console_input of the node opens the other end of keyboard, which is opened then, in the same
 * loop, and the caller's. NULL, and at the start: nobody types. */
void sim_console_keyboard(struct sim_node *n, struct io_stream *keyboard);
void sim_console_tty(struct sim_node *n, enum io_console which, bool tty); /* At the start: no. */

#endif
