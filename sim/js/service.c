/* sim/js/service.c: a site of one Worker for each shard loop. All isolates of the run are in one thread and
 * from one snapshot; V8 and its platform start with the first of them, in the process of the run. */
#include "sim/js/service.h"

#include "js/site.h"

extern const char sim_worker_begin[], sim_worker_end[];

struct js_service {
    struct io *io;
    struct js_service_opts opts;
    struct http_server *server;
    struct js_site *site;
    struct io_op server_stopped, site_closed;
    unsigned open; /* Of these two. */
    bool frozen;
};

static struct js_bundle_module module = {.name = {"worker.js", 9}, .kind = JS_MODULE_ESM};
static struct js_bundle bundle = {.script = {"sim", 3},
                                  .module = &module,
                                  .count = 1,
                                  .config = {"{\"script\":\"sim\",\"flags\":[],\"bindings\":[]}", 41}};

/* Once per process, in a callback of a loop: V8 asks for entropy as it starts. */
static void start_v8(void)
{
    static bool started;
    if (started)
        return;
    started = true;
    module.bytes = cd_str_of(sim_worker_begin, (size_t)(sim_worker_end - sim_worker_begin));
    js_worker_platform(true);
}

static void check(struct js_service *s, const char *broken, struct cd_buf *why)
{
    if (broken != NULL)
        s->opts.broken(s->opts.arg, broken, cd_buf_str(why));
    cd_buf_deinit(why);
}

static void on_console(void *arg, struct js_worker *w, enum cd_level level, struct cd_str text)
{
    struct js_service *s = arg;
    struct cd_buf why = {0};
    (void)w, (void)level;
    bool up = !s->frozen && sim_node_life(sim_node_of(s->io)) == SIM_UP;
    check(s, ask_truth_console(s->opts.truth, text, up, &why), &why);
}

/* Errors of the route "throw" are what it is for; and those that an ended connection causes in a body. */
static void on_uncaught(void *arg, struct js_worker *w, const char *where, const struct js_problem *problem)
{
    struct js_service *s = arg;
    struct cd_buf why = {0};
    (void)w;
    CD_MARK("js.uncaught");
    struct cd_str text = cd_buf_str(&problem->message);
    if (!s->frozen && (strcmp(where, "fetch") == 0 || strcmp(where, "response body") == 0))
        return;
    cd_buf_addf(&why, "an error in \"%s\": %.*s", where, (int)text.len, text.ptr);
    check(s, s->frozen ? "js.ran-on" : "js.uncaught", &why);
}

static const struct js_worker_hooks hooks = {.console = on_console, .uncaught = on_uncaught};

static void handle(void *arg, struct http_exchange *x)
{
    struct js_service *s = arg;
    if (s->frozen)
        http_exchange_close(x);
    else
        js_site_fetch(s->site, x, CD_STR("http://fleet.example"));
}

struct js_service *js_service_new(struct io *io, const struct js_service_opts *opts)
{
    struct http_server *server;
    struct js_service *s = cd_new(struct js_service);
    struct io_addr at = {.port = 80};
    struct cd_buf why = {0};
    s->io = io;
    s->opts = *opts;
    if (http_server_open(&server, io, &at, IO_LISTEN_SHARED, opts->server, handle, s) != 0) {
        cd_free(s);
        return NULL;
    }
    start_v8();
    const struct js_site_opts site = {.io = io, .bundles = &bundle, .count = 1, .hooks = &hooks, .arg = s};
    s->server = server;
    s->site = js_site_open(&site);
    if (js_site_load(s->site, &why) != 0)
        check(s, "js.load", &why);
    cd_buf_deinit(&why);
    return s;
}

void js_service_freeze(struct js_service *s)
{
    s->frozen = true;
    js_site_halt(s->site);
}

static void free_if_closed(struct js_service *s)
{
    if (--s->open == 0)
        cd_free(s);
}

static void server_stopped(struct io_op *op, int status)
{
    struct js_service *s = CD_CONTAINER(op, struct js_service, server_stopped);
    (void)status; /* Cut or not: nothing is open any more. */
    http_server_free(s->server);
    free_if_closed(s);
}

static void site_closed(struct io_op *op, int status)
{
    (void)status;
    free_if_closed(CD_CONTAINER(op, struct js_service, site_closed));
}

void js_service_end(struct js_service *s)
{
    s->open = 2;
    http_server_stop(s->server, 0, &s->server_stopped, server_stopped);
    js_site_close(s->site, 0, &s->site_closed, site_closed);
}
