/* log/clean.c: deletes what a sealed session left behind (fleet.md 7.6). The seal stays for ever: a process
 * that was paused with an unsent slot must still find it, however late. */
#include "log/recover_internal.h"

unsigned log_delete_some(struct io_bucket *bucket, struct cd_buf *key, unsigned count)
{
    struct io_store *del = cd_alloc((count == 0 ? 1 : count) * sizeof *del);
    unsigned gone = 0;
    CD_ASSERT(count <= LOG_DELETES);
    for (unsigned i = 0; i < count; i++) {
        del[i].lane = IO_LANE_CONTROL;
        io_store_delete(&del[i], bucket, cd_buf_str(&key[i]), NULL);
    }
    for (unsigned i = 0; i < count; i++)
        (void)io_await(&del[i].op, IO_FOREVER); /* The op has a time limit of its own. */
    while (gone < count && del[gone].outcome == IO_DONE && del[gone].op.status == IO_OK)
        gone++;
    cd_free(del);
    return gone;
}

/* Whether the slot is a seal. Unreadable: treated as one, so that it stays. */
static int is_seal(struct io *io, struct io_bucket *bucket, struct cd_str key, bool *seal)
{
    struct store_policy p = store_policy_of(IO_LANE_LOG, 0);
    struct io_store get = {0};
    struct log_slot_head head;
    p.retries = 2;
    int rc = store_retry_get(&get, io, bucket, key, 0, LOG_SLOT_HEAD_SIZE, &p);
    *seal = rc != IO_NOENT && (rc != IO_OK || log_slot_head_read(&head, cd_buf_str(&get.body), NULL) != 0 ||
                               head.kind == LOG_SLOT_SEAL);
    cd_buf_deinit(&get.body);
    return rc == IO_CANCELED ? rc : 0;
}

/* What of a listing goes. */
static int goes(struct io *io, struct io_bucket *bucket, struct cd_str key, uint64_t seal, bool *yes)
{
    struct store_log_name name;
    bool stays = false;
    *yes = false;
    if (!store_log_name_parse(&name, key)) {
        *yes = cd_str_starts(key, CD_STR("wake/sessions/"));
        return 0;
    }
    switch (name.kind) {
    case STORE_LOG_OTHER:
    case STORE_LOG_LOSS: return 0;
    case STORE_LOG_FLOOR:
    case STORE_LOG_ROW:
    case STORE_LOG_RECOVERED: *yes = true; return 0;
    case STORE_LOG_SLOT: break;
    }
    if (seal != LOG_SEAL_LISTED) {
        *yes = name.number != seal || CD_PLANT("clean.seal-too");
        return 0;
    }
    int rc = is_seal(io, bucket, key, &stays);
    *yes = rc == 0 && !stays;
    return rc;
}

/* One walk over a prefix. *left: keys that should go and did not. */
static int sweep(struct io *io, struct io_bucket *bucket, struct cd_str prefix, uint64_t seal,
                 uint64_t *found, uint64_t *left)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct cd_buf after = {0};
    struct io_list page = {0};
    int rc;
    do {
        rc = store_retry_list(&page, io, bucket, prefix, cd_buf_str(&after), IO_LIST_MAX, &p);
        for (unsigned at = 0; rc == IO_OK && at < page.count;) {
            struct cd_buf key[LOG_DELETES] = {0};
            unsigned n = 0;
            for (; rc == 0 && n < LOG_DELETES && at < page.count; at++) {
                bool yes;
                rc = goes(io, bucket, page.entry[at].key, seal, &yes);
                if (rc == 0 && yes)
                    cd_buf_add_str(&key[n++], page.entry[at].key);
            }
            unsigned gone = rc == 0 ? log_delete_some(bucket, key, n) : 0;
            *found += n;
            *left += n - gone;
            for (unsigned i = 0; i < n; i++)
                cd_buf_deinit(&key[i]);
        }
        cd_buf_clear(&after);
        if (rc == IO_OK && page.count > 0)
            cd_buf_add_str(&after, page.entry[page.count - 1].key);
    } while (rc == IO_OK && page.more);
    io_list_deinit(&page);
    cd_buf_deinit(&after);
    return rc;
}

int log_clean(struct io *io, struct io_bucket *bucket, struct cd_str session, uint64_t seal)
{
    struct cd_buf prefix[2] = {0};
    int rc = IO_OK;
    store_key_log(&prefix[0], session);
    store_key_wake_session(&prefix[1], session);
    for (unsigned i = 0; i < CD_COUNT(prefix) && rc == IO_OK; i++) {
        uint64_t found = 1, left = 0;
        /* Until a walk finds nothing more to delete; one that cannot delete is given up. */
        while (rc == IO_OK && left == 0 && found > 0) {
            found = 0;
            rc = sweep(io, bucket, cd_buf_str(&prefix[i]), seal, &found, &left);
        }
        if (rc == IO_OK && left > 0)
            rc = IO_RESET;
    }
    cd_buf_deinit(&prefix[0]);
    cd_buf_deinit(&prefix[1]);
    return rc;
}
