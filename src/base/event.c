/* base/event.c: lines and filters of the log. */
#include "base/event.h"

#include "base/json.h"
#include "base/timetext.h"

static const char *const level_names[] = {"ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

const char *cd_level_name(enum cd_level level)
{
    CD_ASSERT((size_t)level < CD_COUNT(level_names));
    return level_names[level];
}

static void add_value(struct cd_buf *out, const struct cd_field *f)
{
    switch (f->kind) {
    case CD_FIELD_U64: cd_buf_addf(out, "%llu", (unsigned long long)f->num); return;
    case CD_FIELD_I64: cd_buf_addf(out, "%lld", (long long)(int64_t)f->num); return;
    case CD_FIELD_BOOL: cd_buf_add_str(out, f->num != 0 ? CD_STR("true") : CD_STR("false")); return;
    case CD_FIELD_STR: cd_json_quote(out, f->str); return;
    }
    CD_UNREACHABLE();
}

static void format_text(struct cd_buf *out, int64_t wall_us, enum cd_level level, const char *target,
                        const char *name, const struct cd_field *fields, size_t count)
{
    cd_time_iso(out, wall_us);
    cd_buf_addf(out, " %5s %s: %s event=\"%s\"", cd_level_name(level), target, name, name);
    for (size_t i = 0; i < count; i++) {
        cd_buf_addf(out, " %s=", fields[i].key);
        add_value(out, &fields[i]);
    }
    cd_buf_add_byte(out, '\n');
}

static void format_json(struct cd_buf *out, int64_t wall_us, enum cd_level level, const char *target,
                        const char *name, const struct cd_field *fields, size_t count)
{
    cd_buf_add_str(out, CD_STR("{\"ts\":\""));
    cd_time_iso(out, wall_us);
    cd_buf_addf(out, "\",\"level\":\"%s\",\"target\":\"%s\",\"msg\":\"%s\",\"event\":\"%s\"",
                cd_level_name(level), target, name, name);
    for (size_t i = 0; i < count; i++) {
        cd_buf_add_byte(out, ',');
        cd_json_quote(out, cd_str(fields[i].key));
        cd_buf_add_byte(out, ':');
        add_value(out, &fields[i]);
    }
    cd_buf_add_str(out, CD_STR("}\n"));
}

void cd_event_format(struct cd_buf *out, enum cd_event_format format, int64_t wall_us, enum cd_level level,
                     const char *target, const char *name, const struct cd_field *fields, size_t count)
{
    switch (format) {
    case CD_EVENT_TEXT: format_text(out, wall_us, level, target, name, fields, count); return;
    case CD_EVENT_JSON: format_json(out, wall_us, level, target, name, fields, count); return;
    }
    CD_UNREACHABLE();
}

struct cd_event_rule {
    char *target; /* owned; "" matches all. `::` is stored as `.`. */
    int allows; /* Highest level that passes; -1: none. */
};

static bool parse_level(struct cd_str text, int *level)
{
    if (cd_str_eq_nocase(text, CD_STR("off"))) {
        *level = -1;
        return true;
    }
    for (size_t i = 0; i < CD_COUNT(level_names); i++) {
        if (cd_str_eq_nocase(text, cd_str(level_names[i]))) {
            *level = (int)i;
            return true;
        }
    }
    return false;
}

static bool parse_target(struct cd_str text, struct cd_buf *out)
{
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '-';
        if (c == ':' && i + 1 < text.len && text.ptr[i + 1] == ':') {
            cd_buf_add_byte(out, '.');
            i++;
        } else if (word || c == '.') {
            cd_buf_add_byte(out, c);
        } else {
            return false;
        }
    }
    return true;
}

static int parse_rule(struct cd_str text, struct cd_event_rule *rule)
{
    struct cd_buf target = {0};
    size_t eq = cd_str_find(text, '=', 0);
    rule->allows = CD_TRACE;
    if (parse_level(text, &rule->allows)) {
        rule->target = cd_str_dup(CD_STR(""));
        return 0;
    }
    bool good = parse_target(cd_str_sub(text, 0, eq), &target);
    if (good && eq != SIZE_MAX)
        good = parse_level(cd_str_sub(text, eq + 1, SIZE_MAX), &rule->allows);
    if (good)
        rule->target = cd_str_dup(cd_buf_str(&target));
    cd_buf_deinit(&target);
    return good ? 0 : CD_ESYNTAX;
}

int cd_event_filter_parse(struct cd_event_filter *f, struct cd_str text, struct cd_buf *why)
{
    struct cd_str piece;
    *f = (struct cd_event_filter){0};
    while (cd_str_next(&text, ',', &piece)) {
        piece = cd_str_trim(piece);
        if (piece.len == 0)
            continue;
        f->rules = cd_realloc(f->rules, (f->count + 1) * sizeof *f->rules);
        if (parse_rule(piece, &f->rules[f->count]) != 0) {
            if (why != NULL)
                cd_buf_addf(why, "\"%.*s\" is neither LEVEL, TARGET=LEVEL nor TARGET", (int)piece.len,
                            piece.ptr);
            cd_event_filter_deinit(f);
            return CD_ESYNTAX;
        }
        f->count++;
    }
    return 0;
}

void cd_event_filter_deinit(struct cd_event_filter *f)
{
    for (size_t i = 0; i < f->count; i++)
        cd_free(f->rules[i].target);
    cd_free(f->rules);
    *f = (struct cd_event_filter){0};
}

/* `celld.store` and `store` name the same target: the program's own name is optional in a filter. */
static bool rule_matches(const char *rule, struct cd_str target)
{
    struct cd_str r = cd_str(rule);
    if (cd_str_eq(r, CD_STR("celld")))
        return true; /* The root of all targets. */
    if (cd_str_starts(r, CD_STR("celld.")))
        r = cd_str_sub(r, 6, SIZE_MAX);
    if (!cd_str_starts(target, r))
        return false;
    return r.len == 0 || target.len == r.len || target.ptr[r.len] == '.';
}

bool cd_event_filter_allows(const struct cd_event_filter *f, const char *target, enum cd_level level)
{
    size_t best = 0;
    int allows = -1;
    bool found = false;
    for (size_t i = 0; i < f->count; i++) {
        size_t len = strlen(f->rules[i].target);
        /* On equal length the later directive wins, as with repeated flags. */
        if (rule_matches(f->rules[i].target, cd_str(target)) && (!found || len >= best)) {
            best = len;
            allows = f->rules[i].allows;
            found = true;
        }
    }
    return (int)level <= allows;
}
