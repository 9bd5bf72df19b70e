/* js/legacy.c: the decoders of the Encoding standard, chapters 9 to 14, but for UTF-8.
 *
 * Each decoder is one function that looks at the bytes of one character: how many it used, what they are, or
 * that more must come. What a malformed character uses up is the point where implementations differ: a byte
 * of ASCII that follows is never swallowed. */
#include "js/legacy.h"

#include <string.h>

#include "base/cd.h"

#define MALFORMED UINT32_MAX

static const struct js_legacy encodings[] = {
    {"ibm866", "IBM866", JS_LEGACY_SINGLE},
    {"iso-8859-2", "ISO-8859-2", JS_LEGACY_SINGLE},
    {"iso-8859-3", "ISO-8859-3", JS_LEGACY_SINGLE},
    {"iso-8859-4", "ISO-8859-4", JS_LEGACY_SINGLE},
    {"iso-8859-5", "ISO-8859-5", JS_LEGACY_SINGLE},
    {"iso-8859-6", "ISO-8859-6", JS_LEGACY_SINGLE},
    {"iso-8859-7", "ISO-8859-7", JS_LEGACY_SINGLE},
    {"iso-8859-8", "ISO-8859-8", JS_LEGACY_SINGLE},
    {"iso-8859-8-i", "ISO-8859-8", JS_LEGACY_SINGLE},
    {"iso-8859-10", "ISO-8859-10", JS_LEGACY_SINGLE},
    {"iso-8859-13", "ISO-8859-13", JS_LEGACY_SINGLE},
    {"iso-8859-14", "ISO-8859-14", JS_LEGACY_SINGLE},
    {"iso-8859-15", "ISO-8859-15", JS_LEGACY_SINGLE},
    {"iso-8859-16", NULL, JS_LEGACY_SINGLE},
    {"koi8-r", "KOI8-R", JS_LEGACY_SINGLE},
    {"koi8-u", "KOI8-U", JS_LEGACY_SINGLE},
    {"macintosh", "macintosh", JS_LEGACY_SINGLE},
    {"windows-874", "windows-874", JS_LEGACY_SINGLE},
    {"windows-1250", "windows-1250", JS_LEGACY_SINGLE},
    {"windows-1251", "windows-1251", JS_LEGACY_SINGLE},
    {"windows-1252", "windows-1252", JS_LEGACY_SINGLE},
    {"windows-1253", "windows-1253", JS_LEGACY_SINGLE},
    {"windows-1254", "windows-1254", JS_LEGACY_SINGLE},
    {"windows-1255", "windows-1255", JS_LEGACY_SINGLE},
    {"windows-1256", "windows-1256", JS_LEGACY_SINGLE},
    {"windows-1257", "windows-1257", JS_LEGACY_SINGLE},
    {"windows-1258", "windows-1258", JS_LEGACY_SINGLE},
    {"x-mac-cyrillic", "x-mac-cyrillic", JS_LEGACY_SINGLE},
    {"x-user-defined", NULL, JS_LEGACY_SINGLE},
    {"gbk", "gb18030", JS_LEGACY_GB18030},
    {"gb18030", "gb18030", JS_LEGACY_GB18030},
    {"big5", "Big5-HKSCS", JS_LEGACY_BIG5},
    {"euc-jp", "ibm-943_P15A-2003", JS_LEGACY_EUC_JP},
    {"iso-2022-jp", "ibm-943_P15A-2003", JS_LEGACY_ISO_2022_JP},
    {"shift_jis", "ibm-943_P15A-2003", JS_LEGACY_SHIFT_JIS},
    {"euc-kr", "windows-949", JS_LEGACY_EUC_KR},
    {"utf-16be", NULL, JS_LEGACY_UTF_16BE},
    {"utf-16le", NULL, JS_LEGACY_UTF_16LE},
};

const struct js_legacy *js_legacy_find(struct cd_str name)
{
    for (size_t i = 0; i < CD_COUNT(encodings); i++) {
        if (cd_str_eq(name, cd_str(encodings[i].name)))
            return &encodings[i];
    }
    return NULL;
}

struct job {
    const struct js_legacy *encoding;
    const uint32_t *table;
    struct js_legacy_state *state;
    bool last;
};

/* What one look gave: used 0: more bytes must come. second: a character that follows c, or 0. c 0 with second
 * 0 and used > 0 is U+0000. none: nothing came of the bytes. */
