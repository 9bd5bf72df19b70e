/* store/wake.c: see wake.h. */
#include "store/wake.h"

#include <stdlib.h>

#include <openssl/evp.h>

#include "base/encode.h"
#include "store/record_read.h"

int store_alarm_cmp_cell(const struct store_alarm *a, const struct store_alarm *b)
{
    return cd_str_cmp(a->cell, b->cell);
}

int store_alarm_cmp_due(const struct store_alarm *a, const struct store_alarm *b)
{
    if (a->due_ms != b->due_ms)
        return a->due_ms < b->due_ms ? -1 : 1;
    return cd_str_cmp(a->cell, b->cell);
}

static int qsort_cell(const void *a, const void *b)
{
    return store_alarm_cmp_cell(a, b);
}

static int qsort_due(const void *a, const void *b)
{
    return store_alarm_cmp_due(a, b);
}

void store_alarms_sort(struct store_alarm *items, size_t count,
                       int (*cmp)(const struct store_alarm *a, const struct store_alarm *b))
{
    CD_ASSERT(cmp == store_alarm_cmp_cell || cmp == store_alarm_cmp_due);
    if (count > 1)
        qsort(items, count, sizeof *items, cmp == store_alarm_cmp_cell ? qsort_cell : qsort_due);
}

void store_alarms_deinit(struct store_alarms *a)
{
    cd_free(a->item);
    cd_json_free(a->doc);
    *a = (struct store_alarms){0};
}

/* ["<cell>",E,S,due_ms] */
static void item_read(struct store_reader *r, const struct cd_json *v, struct store_alarm *a)
{
    const struct cd_json *part[4] = {0};
    if (cd_json_kind(v) == CD_JSON_ARRAY && cd_json_count(v) == 4) {
        part[0] = cd_json_next(v, NULL, NULL);
        for (size_t i = 1; i < 4; i++)
            part[i] = cd_json_next(v, part[i - 1], NULL);
    }
    if (cd_json_str(part[0], &a->cell) != 0 || !store_scope_valid(a->cell) ||
        cd_json_u64(part[1], &a->identity.epoch) != 0 || a->identity.epoch == 0 ||
        cd_json_u64(part[2], &a->identity.seq) != 0 || a->identity.seq == 0 ||
        cd_json_u64(part[3], &a->due_ms) != 0)
        store_reader_fail(r, "alarms: an item is not [cell, epoch, sequence, due]");
}

/* The members that checkpoint and pack share. */
static void list_read(struct store_reader *r, struct store_alarms *a,
                      int (*cmp)(const struct store_alarm *, const struct store_alarm *))
{
    store_read_text(r, r->root, "session", a->session, sizeof a->session, store_session_valid);
    const struct cd_json *list = cd_json_get(r->root, "alarms");
    if (r->rc == 0 && (list == NULL || cd_json_kind(list) != CD_JSON_ARRAY))
        store_reader_fail(r, "alarms: want an array");
    if (r->rc != 0 || cd_json_count(list) == 0)
        return;
    a->item = cd_alloc(cd_json_count(list) * sizeof *a->item);
    for (const struct cd_json *v = cd_json_next(list, NULL, NULL); v != NULL && r->rc == 0;
         v = cd_json_next(list, v, NULL)) {
        item_read(r, v, &a->item[a->count]);
        if (r->rc == 0 && a->count > 0 && cmp(&a->item[a->count - 1], &a->item[a->count]) >= 0)
            store_reader_fail(r, "alarms: item %zu is not behind the one before it", a->count);
        a->count++;
    }
}

/* Ends reading into out, which keeps the document that its items borrow from. */
static int list_end(struct store_reader *r, struct store_alarms *got, struct store_alarms *out)
{
    if (r->rc == 0) {
        got->doc = r->doc;
        r->doc = NULL;
        *out = *got;
    } else {
        store_alarms_deinit(got);
    }
    return store_reader_end(r);
}

int store_alarms_read(struct store_alarms *out, struct cd_str session, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_alarms a = {0};
    store_reader_begin(&r, "alarm checkpoint", body, STORE_ALARMS_MAX, "format", STORE_WAKE_FORMAT, why);
    a.through = store_read_u64(&r, r.root, "through");
    list_read(&r, &a, store_alarm_cmp_cell);
    if (r.rc == 0 && !cd_str_eq(cd_str(a.session), session))
        store_reader_fail(&r, "session: %s, in an object of %.*s", a.session, (int)session.len, session.ptr);
    return list_end(&r, &a, out);
}

