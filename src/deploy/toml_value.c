/* deploy/toml_value.c: TOML 1.0, values: strings, numbers, dates, arrays, inline tables.
 *
 * Recursion is as deep as values nest, which DEPLOY_DEPTH_MAX bounds. */
#include "base/timetext.h"
#include "deploy/toml_internal.h"

/* ---- Strings ---- */

static int read_code(struct toml *p, size_t digits, size_t start)
{
    uint64_t code;
    struct cd_str text = cd_str_sub(p->text, p->at, digits);
    if (text.len < digits || cd_str_hex_u64(text, &code) != 0)
        return deploy_toml_fault(p, start, "\\%c needs %zu hexadecimal digits", digits == 4 ? 'u' : 'U',
                                 digits);
    if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return deploy_toml_fault(p, start, "no character of Unicode");
    p->at += digits;
    deploy_utf8_add(&p->string, (uint32_t)code);
    return 0;
}

/* A backslash at the end of a line of a multi-line string: all blank up to the next character goes. */
static bool skip_folded(struct toml *p)
{
    size_t start = p->at;
    deploy_toml_skip_space(p);
    if (!deploy_toml_newline(p)) {
        p->at = start;
        return false;
    }
    do {
        deploy_toml_skip_space(p);
    } while (deploy_toml_newline(p));
    return true;
}

static int read_escape(struct toml *p, bool multiline)
{
    static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    size_t start = p->at++;
    if (multiline && skip_folded(p))
        return 0;
    char c = toml_peek(p, 0);
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name != NULL) {
        p->at++;
        cd_buf_add_byte(&p->string, values[name - names]);
        return 0;
    }
    if (c != 'u' && c != 'U')
        return deploy_toml_fault(p, start, "no escape of TOML");
    p->at++;
    return read_code(p, c == 'u' ? 4 : 8, start);
}

/* Quotes at p->at, at most max. */
static size_t count_quotes(const struct toml *p, char quote, size_t max)
{
    size_t count = 0;
    while (count < max && toml_peek(p, count) == quote)
        count++;
    return count;
}

/* One piece of a string that is not its end. Lines of a multi-line string end in LF, however the file ends
 * its own: the same project has the same value on every machine. */
static int read_piece(struct toml *p, size_t start, char quote, bool multiline)
{
    unsigned char c = (unsigned char)toml_peek(p, 0);
    if (toml_end(p))
        return deploy_toml_fault(p, start, "this string has no end");
    if (c == '\\' && quote == '"')
        return read_escape(p, multiline);
    if (c == '\n' || toml_looks_at(p, CD_STR("\r\n"))) {
        if (!multiline)
            return deploy_toml_fault(p, start, "this string has no end in its line");
        (void)deploy_toml_newline(p);
        cd_buf_add_byte(&p->string, '\n');
        return 0;
    }
    if ((c < 0x20 && c != '\t') || c == 0x7f)
        return deploy_toml_fault(p, p->at, "control character 0x%02x in a string", (unsigned)c);
    cd_buf_add_byte(&p->string, (char)c);
    p->at++;
    return 0;
}

int deploy_toml_string(struct toml *p, bool may_be_multiline)
{
    size_t start = p->at;
    char quote = toml_peek(p, 0);
    bool multiline = count_quotes(p, quote, 3) == 3;
    cd_buf_clear(&p->string);
    if (multiline && !may_be_multiline)
        return deploy_toml_fault(p, start, "a key cannot have several lines");
    p->at += multiline ? 3 : 1;
    if (multiline)
        (void)deploy_toml_newline(p); /* A line end right behind the opening does not count. */
    for (;;) {
        size_t quotes = count_quotes(p, quote, multiline ? 5 : 1);
        if (quotes >= (multiline ? 3u : 1u)) { /* Up to two more belong to the string. */
            cd_buf_add(&p->string, p->text.ptr + p->at, multiline ? quotes - 3 : 0);
            p->at += quotes;
            return 0;
        }
        cd_buf_add(&p->string, p->text.ptr + p->at, quotes);
        p->at += quotes;
        int rc = read_piece(p, start, quote, multiline);
        if (rc != 0)
            return rc;
    }
}

