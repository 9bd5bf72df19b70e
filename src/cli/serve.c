/* cli/serve.c: a node that serves. The control loop loads deployments, answers operators and watches over the
 * shards; each shard accepts connections and runs JavaScript. architecture.md 5. */
#include "cli/serve.h"

#include "cli/paths.h"
#include "cli/serve_internal.h"

#include "base/json.h"
#include "base/ip.h"
#include "cell/cell.h"
#include "cell/tunnel.h"
#include "deploy/manifest.h"
#include "js/cell_splice.h"
#include "js/cells.h"

#define WATCH_LOOK_NS IO_SEC(1)
#define STOP_LOOK_NS IO_MS(200) /* The same, while the node stops. */
#define DRAIN_GRACE_NS IO_SEC(2)
#define SITE_GRACE_NS IO_SEC(30)
#define SOCKET_GRACE_NS IO_MS(500)

/* ---- Messages between the control loop and the shards ---- */

struct task {
    struct io_msg msg;
    void (*fn)(struct serve *s, struct shard *shard, void *arg);
    struct serve *s;
    struct shard *shard;
    void *arg;
};

static void task_handle(struct io *at, struct io_msg *m)
{
    struct task *t = CD_CONTAINER(m, struct task, msg);
    (void)at;
    t->fn(t->s, t->shard, t->arg);
    cd_free(t);
}

void cli_serve_post(struct io *from, unsigned loop, struct serve *s, struct shard *shard,
                    void (*fn)(struct serve *s, struct shard *shard, void *arg), void *arg)
{
    struct task *t = cd_new(struct task);
    t->msg.handle = task_handle;
    t->fn = fn;
    t->s = s;
    t->shard = shard;
    t->arg = arg;
    io_post(from, loop, &t->msg);
}

/* A shard has done what it was asked; why is owned, NULL: it succeeded. */
static void on_answered(struct serve *s, struct shard *shard, void *arg)
{
    struct cd_buf *why = arg;
    (void)shard;
    if (why != NULL) {
        if (s->failed.len == 0)
            cd_buf_add_str(&s->failed, cd_buf_str(why));
        cd_buf_deinit(why);
        cd_free(why);
    }
    CD_ASSERT(s->asked > 0);
    if (--s->asked == 0)
        io_signal_wake(&s->answered, IO_OK);
}

static void answer_control(struct shard *shard, struct cd_buf *why)
{
    struct cd_buf *copy = NULL;
    if (why != NULL) {
        copy = cd_new(struct cd_buf);
        *copy = cd_buf_move(why);
    }
    cli_serve_post(shard->io, 0, shard->s, shard, on_answered, copy);
}

/* In a fiber of the control loop: asks count shards from the first on and waits for all. s->failed says what
 * went wrong. */
static int ask(struct serve *s, unsigned first, unsigned count,
               void (*fn)(struct serve *s, struct shard *shard, void *arg), void *arg)
{
    struct io_op op = {0};
    CD_ASSERT(s->asked == 0);
    s->asked = count;
    cd_buf_clear(&s->failed);
    for (unsigned i = first; i < first + count; i++)
        cli_serve_post(s->control, i + 1, s, &s->shard[i], fn, arg);
    io_signal_wait(&s->answered, s->control, &op, NULL);
    int rc = io_await(&op, IO_FOREVER); /* A shard answers, or its turn is ended by the watch. */
    return rc != IO_OK ? rc : s->failed.len > 0 ? CD_EINVAL : 0;
}

/* ---- What Workers say ---- */

static void on_console(void *arg, struct js_worker *w, enum cd_level level, struct cd_str text)
{
    struct shard *shard = arg;
    cd_event_to(shard->io, level, "worker", "console", CD_S("script", js_worker_bundle(w)->script),
                CD_S("text", text));
}

static void on_uncaught(void *arg, struct js_worker *w, const char *where, const struct js_problem *p)
{
    struct shard *shard = arg;
    cd_event_to(shard->io, CD_ERROR, "worker", "uncaught", CD_S("script", js_worker_bundle(w)->script),
                CD_Z("in", where), CD_S("error", cd_buf_str(&p->name)),
                CD_S("message", cd_buf_str(&p->message)), CD_S("stack", cd_buf_str(&p->stack)));
}

