/* js/site.c: the isolates of an application on one loop. */
#include "js/site.h"

#include "cell/id.h"
#include "http/server.h"
#include "js/worker_internal.h"

struct script {
    const struct js_bundle *bundle;
    struct js_worker *worker; /* The one that takes events; NULL: none yet. */
    struct js_worker **host; /* owned; those of cells */
    unsigned host_count;
};

struct js_site {
    struct js_site_opts opts;
    struct script *script; /* owned */
    bool closing, halted;
    unsigned open; /* Workers that are not closed yet. */
    struct io_timer timer; /* While closing: looks whether the events have ended. */
    struct io_timer retire; /* Looks for isolates without cells. */
    uint64_t collected_ns; /* When heaps were collected last. */
    unsigned cells;
    uint64_t until_ns;
    struct io_op *closed;
    io_done_fn *closed_done;
};

/* A worker on its way out. */
struct leaving {
    struct io_op op;
    struct js_site *site;
};

struct js_site *js_site_open(const struct js_site_opts *opts)
{
    struct js_site *s = cd_new(struct js_site);
    s->opts = *opts;
    s->script = cd_alloc(sizeof(*s->script) * opts->count);
    for (unsigned i = 0; i < opts->count; i++)
        s->script[i].bundle = &opts->bundles[i];
    return s;
}

static void finish_if_idle(struct js_site *s)
{
    if (!s->closing || s->open > 0 || io_busy(&s->timer.op) || io_busy(&s->retire.op))
        return;
    struct io *io = s->opts.io;
    struct io_op *op = s->closed;
    io_done_fn *done = s->closed_done;
    for (unsigned i = 0; i < s->opts.count; i++)
        cd_free(s->script[i].host);
    cd_free(s->script);
    cd_free(s);
    io_defer(op, io, IO_OK, done);
}

static void on_left(struct io_op *op, int status)
{
    struct leaving *l = CD_CONTAINER(op, struct leaving, op);
    struct js_site *s = l->site;
    (void)status;
    cd_free(l);
    s->open--;
    finish_if_idle(s);
}

static void leave(struct js_site *s, struct js_worker **w)
{
    if (*w == NULL)
        return;
    struct leaving *l = cd_new(struct leaving);
    l->site = s;
    js_worker_close(*w, &l->op, on_left);
    *w = NULL;
}

static int worker_make(struct js_site *s, struct script *script, struct js_worker **out, struct cd_buf *why)
{
    const struct js_worker_opts opts = {.io = s->opts.io,
                                        .bundle = script->bundle,
                                        .heap_limit = s->opts.heap_limit,
                                        .trusts_proxy = s->opts.trusts_proxy,
                                        .blank = s->opts.blank,
                                        .site = s,
                                        .watch = s->opts.watch,
                                        .hooks = s->opts.hooks,
                                        .arg = s->opts.arg};
    s->opts.blank = NULL;
    int rc = js_worker_open(out, &opts, why);
    if (rc == 0)
        s->open++;
    return rc;
}

static struct js_worker *worker_of(struct js_site *s, struct script *script, struct cd_buf *why)
{
    if (s->halted) {
        cd_buf_addf(why, "the application was halted");
        return NULL;
    }
    if (script->worker != NULL && js_worker_condemned(script->worker))
        leave(s, &script->worker); /* Its events were failed when it was condemned. */
    if (script->worker == NULL && worker_make(s, script, &script->worker, why) != 0)
        return NULL;
    return script->worker;
}

int js_site_load(struct js_site *s, struct cd_buf *why)
{
    for (unsigned i = 0; i < s->opts.count; i++) {
        if (worker_of(s, &s->script[i], why) == NULL)
            return CD_EINVAL;
    }
    return 0;
}

static struct script *script_find(const struct js_site *s, struct cd_str name)
{
    for (unsigned i = 0; i < s->opts.count; i++) {
        if (cd_str_eq(s->script[i].bundle->script, name))
            return &s->script[i];
    }
    return NULL;
}

