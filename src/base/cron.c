/* base/cron.c: cron expressions. */
#include "base/cron.h"

#include "base/timetext.h"

#define MINUTE_MS INT64_C(60000)
#define DAY_MS (1440 * MINUTE_MS)
#define SHOWN_MAX 60 /* Bytes of the text in a message. */
#define CYCLE_DAYS 146097 /* Dates and weekdays repeat after 400 years. */

struct field {
    const char *name;
    unsigned min, max;
    const char *words; /* Three letters each, for min, min + 1, ...; NULL: none. */
};
static const struct field fields[] = {
    {"minute", 0, 59, NULL},
    {"hour", 0, 23, NULL},
    {"day of month", 1, 31, NULL},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"day of week", 1, 7, "SUNMONTUEWEDTHUFRISAT"},
};
enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

/* ---- Reading ---- */

struct reader {
    const struct field *field;
    struct cd_str text; /* Of the field. */
    struct cd_buf *why;
};

CD_PRINTF(2, 3) static int refuse(struct reader *r, const char *format, ...)
{
    if (r->why == NULL)
        return CD_ESYNTAX;
    cd_buf_addf(r->why, "%s \"%.*s\": ", r->field->name,
                (int)(r->text.len < SHOWN_MAX ? r->text.len : SHOWN_MAX), r->text.ptr);
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(r->why, format, args);
    va_end(args);
    return CD_ESYNTAX;
}

/* A number of the field, or one of its words. */
static int read_value(struct reader *r, struct cd_str text, unsigned *out)
{
    const struct field *f = r->field;
    for (unsigned i = 0; f->words != NULL && i <= f->max - f->min; i++) {
        if (cd_str_eq_nocase(text, cd_str_of(f->words + (size_t)3 * i, 3))) {
            *out = f->min + i;
            return 0;
        }
    }
    uint64_t value;
    if (text.len == 0)
        return refuse(r, "an item is empty");
    if (text.len > 2 || cd_str_u64(text, &value) != 0)
        return refuse(r, "\"%.*s\" is no value", (int)(text.len < 20 ? text.len : 20), text.ptr);
    if (value < f->min || value > f->max)
        return refuse(r, "%u is not within %u to %u", (unsigned)value, f->min, f->max);
    *out = (unsigned)value;
    return 0;
}

static int read_step(struct reader *r, struct cd_str text, unsigned *out)
{
    uint64_t step;
    unsigned most = r->field->max - r->field->min;
    if (text.len > 2 || cd_str_u64(text, &step) != 0 || step < 1 || step > most)
        return refuse(r, "a step is a number from 1 to %u", most);
    *out = (unsigned)step;
    return 0;
}

/* "*", "v", "a-b", each with "/n" or without. */
static int read_item(struct reader *r, struct cd_str item, bool alone, uint64_t *set)
{
    size_t slash = cd_str_find(item, '/', 0);
    struct cd_str range = cd_str_sub(item, 0, slash);
    unsigned low = r->field->min, high = r->field->max, step = 1;
    int rc = 0;
    if (slash != SIZE_MAX)
        rc = read_step(r, cd_str_sub(item, slash + 1, SIZE_MAX), &step);
    if (rc != 0)
        return rc;
    if (cd_str_eq(range, CD_STR("*"))) {
        if (!alone && slash == SIZE_MAX)
            return refuse(r, "* leaves nothing for the rest of the list");
    } else {
        size_t dash = cd_str_find(range, '-', 0);
        rc = read_value(r, cd_str_sub(range, 0, dash), &low);
        /* From a value with a step on to the end; /1 after a value is just that value. */
        high = slash != SIZE_MAX && step > 1 ? high : low;
        if (rc == 0 && dash != SIZE_MAX)
            rc = read_value(r, cd_str_sub(range, dash + 1, SIZE_MAX), &high);
        if (rc != 0)
            return rc;
        if (high < low)
            return refuse(r, "the range %.*s runs backwards", (int)range.len, range.ptr);
    }
    for (unsigned v = low; v <= high; v += step)
        *set |= UINT64_C(1) << v;
    return 0;
}

