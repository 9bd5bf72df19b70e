/* cli/text.c: text for messages and help. */
#include "cli/text.h"

#define DISTANCE_MAX 64

/* Bytes of the character that text starts with, when a terminal may see it; else 0. */
static size_t shown_len(struct cd_str text)
{
    unsigned char c = (unsigned char)text.ptr[0];
    if (c < 0x80)
        return c < 0x20 || c == 0x7f ? 0 : 1;
    size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (text.len < len || !cd_str_is_utf8(cd_str_sub(text, 0, len)))
        return 0;
    return c == 0xc2 && (unsigned char)text.ptr[1] < 0xa0 ? 0 : len; /* U+0080 to U+009F. */
}

static void escape(struct cd_buf *out, struct cd_str text)
{
    static const char hex[] = "0123456789abcdef";
    while (text.len > 0) {
        size_t len = shown_len(text);
        if (len == 0) {
            unsigned char c = (unsigned char)text.ptr[0];
            cd_buf_add_str(out, CD_STR("\\x"));
            cd_buf_add_byte(out, hex[c >> 4]);
            cd_buf_add_byte(out, hex[c & 15]);
            len = 1;
        } else {
            cd_buf_add(out, text.ptr, len);
        }
        text = cd_str_sub(text, len, SIZE_MAX);
    }
}

/* Where the user and password of the URL at the start of text end, behind their last @; 0: it has none. A
 * password may have a slash in it, although it should not. */
static size_t user_len(struct cd_str text)
{
    size_t end = 0;
    for (size_t i = 0; i < text.len && text.ptr[i] != '"' && (unsigned char)text.ptr[i] > ' '; i++) {
        if (text.ptr[i] == '@')
            end = i + 1;
    }
    return end;
}

void cli_echo(struct cd_buf *out, struct cd_str text)
{
    size_t slashes;
    while ((slashes = cd_str_find_str(text, CD_STR("://"), 0)) != SIZE_MAX) {
        escape(out, cd_str_sub(text, 0, slashes + 3));
        text = cd_str_sub(text, slashes + 3, SIZE_MAX);
        size_t user = user_len(text);
        if (user > 0)
            cd_buf_add_str(out, CD_STR("***@"));
        text = cd_str_sub(text, user, SIZE_MAX);
    }
    escape(out, text);
}

void cli_quote(struct cd_buf *out, struct cd_str text)
{
    cd_buf_add_byte(out, '"');
    cli_echo(out, text);
    cd_buf_add_byte(out, '"');
}

bool cli_is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool cli_is_http_url(struct cd_str text)
{
    size_t scheme = cd_str_starts(text, CD_STR("http://"))    ? 7
                    : cd_str_starts(text, CD_STR("https://")) ? 8
                                                              : 0;
    if (scheme == 0 || text.len == scheme || text.ptr[scheme] == '/' || text.ptr[scheme] == ':')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if ((unsigned char)text.ptr[i] <= ' ')
            return false;
    }
    return true;
}

unsigned cli_text_distance(struct cd_str a, struct cd_str b)
{
    unsigned row[DISTANCE_MAX + 1];
    if (a.len > DISTANCE_MAX || b.len > DISTANCE_MAX)
        return DISTANCE_MAX;
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            unsigned add = row[j - 1] + 1, drop = row[j] + 1;
            diagonal = row[j];
            row[j] = change < add ? change : add;
            row[j] = row[j] < drop ? row[j] : drop;
        }
    }
    return row[b.len];
}

int cli_glob_check(struct cd_str pattern, struct cd_buf *why)
{
    const char *reason = NULL;
    if (pattern.len == 0)
        reason = "it is empty";
    else if (pattern.ptr[0] == '/')
        reason = "it must be relative to the project";
    for (size_t i = 0; reason == NULL && i < pattern.len; i++) {
        if (pattern.ptr[i] == '\\') {
            if (++i == pattern.len)
                reason = "nothing follows the last \\";
        } else if (pattern.ptr[i] == '[') {
            /* The first ] belongs to the set, as in []a]. */
            size_t first = i + 1 + (cd_str_starts(cd_str_sub(pattern, i + 1, 1), CD_STR("!")) ? 1 : 0);
            i = cd_str_find(pattern, ']', first + 1);
            if (i == SIZE_MAX) {
                reason = "a [ is not closed";
                break;
            }
        }
    }
    if (reason != NULL)
        cd_buf_addf(why, "%s", reason);
    return reason == NULL ? 0 : CD_ESYNTAX;
}

void cli_wrap(struct cd_buf *out, struct cd_str text, unsigned indent, unsigned width, unsigned column)
{
    struct cd_str word;
    bool fresh = true;
    while (cd_str_next(&text, ' ', &word)) {
        if (!fresh && column + 1 + word.len > width) {
            cd_buf_addf(out, "\n%*s", (int)indent, "");
            column = indent;
            fresh = true;
        }
        cd_buf_addf(out, "%s%.*s", fresh ? "" : " ", (int)word.len, word.ptr);
        column += (unsigned)word.len + (fresh ? 0 : 1);
        fresh = false;
    }
}

const char *cli_text_number(struct cd_str text, uint64_t *out)
{
    if (text.len == 0)
        return "empty value";
    switch (cd_str_u64(cd_str_sub(text, text.ptr[0] == '+', SIZE_MAX), out)) {
    case 0: return NULL;
    case CD_ETOOBIG: return "out of range";
    default: return "not a decimal integer";
    }
}
