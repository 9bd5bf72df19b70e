/* runtime/cells.c: see cells.h. */
#include "cells.h"

#include <sqlite3.h>
#include <stdio.h>

#include "base/map.h"
#include "cell/cell.h"
#include "cell/wire.h"
#include "db/storage.h"

/* What stays of a cell. */
struct kept {
    char *scope, *script, *name; /* owned */
    sqlite3 *sqlite;
    void *parked;
};

struct cell {
    struct io *io;
    struct kept *kept;
    struct storage *storage;
    unsigned pins, wires; /* wires: open and not parked */
    bool wake;
    struct io_timer sleep;
    void *user;
    bool starting, running, dooming;
    struct io_op doom;
    struct cd_buf why;
    struct cd_list waiting; /* struct cell_wire.link */
};

static struct {
    struct io *io;
    struct js_cells *host;
    struct cd_map cells; /* scope -> struct cell */
    struct cd_map kept; /* scope -> struct kept */
} all;

/* ---- Wires ---- */

struct message {
    struct cd_link link;
    struct cd_buf bytes; /* Of a close: its text. */
    bool close;
    struct cell_close why;
};

struct cell_wire {
    struct cell_wire *peer; /* NULL: gone */
    const struct cell_wire_hooks *hooks;
    void *arg;
    struct cd_list in;
    size_t waiting; /* The bytes of in. */
    struct cd_link link; /* In cell.waiting. */
    struct cell *cell; /* That it keeps in memory. */
    struct io_op deliver;
    bool user_gone, busy;
    unsigned calls; /* On stubs. */
};

#define CALLS_MAX 8u /* Of a wire; a real cell counts those of all its wires. */

static void message_free(struct message *m)
{
    cd_buf_deinit(&m->bytes);
    cd_free(m);
}

static void wire_free_if_idle(struct cell_wire *w)
{
    if (!w->user_gone || w->busy || io_busy(&w->deliver))
        return;
    for (struct cd_link *k; (k = cd_list_pop(&w->in)) != NULL;)
        message_free(CD_CONTAINER(k, struct message, link));
    cd_free(w);
}

static void sleep_if_idle(struct cell *c);

static void keeps_no_more(struct cell_wire *w)
{
    struct cell *c = w->cell;
    w->cell = NULL;
    if (c != NULL) {
        c->wires--;
        sleep_if_idle(c);
    }
}

static void take(struct cell_wire *w, size_t len)
{
    bool much = w->waiting >= CELL_WIRE_WINDOW / 2;
    const struct cell_wire *from = w->peer;
    w->waiting -= len;
    if (much && w->waiting < CELL_WIRE_WINDOW / 2 && from != NULL && from->hooks != NULL &&
        from->hooks->drained != NULL)
        from->hooks->drained(from->arg, w->peer);
}

static void on_deliver(struct io_op *op, int status)
{
    struct cell_wire *w = CD_CONTAINER(op, struct cell_wire, deliver);
    (void)status;
    w->busy = true;
    while (w->hooks != NULL && !cd_list_empty(&w->in)) {
        struct message *m = CD_CONTAINER(cd_list_pop(&w->in), struct message, link);
        if (m->close) {
            m->why.text = cd_buf_str(&m->bytes);
            w->hooks->closed(w->arg, w, &m->why);
        } else {
            take(w, m->bytes.len);
            w->hooks->message(w->arg, w, &m->bytes);
        }
        message_free(m);
    }
    w->busy = false;
    wire_free_if_idle(w);
}

static void give(struct cell_wire *w, struct message *m)
{
    if (w == NULL || w->user_gone) {
        message_free(m);
        return;
    }
    cd_list_push(&w->in, &m->link);
    w->waiting += m->close ? 0 : m->bytes.len;
    if (w->hooks != NULL && !w->busy && !io_busy(&w->deliver))
        io_defer(&w->deliver, all.io, IO_OK, on_deliver);
}

void cell_wire_attach(struct cell_wire *w, const struct cell_wire_hooks *hooks, void *arg)
{
    w->hooks = hooks;
    w->arg = arg;
    if (hooks != NULL && !cd_list_empty(&w->in) && !w->busy && !io_busy(&w->deliver))
        io_defer(&w->deliver, all.io, IO_OK, on_deliver);
}

void cell_wire_send(struct cell_wire *w, struct cd_buf *bytes)
{
    struct message *m = cd_new(struct message);
    m->bytes = cd_buf_move(bytes);
    CD_ASSERT(!w->user_gone);
    give(w->peer, m);
}

