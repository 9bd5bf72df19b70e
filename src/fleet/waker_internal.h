/* fleet/waker_internal.h: what discovery (waker.c) and the collector (collect.c) share. */
#ifndef FLEET_WAKER_INTERNAL_H
#define FLEET_WAKER_INTERNAL_H

#include "fleet/waker.h"

struct fleet_pack {
    struct store_alarms alarms;
    bool *settled; /* owned; by item. Settled is final. */
    size_t left; /* Items not settled. */
    uint64_t bytes;
};

/* Reads of one kind, side by side. */
#define FLEET_READS_MAX 32u
struct fleet_reads {
    unsigned count;
    struct io_store get[FLEET_READS_MAX];
    struct cd_buf key[FLEET_READS_MAX];
};
/* In a fiber: reads every key that was put into r; statuses are in get[i].op.status. IO_OK or IO_CANCELED. */
int fleet_reads_run(struct fleet_waker *w, struct fleet_reads *r);
void fleet_reads_clear(struct fleet_reads *r);

void fleet_pack_forget(struct fleet_waker *w, struct cd_str key);
int fleet_collect_pass(struct fleet_waker *w);

#endif
