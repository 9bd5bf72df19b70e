/* js/legacy_table.c: which code points the legacy encodings have, from ICU. */
#include <unicode/ucnv.h>
#include <unicode/utf16.h>

#include "base/cd.h"
#include "js/legacy.h"

/* What the index of the standard has and ICU's table has not, or has differently. value 0: nothing there. */
struct patch {
    uint16_t at;
    uint32_t value;
};

static const struct patch big5_patch[] = {
    {1008, 0x9f97},  {1016, 0x9f96},  {1099, 0x31c0},  {1100, 0x31c1},  {1101, 0x31c2},  {1102, 0x31c3},
    {1103, 0x31c4},  {1105, 0x31c5},  {1108, 0x31c6},  {1109, 0x31c7},  {1112, 0x31c8},  {1114, 0x31c9},
    {1115, 0x31ca},  {1116, 0x31cb},  {1117, 0x31cc},  {1119, 0x31cd},  {1120, 0x31ce},  {1170, 0x23da},
    {1171, 0x23db},  {1730, 0x9fa6},  {1772, 0x9fa7},  {1779, 0x9fa8},  {1812, 0x9fa9},  {1814, 0x9faa},
    {1816, 0x9fab},  {1821, 0x9fac},  {1844, 0x9fad},  {1845, 0x9fae},  {1847, 0x9faf},  {1866, 0x9fb2},
    {1892, 0x9fb3},  {2082, 0x7bb8},  {2088, 0x7c06},  {2103, 0x7cce},  {2114, 0x7dd2},  {2123, 0x7e1d},
    {2148, 0x8005},  {2151, 0x8028},  {2221, 0x83c1},  {2239, 0x84a8},  {2244, 0x840f},  {2303, 0x89a6},
    {2304, 0x89a9},  {2354, 0x8d77},  {2400, 0x90fd},  {2413, 0x92b9},  {2477, 0x975c},  {2498, 0x97ff},
    {2605, 0x9f16},  {2673, 0x8503},  {2746, 0x5159},  {2747, 0x515b},  {2748, 0x515d},  {2749, 0x515e},
    {2771, 0x936e},  {2780, 0x7479},  {2990, 0x6d67},  {3087, 0x799b},  {3259, 0x9097},  {3301, 0x975d},
    {3436, 0x701e},  {3451, 0x5b28},  {4136, 0x7201},  {4138, 0x77d7},  {4141, 0x7e87},  {4182, 0x99d6},
    {4206, 0x91d4},  {4220, 0x60de},  {4230, 0x6fb6},  {4241, 0x8f36},  {4258, 0x4fbb},  {4273, 0x71df},
    {4279, 0x9104},  {4282, 0x9df0},  {4294, 0x83cf},  {4329, 0x5c10},  {4330, 0x79e3},  {4349, 0x5a67},
    {4419, 0x8f0b},  {4422, 0x7b51},  {4494, 0x62d0},  {4624, 0x6062},  {4694, 0x75f9},  {4708, 0x6c4a},
    {4742, 0x9b2e},  {4748, 0x9f17},  {4815, 0x50ed},  {4828, 0x5f0c},  {4902, 0x880f},  {4922, 0x62ce},
    {4982, 0x7468},  {4992, 0x7162},  {4997, 0x7250},  {5432, 0x2400},  {5433, 0x2401},  {5434, 0x2402},
    {5435, 0x2403},  {5436, 0x2404},  {5437, 0x2405},  {5438, 0x2406},  {5439, 0x2407},  {5440, 0x2408},
    {5441, 0x2409},  {5442, 0x240a},  {5443, 0x240b},  {5444, 0x240c},  {5445, 0x240d},  {5446, 0x240e},
    {5447, 0x240f},  {5448, 0x2410},  {5449, 0x2411},  {5450, 0x2412},  {5451, 0x2413},  {5452, 0x2414},
    {5453, 0x2415},  {5454, 0x2416},  {5455, 0x2417},  {5456, 0x2418},  {5457, 0x2419},  {5458, 0x241a},
    {5459, 0x241b},  {5460, 0x241c},  {5461, 0x241d},  {5462, 0x241e},  {5463, 0x241f},  {5464, 0x2421},
    {10942, 0x5ef4}, {10946, 0x65e0}, {10948, 0x7676}, {10950, 0x96b6}, {10957, 0x3003}, {10958, 0x4edd},
    {11204, 0x31cf}, {11210, 0x9fb0}, {11212, 0x9fb1}, {19028, 0x5029}, {19035, 0x507d}, {19088, 0x5305},
    {19096, 0x5344}, {19112, 0x537f}, {19162, 0x5605}, {19240, 0x5a77}, {19299, 0x5e75}, {19305, 0x5ed0},
    {19326, 0x5f58}, {19355, 0x60a4}, {19398, 0x6490}, {19439, 0x6674}, {19454, 0x675e}, {19553, 0x6c9c},
    {19554, 0x6e1d}, {19557, 0x6e2f}, {19611, 0x716e}, {19643, 0x732a}, {19672, 0x745c}, {19697, 0x74e9},
    {19748, 0x7809},
};
/* ICU has no ISO-8859-16: these are its differences to ISO-8859-1. */
static const struct patch iso_8859_16_patch[] = {
    {0x21, 0x104}, {0x22, 0x105}, {0x23, 0x141},  {0x24, 0x20ac}, {0x25, 0x201e}, {0x26, 0x160},
    {0x28, 0x161}, {0x2a, 0x218}, {0x2c, 0x179},  {0x2e, 0x17a},  {0x2f, 0x17b},  {0x32, 0x10c},
    {0x33, 0x142}, {0x34, 0x17d}, {0x35, 0x201d}, {0x38, 0x17e},  {0x39, 0x10d},  {0x3a, 0x219},
    {0x3c, 0x152}, {0x3d, 0x153}, {0x3e, 0x178},  {0x3f, 0x17c},  {0x43, 0x102},  {0x45, 0x106},
    {0x50, 0x110}, {0x51, 0x143}, {0x55, 0x150},  {0x57, 0x15a},  {0x58, 0x170},  {0x5d, 0x118},
    {0x5e, 0x21a}, {0x63, 0x103}, {0x65, 0x107},  {0x70, 0x111},  {0x71, 0x144},  {0x75, 0x151},
    {0x77, 0x15b}, {0x78, 0x171}, {0x7d, 0x119},  {0x7e, 0x21b},
};
static const struct patch koi8_u_patch[] = {{0x2e, 0x45e}, {0x3e, 0x40e}};
static const struct patch windows_1253_patch[] = {{0x2a, 0}};
static const struct patch windows_1255_patch[] = {{0x4a, 0x5ba}};