size_t cell_wire_unsent(const struct cell_wire *w)
{
    return w->peer != NULL ? w->peer->waiting : 0;
}

bool cell_wire_full(const struct cell_wire *w)
{
    return cell_wire_unsent(w) >= CELL_WIRE_WINDOW;
}

void cell_wire_close(struct cell_wire *w, const struct cell_close *why)
{
    CD_ASSERT(!w->user_gone);
    struct message *m = cd_new(struct message);
    m->close = true;
    if (why != NULL) {
        cd_buf_add_str(&m->bytes, why->text);
        m->why = *why;
    }
    w->user_gone = true;
    w->hooks = NULL;
    keeps_no_more(w);
    cd_link_remove(&w->link);
    give(w->peer, m);
    if (w->peer != NULL)
        w->peer->peer = NULL;
    wire_free_if_idle(w);
}

void cell_wire_served(struct cell_wire *w)
{
    CD_ASSERT(!w->user_gone);
}

bool cell_wire_call_begin(struct cell_wire *w)
{
    if (w->calls >= CALLS_MAX)
        return false;
    w->calls++;
    return true;
}

void cell_wire_call_end(struct cell_wire *w)
{
    CD_ASSERT(w->calls > 0);
    w->calls--;
}

void cell_wire_park(struct cell_wire *w, bool parked)
{
    CD_ASSERT(!w->user_gone && parked);
    keeps_no_more(w);
}

/* ---- Ends that answer by themselves ---- */

struct actor {
    struct cell_wire *wire;
    char *name; /* owned */
    bool answered;
};

static unsigned digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10) & 15;
}

static void hex_add(struct cd_buf *out, const char *hex)
{
    for (; hex[0] != 0 && hex[1] != 0; hex += 2) {
        char c = (char)(digit(hex[0]) << 4 | digit(hex[1]));
        cd_buf_add(out, &c, 1);
    }
}

static void actor_free(struct actor *a)
{
    cd_free(a->name);
    cd_free(a);
}

static void actor_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct actor *a = arg;
    struct cd_buf reply = {0};
    (void)bytes;
    if (a->answered)
        return;
    a->answered = true;
    if (cd_str_starts(cd_str(a->name), CD_STR("lost:"))) {
        cell_wire_close(w,
                        &(struct cell_close){.text = cd_str(a->name + 5), .reset = true, .retryable = true});
        actor_free(a);
        return;
    }
    hex_add(&reply, a->name + strlen("reply:"));
    cell_wire_send(w, &reply);
}

static void actor_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    (void)why;
    cell_wire_close(w, NULL);
    actor_free(arg);
}

static const struct cell_wire_hooks actor_hooks = {actor_message, actor_closed, NULL, NULL};

/* True: the name's cell does not run. */
static bool misbehave(struct cell_wire *w, struct cd_str name)
{
    if (cd_str_starts(name, CD_STR("refuse:"))) {
        cell_wire_close(w, &(struct cell_close){.text = cd_str_sub(name, 7, SIZE_MAX), .retryable = true});
    } else if (cd_str_eq(name, CD_STR("overloaded"))) {
        const struct cell_close why = {
            .text = CD_STR(CELL_OVERLOAD_TEXT), .overloaded = true, .retryable = true};
        cell_wire_close(w, &why);
    } else if (cd_str_starts(name, CD_STR("lost:")) || cd_str_starts(name, CD_STR("reply:"))) {
        struct actor *a = cd_new(struct actor);
        a->wire = w;
        a->name = cd_str_dup(name);
        cell_wire_attach(w, &actor_hooks, a);
    } else {
        return false;
    }
    return true;
}

/* ---- Cells ---- */

