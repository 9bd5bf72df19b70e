/* sim/scn.h: a scenario: what a run is made of. simulation.md 10.
 *
 * A scenario is plain values: settings, steps, plants and expectations. The swarm draws one from a seed, a
 * .scn file spells one, the shrinker takes parts away from one; the run knows nothing else. Printing and
 * reading give the same scenario back. One table (SCN_SETTINGS) names every setting, with its unit, default
 * and bounds.
 *
 * What the language has but the program does not offer yet is read like the rest and refused by
 * scn_available, and a step of a file that never comes fails its run: a statement is never ignored. */
#ifndef SIM_SCN_H
#define SIM_SCN_H

#include "base/buf.h"

#define SCN_VERSION 1
#define SCN_NODES_MAX 9
#define SCN_CLIENTS_MAX 12
#define SCN_STEPS_MAX 2000
#define SCN_EXPECTS_MAX 32
#define SCN_NAME_MAX 64 /* Marks, events, calls, patterns, plants. With the NUL. */
#define SCN_LINE_MAX 1000

/* Statements with key=value settings. A word behind "load" chooses the workload. */
#define SCN_GROUPS(X)                                                                                        \
    X(SCN_FLEET, "fleet")                                                                                    \
    X(SCN_STORE, "store")                                                                                    \
    X(SCN_SCHED, "sched")                                                                                    \
    X(SCN_NET, "net")                                                                                        \
    X(SCN_DISK, "disk")                                                                                      \
    X(SCN_SERVER, "server")                                                                                  \
    X(SCN_CELLS, "cells")                                                                                    \
    X(SCN_LOAD_HTTP, "load http")                                                                            \
    X(SCN_LOAD_FILES, "load files")                                                                          \
    X(SCN_LOAD_STORAGE, "load storage")                                                                      \
    X(SCN_LOAD_ALARMS, "load alarms")                                                                        \
    X(SCN_LOAD_LEDGER, "load ledger")                                                                        \
    X(SCN_LOAD_JS, "load js")

enum scn_group {
#define X(id, text) id,
    SCN_GROUPS(X)
#undef X
        SCN_GROUP_COUNT
};

enum scn_kind {
    SCN_COUNT, /* A number. */
    SCN_TIME, /* Nanoseconds. */
    SCN_SPAN, /* Two times, lo..hi, or one for both. */
    SCN_RATIO, /* Parts per million. */
    SCN_RATE, /* Per 1,000 seconds. */
    SCN_BYTES,
    SCN_WORD, /* One of the words in words ("fifo|random|pct"); the value is its index. */
    SCN_TEXT, /* A short text without spaces; see scn.text. */
};

/* X(id, group, key, kind, default, min, max, words). Settings that are not named have their default, and
 * every default is free of faults: a scenario has only the faults that it names. */