bool js_site_has(const struct js_site *s, struct cd_str script)
{
    return script_find(s, script) != NULL;
}

struct js_worker *js_site_worker(struct js_site *s, struct cd_str name, struct cd_buf *why)
{
    if (s->closing) {
        cd_buf_addf(why, "the application is being stopped");
        return NULL;
    }
    struct script *script = script_find(s, name);
    if (script != NULL)
        return worker_of(s, script, why);
    cd_buf_addf(why, "there is no script \"%.*s\"", (int)name.len, name.ptr);
    return NULL;
}

void js_site_fetch(struct js_site *s, struct http_exchange *x, struct cd_str origin)
{
    struct cd_buf why = {0};
    CD_ASSERT(!s->closing);
    struct js_worker *w = worker_of(s, &s->script[0], &why);
    if (w != NULL) {
        js_worker_fetch(w, x, origin);
    } else {
        struct cd_buf text = {0};
        cd_buf_addf(&text, "Worker failed: it does not load: %.*s", (int)why.len, why.ptr);
        http_answer_text(x, 500, "text/plain; charset=utf-8", cd_buf_str(&text));
        cd_buf_deinit(&text);
        if (s->opts.hooks != NULL && s->opts.hooks->fetched != NULL)
            s->opts.hooks->fetched(s->opts.arg);
    }
    cd_buf_deinit(&why);
}

void js_site_halt(struct js_site *s)
{
    s->halted = true;
    for (unsigned i = 0; i < s->opts.count; i++) {
        if (s->script[i].worker != NULL)
            js_worker_halt(s->script[i].worker);
        for (unsigned k = 0; k < s->script[i].host_count; k++)
            js_worker_halt(s->script[i].host[k]);
    }
}

struct cell_router *js_site_router(const struct js_site *s)
{
    return s->opts.router;
}

struct js_splices *js_site_splices(const struct js_site *s)
{
    return s->opts.splices;
}

unsigned js_site_events(const struct js_site *s)
{
    unsigned count = 0;
    for (unsigned i = 0; i < s->opts.count; i++)
        count += s->script[i].worker != NULL ? js_worker_events(s->script[i].worker) : 0;
    return count;
}

/* ---- Isolates of cells ---- */

#define ROOM_PERCENT 70 /* Of its heap limit: no further cell above it. */
#define COLLECT_NS IO_SEC(1)
#define RETIRE_NS IO_SEC(20)

/* How full its heap is, in percent. */
static unsigned fullness(struct js_site *s, struct js_worker *w)
{
    struct js_heap heap;
    struct js_entry e;
    js_heap_stats(js_worker_isolate(w), &heap);
    uint64_t now = io_now_ns(s->opts.io), limit = s->opts.heap_limit != 0 ? s->opts.heap_limit : heap.limit;
    if (heap.used * 100 / limit >= ROOM_PERCENT && now - s->collected_ns >= COLLECT_NS) {
        s->collected_ns = now;
        js_enter(w, &e);
        js_gc(w->js);
        js_leave(&e);
        js_heap_stats(js_worker_isolate(w), &heap);
    }
    return (unsigned)(heap.used * 100 / limit);
}

static void host_remove(struct js_site *s, struct script *script, unsigned at)
{
    leave(s, &script->host[at]);
    script->host_count--;
    for (unsigned i = at; i < script->host_count; i++)
        script->host[i] = script->host[i + 1];
}

/* Closes those without cells that serve no more. */
static void hosts_retire(struct js_site *s, bool condemned_only)
{
    for (unsigned i = 0; i < s->opts.count; i++) {
        struct script *script = &s->script[i];
        for (unsigned k = script->host_count; k-- > 0;) {
            struct js_worker *w = script->host[k];
            if (w->cells == 0 && (!condemned_only || js_worker_condemned(w)))
                host_remove(s, script, k);
        }
    }
}

