/* cell/handoff_internal.h: what handoff.c and balance.c share: cells that go to other nodes, on the control
 * loop. */
#ifndef CELL_HANDOFF_INTERNAL_H
#define CELL_HANDOFF_INTERNAL_H

#include "cell/cell_internal.h"
#include "cell/handoff.h"
#include "fleet/node.h"
#include "fleet/sample.h"

/* One goes to each loop and comes back. */
struct cell_poll {
    struct io_msg msg;
    struct cell_handoff *handoff;
    bool away;
    struct cell_drained drained;
};

struct cell_handoff {
    struct cell_handoff_opts o;
    struct io_bucket *bucket;
    const struct fleet_self *self;
    bool draining, cut;
    bool gone; /* Freed as soon as nothing is on its way. */
    unsigned window; /* Of a shard. */
    uint64_t end_ns; /* Of the drain: then it ends, whoever is left. */
    unsigned offers; /* That are being made. */
    struct io_signal news;
    struct fleet_receiver receiver[FLEET_RECEIVERS_MAX];
    unsigned receivers;
    uint64_t read_ns; /* When. */
    struct cd_buf baseline;
    uint64_t handed, left;
    struct cell_handoff_view view; /* Of the drain; what is left of its times: */
    uint64_t stalled_ns, over_ns; /* when it ends without an acknowledgement, and in any case. */
    /* balance.c */
    struct fleet_sample sample;
    struct io_fiber *balancing; /* NULL: it does not run. */
    struct io_signal wanted;
    struct cd_list places; /* struct cell_place.link: they wait for a sample. */
    uint64_t not_before_ns; /* The last one could not be had. */
    unsigned loops;
    struct cell_poll poll[]; /* By loop; that of the control loop is not used. */
};

/* A poll came back, an offer or the balance ended. */
void cell_handoff_news(struct cell_handoff *h);
/* Reads samples, places cells, gives cells away, until it is ended: h->balancing is NULL then, with news. */
void cell_balance_start(struct cell_handoff *h);
void cell_balance_end(struct cell_handoff *h);

#endif