#define SCN_SETTINGS(X)                                                                                      \
    X(FLEET_NODES, SCN_FLEET, "nodes", SCN_COUNT, 3, 1, SCN_NODES_MAX, NULL)                                 \
    X(FLEET_SHARDS, SCN_FLEET, "shards", SCN_COUNT, 1, 1, 3, NULL)                                           \
    X(FLEET_DURABILITY, SCN_FLEET, "durability", SCN_WORD, 0, 0, 0, "bucket|fleet")                          \
    X(FLEET_TTL, SCN_FLEET, "ttl", SCN_TIME, 10 * S, S, 600 * S, NULL)                                       \
    X(STORE_TOKENS, SCN_STORE, "tokens", SCN_WORD, 0, 0, 0, "content|generation")                            \
    X(STORE_LATENCY, SCN_STORE, "latency", SCN_SPAN, 20 * MS, 0, 60 * S, NULL)                               \
    X(STORE_PAGE, SCN_STORE, "page", SCN_COUNT, 1000, 1, 1000, NULL)                                         \
    X(STORE_THROTTLED, SCN_STORE, "throttle", SCN_RATIO, 0, 0, PPM / 2, NULL)                                \
    X(STORE_FAILS, SCN_STORE, "fail", SCN_RATIO, 0, 0, PPM / 2, NULL)                                        \
    X(STORE_LOSES_REQUEST, SCN_STORE, "lose-request", SCN_RATIO, 0, 0, PPM / 2, NULL)                        \
    X(STORE_LOSES_ANSWER, SCN_STORE, "lose-answer", SCN_RATIO, 0, 0, PPM / 2, NULL)                          \
    X(STORE_LATE, SCN_STORE, "late", SCN_RATIO, 0, 0, PPM / 2, NULL)                                         \
    X(STORE_LATE_BY, SCN_STORE, "late-by", SCN_TIME, 30 * S, MS, 600 * S, NULL)                              \
    X(SCHED_POLICY, SCN_SCHED, "policy", SCN_WORD, 0, 0, 0, "fifo|random|pct")                               \
    X(SCHED_SLACK, SCN_SCHED, "slack", SCN_TIME, 0, 0, S, NULL)                                              \
    X(SCHED_POINTS, SCN_SCHED, "points", SCN_COUNT, 3, 1, 100, NULL)                                         \
    X(NET_DELAY, SCN_NET, "delay", SCN_TIME, 500 * US, 0, 10 * S, NULL)                                      \
    X(NET_JITTER, SCN_NET, "jitter", SCN_TIME, 0, 0, 10 * S, NULL)                                           \
    X(NET_BANDWIDTH, SCN_NET, "bandwidth", SCN_BYTES, 0, 0, UINT64_MAX, NULL)                                \
    X(NET_WINDOW, SCN_NET, "window", SCN_BYTES, 64 << 10, 1, 64 << 20, NULL)                                 \
    X(NET_LOSS, SCN_NET, "loss", SCN_RATIO, 0, 0, PPM, NULL)                                                 \
    X(NET_SPLIT, SCN_NET, "split", SCN_RATIO, 0, 0, PPM, NULL)                                               \
    X(NET_REFUSE, SCN_NET, "refuse", SCN_RATIO, 0, 0, PPM, NULL)                                             \
    X(NET_RESET, SCN_NET, "reset", SCN_RATIO, 0, 0, PPM, NULL)                                               \
    X(NET_HALF_OPEN, SCN_NET, "half-open", SCN_RATIO, 0, 0, PPM, NULL)                                       \
    X(NET_SLOW, SCN_NET, "slow", SCN_RATIO, 0, 0, PPM, NULL)                                                 \
    X(NET_SLOW_BY, SCN_NET, "slow-by", SCN_TIME, 50 * MS, 1, 10 * S, NULL)                                   \
    X(NET_GIVE_UP, SCN_NET, "give-up", SCN_TIME, 15 * S, 100 * MS, 600 * S, NULL)                            \
    X(DISK_CAPACITY, SCN_DISK, "capacity", SCN_BYTES, 0, 0, UINT64_MAX, NULL)                                \
    X(DISK_READ, SCN_DISK, "read", SCN_TIME, 20 * US, 0, S, NULL)                                            \
    X(DISK_WRITE, SCN_DISK, "write", SCN_TIME, 10 * US, 0, S, NULL)                                          \
    X(DISK_SYNC, SCN_DISK, "sync", SCN_TIME, MS, 0, 10 * S, NULL)                                            \
    X(DISK_SYNC_JITTER, SCN_DISK, "sync-jitter", SCN_TIME, 0, 0, 10 * S, NULL)                               \
    X(DISK_READ_FAIL, SCN_DISK, "read-fail", SCN_RATIO, 0, 0, PPM / 2, NULL)                                 \
    X(DISK_WRITE_FAIL, SCN_DISK, "write-fail", SCN_RATIO, 0, 0, PPM / 2, NULL)                               \
    X(DISK_SYNC_FAIL, SCN_DISK, "sync-fail", SCN_RATIO, 0, 0, PPM / 2, NULL)                                 \
    X(DISK_FLIP, SCN_DISK, "flip", SCN_RATIO, 0, 0, PPM / 2, NULL)                                           \
    X(DISK_STUCK, SCN_DISK, "stuck", SCN_RATIO, 0, 0, PPM, NULL)                                             \
    X(DISK_STUCK_FOR, SCN_DISK, "stuck-for", SCN_TIME, 5 * S, 1, 60 * S, NULL)                               \
    X(DISK_KEEP, SCN_DISK, "keep", SCN_COUNT, 1, 0, 1000, NULL)                                              \
    X(DISK_DROP, SCN_DISK, "drop", SCN_COUNT, 1, 0, 1000, NULL)                                              \
    X(DISK_TEAR, SCN_DISK, "tear", SCN_COUNT, 1, 0, 1000, NULL)                                              \
    X(SERVER_BODY_MAX, SCN_SERVER, "body-max", SCN_BYTES, 1 << 20, 1, 1 << 30, NULL)                         \
    X(SERVER_HEAD_TIMEOUT, SCN_SERVER, "head-timeout", SCN_TIME, 10 * S, MS, 600 * S, NULL)                  \
    X(SERVER_BODY_TIMEOUT, SCN_SERVER, "body-timeout", SCN_TIME, 10 * S, MS, 600 * S, NULL)                  \
    X(SERVER_IDLE_TIMEOUT, SCN_SERVER, "idle-timeout", SCN_TIME, 30 * S, MS, 600 * S, NULL)                  \
    X(CELLS_SOLE, SCN_CELLS, "sole", SCN_COUNT, 0, 0, 1, NULL)                                               \
    X(CELLS_PIPELINE, SCN_CELLS, "pipeline", SCN_COUNT, 4, 1, 64, NULL)                                      \
    X(CELLS_FLUSH, SCN_CELLS, "flush", SCN_TIME, S, 0, 60 * S, NULL)                                         \
    X(CELLS_WINDOW, SCN_CELLS, "window", SCN_COUNT, 0, 0, 100000, NULL)                                      \
    X(CELLS_BACKSTOP, SCN_CELLS, "backstop", SCN_TIME, 2 * S, 50 * MS, 60 * S, NULL)                         \
    X(CELLS_BATCH, SCN_CELLS, "batch", SCN_BYTES, 8 << 20, 1 << 10, 8 << 20, NULL)                           \
    X(CELLS_FOLD, SCN_CELLS, "fold", SCN_TIME, 30 * S, MS, 3600 * S, NULL)                                   \
    X(CELLS_FOLD_ROWS, SCN_CELLS, "fold-rows", SCN_COUNT, 0, 0, 100000, NULL)                                \
    X(CELLS_FOLD_SLOTS, SCN_CELLS, "fold-slots", SCN_COUNT, 0, 0, 100000, NULL)                              \
    X(CELLS_FOLD_CACHE, SCN_CELLS, "fold-cache", SCN_BYTES, 0, 0, 1 << 30, NULL)                             \
    X(CELLS_FOLD_RANGE, SCN_CELLS, "fold-range", SCN_BYTES, 0, 0, 1 << 30, NULL)                             \
    X(CELLS_PAGE, SCN_CELLS, "page-bits", SCN_COUNT, 12, 9, 16, NULL)                                        \
    X(CELLS_CHAIN_EPOCHS, SCN_CELLS, "chain-epochs", SCN_COUNT, 8, 1, 1000, NULL)                            \
    X(CELLS_CHAIN_OBJECTS, SCN_CELLS, "chain-objects", SCN_COUNT, 64, 1, 100000, NULL)                       \
    X(CELLS_CHAIN_BYTES, SCN_CELLS, "chain-bytes", SCN_BYTES, 4 << 20, 1, 1 << 30, NULL)                     \
    X(CELLS_COMPACT, SCN_CELLS, "compact", SCN_COUNT, 256, 0, 100000, NULL)                                  \
    X(CELLS_RETENTION, SCN_CELLS, "retention", SCN_TIME, 0, 0, 3600 * S, NULL)                               \
    X(CELLS_CACHE, SCN_CELLS, "cache", SCN_BYTES, 1 << 30, 0, 1 << 30, NULL)                                 \
    X(CELLS_BALANCE, SCN_CELLS, "balance", SCN_TIME, 0, 0, 600 * S, NULL)                                    \
    X(CELLS_RESIDENT, SCN_CELLS, "resident", SCN_COUNT, 1000, 1, 100000, NULL)                               \
    X(CELLS_REQUESTS, SCN_CELLS, "requests", SCN_COUNT, 64, 1, 1000, NULL)                                   \
    X(CELLS_ACTIVATIONS, SCN_CELLS, "activations", SCN_COUNT, 16, 1, 1000, NULL)                             \
    X(CELLS_IDLE, SCN_CELLS, "idle", SCN_TIME, 0, 0, 3600 * S, NULL)                                         \
    X(CELLS_PROOF, SCN_CELLS, "proof", SCN_TIME, 10 * S, 100 * MS, 600 * S, NULL)                            \
    X(CELLS_OPERATION, SCN_CELLS, "operation", SCN_TIME, 15 * S, 100 * MS, 600 * S, NULL)                    \
    X(CELLS_STICKY, SCN_CELLS, "sticky", SCN_COUNT, 0, 0, 1, NULL)                                           \
    X(CELLS_WAKER, SCN_CELLS, "waker", SCN_TIME, 5 * S, 100 * MS, 600 * S, NULL)                             \
    X(CELLS_TIMEOUT, SCN_CELLS, "timeout", SCN_TIME, 10 * S, 100 * MS, 600 * S, NULL)                        \
    X(HTTP_CLIENTS, SCN_LOAD_HTTP, "clients", SCN_COUNT, 4, 1, SCN_CLIENTS_MAX, NULL)                        \
    X(HTTP_RATE, SCN_LOAD_HTTP, "rate", SCN_RATE, 20 * PER_S, 1, 100000 * PER_S, NULL)                       \
    X(HTTP_FOR, SCN_LOAD_HTTP, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                                 \
    X(HTTP_BODY, SCN_LOAD_HTTP, "body", SCN_BYTES, 4 << 10, 0, 1 << 26, NULL)                                \
    X(HTTP_PIPELINE, SCN_LOAD_HTTP, "pipeline", SCN_COUNT, 4, 1, 64, NULL)                                   \
    X(HTTP_TIMEOUT, SCN_LOAD_HTTP, "timeout", SCN_TIME, 10 * S, MS, 600 * S, NULL)                           \
    X(HTTP_SMALL, SCN_LOAD_HTTP, "small", SCN_COUNT, 10, 0, 100, NULL)                                       \
    X(HTTP_CHUNKED, SCN_LOAD_HTTP, "chunked", SCN_COUNT, 10, 0, 100, NULL)                                   \
    X(HTTP_LARGE, SCN_LOAD_HTTP, "large", SCN_COUNT, 1, 0, 100, NULL)                                        \
    X(HTTP_ABORT, SCN_LOAD_HTTP, "abort", SCN_COUNT, 0, 0, 100, NULL)                                        \
    X(FILES_RATE, SCN_LOAD_FILES, "rate", SCN_RATE, 20 * PER_S, 1, 100000 * PER_S, NULL)                     \
    X(FILES_FOR, SCN_LOAD_FILES, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                               \
    X(FILES_RECORD, SCN_LOAD_FILES, "record", SCN_BYTES, 2 << 10, 1, 1 << 20, NULL)                          \
    X(FILES_BATCH, SCN_LOAD_FILES, "batch", SCN_COUNT, 4, 1, 64, NULL)                                       \
    X(FILES_FOLD, SCN_LOAD_FILES, "fold", SCN_COUNT, 20, 1, 100000, NULL)                                    \
    X(LEDGER_CELLS, SCN_LOAD_LEDGER, "cells", SCN_COUNT, 4, 1, 40, NULL)                                     \
    X(LEDGER_CLIENTS, SCN_LOAD_LEDGER, "clients", SCN_COUNT, 4, 1, SCN_CLIENTS_MAX, NULL)                    \
    X(LEDGER_RATE, SCN_LOAD_LEDGER, "rate", SCN_RATE, 20 * PER_S, 1, 100000 * PER_S, NULL)                   \
    X(LEDGER_FOR, SCN_LOAD_LEDGER, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                             \
    X(STORAGE_CELLS, SCN_LOAD_STORAGE, "cells", SCN_COUNT, 4, 1, 40, NULL)                                   \
    X(STORAGE_CLIENTS, SCN_LOAD_STORAGE, "clients", SCN_COUNT, 4, 1, SCN_CLIENTS_MAX, NULL)                  \
    X(STORAGE_RATE, SCN_LOAD_STORAGE, "rate", SCN_RATE, 20 * PER_S, 1, 100000 * PER_S, NULL)                 \
    X(STORAGE_FOR, SCN_LOAD_STORAGE, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                           \
    X(ALARMS_CELLS, SCN_LOAD_ALARMS, "cells", SCN_COUNT, 4, 1, 40, NULL)                                     \
    X(ALARMS_CLIENTS, SCN_LOAD_ALARMS, "clients", SCN_COUNT, 2, 1, SCN_CLIENTS_MAX, NULL)                    \
    X(ALARMS_RATE, SCN_LOAD_ALARMS, "rate", SCN_RATE, 5 * PER_S, 1, 100000 * PER_S, NULL)                    \
    X(ALARMS_FOR, SCN_LOAD_ALARMS, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                             \
    X(JS_PROJECT, SCN_LOAD_JS, "project", SCN_TEXT, 0, 0, 0, NULL)                                           \
    X(JS_CLIENTS, SCN_LOAD_JS, "clients", SCN_COUNT, 4, 1, SCN_CLIENTS_MAX, NULL)                            \
    X(JS_RATE, SCN_LOAD_JS, "rate", SCN_RATE, 20 * PER_S, 1, 100000 * PER_S, NULL)                           \
    X(JS_FOR, SCN_LOAD_JS, "for", SCN_TIME, 30 * S, 0, 100000 * S, NULL)                                     \
    X(JS_BODY, SCN_LOAD_JS, "body", SCN_BYTES, 4 << 10, 0, 1 << 20, NULL)                                    \
    X(JS_TIMEOUT, SCN_LOAD_JS, "timeout", SCN_TIME, 10 * S, MS, 600 * S, NULL)                               \
    X(JS_ABORT, SCN_LOAD_JS, "abort", SCN_RATIO, 0, 0, PPM, NULL)

enum scn_setting {
#define X(id, group, key, kind, value, min, max, words) SCN_##id,
    SCN_SETTINGS(X)
#undef X
        SCN_SETTING_COUNT
};

struct scn_setting_info {
    enum scn_group group;
    const char *key;
    enum scn_kind kind;
    uint64_t value, min, max; /* The default and the bounds. */
    const char *words;
};
const struct scn_setting_info *scn_setting_info(enum scn_setting id);
const char *scn_group_text(enum scn_group group);

struct scn_value {
    bool set; /* Named; else lo and hi are the default. */
    uint64_t lo, hi; /* Equal but for spans. */
};

/* Whom an action is about. */
enum scn_who_kind { SCN_NOBODY, SCN_ONE_NODE, SCN_ONE_CLIENT, SCN_THE_STORE, SCN_ALL_NODES, SCN_ALL_CLIENTS };
struct scn_who {
    enum scn_who_kind kind;
    unsigned index; /* From 1: n1, c1. */
};

#define SCN_ACTIONS(X)                                                                                       \
    X(SCN_CUT, "cut") /* a, b, both_ways, for_ns (0: until the heal) */                                      \
    X(SCN_CLOG, "clog") /* a, b, both_ways, for_ns */                                                        \
    X(SCN_SWIZZLE, "swizzle") /* a, for_ns */                                                                \
    X(SCN_RESET, "reset") /* a, b: all connections between the two */                                        \
    X(SCN_PAUSE, "pause") /* a, for_ns */                                                                    \
    X(SCN_CRASH, "crash") /* a, kill, name: call or empty, nth */                                            \
    X(SCN_RESTART, "restart") /* a, wipe */                                                                  \
    X(SCN_JOIN, "join") /* a */                                                                              \
    X(SCN_DRAIN, "drain") /* a */                                                                            \
    X(SCN_SKEW, "skew") /* a, step_ns, drift_ppm */                                                          \
    X(SCN_DISK_IS, "disk") /* a, disk, nth, ppm */                                                           \
    X(SCN_MEMORY_IS, "memory") /* a, memory */                                                               \
    X(SCN_HEAL, "heal") /* nothing */                                                                        \
    X(SCN_STORE_DOES, "store") /* a, name: operation or empty, pattern, store, for_ns, ppm */                \
    X(SCN_LATE_PUT, "late") /* pattern, for_ns */

enum scn_action {
#define X(id, text) id,
    SCN_ACTIONS(X)
#undef X
        SCN_ACTION_COUNT
};
const char *scn_action_text(enum scn_action action);

enum scn_disk {
    SCN_DISK_FULL,
    SCN_DISK_SLOW,
    SCN_DISK_TORN,
    SCN_DISK_LOST,
    SCN_DISK_SYNC_FAILS,
    SCN_DISK_OK,
    SCN_DISK_COUNT
};
/* Whether memory of a node is short, and what fills it: its cells, or something that they have nothing to do
 * with. */
enum scn_memory { SCN_MEMORY_OK, SCN_MEMORY_CELLS, SCN_MEMORY_OTHER, SCN_MEMORY_COUNT };
enum scn_store_effect {
    SCN_STORE_HOLD_ANSWER,
    SCN_STORE_LOSE_ANSWER,
    SCN_STORE_LOSE_REQUEST,
    SCN_STORE_THROTTLE,
    SCN_STORE_FAIL,
    SCN_STORE_SLOW,
    SCN_STORE_DOWN,
    SCN_STORE_EFFECT_COUNT
};

enum scn_trigger { SCN_AT, SCN_WHEN_MARK, SCN_WHEN_EVENT };

struct scn_step {
    enum scn_trigger trigger;
    uint64_t at_ns; /* SCN_AT */
    char when[SCN_NAME_MAX]; /* The mark's or the event's name. */
    unsigned when_nth; /* Its k-th time; from 1. */
    enum scn_action action;
    struct scn_who a, b;
    bool both_ways, kill, wipe;
    uint64_t for_ns;
    int64_t step_ns;
    int32_t drift_ppm;
    uint32_t ppm;
    char name[SCN_NAME_MAX], pattern[SCN_NAME_MAX];
    unsigned nth;
    enum scn_disk disk;
    enum scn_memory memory;
    enum scn_store_effect effect;
    unsigned line; /* Of the file, for messages; not compared. */
};

enum scn_expect_kind { SCN_NO_FAILURE, SCN_MARK, SCN_SERVED, SCN_FAILS };
struct scn_expect {
    enum scn_expect_kind kind;
    char name[SCN_NAME_MAX]; /* Mark or invariant. */
    uint64_t by_ns; /* SCN_SERVED */
    unsigned line;
};

struct scn {
    bool has_seed;
    uint64_t seed;
    bool has[SCN_GROUP_COUNT]; /* The statement is there. */
    struct scn_value value[SCN_SETTING_COUNT];
    char text[SCN_NAME_MAX]; /* Of the one SCN_TEXT setting. */
    struct scn_step *step; /* owned; in the order of the file */
    unsigned steps;
    char plant[SCN_NAME_MAX]; /* Empty: none. */
    struct scn_expect expect[SCN_EXPECTS_MAX];
    unsigned expects;
    unsigned group_line[SCN_GROUP_COUNT], plant_line; /* For messages; not compared. */
};

void scn_init(struct scn *s); /* No statement at all: every setting at its default. */
void scn_deinit(struct scn *s);
void scn_copy(struct scn *to, const struct scn *from); /* to is not initialised. */
bool scn_equal(const struct scn *a, const struct scn *b);
uint64_t scn_get(const struct scn *s, enum scn_setting id); /* The value, lo of a span. */
void scn_set(struct scn *s, enum scn_setting id,
             uint64_t value); /* Names it and its statement. Within the bounds. */
void scn_forget(struct scn *s, enum scn_group group); /* The statement is not there any more. */
struct scn_step *scn_add_step(struct scn *s,
                              const struct scn_step *step); /* Copied; asserts SCN_STEPS_MAX. */
void scn_drop_steps(struct scn *s, unsigned from, unsigned count);

/* scn_parse.c. CD_ESYNTAX with "name:line:column: what is wrong and what was wanted" in why; s is initialised
 * and empty then. name is for messages only. */
CD_MUST_USE int scn_parse(struct scn *s, struct cd_str text, const char *name, struct cd_buf *why);
/* scn_print.c. Reading it back gives an equal scenario. */
void scn_print(struct cd_buf *out, const struct scn *s);
void scn_print_step(struct cd_buf *out, const struct scn_step *step); /* One line with its line break. */
/* scn_available.c. */
unsigned scn_clients(const struct scn *s); /* Of all its loads. */
/* CD_EUNSUPPORTED when a statement's feature does not exist yet; why names it. */
CD_MUST_USE int scn_available(const struct scn *s, const char *name, struct cd_buf *why);

/* Words shared by reading and printing. NULL past the end. */
const char *scn_disk_text(enum scn_disk d);
const char *scn_memory_text(enum scn_memory m);
const char *scn_store_effect_text(enum scn_store_effect e);
void scn_print_who(struct cd_buf *out, struct scn_who who);

#endif
