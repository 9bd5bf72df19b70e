/* store/names.c: see names.h. */
#include "store/names.h"

#define NUMBER_MAX ((UINT64_C(1) << 53) - 1)

static bool in_charset(struct cd_str s, const char *more)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!plain && (c == 0 || strchr(more, c) == NULL))
            return false;
    }
    return true;
}

static bool name_valid(struct cd_str s, size_t max, const char *more)
{
    return s.len >= 1 && s.len <= max && in_charset(s, more) && !cd_str_eq(s, CD_STR(".")) &&
           !cd_str_eq(s, CD_STR(".."));
}

static bool lower_hex(struct cd_str s, size_t len)
{
    if (s.len != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!(s.ptr[i] >= '0' && s.ptr[i] <= '9') && !(s.ptr[i] >= 'a' && s.ptr[i] <= 'f'))
            return false;
    return true;
}

bool store_scope_valid(struct cd_str scope)
{
    return name_valid(scope, STORE_SCOPE_MAX, "_.:$-");
}

bool store_node_valid(struct cd_str node)
{
    return name_valid(node, STORE_NODE_MAX, "_.-");
}

bool store_generation_valid(struct cd_str generation)
{
    return lower_hex(generation, STORE_GENERATION_LEN);
}

bool store_session_split(struct cd_str session, struct cd_str *node, struct cd_str *generation)
{
    size_t slash = cd_str_find(session, '/', 0);
    if (slash == SIZE_MAX)
        return false;
    struct cd_str n = cd_str_sub(session, 0, slash), g = cd_str_sub(session, slash + 1, SIZE_MAX);
    if (!store_node_valid(n) || !store_generation_valid(g))
        return false;
    if (node != NULL)
        *node = n;
    if (generation != NULL)
        *generation = g;
    return true;
}

bool store_session_valid(struct cd_str session)
{
    return store_session_split(session, NULL, NULL);
}

int store_identity_cmp(struct store_identity a, struct store_identity b)
{
    if (a.epoch != b.epoch)
        return a.epoch < b.epoch ? -1 : 1;
    return a.seq == b.seq ? 0 : a.seq < b.seq ? -1 : 1;
}

void store_identity_text(struct cd_buf *out, struct store_identity i)
{
    cd_buf_addf(out, "%llu.%llu", (unsigned long long)i.epoch, (unsigned long long)i.seq);
}

static bool positive(struct cd_str s, uint64_t *out)
{
    return s.len > 0 && s.ptr[0] != '0' && cd_str_u64(s, out) == 0 && *out <= NUMBER_MAX;
}

bool store_identity_parse(struct store_identity *out, struct cd_str text)
{
    size_t dot = cd_str_find(text, '.', 0);
    struct store_identity i;
    if (dot == SIZE_MAX || !positive(cd_str_sub(text, 0, dot), &i.epoch) ||
        !positive(cd_str_sub(text, dot + 1, SIZE_MAX), &i.seq))
        return false;
    *out = i;
    return true;
}

uint64_t store_minute_of(uint64_t due_ms)
{
    return due_ms / 60000;
}

static void add_cell(struct cd_buf *out, const char *before, struct cd_str scope, const char *after)
{
    CD_ASSERT(store_scope_valid(scope));
    cd_buf_addf(out, "%s%.*s%s", before, (int)scope.len, scope.ptr, after);
}

static void add_session(struct cd_buf *out, const char *before, struct cd_str session, const char *after)
{
    CD_ASSERT(store_session_valid(session));
    cd_buf_addf(out, "%s%.*s%s", before, (int)session.len, session.ptr, after);
}

void store_key_owner(struct cd_buf *out, struct cd_str scope)
{
    add_cell(out, "cells/", scope, "/owner.json");
}

void store_key_retired_epochs(struct cd_buf *out, struct cd_str scope)
{
    add_cell(out, "cells/", scope, "/ltx/retired.json");
}

void store_key_lease(struct cd_buf *out, struct cd_str node)
{
    CD_ASSERT(store_node_valid(node));
    cd_buf_addf(out, STORE_PREFIX_NODES "%.*s.json", (int)node.len, node.ptr);
}

void store_key_log(struct cd_buf *out, struct cd_str session)
{
    add_session(out, "log/", session, "/");
}

void store_key_slot(struct cd_buf *out, struct cd_str session, uint64_t slot)
{
    store_key_log(out, session);
    cd_buf_addf(out, "%016llx", (unsigned long long)slot);
}

void store_key_row(struct cd_buf *out, struct cd_str session, struct cd_str id)
{
    CD_ASSERT(lower_hex(id, STORE_ID_LEN));
    add_session(out, "log/", session, "/rows/");
    cd_buf_add_str(out, id);
}

void store_key_floor(struct cd_buf *out, struct cd_str session)
{
    add_session(out, "log/", session, "/floor.json");
}

void store_key_recovered(struct cd_buf *out, struct cd_str session, struct cd_str claimant, uint64_t n)
{
    add_session(out, "log/", session, "/recovered/");
    add_session(out, "", claimant, "");
    cd_buf_addf(out, "-%llu.json", (unsigned long long)n);
}

void store_key_loss_slot(struct cd_buf *out, struct cd_str session, uint64_t slot)
{
    add_session(out, "log/", session, "/loss/slot-");
    cd_buf_addf(out, "%016llx.json", (unsigned long long)slot);
}

void store_key_wake_session(struct cd_buf *out, struct cd_str session)
{
    add_session(out, "wake/sessions/", session, "/");
}

