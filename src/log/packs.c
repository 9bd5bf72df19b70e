/* log/packs.c: wake packs: the alarms of a session whose work ends all at once (fleet.md 8.3). */
#include "log/fold_internal.h"
#include "store/retry.h"

#define PUTS_AT_ONCE 8u

struct pack {
    struct io_store put;
    struct cd_buf key, body; /* owned */
};

/* Starts with the items that go into one pack each; a failed one is tried again alone. */
static int put_some(struct io *io, struct io_bucket *bucket, struct pack *pack, unsigned count)
{
    int rc = IO_OK;
    for (unsigned i = 0; i < count; i++) {
        pack[i].put.lane = IO_LANE_CONTROL;
        io_store_put(&pack[i].put, bucket, cd_buf_str(&pack[i].key), cd_buf_str(&pack[i].body), IO_PUT_ANY,
                     NULL);
    }
    for (unsigned i = 0; i < count; i++)
        (void)io_await(&pack[i].put.op, IO_FOREVER); /* The op has a time limit of its own. */
    for (unsigned i = 0; i < count && rc == IO_OK; i++) {
        struct store_policy p = store_policy_of(IO_LANE_CONTROL, pack[i].body.len);
        if (pack[i].put.outcome != IO_DONE || pack[i].put.op.status != IO_OK)
            rc = store_retry_put(&pack[i].put, io, bucket, cd_buf_str(&pack[i].key),
                                 cd_buf_str(&pack[i].body), &p);
    }
    return rc;
}

int log_packs_write(struct io *io, struct io_bucket *bucket, struct cd_str session, struct store_alarm *items,
                    size_t count, uint64_t *packs)
{
    int rc = IO_OK;
    size_t at = 0;
    struct pack *pack = cd_alloc(PUTS_AT_ONCE * sizeof *pack);
    store_alarms_sort(items, count, store_alarm_cmp_due);
    while (at < count && rc == IO_OK) {
        unsigned n = 0;
        for (; n < PUTS_AT_ONCE && at < count; n++) {
            size_t take = count - at < STORE_PACK_ITEMS_MAX ? count - at : STORE_PACK_ITEMS_MAX;
            store_pack_write(&pack[n].body, &pack[n].key, session, items + at, take);
            at += take;
        }
        rc = put_some(io, bucket, pack, n);
        *packs += n;
        for (unsigned i = 0; i < n; i++) {
            cd_buf_deinit(&pack[i].key);
            cd_buf_deinit(&pack[i].body);
            cd_buf_deinit(&pack[i].put.body);
            pack[i] = (struct pack){0};
        }
    }
    cd_free(pack);
    return rc;
}
