/* js_cells/rig.c: see rig.h. */
#include "rig.h"

#define CONFIG "{\"script\":\"test\",\"flags\":[],\"bindings\":[],\"sqliteClasses\":[\"Sql\"]}"

/* ---- What src/cell would do ---- */

void cell_started(struct cell *c, const char *why)
{
    cd_buf_addf(&c->log, "started%s%s\n", why != NULL ? ": " : "", why != NULL ? why : "");
    c->running = why == NULL;
}

void cell_alarm_done(struct cell *c, enum cell_alarm_end end)
{
    cd_buf_addf(&c->log, "alarm %d\n", (int)end);
}

void cell_stopped(struct cell *c)
{
    cd_buf_addf(&c->log, "stopped\n");
    c->running = false;
}

struct io *cell_io(const struct cell *c)
{
    return c->io;
}

struct cell_shard *cell_shard_of(const struct cell *c)
{
    return (struct cell_shard *)c;
}

struct cd_str cell_scope(const struct cell *c)
{
    return cd_str(c->scope);
}

struct cd_str cell_script(const struct cell *c)
{
    return c->woken ? (struct cd_str){0} : CD_STR("test");
}

struct cd_str cell_name(const struct cell *c)
{
    (void)c;
    return (struct cd_str){0};
}

void cell_set_user(struct cell *c, void *user)
{
    c->user = user;
}

void *cell_user(const struct cell *c)
{
    return c->user;
}

void cell_abort(struct cell *c, struct cd_str reason)
{
    cd_buf_addf(&c->log, "abort: %.*s\n", (int)reason.len, reason.ptr);
}

void cell_pin(struct cell *c)
{
    c->pins++;
}

void cell_unpin(struct cell *c)
{
    assert_true(c->pins > 0);
    c->pins--;
}

static int db_run(void *arg, const char *sql)
{
    return sqlite3_exec(((struct cell *)arg)->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : CD_EINVAL;
}

static int on_begin(void *arg, struct cd_buf *why)
{
    (void)why;
    return db_run(arg, "BEGIN");
}

static int on_commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    (void)alarm, (void)why;
    ((struct cell *)arg)->commits++;
    return db_run(arg, "COMMIT");
}

static void on_rollback(void *arg)
{
    (void)db_run(arg, "ROLLBACK");
}

static void storage_make(struct cell *c)
{
    struct cd_buf why = {0};
    assert_int_equal(sqlite3_open(":memory:", &c->db), SQLITE_OK);
    struct storage_opts opts = {
        .sqlite = c->db, .begin = on_begin, .commit = on_commit, .rollback = on_rollback, .arg = c};
    assert_int_equal(storage_open(&c->storage, &opts, &why), 0);
    cd_buf_deinit(&why);
}

struct storage *cell_storage(const struct cell *c)
{
    return c->storage;
}

int cell_flush(struct cell *c, struct cd_buf *why)
{
    c->flushes++;
    if (c->bad_flush == NULL)
        return storage_turn_end(c->storage, why);
    cd_buf_addf(why, "%s", c->bad_flush);
    return CD_EINVAL;
}

void cell_gate(struct cell *c, struct cell_held *h, cell_held_fn *done)
{
    h->done = done;
    if (c->unproven)
        cd_list_push(&c->held, &h->link);
    else
        done(h, 0, (struct cd_str){0});
}

void cell_gate_cancel(struct cell_held *h)
{
    cd_link_remove(&h->link);
}

void cell_evict(struct cell_shard *s, struct cd_str scope, void (*done)(void *arg, const char *reason),
                void *arg)
{
    struct cell *c = (struct cell *)s;
    assert_str_is(scope, c->scope);
    c->evict_wanted = true;
    done(arg, NULL);
}

/* No calls come or go here: tests/runtime has those. */
struct cell_wire *cell_call(struct cell_router *r, struct io *io, const struct cell_target *target,
                            struct cell *from)
{
    (void)r, (void)io, (void)target, (void)from;
    fail_msg("a call of a cell");
    return NULL;
}

void cell_wire_attach(struct cell_wire *w, const struct cell_wire_hooks *hooks_of, void *arg)
{
    (void)w, (void)hooks_of, (void)arg;
}

void cell_wire_send(struct cell_wire *w, struct cd_buf *bytes)
{
    (void)w, (void)bytes;
}

size_t cell_wire_unsent(const struct cell_wire *w)
{
    (void)w;
    return 0;
}

