/* sim/scn_parse.c: reading a scenario. Strict: a word that means nothing here is an error with its line and
 * column, and so is a value out of its bounds, a second setting of the same thing, and anything behind the
 * end of a statement. */
#include "sim/quantity.h"
#include "sim/scn_read.h"

/* ---- Words ---- */

int scn_error(struct scn_reader *r, struct cd_str word, const char *format, ...)
{
    if (r->failed)
        return CD_ESYNTAX;
    r->failed = true;
    size_t column = word.ptr == NULL ? r->line_text.len + 1 : (size_t)(word.ptr - r->line_text.ptr) + 1;
    cd_buf_addf(r->why, "%s:%u:%llu: ", r->name, r->line, (unsigned long long)column);
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(r->why, format, args);
    va_end(args);
    return CD_ESYNTAX;
}

bool scn_word(struct scn_reader *r, struct cd_str *word)
{
    struct cd_str rest = r->rest;
    while (rest.len > 0 && (rest.ptr[0] == ' ' || rest.ptr[0] == '\t'))
        rest = cd_str_sub(rest, 1, SIZE_MAX);
    if (rest.len == 0 || rest.ptr[0] == '#') {
        r->rest = (struct cd_str){0};
        *word = (struct cd_str){0};
        return false;
    }
    size_t len = 0;
    while (len < rest.len && rest.ptr[len] != ' ' && rest.ptr[len] != '\t')
        len++;
    *word = cd_str_sub(rest, 0, len);
    r->rest = cd_str_sub(rest, len, SIZE_MAX);
    return true;
}

int scn_want_word(struct scn_reader *r, const char *what, struct cd_str *word)
{
    if (scn_word(r, word))
        return 0;
    return scn_error(r, *word, "the line ends here, want %s", what);
}

int scn_want_literal(struct scn_reader *r, const char *literal)
{
    struct cd_str word;
    int rc = scn_want_word(r, literal, &word);
    if (rc == 0 && !cd_str_eq(word, cd_str(literal)))
        rc = scn_error(r, word, "unknown word '%.*s', want %s", (int)word.len, word.ptr, literal);
    return rc;
}

bool scn_peek_is(struct scn_reader *r, const char *literal)
{
    struct cd_str rest = r->rest, word;
    bool is = scn_word(r, &word) && cd_str_eq(word, cd_str(literal));
    r->rest = rest;
    return is;
}

int scn_want_time(struct scn_reader *r, const char *what, uint64_t *ns)
{
    struct cd_str word;
    int rc = scn_want_word(r, what, &word);
    if (rc == 0 && quantity_duration(word, ns) != 0)
        rc = scn_error(r, word, "'%.*s' is no time, want one with its unit, like 1500ms", (int)word.len,
                       word.ptr);
    return rc;
}

int scn_want_ratio(struct scn_reader *r, uint32_t *ppm)
{
    struct cd_str word;
    uint64_t v = 0;
    int rc = scn_want_word(r, "a ratio", &word);
    if (rc == 0 && quantity_ratio(word, &v) != 0)
        rc = scn_error(r, word, "'%.*s' is no ratio, want one like 30%%, 200ppm or 1/50", (int)word.len,
                       word.ptr);
    if (rc == 0)
        *ppm = (uint32_t)v;
    return rc;
}

/* Marks, calls, patterns: printable, without what the language uses itself. */
int scn_take_name(struct scn_reader *r, struct cd_str word, char *out)
{
    if (word.len >= SCN_NAME_MAX)
        return scn_error(r, word, "'%.*s' is longer than %d bytes", (int)word.len, word.ptr,
                         SCN_NAME_MAX - 1);
    for (size_t i = 0; i < word.len; i++) {
        char c = word.ptr[i];
        if (c <= ' ' || c > '~' || c == '#' || c == '=')
            return scn_error(r, word, "'%.*s' is no name", (int)word.len, word.ptr);
    }
    memcpy(out, word.ptr, word.len);
    out[word.len] = 0;
    return 0;
}

int scn_want_name(struct scn_reader *r, const char *what, char *out)
{
    struct cd_str word;
    int rc = scn_want_word(r, what, &word);
    return rc != 0 ? rc : scn_take_name(r, word, out);
}

int scn_want_nth(struct scn_reader *r, const char *what, char *out, unsigned *nth)
{
    struct cd_str word;
    int rc = scn_want_word(r, what, &word);
    if (rc != 0)
        return rc;
    uint64_t k = 1;
    size_t plus = cd_str_find(word, '+', 0);
    if (plus != SIZE_MAX) {
        if (cd_str_u64(cd_str_sub(word, plus + 1, SIZE_MAX), &k) != 0 || k == 0 || k > 1000000)
            return scn_error(r, word, "'%.*s': want +K behind the name, K from 1 to 1000000", (int)word.len,
                             word.ptr);
        word.len = plus;
    }
    if (word.len == 0)
        return scn_error(r, word, "want %s", what);
    *nth = (unsigned)k;
    return scn_take_name(r, word, out);
}