struct look {
    unsigned used;
    uint32_t c, second;
    bool none;
};

static struct look one(unsigned used, uint32_t c)
{
    return (struct look){.used = used, .c = c};
}

static bool within(unsigned b, unsigned low, unsigned high)
{
    return b >= low && b <= high;
}

/* A sequence of `used` bytes whose table entry is c. Its last byte stays when the entry is empty and the byte
 * is ASCII. */
static struct look looked_up(unsigned used, uint32_t c, unsigned last_byte)
{
    if (c != 0)
        return one(used, c);
    return one(last_byte < 0x80 ? used - 1 : used, MALFORMED);
}

static struct look look_single(const struct job *j, const uint8_t *p)
{
    if (p[0] < 0x80)
        return one(1, p[0]);
    uint32_t c = j->table[p[0] - 0x80];
    return one(1, c != 0 ? c : MALFORMED);
}

static struct look look_big5(const struct job *j, const uint8_t *p, size_t len)
{
    if (p[0] < 0x80)
        return one(1, p[0]);
    if (!within(p[0], 0x81, 0xfe))
        return one(1, MALFORMED);
    if (len < 2)
        return one(0, 0);
    unsigned trail = p[1];
    if (!within(trail, 0x40, 0x7e) && !within(trail, 0xa1, 0xfe))
        return looked_up(2, 0, trail);
    unsigned pointer = (p[0] - 0x81u) * 157 + trail - (trail < 0x7f ? 0x40 : 0x62);
    switch (pointer) { /* Letters that Unicode has in two parts only. */
    case 1133: return (struct look){.used = 2, .c = 0xca, .second = 0x304};
    case 1135: return (struct look){.used = 2, .c = 0xca, .second = 0x30c};
    case 1164: return (struct look){.used = 2, .c = 0xea, .second = 0x304};
    case 1166: return (struct look){.used = 2, .c = 0xea, .second = 0x30c};
    default: return looked_up(2, j->table[pointer], trail);
    }
}

static struct look look_euc_kr(const struct job *j, const uint8_t *p, size_t len)
{
    if (p[0] < 0x80)
        return one(1, p[0]);
    if (!within(p[0], 0x81, 0xfe))
        return one(1, MALFORMED);
    if (len < 2)
        return one(0, 0);
    if (!within(p[1], 0x41, 0xfe))
        return looked_up(2, 0, p[1]);
    return looked_up(2, j->table[(p[0] - 0x81u) * 190 + p[1] - 0x41u], p[1]);
}

static struct look look_euc_jp(const struct job *j, const uint8_t *p, size_t len)
{
    if (p[0] < 0x80)
        return one(1, p[0]);
    if (p[0] != 0x8e && p[0] != 0x8f && !within(p[0], 0xa1, 0xfe))
        return one(1, MALFORMED);
    if (len < 2)
        return one(0, 0);
    if (p[0] == 0x8e)
        return within(p[1], 0xa1, 0xdf) ? one(2, 0xff61u - 0xa1 + p[1]) : looked_up(2, 0, p[1]);
    if (!within(p[1], 0xa1, 0xfe))
        return looked_up(2, 0, p[1]);
    if (p[0] != 0x8f)
        return looked_up(2, j->table[(p[0] - 0xa1u) * 94 + p[1] - 0xa1u], p[1]);
    if (len < 3)
        return one(0, 0);
    if (!within(p[2], 0xa1, 0xfe))
        return looked_up(3, 0, p[2]);
    return looked_up(3, j->table[JS_JIS0208_LEN + (p[1] - 0xa1u) * 94 + p[2] - 0xa1u], p[2]);
}

static struct look look_shift_jis(const struct job *j, const uint8_t *p, size_t len)
{
    if (p[0] <= 0x80)
        return one(1, p[0]);
    if (within(p[0], 0xa1, 0xdf))
        return one(1, 0xff61u - 0xa1 + p[0]);
    if (!within(p[0], 0x81, 0x9f) && !within(p[0], 0xe0, 0xfc))
        return one(1, MALFORMED);
    if (len < 2)
        return one(0, 0);
    if (!within(p[1], 0x40, 0x7e) && !within(p[1], 0x80, 0xfc))
        return looked_up(2, 0, p[1]);
    unsigned row = p[0] - (p[0] < 0xa0 ? 0x81u : 0xc1u);
    unsigned pointer = row * 188 + p[1] - (p[1] < 0x7f ? 0x40u : 0x41u);
    if (within(pointer, 8836, 10715))
        return one(2, 0xe000 - 8836 + pointer); /* For users' own characters. */
    return looked_up(2, pointer < JS_JIS0208_LEN ? j->table[pointer] : 0, p[1]);
}

