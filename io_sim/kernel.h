/* io_sim/kernel.h: what the files of the simulator's kernel know of each other; the parts for I/O do not need
 * it. */
#ifndef IO_SIM_KERNEL_H
#define IO_SIM_KERNEL_H

#include "io_sim/sim_internal.h"

/* heap.c */
void sim_heap_push(struct sim *sim, struct sim_event *e); /* With at_ns and tie set. */
struct sim_event *sim_heap_pop(struct sim *sim);
void sim_pool_deinit(struct sim *sim);

/* node.c */
struct sim_node *sim_pseudo_node(struct sim *sim, const char *name);
void sim_nodes_free(struct sim *sim);
void sim_loop_free(struct sim_loop *loop); /* loop.c */
struct sim_loop *sim_loop_new(struct sim_node *n, unsigned index);
void sim_loop_freeze(struct sim_loop *loop);
/* After an event of a frozen loop, outside of it: calls its program's unwind once it is quiet, ends waits
 * that nobody will end, and declares its node dead when nothing is left. May free the loop. */
void sim_loop_settle(struct sim_loop *loop);
CD_NORETURN void sim_report_stuck(struct sim *sim);
void sim_lent_end(struct sim_loop *loop); /* The slice is over: bytes lent in it are gone. */

/* clock.c */
void sim_clock_boot(struct sim_node *n);
int64_t sim_wall_ms(const struct sim *sim); /* True time, as the store and the disks see it. */

/* trace.c */
void sim_trace_event(struct sim *sim); /* sim->record is complete. */
void sim_trace_deinit(struct sim *sim);

/* parts.c: calls what the parts have to do at these moments. */
void sim_parts_crash(struct sim_node *n, enum sim_crash how);
void sim_parts_wipe(struct sim_node *n); /* An empty disk from now on. */
size_t sim_parts_left(struct sim_loop *loop, struct cd_buf *report);
void sim_parts_free(struct sim *sim);

/* net.c */
void sim_net_free(struct sim *sim);
void sim_net_freeze(struct sim_node *n, enum sim_crash how); /* What its peers see. */
size_t sim_net_left(struct sim_loop *loop, struct cd_buf *report);

/* disk.c, file.c */
void sim_disk_crash(struct sim_node *n, enum sim_crash how); /* What is left on its disk. */
void sim_disk_wipe(struct sim_node *n);
size_t sim_files_left(struct sim_loop *loop, struct cd_buf *report);
size_t sim_watches_left(struct sim_loop *loop, struct cd_buf *report); /* watch.c */

#endif
