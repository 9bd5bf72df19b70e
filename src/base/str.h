/* base/str.h: borrowed text and bytes.
 *
 * struct cd_str never owns. It is valid for the call only, or, given to an op, until its done. It is not
 * NUL-terminated; an empty one may have a NULL ptr. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <string.h>

#include "base/cd.h"

struct cd_str {
    const char *ptr;
    size_t len;
};

#define CD_STR(literal) ((struct cd_str){"" literal, sizeof(literal) - 1})

static inline struct cd_str cd_str(const char *text)
{
    return (struct cd_str){text, text == NULL ? 0 : strlen(text)};
}

static inline struct cd_str cd_str_of(const void *ptr, size_t len)
{
    return (struct cd_str){(const char *)ptr, len};
}

/* The bytes from..from+len of s, cut to what s has. */
struct cd_str cd_str_sub(struct cd_str s, size_t from, size_t len);
bool cd_str_eq(struct cd_str a, struct cd_str b);
/* ASCII only: no locale decides anything here. */
bool cd_str_eq_nocase(struct cd_str a, struct cd_str b);
bool cd_str_starts(struct cd_str s, struct cd_str prefix);
bool cd_str_ends(struct cd_str s, struct cd_str suffix);
/* Bytewise order, shorter first on a tie: <0, 0, >0. */
int cd_str_cmp(struct cd_str a, struct cd_str b);
/* Index of the first match at or after from, or SIZE_MAX. */
size_t cd_str_find(struct cd_str s, char byte, size_t from);
size_t cd_str_find_str(struct cd_str s, struct cd_str what, size_t from);
/* Without spaces, tabs, CR and LF at both ends. */
struct cd_str cd_str_trim(struct cd_str s);
/* Takes the next piece up to sep off the front of rest. False when rest is exhausted (rest->ptr is NULL
 * then). "a,,b" gives "a", "", "b"; an empty text gives one empty piece. */
bool cd_str_next(struct cd_str *rest, char sep, struct cd_str *piece);
/* Strict decimal: digits only, no sign, no spaces. CD_ESYNTAX, or CD_ETOOBIG past 64 bits. */
CD_MUST_USE int cd_str_u64(struct cd_str s, uint64_t *out);
CD_MUST_USE int cd_str_hex_u64(struct cd_str s, uint64_t *out);
/* Whether s is well-formed UTF-8 (no surrogates, no overlong forms). */
bool cd_str_is_utf8(struct cd_str s);
/* Length of the well-formed UTF-8 sequence at the front of s, 1..4; 0 when there is none. */
size_t cd_utf8_len(struct cd_str s);
/* A heap copy with a NUL behind it; the caller frees it with cd_free. */
char *cd_str_dup(struct cd_str s);

#endif