static struct look look_gb18030(const struct job *j, const uint8_t *p, size_t len)
{
    if (p[0] < 0x80)
        return one(1, p[0]);
    if (p[0] == 0x80)
        return one(1, 0x20ac);
    if (p[0] == 0xff)
        return one(1, MALFORMED);
    if (len < 2)
        return one(0, 0);
    if (!within(p[1], 0x30, 0x39)) {
        if (!within(p[1], 0x40, 0x7e) && !within(p[1], 0x80, 0xfe))
            return looked_up(2, 0, p[1]);
        return looked_up(2, j->table[(p[0] - 0x81u) * 190 + p[1] - (p[1] < 0x7f ? 0x40u : 0x41u)], p[1]);
    }
    if (len < 3)
        return one(0, 0);
    if (!within(p[2], 0x81, 0xfe))
        return one(1, MALFORMED);
    if (len < 4)
        return one(0, 0);
    if (!within(p[3], 0x30, 0x39))
        return one(1, MALFORMED);
    uint32_t pointer = ((p[0] - 0x81u) * 10 + p[1] - 0x30u) * 1260 + (p[2] - 0x81u) * 10 + p[3] - 0x30u;
    if (pointer < JS_GB18030_BMP_LEN) {
        uint32_t c = j->table[JS_GBK_LEN + pointer];
        return one(4, c != 0 ? c : MALFORMED);
    }
    return one(4, pointer >= 189000 && pointer <= 1237575 ? 0x10000 + pointer - 189000 : MALFORMED);
}

/* ---- ISO-2022-JP: escape sequences switch between tables ---- */

enum { MODE_ASCII, MODE_ROMAN, MODE_KATAKANA, MODE_JIS0208 };

static int mode_of(unsigned a, unsigned b)
{
    if (a == '(' && b == 'B')
        return MODE_ASCII;
    if (a == '(' && b == 'J')
        return MODE_ROMAN;
    if (a == '(' && b == 'I')
        return MODE_KATAKANA;
    return a == '$' && (b == '@' || b == 'B') ? MODE_JIS0208 : -1;
}

static struct look look_escape(const struct job *j, const uint8_t *p, size_t len)
{
    bool open = len == 1 || (len == 2 && (p[1] == '$' || p[1] == '('));
    if (open && !j->last)
        return one(0, 0);
    int mode = len >= 3 ? mode_of(p[1], p[2]) : -1;
    if (mode < 0) {
        j->state->switched = 0;
        return one(1, MALFORMED);
    }
    j->state->mode = (uint8_t)mode;
    if (j->state->switched != 0) /* Two switches with nothing between. */
        return one(3, MALFORMED);
    j->state->switched = 1;
    return (struct look){.used = 3, .none = true};
}

static struct look look_iso_2022_jp(const struct job *j, const uint8_t *p, size_t len)
{
    unsigned b = p[0];
    if (b == 0x1b)
        return look_escape(j, p, len);
    unsigned mode = j->state->mode;
    if (mode == MODE_JIS0208 && within(b, 0x21, 0x7e) && len < 2)
        return one(0, 0);
    j->state->switched = 0;
    switch (mode) {
    case MODE_KATAKANA: return one(1, within(b, 0x21, 0x5f) ? 0xff61u - 0x21 + b : MALFORMED);
    case MODE_JIS0208:
        if (!within(b, 0x21, 0x7e))
            return one(1, MALFORMED);
        if (p[1] == 0x1b)
            return one(1, MALFORMED);
        if (!within(p[1], 0x21, 0x7e))
            return one(2, MALFORMED);
        uint32_t c = j->table[(b - 0x21) * 94 + p[1] - 0x21u];
        return one(2, c != 0 ? c : MALFORMED);
    default: break;
    }
    if (b >= 0x80 || b == 0x0e || b == 0x0f)
        return one(1, MALFORMED);
    if (mode == MODE_ROMAN && b == 0x5c)
        return one(1, 0xa5);
    return one(1, mode == MODE_ROMAN && b == 0x7e ? 0x203e : b);
}