bool cell_wire_full(const struct cell_wire *w)
{
    (void)w;
    return false;
}

bool cell_wire_call_begin(struct cell_wire *w)
{
    (void)w;
    return true;
}

void cell_wire_call_end(struct cell_wire *w)
{
    (void)w;
}

void cell_wire_served(struct cell_wire *w)
{
    (void)w;
}

void cell_wire_close(struct cell_wire *w, const struct cell_close *why)
{
    (void)w, (void)why;
}

/* They keep no sockets: tests/runtime has that. */
void cell_wire_park(struct cell_wire *w, bool parked)
{
    (void)w, (void)parked;
    fail_msg("a wire");
}

void cell_wake(struct cell_shard *s, struct cd_str scope)
{
    (void)s, (void)scope;
    fail_msg("a socket");
}

void cell_set_parked(struct cell_shard *s, struct cd_str scope, void *parked)
{
    (void)s, (void)scope, (void)parked;
}

void *cell_parked(struct cell_shard *s, struct cd_str scope)
{
    (void)s, (void)scope;
    return NULL;
}

/* ---- The rig ---- */

static void on_console(void *arg, struct js_worker *w, enum cd_level level, struct cd_str text)
{
    struct rig *r = arg;
    (void)w, (void)level;
    cd_buf_addf(&r->log, "%.*s\n", (int)text.len, text.ptr);
}

static void on_uncaught(void *arg, struct js_worker *w, const char *where, const struct js_problem *p)
{
    struct rig *r = arg;
    struct cd_str scope = js_worker_scope(w);
    cd_buf_addf(&r->log, "uncaught %s", where);
    if (scope.len > 0)
        cd_buf_addf(&r->log, " of %.*s", (int)scope.len, scope.ptr);
    cd_buf_addf(&r->log, ": %.*s: %.*s\n", (int)p->name.len, p->name.ptr, (int)p->message.len,
                p->message.ptr);
}

static const struct js_worker_hooks hooks = {.console = on_console, .uncaught = on_uncaught};

#define SOURCE_MAP "//# map " /* What follows is the source map. */

static struct js_site *site_open(struct rig *r, unsigned which, const char *source, unsigned heap)
{
    const char *map = strstr(source, SOURCE_MAP);
    r->module[which] =
        (struct js_bundle_module){.name = CD_STR("index.js"), .kind = JS_MODULE_ESM, .bytes = cd_str(source)};
    if (map != NULL)
        r->module[which].source_map = cd_str(map + strlen(SOURCE_MAP));
    r->bundle[which] = (struct js_bundle){
        .script = CD_STR("test"), .module = &r->module[which], .count = 1, .config = CD_STR(CONFIG)};
    const struct js_site_opts opts = {.io = r->io,
                                      .bundles = &r->bundle[which],
                                      .count = 1,
                                      .heap_limit = (uint64_t)heap << 20,
                                      .hooks = &hooks,
                                      .arg = r};
    return js_site_open(&opts);
}

struct in_loop {
    void (*fn)(struct io *io, void *arg);
    void *arg;
    bool done;
};

static void in_loop_run(struct io *io, void *arg)
{
    struct in_loop *l = arg;
    l->fn(io, l->arg);
    l->done = true;
}

static bool in_loop_done(void *arg)
{
    return ((struct in_loop *)arg)->done;
}

static void in_loop(struct rig *r, void (*fn)(struct io *io, void *arg), void *arg)
{
    struct in_loop l = {fn, arg, false};
    sim_in_loop(r->node, 0, in_loop_run, &l);
    assert_true(sim_run_until(r->sim, in_loop_done, &l, IO_SEC(1)));
}

struct opening {
    struct rig *r;
    const char *source;
    unsigned heap;
};

static void open_in_loop(struct io *io, void *arg)
{
    struct opening *o = arg;
    struct rig *r = o->r;
    static bool started;
    if (!started)
        js_worker_platform(true);
    started = true;
    r->io = io;
    r->site = site_open(r, 0, o->source, o->heap);
    r->cells = js_cells_new(&(struct js_cells_opts){.io = io, .deploy_max_age_ns = IO_SEC(60)});
    js_cells_serve(r->cells, r->site);
}

void rig_open(struct rig *r, const char *source, unsigned heap)
{
    memset(r, 0, sizeof *r);
    r->sim = sim_new(&(struct sim_opts){.seed = 1});
    r->node = sim_node(r->sim, &(struct sim_node_opts){.name = "n"});
    in_loop(r, open_in_loop, &(struct opening){r, source, heap});
}