static void on_fetched(void *arg)
{
    cli_serve_leave(arg);
}

static const struct js_worker_hooks hooks = {
    .console = on_console, .uncaught = on_uncaught, .fetched = on_fetched};

/* ---- Shards ---- */

static uint64_t heap_limit(const struct shard *shard)
{
    return cli_num(&shard->s->c->settings, CLI_SET_HEAP_LIMIT_MB) << 20;
}

static struct js_site *site_open(struct shard *shard, struct cli_generation *g)
{
    const struct js_site_opts opts = {.io = shard->io,
                                      .bundles = g->bundle,
                                      .count = g->count,
                                      .router = shard->s->router,
                                      .splices = shard->splices,
                                      .heap_limit = heap_limit(shard),
                                      .blank = shard->blank,
                                      .trusts_proxy = cli_serve_trusts_proxy(shard->s),
                                      .watch = &shard->watch,
                                      .hooks = &hooks,
                                      .arg = shard};
    shard->blank = NULL;
    return js_site_open(&opts);
}

/* On control: a shard has let go of a generation. */
static void on_released(struct serve *s, struct shard *shard, void *arg)
{
    struct cli_generation *g = arg;
    (void)shard;
    CD_ASSERT(g->users > 0);
    if (--g->users == 0 && g != s->current)
        cli_generation_free(g);
}

struct closing {
    struct io_op op;
    struct shard *shard;
    struct cli_generation *g;
};

static void on_site_closed(struct io_op *op, int status)
{
    struct closing *c = CD_CONTAINER(op, struct closing, op);
    (void)status;
    cli_serve_post(c->shard->io, 0, c->shard->s, c->shard, on_released, c->g);
    cd_free(c);
}

static void site_close(struct shard *shard, struct js_site *site, struct cli_generation *g, uint64_t grace_ns)
{
    struct closing *c = cd_new(struct closing);
    c->shard = shard;
    c->g = g;
    js_site_close(site, grace_ns, &c->op, on_site_closed);
}

/* Loads a generation and, if that works, serves it in place of the one before. */
static void shard_adopt(struct serve *s, struct shard *shard, void *arg)
{
    struct cli_generation *g = arg;
    struct cd_buf why = {0};
    struct js_site *site = site_open(shard, g);
    (void)s;
    if (js_site_load(site, &why) != 0) {
        site_close(shard, site, g, 0);
        answer_control(shard, &why);
        return;
    }
    struct js_site *before = shard->site;
    struct cli_generation *of = shard->generation;
    shard->site = site;
    shard->generation = g;
    if (shard->code != NULL)
        js_cells_serve(shard->code, site);
    if (before != NULL)
        site_close(shard, before, of, SITE_GRACE_NS);
    answer_control(shard, NULL);
}

static void shard_listen(struct serve *s, struct shard *shard, void *arg)
{
    struct cd_buf why = {0};
    (void)arg;
    int rc = cli_serve_listen(shard, &why);
    if (rc != 0)
        cd_buf_addf(&why, "cannot listen on %s:%u: %s", s->at.host, s->at.port,
                    rc == IO_BUSY || rc == IO_EXISTS ? "address already in use; choose another --listen"
                                                     : cd_err_text(rc));
    answer_control(shard, rc != 0 ? &why : NULL);
}

/* The last of it. */
static void shard_cells_closed(struct shard *shard)
{
    if (shard->site != NULL)
        site_close(shard, shard->site, shard->generation, 0);
    shard->site = NULL;
    if (shard->blank != NULL)
        js_worker_close(shard->blank, NULL, NULL);
    shard->blank = NULL;
    answer_control(shard, NULL);
}

static void on_server_stopped(struct io_op *op, int status)
{
    struct shard *shard = CD_CONTAINER(op, struct shard, stopped);
    (void)status;
    http_server_free(shard->server);
    shard->server = NULL;
    answer_control(shard, NULL);
}

static void shard_stop_listening(struct serve *s, struct shard *shard, void *arg)
{
    (void)arg;
    if (shard->code != NULL) /* Before their clients go: that would wake cells once more. */
        js_cells_hang_up(shard->code);
    if (shard->server != NULL)
        http_server_stop(shard->server, s->fenced ? 0 : DRAIN_GRACE_NS, &shard->stopped, on_server_stopped);
    else
        answer_control(shard, NULL);
}