/* Ids tell which namespace they are of, and a namespace is a class of one script. */
static struct script *script_of_cell(struct js_site *s, struct cd_str scope)
{
    struct cd_str class_name, instance;
    if (cell_scope_split(scope, &class_name, &instance) != 0)
        return NULL;
    for (unsigned i = 0; i < s->opts.count; i++) {
        struct cell_namespace ns;
        struct cell_id id;
        cell_namespace_init(&ns, s->script[i].bundle->script, class_name);
        if (cell_id_parse(&id, &ns, instance) == 0)
            return &s->script[i];
    }
    return NULL;
}

struct js_worker *js_site_cell_worker(struct js_site *s, struct cd_str name, struct cd_str scope,
                                      struct cd_buf *why)
{
    struct script *script = name.len > 0 ? script_find(s, name) : script_of_cell(s, scope);
    if (s->closing || s->halted || script == NULL) {
        if (script != NULL)
            cd_buf_addf(why, "the application is being stopped");
        else if (name.len > 0)
            cd_buf_addf(why, "there is no script \"%.*s\"", (int)name.len, name.ptr);
        else
            cd_buf_addf(why, "no script has the class of %.*s", (int)scope.len, scope.ptr);
        return NULL;
    }
    hosts_retire(s, true);
    struct js_worker *best = NULL;
    unsigned best_percent = 0;
    for (unsigned i = 0; i < script->host_count; i++) {
        struct js_worker *w = script->host[i];
        unsigned percent = js_worker_condemned(w) ? ROOM_PERCENT : fullness(s, w);
        if (percent < ROOM_PERCENT && (best == NULL || percent > best_percent)) {
            best = w;
            best_percent = percent;
        }
    }
    if (best == NULL) {
        script->host = cd_realloc(script->host, sizeof(struct js_worker *) * (script->host_count + 1));
        if (worker_make(s, script, &best, why) != 0)
            return NULL;
        script->host[script->host_count++] = best;
    }
    best->cells++;
    s->cells++;
    return best;
}

static void on_retire(struct io_op *op, int status)
{
    struct js_site *s = CD_CONTAINER(op, struct js_site, retire.op);
    if (status == IO_OK && !s->closing)
        hosts_retire(s, false);
    finish_if_idle(s);
}

void js_site_cell_left(struct js_site *s, struct js_worker *w)
{
    CD_ASSERT(w->cells > 0 && s->cells > 0);
    s->cells--;
    if (--w->cells == 0 && !s->closing && !io_busy(&s->retire.op))
        io_timer_start(&s->retire, s->opts.io, RETIRE_NS, on_retire);
}

static void collect(struct js_worker *w)
{
    struct js_entry e;
    if (w == NULL || js_worker_condemned(w))
        return;
    js_enter(w, &e);
    js_gc(w->js);
    js_leave(&e);
}

void js_site_shrink(struct js_site *s)
{
    if (s->closing || s->halted)
        return;
    hosts_retire(s, false);
    for (unsigned i = 0; i < s->opts.count; i++) {
        collect(s->script[i].worker);
        for (unsigned k = 0; k < s->script[i].host_count; k++)
            collect(s->script[i].host[k]);
    }
}

bool js_site_closing(const struct js_site *s)
{
    return s->closing;
}

/* ---- Closing ---- */

#define LOOK_NS IO_MS(20)

static void on_look(struct io_op *op, int status)
{
    struct js_site *s = CD_CONTAINER(op, struct js_site, timer.op);
    bool running = js_site_events(s) > 0 && io_now_ns(s->opts.io) < s->until_ns;
    if (status == IO_OK && (running || s->cells > 0)) {
        io_timer_start(&s->timer, s->opts.io, LOOK_NS, on_look);
        return;
    }
    for (unsigned i = 0; i < s->opts.count; i++)
        leave(s, &s->script[i].worker);
    hosts_retire(s, false);
    finish_if_idle(s);
}

void js_site_close(struct js_site *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(!s->closing);
    s->closing = true;
    s->closed = op;
    s->closed_done = done;
    s->until_ns = io_now_ns(s->opts.io) + grace_ns;
    io_cancel(&s->retire.op);
    io_timer_start(&s->timer, s->opts.io, 0, on_look);
}
