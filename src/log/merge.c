/* log/merge.c: merging segments on a loop that others share. */
#include "log/recover_internal.h"

#define STEP_BYTES (1u << 20) /* Merged without a pause: about a millisecond. */

int log_merge(struct io *io, const struct ltx_file *file, size_t count, const struct ltx_merge_opts *opts,
              struct cd_buf *out, struct cd_buf *why)
{
    struct ltx_merge *m = NULL;
    int rc = ltx_merge_new(&m, file, count, opts, why);
    while (rc == 0 && !ltx_merge_step(m, STEP_BYTES))
        rc = io_sleep(io, 0);
    if (rc == 0)
        *out = ltx_merge_take(m);
    ltx_merge_free(m);
    return rc;
}
