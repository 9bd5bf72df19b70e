/* cli/settings.c: reads and checks the environment once, in the order of operations.md 2.1. */
#include "cli/settings.h"

#include "base/encode.h"
#include "cli/text.h"

struct reader {
    struct cli_settings *s;
    const char *const *env;
    struct cd_buf *errors;
};

bool cli_env_get(const char *const *env, const char *name, struct cd_str *value)
{
    size_t len = strlen(name);
    for (; *env != NULL; env++) {
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=') {
            *value = cd_str(*env + len + 1);
            return true;
        }
    }
    return false;
}

/* A new line in errors; the caller adds the text. */
static struct cd_buf *failure(struct reader *r)
{
    if (r->errors->len > 0)
        cd_buf_add_byte(r->errors, '\n');
    return r->errors;
}

/* "NAME WANTED, not "VALUE"" */
static void unwanted(struct reader *r, const struct cli_value *v, const char *wanted)
{
    struct cd_buf *line = failure(r);
    cd_buf_addf(line, "%s %s, not ", v->name, wanted);
    cli_quote(line, v->text);
}

static bool read_bool(struct reader *r, struct cli_value *v)
{
    if (v->text.len == 1 && (v->text.ptr[0] == '0' || v->text.ptr[0] == '1')) {
        v->num = v->text.ptr[0] == '1';
        return true;
    }
    unwanted(r, v, "must be 0 or 1");
    return false;
}

static bool read_uint(struct reader *r, const struct cli_setting *s, struct cli_value *v)
{
    uint64_t num = 0;
    const char *wrong = cli_text_number(v->text, &num);
    if (wrong != NULL) {
        struct cd_buf *line = failure(r);
        cd_buf_addf(line, "%s has invalid value ", v->name);
        cli_quote(line, v->text);
        cd_buf_addf(line, ": %s", wrong);
        return false;
    }
    v->num = num;
    if (num >= s->min && num <= s->max)
        return true;
    unsigned long long min = s->min, max = s->max, got = num;
    if (num == 0 && s->min == 1 && (s->max == UINT64_MAX || s->max == s->fallback))
        cd_buf_addf(failure(r), "%s must be greater than zero, not 0", v->name);
    else if (s->max == s->fallback) /* Only to be lowered: the frozen text of operations.md 2.3. */
        cd_buf_addf(failure(r), "%s must be at most %llu", v->name, max);
    else
        cd_buf_addf(failure(r), "%s must be between %llu and %llu, not %llu", v->name, min, max, got);
    return false;
}

static bool read_choice(struct reader *r, const struct cli_setting *s, struct cli_value *v)
{
    struct cd_str rest = cd_str(s->choices), word;
    while (cd_str_next(&rest, '|', &word)) {
        if (cd_str_eq(word, v->text))
            return true;
    }
    struct cd_buf wanted = {0};
    cd_buf_addf(&wanted, "must be %s", s->wanted);
    unwanted(r, v, cd_buf_cstr(&wanted));
    cd_buf_deinit(&wanted);
    return false;
}

static bool read_node_id(struct reader *r, struct cli_value *v)
{
    bool good = v->text.len >= 1 && v->text.len <= 128 && !cd_str_eq(v->text, CD_STR(".")) &&
                !cd_str_eq(v->text, CD_STR(".."));
    for (size_t i = 0; good && i < v->text.len; i++)
        good = cli_is_alnum(v->text.ptr[i]) || strchr("._-", v->text.ptr[i]) != NULL;
    if (!good)
        unwanted(r, v, "must be 1 to 128 of A-Z a-z 0-9 . _ - and neither . nor ..");
    return good;
}

static bool read_filter(struct reader *r, struct cli_value *v)
{
    struct cd_event_filter filter;
    struct cd_buf why = {0};
    int rc = cd_event_filter_parse(&filter, v->text, &why);
    if (rc == 0)
        cd_event_filter_deinit(&filter);
    if (rc != 0 || v->text.len == 0) {
        struct cd_buf *line = failure(r);
        cd_buf_addf(line, "%s has invalid value ", v->name);
        cli_quote(line, v->text);
        cd_buf_addf(line, ": %s", rc == 0 ? "empty value" : cd_buf_cstr(&why));
    }
    cd_buf_deinit(&why);
    return rc == 0 && v->text.len > 0;
}