static void number(struct cd_json_out *j, uint64_t v)
{
    CD_ASSERT(v <= STORE_NUMBER_MAX);
    cd_json_out_u64(j, v);
}

static void list_write(struct cd_json_out *j, const struct store_alarm *items, size_t count,
                       int (*cmp)(const struct store_alarm *, const struct store_alarm *))
{
    cd_json_out_key(j, "alarms");
    cd_json_out_array(j);
    for (size_t i = 0; i < count; i++) {
        CD_ASSERT(store_scope_valid(items[i].cell));
        CD_ASSERT(i == 0 || cmp(&items[i - 1], &items[i]) < 0);
        cd_json_out_array(j);
        cd_json_out_str(j, items[i].cell);
        number(j, items[i].identity.epoch);
        number(j, items[i].identity.seq);
        number(j, items[i].due_ms);
        cd_json_out_end(j, ']');
    }
    cd_json_out_end(j, ']');
}

static void begin(struct cd_json_out *j, struct cd_buf *out)
{
    cd_json_out_init(j, out);
    cd_json_out_object(j);
    store_out_number(j, "format", STORE_WAKE_FORMAT);
}

static void session_write(struct cd_json_out *j, struct cd_str session)
{
    CD_ASSERT(store_session_valid(session));
    store_out_text(j, "session", session);
}

int store_alarms_write(struct cd_buf *out, struct cd_str session, uint64_t through,
                       const struct store_alarm *items, size_t count)
{
    struct cd_json_out j;
    size_t before = out->len;
    begin(&j, out);
    session_write(&j, session);
    store_out_number(&j, "through", through);
    list_write(&j, items, count, store_alarm_cmp_cell);
    cd_json_out_end(&j, '}');
    if (out->len - before <= STORE_ALARMS_MAX)
        return 0;
    out->len = before;
    return CD_ETOOBIG;
}

