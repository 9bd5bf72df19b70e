/* deploy/names.c: grammars of names. */
#include "deploy/names.h"

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters, digits and what others has; the first may not be one of not_first. */
static bool is_made_of(struct cd_str s, const char *others)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!is_letter(c) && !is_digit(c) && (c == '\0' || strchr(others, c) == NULL))
            return false;
    }
    return s.len > 0;
}

const char *deploy_name_script(struct cd_str name)
{
    bool good = name.len >= 1 && name.len <= 63 && name.ptr[0] != '-' && name.ptr[name.len - 1] != '-';
    for (size_t i = 0; good && i < name.len; i++)
        good = is_lower(name.ptr[i]) || is_digit(name.ptr[i]) || name.ptr[i] == '-';
    return good ? NULL : "1 to 63 of a-z, 0-9 and -, with no - at either end";
}

static bool is_identifier(struct cd_str name)
{
    return is_made_of(name, "_$") && !is_digit(name.ptr[0]);
}

const char *deploy_name_binding(struct cd_str name)
{
    return is_identifier(name) && name.len <= 128
               ? NULL
               : "1 to 128 of A-Z, a-z, 0-9, _ and $, not starting with a digit";
}

bool deploy_class_is_reserved(struct cd_str name)
{
    static const char *const reserved[] = {"__D1Database", "__KV", "__Queue", "__Workflow", ".cron"};
    for (size_t i = 0; i < CD_COUNT(reserved); i++) {
        if (cd_str_eq(name, cd_str(reserved[i])))
            return true;
    }
    return cd_str_starts(name, CD_STR("__Workflow."));
}

const char *deploy_name_class(struct cd_str name)
{
    CD_STATIC_ASSERT(DEPLOY_CLASS_MAX == 190, "the text below names it");
    if (deploy_class_is_reserved(name))
        return "a class of your own: celld supplies this one itself";
    return is_identifier(name) && name.len <= DEPLOY_CLASS_MAX
               ? NULL
               : "the name of a class: 1 to 190 of A-Z, a-z, 0-9, _ and $, not starting with a digit";
}

static bool is_scope(struct cd_str name)
{
    return is_made_of(name, "_.:$-") && !cd_str_eq(name, CD_STR(".")) && !cd_str_eq(name, CD_STR(".."));
}

const char *deploy_name_kv(struct cd_str name)
{
    return is_scope(name) && name.len <= 250 ? NULL
                                             : "1 to 250 of A-Z, a-z, 0-9, _ . : $ and -, but not . or ..";
}

const char *deploy_name_queue(struct cd_str name)
{
    return is_scope(name) && name.len <= 247 ? NULL
                                             : "1 to 247 of A-Z, a-z, 0-9, _ . : $ and -, but not . or ..";
}

const char *deploy_name_d1(struct cd_str name)
{
    return name.len >= 1 && name.len <= 1024 && cd_str_find(name, '\0', 0) == SIZE_MAX
               ? NULL
               : "1 to 1024 bytes without NUL";
}

const char *deploy_name_bucket(struct cd_str name)
{
    return is_made_of(name, "_-") && name.ptr[0] != '-' && name.len <= 64
               ? NULL
               : "1 to 64 of A-Z, a-z, 0-9, _ and -, not starting with -";
}

const char *deploy_name_table(struct cd_str name)
{
    return is_made_of(name, "_") && !is_digit(name.ptr[0]) && name.len <= 128
               ? NULL
               : "1 to 128 of A-Z, a-z, 0-9 and _, not starting with a digit";
}

const char *deploy_name_path(struct cd_str path, bool directory, struct cd_str *out)
{
    if (path.len == 0)
        return "a path inside the project, not empty";
    if (path.ptr[0] == '/')
        return "a path relative to the project file, not an absolute one";
    if (cd_str_find(path, '\0', 0) != SIZE_MAX)
        return "a path without NUL";
    if (cd_str_starts(path, CD_STR("./")))
        path = cd_str_sub(path, 2, SIZE_MAX);
    if (directory && path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    if (directory && (path.len == 0 || cd_str_eq(path, CD_STR(".")))) {
        *out = CD_STR(".");
        return NULL;
    }
    struct cd_str rest = path, segment;
    while (cd_str_next(&rest, '/', &segment)) {
        if (segment.len == 0)
            return "a path without empty segments";
        if (cd_str_eq(segment, CD_STR("..")))
            return "a path inside the project, without ..";
    }
    *out = path;
    return NULL;
}
