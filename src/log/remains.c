/* log/remains.c: what a session left whose lease is gone: the listing of its log alone can tell
 * (fleet.md 7.1). */
#include "log/recover.h"
#include "log/slot.h"
#include "store/names.h"
#include "store/retry.h"

/* Whether the object at key is anything but a seal. */
static int other_than_seal(struct io *io, struct io_bucket *bucket, struct cd_str key, bool *other)
{
    struct store_policy p = store_policy_of(IO_LANE_LOG, 0);
    struct io_store get = {0};
    struct log_slot_head head;
    int rc = store_retry_get(&get, io, bucket, key, 0, LOG_SLOT_HEAD_SIZE, &p);
    *other = !(rc == IO_OK && log_slot_head_read(&head, cd_buf_str(&get.body), NULL) == 0 &&
               head.kind == LOG_SLOT_SEAL);
    cd_buf_deinit(&get.body);
    return rc == IO_NOENT ? IO_OK : rc; /* Listed, and gone: somebody is at it. */
}

static void slots_count(const struct io_list *page, struct cd_str session, unsigned *slots,
                        struct cd_buf *last)
{
    for (unsigned i = 0; i < page->count; i++) {
        struct store_log_name name;
        if (!store_log_name_parse(&name, page->entry[i].key) || name.kind != STORE_LOG_SLOT ||
            !cd_str_eq(name.session, session))
            continue;
        ++*slots;
        cd_buf_clear(last);
        cd_buf_add_str(last, page->entry[i].key);
    }
}

int log_remains(struct io *io, struct io_bucket *bucket, struct cd_str session, bool *batches)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf prefix = {0}, after = {0}, slot = {0};
    struct io_list page = {0};
    unsigned slots = 0;
    int rc;
    store_key_log(&prefix, session);
    do {
        rc = store_retry_list(&page, io, bucket, cd_buf_str(&prefix), cd_buf_str(&after), IO_LIST_MAX, &p);
        if (rc != IO_OK)
            break;
        slots_count(&page, session, &slots, &slot);
        cd_buf_clear(&after);
        if (page.count > 0)
            cd_buf_add_str(&after, page.entry[page.count - 1].key);
    } while (page.more && slots < 2);
    *batches = slots > 1;
    if (rc == IO_OK && slots == 1)
        rc = other_than_seal(io, bucket, cd_buf_str(&slot), batches);
    io_list_deinit(&page);
    cd_buf_deinit(&prefix);
    cd_buf_deinit(&after);
    cd_buf_deinit(&slot);
    return rc;
}
