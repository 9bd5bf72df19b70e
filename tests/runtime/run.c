/* runtime/run.c: runs test modules inside a worker, for tests of the JavaScript runtime.
 *
 * usage: js_run [--name NAME] [--config JSON] [--listen PORT] [--script NAME=FILE]... FILE [MODULE=FILE...]:
 * loads FILE as the entry of the Worker "test", with the other modules beside it, and calls its default
 * export's function NAME ("test"). Each --script is another Worker that "test" may bind; its bindings are
 * those that its first line lists, after "// bindings: ". Console output goes to stdout, uncaught errors to
 * stderr; exit code 1 when the function failed or did not end within a minute.
 *
 * globalThis.testStorage makes storages of cells: storage_host.h.
 *
 * With --splice 0 sockets of cells go through JavaScript, with --proxy 1 clients are a trusted proxy. With
 * --listen it serves requests on the loopback instead, after "listening PORT", until SIGTERM. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cells.h"
#include "http/server.h"
#include "io_real/io_real.h"
#include "js/cell_splice.h"
#include "js/engine.h"
#include "js/site.h"
#include "js/worker.h"
#include "storage_host.h"

#define MODULES_MAX 64
#define SCRIPTS_MAX 8

struct runner {
    struct js_bundle bundle[SCRIPTS_MAX]; /* The first is what runs. */
    unsigned scripts;
    struct js_bundle_module module[MODULES_MAX];
    struct js_bundle_module entry[SCRIPTS_MAX]; /* Of the other scripts. */
    const char *name;
    struct js_site *site;
    struct js_splices *splices;
    bool no_splice, trusts_proxy;
    struct js_worker *worker;
    struct storage_host *storage;
    struct io_real *node;
    struct io_op closed;
    struct io_timer limit;
    const char *listen; /* NULL: run and end. */
    struct http_server *server;
    struct io_op server_stopped;
    char origin[64];
    int code;
};

static void on_console(void *arg, struct js_worker *w, enum cd_level level, struct cd_str text)
{
    (void)arg, (void)w, (void)level;
    fwrite(text.ptr, 1, text.len, stdout);
    fputc('\n', stdout);
}

static void on_uncaught(void *arg, struct js_worker *w, const char *where, const struct js_problem *p)
{
    (void)arg, (void)w;
    struct js_problem *q = (struct js_problem *)(uintptr_t)p; /* cd_buf_cstr adds the NUL. */
    fprintf(stderr, "uncaught in %s: %s: %s\n%s\n", where, cd_buf_cstr(&q->name), cd_buf_cstr(&q->message),
            cd_buf_cstr(&q->stack));
}

static const struct js_worker_hooks hooks = {.console = on_console, .uncaught = on_uncaught};

static void on_all_closed(struct io_op *op, int status)
{
    struct runner *r = CD_CONTAINER(op, struct runner, closed);
    (void)status;
    io_real_stop(r->node);
}

static void on_closed(struct io_op *op, int status)
{
    struct runner *r = CD_CONTAINER(op, struct runner, closed);
    (void)status;
    storage_host_free(r->storage);
    js_splices_stop(r->splices, IO_MS(200), &r->closed, on_all_closed);
}

static void finish(struct runner *r, int code)
{
    r->code = code;
    io_cancel(&r->limit.op);
    cells_close();
    js_site_close(r->site, 0, &r->closed, on_closed);
}

static void on_limit(struct io_op *op, int status)
{
    (void)op;
    if (status != IO_OK)
        return;
    fprintf(stderr, "js_run: not done after a minute\n");
    exit(1);
}

static void on_close_later(struct io_op *op, int status)
{
    struct runner *r = CD_CONTAINER(op, struct runner, closed);
    (void)status;
    finish(r, r->code);
}

static void on_done(void *arg, const struct js_problem *p)
{
    struct runner *r = arg;
    if (p != NULL)
        on_uncaught(NULL, NULL, r->name, p);
    r->code = p != NULL;
    io_defer(&r->closed, io_current(), IO_OK, on_close_later);
}

