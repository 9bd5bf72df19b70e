/* deploy/jsonc.c: JSON with comments and trailing commas (config.md 1); strict in all else.
 *
 * Recursion is as deep as the file nests, which DEPLOY_DEPTH_MAX bounds. */
#include "deploy/tree.h"

struct jsonc {
    struct deploy_builder build;
    struct cd_str text;
    size_t at;
    unsigned depth;
    struct cd_buf string; /* owned; of the string being read */
    struct deploy_fault *fault;
};

CD_PRINTF(3, 4) static int fault(struct jsonc *p, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->fault->at = at;
    cd_buf_vaddf(&p->fault->why, format, args);
    va_end(args);
    return CD_ESYNTAX;
}

static bool at_end(const struct jsonc *p)
{
    return p->at >= p->text.len;
}

static char peek(const struct jsonc *p) /* NUL at the end; a NUL in the file is no token either. */
{
    return at_end(p) ? '\0' : p->text.ptr[p->at];
}

static bool looks_at(const struct jsonc *p, const char *word)
{
    return cd_str_starts(cd_str_sub(p->text, p->at, SIZE_MAX), cd_str(word));
}

/* "found 'x'", with what stands there readable on a terminal. */
static int unexpected(struct jsonc *p, const char *wanted)
{
    if (at_end(p))
        return fault(p, p->at, "the file ends where %s was expected", wanted);
    struct cd_str rest = cd_str_sub(p->text, p->at, SIZE_MAX);
    struct cd_buf shown = {0};
    cd_json_escape(&shown, cd_str_sub(rest, 0, cd_utf8_len(rest)));
    int rc = fault(p, p->at, "expected %s, found '%s'", wanted, cd_buf_cstr(&shown));
    cd_buf_deinit(&shown);
    return rc;
}

static int skip_blank(struct jsonc *p)
{
    for (;;) {
        char c = peek(p);
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            p->at++;
        } else if (looks_at(p, "//")) {
            size_t end = cd_str_find(p->text, '\n', p->at);
            p->at = end == SIZE_MAX ? p->text.len : end;
        } else if (looks_at(p, "/*")) {
            size_t end = cd_str_find_str(p->text, CD_STR("*/"), p->at + 2);
            if (end == SIZE_MAX)
                return fault(p, p->at, "this comment has no end");
            p->at = end + 2;
        } else {
            return 0;
        }
    }
}

static int read_hex4(struct jsonc *p, uint32_t *out)
{
    uint64_t code;
    struct cd_str digits = cd_str_sub(p->text, p->at, 4);
    if (digits.len < 4 || cd_str_hex_u64(digits, &code) != 0)
        return fault(p, p->at, "\\u needs four hexadecimal digits");
    p->at += 4;
    *out = (uint32_t)code;
    return 0;
}

/* Behind \u. Half a surrogate pair is no character, and UTF-8 has no bytes for it. */
static int read_unicode(struct jsonc *p, size_t start)
{
    uint32_t code, low;
    int rc = read_hex4(p, &code);
    if (rc != 0)
        return rc;
    if (code >= 0xd800 && code <= 0xdbff && looks_at(p, "\\u")) {
        p->at += 2;
        rc = read_hex4(p, &low);
        if (rc != 0)
            return rc;
        if (low < 0xdc00 || low > 0xdfff)
            return fault(p, start, "half of a surrogate pair is no character");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code <= 0xdfff)
        return fault(p, start, "half of a surrogate pair is no character");
    deploy_utf8_add(&p->string, code);
    return 0;
}

static int read_escape(struct jsonc *p)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    size_t start = p->at++;
    char c = peek(p);
    const char *name = c == '\0' ? NULL : strchr(names, c);
    if (name != NULL) {
        p->at++;
        cd_buf_add_byte(&p->string, values[name - names]);
        return 0;
    }
    if (c != 'u')
        return fault(p, start, "no escape of JSON");
    p->at++;
    return read_unicode(p, start);
}

/* Into p->string. p->at is at the opening quote. */
static int read_string(struct jsonc *p)
{
    size_t start = p->at++;
    cd_buf_clear(&p->string);
    for (;;) {
        size_t from = p->at;
        while (!at_end(p) && peek(p) != '"' && peek(p) != '\\' && (unsigned char)peek(p) >= 0x20)
            p->at++;
        cd_buf_add(&p->string, p->text.ptr + from, p->at - from);
        if (at_end(p) || peek(p) == '\n')
            return fault(p, start, "this string has no end in its line");
        if (peek(p) == '"') {
            p->at++;
            return 0;
        }
        if (peek(p) != '\\')
            return fault(p, p->at, "control character 0x%02x in a string: write \\u%04x",
                         (unsigned)(unsigned char)peek(p), (unsigned)(unsigned char)peek(p));
        int rc = read_escape(p);
        if (rc != 0)
            return rc;
    }
}

static bool skip_digits(struct jsonc *p)
{
    size_t from = p->at;
    while (peek(p) >= '0' && peek(p) <= '9')
        p->at++;
    return p->at > from;
}

