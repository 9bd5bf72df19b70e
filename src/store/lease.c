/* store/lease.c: the node lease with its log record and load (records.h). */
#include "store/record_read.h"
#include "store/records.h"

static const char *const STATES[] = {
    [STORE_LOG_OPEN] = "open", [STORE_LOG_RECOVERING] = "recovering", [STORE_LOG_SEALED] = "sealed"};

const char *store_log_state_name(enum store_log_state s)
{
    return STATES[s];
}

void store_load_init(struct store_load *l)
{
    *l = (struct store_load){
#define X(name) .name = STORE_ABSENT,
        STORE_LOAD_NUMBERS(X)
#undef X
    };
}

/* ---- The log object ---- */

static void ensemble_read(struct store_reader *r, const struct cd_json *at, struct store_log_record *log)
{
    const struct cd_json *list = cd_json_get(at, "ensemble");
    if (list == NULL || cd_json_kind(list) != CD_JSON_ARRAY || cd_json_count(list) > STORE_ENSEMBLE_MAX) {
        store_reader_fail(r, "log.ensemble: want an array of at most %u nodes", STORE_ENSEMBLE_MAX);
        return;
    }
    for (const struct cd_json *v = cd_json_next(list, NULL, NULL); v != NULL;
         v = cd_json_next(list, v, NULL)) {
        struct cd_str node;
        if (cd_json_str(v, &node) != 0 || !store_node_valid(node)) {
            store_reader_fail(r, "log.ensemble: a member is not a node id");
            return;
        }
        memcpy(log->ensemble[log->ensemble_count++], node.ptr, node.len);
    }
}

static void state_read(struct store_reader *r, const struct cd_json *at, struct store_log_record *log)
{
    struct cd_str state = store_read_str(r, at, "state");
    for (size_t i = 0; i < CD_COUNT(STATES); i++) {
        if (cd_str_eq(state, cd_str(STATES[i]))) {
            log->state = (enum store_log_state)i;
            return;
        }
    }
    store_reader_fail(r, "log.state: want open, recovering or sealed");
}

/* Of a sealed one only state, epoch and seal have to be there: the rest says nothing any more (fleet.md 7.1).
 * Of the others everything: a missing may_have_fleet_acks is not "no". */
static void log_read(struct store_reader *r, const struct cd_json *at, struct store_log_record *log)
{
    if (cd_json_kind(at) != CD_JSON_OBJECT) {
        store_reader_fail(r, "log: want an object");
        return;
    }
    state_read(r, at, log);
    log->epoch = store_read_u64(r, at, "epoch");
    bool sealed = log->state == STORE_LOG_SEALED;
    if (sealed)
        log->seal = store_read_u64(r, at, "seal");
    if (!sealed || store_read_has(at, "ensemble"))
        ensemble_read(r, at, log);
    if (!sealed || store_read_has(at, "may_have_fleet_acks"))
        log->may_have_fleet_acks = store_read_bool(r, at, "may_have_fleet_acks");
    if (!sealed || store_read_has(at, "slot"))
        log->slot = store_read_u64(r, at, "slot");
    if (log->state == STORE_LOG_RECOVERING) {
        store_read_text(r, at, "claimant", log->claimant, sizeof log->claimant, store_session_valid);
        log->claimed_ms = store_read_u64(r, at, "claimed_ms");
    }
}

static void log_check(const struct store_log_record *log)
{
    CD_ASSERT(log->ensemble_count <= STORE_ENSEMBLE_MAX);
    CD_ASSERT((log->state == STORE_LOG_RECOVERING) == (log->claimant[0] != 0));
    CD_ASSERT(log->state == STORE_LOG_SEALED || log->seal == 0);
    CD_ASSERT(log->claimant[0] == 0 || store_session_valid(cd_str(log->claimant)));
}

enum { LOG_FIELDS = 8 };

