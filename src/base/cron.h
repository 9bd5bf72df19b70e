/* base/cron.h: cron expressions (services.md 7): five fields, UTC. Pure.
 *
 *     minute hour day-of-month month day-of-week
 *
 * Days of the week are 1 to 7 with 1 for Sunday. Where both day fields are restricted a day counts when
 * either matches. */
#ifndef BASE_CRON_H
#define BASE_CRON_H

#include "base/buf.h"

enum cd_cron_day {
    CD_CRON_DAYS, /* Of the set. */
    CD_CRON_LAST, /* "L", "L-3": day_number days before the last of the month. */
    CD_CRON_LAST_WORKDAY, /* "LW", "L-3W": the Monday to Friday nearest to that day, in the month. */
    CD_CRON_NEAREST_WORKDAY /* "15W" */
};
enum cd_cron_weekday {
    CD_CRON_WEEKDAYS, /* Of the set. */
    CD_CRON_LAST_OF_MONTH, /* "6L": the last such day of the month. */
    CD_CRON_NTH_OF_MONTH /* "6#2" */
};

struct cd_cron {
    uint64_t minutes, hours, days, months, weekdays; /* Bit n: value n. */
    enum cd_cron_day day;
    unsigned day_number;
    enum cd_cron_weekday weekday;
    unsigned weekday_number, nth;
    bool any_day, any_weekday; /* A bare "*". */
};

/* CD_ESYNTAX with the field, its text and what is wrong in why; also for an expression that never matches. */
CD_MUST_USE int cd_cron_parse(struct cd_cron *out, struct cd_str text, struct cd_buf *why);
/* Whether it matches some minute of the day that starts at or before wall_ms, UTC. */
bool cd_cron_matches_day(const struct cd_cron *c, int64_t wall_ms);
/* The first matching minute after wall_ms, in ms since 1970. There always is one. */
int64_t cd_cron_next(const struct cd_cron *c, int64_t wall_ms);

#endif
