/* js/legacy.h: the decoders of the Encoding standard other than UTF-8. runtime.md 5.3.
 *
 * ICU knows the characters, but its converters disagree with the standard about malformed input and about
 * some code points. So ICU only fills tables, legacy_table.c mends what differs, and the decoders here follow
 * the standard. A table belongs to the caller: it is made once and given to each call. */
#ifndef JS_LEGACY_H
#define JS_LEGACY_H

#include "base/buf.h"

struct js_legacy; /* One encoding. */

/* By the name that the standard gives it ("shift_jis", "utf-16le"); NULL when there is none of that name. */
const struct js_legacy *js_legacy_find(struct cd_str name);
/* Entries of its table, code points by "pointer", 0 where there is none. 0 entries: it needs no table. */
size_t js_legacy_table_len(const struct js_legacy *e);
/* Fills it: up to some milliseconds. CD_EUNSUPPORTED: this ICU lacks the converter. */
CD_MUST_USE int js_legacy_table(const struct js_legacy *e, uint32_t *table);

/* Where a decoder stands between two pieces of a text. Zeroed: at the beginning. */
struct js_legacy_state {
    uint8_t pending, byte[3]; /* The beginning of a character. */
    uint8_t mode, back, switched, spare; /* Of ISO-2022-JP. */
};
/* Appends UTF-16 units to out. last: nothing follows; the state begins anew. CD_ECORRUPT: malformed, with
 * fatal only; else malformed input becomes U+FFFD. */
CD_MUST_USE int js_legacy_decode(const struct js_legacy *e, const uint32_t *table, struct js_legacy_state *s,
                                 struct cd_str bytes, bool fatal, bool last, struct cd_buf *out);

/* ---- Between the two files ---- */

enum js_legacy_kind {
    JS_LEGACY_SINGLE,
    JS_LEGACY_BIG5,
    JS_LEGACY_EUC_JP,
    JS_LEGACY_EUC_KR,
    JS_LEGACY_GB18030,
    JS_LEGACY_ISO_2022_JP,
    JS_LEGACY_SHIFT_JIS,
    JS_LEGACY_UTF_16BE,
    JS_LEGACY_UTF_16LE,
};
struct js_legacy {
    const char *name, *icu;
    enum js_legacy_kind kind;
};

enum {
    JS_BIG5_LEN = 126 * 157,
    JS_EUC_KR_LEN = 126 * 190,
    JS_JIS0208_LEN = 11280,
    JS_JIS0212_LEN = 94 * 94,
    JS_GBK_LEN = 126 * 190,
    JS_GB18030_BMP_LEN = 39420, /* Of the sequences of four bytes, those for the first plane. */
};

#endif
