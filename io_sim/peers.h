/* io_sim/peers.h: what lies outside of the nodes: programs of children, scripted HTTP peers. */
#ifndef IO_SIM_PEERS_H
#define IO_SIM_PEERS_H

#include "io_sim/kernel.h"

struct sim_peers {
    struct cd_map programs; /* By name: child.c's. */
    struct cd_map hosts; /* By host name: struct sim_http_peer *, owned */
    struct cd_list exchanges; /* sim_http.all */
    uint64_t requests; /* Numbers the draws of exchanges. */
};

struct sim_peers *sim_peers(struct sim *sim); /* Made on first use. */
void sim_programs_free(struct sim *sim);
void sim_hosts_free(struct sim *sim);
size_t sim_children_left(struct sim_loop *loop, struct cd_buf *report);
size_t sim_https_left(struct sim_loop *loop, struct cd_buf *report);

/* node.c */
struct sim_node *sim_child_node(struct sim_node *parent, const char *name); /* A node of one loop. */
void sim_node_free(struct sim_node *n); /* Dead. */

#endif
