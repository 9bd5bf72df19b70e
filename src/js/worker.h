/* js/worker.h: one isolate that runs one version of a Worker on one loop. runtime.md 1, 2, 3;
 * architecture.md 7.
 *
 * A worker is made, loaded and closed on its loop, outside of fibers. Events enter it (js_worker_fetch and
 * its like); what they start ends by itself or with the worker. Nothing here blocks but the load, which
 * compiles and evaluates the bundle in one go. */
#ifndef JS_WORKER_H
#define JS_WORKER_H

#include "io/io.h"
#include "js/engine.h"

struct http_exchange;
struct js_site;
struct js_watch;
struct js_worker;

/* Answers V8's questions from the loop that runs; once per process, before the first worker and in a callback
 * of a loop, for the entropy. deterministic: for the simulator. The end of the process stops V8;
 * js_platform_stop is for programs that check for leaks.
 */
void js_worker_platform(bool deterministic);

enum js_module_kind { JS_MODULE_ESM, JS_MODULE_TEXT, JS_MODULE_DATA, JS_MODULE_JSON, JS_MODULE_WASM };

struct js_bundle_module {
    struct cd_str name; /* "index.js", "lib/add.wasm" */
    enum js_module_kind kind;
    struct cd_str bytes;
    struct cd_str source_map; /* Of bytes, version 3; empty: none. */
};

/* What a worker runs. Borrowed, with all it points to, until the worker is closed. */
struct js_bundle {
    struct cd_str script; /* The Worker's name. */
    const struct js_bundle_module *module; /* By name, in any order. */
    unsigned count, main; /* main: index of the entry. */
    /* JSON for the prelude (runtime/worker.js, setup): {"script","bindings":[...],"flags":[...],...}. */
    struct cd_str config;
};

struct js_worker_hooks {
    /* One call of console.*; text is the inspected line, without a newline. Any of them may be NULL. */
    void (*console)(void *arg, struct js_worker *w, enum cd_level level, struct cd_str text);
    /* An error that user code did not catch. where: "fetch", "rejection", "load", ... */
    void (*uncaught)(void *arg, struct js_worker *w, const char *where, const struct js_problem *problem);
    /* A request of js_worker_fetch is over, its answer and all that it left behind. Maybe inside a turn. */
    void (*fetched)(void *arg);
};

struct js_worker_opts {
    struct io *io;
    const struct js_bundle *bundle;
    uint64_t heap_limit; /* Bytes; 0: JS_HEAP_LIMIT. */
    struct js_worker *blank; /* Becomes the worker: js_worker_blank. NULL: it is made from nothing. */
    struct js_site *site; /* Where bindings to other scripts are found; NULL: there are none. */
    bool trusts_proxy; /* The client's address is what its fields say, if they do: runtime.md 5.1. */
    struct js_watch *watch; /* js/site.h; NULL: nobody looks for turns that do not end. */
    const struct js_worker_hooks *hooks; /* Borrowed; may be NULL. */
    void *arg;
};

/* The isolate of a worker, made before its bundle is known: most of the time that opening takes. For
 * js_worker_open with the same loop and heap limit, whatever that ends with; js_worker_close frees one that
 * nobody needs. NULL: why says what is wrong. */
struct js_worker *js_worker_blank(struct io *io, uint64_t heap_limit, struct cd_buf *why);
/* Makes the isolate, evaluates the bundle and checks its exports. On failure (CD_EINVAL) why says what is
 * wrong in the words of JavaScript, with the place, and there is no worker. */
CD_MUST_USE int js_worker_open(struct js_worker **out, const struct js_worker_opts *opts, struct cd_buf *why);
/* Ends what is running: every event fails, every operation is cancelled. done comes when nothing is left and
 * the worker is freed. Once. */
void js_worker_close(struct js_worker *w, struct io_op *op, io_done_fn *done);
/* No JavaScript of the worker runs any more, not even that which is running now: for the simulator, whose
 * nodes crash while their code lives on to unwind. What remains to be done is js_worker_close. */
void js_worker_halt(struct js_worker *w);
/* A worker that is condemned takes no more events and is to be replaced: runtime.md 1.8. */
bool js_worker_condemned(const struct js_worker *w);
unsigned js_worker_events(const struct js_worker *w); /* How many run. */
struct js_isolate *js_worker_isolate(struct js_worker *w);
const struct js_bundle *js_worker_bundle(const struct js_worker *w);

/* In a hook: the scope of the cell whose code runs; empty: no cell's. Borrowed for the call. */
struct cd_str js_worker_scope(struct js_worker *w);

/* Delivers a request: the worker owns the exchange and answers it, whatever happens. origin is what the
 * request's URL starts with, "http://host:port"; it is copied. */
void js_worker_fetch(struct js_worker *w, struct http_exchange *x, struct cd_str origin);

/* For tools and tests: an event without a client that calls the default export's function `name` with (env,
 * ctx). done(arg, NULL) when its promise is fulfilled and all it waits for has ended, or with what it threw.
 */
void js_worker_run(struct js_worker *w, const char *name,
                   void (*done)(void *arg, const struct js_problem *problem), void *arg);

#endif
