/* sim/scn_steps.c: reading the steps of a scenario: when something happens, and what. */
#include "sim/quantity.h"
#include "sim/scn_read.h"

/* ---- Who ---- */

static int want_who(struct scn_reader *r, const char *what, struct scn_who *who)
{
    struct cd_str word;
    uint64_t index;
    int rc = scn_want_word(r, what, &word);
    if (rc != 0)
        return rc;
    if (cd_str_eq(word, CD_STR("store"))) {
        *who = (struct scn_who){.kind = SCN_THE_STORE};
        return 0;
    }
    if (cd_str_eq(word, CD_STR("all"))) {
        *who = (struct scn_who){.kind = SCN_ALL_NODES};
        return 0;
    }
    if (cd_str_eq(word, CD_STR("clients"))) {
        *who = (struct scn_who){.kind = SCN_ALL_CLIENTS};
        return 0;
    }
    bool node = word.ptr[0] == 'n';
    unsigned most = node ? SCN_NODES_MAX : SCN_CLIENTS_MAX;
    if ((node || word.ptr[0] == 'c') && cd_str_u64(cd_str_sub(word, 1, SIZE_MAX), &index) == 0 &&
        index >= 1 && index <= most) {
        *who = (struct scn_who){.kind = node ? SCN_ONE_NODE : SCN_ONE_CLIENT, .index = (unsigned)index};
        return 0;
    }
    return scn_error(r, word, "'%.*s': want %s", (int)word.len, word.ptr, what);
}

static int want_node(struct scn_reader *r, struct scn_who *who)
{
    struct scn_reader before = *r;
    int rc = want_who(r, "a node like n1", who);
    if (rc == 0 && who->kind != SCN_ONE_NODE) {
        struct cd_str word;
        r->rest = before.rest;
        bool there = scn_word(r, &word);
        CD_ASSERT(there);
        rc = scn_error(r, word, "'%.*s': want a node like n1", (int)word.len, word.ptr);
    }
    return rc;
}

static bool same_who(struct scn_who a, struct scn_who b)
{
    return a.kind == b.kind && a.index == b.index;
}

static int want_link(struct scn_reader *r, struct scn_step *p, bool direction)
{
    struct cd_str arrow;
    int rc = want_who(r, "n1, c1, store, all or clients", &p->a);
    if (rc == 0)
        rc = scn_want_word(r, direction ? "-> or <->" : "<->", &arrow);
    if (rc != 0)
        return rc;
    p->both_ways = cd_str_eq(arrow, CD_STR("<->"));
    if (!p->both_ways && !(direction && cd_str_eq(arrow, CD_STR("->"))))
        return scn_error(r, arrow, "unknown word '%.*s', want %s", (int)arrow.len, arrow.ptr,
                         direction ? "-> or <->" : "<->");
    rc = want_who(r, "n1, c1, store, all or clients", &p->b);
    if (rc == 0 && same_who(p->a, p->b) && p->a.kind != SCN_ALL_NODES)
        rc = scn_error(r, arrow, "both ends of the link are the same");
    return rc;
}

static bool more(struct scn_reader *r)
{
    struct cd_str rest = r->rest, word;
    bool there = scn_word(r, &word);
    r->rest = rest;
    return there;
}

static int want_positive_time(struct scn_reader *r, uint64_t *ns)
{
    struct cd_str rest = r->rest, word;
    int rc = scn_want_time(r, "how long", ns);
    if (rc == 0 && *ns == 0) {
        r->rest = rest;
        rc = scn_want_word(r, "how long", &word);
        if (rc == 0)
            rc = scn_error(r, word, "want a time above 0");
    }
    return rc;
}

/* ---- Actions ---- */

static int read_cut(struct scn_reader *r, struct scn_step *p)
{
    int rc = want_link(r, p, true);
    return rc == 0 && more(r) ? want_positive_time(r, &p->for_ns) : rc;
}

static int read_clog(struct scn_reader *r, struct scn_step *p)
{
    int rc = want_link(r, p, true);
    return rc != 0 ? rc : want_positive_time(r, &p->for_ns);
}

static int read_reset(struct scn_reader *r, struct scn_step *p)
{
    return want_link(r, p, false);
}

static int read_node_time(struct scn_reader *r, struct scn_step *p)
{
    int rc = want_node(r, &p->a);
    return rc != 0 ? rc : want_positive_time(r, &p->for_ns);
}

