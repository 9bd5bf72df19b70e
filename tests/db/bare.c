#include "bare.h"

#include "support/test.h"

static int on_begin(void *arg, struct cd_buf *why)
{
    struct bare *b = arg;
    (void)why;
    b->begins++;
    return sqlite3_exec(b->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK ? 0 : CD_EINVAL;
}

static int on_commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    struct bare *b = arg;
    if (b->refuse || sqlite3_exec(b->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK) {
        cd_buf_addf(why, "refused: %s", sqlite3_errmsg(b->db));
        (void)sqlite3_exec(b->db, "ROLLBACK", NULL, NULL, NULL);
        return CD_EINVAL;
    }
    b->commits++;
    b->alarm = *alarm;
    return 0;
}

static void on_rollback(void *arg)
{
    struct bare *b = arg;
    b->rollbacks++;
    (void)sqlite3_exec(b->db, "ROLLBACK", NULL, NULL, NULL);
}

static void open_storage(struct bare *b)
{
    struct cd_buf why = {0};
    struct storage_opts opts = {
        .sqlite = b->db, .begin = on_begin, .commit = on_commit, .rollback = on_rollback, .arg = b};
    assert_int_equal(storage_open(&b->s, &opts, &why), 0);
    cd_buf_deinit(&why);
}

struct bare *bare_new(void)
{
    struct bare *b = cd_new(struct bare);
    assert_int_equal(sqlite3_open(":memory:", &b->db), SQLITE_OK);
    open_storage(b);
    return b;
}

void bare_free(struct bare *b)
{
    storage_close(b->s);
    assert_int_equal(sqlite3_close(b->db), SQLITE_OK); /* Busy when a statement was forgotten. */
    cd_buf_deinit(&b->text);
    cd_free(b);
}

void bare_reopen(struct bare *b)
{
    storage_close(b->s);
    open_storage(b);
}

void bare_turn(struct bare *b)
{
    struct cd_buf why = {0};
    int rc = storage_turn_end(b->s, &why);
    if (rc != 0)
        fail_msg("turn: %s", cd_buf_cstr(&why));
    cd_buf_deinit(&why);
}

static void add_value(struct cd_buf *out, const struct storage_value *v)
{
    switch (v->type) {
    case STORAGE_NULL: cd_buf_addf(out, "NULL"); break;
    case STORAGE_INTEGER: cd_buf_addf(out, "%lld", (long long)v->integer); break;
    case STORAGE_REAL: cd_buf_addf(out, "real"); break;
    case STORAGE_TEXT: cd_buf_add_str(out, v->bytes); break;
    case STORAGE_BLOB: cd_buf_addf(out, "blob%zu", v->bytes.len); break;
    }
}

const char *bare_bind(struct bare *b, const char *sql, const struct storage_value *v, unsigned count)
{
    struct storage_cursor *c;
    cd_buf_clear(&b->text);
    int rc = storage_sql(b->s, cd_str(sql), v, count, &c);
    bool open = rc == 0;
    while (rc == 0 && storage_cursor_row(c)) {
        if (b->text.len > 0)
            cd_buf_addf(&b->text, ";");
        for (unsigned i = 0; i < storage_cursor_columns(c); i++) {
            struct storage_value value;
            storage_cursor_value(c, i, &value);
            if (i > 0)
                cd_buf_addf(&b->text, ",");
            add_value(&b->text, &value);
        }
        rc = storage_cursor_next(c);
    }
    if (open)
        storage_cursor_close(c);
    if (rc != 0) {
        cd_buf_clear(&b->text);
        cd_buf_addf(&b->text, "error: ");
        cd_buf_add_str(&b->text, storage_error(b->s));
    }
    return cd_buf_cstr(&b->text);
}

const char *bare_sql(struct bare *b, const char *sql)
{
    return bare_bind(b, sql, NULL, 0);
}

static int add_pair(void *arg, struct cd_str key, struct cd_str value)
{
    struct bare *b = arg;
    if (b->text.len > 0)
        cd_buf_addf(&b->text, " ");
    cd_buf_add_str(&b->text, key);
    cd_buf_addf(&b->text, "=");
    cd_buf_add_str(&b->text, value);
    return 0;
}

const char *bare_list(struct bare *b, struct storage_range range)
{
    cd_buf_clear(&b->text);
    assert_int_equal(storage_kv_list(b->s, &range, add_pair, b), 0);
    return cd_buf_cstr(&b->text);
}

void bare_put(struct bare *b, const char *key, const char *value)
{
    assert_int_equal(storage_kv_put(b->s, cd_str(key), cd_str(value)), 0);
}

const char *bare_get(struct bare *b, const char *key)
{
    struct cd_str value;
    int rc = storage_kv_get(b->s, cd_str(key), &value);
    if (rc == CD_ENOTFOUND)
        return NULL;
    assert_int_equal(rc, 0);
    cd_buf_clear(&b->text);
    cd_buf_add_str(&b->text, value);
    return cd_buf_cstr(&b->text);
}
