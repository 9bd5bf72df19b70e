/* js/worker_internal.h: what the files of a worker share: entries, events, asynchronous operations, handles.
 *
 * An event is one delivery from outside. JavaScript knows it by its id; so an id that has ended is an error
 * and never a dangling pointer. Everything that an event starts hangs on it and ends with it. */
#ifndef JS_WORKER_INTERNAL_H
#define JS_WORKER_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "js/value.h"
#include "js/worker.h"

/* Functions of the prelude that C calls, by the names in worker.c. */
enum js_export {
    JS_EXPORT_SETUP,
    JS_EXPORT_BUILTIN,
    JS_EXPORT_LOAD,
    JS_EXPORT_COMPLETE,
    JS_EXPORT_TIMER,
    JS_EXPORT_FETCH,
    JS_EXPORT_RUN,
    JS_EXPORT_GONE,
    JS_EXPORT_REJECTIONS,
    JS_EXPORT_SWEEP,
    JS_EXPORT_SOCKET,
    JS_EXPORT_CALL,
    JS_EXPORT_CELL_START,
    JS_EXPORT_CELL_STOP,
    JS_EXPORT_CELL_ALARM,
    JS_EXPORT_WIRE,
    JS_EXPORT_CELL_SOCKET,
    JS_EXPORT_HUNG,
    JS_EXPORT_COUNT
};

/* Private properties, by the names in worker.c. */
enum js_name {
    JS_NAME_PLATFORM, /* A prototype whose instances are objects of the platform. */
};

struct js_module_record; /* modules.c */
struct js_source_map;
struct js_sockets; /* sockets.c */
struct js_cell; /* cells.c */

struct js_worker {
    struct io *io;
    struct js_isolate *js;
    const struct js_bundle *bundle;
    struct js_site *site;
    struct js_watch *watch;
    const struct js_worker_hooks *hooks;
    void *arg;
    struct js_ref fn[JS_EXPORT_COUNT];
    struct js_source_map *map; /* owned; of the main module, read when first needed */
    bool map_tried;
    struct js_ref rejected; /* An array: kind, promise, reason, ... since the last look. */
    unsigned rejected_count;
    struct js_module_record *modules; /* owned; one for each of the bundle's */
    struct cd_map builtins; /* specifier -> struct js_ref of its module, owned */
    struct cd_map events; /* id -> struct js_event */
    struct cd_map handles; /* id -> struct js_handle */
    struct js_sockets *sockets; /* owned; NULL until there is one */
    unsigned cells; /* That it hosts. */
    struct cd_list touched; /* struct js_cell.touched: those that ran in this turn */
    struct js_cell *resetting; /* The one that ended this turn; NULL: none. */
    uint64_t last_id;
    struct cd_list stirred; /* struct js_event.stirred */
    unsigned still_count; /* Events that are still: hang.c */
    unsigned turns; /* Entries that are open. */
    unsigned pending; /* js_async that have begun and not ended. */
    int64_t wall_ms; /* Frozen for the turn: runtime.md 2.8. */
    bool loaded, condemned, told; /* told: the log knows that it was condemned. */
    bool over; /* Its heap passed the limit, and runs on in the reserve. runtime.md 2.9 */
    uint64_t heap_limit; /* Bytes; for messages. */
    uint64_t collected_ns; /* When it was collected for that. */
    bool collect; /* To be collected soon, even if no event comes: memory ran out. */
    bool trusts_proxy; /* js_worker_opts */
    bool halted; /* Every turn is terminated as it begins. */
    struct io_timer task_timer; /* V8's tasks. */
    uint64_t task_ns;
    struct io_timer sweep_timer; /* Runs while there are events. */
    bool closing;
    struct io_op *closed; /* Of js_worker_close. */
    io_done_fn *closed_done;
};

/* ---- Entries: turns with all that belongs around them ---- */

struct js_entry {
    struct js_worker *w;
    struct js_turn turn;
    struct js_try t;
    bool outer; /* The watch looks at it. */
};
/* Every entry into JavaScript. leave runs microtasks and rejections and looks at the heap; after it the
 * worker may be condemned. */
void js_enter(struct js_worker *w, struct js_entry *e);
void js_leave(struct js_entry *e);
/* Calls a function of the prelude. out may be NULL. JS_THREW: the prelude itself failed, or was terminated.
 */
CD_MUST_USE int js_invoke(struct js_worker *w, enum js_export fn, const js_value *argv, unsigned argc,
                          js_value *out);
#define JS_RECORD_MAX (256u << 10) /* bytes of one record in the log. runtime.md 5.7 */
/* Cuts a text that is longer, between two characters, and says so at its end. */
void js_text_cut(struct cd_buf *text);
/* As its author is to read it: places where a source map knows them, no frames of the prelude, no endless
 * text. */
void js_problem_map(struct js_worker *w, struct js_problem *p);
/* Reports what e caught, and clears it. */
void js_report(struct js_entry *e, const char *where);

/* ---- Events ---- */