/* ---- As a server ---- */

static volatile sig_atomic_t stop_wanted;

static void on_signal(int signal)
{
    (void)signal;
    stop_wanted = 1;
}

static void on_server_stopped(struct io_op *op, int status)
{
    struct runner *r = CD_CONTAINER(op, struct runner, server_stopped);
    (void)status;
    http_server_free(r->server);
    finish(r, 0);
}

static void on_tick(struct io_op *op, int status)
{
    struct runner *r = CD_CONTAINER(op, struct runner, limit.op);
    if (status != IO_OK)
        return;
    if (stop_wanted)
        http_server_stop(r->server, IO_MS(200), &r->server_stopped, on_server_stopped);
    else
        io_timer_start(&r->limit, io_current(), IO_MS(20), on_tick);
}

static void on_request(void *arg, struct http_exchange *x)
{
    struct runner *r = arg;
    js_worker_fetch(r->worker, x, cd_str(r->origin));
}

static void serve(struct runner *r, struct io *io)
{
    struct io_addr at = {.host = "127.0.0.1"};
    uint64_t port = 0;
    int rc = cd_str_u64(cd_str(r->listen), &port);
    at.port = (uint16_t)port;
    signal(SIGTERM, on_signal);
    if (rc != 0 || http_server_open(&r->server, io, &at, 0, NULL, on_request, r) != IO_OK) {
        fprintf(stderr, "js_run: cannot listen on port %s\n", r->listen);
        exit(2);
    }
    http_server_addr(r->server, &at);
    snprintf(r->origin, sizeof r->origin, "http://127.0.0.1:%u", at.port);
    printf("listening %u\n", at.port);
    fflush(stdout);
    io_timer_start(&r->limit, io, IO_MS(20), on_tick);
}

static void entry(struct io *io, void *arg)
{
    struct runner *r = arg;
    struct cd_buf why = {0};
    if (io_loop_index(io) != 0)
        return;
    js_worker_platform(false);
    r->splices = js_splices_new(io);
    const struct js_site_opts opts = {.io = io,
                                      .bundles = r->bundle,
                                      .count = r->scripts,
                                      .router = cells_open(io),
                                      .blank = js_worker_blank(io, 0, &why),
                                      .trusts_proxy = r->trusts_proxy,
                                      .splices = r->no_splice ? NULL : r->splices,
                                      .hooks = &hooks,
                                      .arg = r};
    r->site = js_site_open(&opts);
    cells_serve(r->site);
    r->worker = js_site_worker(r->site, r->bundle[0].script, &why);
    if (r->worker == NULL) {
        fprintf(stderr, "js_run: %s\n", cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        r->code = 1;
        cells_close();
        js_site_close(r->site, 0, &r->closed, on_closed);
        return;
    }
    r->storage = storage_host_new(r->worker);
    if (r->listen != NULL) {
        serve(r, io);
        return;
    }
    io_timer_start(&r->limit, io, IO_SEC(60), on_limit);
    js_worker_run(r->worker, r->name, on_done, r);
}

static struct cd_str file_read(const char *path)
{
    struct cd_buf out = {0};
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        exit(2);
    }
    size_t got;
    while ((got = fread(cd_buf_reserve(&out, 65536), 1, 65536, f)) > 0)
        out.len += got;
    fclose(f);
    return cd_buf_str(&out); /* Kept until the end. */
}

static enum js_module_kind kind_of(struct cd_str name)
{
    if (cd_str_ends(name, CD_STR(".wasm")))
        return JS_MODULE_WASM;
    if (cd_str_ends(name, CD_STR(".json")))
        return JS_MODULE_JSON;
    if (cd_str_ends(name, CD_STR(".txt")))
        return JS_MODULE_TEXT;
    return cd_str_ends(name, CD_STR(".bin")) ? JS_MODULE_DATA : JS_MODULE_ESM;
}