void store_key_alarms(struct cd_buf *out, struct cd_str session, uint64_t n)
{
    store_key_wake_session(out, session);
    cd_buf_addf(out, "%llu.json", (unsigned long long)n);
}

static void add_minute(struct cd_buf *out, const char *prefix, uint64_t minute)
{
    CD_ASSERT(minute <= UINT64_C(999999999999));
    cd_buf_addf(out, "%s%012llu/", prefix, (unsigned long long)minute);
}

void store_key_wake_entry(struct cd_buf *out, struct cd_str scope, uint64_t due_ms, struct store_identity i)
{
    add_minute(out, STORE_PREFIX_WAKE_ENTRIES, store_minute_of(due_ms));
    add_cell(out, "", scope, "/");
    store_identity_text(out, i);
}

void store_key_wake_retired(struct cd_buf *out, struct cd_str scope)
{
    add_cell(out, "wake/retired/", scope, ".json");
}

void store_key_pack(struct cd_buf *out, const struct store_pack_name *n)
{
    CD_ASSERT(lower_hex(n->digest, STORE_ID_LEN));
    add_minute(out, STORE_PREFIX_WAKE_PACKS, n->minute);
    add_session(out, "", n->session, "/");
    cd_buf_add_str(out, n->digest);
    cd_buf_add_str(out, CD_STR(".json"));
}

/* Takes prefix off the front of s. */
static bool after_prefix(struct cd_str *s, struct cd_str prefix)
{
    if (!cd_str_starts(*s, prefix))
        return false;
    *s = cd_str_sub(*s, prefix.len, SIZE_MAX);
    return true;
}

static bool without_suffix(struct cd_str *s, struct cd_str suffix)
{
    if (!cd_str_ends(*s, suffix))
        return false;
    *s = cd_str_sub(*s, 0, s->len - suffix.len);
    return true;
}

/* Takes `<node>/<generation>/` off the front of s. */
static bool after_session(struct cd_str *s, struct cd_str *session)
{
    size_t first = cd_str_find(*s, '/', 0);
    size_t second = first == SIZE_MAX ? SIZE_MAX : cd_str_find(*s, '/', first + 1);
    if (second == SIZE_MAX || !store_session_valid(cd_str_sub(*s, 0, second)))
        return false;
    *session = cd_str_sub(*s, 0, second);
    *s = cd_str_sub(*s, second + 1, SIZE_MAX);
    return true;
}

static bool after_minute(struct cd_str *s, uint64_t *minute)
{
    if (s->len <= STORE_MINUTE_DIGITS || s->ptr[STORE_MINUTE_DIGITS] != '/' ||
        cd_str_u64(cd_str_sub(*s, 0, STORE_MINUTE_DIGITS), minute) != 0)
        return false;
    *s = cd_str_sub(*s, STORE_MINUTE_DIGITS + 1, SIZE_MAX);
    return true;
}

bool store_log_name_parse(struct store_log_name *out, struct cd_str key)
{
    struct store_log_name n = {0};
    if (!after_prefix(&key, CD_STR("log/")) || !after_session(&key, &n.session))
        return false;
    n.kind = STORE_LOG_OTHER;
    if (lower_hex(key, 16) && cd_str_hex_u64(key, &n.number) == 0 && n.number > 0)
        n.kind = STORE_LOG_SLOT;
    else if (cd_str_eq(key, CD_STR("floor.json")))
        n.kind = STORE_LOG_FLOOR;
    else if (cd_str_starts(key, CD_STR("rows/")))
        n.kind = STORE_LOG_ROW;
    else if (cd_str_starts(key, CD_STR("recovered/")))
        n.kind = STORE_LOG_RECOVERED;
    else if (cd_str_starts(key, CD_STR("loss/")))
        n.kind = STORE_LOG_LOSS;
    *out = n;
    return true;
}

bool store_loss_slot_parse(uint64_t *slot, struct cd_str key)
{
    struct cd_str session;
    return after_prefix(&key, CD_STR("log/")) && after_session(&key, &session) &&
           after_prefix(&key, CD_STR("loss/slot-")) && without_suffix(&key, CD_STR(".json")) &&
           lower_hex(key, 16) && cd_str_hex_u64(key, slot) == 0;
}

bool store_lease_name_parse(struct cd_str *node, struct cd_str key)
{
    if (!after_prefix(&key, CD_STR(STORE_PREFIX_NODES)) || !without_suffix(&key, CD_STR(".json")) ||
        !store_node_valid(key))
        return false;
    *node = key;
    return true;
}

bool store_wake_entry_parse(struct store_wake_name *out, struct cd_str key)
{
    struct store_wake_name n;
    if (!after_prefix(&key, CD_STR(STORE_PREFIX_WAKE_ENTRIES)) || !after_minute(&key, &n.minute))
        return false;
    size_t slash = cd_str_find(key, '/', 0);
    if (slash == SIZE_MAX)
        return false;
    n.scope = cd_str_sub(key, 0, slash);
    if (!store_scope_valid(n.scope) ||
        !store_identity_parse(&n.identity, cd_str_sub(key, slash + 1, SIZE_MAX)))
        return false;
    *out = n;
    return true;
}

bool store_pack_name_parse(struct store_pack_name *out, struct cd_str key)
{
    struct store_pack_name n;
    if (!after_prefix(&key, CD_STR(STORE_PREFIX_WAKE_PACKS)) || !after_minute(&key, &n.minute) ||
        !after_session(&key, &n.session) || !without_suffix(&key, CD_STR(".json")) ||
        !lower_hex(key, STORE_ID_LEN))
        return false;
    n.digest = key;
    *out = n;
    return true;
}
