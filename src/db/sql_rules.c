/* db/sql_rules.c: what SQL of a cell may do: limits, functions, pragmas, virtual tables, names.
 * services.md 1.5.
 *
 * SQLite asks while it compiles, also when it compiles again by itself, and also about the SQL of its own
 * modules (full text search, ALTER TABLE): what those need is allowed too. */
#include "db/storage_internal.h"

/* ---- Limits ---- */

static void limits(sqlite3 *db)
{
    static const struct {
        int what, max;
    } table[] = {
        {SQLITE_LIMIT_LENGTH, STORAGE_ROW_MAX},
        {SQLITE_LIMIT_SQL_LENGTH, STORAGE_SQL_MAX},
        {SQLITE_LIMIT_COLUMN, 100},
        {SQLITE_LIMIT_EXPR_DEPTH, 100},
        {SQLITE_LIMIT_COMPOUND_SELECT, 5},
        {SQLITE_LIMIT_VDBE_OP, 25000},
        {SQLITE_LIMIT_FUNCTION_ARG, 127},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
        {SQLITE_LIMIT_VARIABLE_NUMBER, STORAGE_PARAMETERS_MAX},
        {SQLITE_LIMIT_TRIGGER_DEPTH, 10},
        {SQLITE_LIMIT_WORKER_THREADS, 0},
    };
    for (unsigned i = 0; i < CD_COUNT(table); i++)
        (void)sqlite3_limit(db, table[i].what, table[i].max);
}

/* ---- Lists: sorted, in lower case ---- */

static const char *const functions[] = {
    "->",
    "->>",
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "avg",
    "bm25",
    "ceil",
    "ceiling",
    "changes",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "cos",
    "cosh",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "degrees",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "fts5",
    "fts5_get_locale",
    "fts5_insttoken",
    "fts5_locale",
    "glob",
    "group_concat",
    "hex",
    "highlight",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_insert",
    "json_array_length",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_type",
    "json_valid",
    "jsonb",
    "jsonb_array",
    "jsonb_array_insert",
    "jsonb_extract",
    "jsonb_group_array",
    "jsonb_group_object",
    "jsonb_insert",
    "jsonb_object",
    "jsonb_patch",
    "jsonb_remove",
    "jsonb_replace",
    "jsonb_set",
    "julianday",
    "lag",
    "last_insert_rowid",
    "last_value",
    "lead",
    "length",
    "like",
    "likelihood",
    "likely",
    "ln",
    "log",
    "log10",
    "log2",
    "lower",
    "ltrim",
    "match",
    "max",
    "median",
    "min",
    "mod",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "percentile",
    "percentile_cont",
    "percentile_disc",
    "pi",
    "pow",
    "power",
    "printf",
    "quote",
    "radians",
    "random",
    "randomblob",
    "rank",
    "regexp",
    "replace",
    "round",
    "row_number",
    "rtreecheck",
    "rtreedepth",
    "rtreenode",
    "rtrim",
    "sign",
    "sin",
    "sinh",
    "snippet",
    "soundex",
    "sqlite_add_constraint", /* These are ALTER TABLE's own; SQLite keeps others from calling them. */
    "sqlite_drop_column",
    "sqlite_drop_constraint",
    "sqlite_fail",
    "sqlite_find_constraint",
    "sqlite_rename_column",
    "sqlite_rename_quotefix",
    "sqlite_rename_table",
    "sqlite_rename_test",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "subtype",
    "sum",
    "tan",
    "tanh",
    "time",
    "timediff",
    "total",
    "total_changes",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unistr",
    "unistr_quote",
    "unixepoch",
    "unlikely",
    "upper",
    "zeroblob",
};

/* Tables of SQLite that may be read; others whose names start like these may not. */
static const char *const own_tables[] = {
    "sqlite_master", "sqlite_schema",      "sqlite_sequence",    "sqlite_stat1",
    "sqlite_stat4",  "sqlite_temp_master", "sqlite_temp_schema", /* ALTER TABLE looks there. */
};
static const char *const hidden_tables[] = {"bytecode", "dbstat", "tables_used"};

