/* base/timetext.h: UTC time as text, without libc's locale and time zone. Times are milliseconds since 1970.
 */
#ifndef BASE_TIMETEXT_H
#define BASE_TIMETEXT_H

#include "base/buf.h"

struct cd_date {
    int year, month, day, hour, minute, second, weekday; /* month 1..12, weekday 0 = Sunday. */
};

struct cd_date cd_date_of(int64_t wall_ms);
int64_t cd_date_ms(const struct cd_date *d); /* Ignores weekday. */
void cd_time_iso(struct cd_buf *out, int64_t wall_us); /* 2026-08-19T12:00:00.123456Z */
void cd_time_http(struct cd_buf *out, int64_t wall_ms); /* Wed, 19 Aug 2026 12:00:00 GMT */
void cd_time_compact(struct cd_buf *out, int64_t wall_ms); /* 20260819T120000Z, as SigV4 wants it. */
CD_MUST_USE int cd_time_parse_http(struct cd_str s, int64_t *wall_ms);
CD_MUST_USE int cd_time_parse_iso(struct cd_str s, int64_t *wall_ms); /* Zone Z only; fraction optional. */

#endif
