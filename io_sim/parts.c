/* io_sim/parts.c: what the parts of the simulator do when a node crashes, is asked what is left of it, or the
 * run ends. */
#include "io_sim/kernel.h"
#include "io_sim/peers.h"

void sim_parts_crash(struct sim_node *n, enum sim_crash how)
{
    sim_net_freeze(n, how);
    sim_disk_crash(n, how);
}

void sim_parts_wipe(struct sim_node *n)
{
    sim_disk_wipe(n);
}

size_t sim_parts_left(struct sim_loop *loop, struct cd_buf *report)
{
    return sim_net_left(loop, report) + sim_files_left(loop, report) + sim_watches_left(loop, report) +
           sim_children_left(loop, report) + sim_https_left(loop, report);
}

void sim_parts_free(struct sim *sim)
{
    if (sim->peers != NULL) {
        sim_hosts_free(sim);
        sim_programs_free(sim);
        cd_free(sim->peers);
    }
    sim_net_free(sim);
}