/* ---- Settings ---- */

static bool take_choice(const struct scn_setting_info *info, struct cd_str text, uint64_t *out)
{
    struct cd_str words = cd_str(info->words), piece;
    for (uint64_t i = 0; cd_str_next(&words, '|', &piece); i++) {
        if (cd_str_eq(piece, text)) {
            *out = i;
            return true;
        }
    }
    return false;
}

static int take_span(struct cd_str text, struct scn_value *v)
{
    size_t dots = cd_str_find_str(text, CD_STR(".."), 0);
    struct cd_str first = dots == SIZE_MAX ? text : cd_str_sub(text, 0, dots);
    struct cd_str last = dots == SIZE_MAX ? text : cd_str_sub(text, dots + 2, SIZE_MAX);
    int rc = quantity_duration(first, &v->lo);
    if (rc == 0)
        rc = quantity_duration(last, &v->hi);
    return rc == 0 && v->hi < v->lo ? CD_EINVAL : rc;
}

static int take_value(struct scn_reader *r, enum scn_setting id, struct cd_str text)
{
    static const char *const wants[] = {"a number",
                                        "a time with its unit, like 1500ms",
                                        "a time or two like 20ms..80ms",
                                        "a ratio like 30%, 200ppm or 1/50",
                                        "a rate like 40/s",
                                        "a size like 512, 64k or 4m"};
    const struct scn_setting_info *info = scn_setting_info(id);
    struct scn_value v = {.set = true};
    int rc = 0;
    switch (info->kind) {
    case SCN_COUNT: rc = cd_str_u64(text, &v.lo); break;
    case SCN_TIME: rc = quantity_duration(text, &v.lo); break;
    case SCN_SPAN: rc = take_span(text, &v); break;
    case SCN_RATIO: rc = quantity_ratio(text, &v.lo); break;
    case SCN_RATE: rc = quantity_rate(text, &v.lo); break;
    case SCN_BYTES: rc = quantity_bytes(text, &v.lo); break;
    case SCN_WORD:
        if (!take_choice(info, text, &v.lo))
            return scn_error(r, text, "%s=%.*s: want one of %s", info->key, (int)text.len, text.ptr,
                             info->words);
        break;
    case SCN_TEXT: rc = scn_take_name(r, text, r->scn->text); break;
    }
    if (info->kind != SCN_SPAN)
        v.hi = v.lo;
    if (rc != 0)
        return scn_error(r, text, "%s=%.*s: want %s", info->key, (int)text.len, text.ptr, wants[info->kind]);
    if (info->kind != SCN_WORD && info->kind != SCN_TEXT && (v.lo < info->min || v.hi > info->max))
        return scn_error(r, text, "%s=%.*s: out of bounds", info->key, (int)text.len, text.ptr);
    r->scn->value[id] = v;
    return 0;
}

static int take_setting(struct scn_reader *r, enum scn_group group, struct cd_str word)
{
    size_t equals = cd_str_find(word, '=', 0);
    struct cd_str key = cd_str_sub(word, 0, equals == SIZE_MAX ? word.len : equals);
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        const struct scn_setting_info *info = scn_setting_info(i);
        if (info->group != group || !cd_str_eq(key, cd_str(info->key)))
            continue;
        if (equals == SIZE_MAX)
            return scn_error(r, word, "want %s=VALUE", info->key);
        if (r->scn->value[i].set)
            return scn_error(r, word, "%s is set already", info->key);
        return take_value(r, i, cd_str_sub(word, equals + 1, SIZE_MAX));
    }
    return scn_error(r, word, "unknown word '%.*s' in %s", (int)word.len, word.ptr, scn_group_text(group));
}

