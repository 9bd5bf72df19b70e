/* store/wake.h: the JSON objects of alarms: checkpoints, packs, entries, retirements, format and waker
 * (fleet.md 2.8, 8.3, 8.4).
 *
 * Pure. Errors as in records.h. */
#ifndef STORE_WAKE_H
#define STORE_WAKE_H

#include "store/records.h"

#define STORE_WAKE_FORMAT 2
#define STORE_ALARMS_MAX (64u << 20) /* Bytes of an alarm checkpoint. */
#define STORE_PACK_ITEMS_MAX 1000

/* One armed alarm. */
struct store_alarm {
    struct cd_str cell;
    struct store_identity identity;
    uint64_t due_ms;
};
int store_alarm_cmp_cell(const struct store_alarm *a, const struct store_alarm *b); /* By cell. */
int store_alarm_cmp_due(const struct store_alarm *a, const struct store_alarm *b); /* By (due_ms, cell). */
/* Sorts in place by one of these. */
void store_alarms_sort(struct store_alarm *items, size_t count,
                       int (*cmp)(const struct store_alarm *a, const struct store_alarm *b));

/* What an alarm checkpoint or a pack holds. Items borrow from it. A zeroed one is empty. */
struct store_alarms {
    char session[STORE_SESSION_MAX + 1];
    uint64_t through; /* Of a checkpoint. */
    struct store_alarm *item; /* owned */
    size_t count;
    struct cd_json_doc *doc; /* owned */
};
void store_alarms_deinit(struct store_alarms *a);
/* wake/sessions/<session>/<n>.json. On success what out held is overwritten, not freed. */
CD_MUST_USE int store_alarms_read(struct store_alarms *out, struct cd_str session, struct cd_str body,
                                  struct cd_buf *why);
/* items ascend by cell, each cell once. CD_ETOOBIG when it would pass STORE_ALARMS_MAX; out is then as it
 * was. */
CD_MUST_USE int store_alarms_write(struct cd_buf *out, struct cd_str session, uint64_t through,
                                   const struct store_alarm *items, size_t count);

/* A pack: 1..STORE_PACK_ITEMS_MAX items, ascending by (due_ms, cell). Appends its body, and its key, which is
 * made of the body. */
void store_pack_write(struct cd_buf *body, struct cd_buf *key, struct cd_str session,
                      const struct store_alarm *items, size_t count);
/* key is a name that store_pack_name_parse takes; a body that does not match it is CD_ECORRUPT. */
CD_MUST_USE int store_pack_read(struct store_alarms *out, struct cd_str key, struct cd_str body,
                                struct cd_buf *why);

/* The body of a wake entry: for people. Its name says it all (store_key_wake_entry). */
void store_wake_entry_write(struct cd_buf *out, const struct store_alarm *a);

/* wake/retired/<cell>.json */
struct store_wake_retired {
    struct store_identity identity;
    bool armed;
    uint64_t at_ms; /* Of an armed one. */
};
CD_MUST_USE int store_wake_retired_read(struct store_wake_retired *out, struct cd_str body,
                                        struct cd_buf *why);
void store_wake_retired_write(struct cd_buf *out, const struct store_wake_retired *r);
/* Whether the retirement settles an entry or item with identity i. */
bool store_wake_settled(const struct store_wake_retired *r, struct store_identity i);

/* wake/format.json. CD_EUNSUPPORTED for any other format. */
CD_MUST_USE int store_wake_format_read(bool *ready, struct cd_str body, struct cd_buf *why);
void store_wake_format_write(struct cd_buf *out, bool ready);

/* wake/waker.json: advisory, so one that cannot be read counts as expired. */
struct store_waker {
    char node[STORE_NODE_MAX + 1];
    uint64_t expires_ms;
};
void store_waker_read(struct store_waker *out, struct cd_str body);
void store_waker_write(struct cd_buf *out, const struct store_waker *w);

#endif