/* ---- UTF-16 ---- */

static uint32_t unit_at(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

static struct look look_utf_16(const uint8_t *p, size_t len, bool big)
{
    if (len < 2)
        return one(0, 0);
    uint32_t c = unit_at(p, big);
    if ((c & 0xf800) != 0xd800)
        return one(2, c);
    if (c >= 0xdc00)
        return one(2, MALFORMED);
    if (len < 4)
        return one(0, 0);
    uint32_t next = unit_at(p + 2, big);
    if ((next & 0xfc00) != 0xdc00)
        return one(2, MALFORMED);
    return one(4, 0x10000 + ((c - 0xd800) << 10) + next - 0xdc00);
}

static struct look look(const struct job *j, const uint8_t *p, size_t len)
{
    switch (j->encoding->kind) {
    case JS_LEGACY_SINGLE: return look_single(j, p);
    case JS_LEGACY_BIG5: return look_big5(j, p, len);
    case JS_LEGACY_EUC_JP: return look_euc_jp(j, p, len);
    case JS_LEGACY_EUC_KR: return look_euc_kr(j, p, len);
    case JS_LEGACY_GB18030: return look_gb18030(j, p, len);
    case JS_LEGACY_ISO_2022_JP: return look_iso_2022_jp(j, p, len);
    case JS_LEGACY_SHIFT_JIS: return look_shift_jis(j, p, len);
    case JS_LEGACY_UTF_16BE: return look_utf_16(p, len, true);
    case JS_LEGACY_UTF_16LE: return look_utf_16(p, len, false);
    }
    CD_UNREACHABLE();
}

/* ---- The run over a piece ---- */

static size_t put(uint16_t *to, uint32_t c)
{
    if (c == MALFORMED)
        c = 0xfffd;
    if (c < 0x10000) {
        to[0] = (uint16_t)c;
        return 1;
    }
    to[0] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
    to[1] = (uint16_t)(0xdc00 + (c & 0x3ff));
    return 2;
}

/* Appends what the bytes are; *used: how many, the rest is the beginning of a character. */
static int run(const struct job *j, struct cd_str bytes, bool fatal, size_t *used, struct cd_buf *out)
{
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    /* No byte gives more than one unit: two units come of two bytes or more. */
    uint16_t *to = (uint16_t *)(void *)cd_buf_reserve(out, 2 * bytes.len);
    size_t n = 0, i = 0;
    int rc = 0;
    while (i < bytes.len) {
        struct look l = look(j, p + i, bytes.len - i);
        if (l.used == 0)
            break;
        if (l.c == MALFORMED && fatal) {
            rc = CD_ECORRUPT;
            break;
        }
        i += l.used;
        if (l.none)
            continue;
        n += put(to + n, l.c);
        if (l.second != 0)
            n += put(to + n, l.second);
    }
    out->len += 2 * n;
    *used = i;
    return rc;
}

int js_legacy_decode(const struct js_legacy *e, const uint32_t *table, struct js_legacy_state *s,
                     struct cd_str bytes, bool fatal, bool last, struct cd_buf *out)
{
    CD_ASSERT(out->len % 2 == 0);
    CD_ASSERT(s->pending <= sizeof s->byte);
    struct cd_buf joined = {0};
    if (s->pending > 0) {
        cd_buf_add(&joined, s->byte, s->pending);
        cd_buf_add_str(&joined, bytes);
        bytes = cd_buf_str(&joined);
        s->pending = 0;
    }
    const struct job j = {.encoding = e, .table = table, .state = s, .last = last};
    size_t used;
    int rc = run(&j, bytes, fatal, &used, out);
    size_t rest = bytes.len - used;
    if (rc == 0 && rest > 0 && last) {
        const uint16_t replacement = 0xfffd;
        if (fatal)
            rc = CD_ECORRUPT;
        else
            cd_buf_add(out, &replacement, sizeof replacement);
    }
    if (rc != 0 || last) {
        *s = (struct js_legacy_state){0};
    } else if (rest > 0) {
        CD_ASSERT(rest <= sizeof s->byte);
        s->pending = (uint8_t)rest;
        memcpy(s->byte, bytes.ptr + used, rest);
    }
    cd_buf_deinit(&joined);
    return rc;
}
