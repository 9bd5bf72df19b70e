/* store/records.c: see records.h. */
#include "store/records.h"

#include "store/record_read.h"

static bool session_or_empty(struct cd_str s)
{
    return s.len == 0 || store_session_valid(s);
}

static void begin_v1(struct cd_json_out *o, struct cd_buf *out)
{
    cd_json_out_init(o, out);
    cd_json_out_object(o);
    store_out_number(o, "v", 1);
}

/* ---- Ownership ---- */

int store_owner_read(struct store_owner *out, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_owner o = {0};
    store_reader_begin(&r, "ownership record", body, STORE_RECORD_MAX, "v", 1, why);
    store_read_text(&r, r.root, "session", o.session, sizeof o.session, session_or_empty);
    o.epoch = store_read_u64(&r, r.root, "epoch");
    if (r.rc == 0 && o.epoch == 0)
        store_reader_fail(&r, "epoch: 0, epochs start at 1");
    int rc = store_reader_end(&r);
    if (rc == 0)
        *out = o;
    return rc;
}

void store_owner_write(struct cd_buf *out, const struct store_owner *o)
{
    struct cd_json_out j;
    CD_ASSERT(session_or_empty(cd_str(o->session)));
    CD_ASSERT(o->epoch > 0);
    begin_v1(&j, out);
    store_out_text(&j, "session", cd_str(o->session));
    store_out_number(&j, "epoch", o->epoch);
    cd_json_out_end(&j, '}');
}

int store_retired_epochs_read(uint64_t *retired_below, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    store_reader_begin(&r, "retired epochs", body, STORE_RECORD_MAX, "v", 1, why);
    uint64_t below = store_read_u64(&r, r.root, "retired_below");
    int rc = store_reader_end(&r);
    if (rc == 0)
        *retired_below = below;
    return rc;
}

void store_retired_epochs_write(struct cd_buf *out, uint64_t retired_below)
{
    struct cd_json_out j;
    begin_v1(&j, out);
    store_out_number(&j, "retired_below", retired_below);
    cd_json_out_end(&j, '}');
}

/* ---- The floor ---- */

int store_floor_read(struct store_floor *out, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_floor f = {0};
    store_reader_begin(&r, "floor", body, STORE_RECORD_MAX, "v", 1, why);
    f.floor = store_read_u64(&r, r.root, "floor");
    f.batch = store_read_u64(&r, r.root, "batch");
    const struct cd_json *alarms = store_read_nullable(&r, r.root, "alarms");
    if (alarms != NULL) {
        f.has_alarms = true;
        f.alarms_n = store_read_u64(&r, alarms, "n");
        f.alarms_through = store_read_u64(&r, alarms, "through");
        if (r.rc == 0 && f.alarms_through < f.batch)
            store_reader_fail(&r, "alarms.through: %llu, below batch %llu",
                              (unsigned long long)f.alarms_through, (unsigned long long)f.batch);
    }
    const struct cd_json *frozen = store_read_nullable(&r, r.root, "frozen");
    if (frozen != NULL) {
        store_read_text(&r, frozen, "by", f.frozen_by, sizeof f.frozen_by, store_session_valid);
        f.frozen_ms = store_read_u64(&r, frozen, "at_ms");
    }
    if (r.rc == 0 && (f.floor == 0) != (f.batch == 0))
        store_reader_fail(&r, "floor %llu with batch %llu", (unsigned long long)f.floor,
                          (unsigned long long)f.batch);
    int rc = store_reader_end(&r);
    if (rc == 0)
        *out = f;
    return rc;
}

static void frozen_write(struct cd_json_out *j, struct cd_str by, uint64_t at_ms)
{
    CD_ASSERT(store_session_valid(by));
    cd_json_out_object(j);
    store_out_text(j, "by", by);
    store_out_number(j, "at_ms", at_ms);
    cd_json_out_end(j, '}');
}