/* When no shard answers clients any more: what one of them accepted may call the cells of all. */
static void shard_stop(struct serve *s, struct shard *shard, void *arg)
{
    (void)s, (void)arg;
    cli_serve_cells_close(shard, shard_cells_closed);
}

static void on_splices_stopped(struct io_op *op, int status)
{
    (void)status;
    answer_control(CD_CONTAINER(op, struct shard, splices_stopped), NULL);
}

/* Their cells have gone, and the sites that accepted them. */
static void shard_splices_stop(struct serve *s, struct shard *shard, void *arg)
{
    (void)s, (void)arg;
    js_splices_stop(shard->splices, SOCKET_GRACE_NS, &shard->splices_stopped, on_splices_stopped);
}

/* ---- Generations ---- */

/* In a fiber: loads what the pointer names and has all shards serve it. */
int cli_serve_adopt(struct serve *s, struct cd_buf *why)
{
    struct cli_generation *g;
    const struct cli_limits limits = {
        .handler_budget_s = cli_num(&s->c->settings, CLI_SET_HANDLER_BUDGET_S),
        .fetch_timeout_s = cli_num(&s->c->settings, CLI_SET_FETCH_TIMEOUT_S),
    };
    int rc = cli_generation_load(&g, s->control, io_bucket(s->control), &limits, why);
    if (rc != 0)
        return rc;
    if (cli_generation_has_cells(g)) {
        rc = cli_serve_node_wait(s, why);
        if (rc != 0) {
            cli_generation_free(g);
            return rc;
        }
    }
    struct cli_generation *before = s->current;
    g->number = before == NULL ? 1 : before->number + 1;
    g->users = s->shards;
    s->current = g;
    /* In place of another one it is first shown on one shard that it works; then nothing can go wrong on the
     * others but memory, and those where it does stay with the one before. */
    unsigned first = before == NULL ? s->shards : 1;
    rc = ask(s, 0, first, shard_adopt, g);
    if (rc != 0) {
        s->current = before;
        g->users -= s->shards - first; /* Those that were not asked. */
    } else if (first < s->shards) {
        rc = ask(s, first, s->shards - first, shard_adopt, g);
    }
    if (rc != 0) {
        cd_buf_addf(why, "the Worker does not load: %s", cd_buf_cstr(&s->failed));
        return rc;
    }
    if (before != NULL && before->users == 0)
        cli_generation_free(before);
    cli_serve_hints_pass(s);
    cd_event(s->control, CD_INFO, "deployment_adopted", CD_S("script", g->app[0]->script),
             CD_Z("version", g->app[0]->version), CD_U("generation", g->number));
    return 0;
}

/* Whether a pointer names something else than what runs. */
static bool is_news(const struct serve *s, struct cd_str text)
{
    struct cd_json_doc *doc;
    struct deploy_pointer p;
    struct cd_buf why = {0};
    bool news = false;
    if (cd_json_parse(&doc, text, &why) == 0) {
        const struct deploy_app *app = s->current == NULL ? NULL : s->current->app[0];
        news = deploy_pointer_read(&p, doc, &why) == 0 &&
               (app == NULL || !cd_str_eq(p.version, cd_str(app->version)) ||
                !cd_str_eq(p.script, app->script) ||
                (p.manifest_sha256.len > 0 && !cd_str_eq(p.manifest_sha256, cd_str(app->manifest_sha256))));
        cd_json_free(doc);
    }
    cd_buf_deinit(&why);
    return news;
}