static int read_number(struct jsonc *p, struct deploy_node **out)
{
    size_t start = p->at;
    if (peek(p) == '-')
        p->at++;
    size_t digits = p->at;
    if (!skip_digits(p))
        return unexpected(p, "a digit");
    if (p->text.ptr[digits] == '0' && p->at - digits > 1)
        return fault(p, start, "a number does not start with 0");
    if (peek(p) == '.') {
        p->at++;
        if (!skip_digits(p))
            return unexpected(p, "a digit");
    }
    if (peek(p) == 'e' || peek(p) == 'E') {
        p->at++;
        if (peek(p) == '+' || peek(p) == '-')
            p->at++;
        if (!skip_digits(p))
            return unexpected(p, "a digit");
    }
    *out = deploy_builder_node(&p->build, DEPLOY_NUMBER, start);
    (*out)->text = cd_arena_copy(p->build.arena, cd_str_sub(p->text, start, p->at - start));
    return 0;
}

static int read_value(struct jsonc *p, struct deploy_node **out);

/* One member, key and value. */
static int read_member(struct jsonc *p, struct deploy_node *object)
{
    size_t key_at = p->at;
    if (peek(p) != '"')
        return unexpected(p, "a key in double quotes or '}'");
    int rc = read_string(p);
    if (rc != 0)
        return rc;
    struct deploy_node *before = deploy_builder_find(&p->build, object, cd_buf_str(&p->string));
    if (before != NULL) {
        struct cd_buf shown = {0};
        struct deploy_place first = deploy_place_of(p->text, before->key_at);
        cd_json_quote(&shown, before->key);
        rc = fault(p, key_at, "duplicate key %s, first at line %u, column %u", cd_buf_cstr(&shown),
                   first.line, first.column);
        cd_buf_deinit(&shown);
        return rc;
    }
    struct cd_str key = cd_arena_copy(p->build.arena, cd_buf_str(&p->string));
    rc = skip_blank(p);
    if (rc != 0)
        return rc;
    if (peek(p) != ':')
        return unexpected(p, "':'");
    p->at++;
    struct deploy_node *value;
    rc = read_value(p, &value);
    if (rc == 0)
        deploy_builder_member(&p->build, object, key, key_at, value);
    return rc;
}

static int read_item(struct jsonc *p, struct deploy_node *array)
{
    struct deploy_node *value;
    int rc = read_value(p, &value);
    if (rc == 0)
        deploy_builder_item(array, value);
    return rc;
}

static int read_container(struct jsonc *p, struct deploy_node **out)
{
    size_t start = p->at++;
    bool object = p->text.ptr[start] == '{';
    char close = object ? '}' : ']';
    if (++p->depth > DEPLOY_DEPTH_MAX)
        return fault(p, start, "nested deeper than %d levels", DEPLOY_DEPTH_MAX);
    *out = deploy_builder_node(&p->build, object ? DEPLOY_OBJECT : DEPLOY_ARRAY, start);
    for (;;) {
        int rc = skip_blank(p);
        if (rc != 0)
            return rc;
        if (peek(p) == close)
            break;
        rc = object ? read_member(p, *out) : read_item(p, *out);
        if (rc == 0)
            rc = skip_blank(p);
        if (rc != 0)
            return rc;
        if (peek(p) == close)
            break;
        if (peek(p) != ',')
            return unexpected(p, object ? "',' or '}'" : "',' or ']'");
        p->at++; /* A closing bracket may follow it. */
    }
    p->at++;
    p->depth--;
    return 0;
}

static int read_word(struct jsonc *p, struct deploy_node **out)
{
    static const struct {
        const char *word;
        enum deploy_kind kind;
        bool flag;
    } words[] = {{"true", DEPLOY_BOOL, true}, {"false", DEPLOY_BOOL, false}, {"null", DEPLOY_NULL, false}};
    for (size_t i = 0; i < CD_COUNT(words); i++) {
        if (!looks_at(p, words[i].word))
            continue;
        *out = deploy_builder_node(&p->build, words[i].kind, p->at);
        (*out)->flag = words[i].flag;
        p->at += strlen(words[i].word);
        return 0;
    }
    return unexpected(p, "a value");
}

static int read_value(struct jsonc *p, struct deploy_node **out)
{
    int rc = skip_blank(p);
    if (rc != 0)
        return rc;
    char c = peek(p);
    if (c == '{' || c == '[')
        return read_container(p, out);
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(p, out);
    if (c != '"')
        return read_word(p, out);
    size_t start = p->at;
    rc = read_string(p);
    if (rc != 0)
        return rc;
    *out = deploy_builder_node(&p->build, DEPLOY_STRING, start);
    (*out)->text = cd_arena_copy(p->build.arena, cd_buf_str(&p->string));
    return 0;
}

int deploy_jsonc_parse(struct cd_arena *arena, struct cd_str text, struct deploy_node **root,
                       struct deploy_fault *fault_out)
{
    struct jsonc p = {.build = {.arena = arena}, .text = text, .fault = fault_out};
    struct deploy_node *value = NULL;
    int rc = deploy_text_check(text, &p.at, fault_out);
    if (rc == 0)
        rc = read_value(&p, &value);
    if (rc == 0)
        rc = skip_blank(&p);
    if (rc == 0 && !at_end(&p))
        rc = unexpected(&p, "the end of the file");
    if (rc == 0)
        *root = value;
    deploy_builder_deinit(&p.build);
    cd_buf_deinit(&p.string);
    return rc;
}
