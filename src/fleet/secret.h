/* fleet/secret.h: the secret of the fleet, fleet/peer-auth.json. fleet.md 2.7.
 *
 * The first node that starts makes it; it never changes afterwards. It stands in no event and in no message.
 */
#ifndef FLEET_SECRET_H
#define FLEET_SECRET_H

#include "fleet/peer_auth.h"
#include "io/io.h"

/* In a fiber: reads it. IO_OK, IO_NOENT, CD_EUNSUPPORTED (not a record that this version knows), or why the
 * store did not answer; with a reason in why unless IO_OK. */
CD_MUST_USE int fleet_secret_read(struct fleet_secret *out, struct io *io, struct io_bucket *bucket,
                                  struct cd_buf *why);
/* In a fiber: reads it, and makes it where there is none; who loses that race has the winner's. Never
 * IO_NOENT. */
CD_MUST_USE int fleet_secret_load(struct fleet_secret *out, struct io *io, struct io_bucket *bucket,
                                  struct cd_buf *why);

#endif