/* config.md 8.1: what was refused is not tried again until the pointer changes. */
static void poll_flow(void *arg)
{
    struct serve *s = arg;
    struct cd_buf refused = {0};
    uint64_t every = IO_SEC(cli_num(&s->c->settings, CLI_SET_DEPLOY_POLL_S));
    while (io_sleep(s->control, every) == IO_OK && !s->stopping) {
        struct io_store get = {.lane = IO_LANE_CONTROL};
        io_store_get(&get, io_bucket(s->control), CD_STR(DEPLOY_FLEET_POINTER), 0, IO_WHOLE, NULL);
        int rc = io_await(&get.op, IO_FOREVER); /* The store's own time limit ends it. */
        if (rc == IO_OK && !s->stopping && !s->adopting && is_news(s, cd_buf_str(&get.body)) &&
            !cd_str_eq(cd_buf_str(&get.body), cd_buf_str(&refused))) {
            struct cd_buf why = {0};
            s->adopting = true;
            rc = cli_serve_adopt(s, &why);
            s->adopting = false;
            cd_buf_clear(&refused);
            if (rc != 0) {
                cd_buf_add_str(&refused, cd_buf_str(&get.body));
                cd_event(s->control, CD_ERROR, "deployment_adoption_failed",
                         CD_S("reason", cd_buf_str(&why)));
            }
            cd_buf_deinit(&why);
        }
        cd_buf_deinit(&get.body);
    }
    cd_buf_deinit(&refused);
    s->poller = NULL;
}

/* ---- Start and end ---- */

static void announce(struct serve *s)
{
    struct cd_buf text = {0};
    cd_buf_add_str(&text, CD_STR("celld listening on "));
    cli_serve_addr_text(&text, &s->at);
    cd_buf_addf(&text, " (ownership=%s)\ncelld internal listening on ", s->ownership);
    cli_serve_addr_text(&text, &s->internal_at);
    cd_buf_addf(&text, " (advertise=%s)\n", cd_buf_cstr(&s->advertise));
    int rc = io_console_write(s->control, IO_STDOUT, cd_buf_str(&text));
    CD_MAYBE(rc != 0); /* Nobody reads it. */
    cd_buf_deinit(&text);
}

static void on_watch(struct io_op *op, int status)
{
    struct serve *s = CD_CONTAINER(op, struct serve, watch_timer.op);
    if (status != IO_OK)
        return;
    cli_serve_cover(s);
    cli_serve_look(s);
    io_timer_start(&s->watch_timer, s->control, s->stopping ? STOP_LOOK_NS : WATCH_LOOK_NS, on_watch);
}

static void on_stop_loop(struct serve *s, struct shard *shard, void *arg)
{
    (void)s, (void)arg;
    io_stop(shard->io);
}

/* Turns have time for so long from now on, and never longer than was said before. */
static void turns_end_by(struct serve *s, uint64_t after_ns)
{
    uint64_t until = io_now_ns(s->control) + after_ns;
    s->turns_end_ns = until < s->turns_end_ns ? until : s->turns_end_ns;
}

/* The last flow of the node. */
static void stop_flow(void *arg)
{
    struct serve *s = arg;
    while (s->adopting) /* It waits for shards that still run. */
        (void)io_sleep(s->control, IO_MS(5));
    if (s->poller != NULL)
        io_fiber_cancel(s->poller);
    if (s->gate != NULL)
        io_fiber_cancel(s->gate);
    cli_serve_handoff(s);
    turns_end_by(s, DRAIN_GRACE_NS); /* As long as connections have. */
    (void)ask(s, 0, s->shards, shard_stop_listening, NULL);
    (void)ask(s, 0, s->shards, shard_stop, NULL);
    cli_serve_node_stop(s);
    while (s->current != NULL && s->current->users > 0)
        (void)io_sleep(s->control, IO_MS(5));
    (void)ask(s, 0, s->shards, shard_splices_stop, NULL);
    io_cancel(&s->watch_timer.op);
    if (s->internal != NULL) {
        struct io_op op = {0};
        http_server_stop(s->internal, IO_MS(500), &op, NULL);
        (void)io_await(&op, IO_FOREVER);
        http_server_free(s->internal);
    }
    for (unsigned i = 0; i < s->shards; i++)
        cli_serve_post(s->control, i + 1, s, &s->shard[i], on_stop_loop, NULL);
    io_stop(s->control);
}

void cli_serve_stop(struct serve *s)
{
    if (s->stopping)
        return;
    s->stopping = true;
    s->stop_ns = io_now_ns(s->control);
    s->turns_end_ns = UINT64_MAX;
    /* Who stops `celld dev` waits for it; a node hands its cells over first, and may use all of its time. */
    bool dev = cli_is_set(&s->c->settings, CLI_SET_INTERNAL_DEV_STORE);
    turns_end_by(s, dev ? 0 : IO_MS(cli_num(&s->c->settings, CLI_SET_SHUTDOWN_TOTAL_MS)));
    io_signal_wake(&s->node_news, IO_OK);
    __atomic_store_n(&s->draining, true, __ATOMIC_SEQ_CST);
    if (s->started)
        io_spawn(s->control, "stop", stop_flow, s);
}

