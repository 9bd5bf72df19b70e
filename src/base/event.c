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

/* A target's name below the program's own: "" for `celld`, `store` for `store` and `celld.store`. */
static struct cd_str local_name(struct cd_str target)
{
    if (cd_str_eq(target, CD_STR("celld")))
        return CD_STR("");
    return cd_str_sub(target, cd_str_starts(target, CD_STR("celld.")) ? 6 : 0, SIZE_MAX);
}

/* As people know it: `celld::log::fold`. */
static void add_target(struct cd_buf *out, const char *target)
{
    struct cd_str rest = local_name(cd_str(target)), word;
    cd_buf_add_str(out, CD_STR("celld"));
    while (rest.len > 0 && cd_str_next(&rest, '.', &word)) {
        cd_buf_add_str(out, CD_STR("::"));
        cd_buf_add_str(out, word);
    }
}

static bool is_message(const struct cd_field *f)
{
    return f->kind == CD_FIELD_STR && strcmp(f->key, "msg") == 0;
}

static struct cd_str message_of(const char *name, const struct cd_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_message(&fields[i]))
            return fields[i].str;
    }
    return cd_str(name);
}

static void format_text(struct cd_buf *out, enum cd_level level, const char *target, const char *name,
                        const struct cd_field *fields, size_t count)
{
    cd_buf_addf(out, " %5s ", cd_level_name(level));
    add_target(out, target);
    cd_buf_add_str(out, CD_STR(": "));
    cd_json_escape(out, message_of(name, fields, count));
    cd_buf_add_str(out, CD_STR(" event="));
    cd_json_quote(out, cd_str(name));
    for (size_t i = 0; i < count; i++) {
        if (is_message(&fields[i]))
            continue;
        cd_buf_add_byte(out, ' ');
        cd_buf_add_str(out, cd_str(fields[i].key));
        cd_buf_add_byte(out, '=');
        add_value(out, &fields[i]);
    }
    cd_buf_add_byte(out, '\n');
}

static void format_json(struct cd_buf *out, enum cd_level level, const char *target, const char *name,
                        const struct cd_field *fields, size_t count)
{
    cd_buf_add_str(out, CD_STR("\",\"level\":\""));
    cd_buf_add_str(out, cd_str(cd_level_name(level)));
    cd_buf_add_str(out, CD_STR("\",\"target\":\""));
    add_target(out, target);
    cd_buf_add_str(out, CD_STR("\",\"msg\":"));
    cd_json_quote(out, message_of(name, fields, count));
    cd_buf_add_str(out, CD_STR(",\"event\":"));
    cd_json_quote(out, cd_str(name));
    for (size_t i = 0; i < count; i++) {
        if (is_message(&fields[i]))
            continue;
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
    case CD_EVENT_TEXT:
        cd_time_iso(out, wall_us);
        format_text(out, level, target, name, fields, count);
        return;
    case CD_EVENT_JSON:
        cd_buf_add_str(out, CD_STR("{\"ts\":\""));
        cd_time_iso(out, wall_us);
        format_json(out, level, target, name, fields, count);
        return;
    }
    CD_UNREACHABLE();
}

struct cd_event_rule {
    char *target; /* owned; its local name with `.` between words. NULL: a level alone, for all targets. */
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

/* Words with `::` or `.` between them; out gets them with `.`. */
static bool parse_target(struct cd_str text, struct cd_buf *out)
{
    bool fresh = true; /* At the start of a word. */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '-';
        bool path = c == ':' && i + 1 < text.len && text.ptr[i + 1] == ':';
        if (!word && (fresh || (c != '.' && !path)))
            return false;
        cd_buf_add_byte(out, word ? c : '.');
        fresh = !word;
        i += path;
    }
    return !fresh;
}

static int parse_rule(struct cd_str text, struct cd_event_rule *rule)
{
    struct cd_buf target = {0};
    size_t eq = cd_str_find(text, '=', 0);
    *rule = (struct cd_event_rule){.allows = CD_TRACE};
    if (parse_level(text, &rule->allows))
        return 0;
    bool good = parse_target(cd_str_sub(text, 0, eq), &target);
    if (good && eq != SIZE_MAX)
        good = parse_level(cd_str_sub(text, eq + 1, SIZE_MAX), &rule->allows);
    if (good)
        rule->target = cd_str_dup(local_name(cd_buf_str(&target)));
    cd_buf_deinit(&target);
    return good ? 0 : CD_ESYNTAX;
}

int cd_event_filter_parse(struct cd_event_filter *f, struct cd_str text, struct cd_buf *why)
{
    struct cd_event_filter made = {0};
    struct cd_str piece;
    while (cd_str_next(&text, ',', &piece)) {
        piece = cd_str_trim(piece);
        if (piece.len == 0)
            continue;
        made.rules = cd_realloc(made.rules, (made.count + 1) * sizeof *made.rules);
        if (parse_rule(piece, &made.rules[made.count]) != 0) {
            if (why != NULL) {
                cd_json_quote(why, piece);
                cd_buf_add_str(why, CD_STR(" is neither LEVEL, TARGET=LEVEL nor TARGET"));
            }
            cd_event_filter_deinit(&made);
            return CD_ESYNTAX;
        }
        made.count++;
    }
    *f = made;
    return 0;
}

void cd_event_filter_deinit(struct cd_event_filter *f)
{
    for (size_t i = 0; i < f->count; i++)
        cd_free(f->rules[i].target);
    cd_free(f->rules);
    *f = (struct cd_event_filter){0};
}

/* 0 when rule is not for target, else the larger the closer it names it. */
static size_t rule_rank(const struct cd_event_rule *rule, struct cd_str target)
{
    if (rule->target == NULL)
        return 1;
    struct cd_str r = cd_str(rule->target);
    if (r.len > 0 && (!cd_str_starts(target, r) || (target.len > r.len && target.ptr[r.len] != '.')))
        return 0;
    return 2 + r.len;
}

bool cd_event_filter_allows(const struct cd_event_filter *f, const char *target, enum cd_level level)
{
    struct cd_str name = local_name(cd_str(target));
    size_t best = 1;
    int allows = -1;
    for (size_t i = 0; i < f->count; i++) {
        size_t rank = rule_rank(&f->rules[i], name);
        /* On equal rank the later directive wins, as with repeated flags. */
        if (rank >= best) {
            best = rank;
            allows = f->rules[i].allows;
        }
    }
    return (int)level <= allows;
}