static void on_closed(struct io_op *op, int status)
{
    (void)op, (void)status;
}

static void close_in_loop(struct io *io, void *arg)
{
    struct rig *r = arg;
    static struct io_op op;
    (void)io;
    js_cells_serve(r->cells, NULL);
    js_site_close(r->site, 0, &op, on_closed);
    js_cells_free(r->cells);
}

void rig_close(struct rig *r)
{
    in_loop(r, close_in_loop, r);
    sim_run_for(r->sim, IO_SEC(120));
    assert_string_equal(cd_buf_cstr(&r->log), "");
    cd_buf_deinit(&r->log);
    struct cd_buf left = {0};
    if (sim_left(r->node, &left) != 0)
        fail_msg("left: %s", cd_buf_cstr(&left));
    cd_buf_deinit(&left);
    sim_crash_wait(r->node, SIM_KILL);
    sim_free(r->sim);
}

void rig_run(struct rig *r, uint64_t ns)
{
    sim_run_for(r->sim, ns);
}

static void deploy_in_loop(struct io *io, void *arg)
{
    struct opening *o = arg;
    struct rig *r = o->r;
    static struct io_op op;
    (void)io;
    struct js_site *old = r->site;
    r->site = site_open(r, 1, o->source, 0);
    js_cells_serve(r->cells, r->site);
    js_site_close(old, IO_SEC(1), &op, on_closed);
}

void rig_deploy(struct rig *r, const char *source)
{
    in_loop(r, deploy_in_loop, &(struct opening){r, source, 0});
}

/* ---- Steps ---- */

struct step {
    struct rig *r;
    struct cell *c;
    int64_t at_ms;
    unsigned retries;
    enum cell_stop cause;
    const char *why;
};

static void start_in_loop(struct io *io, void *arg)
{
    struct step *s = arg;
    s->c->io = io;
    js_cells_code()->start(s->r->cells, s->c);
}

static void cell_begin(struct rig *r, struct cell *c, const char *scope, bool woken)
{
    memset(c, 0, sizeof *c);
    c->scope = scope;
    c->woken = woken;
    cd_list_init(&c->held);
    storage_make(c);
    in_loop(r, start_in_loop, &(struct step){.r = r, .c = c});
}

void rig_cell(struct rig *r, struct cell *c, const char *scope)
{
    cell_begin(r, c, scope, false);
}

void rig_cell_woken(struct rig *r, struct cell *c, const char *scope)
{
    cell_begin(r, c, scope, true);
}

static void alarm_in_loop(struct io *io, void *arg)
{
    struct step *s = arg;
    (void)io;
    const struct cell_alarm_run run = {.scheduled_ms = s->at_ms, .retry_count = s->retries};
    js_cells_code()->alarm(s->r->cells, s->c, &run);
}

void rig_alarm(struct rig *r, struct cell *c, int64_t at_ms, unsigned retries)
{
    in_loop(r, alarm_in_loop, &(struct step){.r = r, .c = c, .at_ms = at_ms, .retries = retries});
}

static void prove_in_loop(struct io *io, void *arg)
{
    struct cell *c = arg;
    (void)io;
    c->unproven = false;
    for (struct cd_link *k; (k = cd_list_pop(&c->held)) != NULL;) {
        struct cell_held *h = CD_CONTAINER(k, struct cell_held, link);
        h->done(h, 0, (struct cd_str){0});
    }
}

void rig_prove(struct rig *r, struct cell *c)
{
    in_loop(r, prove_in_loop, c);
}

static void stop_in_loop(struct io *io, void *arg)
{
    struct step *s = arg;
    (void)io;
    (js_cells_code()->stop)(s->r->cells, s->c, s->cause,
                            s->why != NULL ? cd_str(s->why) : (struct cd_str){0});
}

void rig_stop(struct rig *r, struct cell *c, enum cell_stop cause, const char *why)
{
    in_loop(r, stop_in_loop, &(struct step){.r = r, .c = c, .cause = cause, .why = why});
    assert_true(cd_list_empty(&c->held));
}

void rig_cell_free(struct cell *c)
{
    assert_false(c->running);
    assert_string_equal(cd_buf_cstr(&c->log), "");
    cd_buf_deinit(&c->log);
    storage_close(c->storage);
    assert_int_equal(sqlite3_close(c->db), SQLITE_OK);
}
