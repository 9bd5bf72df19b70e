/* js/site.h: one version of an application, a script and those it binds, as one loop serves it:
 * runtime.md 1.2.
 *
 * A site keeps the isolates of each script, makes them when the first event comes, and replaces those that
 * are condemned. Everything is called on its loop, outside of fibers. */
#ifndef JS_SITE_H
#define JS_SITE_H

#include "js/worker.h"

struct cell_router;
struct http_exchange;
struct js_site;
struct js_splices;
struct js_watch;

struct js_site_opts {
    struct io *io;
    const struct js_bundle *bundles; /* Borrowed until the site is closed. The first is the application. */
    unsigned count;
    uint64_t heap_limit; /* Bytes; 0: JS_HEAP_LIMIT. */
    struct js_worker *blank; /* Becomes the first worker: js_worker_blank. Taken over; may be NULL. */
    bool trusts_proxy; /* js_worker_opts */
    struct js_watch *watch; /* Borrowed; NULL: nobody looks for turns that do not end. */
    struct cell_router *router; /* Borrowed: where Durable Objects are called; NULL: nowhere. */
    struct js_splices
        *splices; /* js/cell_splice.h; borrowed; NULL: JavaScript passes on what sockets bring. */
    const struct js_worker_hooks *hooks; /* Borrowed. */
    void *arg;
};

struct js_site *js_site_open(const struct js_site_opts *opts);
/* Makes the isolate of every script now, so that what is wrong with one shows. CD_EINVAL with the reason. */
CD_MUST_USE int js_site_load(struct js_site *s, struct cd_buf *why);
/* Takes no more events; done when those that run have ended, or were ended after grace_ns, and its cells have
 * gone (js/cells.h). The site is freed by then. Once. */
void js_site_close(struct js_site *s, uint64_t grace_ns, struct io_op *op, io_done_fn *done);

/* Halts its workers and makes no new ones: js_worker_halt. Requests are answered with 500 from now on. */
void js_site_halt(struct js_site *s);

/* A request for the application; the exchange is the site's. origin: as of js_worker_fetch. */
void js_site_fetch(struct js_site *s, struct http_exchange *x, struct cd_str origin);
/* A worker of that script to deliver an event to, made if needed. NULL: there is no such script, or it does
 * not load: why. */
struct js_worker *js_site_worker(struct js_site *s, struct cd_str script, struct cd_buf *why);
/* A worker of that script for one more cell: the fullest that has room, else a new one. runtime.md 1.3.
 * script may be empty, as nobody names it who wakes a cell for its alarm: then it is the one whose namespace
 * knows the scope. js_site_cell_left says that the cell has ended. */
struct js_worker *js_site_cell_worker(struct js_site *s, struct cd_str script, struct cd_str scope,
                                      struct cd_buf *why);
void js_site_cell_left(struct js_site *s, struct js_worker *w);
/* Memory is short: isolates without cells go, the others collect their garbage. */
void js_site_shrink(struct js_site *s);
bool js_site_closing(const struct js_site *s);
bool js_site_has(const struct js_site *s, struct cd_str script);
unsigned js_site_events(const struct js_site *s);
struct cell_router *js_site_router(const struct js_site *s);
struct js_splices *js_site_splices(const struct js_site *s);

/* ---- Turns that do not end: runtime.md 2.2, step 5 ---- */

/* Written by the loop that runs JavaScript, looked at by another one. Zeroed: valid. */
struct js_watch {
    uint64_t until_ns; /* When the turn that runs must have ended; 0: none runs. Atomic. */
    uint32_t locked; /* Atomic; for a few instructions: the loop that looks holds the isolate, or the names
                        change. */
    struct js_isolate *isolate;
    struct cd_str script, cell; /* Whose turn it is; no cell: a Worker's. Borrowed. */
    /* Of the loop that looks: */
    uint64_t told_until_ns; /* The turn that was told to end, by its until_ns; 0: none was. */
    uint64_t told_ns; /* When. */
};

#define JS_TURN_MAX_NS IO_SEC(30)
#define JS_LOAD_MAX_NS IO_SEC(10)
#define JS_STUCK_MAX_NS IO_SEC(60) /* Longer than what V8 does in one step on a busy machine. */

void js_watch_begin(struct js_watch *w, struct js_isolate *js, struct cd_str script, uint64_t until_ns);
/* The turn works for this cell; empty: not any more. NULL: nobody watches. */
void js_watch_cell(struct js_watch *w, struct cd_str scope);
void js_watch_end(struct js_watch *w);
/* From any loop: a number of the turn that runs, the same as long as it does; 0: none runs. */
uint64_t js_watch_turn(const struct js_watch *w);
enum js_watched {
    JS_WATCH_QUIET, /* No turn is over its time, or it was told before. */
    JS_WATCH_TOLD, /* It is now told to end. */
    JS_WATCH_STUCK, /* It was told JS_STUCK_MAX_NS ago. Some loops inside of V8 never look, and nothing else
                       ends them. */
};
/* From one loop, about once a second: ends a turn that is over its time; all: any turn. */
enum js_watched js_watch_look(struct js_watch *w, uint64_t now_ns, bool all);
/* Appends whose turn runs: the script, the cell; neither when none does. Either may be NULL. */
void js_watch_whose(struct js_watch *w, struct cd_buf *script, struct cd_buf *cell);

#endif