static bool read_otel(struct reader *r, struct cli_value *v)
{
    if (cd_str_eq(v->text, CD_STR("0")) || cd_str_eq(v->text, CD_STR("1")) ||
        (cli_is_http_url(v->text) && cd_str_find(v->text, '?', 0) == SIZE_MAX &&
         cd_str_find(v->text, '#', 0) == SIZE_MAX))
        return true;
    unwanted(r, v, "must be 0, 1 or an http(s) URL without query and fragment");
    return false;
}

static bool read_retention(struct reader *r, struct cli_value *v)
{
    uint64_t days = 0;
    if (cd_str_eq(v->text, CD_STR("none")))
        return true;
    if (cd_str_ends(v->text, CD_STR("d")) &&
        cd_str_u64(cd_str_sub(v->text, 0, v->text.len - 1), &days) == 0 && days > 0) {
        v->num = days;
        return true;
    }
    unwanted(r, v, "must be a number of days such as 30d, or none");
    return false;
}

static bool read_ratio(struct reader *r, struct cli_value *v)
{
    struct cd_str rest = v->text, whole = {0}, decimals = {0}, more;
    uint64_t units = 0, millionths = 0;
    (void)cd_str_next(&rest, '.', &whole);
    bool dot = cd_str_next(&rest, '.', &decimals);
    bool good =
        !cd_str_next(&rest, '.', &more) && cd_str_u64(whole, &units) == 0 && (!dot || decimals.len > 0);
    for (size_t i = 0; good && i < decimals.len; i++)
        good = decimals.ptr[i] >= '0' && decimals.ptr[i] <= '9';
    for (size_t i = 0; good && i < 6; i++)
        millionths = millionths * 10 + (i < decimals.len ? (uint64_t)(decimals.ptr[i] - '0') : 0);
    if (good && units <= 1 && units * 1000000 + millionths <= 1000000) {
        v->num = units * 1000000 + millionths;
        return true;
    }
    unwanted(r, v, "must be a number from 0 to 1");
    return false;
}

static bool read_pairs(struct reader *r, struct cli_value *v)
{
    struct cd_str rest = v->text, pair;
    bool good = true;
    while (good && cd_str_next(&rest, ',', &pair)) {
        struct cd_buf value = {0};
        pair = cd_str_trim(pair);
        size_t equals = cd_str_find(pair, '=', 0);
        good = equals != SIZE_MAX && equals > 0 &&
               cd_percent_decode(&value, cd_str_sub(pair, equals + 1, SIZE_MAX)) == 0;
        cd_buf_deinit(&value);
    }
    if (!good) /* The value holds secrets: it is not repeated. */
        cd_buf_addf(failure(r), "%s must be k=v,k=v with percent-encoded values", v->name);
    return good;
}

static bool read_kind(struct reader *r, const struct cli_setting *s, struct cli_value *v)
{
    switch (s->kind) {
    case CLI_BOOL: return read_bool(r, v);
    case CLI_UINT: return read_uint(r, s, v);
    case CLI_CHOICE: return read_choice(r, s, v);
    case CLI_TEXT:
        if (v->text.len == 0)
            cd_buf_addf(failure(r), "%s has invalid value \"\": empty value", v->name);
        return v->text.len > 0;
    case CLI_OPTIONAL:
    case CLI_PRESENCE: return true;
    case CLI_NODE_ID: return read_node_id(r, v);
    case CLI_FILTER: return read_filter(r, v);
    case CLI_OTEL: return read_otel(r, v);
    case CLI_RETENTION: return read_retention(r, v);
    case CLI_RATIO: return read_ratio(r, v);
    case CLI_PAIRS: return read_pairs(r, v);
    }
    CD_UNREACHABLE();
}

/* One name of a setting. False: it is unset, or wrong. */
static bool read_name(struct reader *r, const struct cli_setting *s, const char *name, struct cli_value *v)
{
    *v = (struct cli_value){.name = name, .num = s->fallback};
    if (!cli_env_get(r->env, name, &v->text))
        return false;
    if (s->kind == CLI_OPTIONAL && cd_str_trim(v->text).len == 0)
        return false;
    if (!cd_str_is_utf8(v->text)) {
        cd_buf_addf(failure(r), "read %s: value is not valid UTF-8", name);
        return false;
    }
    v->set = read_kind(r, s, v);
    if (!v->set)
        v->num = s->fallback;
    return v->set;
}

