/* io_real/s3_list.h: reads the answer of ListObjectsV2. Pure functions of values. */
#ifndef IO_REAL_S3_LIST_H
#define IO_REAL_S3_LIST_H

#include "io_real/s3_request.h"

struct s3_page {
    bool truncated;
    struct cd_buf continuation; /* owned; the store's mark of the next page, when truncated */
};

/* Appends to l what the document lists: keys and common prefixes merged, ascending, without bucket_prefix,
 * and only those > after (which is without bucket_prefix too). IO_PROTOCOL with l->why when the document is
 * malformed, not ordered, or lists what was not asked for. io_list_seal is the caller's. */
CD_MUST_USE int s3_list_read(struct io_list *l, struct s3_page *page, struct cd_str document,
                             struct cd_str bucket_prefix, struct cd_str prefix, struct cd_str after);
void s3_page_deinit(struct s3_page *page);

#endif