struct js_event;
struct js_event_type {
    const char *name; /* For logs: "fetch". */
    /* The event ended, by JavaScript (why NULL) or by the host: give back what it holds and free it. Its
     * operations are being cancelled. Never from inside another callback of the event. */
    void (*end)(struct js_event *e, const char *why);
    /* Whether somebody waits for what user code answers; NULL: never, and such an event cannot hang. */
    bool (*unanswered)(const struct js_event *e);
};
struct js_event {
    const struct js_event_type *type;
    struct js_worker *w;
    uint64_t id;
    struct cd_list asyncs; /* struct js_async.link */
    struct cd_list handles; /* struct js_handle.link */
    struct cd_link stirred; /* Something of it began or ended in this turn. */
    bool still; /* hang.c */
    uint64_t still_since; /* The last id when it became still. */
    uint64_t still_ns; /* And the time. */
};
void js_event_init(struct js_event *e, struct js_worker *w, const struct js_event_type *type);
struct js_event *js_event_get(struct js_worker *w, uint64_t id); /* NULL when it has ended. */
/* Cancels its operations, closes its handles, takes it off the worker, calls type->end. */
void js_event_end(struct js_event *e, const char *why);

/* ---- Events that hang (hang.c) ---- */

/* Something began or ended for it: whether it is still is asked at the end of the turn. */
void js_event_stir(struct js_event *e);
void js_event_calm(struct js_event *e); /* It ends. */
/* Inside an entry, at its end and every second: the prelude ends those that hang. How many it were, or
 * JS_THREW. */
CD_MUST_USE int js_hangs_look(struct js_worker *w);
CD_MUST_USE int js_hangs_sweep(struct js_worker *w);

/* ---- Asynchronous operations ---- */

/* Begins with the first two arguments of its host function: the event's id and the id of the promise. */
struct js_async {
    struct js_worker *w;
    struct js_event *event; /* NULL: nobody waits any more. */
    uint64_t promise;
    struct cd_link link;
    void (*cancel)(struct js_async *s); /* Asks; the operation still completes. */
};
/* Throws when the event has ended. */
CD_MUST_USE int js_async_begin(struct js_args *a, struct js_async *s, void (*cancel)(struct js_async *s));
/* When the operation has completed, first thing: moves it to out, so that the struct around s may be freed or
 * begin anew, and says whether somebody still waits. */
bool js_async_take(struct js_async *s, struct js_async *out);
/* Inside an entry: settles the promise. Exactly one of error and v is not NULL, or both are: undefined. */
void js_async_settle(struct js_async *s, js_value error, js_value v);
/* The same, with an entry of its own, for a failure by status (IO_*, CD_*) and a text; IO_OK: undefined. */
void js_async_status(struct js_async *s, int status, const char *why);
/* After the settling, or when nobody waits. It can end the worker. */
void js_async_end(struct js_async *s);

/* ---- Handles: objects of the host that JavaScript holds by number ---- */

struct js_handle;
struct js_handle_type {
    const char *name; /* What the error calls it. */
    void (*close)(struct js_handle *h); /* No longer reachable by number; frees, at once or when idle. */
    bool passive; /* Nothing comes from it that was not asked for. */
};
struct js_handle {
    const struct js_handle_type *type;
    struct js_worker *w;
    struct js_event *event; /* Whose end closes it; NULL: the worker's. */
    uint64_t id;
    struct cd_link link;
};
void js_handle_init(struct js_handle *h, struct js_worker *w, struct js_event *event,
                    const struct js_handle_type *type);
/* The handle whose number is an argument. Throws when it is closed or of another type. */
CD_MUST_USE int js_arg_handle(struct js_args *a, unsigned index, const struct js_handle_type *type,
                              struct js_handle **out);
void js_handle_close(struct js_handle *h);

/* ops_core.c: whether structured clone must refuse an object: its prototypes tell. */
bool js_is_platform(struct js_isolate *js, js_value object);

/* ---- Arguments ---- */

static inline struct js_worker *js_worker_of(const struct js_args *a)
{
    return js_isolate_user(a->js);
}
CD_MUST_USE int js_arg_u64(const struct js_args *a, unsigned index, uint64_t *out);
/* In a host function that js_terminate was called for, now or during it: unwinds JavaScript at once, so that
 * nothing of it can catch what the function throws. V8 looks when a function is entered. 0: the turn goes on.
 */
CD_MUST_USE int js_unwind(struct js_args *a);
/* An error with name, message and code as JavaScript sees failures of the host. */
js_value js_status_error(struct js_worker *w, int status, const char *why);

/* ---- Bodies that JavaScript reads (bodies.c) ---- */

struct js_body;
struct js_body_type {
    void (*read)(struct js_body *s); /* Submits s->read with done js_body_done. */
    void (*close)(struct js_body *s); /* Not reading, not reachable: frees. */
    const char *(*why)(struct js_body *s, int status); /* Text of a failed read; may be NULL. */
};
struct js_body {
    struct js_handle handle;
    const struct js_body_type *type;
    struct io_read read;
    struct js_async async;
    bool reading, closed, held; /* held: js_body_done is at work. */
};
void js_body_init(struct js_body *s, struct js_worker *w, struct js_event *event,
                  const struct js_body_type *type);
void js_body_done(struct io_op *op, int status);
struct js_body *js_body_of(struct js_handle *h); /* NULL: the handle is of another type. */
/* The body of that type whose number is an argument; throws when it is closed or of another type. */
CD_MUST_USE int js_arg_body(struct js_args *a, unsigned index, const struct js_body_type *type,
                            struct js_body **out);

/* ---- Modules (modules.c) ---- */

int js_modules_resolve(struct js_isolate *js, const struct js_import *import, js_value *module);
int js_modules_meta(struct js_isolate *js, struct cd_str name, js_value meta);
/* Inside an entry: compiles, links and evaluates the bundle; ns is the entry's namespace. */
CD_MUST_USE int js_modules_load(struct js_worker *w, js_value *ns);
void js_modules_free(struct js_worker *w);

#endif
