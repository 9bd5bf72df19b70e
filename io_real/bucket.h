/* io_real/bucket.h: opening object stores on the real system, for src/cli and for tests.
 *
 * A store is what all loops of a node share: where it is, its credentials, the embedded store's threads. A
 * bucket is how one loop sees it. operations.md 3. */
#ifndef IO_REAL_BUCKET_H
#define IO_REAL_BUCKET_H

#include "io_real/s3_request.h"

struct io_real_store;

struct io_real_store_opts {
    struct cd_str url; /* operations.md 3.1 */
    struct cd_str endpoint, region; /* S3 only; may be empty. */
    struct cd_str access_key, secret_key, session_token; /* AWS_ACCESS_KEY_ID, ...; S3 only. */
    enum s3_etag_mode etag_mode; /* CELLD_S3_ETAG_MODE */
};

/* Everything is copied. CD_EINVAL, CD_EUNSUPPORTED or an IO_* of the embedded store's file, with a reason for
 * people in why. Of S3 nothing is contacted here. The embedded store's file is opened: blocks. */
CD_MUST_USE int io_real_store_open(struct io_real_store **out, const struct io_real_store_opts *o,
                                   struct cd_buf *why);
/* After all buckets are closed. Waits for writes of the embedded store that were given up while they ran. */
void io_real_store_close(struct io_real_store *s);
bool io_real_store_is_local(const struct io_real_store *s); /* file://: one machine only. */

/* Call on the loop's thread, or before it runs; no op may be in flight at the close. See io_real_set_bucket.
 */
struct io_bucket *io_real_bucket_open(struct io_real_store *s, struct io *io);
void io_real_bucket_close(struct io_bucket *b);

#endif