static void mend(uint32_t *table, const struct patch *patch, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table[patch[i].at] = patch[i].value;
}

static bool is_private(uint32_t c)
{
    return c >= 0xe000 && c <= 0xf8ff;
}

/* One character, or 0. */
static uint32_t character(UConverter *u, const uint8_t *bytes, int len)
{
    UErrorCode e = U_ZERO_ERROR;
    UChar unit[4];
    ucnv_resetToUnicode(u);
    int32_t count = ucnv_toUChars(u, unit, CD_COUNT(unit), (const char *)bytes, len, &e);
    if (U_FAILURE(e))
        return 0;
    if (count == 2 && U16_IS_LEAD(unit[0]) && U16_IS_TRAIL(unit[1]))
        return (uint32_t)U16_GET_SUPPLEMENTARY(unit[0], unit[1]);
    return count == 1 ? unit[0] : 0;
}

static int converter_open(const char *name, UConverter **out)
{
    UErrorCode e = U_ZERO_ERROR;
    UConverter *u = ucnv_open(name, &e);
    if (U_FAILURE(e))
        return CD_EUNSUPPORTED;
    ucnv_setToUCallBack(u, UCNV_TO_U_CALLBACK_STOP, NULL, NULL, NULL, &e);
    *out = u;
    return 0;
}

static void single(const struct js_legacy *e, UConverter *u, uint32_t *table)
{
    struct cd_str name = cd_str(e->name);
    bool keep = cd_str_eq(name, CD_STR("macintosh")); /* Its apple is the standard's too. */
    for (unsigned i = 0; i < 128; i++) {
        uint8_t byte = (uint8_t)(0x80 + i);
        uint32_t c = u != NULL ? character(u, &byte, 1) : byte;
        table[i] = is_private(c) && !keep ? 0 : c;
    }
    if (cd_str_eq(name, CD_STR("iso-8859-16")))
        mend(table, iso_8859_16_patch, CD_COUNT(iso_8859_16_patch));
    else if (cd_str_eq(name, CD_STR("koi8-u")))
        mend(table, koi8_u_patch, CD_COUNT(koi8_u_patch));
    else if (cd_str_eq(name, CD_STR("windows-1253")))
        mend(table, windows_1253_patch, CD_COUNT(windows_1253_patch));
    else if (cd_str_eq(name, CD_STR("windows-1255")))
        mend(table, windows_1255_patch, CD_COUNT(windows_1255_patch));
}

/* Two bytes by pointer: rows of `row` cells from lead byte 0x81; trail bytes from `first`, which skip `gap`
 * from 0x7f on. lead_gap: leads skip from 0xa0 to 0xe0, as in Shift_JIS. */