static int read_node(struct scn_reader *r, struct scn_step *p)
{
    return want_node(r, &p->a);
}

static int read_crash(struct scn_reader *r, struct scn_step *p)
{
    int rc = want_node(r, &p->a);
    if (rc == 0 && scn_peek_is(r, "kill")) {
        p->kill = true;
        rc = scn_want_literal(r, "kill");
    }
    if (rc != 0 || !more(r))
        return rc;
    rc = scn_want_literal(r, "at-call");
    return rc != 0 ? rc : scn_want_nth(r, "a call like file.sync+2", p->name, &p->nth);
}

static int read_restart(struct scn_reader *r, struct scn_step *p)
{
    int rc = want_node(r, &p->a);
    if (rc != 0 || !more(r))
        return rc;
    p->wipe = true;
    return scn_want_literal(r, "wipe");
}

static int read_skew(struct scn_reader *r, struct scn_step *p)
{
    struct cd_str word;
    uint64_t by = 0;
    int rc = want_node(r, &p->a);
    if (rc == 0)
        rc = scn_want_word(r, "+TIME or -TIME", &word);
    if (rc != 0)
        return rc;
    if ((word.ptr[0] != '+' && word.ptr[0] != '-') ||
        quantity_duration(cd_str_sub(word, 1, SIZE_MAX), &by) != 0 || by > INT64_MAX)
        return scn_error(r, word, "'%.*s': want +TIME or -TIME", (int)word.len, word.ptr);
    p->step_ns = word.ptr[0] == '-' ? -(int64_t)by : (int64_t)by;
    if (!more(r))
        return 0;
    rc = scn_want_literal(r, "drift");
    if (rc == 0)
        rc = scn_want_word(r, "a drift like 200ppm", &word);
    if (rc != 0)
        return rc;
    bool slow = word.ptr[0] == '-';
    uint64_t ppm;
    if (quantity_ratio(cd_str_sub(word, slow ? 1 : 0, SIZE_MAX), &ppm) != 0 || ppm >= QUANTITY_PPM)
        return scn_error(r, word, "'%.*s': want a drift like 200ppm or -200ppm", (int)word.len, word.ptr);
    p->drift_ppm = slow ? -(int32_t)ppm : (int32_t)ppm;
    return 0;
}

static int read_disk(struct scn_reader *r, struct scn_step *p)
{
    char word[SCN_NAME_MAX];
    int rc = want_node(r, &p->a);
    struct scn_reader before = *r;
    if (rc == 0)
        rc = scn_want_nth(r, "full, slow, torn, lost, sync-fails or ok", word, &p->nth);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < SCN_DISK_COUNT; i++) {
        if (strcmp(word, scn_disk_text(i)) == 0) {
            p->disk = i;
            if (i == SCN_DISK_SYNC_FAILS || p->nth == 1)
                return 0;
        }
    }
    struct cd_str at;
    r->rest = before.rest;
    rc = scn_want_word(r, "a state", &at);
    return rc != 0 ? rc
                   : scn_error(r, at, "unknown word '%.*s', want full, slow, torn, lost, sync-fails+K or ok",
                               (int)at.len, at.ptr);
}

static int read_memory(struct scn_reader *r, struct scn_step *p)
{
    struct cd_str word;
    int rc = want_node(r, &p->a);
    if (rc == 0)
        rc = scn_want_word(r, "cells, other or ok", &word);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < SCN_MEMORY_COUNT; i++) {
        if (cd_str_eq(word, cd_str(scn_memory_text(i)))) {
            p->memory = i;
            return 0;
        }
    }
    return scn_error(r, word, "unknown word '%.*s', want what fills its memory: cells, other or ok",
                     (int)word.len, word.ptr);
}

static int read_heal(struct scn_reader *r, struct scn_step *p)
{
    (void)r;
    (void)p;
    return 0;
}

static bool is_store_call(struct cd_str word)
{
    static const char *const calls[] = {"get", "head", "put", "delete", "list"};
    for (size_t i = 0; i < CD_COUNT(calls); i++) {
        if (cd_str_eq(word, cd_str(calls[i])))
            return true;
    }
    return false;
}

