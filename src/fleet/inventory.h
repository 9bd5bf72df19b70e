/* fleet/inventory.h: what an earlier process of this node left to it: fleet.md 9.5. In fibers of any loop. */
#ifndef FLEET_INVENTORY_H
#define FLEET_INVENTORY_H

#include "fleet/claim.h"

/* Reads the record of a cell. IO_OK: *epoch is that at which a session of this node has it; 0: another node
 * has it, or nobody. Any other status: it is not known. */
CD_MUST_USE int fleet_inventory_read(struct io *io, struct io_bucket *bucket, const struct fleet_self *self,
                                     struct cd_str scope, uint64_t *epoch);
/* After the records were read: what they said of this node's sessions was of this one or an earlier one. A
 * later one writes the lease before it claims anything, so it is enough that the lease is still ours.
 * CD_EFENCED: it is not. Any other status: it is not known. */
CD_MUST_USE int fleet_inventory_confirm(struct io *io, struct io_bucket *bucket,
                                        const struct fleet_self *self);

#endif
