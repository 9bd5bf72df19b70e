/* cli/dev_node.c: a node that `celld dev` runs: celld itself, in a process group of its own and tied to our
 * life. Its standard output are the two announcements and its log; its standard error goes with ours. */
#include "base/encode.h"
#include "base/ip.h"
#include "base/json.h"
#include "cli/dev_internal.h"
#include "deploy/file.h"
#include "http/client.h"

#define SIGNAL_KILL 9
#define SIGNAL_TERM 15
#define SIGNAL_CONTINUE 18
#define START_NS IO_SEC(30)
#define HEALTH_EVERY_NS IO_MS(100)
#define HEALTH_TRIES 300u
#define ASK_NS IO_SEC(2)
#define RELOAD_NS IO_SEC(60)
#define LEAVE_NS IO_SEC(35)
#define LINE_MAX_BYTES (1u << 20)
#define INTERNAL "celld internal listening on "
#define PUBLIC "celld listening on "

/* ---- Its environment ---- */

/* What would make it another node than ours (operations.md 4.2), and what we set ourselves. */
static bool is_passed(const char *entry)
{
    static const char *const names[] = {
        "AWS_DEFAULT_REGION",
        "AWS_REGION",
        "CELLD_ADDR",
        "CELLD_ADVERTISE",
        "CELLD_BUCKET",
        "CELLD_CLOUD",
        "CELLD_INTERNAL_ADDR",
        "CELLD_TRUST_FORWARDED_HEADERS",
        "CELLD_UNSAFE_PUBLIC_ADVERTISE",
        "S3_ENDPOINT",
        "CELLD_NODE",
        "CELLD_WATCH",
        "CELLD_INTERNAL_DEV_STORE",
    };
    struct cd_str name = cd_str_sub(cd_str(entry), 0, cd_str_find(cd_str(entry), '=', 0));
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        if (cd_str_eq(name, cd_str(names[i])))
            return false;
    }
    return true;
}

struct words {
    struct cd_arena arena;
    const char **word; /* owned */
    size_t count;
};

CD_PRINTF(2, 3)
static void word_add(struct words *w, const char *format, ...)
{
    struct cd_buf text = {0};
    va_list args;
    va_start(args, format);
    cd_buf_vaddf(&text, format, args);
    va_end(args);
    w->word = cd_realloc(w->word, (w->count + 2) * sizeof *w->word);
    w->word[w->count++] = cd_arena_copy(&w->arena, cd_buf_str(&text)).ptr;
    w->word[w->count] = NULL;
    cd_buf_deinit(&text);
}

static void words_deinit(struct words *w)
{
    cd_free(w->word);
    cd_arena_deinit(&w->arena);
}

/* What makes it one of several: a name and a directory of its own, a store that others work with too. Leases
 * are short, so that one sees soon what happens when they end, and the nodes share the processors. */
static void environment_of_one(struct cli_dev_node *n, const char *digest, struct words *w)
{
    const struct cli_settings *set = &n->d->c->settings;
    unsigned threads = n->d->c->threads / n->d->nodes;
    word_add(w, "CELLD_BUCKET=" CLI_DEV_FLEET_BUCKET);
    word_add(w, "CELLD_NODE=dev-%.12s-%u", digest, n->number);
    word_add(w, "CELLD_WATCH=%s/runtime-%u", cd_buf_cstr(&n->d->state), n->number);
    if (!cli_is_set(set, CLI_SET_TTL_MS))
        word_add(w, "CELLD_TTL_MS=%llu", (unsigned long long)n->d->ttl_ms);
    if (!cli_is_set(set, CLI_SET_THREADS))
        word_add(w, "CELLD_THREADS=%u", threads == 0 ? 1 : threads);
}