void store_floor_write(struct cd_buf *out, const struct store_floor *f)
{
    struct cd_json_out j;
    CD_ASSERT((f->floor == 0) == (f->batch == 0));
    begin_v1(&j, out);
    store_out_number(&j, "floor", f->floor);
    store_out_number(&j, "batch", f->batch);
    cd_json_out_key(&j, "alarms");
    if (f->has_alarms) {
        CD_ASSERT(f->alarms_through >= f->batch);
        cd_json_out_object(&j);
        store_out_number(&j, "n", f->alarms_n);
        store_out_number(&j, "through", f->alarms_through);
        cd_json_out_end(&j, '}');
    } else {
        cd_json_out_null(&j);
    }
    cd_json_out_key(&j, "frozen");
    if (f->frozen_by[0] != 0)
        frozen_write(&j, cd_str(f->frozen_by), f->frozen_ms);
    else
        cd_json_out_null(&j);
    cd_json_out_end(&j, '}');
}

int store_floor_frozen(struct cd_buf *out, struct cd_str body, struct cd_str by, uint64_t at_ms,
                       struct cd_buf *why)
{
    struct store_floor f;
    int rc = store_floor_read(&f, body, why);
    if (rc != 0)
        return rc;
    struct store_reader r;
    struct cd_buf mark = {0};
    struct cd_json_out j;
    store_reader_begin(&r, "floor", body, STORE_RECORD_MAX, "v", 1, why);
    CD_ASSERT(r.rc == 0);
    cd_json_out_init(&j, &mark);
    frozen_write(&j, by, at_ms);
    store_patch_object(out, r.root, &(struct store_patch){"frozen", cd_buf_str(&mark)}, 1);
    cd_buf_deinit(&mark);
    return store_reader_end(&r);
}

/* ---- Recovery checkpoints ---- */

static void recovered_item(struct store_reader *r, const struct cd_json *v, struct store_recovered_item *item)
{
    store_read_text(r, v, "cell", item->cell, sizeof item->cell, store_scope_valid);
    item->epoch = store_read_u64(r, v, "epoch");
    item->through = store_read_u64(r, v, "through");
}

int store_recovered_read(struct store_recovered *out, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_recovered *got = cd_new(struct store_recovered);
    store_reader_begin(&r, "recovery checkpoint", body, STORE_RECORD_MAX, "v", 1, why);
    const struct cd_json *cells = cd_json_get(r.root, "cells");
    if (r.rc == 0 && (cells == NULL || cd_json_kind(cells) != CD_JSON_ARRAY))
        store_reader_fail(&r, "cells: want an array");
    if (r.rc == 0 && cd_json_count(cells) > STORE_RECOVERED_MAX)
        store_reader_fail(&r, "cells: %zu items, at most %u", cd_json_count(cells), STORE_RECOVERED_MAX);
    if (r.rc == 0) {
        for (const struct cd_json *v = cd_json_next(cells, NULL, NULL); v != NULL;
             v = cd_json_next(cells, v, NULL))
            recovered_item(&r, v, &got->item[got->count++]);
    }
    int rc = store_reader_end(&r);
    if (rc == 0)
        *out = *got;
    cd_free(got);
    return rc;
}

void store_recovered_write(struct cd_buf *out, const struct store_recovered *r)
{
    struct cd_json_out j;
    CD_ASSERT(r->count <= STORE_RECOVERED_MAX);
    begin_v1(&j, out);
    cd_json_out_key(&j, "cells");
    cd_json_out_array(&j);
    for (unsigned i = 0; i < r->count; i++) {
        CD_ASSERT(store_scope_valid(cd_str(r->item[i].cell)));
        cd_json_out_object(&j);
        store_out_text(&j, "cell", cd_str(r->item[i].cell));
        store_out_number(&j, "epoch", r->item[i].epoch);
        store_out_number(&j, "through", r->item[i].through);
        cd_json_out_end(&j, '}');
    }
    cd_json_out_end(&j, ']');
    cd_json_out_end(&j, '}');
}