static const char *const modules[] = {"fts5", "fts5vocab", "rtree", "rtree_i32"};

static const char *const pragmas_plain[] = {"data_version", "page_size", "table_list"};
static const char *const pragmas_switch[] = {
    "case_sensitive_like",       "defer_foreign_keys", "foreign_keys",
    "ignore_check_constraints",  "legacy_alter_table", "recursive_triggers",
    "reverse_unordered_selects",
};
static const char *const pragmas_object[] = {
    "foreign_key_check", "foreign_key_list", "index_info", "index_list",
    "index_xinfo",       "quick_check",      "table_info", "table_xinfo",
};
static const char *const switch_values[] = {"0", "1", "false", "no", "off", "on", "true", "yes"};

static bool among(const char *name, const char *const *list, unsigned count)
{
    unsigned low = 0, high = count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = sqlite3_stricmp(name, list[middle]);
        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
#define AMONG(name, list) among(name, list, CD_COUNT(list))

bool storage_rules_function(const char *name)
{
    return AMONG(name, functions);
}

/* ---- The authorizer ---- */

/* Names that start with _cf_ are ours. "_cf" itself is too: modules put _ and a word behind a table's name.
 */
static bool name_ok(const char *name)
{
    return name == NULL || (sqlite3_strnicmp(name, "_cf_", 4) != 0 && sqlite3_stricmp(name, "_cf") != 0);
}

static bool readable(const char *table)
{
    if (table == NULL)
        return true;
    if (sqlite3_strnicmp(table, "sqlite_", 7) == 0)
        return AMONG(table, own_tables);
    return name_ok(table) && !AMONG(table, hidden_tables);
}

static bool digits(const char *text)
{
    uint64_t number;
    struct cd_str s = cd_str(text);
    if (cd_str_starts(s, CD_STR("-")))
        s = cd_str_sub(s, 1, SIZE_MAX);
    if (cd_str_starts(s, CD_STR("0x")))
        return cd_str_hex_u64(cd_str_sub(s, 2, SIZE_MAX), &number) == 0;
    return cd_str_u64(s, &number) == 0;
}

static bool pragma_ok(const char *name, const char *value)
{
    if (AMONG(name, pragmas_plain))
        return value == NULL;
    if (AMONG(name, pragmas_switch))
        return value == NULL || AMONG(value, switch_values);
    if (AMONG(name, pragmas_object))
        return name_ok(value);
    return sqlite3_stricmp(name, "optimize") == 0 && (value == NULL || digits(value));
}

/* a and b: what SQLite tells of the action, by its manual. */
static bool allowed(struct storage *s, int action, const char *a, const char *b)
{
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_RECURSIVE:
    case SQLITE_REINDEX: return true;
    case SQLITE_READ: return readable(a);
    case SQLITE_ANALYZE:
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE: return name_ok(a);
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER: return name_ok(a) && name_ok(b);
    case SQLITE_CREATE_VTABLE: return name_ok(a) && AMONG(b, modules);
    case SQLITE_CREATE_TABLE: s->saw_create = true; return name_ok(a);
    case SQLITE_ALTER_TABLE: s->saw_alter = true; return name_ok(b);
    case SQLITE_FUNCTION: return storage_rules_function(b);
    case SQLITE_PRAGMA: return pragma_ok(a, b);
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT: s->saw_transaction = true; return false;
    default: /* ATTACH, DETACH, TEMP objects, and what a later SQLite may have. */ return false;
    }
}

static int authorize(void *arg, int action, const char *a, const char *b, const char *database,
                     const char *inner)
{
    struct storage *s = arg;
    (void)database, (void)inner;
    return s->trusted > 0 || allowed(s, action, a, b) ? SQLITE_OK : SQLITE_DENY;
}

void storage_rules_install(struct storage *s)
{
    limits(s->db);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_extended_result_codes(s->db, 1);
    (void)sqlite3_set_authorizer(s->db, authorize, s);
}