/* The first 16 bytes of the SHA-256 of a pack's body, as hex. */
static void pack_digest(struct cd_str body, char out[STORE_ID_LEN + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    struct cd_buf hex = {0};
    int ok = EVP_Digest(body.ptr, body.len, digest, &len, EVP_sha256(), NULL);
    CD_ASSERT(ok == 1 && len == 32);
    cd_hex_encode(&hex, cd_str_of(digest, STORE_ID_LEN / 2));
    memcpy(out, cd_buf_cstr(&hex), STORE_ID_LEN + 1);
    cd_buf_deinit(&hex);
}

void store_pack_write(struct cd_buf *body, struct cd_buf *key, struct cd_str session,
                      const struct store_alarm *items, size_t count)
{
    struct cd_json_out j;
    size_t before = body->len;
    char digest[STORE_ID_LEN + 1];
    CD_ASSERT(count >= 1 && count <= STORE_PACK_ITEMS_MAX);
    begin(&j, body);
    session_write(&j, session);
    list_write(&j, items, count, store_alarm_cmp_due);
    cd_json_out_end(&j, '}');
    pack_digest(cd_str_sub(cd_buf_str(body), before, SIZE_MAX), digest);
    store_key_pack(key, &(struct store_pack_name){store_minute_of(items[0].due_ms), session, cd_str(digest)});
}

int store_pack_read(struct store_alarms *out, struct cd_str key, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_alarms a = {0};
    struct store_pack_name name = {0};
    char digest[STORE_ID_LEN + 1];
    store_reader_begin(&r, "wake pack", body, STORE_RECORD_MAX * 4, "format", STORE_WAKE_FORMAT, why);
    if (!store_pack_name_parse(&name, key))
        store_reader_fail(&r, "%.*s is not the name of a pack", (int)key.len, key.ptr);
    list_read(&r, &a, store_alarm_cmp_due);
    if (r.rc == 0) {
        pack_digest(body, digest);
        if (!cd_str_eq(name.digest, cd_str(digest)))
            store_reader_fail(&r, "the digest of the body is %s", digest);
        else if (a.count < 1 || a.count > STORE_PACK_ITEMS_MAX)
            store_reader_fail(&r, "%zu items, want 1 to %u", a.count, STORE_PACK_ITEMS_MAX);
        else if (!cd_str_eq(name.session, cd_str(a.session)))
            store_reader_fail(&r, "session: %s, in an object of %.*s", a.session, (int)name.session.len,
                              name.session.ptr);
        else if (name.minute != store_minute_of(a.item[0].due_ms))
            store_reader_fail(&r, "the first alarm is due in minute %llu",
                              (unsigned long long)store_minute_of(a.item[0].due_ms));
    }
    return list_end(&r, &a, out);
}

static void identity_write(struct cd_json_out *j, struct store_identity i)
{
    struct cd_buf text = {0};
    store_identity_text(&text, i);
    store_out_text(j, "identity", cd_buf_str(&text));
    cd_buf_deinit(&text);
}

void store_wake_entry_write(struct cd_buf *out, const struct store_alarm *a)
{
    struct cd_json_out j;
    begin(&j, out);
    store_out_text(&j, "cell", a->cell);
    store_out_number(&j, "due_ms", a->due_ms);
    identity_write(&j, a->identity);
    cd_json_out_end(&j, '}');
}

int store_wake_retired_read(struct store_wake_retired *out, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_wake_retired got = {0};
    store_reader_begin(&r, "wake retirement", body, STORE_RECORD_MAX, "format", STORE_WAKE_FORMAT, why);
    struct cd_str identity = store_read_str(&r, r.root, "identity");
    if (r.rc == 0 && !store_identity_parse(&got.identity, identity))
        store_reader_fail(&r, "identity: want <epoch>.<sequence>");
    const struct cd_json *at = cd_json_get(r.root, "at_ms");
    if (at == NULL || cd_json_kind(at) != CD_JSON_NULL) {
        got.armed = true;
        got.at_ms = store_read_u64(&r, r.root, "at_ms");
    }
    int rc = store_reader_end(&r);
    if (rc == 0)
        *out = got;
    return rc;
}

void store_wake_retired_write(struct cd_buf *out, const struct store_wake_retired *r)
{
    struct cd_json_out j;
    begin(&j, out);
    identity_write(&j, r->identity);
    cd_json_out_key(&j, "at_ms");
    if (r->armed)
        number(&j, r->at_ms);
    else
        cd_json_out_null(&j);
    cd_json_out_end(&j, '}');
}

bool store_wake_settled(const struct store_wake_retired *r, struct store_identity i)
{
    int order = store_identity_cmp(i, r->identity);
    return order < 0 || (order == 0 && !r->armed);
}

int store_wake_format_read(bool *ready, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    store_reader_begin(&r, "wake format", body, STORE_RECORD_MAX, "format", STORE_WAKE_FORMAT, why);
    struct cd_str state = store_read_str(&r, r.root, "state");
    bool is_ready = cd_str_eq(state, CD_STR("ready"));
    if (!is_ready && !cd_str_eq(state, CD_STR("initializing")))
        store_reader_fail(&r, "state: want initializing or ready");
    int rc = store_reader_end(&r);
    if (rc == 0)
        *ready = is_ready;
    return rc;
}

void store_wake_format_write(struct cd_buf *out, bool ready)
{
    struct cd_json_out j;
    begin(&j, out);
    store_out_text(&j, "state", ready ? CD_STR("ready") : CD_STR("initializing"));
    cd_json_out_end(&j, '}');
}

void store_waker_read(struct store_waker *out, struct cd_str body)
{
    struct store_reader r;
    struct store_waker w = {0};
    store_reader_begin(&r, "waker", body, STORE_RECORD_MAX, "v", 1, NULL);
    store_read_text(&r, r.root, "node", w.node, sizeof w.node, store_node_valid);
    w.expires_ms = store_read_u64(&r, r.root, "expires_ms");
    if (store_reader_end(&r) != 0)
        w = (struct store_waker){0};
    *out = w;
}

void store_waker_write(struct cd_buf *out, const struct store_waker *w)
{
    struct cd_json_out j;
    CD_ASSERT(store_node_valid(cd_str(w->node)));
    cd_json_out_init(&j, out);
    cd_json_out_object(&j);
    store_out_number(&j, "v", 1);
    store_out_text(&j, "node", cd_str(w->node));
    store_out_number(&j, "expires_ms", w->expires_ms);
    cd_json_out_end(&j, '}');
}
