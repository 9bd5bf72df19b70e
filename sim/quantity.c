/* sim/quantity.c: reading and printing numbers with units, in integers only. */
#include "sim/quantity.h"

struct unit {
    const char *name;
    uint64_t scale;
};

/* Largest first: printing takes the first that divides. */
static const struct unit time_units[] = {{"s", 1000000000u}, {"ms", 1000000u},    {"us", 1000u},
                                         {"ns", 1u},         {"m", 60000000000u}, {"h", 3600000000000u}};
#define TIME_UNITS_PRINTED 4 /* 90s says more than a mix of minutes and seconds. */
static const struct unit byte_units[] = {{"m", 1u << 20}, {"k", 1u << 10}, {"", 1u}};

/* Digits with up to max_decimals decimals, as an integer scaled by 10^max_decimals. What follows is left in
 * rest. */
static int decimal(struct cd_str s, unsigned max_decimals, uint64_t *scaled, struct cd_str *rest)
{
    uint64_t v = 0;
    size_t at = 0;
    unsigned decimals = 0;
    bool point = false, digit = false;
    for (; at < s.len; at++) {
        if (s.ptr[at] == '.' && !point && digit && max_decimals > 0) {
            /* ".." is a range, not a point. */
            if (at + 1 < s.len && s.ptr[at + 1] == '.')
                break;
            point = true;
            continue;
        }
        if (s.ptr[at] < '0' || s.ptr[at] > '9')
            break;
        if (point && ++decimals > max_decimals)
            return CD_ESYNTAX;
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s.ptr[at] - '0'), &v))
            return CD_ETOOBIG;
        digit = true;
    }
    if (!digit || (point && decimals == 0))
        return CD_ESYNTAX;
    for (; decimals < max_decimals; decimals++) {
        if (__builtin_mul_overflow(v, 10u, &v))
            return CD_ETOOBIG;
    }
    *scaled = v;
    *rest = cd_str_sub(s, at, SIZE_MAX);
    return 0;
}

static const struct unit *unit_find(const struct unit *units, size_t count, struct cd_str name)
{
    for (size_t i = 0; i < count; i++) {
        if (cd_str_eq(name, cd_str(units[i].name)))
            return &units[i];
    }
    return NULL;
}

int quantity_duration(struct cd_str s, uint64_t *ns)
{
    uint64_t v;
    struct cd_str rest;
    int rc = decimal(s, 3, &v, &rest);
    if (rc != 0)
        return rc;
    if (v == 0 && rest.len == 0) {
        *ns = 0;
        return 0;
    }
    const struct unit *u = unit_find(time_units, CD_COUNT(time_units), rest);
    if (u == NULL)
        return CD_ESYNTAX;
    uint64_t scaled;
    if (__builtin_mul_overflow(v, u->scale, &scaled))
        return CD_ETOOBIG;
    if (scaled % 1000 != 0)
        return CD_ESYNTAX; /* Finer than a nanosecond. */
    *ns = scaled / 1000;
    return 0;
}

static int fraction(struct cd_str s, uint64_t *ppm)
{
    size_t slash = cd_str_find(s, '/', 0);
    uint64_t top, below;
    if (slash == SIZE_MAX || cd_str_u64(cd_str_sub(s, 0, slash), &top) != 0 ||
        cd_str_u64(cd_str_sub(s, slash + 1, SIZE_MAX), &below) != 0)
        return CD_ESYNTAX;
    if (below == 0)
        return CD_ESYNTAX;
    if (top > below || top > UINT64_MAX / QUANTITY_PPM)
        return CD_ETOOBIG;
    *ppm = top * QUANTITY_PPM / below;
    return 0;
}

int quantity_ratio(struct cd_str s, uint64_t *ppm)
{
    if (cd_str_find(s, '/', 0) != SIZE_MAX)
        return fraction(s, ppm);
    uint64_t v; /* In ten-thousandths. */
    struct cd_str rest;
    int rc = decimal(s, 4, &v, &rest);
    if (rc != 0)
        return rc;
    if (cd_str_eq(rest, CD_STR("%"))) {
        /* A percent is 10,000 ppm: v is in ppm already. */
    } else if (cd_str_eq(rest, CD_STR("ppm")) && v % 10000 == 0) {
        v /= 10000;
    } else if (rest.len != 0 || v != 0) {
        return CD_ESYNTAX;
    }
    if (v > QUANTITY_PPM)
        return CD_ETOOBIG;
    *ppm = v;
    return 0;
}

int quantity_rate(struct cd_str s, uint64_t *per_1000s)
{
    uint64_t v;
    struct cd_str rest;
    int rc = decimal(s, 3, &v, &rest);
    if (rc != 0)
        return rc;
    if (cd_str_eq(rest, CD_STR("/m"))) {
        if (v % 60 != 0)
            return CD_ESYNTAX; /* Finer than one in 1,000 seconds. */
        v /= 60;
    } else if (!cd_str_eq(rest, CD_STR("/s"))) {
        return CD_ESYNTAX;
    }
    *per_1000s = v;
    return 0;
}

int quantity_bytes(struct cd_str s, uint64_t *bytes)
{
    uint64_t v;
    struct cd_str rest;
    int rc = decimal(s, 0, &v, &rest);
    if (rc != 0)
        return rc;
    const struct unit *u = unit_find(byte_units, CD_COUNT(byte_units), rest);
    if (u == NULL)
        return CD_ESYNTAX;
    if (__builtin_mul_overflow(v, u->scale, bytes))
        return CD_ETOOBIG;
    return 0;
}

static void print_in(struct cd_buf *out, const struct unit *units, size_t count, uint64_t v)
{
    size_t i = 0;
    while (i + 1 < count && v % units[i].scale != 0)
        i++;
    cd_buf_addf(out, "%llu%s", (unsigned long long)(v / units[i].scale), units[i].name);
}

void quantity_print_duration(struct cd_buf *out, uint64_t ns)
{
    if (ns == 0)
        cd_buf_add_byte(out, '0');
    else
        print_in(out, time_units, TIME_UNITS_PRINTED, ns);
}

void quantity_print_ratio(struct cd_buf *out, uint64_t ppm)
{
    if (ppm == 0)
        cd_buf_add_byte(out, '0');
    else if (ppm % 10000 == 0)
        cd_buf_addf(out, "%llu%%", (unsigned long long)(ppm / 10000));
    else
        cd_buf_addf(out, "%lluppm", (unsigned long long)ppm);
}

void quantity_print_rate(struct cd_buf *out, uint64_t per_1000s)
{
    cd_buf_addf(out, "%llu", (unsigned long long)(per_1000s / 1000));
    if (per_1000s % 1000 != 0)
        cd_buf_addf(out, ".%03llu", (unsigned long long)(per_1000s % 1000));
    cd_buf_addf(out, "/s");
}

void quantity_print_bytes(struct cd_buf *out, uint64_t bytes)
{
    if (bytes == 0)
        cd_buf_add_byte(out, '0');
    else
        print_in(out, byte_units, CD_COUNT(byte_units), bytes);
}