/* CELLD_WATCH, or a directory of this process. */
static int data_dir_find(struct serve *s, struct cd_buf *why)
{
    struct cli *c = s->c;
    struct cd_str path = c->settings.value[CLI_SET_WATCH].text, temporary;
    struct cd_buf own = {0}, absolute = {0};
    if (path.len == 0) {
        if (!cli_env_get(c->env, "TMPDIR", &temporary) || temporary.len == 0)
            temporary = CD_STR("/tmp");
        cd_buf_addf(&own, "%.*s/celld-%u", (int)temporary.len, temporary.ptr, io_process_id(s->control));
        path = cd_buf_str(&own);
    }
    int rc = cli_path_absolute(c, path, &absolute);
    if (rc == 0)
        s->data_dir = cd_str_dup(cd_buf_str(&absolute));
    else
        cd_buf_add_str(why, cd_buf_str(&c->error));
    cd_buf_deinit(&absolute);
    cd_buf_deinit(&own);
    return rc;
}

static void start_flow(void *arg)
{
    struct serve *s = arg;
    struct cd_buf why = {0};
    int rc = data_dir_find(s, &why);
    if (rc == 0) /* First: nodes that start at once may need what each other's disks hold. */
        rc = cli_serve_operator_open(s, &why);
    if (rc == 0) {
        cli_serve_node_start(s);
        rc = cli_serve_adopt(s, &why);
    }
    bool own = strcmp(s->ownership, "dev") == 0; /* The store of celld dev is ours. */
    if ((rc == 0 || rc == IO_NOENT) && !own) {
        int tested = cli_serve_bucket_wait(s, &why);
        rc = tested != 0 ? tested : rc;
    }
    if (rc == IO_NOENT) { /* Nothing was deployed: 404 until something is. config.md 8.8 */
        cd_event(s->control, CD_INFO, "no_deployment", CD_Z("hint", "run `celld deploy`"));
        rc = 0;
    }
    /* One after the other: the first listener fixes the port. */
    for (unsigned i = 0; rc == 0 && i < s->shards; i++) {
        rc = ask(s, i, 1, shard_listen, NULL);
        if (rc != 0)
            cd_buf_add_str(&why, cd_buf_str(&s->failed));
    }
    s->started = true;
    if (rc == 0) {
        announce(s);
        cli_serve_ready_start(s);
        if (!own) /* celld dev asks for a reload. */
            s->poller = io_spawn(s->control, "deployment poll", poll_flow, s);
    } else {
        if (s->failure.len == 0 && !s->fenced)
            cd_buf_add_str(&s->failure, cd_buf_str(&why));
        s->stopping = false;
        cli_serve_stop(s);
    }
    if (s->stopping && rc == 0) {
        s->stopping = false;
        cli_serve_stop(s);
    }
    cd_buf_deinit(&why);
}

/* While the control loop finds out what there is to serve, shards make what they serve it with. */
static void shard_begin(struct shard *shard, struct io *io)
{
    struct cd_buf why = {0};
    shard->io = io;
    shard->splices = js_splices_new(io);
    if (shard->s->warm)
        shard->blank = js_worker_blank(io, heap_limit(shard), &why);
    cd_buf_deinit(&why); /* The site's own attempt says it. */
}

static void entry(struct io *io, void *arg)
{
    struct serve *s = arg;
    unsigned loop = io_loop_index(io);
    if (loop > 0) {
        shard_begin(&s->shard[loop - 1], io);
        return;
    }
    s->control = io;
    if (!s->warm)
        js_worker_platform(false);
    io_timer_start(&s->watch_timer, io, WATCH_LOOK_NS, on_watch);
    io_spawn(io, "start", start_flow, s);
}

static void signaled(struct io *io, int signal, void *arg)
{
    (void)io, (void)signal;
    cli_serve_stop(arg);
}

void cli_serve_addr_text(struct cd_buf *out, const struct io_addr *a)
{
    bool v6 = strchr(a->host, ':') != NULL;
    cd_buf_addf(out, "%s%s%s:%u", v6 ? "[" : "", a->host, v6 ? "]" : "", a->port);
}

