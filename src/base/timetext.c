/* base/timetext.c: dates by integer arithmetic (the civil-from-days method: eras of 400 years that start in
 * March). No time is too far away for it; parsers accept only dates that exist. */
#include "base/timetext.h"

#define DAY_MS 86400000
#define YEAR_MAX 100000000 /* Of cd_date_ms: its milliseconds fit with room to spare. */

static const char *const day_names[7] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday"};
static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    return a % b + (a % b < 0 ? b : 0);
}

struct cd_date cd_date_of(int64_t wall_ms)
{
    int64_t days = floor_div(wall_ms, DAY_MS);
    int64_t second = floor_mod(wall_ms, DAY_MS) / 1000;
    int64_t z = days + 719468; /* Days since 0000-03-01. */
    int64_t era = floor_div(z, 146097);
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    struct cd_date d = {0};
    d.day = (int)(doy - (153 * mp + 2) / 5 + 1);
    d.month = (int)(mp < 10 ? mp + 3 : mp - 9);
    d.year = (int)(yoe + era * 400 + (d.month <= 2));
    d.weekday = (int)floor_mod(days + 4, 7); /* 1970 began on a Thursday. */
    d.hour = (int)(second / 3600);
    d.minute = (int)(second / 60 % 60);
    d.second = (int)(second % 60);
    return d;
}

int64_t cd_date_ms(const struct cd_date *d)
{
    CD_ASSERT(d->year >= -YEAR_MAX && d->year <= YEAR_MAX);
    int64_t y = d->year - (d->month <= 2);
    int64_t era = floor_div(y, 400);
    int64_t yoe = y - era * 400;
    int64_t doy = (153 * (d->month + (d->month > 2 ? -3 : 9)) + 2) / 5 + d->day - 1;
    int64_t doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    int64_t days = era * 146097 + doe - 719468;
    return ((days * 24 + d->hour) * 60 + d->minute) * 60000 + (int64_t)d->second * 1000;
}

void cd_time_iso(struct cd_buf *out, int64_t wall_us)
{
    struct cd_date d = cd_date_of(floor_div(wall_us, 1000));
    cd_buf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", d.year, d.month, d.day, d.hour, d.minute,
                d.second, (int)floor_mod(wall_us, 1000000));
}

void cd_time_http(struct cd_buf *out, int64_t wall_ms)
{
    struct cd_date d = cd_date_of(wall_ms);
    cd_buf_addf(out, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", day_names[d.weekday], d.day,
                month_names + (size_t)(d.month - 1) * 3, d.year, d.hour, d.minute, d.second);
}

void cd_time_compact(struct cd_buf *out, int64_t wall_ms)
{
    struct cd_date d = cd_date_of(wall_ms);
    cd_buf_addf(out, "%04d%02d%02dT%02d%02d%02dZ", d.year, d.month, d.day, d.hour, d.minute, d.second);
}

static bool take_number(struct cd_str *s, size_t digits, int *out)
{
    uint64_t v;
    if (s->len < digits || cd_str_u64(cd_str_sub(*s, 0, digits), &v) != 0)
        return false;
    *out = (int)v;
    *s = cd_str_sub(*s, digits, SIZE_MAX);
    return true;
}

static bool take_text(struct cd_str *s, const char *text)
{
    if (!cd_str_starts(*s, cd_str(text)))
        return false;
    *s = cd_str_sub(*s, strlen(text), SIZE_MAX);
    return true;
}

/* The name, or its first three letters. */
static bool take_weekday(struct cd_str *s, bool whole, int *weekday)
{
    for (int i = 0; i < 7; i++) {
        struct cd_str name = cd_str_sub(cd_str(day_names[i]), 0, whole ? SIZE_MAX : 3);
        if (cd_str_starts(*s, name)) {
            *weekday = i;
            *s = cd_str_sub(*s, name.len, SIZE_MAX);
            return true;
        }
    }
    return false;
}

