/* fleet/wake_format.h: the mark that says which format the alarms of a bucket have. fleet.md 8.6. */
#ifndef FLEET_WAKE_FORMAT_H
#define FLEET_WAKE_FORMAT_H

#include "io/io.h"

/* In a fiber, at start: IO_OK when wake/format.json says our format, after having made it in a bucket without
 * any alarms. CD_EUNSUPPORTED: another format, or alarms without a mark: refuse to start. Else a status of
 * the store: try again. why says what stands in the way. Several starters may run it at once. */
CD_MUST_USE int fleet_wake_format(struct io *io, struct io_bucket *bucket, struct cd_buf *why);

#endif