/* ---- Numbers ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits of a base with single underscores between them, into p->string. */
static bool take_digits(struct toml *p, bool hex)
{
    bool any = false;
    for (;;) {
        char c = toml_peek(p, 0);
        bool digit = is_digit(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
        if (digit) {
            cd_buf_add_byte(&p->string, c);
            any = true;
        } else if (c != '_' || !any || p->text.ptr[p->at - 1] == '_') {
            return any && p->text.ptr[p->at - 1] != '_';
        }
        p->at++;
    }
}

static void finish_number(struct toml *p, size_t start, struct deploy_node **out)
{
    *out = deploy_builder_node(&p->build, DEPLOY_NUMBER, start);
    (*out)->text = cd_arena_copy(p->build.arena, cd_buf_str(&p->string));
}

/* Behind 0x, 0o, 0b. */
static int read_based(struct toml *p, size_t start, unsigned bits, struct deploy_node **out)
{
    uint64_t value = 0;
    p->at += 2;
    if (!take_digits(p, bits == 4))
        return deploy_toml_fault(p, start, "not a number");
    for (size_t i = 0; i < p->string.len; i++) {
        uint64_t digit;
        if (cd_str_hex_u64(cd_str_of(p->string.ptr + i, 1), &digit) != 0 || digit >> bits != 0)
            return deploy_toml_fault(p, start, "not a number");
        if (value > (uint64_t)INT64_MAX >> bits)
            return deploy_toml_fault(p, start, "an integer has at most 63 bits");
        value = value << bits | digit;
    }
    cd_buf_clear(&p->string);
    cd_buf_addf(&p->string, "%llu", (unsigned long long)value);
    finish_number(p, start, out);
    return 0;
}

static int read_decimal(struct toml *p, size_t start, bool negative, struct deploy_node **out)
{
    if (negative)
        cd_buf_add_byte(&p->string, '-');
    size_t first = p->string.len;
    if (!take_digits(p, false))
        return deploy_toml_fault(p, start, "not a number");
    if (p->string.ptr[first] == '0' && p->string.len - first > 1)
        return deploy_toml_fault(p, start, "a number does not start with 0");
    bool whole = true;
    if (toml_peek(p, 0) == '.') {
        whole = false;
        p->at++;
        cd_buf_add_byte(&p->string, '.');
        if (!take_digits(p, false))
            return deploy_toml_fault(p, start, "digits are missing behind the point");
    }
    if (toml_peek(p, 0) == 'e' || toml_peek(p, 0) == 'E') {
        whole = false;
        p->at++;
        cd_buf_add_byte(&p->string, 'e');
        if (toml_peek(p, 0) == '+' || toml_peek(p, 0) == '-')
            cd_buf_add_byte(&p->string, p->text.ptr[p->at++]);
        if (!take_digits(p, false))
            return deploy_toml_fault(p, start, "digits are missing in the exponent");
    }
    uint64_t value;
    if (whole && (cd_str_u64(cd_str_sub(cd_buf_str(&p->string), first, SIZE_MAX), &value) != 0 ||
                  value > (uint64_t)INT64_MAX + (negative ? 1 : 0)))
        return deploy_toml_fault(p, start, "an integer has at most 63 bits");
    if (whole && value == 0) { /* An integer has one zero. */
        cd_buf_clear(&p->string);
        cd_buf_add_byte(&p->string, '0');
    }
    finish_number(p, start, out);
    return 0;
}

static int read_number(struct toml *p, struct deploy_node **out)
{
    size_t start = p->at;
    char sign = toml_peek(p, 0);
    bool has_sign = sign == '+' || sign == '-';
    cd_buf_clear(&p->string);
    if (has_sign)
        p->at++;
    if (toml_looks_at(p, CD_STR("inf")) || toml_looks_at(p, CD_STR("nan"))) {
        p->at += 3;
        *out = deploy_builder_node(&p->build, DEPLOY_NOT_A_NUMBER, start);
        (*out)->text = cd_arena_copy(p->build.arena, cd_str_sub(p->text, start, p->at - start));
        return 0;
    }
    char base = toml_peek(p, 0) == '0' ? toml_peek(p, 1) : '\0';
    if (base == 'x' || base == 'o' || base == 'b') {
        if (has_sign)
            return deploy_toml_fault(p, start, "a number in base 16, 8 or 2 has no sign");
        return read_based(p, start, base == 'x' ? 4 : base == 'o' ? 3 : 1, out);
    }
    return read_decimal(p, start, sign == '-', out);
}

/* ---- Dates and times ---- */

/* count digits at the front of s, and what follows them, if anything. */
static bool take_field(struct cd_str *s, size_t count, char behind, int *out)
{
    uint64_t value;
    if (s->len < count || cd_str_u64(cd_str_sub(*s, 0, count), &value) != 0)
        return false;
    *s = cd_str_sub(*s, count, SIZE_MAX);
    *out = (int)value;
    if (behind == '\0')
        return true;
    if (s->len == 0 || s->ptr[0] != behind)
        return false;
    *s = cd_str_sub(*s, 1, SIZE_MAX);
    return true;
}

static bool take_date(struct cd_str *s)
{
    struct cd_date d = {0};
    if (!take_field(s, 4, '-', &d.year) || !take_field(s, 2, '-', &d.month) ||
        !take_field(s, 2, '\0', &d.day))
        return false;
    struct cd_date real = cd_date_of(cd_date_ms(&d)); /* A day that does not exist becomes another. */
    return real.year == d.year && real.month == d.month && real.day == d.day;
}

static bool take_time(struct cd_str *s)
{
    int hour, minute, second;
    if (!take_field(s, 2, ':', &hour) || !take_field(s, 2, ':', &minute) || !take_field(s, 2, '\0', &second))
        return false;
    if (s->len > 0 && s->ptr[0] == '.') {
        size_t digits = 1;
        while (digits < s->len && is_digit(s->ptr[digits]))
            digits++;
        if (digits == 1)
            return false;
        *s = cd_str_sub(*s, digits, SIZE_MAX);
    }
    return hour <= 23 && minute <= 59 && second <= 60; /* 60: a leap second. */
}

static bool take_zone(struct cd_str *s)
{
    int hour, minute;
    if (s->len == 0)
        return true; /* Local. */
    char c = s->ptr[0];
    *s = cd_str_sub(*s, 1, SIZE_MAX);
    if (c == 'Z' || c == 'z')
        return true;
    return (c == '+' || c == '-') && take_field(s, 2, ':', &hour) && take_field(s, 2, '\0', &minute) &&
           hour <= 23 && minute <= 59;
}

static bool is_date(struct cd_str s)
{
    if (s.len > 2 && s.ptr[2] == ':')
        return take_time(&s) && s.len == 0;
    if (!take_date(&s))
        return false;
    if (s.len == 0)
        return true;
    if (s.ptr[0] != 'T' && s.ptr[0] != 't' && s.ptr[0] != ' ')
        return false;
    s = cd_str_sub(s, 1, SIZE_MAX);
    return take_time(&s) && take_zone(&s) && s.len == 0;
}

static bool is_date_char(char c)
{
    return is_digit(c) || c == '-' || c == ':' || c == '.' || c == '+' || c == 'T' || c == 't' || c == 'Z' ||
           c == 'z';
}

/* Whether a date or a time starts here: four digits and a dash, or two and a colon. */
static bool starts_date(const struct toml *p)
{
    size_t digits = 0;
    while (digits < 5 && is_digit(toml_peek(p, digits)))
        digits++;
    return (digits == 4 && toml_peek(p, 4) == '-') || (digits == 2 && toml_peek(p, 2) == ':');
}

static int read_date(struct toml *p, struct deploy_node **out)
{
    size_t start = p->at, end = p->at;
    while (end < p->text.len && is_date_char(p->text.ptr[end]))
        end++;
    /* A space may stand for the T between date and time. */
    if (end - start == 10 && end + 1 < p->text.len && p->text.ptr[end] == ' ' &&
        is_digit(p->text.ptr[end + 1])) {
        end++;
        while (end < p->text.len && is_date_char(p->text.ptr[end]))
            end++;
    }
    struct cd_str text = cd_str_sub(p->text, start, end - start);
    if (!is_date(text))
        return deploy_toml_fault(p, start, "%.*s is no date and no time",
                                 (int)(text.len < 40 ? text.len : 40), text.ptr);
    p->at = end;
    *out = deploy_builder_node(&p->build, DEPLOY_DATE, start);
    (*out)->text = cd_arena_copy(p->build.arena, text);
    return 0;
}

/* ---- Arrays and inline tables ---- */

static int read_array(struct toml *p, struct deploy_node **out)
{
    *out = deploy_builder_node(&p->build, DEPLOY_ARRAY, p->at++);
    for (;;) {
        struct deploy_node *item;
        int rc = deploy_toml_skip_blank(p);
        if (rc == 0 && toml_peek(p, 0) == ']')
            break;
        if (rc == 0)
            rc = deploy_toml_value(p, &item);
        if (rc != 0)
            return rc;
        deploy_builder_item(*out, item);
        rc = deploy_toml_skip_blank(p);
        if (rc != 0)
            return rc;
        if (toml_peek(p, 0) == ']')
            break;
        if (toml_peek(p, 0) != ',')
            return deploy_toml_unexpected(p, "',' or ']'");
        p->at++;
    }
    p->at++;
    return 0;
}

/* Its tables of dotted keys are complete with it: they are reached through it only. */
static int read_inline(struct toml *p, struct deploy_node **out)
{
    *out = deploy_builder_node(&p->build, DEPLOY_OBJECT, p->at++);
    deploy_toml_skip_space(p);
    while (toml_peek(p, 0) != '}' || (*out)->count > 0) {
        int rc = deploy_toml_pair(p, *out);
        if (rc != 0)
            return rc;
        deploy_toml_skip_space(p);
        if (toml_peek(p, 0) == '}')
            break;
        if (toml_peek(p, 0) != ',')
            return deploy_toml_unexpected(p, "',' or '}'");
        p->at++;
    }
    p->at++;
    return 0;
}

static int read_bool(struct toml *p, struct deploy_node **out)
{
    static const char *const words[] = {"false", "true"};
    for (unsigned i = 0; i < CD_COUNT(words); i++) {
        if (!toml_looks_at(p, cd_str(words[i])))
            continue;
        *out = deploy_builder_node(&p->build, DEPLOY_BOOL, p->at);
        (*out)->flag = i == 1;
        p->at += strlen(words[i]);
        return 0;
    }
    return deploy_toml_unexpected(p, "a value");
}

int deploy_toml_value(struct toml *p, struct deploy_node **out)
{
    char c = toml_peek(p, 0);
    size_t start = p->at;
    if (c == '[' || c == '{') {
        if (p->depth >= DEPLOY_DEPTH_MAX)
            return deploy_toml_fault(p, start, "nested deeper than %d levels", DEPLOY_DEPTH_MAX);
        p->depth++;
        int rc = c == '[' ? read_array(p, out) : read_inline(p, out);
        p->depth--;
        return rc;
    }
    if (starts_date(p))
        return read_date(p, out);
    if (is_digit(c) || c == '+' || c == '-' || toml_looks_at(p, CD_STR("inf")) ||
        toml_looks_at(p, CD_STR("nan")))
        return read_number(p, out);
    if (c != '"' && c != '\'')
        return read_bool(p, out);
    int rc = deploy_toml_string(p, true);
    if (rc != 0)
        return rc;
    *out = deploy_builder_node(&p->build, DEPLOY_STRING, start);
    (*out)->text = cd_arena_copy(p->build.arena, cd_buf_str(&p->string));
    return 0;
}
