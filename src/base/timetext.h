/* base/timetext.h: UTC time as text, without libc's locale and time zone. Times are milliseconds since 1970
 * unless their name ends in _us; years before 0 and past 9999 are written with a sign or more digits. */
#ifndef BASE_TIMETEXT_H
#define BASE_TIMETEXT_H

#include "base/buf.h"

struct cd_date {
    int year, month, day, hour, minute, second, weekday; /* month 1..12, weekday 0 = Sunday. */
};

struct cd_date cd_date_of(int64_t wall_ms);
/* Ignores weekday. Fields may be out of their range (second 90); the year is within 100 million. */
int64_t cd_date_ms(const struct cd_date *d);
void cd_time_iso(struct cd_buf *out, int64_t wall_us); /* 2026-08-19T12:00:00.123456Z */
void cd_time_http(struct cd_buf *out, int64_t wall_ms); /* Wed, 19 Aug 2026 12:00:00 GMT */
void cd_time_compact(struct cd_buf *out, int64_t wall_ms); /* 20260819T120000Z, as SigV4 wants it. */
/* Strict: CD_ESYNTAX for a date that does not exist, a weekday that is not the date's, and leap seconds. */
/* The three forms of RFC 9110 5.6.7; a year of two digits is one of 1970 to 2069. */
CD_MUST_USE int cd_time_parse_http(struct cd_str s, int64_t *wall_ms);
/* Zone Z only; the fraction may be missing and is cut to milliseconds. */
CD_MUST_USE int cd_time_parse_iso(struct cd_str s, int64_t *wall_ms);

#endif