static int take_group(struct scn_reader *r, enum scn_group group, struct cd_str at)
{
    if (r->scn->has[group])
        return scn_error(r, at, "a second %s statement", scn_group_text(group));
    r->scn->has[group] = true;
    r->scn->group_line[group] = r->line;
    struct cd_str word;
    while (scn_word(r, &word)) {
        int rc = take_setting(r, group, word);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int take_load(struct scn_reader *r)
{
    struct cd_str word;
    int rc = scn_want_word(r, "the name of a workload", &word);
    if (rc != 0)
        return rc;
    for (unsigned i = SCN_LOAD_HTTP; i < SCN_GROUP_COUNT; i++) {
        if (cd_str_eq(word, cd_str(scn_group_text(i) + strlen("load "))))
            return take_group(r, i, word);
    }
    return scn_error(r, word, "unknown workload '%.*s'", (int)word.len, word.ptr);
}

/* ---- Statements ---- */

static int take_version(struct scn_reader *r)
{
    struct cd_str word;
    uint64_t version;
    int rc = scn_want_word(r, "the version of the language", &word);
    if (rc == 0 && (cd_str_u64(word, &version) != 0 || version != SCN_VERSION))
        rc = scn_error(r, word, "version '%.*s', want %d", (int)word.len, word.ptr, SCN_VERSION);
    return rc;
}

static int take_seed(struct scn_reader *r, struct cd_str at)
{
    struct cd_str word;
    if (r->scn->has_seed)
        return scn_error(r, at, "a second seed");
    int rc = scn_want_word(r, "a number", &word);
    if (rc == 0 && cd_str_u64(word, &r->scn->seed) != 0)
        rc = scn_error(r, word, "seed '%.*s': want a number", (int)word.len, word.ptr);
    r->scn->has_seed = true;
    return rc;
}

static int take_plant(struct scn_reader *r, struct cd_str at)
{
    if (r->scn->plant_line != 0)
        return scn_error(r, at, "a second plant statement");
    r->scn->plant_line = r->line;
    int rc = scn_want_name(r, "the name of a planted bug, or none", r->scn->plant);
    if (rc == 0 && strcmp(r->scn->plant, "none") == 0)
        r->scn->plant[0] = 0;
    return rc;
}

static int take_expect(struct scn_reader *r, struct cd_str at)
{
    if (r->scn->expects == SCN_EXPECTS_MAX)
        return scn_error(r, at, "more than %d expectations", SCN_EXPECTS_MAX);
    struct scn_expect e = {.line = r->line};
    struct cd_str word;
    int rc = scn_want_word(r, "no-failure, mark, served or fails", &word);
    if (rc != 0)
        return rc;
    if (cd_str_eq(word, CD_STR("no-failure"))) {
        e.kind = SCN_NO_FAILURE;
    } else if (cd_str_eq(word, CD_STR("mark"))) {
        e.kind = SCN_MARK;
        rc = scn_want_name(r, "the name of a mark", e.name);
    } else if (cd_str_eq(word, CD_STR("fails"))) {
        e.kind = SCN_FAILS;
        rc = scn_want_name(r, "the name of an invariant", e.name);
    } else if (cd_str_eq(word, CD_STR("served"))) {
        e.kind = SCN_SERVED;
        rc = scn_want_literal(r, "all");
        if (rc == 0)
            rc = scn_want_literal(r, "by");
        if (rc == 0)
            rc = scn_want_time(r, "a time", &e.by_ns);
    } else {
        rc = scn_error(r, word, "unknown word '%.*s', want no-failure, mark, served or fails", (int)word.len,
                       word.ptr);
    }
    if (rc == 0)
        r->scn->expect[r->scn->expects++] = e;
    return rc;
}

static int take_statement(struct scn_reader *r, struct cd_str word)
{
    if (!r->versioned) {
        if (!cd_str_eq(word, CD_STR("scn")))
            return scn_error(r, word, "the first statement has to be: scn %d", SCN_VERSION);
        r->versioned = true;
        return take_version(r);
    }
    if (cd_str_eq(word, CD_STR("seed")))
        return take_seed(r, word);
    if (cd_str_eq(word, CD_STR("load")))
        return take_load(r);
    if (cd_str_eq(word, CD_STR("at")) || cd_str_eq(word, CD_STR("when")))
        return scn_read_step(r, word);
    if (cd_str_eq(word, CD_STR("plant")))
        return take_plant(r, word);
    if (cd_str_eq(word, CD_STR("expect")))
        return take_expect(r, word);
    for (unsigned i = 0; i < SCN_LOAD_HTTP; i++) {
        if (cd_str_eq(word, cd_str(scn_group_text(i))))
            return take_group(r, i, word);
    }
    return scn_error(r, word, "unknown statement '%.*s'", (int)word.len, word.ptr);
}

static int take_line(struct scn_reader *r, struct cd_str line)
{
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    r->line++;
    r->line_text = r->rest = line;
    struct cd_str word;
    if (line.len > SCN_LINE_MAX)
        return scn_error(r, line, "a line of %llu bytes, want at most %d", (unsigned long long)line.len,
                         SCN_LINE_MAX);
    if (!scn_word(r, &word))
        return 0;
    int rc = take_statement(r, word);
    if (rc == 0 && scn_word(r, &word))
        rc = scn_error(r, word, "'%.*s' behind the end of the statement", (int)word.len, word.ptr);
    return rc;
}

int scn_parse(struct scn *s, struct cd_str text, const char *name, struct cd_buf *why)
{
    scn_init(s);
    struct scn_reader r = {.scn = s, .name = name, .why = why};
    struct cd_str line;
    int rc = 0;
    while (rc == 0 && cd_str_next(&text, '\n', &line))
        rc = take_line(&r, line);
    if (rc == 0 && !r.versioned)
        rc = scn_error(&r, (struct cd_str){0}, "an empty file, want: scn %d", SCN_VERSION);
    if (rc != 0) {
        scn_deinit(s);
        scn_init(s);
    }
    return rc;
}