/* The members of a log object as JSON texts, one behind another in text. */
static void log_fields(const struct store_log_record *log, struct cd_buf *text,
                       struct store_patch field[LOG_FIELDS])
{
    static const char *const key[LOG_FIELDS] = {"state", "epoch",    "ensemble",   "may_have_fleet_acks",
                                                "slot",  "claimant", "claimed_ms", "seal"};
    size_t end[LOG_FIELDS];
    log_check(log);
    CD_ASSERT(log->epoch <= STORE_NUMBER_MAX && log->slot <= STORE_NUMBER_MAX);
    CD_ASSERT(log->claimed_ms <= STORE_NUMBER_MAX && log->seal <= STORE_NUMBER_MAX);
    for (unsigned i = 0; i < LOG_FIELDS; i++) {
        struct cd_json_out j;
        cd_json_out_init(&j, text);
        switch (i) {
        case 0: cd_json_out_str(&j, cd_str(store_log_state_name(log->state))); break;
        case 1: cd_json_out_u64(&j, log->epoch); break;
        case 2:
            cd_json_out_array(&j);
            for (unsigned m = 0; m < log->ensemble_count; m++)
                cd_json_out_str(&j, cd_str(log->ensemble[m]));
            cd_json_out_end(&j, ']');
            break;
        case 3: cd_json_out_bool(&j, log->may_have_fleet_acks); break;
        case 4: cd_json_out_u64(&j, log->slot); break;
        case 5: log->claimant[0] ? cd_json_out_str(&j, cd_str(log->claimant)) : cd_json_out_null(&j); break;
        case 6: log->claimant[0] ? cd_json_out_u64(&j, log->claimed_ms) : cd_json_out_null(&j); break;
        case 7: log->state == STORE_LOG_SEALED ? cd_json_out_u64(&j, log->seal) : cd_json_out_null(&j); break;
        }
        end[i] = text->len;
    }
    for (unsigned i = 0; i < LOG_FIELDS; i++) {
        size_t from = i == 0 ? 0 : end[i - 1];
        field[i] = (struct store_patch){key[i], cd_str_sub(cd_buf_str(text), from, end[i] - from)};
    }
}

/* old: the log object that was there, or NULL. */
static void log_write(struct cd_buf *out, const struct cd_json *old, const struct store_log_record *log)
{
    struct store_patch field[LOG_FIELDS];
    struct cd_buf text = {0};
    log_fields(log, &text, field);
    store_patch_object(out, old, field, LOG_FIELDS);
    cd_buf_deinit(&text);
}

/* ---- Load ---- */

