/* fleet/claim_rule.h: who may take a cell, as a function of what was read. fleet.md 2.3, 4.4, 7.1. Pure. */
#ifndef FLEET_CLAIM_RULE_H
#define FLEET_CLAIM_RULE_H

#include "fleet/claim.h"

#define FLEET_PEER_PROTOCOL 1u

/* Whether a lease has run out. ahead_ms: how far our own clock is known to be ahead of the store's (4.4). */
bool fleet_lease_dead(const struct store_lease *l, int64_t now_ms, uint64_t ahead_ms, bool sole);

enum fleet_claim_rule {
    FLEET_RULE_CREATE, /* The first activation: epoch 1. */
    FLEET_RULE_TAKE, /* By CAS on the record that was read, one epoch higher. */
    FLEET_RULE_READ_LEASE, /* First the lease of the owner's node. */
    FLEET_RULE_READ_OWN_LEASE, /* First our own lease, to know that the owner is an earlier session. */
    FLEET_RULE_FINISH, /* First the owner's session has to be finished (7.1). */
    FLEET_RULE_REMOTE, /* The owner's node lives. */
    FLEET_RULE_OTHER_PROTOCOL, /* It lives, and cannot be talked to. */
    FLEET_RULE_REPLACED, /* Another process has our node id: we are over. */
};

struct fleet_claim_facts {
    const char *node, *generation; /* Ours. */
    const struct store_owner *owner; /* NULL: there is no record. */
    bool finished; /* The owner's session is known to be finished, or to be an earlier one of our node. */
    bool lease_read; /* Of the owner's node; lease NULL: there is none. */
    const struct store_lease *lease;
    int64_t now_ms; /* Wall */
    uint64_t ahead_ms;
    bool sole;
};
enum fleet_claim_rule fleet_claim_decide(const struct fleet_claim_facts *f, enum fleet_claim_from *from);

#endif