int cli_serve_addr(struct cli *c, enum cli_flag flag, enum cli_set set, const char *otherwise,
                   struct io_addr *out)
{
    struct cd_str text = cd_str_trim(cli_either(c, flag, set));
    struct cd_ip ip;
    struct cd_buf host = {0};
    int rc = cd_ip_port_parse(text.len > 0 ? text : cd_str(otherwise), &ip, &out->port);
    if (rc == 0) {
        cd_ip_text(&host, &ip);
        memcpy(out->host, cd_buf_cstr(&host), host.len + 1);
    }
    cd_buf_deinit(&host);
    return rc;
}

int cli_serve(struct cli *c)
{
    struct serve *s = cd_new(struct serve);
    s->c = c;
    s->warm = js_platform_running();
    io_signal_init(&s->answered);
    io_signal_init(&s->node_news);
    int rc = cli_serve_addr(c, CLI_LISTEN, CLI_SET_ADDR, CLI_LISTEN_DEFAULT, &s->at);
    if (rc == 0)
        rc = cli_serve_addr(c, CLI_INTERNAL_LISTEN, CLI_SET_INTERNAL_ADDR, CLI_INTERNAL_DEFAULT,
                            &s->internal_at);
    CD_ASSERT(rc == 0); /* cli_check_serve has looked. */
    struct cli_node node = {
        .shards = c->threads,
        .bucket = cd_str_trim(cli_either(c, CLI_BUCKET, CLI_SET_BUCKET)),
        .log_filter = c->settings.value[CLI_SET_LOG].text,
        .log_format = cd_str_eq(c->settings.value[CLI_SET_LOG_FORMAT].text, CD_STR("json")) ? CD_EVENT_JSON
                                                                                            : CD_EVENT_TEXT,
        .entry = entry,
        .signaled = signaled,
        .arg = s,
        .fd_limit = &s->fd_limit,
    };
    if (cli_is_set(&c->settings, CLI_SET_THREADS))
        node.shards = (unsigned)cli_num(&c->settings, CLI_SET_THREADS);
    if (node.shards > CLI_SHARDS_MAX)
        node.shards = CLI_SHARDS_MAX;
    s->ownership = "memory";
    if (cli_is_set(&c->settings, CLI_SET_INTERNAL_DEV_STORE)) {
        s->sole = !cd_str_eq(node.bucket, CD_STR(CLI_DEV_FLEET_BUCKET));
        node.bucket = (struct cd_str){0};
        node.dev_store = c->settings.value[CLI_SET_INTERNAL_DEV_STORE].text;
        s->ownership = "dev";
    } else if (cd_str_starts(node.bucket, CD_STR("file:"))) {
        s->ownership = "file";
    } else if (cd_str_starts(node.bucket, CD_STR("s3:"))) {
        s->ownership = "s3";
    }
    if (node.bucket.len == 0 && node.dev_store.len == 0) {
        cd_free(s);
        return cli_fail(c, "`celld` requires --bucket s3://NAME or file:///DIRECTORY (or CELLD_BUCKET)");
    }
    s->requests_max = cli_num(&c->settings, CLI_SET_MAX_REQUESTS);
    s->shards = node.shards;
    s->shard = cd_alloc(sizeof(*s->shard) * s->shards);
    for (unsigned i = 0; i < s->shards; i++) {
        s->shard[i].s = s;
        cd_list_init(&s->shard[i].waiting);
    }
    s->router = cell_router_new(1 + s->shards);
    s->tunnels = cell_tunnels_new(s->router);
    rc = c->run_node(c, &node);
    if (rc == 0 && s->fenced)
        rc = CD_EFENCED;
    else if (rc == 0 && s->failure.len > 0)
        rc = cli_fail_text(c, cd_buf_str(&s->failure));
    cli_generation_free(s->current);
    cell_tunnels_free(s->tunnels);
    cell_router_free(s->router);
    cd_map_deinit(&s->hints);
    cli_reload_free(s);
    cd_free(s->data_dir);
    cd_buf_deinit(&s->advertise);
    cd_buf_deinit(&s->failure);
    cd_buf_deinit(&s->failed);
    cd_free(s->shard);
    cd_free(s);
    return rc;
}
