/* fuzz/fuzz_records.c: every reader of a record takes or refuses any bytes, a refusal has a reason, and what
 * is taken is written in a form that is taken again. */
#include "fuzz/fuzz.h"

#include "store/wake.h"

#define GEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define AGAIN(read) CD_ASSERT((read) == 0)

static void ownership(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_owner o;
    if (store_owner_read(&o, body, why) != 0)
        return;
    store_owner_write(out, &o);
    AGAIN(store_owner_read(&o, cd_buf_str(out), why));
}

static void lease(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_lease l;
    struct store_log_record sealed = {.state = STORE_LOG_SEALED, .seal = 3};
    if (store_lease_read(&l, CD_STR("a"), body, why) != 0)
        return;
    store_lease_write(out, &l);
    AGAIN(store_lease_read(&l, CD_STR("a"), cd_buf_str(out), why));
    cd_buf_clear(out);
    if (store_lease_with_log(out, body, &sealed, why) == 0)
        AGAIN(store_lease_read(&l, CD_STR("a"), cd_buf_str(out), why));
}

static void floor_record(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_floor f;
    if (store_floor_read(&f, body, why) != 0)
        return;
    store_floor_write(out, &f);
    AGAIN(store_floor_read(&f, cd_buf_str(out), why));
    cd_buf_clear(out);
    if (store_floor_frozen(out, body, CD_STR("a/" GEN), 1, why) == 0)
        AGAIN(store_floor_read(&f, cd_buf_str(out), why));
}

static void checkpoint(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_recovered r;
    if (store_recovered_read(&r, body, why) != 0)
        return;
    store_recovered_write(out, &r);
    AGAIN(store_recovered_read(&r, cd_buf_str(out), why));
}

static void alarms(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_alarms a = {0}, again = {0};
    if (store_alarms_read(&a, CD_STR("a/" GEN), body, why) != 0)
        return;
    AGAIN(store_alarms_write(out, CD_STR("a/" GEN), a.through, a.item, a.count));
    AGAIN(store_alarms_read(&again, CD_STR("a/" GEN), cd_buf_str(out), why));
    CD_ASSERT(again.count == a.count);
    store_alarms_deinit(&again);
    store_alarms_deinit(&a);
}

static void retired(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_wake_retired r;
    if (store_wake_retired_read(&r, body, why) != 0)
        return;
    store_wake_retired_write(out, &r);
    AGAIN(store_wake_retired_read(&r, cd_buf_str(out), why));
}

static void names(struct cd_str body, struct cd_buf *why, struct cd_buf *out)
{
    struct store_wake_name n;
    struct store_pack_name p;
    cd_buf_addf(why, "no name");
    if (store_wake_entry_parse(&n, body)) {
        store_key_wake_entry(out, n.scope, n.minute * 60000, n.identity);
        CD_ASSERT(cd_str_eq(cd_buf_str(out), body));
    } else if (store_pack_name_parse(&p, body)) {
        store_key_pack(out, &p);
        CD_ASSERT(cd_str_eq(cd_buf_str(out), body));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const of[])(struct cd_str, struct cd_buf *, struct cd_buf *) = {
        ownership, lease, floor_record, checkpoint, alarms, retired, names};
    struct cd_str body = cd_str_of(data, size);
    for (size_t i = 0; i < CD_COUNT(of); i++) {
        struct cd_buf why = {0}, out = {0};
        of[i](body, &why, &out);
        CD_ASSERT(out.len > 0 || why.len > 0); /* Taken, or refused with a reason. */
        cd_buf_deinit(&why);
        cd_buf_deinit(&out);
    }
    return 0;
}