static void module_add(struct runner *r, struct cd_str name, const char *path)
{
    if (r->bundle[0].count == MODULES_MAX) {
        fprintf(stderr, "js_run: more than %d modules\n", MODULES_MAX);
        exit(2);
    }
    r->module[r->bundle[0].count++] =
        (struct js_bundle_module){.name = name, .kind = kind_of(name), .bytes = file_read(path)};
}

/* NAME=FILE */
static void script_add(struct runner *r, const char *arg)
{
    size_t at = cd_str_find(cd_str(arg), '=', 0);
    if (at == SIZE_MAX || r->scripts == SCRIPTS_MAX) {
        fprintf(stderr, "js_run: --script takes NAME=FILE, %d times at most\n", SCRIPTS_MAX - 1);
        exit(2);
    }
    struct js_bundle_module *entry = &r->entry[r->scripts];
    *entry = (struct js_bundle_module){
        .name = CD_STR("index.js"), .kind = JS_MODULE_ESM, .bytes = file_read(arg + at + 1)};
    struct cd_str line = cd_str_sub(entry->bytes, 0, cd_str_find(entry->bytes, '\n', 0));
    struct cd_str bindings = CD_STR("[]"), key = CD_STR("// bindings: ");
    if (cd_str_starts(line, key))
        bindings = cd_str_sub(line, key.len, SIZE_MAX);
    struct cd_buf config = {0}; /* Kept until the end. */
    cd_buf_addf(&config, "{\"script\":\"%.*s\",\"flags\":[],\"bindings\":%.*s}", (int)at, arg,
                (int)bindings.len, bindings.ptr);
    r->bundle[r->scripts++] = (struct js_bundle){
        .script = cd_str_of(arg, at), .config = cd_buf_str(&config), .module = entry, .count = 1};
}

int main(int argc, char **argv)
{
    static struct runner r;
    setvbuf(stdout, NULL, _IOLBF, 0);
    r.name = "test";
    r.scripts = 1;
    r.bundle[0].script = CD_STR("test");
    r.bundle[0].config = CD_STR("{\"script\":\"test\",\"bindings\":[],\"flags\":[]}");
    r.bundle[0].module = r.module;
    int i = 1;
    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (strcmp(argv[i], "--name") == 0)
            r.name = argv[i + 1];
        else if (strcmp(argv[i], "--config") == 0)
            r.bundle[0].config = cd_str(argv[i + 1]);
        else if (strcmp(argv[i], "--listen") == 0)
            r.listen = argv[i + 1];
        else if (strcmp(argv[i], "--splice") == 0)
            r.no_splice = strcmp(argv[i + 1], "0") == 0;
        else if (strcmp(argv[i], "--proxy") == 0)
            r.trusts_proxy = strcmp(argv[i + 1], "1") == 0;
        else if (strcmp(argv[i], "--script") == 0)
            script_add(&r, argv[i + 1]);
    }
    if (i >= argc) {
        fprintf(stderr,
                "usage: js_run [--name NAME] [--config JSON] [--listen PORT] [--script NAME=FILE]... FILE "
                "[MODULE=FILE...]\n");
        return 2;
    }
    module_add(&r, CD_STR("index.js"), argv[i]);
    for (i++; i < argc; i++) {
        size_t at = cd_str_find(cd_str(argv[i]), '=', 0);
        if (at == SIZE_MAX) {
            fprintf(stderr, "js_run: MODULE=FILE expected, got %s\n", argv[i]);
            return 2;
        }
        module_add(&r, cd_str_of(argv[i], at), argv[i] + at + 1);
    }
    r.node = io_real_new(&(struct io_real_opts){.log_fd = 2, .log_filter = CD_STR("warn")});
    io_real_run(r.node, entry, &r);
    io_real_free(r.node);
    js_platform_stop();
    return r.code;
}