static void environment(struct cli_dev_node *n, struct words *w)
{
    struct cli_dev *d = n->d;
    char digest[DEPLOY_SHA256_LEN + 1];
    bool own_log = false;
    for (const char *const *entry = d->c->env; *entry != NULL; entry++) {
        bool log = cd_str_starts(cd_str(*entry), CD_STR("CELLD_LOG="));
        own_log |= log;
        if (is_passed(*entry) && !cd_str_starts(cd_str(*entry), CD_STR("CELLD_LOG_FORMAT=")) &&
            (!log || d->logs))
            word_add(w, "%s", *entry);
    }
    deploy_sha256(d->project[0].project.root, digest);
    if (d->fleet) {
        environment_of_one(n, digest, w);
    } else {
        word_add(w, "CELLD_BUCKET=celld-dev");
        word_add(w, "CELLD_NODE=dev-%.12s", digest);
        word_add(w, "CELLD_WATCH=%s/runtime", cd_buf_cstr(&d->state));
    }
    word_add(w, "CELLD_INTERNAL_ADDR=127.0.0.1:0");
    word_add(w, "CELLD_INTERNAL_DEV_STORE=%s", cd_buf_cstr(&d->state));
    word_add(w, "CELLD_LOG_FORMAT=json"); /* cli_dev_line reads it. */
    if (!d->logs)
        word_add(w, "CELLD_LOG=error,worker=debug,request=info");
    else if (!own_log)
        word_add(w, "CELLD_LOG=info,worker=debug");
}

/* ---- Its output ---- */

static void announced(struct cli_dev_node *n, struct cd_str line)
{
    struct cd_str at = cd_str_sub(line, sizeof INTERNAL - 1, SIZE_MAX);
    struct cd_ip ip;
    struct cd_buf host = {0};
    at = cd_str_sub(at, 0, cd_str_find(at, ' ', 0));
    if (cd_ip_port_parse(at, &ip, &n->internal.port) == 0) {
        cd_ip_text(&host, &ip);
        memcpy(n->internal.host, cd_buf_cstr(&host), host.len + 1);
        n->announced = true;
        cli_dev_wake(n->d);
    }
    cd_buf_deinit(&host);
}

static void line_take(struct cli_dev_node *n, struct cd_str line)
{
    struct cli_dev *d = n->d;
    struct cd_buf text = {0};
    if (cd_str_starts(line, CD_STR(INTERNAL))) {
        announced(n, line);
        return;
    }
    if (d->fleet)
        cd_buf_addf(&text, "%u  ", n->number);
    if (!cd_str_starts(line, CD_STR(PUBLIC)) && cli_dev_line(&d->view, d->logs, line, &text)) {
        cd_buf_add_byte(&text, '\n');
        int rc = io_console_write(d->io, IO_STDOUT, cd_buf_str(&text));
        CD_MAYBE(rc == IO_OK); /* Nobody reads it any more. */
    }
    cd_buf_deinit(&text);
}

/* Whole lines; a line without end is shown in pieces. */
static void lines_take(struct cli_dev_node *n, bool all)
{
    struct cd_buf *b = &n->line;
    size_t from = 0, end;
    while ((end = cd_str_find(cd_buf_str(b), '\n', from)) != SIZE_MAX) {
        line_take(n, cd_str_sub(cd_buf_str(b), from, end - from));
        from = end + 1;
    }
    cd_buf_drop(b, from);
    if (b->len > LINE_MAX_BYTES || (all && b->len > 0)) {
        line_take(n, cd_buf_str(b));
        cd_buf_clear(b);
    }
}