static bool take_month(struct cd_str *s, int *month)
{
    for (int i = 0; i < 12; i++) {
        if (cd_str_starts(*s, cd_str_of(month_names + (size_t)i * 3, 3))) {
            *month = i + 1;
            *s = cd_str_sub(*s, 3, SIZE_MAX);
            return true;
        }
    }
    return false;
}

static bool take_clock(struct cd_str *s, struct cd_date *d)
{
    return take_number(s, 2, &d->hour) && take_text(s, ":") && take_number(s, 2, &d->minute) &&
           take_text(s, ":") && take_number(s, 2, &d->second);
}

/* A date that comes out of its own milliseconds again is one that exists. weekday -1: was not said. */
static int date_to_ms(const struct cd_date *d, int64_t *wall_ms)
{
    int64_t ms = cd_date_ms(d);
    struct cd_date back = cd_date_of(ms);
    if (back.year != d->year || back.month != d->month || back.day != d->day || back.hour != d->hour ||
        back.minute != d->minute || back.second != d->second)
        return CD_ESYNTAX;
    if (d->weekday != -1 && d->weekday != back.weekday)
        return CD_ESYNTAX;
    *wall_ms = ms;
    return 0;
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool parse_fixdate(struct cd_str s, struct cd_date *d)
{
    return take_weekday(&s, false, &d->weekday) && take_text(&s, ", ") && take_number(&s, 2, &d->day) &&
           take_text(&s, " ") && take_month(&s, &d->month) && take_text(&s, " ") &&
           take_number(&s, 4, &d->year) && take_text(&s, " ") && take_clock(&s, d) &&
           cd_str_eq(s, CD_STR(" GMT"));
}

/* Sunday, 06-Nov-94 08:49:37 GMT */
static bool parse_rfc850(struct cd_str s, struct cd_date *d)
{
    if (!take_weekday(&s, true, &d->weekday) || !take_text(&s, ", ") || !take_number(&s, 2, &d->day) ||
        !take_text(&s, "-") || !take_month(&s, &d->month) || !take_text(&s, "-") ||
        !take_number(&s, 2, &d->year) || !take_text(&s, " ") || !take_clock(&s, d) ||
        !cd_str_eq(s, CD_STR(" GMT")))
        return false;
    d->year += d->year < 70 ? 2000 : 1900;
    return true;
}

/* Sun Nov  6 08:49:37 1994 */
static bool parse_asctime(struct cd_str s, struct cd_date *d)
{
    if (!take_weekday(&s, false, &d->weekday) || !take_text(&s, " ") || !take_month(&s, &d->month) ||
        !take_text(&s, " "))
        return false;
    size_t digits = take_text(&s, " ") ? 1 : 2;
    return take_number(&s, digits, &d->day) && take_text(&s, " ") && take_clock(&s, d) &&
           take_text(&s, " ") && take_number(&s, 4, &d->year) && s.len == 0;
}

int cd_time_parse_http(struct cd_str s, int64_t *wall_ms)
{
    struct cd_date d = {0};
    if (!parse_fixdate(s, &d) && !parse_rfc850(s, &d) && !parse_asctime(s, &d))
        return CD_ESYNTAX;
    return date_to_ms(&d, wall_ms);
}

int cd_time_parse_iso(struct cd_str s, int64_t *wall_ms)
{
    struct cd_date d = {.weekday = -1};
    if (!take_number(&s, 4, &d.year) || !take_text(&s, "-") || !take_number(&s, 2, &d.month) ||
        !take_text(&s, "-") || !take_number(&s, 2, &d.day) || !take_text(&s, "T") || !take_clock(&s, &d))
        return CD_ESYNTAX;
    int64_t fraction = 0, scale = 100;
    if (take_text(&s, ".")) {
        int digit;
        size_t digits = 0;
        for (; take_number(&s, 1, &digit); scale /= 10, digits++)
            fraction += scale * digit;
        if (digits == 0)
            return CD_ESYNTAX;
    }
    if (!cd_str_eq(s, CD_STR("Z")))
        return CD_ESYNTAX;
    int64_t whole;
    int rc = date_to_ms(&d, &whole);
    if (rc == 0)
        *wall_ms = whole + fraction;
    return rc;
}