struct shape {
    unsigned len, row, first, gap;
    bool lead_gap, keep_private;
};

static void pairs(UConverter *u, const struct shape *s, uint32_t *table)
{
    for (unsigned p = 0; p < s->len; p++) {
        unsigned lead = p / s->row + 0x81, trail = p % s->row + s->first;
        if (s->lead_gap && lead >= 0xa0)
            lead += 0x40;
        if (s->gap > 0 && trail >= 0x7f)
            trail += s->gap;
        const uint8_t bytes[2] = {(uint8_t)lead, (uint8_t)trail};
        uint32_t c = character(u, bytes, 2);
        table[p] = is_private(c) && !s->keep_private ? 0 : c;
    }
}

static void jis0212(UConverter *u, uint32_t *table)
{
    for (unsigned p = 0; p < JS_JIS0212_LEN; p++) {
        const uint8_t bytes[3] = {0x8f, (uint8_t)(p / 94 + 0xa1), (uint8_t)(p % 94 + 0xa1)};
        uint32_t c = character(u, bytes, 3);
        /* The rows from 0xf3 on are IBM's. */
        table[p] = is_private(c) || p >= 82 * 94 ? 0 : c;
    }
}

static void gb18030_four(UConverter *u, uint32_t *table)
{
    for (unsigned p = 0; p < JS_GB18030_BMP_LEN; p++) {
        const uint8_t bytes[4] = {(uint8_t)(0x81 + p / 12600), (uint8_t)(0x30 + p / 1260 % 10),
                                  (uint8_t)(0x81 + p / 10 % 126), (uint8_t)(0x30 + p % 10)};
        table[p] = character(u, bytes, 4);
    }
}

static void user_defined(uint32_t *table)
{
    for (unsigned i = 0; i < 128; i++)
        table[i] = 0xf780 + i;
}

size_t js_legacy_table_len(const struct js_legacy *e)
{
    switch (e->kind) {
    case JS_LEGACY_SINGLE: return 128;
    case JS_LEGACY_BIG5: return JS_BIG5_LEN;
    case JS_LEGACY_EUC_JP: return JS_JIS0208_LEN + JS_JIS0212_LEN;
    case JS_LEGACY_EUC_KR: return JS_EUC_KR_LEN;
    case JS_LEGACY_GB18030: return JS_GBK_LEN + JS_GB18030_BMP_LEN;
    case JS_LEGACY_ISO_2022_JP:
    case JS_LEGACY_SHIFT_JIS: return JS_JIS0208_LEN;
    case JS_LEGACY_UTF_16BE:
    case JS_LEGACY_UTF_16LE: return 0;
    }
    CD_UNREACHABLE();
}

static void fill(const struct js_legacy *e, UConverter *u, uint32_t *table)
{
    static const struct shape big5 = {JS_BIG5_LEN, 157, 0x40, 0x22, false, false};
    static const struct shape euc_kr = {JS_EUC_KR_LEN, 190, 0x41, 0, false, false};
    static const struct shape jis0208 = {JS_JIS0208_LEN, 188, 0x40, 1, true, false};
    static const struct shape gbk = {JS_GBK_LEN, 190, 0x40, 1, false, true};
    switch (e->kind) {
    case JS_LEGACY_SINGLE:
        if (cd_str_eq(cd_str(e->name), CD_STR("x-user-defined")))
            user_defined(table);
        else
            single(e, u, table);
        return;
    case JS_LEGACY_BIG5:
        pairs(u, &big5, table);
        mend(table, big5_patch, CD_COUNT(big5_patch));
        return;
    case JS_LEGACY_EUC_KR: pairs(u, &euc_kr, table); return;
    case JS_LEGACY_GB18030:
        pairs(u, &gbk, table);
        gb18030_four(u, table + JS_GBK_LEN);
        return;
    case JS_LEGACY_EUC_JP:
    case JS_LEGACY_ISO_2022_JP:
    case JS_LEGACY_SHIFT_JIS: pairs(u, &jis0208, table); return;
    case JS_LEGACY_UTF_16BE:
    case JS_LEGACY_UTF_16LE: return;
    }
    CD_UNREACHABLE();
}

int js_legacy_table(const struct js_legacy *e, uint32_t *table)
{
    UConverter *u = NULL;
    int rc = e->icu != NULL ? converter_open(e->icu, &u) : 0;
    if (rc != 0)
        return rc;
    fill(e, u, table);
    ucnv_close(u);
    if (e->kind != JS_LEGACY_EUC_JP)
        return 0;
    rc = converter_open("euc-jp", &u);
    if (rc != 0)
        return rc;
    jis0212(u, table + JS_JIS0208_LEN);
    ucnv_close(u);
    return 0;
}