static void read_flow(void *arg)
{
    struct cli_dev_node *n = arg;
    struct io_op op = {0};
    int rc;
    do {
        n->read = (struct io_read){0};
        io_stream_read(&n->child.out, &n->read, NULL);
        rc = io_await(&n->read.op, IO_FOREVER); /* It ends with the process. */
        if (rc == IO_OK)
            cd_buf_add(&n->line, n->read.buf, n->read.len);
        lines_take(n, rc != IO_OK);
    } while (rc == IO_OK);
    io_stream_close(&n->child.out, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* Closing completes by itself. */
    io_stream_close(&n->child.in, false, &op, NULL);
    (void)io_await(&op, IO_FOREVER);
    n->reading = false;
    cli_dev_wake(n->d);
}

static void ended(struct io_op *op, int status)
{
    struct cli_dev_node *n = CD_CONTAINER(op, struct cli_dev_node, child.exited);
    n->running = false;
    n->status = status;
    cli_dev_wake(n->d);
}

/* ---- Its life ---- */

bool cli_dev_node_gone(const struct cli_dev_node *n)
{
    return !n->running && !n->reading;
}

static bool is_gone(const void *arg)
{
    return cli_dev_node_gone(arg);
}

/* Also when it is not wanted any more. */
static bool has_started(const void *arg)
{
    const struct cli_dev_node *n = arg;
    return n->announced || !n->running || n->d->stopping || n->d->closing;
}

static void node_reset(struct cli_dev_node *n)
{
    CD_ASSERT(cli_dev_node_gone(n));
    cd_buf_deinit(&n->line);
    n->child = (struct io_child){.flags = IO_CHILD_GROUP | IO_CHILD_TIED | IO_CHILD_SELF};
    n->status = IO_OK;
    n->announced = false;
}

int cli_dev_node_start(struct cli_dev_node *n, struct cd_buf *why)
{
    struct cli_dev *d = n->d;
    struct cd_buf program = {0};
    struct words args = {0}, env = {0};
    int rc = io_process_program(d->io, &program);
    if (rc != IO_OK) {
        cd_buf_addf(why, "cannot tell which program this is: %s", cd_err_text(rc));
        return rc;
    }
    bool v6 = cd_str_find(d->host, ':', 0) != SIZE_MAX;
    word_add(&args, "%s", cd_buf_cstr(&program));
    word_add(&args, "--listen");
    word_add(&args, "%s%.*s%s:%u", v6 ? "[" : "", (int)d->host.len, d->host.ptr, v6 ? "]" : "", n->port);
    environment(n, &env);
    node_reset(n);
    n->running = n->reading = true;
    io_child_start(&n->child, d->io, args.word, env.word, NULL, ended);
    (void)io_spawn(d->io, "node output", read_flow, n);
    words_deinit(&args);
    words_deinit(&env);
    cd_buf_deinit(&program);
    return 0;
}

void cli_dev_node_end(const struct cli_dev_node *n, struct cd_buf *out)
{
    if (n->status != IO_OK && n->status != IO_CANCELED)
        cd_buf_addf(out, "cannot be started: %s", cd_err_text(n->status));
    else if (n->child.code > 128)
        cd_buf_addf(out, "exited with signal %d", n->child.code - 128);
    else
        cd_buf_addf(out, "exited with %d", n->child.code);
}

/* ---- Asking it ---- */

/* POST or GET of its internal listener. The status of its answer, or 0 when there was none. */
static int node_ask(struct cli_dev_node *n, const char *method, const char *target, uint64_t ns,
                    struct cd_buf *body)
{
    struct io *io = n->d->io;
    struct http_client_opts opts = {.head_timeout_ns = ns, .body_timeout_ns = ns, .connect_timeout_ns = ns};
    struct http_client *client = http_client_new(io, &opts);
    struct http_call call = {0};
    struct io_op op = {0};
    struct cd_buf authority = {0};
    cd_buf_addf(&authority, "%s:%u", n->internal.host, n->internal.port);
    struct http_ask ask = {.method = cd_str(method),
                           .target = cd_str(target),
                           .authority = cd_buf_str(&authority),
                           .close = true};
    int status = 0;
    http_call_start(&call, client, &n->internal, &ask, (struct cd_str){0}, &op, NULL);
    if (io_await(&op, io_now_ns(io) + ns) == IO_OK) {
        int rc = IO_OK;
        status = call.head->status;
        while (rc == IO_OK) {
            struct io_read r = {.buf = cd_buf_reserve(body, 4096), .cap = 4096};
            http_call_read(&call, &r, NULL);
            rc = io_await(&r.op, io_now_ns(io) + ns);
            body->len += rc == IO_OK ? r.len : 0;
        }
    }
    http_call_close(&call);
    http_client_stop(client, &op, NULL);
    (void)io_await(&op, IO_FOREVER); /* All is closed already: it ends. */
    http_client_free(client);
    cd_buf_deinit(&authority);
    return status;
}

static bool is_live(struct cli_dev_node *n)
{
    struct cd_buf body = {0};
    int status = node_ask(n, "GET", "/health/live", ASK_NS, &body);
    cd_buf_deinit(&body);
    return status == 200;
}

/* It will not serve, or need not. */
static bool never(const void *arg)
{
    const struct cli_dev_node *n = arg;
    return !n->running || n->d->stopping || n->d->closing;
}

int cli_dev_node_wait(struct cli_dev_node *n, struct cd_buf *why)
{
    struct cli_dev *d = n->d;
    bool started = cli_dev_wait(d, has_started, n, io_now_ns(d->io) + START_NS);
    bool live = false;
    for (unsigned i = 0; started && n->announced && !never(n) && i < HEALTH_TRIES && !(live = is_live(n));
         i++)
        (void)cli_dev_wait(d, never, n, io_now_ns(d->io) + HEALTH_EVERY_NS);
    if (live)
        return 0;
    if (d->stopping || d->closing)
        return IO_CANCELED;
    bool died = !n->running;
    cli_dev_node_stop(n); /* Its last words first. */
    if (died)
        cli_dev_node_end(n, why);
    else
        cd_buf_addf(why, "did not get ready");
    return CD_ECLOSED;
}

void cli_dev_node_kill(struct cli_dev_node *n, int signal)
{
    if (n->running)
        io_child_kill(&n->child, signal);
}

void cli_dev_node_stop(struct cli_dev_node *n)
{
    struct cli_dev *d = n->d;
    struct cd_buf body = {0};
    if (n->phase == CLI_DEV_FROZEN)
        cli_dev_node_kill(n, SIGNAL_CONTINUE);
    if (n->running &&
        (!n->announced || node_ask(n, "POST", "/shutdown?handoff=preserve", ASK_NS, &body) != 200))
        cli_dev_node_kill(n, SIGNAL_TERM);
    cd_buf_deinit(&body);
    if (!cli_dev_wait(d, is_gone, n, io_now_ns(d->io) + LEAVE_NS))
        cli_dev_node_kill(n, SIGNAL_KILL);
    bool gone = cli_dev_wait(d, is_gone, n, IO_FOREVER); /* Killed: it ends. */
    CD_ASSERT(gone);
    cd_buf_deinit(&n->line);
}

/* The member "error" of an answer, or all of it. */
static void reason_take(struct cd_str body, struct cd_buf *why)
{
    struct cd_json_doc *doc = NULL;
    struct cd_str text = body;
    if (cd_json_parse(&doc, body, NULL) == 0 &&
        cd_json_str(cd_json_get(cd_json_root(doc), "error"), &text) != 0)
        text = body;
    cd_buf_add_str(why, text);
    cd_json_free(doc);
}

enum cli_dev_reload cli_dev_node_reload(struct cli_dev_node *n, struct cd_buf *why)
{
    struct cd_buf body = {0};
    int status = node_ask(n, "POST", "/reload", RELOAD_NS, &body);
    if (status == 422)
        reason_take(cd_buf_str(&body), why);
    cd_buf_deinit(&body);
    return status == 200 ? CLI_DEV_ADOPTED : status == 422 ? CLI_DEV_REFUSED : CLI_DEV_RESTART;
}
