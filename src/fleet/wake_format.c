#include "fleet/wake_format.h"

#include "store/retry.h"
#include "store/wake.h"

#define TRIES_MAX 8u /* Each loses against another starter, or hears an unclear answer. */

static const char *const PREFIXES[] = {"wake/entries/", "wake/packs/", "wake/retired/", "wake/sessions/"};

/* IO_OK with *any: whether there is wake data. */
static int look(struct io *io, struct io_bucket *b, bool *any, struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    *any = false;
    for (size_t i = 0; i < CD_COUNT(PREFIXES); i++) {
        struct io_list l = {0};
        int rc = store_retry_list(&l, io, b, cd_str(PREFIXES[i]), CD_STR(""), 1, &p);
        if (rc == IO_OK && l.count > 0 && !*any) {
            *any = true;
            cd_buf_addf(why, "there are alarms (%.*s) of a format that is not told", (int)l.entry[0].key.len,
                        l.entry[0].key.ptr);
        }
        if (rc != IO_OK)
            cd_buf_addf(why, "%s: %s", PREFIXES[i], l.why);
        io_list_deinit(&l);
        if (rc != IO_OK)
            return rc;
    }
    return IO_OK;
}

/* One read: the state, and the token it was read with; IO_NOENT. */
static int read_mark(struct io *io, struct io_bucket *b, bool *ready, char token[IO_TOKEN_MAX],
                     struct cd_buf *why)
{
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    int rc = store_retry_get(&s, io, b, CD_STR(STORE_KEY_WAKE_FORMAT), 0, IO_WHOLE, &p);
    *ready = false;
    memcpy(token, s.token, IO_TOKEN_MAX);
    if (rc == IO_OK)
        rc = store_wake_format_read(ready, cd_buf_str(&s.body), why);
    else if (rc != IO_NOENT)
        cd_buf_addf(why, "%s: %s", STORE_KEY_WAKE_FORMAT, s.why);
    cd_buf_deinit(&s.body);
    return rc == CD_ECORRUPT ? CD_EUNSUPPORTED : rc;
}

/* IO_OK whatever became of it: the next read tells. */
static int mark(struct io_bucket *b, bool ready, const char *token)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    struct cd_buf body = {0};
    if (token != NULL)
        memcpy(s.token, token, sizeof s.token);
    store_wake_format_write(&body, ready);
    io_store_put(&s, b, CD_STR(STORE_KEY_WAKE_FORMAT), cd_buf_str(&body),
                 token == NULL ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, NULL);
    int rc = io_await(&s.op, IO_FOREVER); /* Its own timeout bounds it. */
    cd_buf_deinit(&body);
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int step(struct io *io, struct io_bucket *b, bool *done, struct cd_buf *why)
{
    char token[IO_TOKEN_MAX], later[IO_TOKEN_MAX];
    bool any = false;
    int rc = read_mark(io, b, done, token, why);
    bool absent = rc == IO_NOENT;
    if ((rc != IO_OK && !absent) || *done)
        return rc;
    /* Absent, or somebody began and perhaps died. Data before `ready` means that the bucket was not empty. */
    rc = look(io, b, &any, why);
    if (rc != IO_OK)
        return rc;
    if (!any)
        return mark(b, !absent, absent ? NULL : token);
    /* Unless another starter got ready meanwhile, and has written that. */
    rc = read_mark(io, b, done, later, why);
    return *done || (rc != IO_OK && rc != IO_NOENT) ? rc : CD_EUNSUPPORTED;
}

int fleet_wake_format(struct io *io, struct io_bucket *bucket, struct cd_buf *why)
{
    for (unsigned i = 0; i < TRIES_MAX; i++) {
        bool done = false;
        cd_buf_clear(why);
        int rc = step(io, bucket, &done, why);
        if (rc != IO_OK || done)
            return rc;
    }
    cd_buf_addf(why, "%s: its writes do not come through", STORE_KEY_WAKE_FORMAT);
    return IO_TIMEDOUT;
}
