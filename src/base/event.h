/* base/event.h: structured log events (operations.md 7). Formatting only; io/io.h's cd_event() writes them.
 *
 * An event has a fixed dotted or snake_case name and typed fields, no sentences. Secrets and user data never
 * enter. */
#ifndef BASE_EVENT_H
#define BASE_EVENT_H

#include "base/buf.h"

enum cd_level { CD_ERROR, CD_WARN, CD_INFO, CD_DEBUG, CD_TRACE };
enum cd_field_kind { CD_FIELD_U64, CD_FIELD_I64, CD_FIELD_BOOL, CD_FIELD_STR };

struct cd_field {
    const char *key;
    enum cd_field_kind kind;
    uint64_t num;
    struct cd_str str;
};

#define CD_U(key, v) ((struct cd_field){(key), CD_FIELD_U64, (uint64_t)(v), {NULL, 0}})
#define CD_I(key, v) ((struct cd_field){(key), CD_FIELD_I64, (uint64_t)(int64_t)(v), {NULL, 0}})
#define CD_B(key, v) ((struct cd_field){(key), CD_FIELD_BOOL, (v) ? 1u : 0u, {NULL, 0}})
#define CD_S(key, v) ((struct cd_field){(key), CD_FIELD_STR, 0, (v)}) /* struct cd_str */
#define CD_Z(key, v) ((struct cd_field){(key), CD_FIELD_STR, 0, cd_str(v)}) /* char * */

enum cd_event_format { CD_EVENT_TEXT, CD_EVENT_JSON };

/* Appends one line with its line break. Text: `2026-08-19T12:00:00.123456Z  INFO celld::lease: message
 * event="name" key=value key2="text"`; JSON: an object with ts, level, target, msg, event and the fields. The
 * message is the name, or the string field "msg" where there is one: fixed words, never user data. Target
 * `celld` is the program itself; any other (`lease`, `log.fold`) is shown below it. Names, targets and keys
 * are those of the program: identifiers. */
void cd_event_format(struct cd_buf *out, enum cd_event_format format, int64_t wall_us, enum cd_level level,
                     const char *target, const char *name, const struct cd_field *fields, size_t count);

const char *cd_level_name(enum cd_level level); /* "ERROR", ... */

/* Filter of operations.md 7.2: `info,store=debug`. The longest matching target wins, by whole words; on a tie
 * the later directive. `celld` is the root of all targets, a level alone comes before it. An empty filter
 * lets nothing pass. */
struct cd_event_filter {
    struct cd_event_rule *rules; /* owned */
    size_t count;
};
/* CD_ESYNTAX with the offending directive in why (may be NULL); f is then as it was. On success what f held
 * is overwritten, not freed. */
CD_MUST_USE int cd_event_filter_parse(struct cd_event_filter *f, struct cd_str text, struct cd_buf *why);
void cd_event_filter_deinit(struct cd_event_filter *f);
bool cd_event_filter_allows(const struct cd_event_filter *f, const char *target, enum cd_level level);

#endif
