/* tests/fleet/rig.h: nodes of a fleet with a lease each, over one simulated bucket. */
#ifndef FLEET_RIG_H
#define FLEET_RIG_H

#include "fleet/claim.h"
#include "fleet/lease.h"
#include "io_sim/sim_store.h"
#include "support/test.h"

#define RIG_TTL_MS 9000

/* 64 digits of one kind: the generation of a process, by a digit. */
const char *rig_generation(char digit);

struct rig_leased {
    struct sim *sim;
    struct sim_node *node; /* Of the simulator; a new life is a new process. */
    const char *id; /* Node id. */
    char digit; /* Of its generation; the next life has the next one. */
    bool configured;
    struct fleet_authority *authority; /* Of this life; owned. */
    struct fleet_lease *lease; /* NULL: not up. */
    struct io_op stop;
    int (*recover)(void *arg, struct cd_str session);
    uint64_t slot;
    /* What came. */
    unsigned held, fenced, recovered;
    char cause[64];
    char predecessor[STORE_SESSION_MAX + 1];
};

/* Adds a simulated node that acquires the lease of id as soon as it boots, and again in each life. */
void rig_leased(struct rig_leased *r, struct sim *sim, const char *host, const char *id, char digit);
void rig_leased_free(struct rig_leased *r); /* After sim_free. */
bool rig_authoritative(struct rig_leased *r);
/* The record of a node id; false: absent. */
bool rig_lease(struct sim *sim, const char *id, struct store_lease *out);
bool rig_holds(void *arg); /* struct rig_leased: holds its lease. For sim_run_until. */
bool rig_fenced(void *arg);

#endif
