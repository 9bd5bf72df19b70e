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

/* Every page below prefix, or with max at most so many keys behind after. */
int fleet_waker_list(struct fleet_waker *w, struct cd_str prefix, char delimiter,
                     void (*each)(struct fleet_waker *w, const struct io_entry *e, void *arg), void *arg);
void fleet_pack_forget(struct fleet_waker *w, struct cd_str key);
int fleet_collect_pass(struct fleet_waker *w);

/* What the waker does about a due cell. */
enum fleet_wake_rule { FLEET_WAKE_NOT_OURS, FLEET_WAKE_HINT, FLEET_WAKE_READ_LEASE };
/* owner NULL: no record. lease: of the owner's node, once read. */
enum fleet_wake_rule fleet_wake_decide(const struct store_owner *owner, const char *node, bool holds_role,
                                       bool lease_read, bool lease_dead);

#endif