static int read_effect(struct scn_reader *r, struct scn_step *p, struct cd_str word)
{
    unsigned i = 0;
    while (i < SCN_STORE_EFFECT_COUNT && !cd_str_eq(word, cd_str(scn_store_effect_text(i))))
        i++;
    if (i == SCN_STORE_EFFECT_COUNT)
        return scn_error(r, word,
                         "unknown word '%.*s', want what the store does, like hold-answer or throttle",
                         (int)word.len, word.ptr);
    p->effect = i;
    int rc = 0;
    if (i == SCN_STORE_THROTTLE || i == SCN_STORE_FAIL)
        rc = scn_want_ratio(r, &p->ppm);
    bool wants_time = i == SCN_STORE_HOLD_ANSWER || i == SCN_STORE_SLOW || i == SCN_STORE_DOWN;
    if (rc == 0 && (wants_time || more(r)))
        rc = want_positive_time(r, &p->for_ns);
    return rc;
}

static int read_store(struct scn_reader *r, struct scn_step *p)
{
    struct cd_str word;
    int rc = want_who(r, "for whom: n1 or all", &p->a);
    if (rc == 0)
        rc = scn_want_word(r, "an operation, or what the store does", &word);
    if (rc == 0 && is_store_call(word)) {
        rc = scn_take_name(r, word, p->name);
        if (rc == 0)
            rc = scn_want_name(r, "a key, or its start with *", p->pattern);
        if (rc == 0)
            rc = scn_want_word(r, "what the store does", &word);
    }
    return rc != 0 ? rc : read_effect(r, p, word);
}

static int read_late(struct scn_reader *r, struct scn_step *p)
{
    int rc = scn_want_literal(r, "put");
    if (rc == 0)
        rc = scn_want_name(r, "a key, or its start with *", p->pattern);
    return rc != 0 ? rc : want_positive_time(r, &p->for_ns);
}

static int (*const readers[])(struct scn_reader *r, struct scn_step *p) = {
    [SCN_CUT] = read_cut,          [SCN_CLOG] = read_clog,        [SCN_SWIZZLE] = read_node_time,
    [SCN_RESET] = read_reset,      [SCN_PAUSE] = read_node_time,  [SCN_CRASH] = read_crash,
    [SCN_RESTART] = read_restart,  [SCN_JOIN] = read_node,        [SCN_DRAIN] = read_node,
    [SCN_SKEW] = read_skew,        [SCN_DISK_IS] = read_disk,     [SCN_HEAL] = read_heal,
    [SCN_MEMORY_IS] = read_memory, [SCN_STORE_DOES] = read_store, [SCN_LATE_PUT] = read_late,
};
CD_STATIC_ASSERT(CD_COUNT(readers) == SCN_ACTION_COUNT, "every action is read");

static int read_trigger(struct scn_reader *r, struct scn_step *p, struct cd_str at)
{
    if (cd_str_eq(at, CD_STR("at"))) {
        p->trigger = SCN_AT;
        return scn_want_time(r, "a time", &p->at_ns);
    }
    struct cd_str word;
    int rc = scn_want_word(r, "mark or event", &word);
    if (rc != 0)
        return rc;
    if (cd_str_eq(word, CD_STR("mark")))
        p->trigger = SCN_WHEN_MARK;
    else if (cd_str_eq(word, CD_STR("event")))
        p->trigger = SCN_WHEN_EVENT;
    else
        return scn_error(r, word, "unknown word '%.*s', want mark or event", (int)word.len, word.ptr);
    return scn_want_nth(r, "its name", p->when, &p->when_nth);
}

int scn_read_step(struct scn_reader *r, struct cd_str at)
{
    struct scn_step p = {.line = r->line};
    struct cd_str word;
    if (r->scn->steps == SCN_STEPS_MAX)
        return scn_error(r, at, "more than %d steps", SCN_STEPS_MAX);
    int rc = read_trigger(r, &p, at);
    if (rc == 0)
        rc = scn_want_word(r, "what happens", &word);
    if (rc != 0)
        return rc;
    for (unsigned i = 0; i < SCN_ACTION_COUNT; i++) {
        if (!cd_str_eq(word, cd_str(scn_action_text(i))))
            continue;
        p.action = i;
        rc = readers[i](r, &p);
        if (rc == 0)
            scn_add_step(r->scn, &p);
        return rc;
    }
    return scn_error(r, word, "unknown word '%.*s', want what happens, like cut, crash or heal",
                     (int)word.len, word.ptr);
}