static int run_sql(struct cell *c, const char *sql)
{
    return sqlite3_exec(c->kept->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : CD_EINVAL;
}

static int on_begin(void *arg, struct cd_buf *why)
{
    (void)why;
    return run_sql(arg, "BEGIN");
}

static int on_commit(void *arg, const struct storage_alarm *alarm, struct cd_buf *why)
{
    (void)alarm, (void)why;
    return run_sql(arg, "COMMIT");
}

static void on_rollback(void *arg)
{
    int rc = run_sql(arg, "ROLLBACK");
    CD_MAYBE(rc != 0);
}

static struct kept *kept_of(struct cd_str scope, struct cd_str script, struct cd_str name)
{
    struct kept *k = cd_map_get(&all.kept, scope);
    if (k != NULL)
        return k;
    k = cd_new(struct kept);
    k->scope = cd_str_dup(scope);
    k->script = cd_str_dup(script);
    k->name = cd_str_dup(name);
    int rc = sqlite3_open(":memory:", &k->sqlite);
    CD_ASSERT(rc == SQLITE_OK);
    cd_map_put(&all.kept, scope, k);
    return k;
}

static struct cell *cell_make(struct kept *k)
{
    struct cell *c = cd_new(struct cell);
    struct cd_buf why = {0};
    c->io = all.io;
    c->kept = k;
    cd_list_init(&c->waiting);
    const struct storage_opts opts = {
        .sqlite = k->sqlite, .begin = on_begin, .commit = on_commit, .rollback = on_rollback, .arg = c};
    int rc = storage_open(&c->storage, &opts, &why);
    CD_ASSERT(rc == 0);
    cd_map_put(&all.cells, cd_str(k->scope), c);
    c->starting = true;
    return c;
}

static void on_gone(struct io_op *op, int status)
{
    (void)status;
    cd_free(CD_CONTAINER(op, struct cell, sleep.op));
}

static void cell_free(struct cell *c)
{
    cd_map_remove(&all.cells, cd_str(c->kept->scope));
    storage_close(c->storage);
    cd_buf_deinit(&c->why);
    if (!io_busy(&c->sleep.op)) {
        cd_free(c);
        return;
    }
    c->sleep.op.done = on_gone;
    io_cancel(&c->sleep.op);
}

static void on_sleep(struct io_op *op, int status)
{
    struct cell *c = CD_CONTAINER(op, struct cell, sleep.op);
    if (status == IO_OK && c->running && !c->dooming && c->pins == 0 && c->wires == 0) {
        c->running = false;
        js_cells_code()->stop(all.host, c, CELL_STOP_EVICT, (struct cd_str){0});
    }
}

static void sleep_if_idle(struct cell *c)
{
    if (cd_str_starts(cd_str(c->kept->name), CD_STR("sleepy")) && c->running && !c->dooming && c->pins == 0 &&
        c->wires == 0 && !io_busy(&c->sleep.op))
        io_timer_start(&c->sleep, c->io, IO_MS(1), on_sleep);
}

struct storage *cell_storage(const struct cell *c)
{
    return c->storage;
}

void cell_set_parked(struct cell_shard *s, struct cd_str scope, void *parked)
{
    (void)s;
    ((struct kept *)cd_map_get(&all.kept, scope))->parked = parked;
}

void *cell_parked(struct cell_shard *s, struct cd_str scope)
{
    (void)s;
    return ((struct kept *)cd_map_get(&all.kept, scope))->parked;
}

struct woken {
    struct io_op op;
    char *scope; /* owned */
};

static void on_woken(struct io_op *op, int status)
{
    struct woken *k = CD_CONTAINER(op, struct woken, op);
    struct cell *c = cd_map_get(&all.cells, cd_str(k->scope));
    (void)status;
    if (c != NULL && c->running && !c->dooming)
        js_cells_code()->wake(all.host, c);
    cd_free(k->scope);
    cd_free(k);
}

void cell_wake(struct cell_shard *s, struct cd_str scope)
{
    struct cell *c = cd_map_get(&all.cells, scope);
    (void)s;
    if (c != NULL && c->running) {
        struct woken *k = cd_new(struct woken);
        k->scope = cd_str_dup(scope);
        io_defer(&k->op, all.io, IO_OK, on_woken);
        return;
    }
    if (c != NULL) {
        c->wake = true;
        return;
    }
    c = cell_make(cd_map_get(&all.kept, scope));
    c->wake = true;
    js_cells_code()->start(all.host, c);
}

static void open_one(struct cell *c, struct cell_wire *w)
{
    struct cd_str name = cd_str(c->kept->name);
    w->cell = c;
    c->wires++;
    if (cd_str_starts(name, CD_STR("inject:"))) {
        struct message *m = cd_new(struct message);
        hex_add(&m->bytes, c->kept->name + strlen("inject:"));
        cd_list_init(&w->in);
        cd_list_push(&w->in, &m->link);
        if (w->peer != NULL)
            w->peer->peer = NULL; /* Nothing else comes. */
    }
    js_cells_code()->open(all.host, c, w);
}

void cell_started(struct cell *c, const char *why)
{
    c->starting = false;
    c->running = why == NULL;
    for (struct cd_link *k; (k = cd_list_pop(&c->waiting)) != NULL;) {
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, link);
        if (why == NULL)
            open_one(c, w);
        else
            cell_wire_close(w, &(struct cell_close){.text = cd_str(why), .reset = true});
    }
    if (why != NULL) {
        cell_free(c);
        return;
    }
    if (c->wake)
        js_cells_code()->wake(all.host, c);
    sleep_if_idle(c);
}

