#include "storage_host.h"

#include <sqlite3.h>
#include <time.h>

#include "db/storage.h"
#include "js/storage.h"
#include "js/worker_internal.h"

#define DATABASES_MAX 64

struct database {
    struct storage_host *host;
    sqlite3 *sqlite;
    struct storage *storage;
    uint64_t number;
    unsigned commits;
    const char *refusal;
};

struct storage_host {
    struct js_worker *w;
    struct database db[DATABASES_MAX];
    unsigned count;
};

static int run(struct database *d, const char *sql)
{
    return sqlite3_exec(d->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : CD_EINVAL;
}

static int on_begin(void *arg, struct cd_buf *why)
{
    (void)why;
    return run(arg, "BEGIN");
}

static int on_commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    struct database *d = arg;
    (void)alarm;
    d->commits++;
    int rc = run(d, "COMMIT");
    if (rc != 0) {
        cd_buf_addf(why, "commit: %s", sqlite3_errmsg(d->sqlite));
        (void)run(d, "ROLLBACK");
    }
    return rc;
}

static void on_rollback(void *arg)
{
    (void)run(arg, "ROLLBACK");
}

static const char *refusal(struct js_isolate *js, void *arg)
{
    (void)js;
    return ((struct database *)arg)->refusal;
}

/* new storage: the prelude's newStorage(number, cell). */
static int open_storage(struct js_args *a, struct database *d, js_value cell)
{
    struct cd_buf why = {0};
    struct storage_opts opts = {
        .sqlite = d->sqlite, .begin = on_begin, .commit = on_commit, .rollback = on_rollback, .arg = d};
    int rc = storage_open(&d->storage, &opts, &why);
    CD_ASSERT(rc == 0);
    cd_buf_deinit(&why);
    d->number = js_storage_open(
        d->host->w, &(struct js_storage_opts){
                        .storage = d->storage, .id = CD_STR("test-cell"), .refuse = refusal, .arg = d});
    js_value fn, v;
    rc = js_get_text(a->js, js_prelude(a->js), "newStorage", &fn);
    const js_value args[] = {js_number(a->js, (double)d->number), cell};
    if (rc == 0)
        rc = js_call(a->js, fn, js_undefined(a->js), args, 2, &v);
    if (rc == 0)
        js_return(a, v);
    return rc;
}

static int on_turn(struct js_args *a)
{
    struct database *d = a->user;
    struct cd_buf why = {0};
    js_value text;
    int rc = 0;
    if (storage_turn_end(d->storage, &why) != 0) {
        rc = js_string(a->js, cd_buf_str(&why), &text);
        if (rc == 0)
            js_return(a, text);
    }
    cd_buf_deinit(&why);
    return rc;
}

static int on_reopen(struct js_args *a)
{
    struct database *d = a->user;
    js_storage_close(d->host->w, d->number);
    storage_close(d->storage);
    return open_storage(a, d, js_arg(a, 0));
}

static int on_commits(struct js_args *a)
{
    js_return_int(a, (int32_t)((struct database *)a->user)->commits);
    return 0;
}

static int on_alarm_begin(struct js_args *a)
{
    storage_alarm_begin(((struct database *)a->user)->storage);
    return 0;
}

/* alarmEnd(ok): whether the alarm was dropped. */
static int on_alarm_end(struct js_args *a)
{
    bool dropped = false;
    enum storage_alarm_end end = js_to_bool(a->js, js_arg(a, 0)) ? STORAGE_ALARM_OK : STORAGE_ALARM_COUNTED;
    int rc = storage_alarm_end(((struct database *)a->user)->storage, end, 1000, &dropped);
    js_return_bool(a, dropped);
    return rc;
}

/* refuse(yes): whether its uses are refused, as another cell's are. */
static int on_refuse(struct js_args *a)
{
    ((struct database *)a->user)->refusal =
        js_to_bool(a->js, js_arg(a, 0)) ? "Cannot perform I/O on behalf of a different Durable Object."
                                        : NULL;
    return 0;
}

/* busy(): statements that have begun and not ended. */
static int on_busy(struct js_args *a)
{
    struct database *d = a->user;
    int32_t count = 0;
    for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(d->sqlite, stmt)) != NULL;)
        count += sqlite3_stmt_busy(stmt) != 0;
    js_return_int(a, count);
    return 0;
}

/* spoil(key): what is stored there is no value any more. */
static int on_spoil(struct js_args *a)
{
    struct cd_buf key = {0};
    js_string_add(a->js, js_arg(a, 0), &key);
    int rc =
        storage_kv_put(((struct database *)a->user)->storage, cd_buf_str(&key), CD_STR("\xFF\x0Fnonsense"));
    cd_buf_deinit(&key);
    return rc;
}

/* cpu(): microseconds of the processor that the thread took so far. */
static int on_cpu(struct js_args *a)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    js_return_number(a, (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3);
    return 0;
}

static int on_gc(struct js_args *a)
{
    js_gc(a->js);
    return 0;
}

/* open(cell): the storage; once, before any other. */
static int on_open(struct js_args *a)
{
    return open_storage(a, a->user, js_arg(a, 0));
}

static int on_new(struct js_args *a)
{
    static const struct {
        const char *name;
        js_host_fn *fn;
    } functions[] = {{"turn", on_turn},
                     {"reopen", on_reopen},
                     {"commits", on_commits},
                     {"refuse", on_refuse},
                     {"alarmBegin", on_alarm_begin},
                     {"alarmEnd", on_alarm_end},
                     {"open", on_open},
                     {"busy", on_busy},
                     {"gc", on_gc},
                     {"cpu", on_cpu},
                     {"spoil", on_spoil}};
    struct storage_host *t = a->user;
    if (t->count == DATABASES_MAX)
        return CD_EFULL;
    struct database *d = &t->db[t->count++];
    d->host = t;
    CD_ASSERT(sqlite3_open(":memory:", &d->sqlite) == SQLITE_OK);
    js_value out = js_object(a->js), fn;
    for (unsigned i = 0; i < CD_COUNT(functions); i++) {
        int rc = js_function_new(a->js, functions[i].fn, d, &fn);
        if (rc == 0)
            rc = js_set_text(a->js, out, functions[i].name, fn);
        if (rc != 0)
            return rc;
    }
    js_return(a, out);
    return 0;
}

struct storage_host *storage_host_new(struct js_worker *w)
{
    struct storage_host *t = cd_new(struct storage_host);
    struct js_entry e;
    js_value fn;
    t->w = w;
    js_enter(w, &e);
    int rc = js_function_new(w->js, on_new, t, &fn);
    if (rc == 0)
        rc = js_set_text(w->js, js_global(w->js), "testStorage", fn);
    CD_ASSERT(rc == 0);
    js_leave(&e);
    return t;
}

void storage_host_free(struct storage_host *t)
{
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->count; i++) {
        if (t->db[i].storage != NULL)
            storage_close(t->db[i].storage);
        CD_ASSERT(sqlite3_close(t->db[i].sqlite) == SQLITE_OK);
    }
    cd_free(t);
}
