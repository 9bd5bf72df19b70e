/* io_real/bucket_internal.h: what bucket.c, bucket_embedded.c and bucket_s3.c share. */
#ifndef IO_REAL_BUCKET_INTERNAL_H
#define IO_REAL_BUCKET_INTERNAL_H

#include "io_real/bucket.h"
#include "io_real/embedded.h"
#include "io_real/real.h"
#include "store/bucket_url.h"

struct io_real_store {
    struct store_bucket_url url;
    struct embedded *embedded; /* owned; of file:// */
    struct s3_config s3; /* Of s3:// */
};

struct io_bucket {
    struct io_real_store *store;
    struct real_loop *loop;
};

/* One operation, checked; the op is busy and is the dialect's from here on. Keys carry the bucket's prefix.
 */
struct bucket_ask {
    enum s3_kind kind;
    struct io_store *store; /* NULL for S3_LIST. */
    struct io_list *list; /* Only for S3_LIST. */
    struct cd_buf key; /* Given away; of S3_LIST the prefix. */
    struct cd_buf after; /* Given away; S3_LIST, may be empty. */
    uint64_t from, len; /* S3_GET */
    struct cd_str body; /* S3_PUT */
    enum io_put how; /* S3_PUT */
    unsigned max; /* S3_LIST */
    enum io_lane lane;
    uint64_t timeout_ns; /* Not 0. */
};
void bucket_embedded_start(struct io_bucket *b, struct bucket_ask *ask);
void bucket_s3_start(struct io_bucket *b, struct bucket_ask *ask);

static inline struct io_op *bucket_op(const struct bucket_ask *ask)
{
    return ask->kind == S3_LIST ? &ask->list->op : &ask->store->op;
}
static inline bool bucket_is_write(enum s3_kind kind)
{
    return kind == S3_PUT || kind == S3_DELETE;
}

#endif