static void doom(struct io_op *op, int status)
{
    struct cell *c = CD_CONTAINER(op, struct cell, doom);
    (void)status;
    js_cells_code()->stop(all.host, c, CELL_STOP_RESET, cd_buf_str(&c->why));
}

void cell_stopped(struct cell *c)
{
    cell_free(c);
}

void cell_abort(struct cell *c, struct cd_str reason)
{
    if (c->dooming)
        return;
    c->dooming = true;
    c->running = false;
    cd_buf_add_str(&c->why, reason);
    io_defer(&c->doom, all.io, IO_OK, doom);
}

struct cell_wire *cell_call(struct cell_router *r, struct io *io, const struct cell_target *target,
                            struct cell *from)
{
    struct cell_wire *mine = cd_new(struct cell_wire), *its = cd_new(struct cell_wire);
    (void)r, (void)io, (void)from;
    cd_list_init(&mine->in);
    cd_list_init(&its->in);
    mine->peer = its;
    its->peer = mine;
    if (misbehave(its, target->name))
        return mine;
    struct cell *c = cd_map_get(&all.cells, target->scope);
    if (c == NULL || c->dooming) {
        if (c != NULL) { /* The tests do not look at who waits for the end of the old one. */
            cell_wire_close(its, &(struct cell_close){.text = CD_STR("is being reset"), .retryable = true});
            return mine;
        }
        c = cell_make(kept_of(target->scope, target->script, target->name));
        cd_list_push(&c->waiting, &its->link);
        js_cells_code()->start(all.host, c);
        return mine;
    }
    if (c->running) {
        open_one(c, its);
        return mine;
    }
    cd_list_push(&c->waiting, &its->link);
    return mine;
}

struct io *cell_io(const struct cell *c)
{
    return c->io;
}

struct cell_shard *cell_shard_of(const struct cell *c)
{
    (void)c;
    return NULL;
}

struct cd_str cell_scope(const struct cell *c)
{
    return cd_str(c->kept->scope);
}

struct cd_str cell_script(const struct cell *c)
{
    return cd_str(c->kept->script);
}

struct cd_str cell_name(const struct cell *c)
{
    return cd_str(c->kept->name);
}

void cell_set_user(struct cell *c, void *user)
{
    c->user = user;
}

void *cell_user(const struct cell *c)
{
    return c->user;
}

void cell_pin(struct cell *c)
{
    c->pins++;
}

void cell_unpin(struct cell *c)
{
    CD_ASSERT(c->pins > 0);
    c->pins--;
    sleep_if_idle(c);
}

void cell_alarm_done(struct cell *c, enum cell_alarm_end end)
{
    (void)c, (void)end;
}

void cell_evict(struct cell_shard *s, struct cd_str scope, void (*done)(void *arg, const char *reason),
                void *arg)
{
    (void)s, (void)scope;
    done(arg, "nothing is evicted here");
}

int cell_flush(struct cell *c, struct cd_buf *why)
{
    return storage_turn_end(c->storage, why);
}

void cell_gate(struct cell *c, struct cell_held *h, cell_held_fn *done)
{
    (void)c;
    done(h, 0, (struct cd_str){0});
}

void cell_gate_cancel(struct cell_held *h)
{
    (void)h;
}

/* ---- All ---- */

struct cell_router *cells_open(struct io *io)
{
    all.io = io;
    all.host = js_cells_new(&(struct js_cells_opts){.io = io});
    return (struct cell_router *)&all;
}

void cells_serve(struct js_site *site)
{
    js_cells_serve(all.host, site);
}

void cells_close(void)
{
    js_cells_hang_up(all.host);
    for (struct cd_map_node *n; (n = cd_map_first(&all.cells)) != NULL;) {
        struct cell *c = cd_map_value(n);
        if (io_busy(&c->doom))
            io_cancel(&c->doom);
        (js_cells_code()->stop)(all.host, c, CELL_STOP_EVICT, (struct cd_str){0});
    }
    for (struct cd_map_node *n; (n = cd_map_first(&all.kept)) != NULL;) {
        struct kept *k = cd_map_value(n);
        cd_map_remove(&all.kept, cd_str(k->scope));
        sqlite3_close(k->sqlite);
        cd_free(k->scope);
        cd_free(k->script);
        cd_free(k->name);
        cd_free(k);
    }
    cd_map_deinit(&all.cells);
    cd_map_deinit(&all.kept);
    js_cells_free(all.host);
}