static void read_setting(struct reader *r, enum cli_set id)
{
    const struct cli_setting *s = cli_setting(id);
    struct cli_value *v = &r->s->value[id], other = {0};
    struct cd_str text;
    bool named = cli_env_get(r->env, s->name, &text);
    (void)read_name(r, s, s->name, v);
    if (s->alias == NULL || (named && s->kind == CLI_FILTER)) /* CELLD_LOG wins over RUST_LOG. */
        return;
    if (!read_name(r, s, s->alias, &other))
        return;
    if (!named)
        *v = other;
    else if (v->set && v->num != other.num)
        cd_buf_addf(failure(r), "%s and %s disagree", s->name, s->alias);
}

static void check_heap_limit(struct reader *r)
{
    const struct cli_value *v = &r->s->value[CLI_SET_HEAP_LIMIT_MB];
    if (v->set && v->num > SIZE_MAX >> 20)
        cd_buf_addf(failure(r), "%s is too large: %llu", v->name, (unsigned long long)v->num);
}

static void check_removed(struct reader *r)
{
    const struct cli_removed *gone;
    struct cd_str value;
    for (size_t i = 0; (gone = cli_removed(i)) != NULL; i++) {
        if (!cli_env_get(r->env, gone->name, &value))
            continue;
        /* Old unit files set this one to nothing. */
        if (value.len == 0 && strcmp(gone->name, "CELLD_WORKER_LOADER") == 0)
            continue;
        cd_buf_addf(failure(r), "%s is removed; %s", gone->name, gone->advice);
    }
    struct cli_value cloud = {.name = "CELLD_CLOUD"};
    if (cli_env_get(r->env, cloud.name, &cloud.text) && read_bool(r, &cloud) && cloud.num == 1)
        cd_buf_addf(failure(r), "CELLD_CLOUD=1 is not supported; celld has no control plane");
    for (const char *const *e = r->env; *e != NULL; e++) {
        struct cd_str entry = cd_str(*e);
        if (!cd_str_starts(entry, CD_STR(CLI_REMOVED_PREFIX)))
            continue;
        struct cd_buf *line = failure(r);
        cli_echo(line, cd_str_sub(entry, 0, cd_str_find(entry, '=', 0)));
        cd_buf_addf(line, " is removed; put vars in the project config, or use .dev.vars for celld dev");
    }
}

/* The turn in which a setting is read: booleans, positive integers, other integers, the rest. */
static unsigned turn_of(const struct cli_setting *s)
{
    if (s->kind == CLI_BOOL)
        return 0;
    if (s->kind == CLI_UINT)
        return s->min > 0 ? 1 : 2;
    return 3;
}

int cli_settings_read(struct cli_settings *s, const char *const *env, struct cd_buf *errors)
{
    struct reader r = {s, env, errors};
    *s = (struct cli_settings){0};
    check_removed(&r);
    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
            if (turn_of(cli_setting(id)) == turn)
                read_setting(&r, id);
        }
        if (turn == 1)
            check_heap_limit(&r);
    }
    return errors->len == 0 ? 0 : CD_EINVAL;
}

static bool is_known(struct cd_str name)
{
    for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
        const struct cli_setting *s = cli_setting(id);
        if (cd_str_eq(name, cd_str(s->name)) || (s->alias != NULL && cd_str_eq(name, cd_str(s->alias))))
            return true;
    }
    return cd_str_eq(name, CD_STR("CELLD_CLOUD")) || cd_str_eq(name, CD_STR("CELLD_WORKER_LOADER"));
}

void cli_settings_unknown(const char *const *env,
                          void (*each)(void *arg, struct cd_str name, const char *near), void *arg)
{
    for (; *env != NULL; env++) {
        struct cd_str name = cd_str_sub(cd_str(*env), 0, cd_str_find(cd_str(*env), '=', 0));
        if (!cd_str_starts(name, CD_STR("CELLD_")) || is_known(name))
            continue;
        const char *near = NULL;
        unsigned best = 4; /* Three slips of the finger; more is another word. */
        for (unsigned id = 0; id < CLI_SET_COUNT; id++) {
            unsigned far = cli_text_distance(name, cd_str(cli_setting(id)->name));
            if (far < best && !cli_setting(id)->hidden) {
                best = far;
                near = cli_setting(id)->name;
            }
        }
        each(arg, name, near);
    }
}
