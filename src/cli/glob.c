/* cli/glob.c: the patterns of --watch-ignore (operations.md 4.5). */
#include "cli/text.h"

/* The set that begins at *p behind its bracket, which is closed (cli_glob_check): whether it has c. Moves *p
 * behind its end. */
static bool set_has(struct cd_str pattern, size_t *p, char c)
{
    size_t at = *p;
    bool negated = at < pattern.len && pattern.ptr[at] == '!', has = false;
    at += negated ? 1 : 0;
    for (size_t first = at; at < pattern.len && (pattern.ptr[at] != ']' || at == first); at++) {
        char low = pattern.ptr[at], high = low;
        if (at + 2 < pattern.len && pattern.ptr[at + 1] == '-' && pattern.ptr[at + 2] != ']') {
            high = pattern.ptr[at + 2];
            at += 2;
        }
        has = has || ((unsigned char)low <= (unsigned char)c && (unsigned char)c <= (unsigned char)high);
    }
    *p = at + 1;
    return has != negated;
}

/* One character of the pattern, which is no *, against c. */
static bool char_fits(struct cd_str pattern, size_t *p, char c)
{
    char want = pattern.ptr[(*p)++];
    if (want == '?')
        return true;
    if (want == '[')
        return set_has(pattern, p, c);
    if (want == '\\' && *p < pattern.len)
        want = pattern.ptr[(*p)++];
    return want == c;
}

/* A name against a pattern without slashes. When it does not fit, the last star takes one character more. */
static bool name_fits(struct cd_str pattern, struct cd_str name)
{
    size_t p = 0, n = 0, star = SIZE_MAX, taken = 0;
    while (n < name.len) {
        size_t next = p;
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = ++p;
            taken = n;
        } else if (p < pattern.len && char_fits(pattern, &next, name.ptr[n])) {
            p = next;
            n++;
        } else if (star != SIZE_MAX) {
            p = star;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

static struct cd_str segment_at(struct cd_str text, size_t at)
{
    return cd_str_sub(text, at, cd_str_find(text, '/', at) - at);
}

/* Behind the segment at `at` and its slash. */
static size_t segment_next(struct cd_str text, size_t at)
{
    size_t slash = cd_str_find(text, '/', at);
    return slash == SIZE_MAX ? text.len : slash + 1;
}

/* The same as name_fits, by names, with ** as the star. A pattern that is used up covers all that lies below.
 */
bool cli_glob_match(struct cd_str pattern, struct cd_str path)
{
    size_t p = 0, n = 0, star = SIZE_MAX, taken = 0;
    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '/')
        pattern.len--;
    while (n < path.len) {
        if (p >= pattern.len)
            return true;
        struct cd_str segment = segment_at(pattern, p);
        if (cd_str_eq(segment, CD_STR("**"))) {
            star = p = segment_next(pattern, p);
            if (star >= pattern.len)
                return true;
            taken = n;
        } else if (name_fits(segment, segment_at(path, n))) {
            p = segment_next(pattern, p);
            n = segment_next(path, n);
        } else if (star != SIZE_MAX) {
            p = star;
            n = taken = segment_next(path, taken);
        } else {
            return false;
        }
    }
    return p >= pattern.len;
}