/* Advisory: what is not understood counts as absent. */
static void load_read(const struct cd_json *at, struct store_load *l)
{
    store_load_init(l);
#define X(name)                                                                                              \
    if (cd_json_u64(cd_json_get(at, #name), &l->name) != 0)                                                  \
        l->name = STORE_ABSENT;
    STORE_LOAD_NUMBERS(X)
#undef X
#define X(name)                                                                                              \
    if (cd_json_bool(cd_json_get(at, #name), &l->name) != 0)                                                 \
        l->name = false;
    STORE_LOAD_FLAGS(X)
#undef X
}

static void load_number(struct cd_json_out *j, const char *key, uint64_t v)
{
    if (v != STORE_ABSENT)
        store_out_number(j, key, v);
}

void store_load_write(struct cd_json_out *j, const struct store_load *l)
{
    cd_json_out_object(j);
#define X(name) load_number(j, #name, l->name);
    STORE_LOAD_NUMBERS(X)
#undef X
#define X(name)                                                                                              \
    cd_json_out_key(j, #name);                                                                               \
    cd_json_out_bool(j, l->name);
    STORE_LOAD_FLAGS(X)
#undef X
    cd_json_out_end(j, '}');
}

/* ---- The lease ---- */

int store_lease_read(struct store_lease *out, struct cd_str node, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    struct store_lease *l = cd_new(struct store_lease);
    store_reader_begin(&r, "node lease", body, STORE_RECORD_MAX, "v", 1, why);
    store_read_text(&r, r.root, "node", l->node, sizeof l->node, store_node_valid);
    if (r.rc == 0 && !cd_str_eq(cd_str(l->node), node))
        store_reader_fail(&r, "node: %s in the record of %.*s", l->node, (int)node.len, node.ptr);
    store_read_text(&r, r.root, "generation", l->generation, sizeof l->generation, store_generation_valid);
    l->seq = store_read_u64(&r, r.root, "seq");
    l->expires_ms = store_read_u64(&r, r.root, "expires_ms");
    l->ttl_ms = store_read_u64(&r, r.root, "ttl_ms");
    store_read_text(&r, r.root, "addr", l->addr, sizeof l->addr, NULL);
    l->peer_protocol = store_read_u64(&r, r.root, "peer_protocol");
    store_read_text(&r, r.root, "probe_key", l->probe_key, sizeof l->probe_key, store_generation_valid);
    l->paced_handoff = store_read_bool(&r, r.root, "paced_handoff");
    l->ephemeral = store_read_bool(&r, r.root, "ephemeral");
    const struct cd_json *log = cd_json_get(r.root, "log");
    if (r.rc == 0 && log != NULL) {
        l->has_log = true;
        log_read(&r, log, &l->log);
    }
    if (r.rc == 0)
        load_read(cd_json_get(r.root, "load"), &l->load);
    int rc = store_reader_end(&r);
    if (rc == 0)
        *out = *l;
    cd_free(l);
    return rc;
}

static void flag(struct cd_json_out *j, const char *key, bool value)
{
    cd_json_out_key(j, key);
    cd_json_out_bool(j, value);
}

void store_lease_write(struct cd_buf *out, const struct store_lease *l)
{
    struct cd_json_out j;
    CD_ASSERT(store_node_valid(cd_str(l->node)));
    CD_ASSERT(store_generation_valid(cd_str(l->generation)));
    CD_ASSERT(store_generation_valid(cd_str(l->probe_key)));
    cd_json_out_init(&j, out);
    cd_json_out_object(&j);
    store_out_number(&j, "v", 1);
    store_out_text(&j, "node", cd_str(l->node));
    store_out_text(&j, "generation", cd_str(l->generation));
    store_out_number(&j, "seq", l->seq);
    store_out_number(&j, "expires_ms", l->expires_ms);
    store_out_number(&j, "ttl_ms", l->ttl_ms);
    store_out_text(&j, "addr", cd_str(l->addr));
    store_out_number(&j, "peer_protocol", l->peer_protocol);
    store_out_text(&j, "probe_key", cd_str(l->probe_key));
    flag(&j, "paced_handoff", l->paced_handoff);
    flag(&j, "ephemeral", l->ephemeral);
    if (l->has_log) {
        struct cd_buf log = {0};
        log_write(&log, NULL, &l->log);
        cd_json_out_key(&j, "log");
        cd_json_out_raw(&j, cd_buf_str(&log));
        cd_buf_deinit(&log);
    }
    cd_json_out_key(&j, "load");
    store_load_write(&j, &l->load);
    cd_json_out_end(&j, '}');
}

void store_lease_session(struct cd_buf *out, const struct store_lease *l)
{
    cd_buf_addf(out, "%s/%s", l->node, l->generation);
}

int store_lease_with_log(struct cd_buf *out, struct cd_str body, const struct store_log_record *log,
                         struct cd_buf *why)
{
    struct store_reader r;
    store_reader_begin(&r, "node lease", body, STORE_RECORD_MAX, "v", 1, why);
    const struct cd_json *old = cd_json_get(r.root, "log");
    if (r.rc == 0 && old != NULL && cd_json_kind(old) != CD_JSON_OBJECT)
        store_reader_fail(&r, "log: want an object");
    if (r.rc == 0) {
        struct cd_buf json = {0};
        log_write(&json, old, log);
        store_patch_object(out, r.root, &(struct store_patch){"log", cd_buf_str(&json)}, 1);
        cd_buf_deinit(&json);
    }
    return store_reader_end(&r);
}

int store_lease_expired(struct cd_buf *out, struct cd_str body, struct cd_buf *why)
{
    struct store_reader r;
    store_reader_begin(&r, "node lease", body, STORE_RECORD_MAX, "v", 1, why);
    if (r.rc == 0)
        store_patch_object(out, r.root, &(struct store_patch){"expires_ms", CD_STR("0")}, 1);
    return store_reader_end(&r);
}