static int read_set(struct reader *r, uint64_t *set)
{
    struct cd_str rest = r->text, item;
    bool alone = cd_str_find(rest, ',', 0) == SIZE_MAX;
    *set = 0;
    while (cd_str_next(&rest, ',', &item)) {
        int rc = read_item(r, item, alone, set);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static bool take(struct cd_str *text, char letter) /* From its end, in any case. */
{
    if (text->len == 0 || (text->ptr[text->len - 1] | 0x20) != letter)
        return false;
    text->len--;
    return true;
}

/* "L", "L-n", "LW", "L-nW", "dW" stand alone; all else is a set. */
static int read_day(struct reader *r, struct cd_cron *c)
{
    struct cd_str text = r->text;
    bool workday = take(&text, 'w');
    if (text.len > 0 && (text.ptr[0] | 0x20) == 'l') {
        c->day = workday ? CD_CRON_LAST_WORKDAY : CD_CRON_LAST;
        if (text.len == 1)
            return 0;
        uint64_t before;
        struct cd_str number = cd_str_sub(text, 2, SIZE_MAX);
        if (text.ptr[1] != '-' || number.len > 2 || cd_str_u64(number, &before) != 0 || before < 1 ||
            before > 30)
            return refuse(r, "after L comes nothing, or - and a number from 1 to 30");
        c->day_number = (unsigned)before;
        return 0;
    }
    if (!workday)
        return read_set(r, &c->days);
    c->day = CD_CRON_NEAREST_WORKDAY;
    return read_value(r, text, &c->day_number);
}

/* "L" is Saturday; "dL" and "d#n" stand alone; all else is a set. */
static int read_weekday(struct reader *r, struct cd_cron *c)
{
    struct cd_str text = r->text;
    size_t hash = cd_str_find(text, '#', 0);
    if (hash != SIZE_MAX) {
        uint64_t nth;
        struct cd_str number = cd_str_sub(text, hash + 1, SIZE_MAX);
        if (number.len != 1 || cd_str_u64(number, &nth) != 0 || nth < 1 || nth > 5)
            return refuse(r, "after # comes a number from 1 to 5");
        c->weekday = CD_CRON_NTH_OF_MONTH;
        c->nth = (unsigned)nth;
        return read_value(r, cd_str_sub(text, 0, hash), &c->weekday_number);
    }
    if (!take(&text, 'l'))
        return read_set(r, &c->weekdays);
    if (text.len == 0) {
        c->weekdays = UINT64_C(1) << 7;
        return 0;
    }
    c->weekday = CD_CRON_LAST_OF_MONTH;
    return read_value(r, text, &c->weekday_number);
}

static bool take_field(struct cd_str *rest, struct cd_str *field)
{
    *rest = cd_str_trim(*rest);
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t' && rest->ptr[len] != '\n' &&
           rest->ptr[len] != '\r')
        len++;
    *field = cd_str_sub(*rest, 0, len);
    *rest = cd_str_sub(*rest, len, SIZE_MAX);
    return len > 0;
}

static bool ever_matches(const struct cd_cron *c)
{
    for (int64_t day = 0; day < CYCLE_DAYS; day++) {
        if (cd_cron_matches_day(c, day * DAY_MS))
            return true;
    }
    return false;
}

int cd_cron_parse(struct cd_cron *out, struct cd_str text, struct cd_buf *why)
{
    struct cd_str part[FIELDS + 1], rest = text;
    size_t count = 0;
    while (count <= FIELDS && take_field(&rest, &part[count]))
        count++;
    if (count != FIELDS) {
        if (why != NULL)
            cd_buf_addf(
                why, "%s: a cron expression has exactly five: minute, hour, day of month, month, day of week",
                count < FIELDS ? "fields are missing" : "too many fields");
        return CD_ESYNTAX;
    }
    struct cd_cron c = {0};
    uint64_t *const sets[] = {&c.minutes, &c.hours, NULL, &c.months, NULL};
    for (unsigned i = 0; i < FIELDS; i++) {
        struct reader r = {&fields[i], part[i], why};
        int rc = i == DAY ? read_day(&r, &c) : i == WEEKDAY ? read_weekday(&r, &c) : read_set(&r, sets[i]);
        if (rc != 0)
            return rc;
    }
    c.any_day = cd_str_eq(part[DAY], CD_STR("*"));
    c.any_weekday = cd_str_eq(part[WEEKDAY], CD_STR("*"));
    if (!ever_matches(&c)) {
        if (why != NULL)
            cd_buf_addf(why, "\"%.*s\": no day of any year matches",
                        (int)(text.len < SHOWN_MAX ? text.len : SHOWN_MAX), text.ptr);
        return CD_ESYNTAX;
    }
    *out = c;
    return 0;
}

/* ---- Matching ---- */

static int64_t floor_to(int64_t ms, int64_t unit)
{
    int64_t rest = ms % unit;
    return ms - (rest < 0 ? rest + unit : rest);
}

static unsigned month_length(int year, int month)
{
    static const unsigned char length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return length[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* The Monday to Friday nearest to day that is in the month; day is from 1 to last. Weekday 0 is Sunday. */
static unsigned nearest_workday(unsigned day, unsigned last, unsigned weekday)
{
    if (weekday == 6)
        return day > 1 ? day - 1 : day + 2;
    if (weekday == 0)
        return day < last ? day + 1 : day - 2;
    return day;
}

static bool day_matches(const struct cd_cron *c, const struct cd_date *d, unsigned last)
{
    unsigned today = (unsigned)d->day, wanted = 0;
    switch (c->day) {
    case CD_CRON_DAYS: return (c->days >> today & 1) != 0;
    case CD_CRON_LAST: return today + c->day_number == last;
    case CD_CRON_LAST_WORKDAY:
        if (c->day_number >= last)
            return false;
        wanted = last - c->day_number;
        break;
    case CD_CRON_NEAREST_WORKDAY:
        if (c->day_number > last)
            return false;
        wanted = c->day_number;
        break;
    }
    unsigned weekday = ((unsigned)d->weekday + 35 + wanted - today) % 7; /* Of the wanted day. */
    return today == nearest_workday(wanted, last, weekday);
}

static bool weekday_matches(const struct cd_cron *c, const struct cd_date *d, unsigned last)
{
    unsigned today = (unsigned)d->day, weekday = (unsigned)d->weekday + 1;
    switch (c->weekday) {
    case CD_CRON_WEEKDAYS: return (c->weekdays >> weekday & 1) != 0;
    case CD_CRON_LAST_OF_MONTH: return weekday == c->weekday_number && today + 7 > last;
    case CD_CRON_NTH_OF_MONTH: return weekday == c->weekday_number && (today - 1) / 7 + 1 == c->nth;
    }
    CD_UNREACHABLE();
}

bool cd_cron_matches_day(const struct cd_cron *c, int64_t wall_ms)
{
    struct cd_date d = cd_date_of(wall_ms);
    unsigned last = month_length(d.year, d.month);
    if ((c->months >> d.month & 1) == 0)
        return false;
    bool day = day_matches(c, &d, last), weekday = weekday_matches(c, &d, last);
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

int64_t cd_cron_next(const struct cd_cron *c, int64_t wall_ms)
{
    int64_t at = floor_to(wall_ms, MINUTE_MS) + MINUTE_MS;
    for (int64_t days = 0; days <= CYCLE_DAYS + 1; days++) {
        int64_t midnight = floor_to(at, DAY_MS);
        bool today = cd_cron_matches_day(c, midnight);
        for (; today && at < midnight + DAY_MS; at += MINUTE_MS) {
            int64_t minute = (at - midnight) / MINUTE_MS;
            if ((c->hours >> (minute / 60) & 1) != 0 && (c->minutes >> (minute % 60) & 1) != 0)
                return at;
        }
        at = midnight + DAY_MS;
    }
    CD_UNREACHABLE(); /* cd_cron_parse saw a day that matches. */
}
