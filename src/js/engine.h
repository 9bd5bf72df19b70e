/* js/engine.h: V8 behind C: the platform, isolates, turns, scopes, exceptions, host functions.
 * architecture.md 7.
 *
 * The rest of the engine's interface is in js/value.h, js/module.h, js/parcel.h and js/snapshot.h. What is
 * behind these headers is the only C++ of celld.
 *
 * Rules of every call:
 * - An isolate belongs to one thread for life. All calls on it are made there, between js_turn_begin and
 *   js_turn_end, except where a comment says otherwise. Nothing here blocks or does I/O. JavaScript never
 * runs on a fiber's stack: V8 measures the stack it was created on.
 * - A js_value is good until the innermost scope that was open when it was made is closed (a turn is a scope,
 * a host function is one too). js_ref keeps values longer. Making a value allocates nothing in C.
 * - A call that can run or compile JavaScript, or that can fail, returns int: 0, or JS_THREW with the
 * exception pending. Its out-pointers are written only on success. Such a call is made inside a js_try or a
 * host function (asserted); after JS_THREW the code returns to that js_try, or returns JS_THREW from the host
 *   function, without calling anything else that could throw. No C++ exception exists anywhere. */
#ifndef JS_ENGINE_H
#define JS_ENGINE_H

#include "base/buf.h"
#include "base/list.h"

struct js_isolate;
typedef struct js_handle *js_value; /* Never NULL where one is asked for, unless said so. */

#define JS_THREW                                                                                             \
    (-300) /* Apart from CD_* and IO_* codes: an exception is pending, or the turn is terminated. */

/* ---- Platform: once per process ---- */

struct js_platform_config {
    /* Time and entropy as V8 sees them, for its heuristics and for user code. They carry no isolate and may
     * be called on any thread that has one: programs answer from io_current(). */
    uint64_t (*now_ns)(void);
    int64_t (*wall_ms)(void);
    void (*random)(void *out, size_t len);
    /* For the simulator: the hash seed is fixed and the collector's schedule does not depend on speed.
     * simulation.md 12. */
    bool deterministic;
};

/* Before the first isolate, exactly once. V8 gets no thread of its own. */
void js_platform_start(const struct js_platform_config *config);
/* After the last isolate; V8 cannot be started again in this process. */
void js_platform_stop(void);
bool js_platform_running(void);
const char *js_engine_version(void); /* "13.6.233.17-node.37" */

/* ---- Host functions ---- */

/* What a host function was called with. The arguments are values of the call's own scope. */
struct js_args {
    struct js_isolate *js;
    void *user; /* Of js_function_new; NULL for an op. */
    unsigned count;
    js_value this_value;
    const void *info; /* The engine's. */
    char *first;
};

/* Returns 0 (undefined is the result unless js_return_* was called), JS_THREW, or a CD_* or IO_* code, which
 * is thrown as an Error with its text. */
typedef int js_host_fn(struct js_args *a);

/* The table of host functions, the same when the snapshot is built and when it is used: its position is what
 * a function in the snapshot remembers. The prelude gets them as properties of a parameter, never of
 * globalThis. */
struct js_op {
    const char *name;
    js_host_fn *fn; /* NULL while a snapshot is built: calling it throws. */
};

js_value js_arg(const struct js_args *a, unsigned index); /* undefined when there are fewer. */
bool js_is_construct(const struct js_args *a);
void js_return(struct js_args *a, js_value v);
void js_return_bool(struct js_args *a, bool v);
void js_return_int(struct js_args *a, int32_t v);
void js_return_number(struct js_args *a, double v);

/* ---- Isolates ---- */

enum js_rejection {
    JS_REJECTED_UNHANDLED, /* Rejected while nobody listens. */
    JS_REJECTION_HANDLED, /* Somebody listens now, after the above. */
};

enum js_heap_state {
    JS_HEAP_OK,
    JS_HEAP_OVER, /* Over its limit, running on in the reserve. */
    JS_HEAP_EXHAUSTED, /* The reserve is used up too: the turn is terminated, the isolate is to be given up.
                        */
};

struct js_import;
struct js_problem;

/* What the isolate asks of its owner. Each may be NULL. user is the isolate's. */
struct js_hooks {
    /* V8 queued a task: js_pump is to be called at due_ns (the platform's clock) or soon after. */
    void (*task)(struct js_isolate *js, uint64_t due_ns);
    /* Called while JavaScript runs: note it, and act after the microtasks. */
    void (*rejection)(struct js_isolate *js, enum js_rejection what, js_value promise, js_value reason);
    /* An exception that no one can catch: of queueMicrotask callbacks and finalizers. */
    void (*uncaught)(struct js_isolate *js, js_value exception, const struct js_problem *problem);
    /* The heap's state got worse. Called by the collector: no other call on js is allowed inside. */
    void (*heap)(struct js_isolate *js, enum js_heap_state state);
    /* js/module.h. */
    int (*resolve)(struct js_isolate *js, const struct js_import *import, js_value *module);
    int (*import_meta)(struct js_isolate *js, struct cd_str module_name, js_value meta);
    /* Makes out of a stack what is shown of it; false: the stack as it is. See js_stack_hook. */
    bool (*stack)(struct js_isolate *js, struct cd_str stack, struct cd_buf *out);
    /* Whether an object is to be written by the writer's own code: js/parcel.h. */
    bool (*is_host_object)(struct js_isolate *js, js_value object);
};

struct js_isolate_config {
    struct cd_str snapshot; /* What js_snapshot_build made; borrowed for the isolate's life. */
    const struct js_op *ops; /* Borrowed for life. */
    unsigned op_count;
    const char *const *names; /* Property names used by index, js_get_name; borrowed for life. May be NULL. */
    unsigned name_count;
    uint64_t heap_limit; /* Bytes; 0: JS_HEAP_LIMIT. */
    uint64_t external_limit; /* Bytes of array buffers; 0: four times the heap limit. */
    const struct js_hooks *hooks; /* Borrowed for life. */
    void *user;
};

#define JS_HEAP_LIMIT (128u << 20)

/* On the thread that will use it, not in a fiber. CD_EINVAL: the snapshot was made for other ops, another V8
 * or is none; why says which. All isolates of a process must come from the same snapshot bytes: V8 shares the
 * read-only part. */
CD_MUST_USE int js_isolate_new(struct js_isolate **out, const struct js_isolate_config *config,
                               struct cd_buf *why);
/* Outside of turns. Finalizers of js_weak that have not run are run; refs that were not cleared dangle. */
void js_isolate_free(struct js_isolate *js);
void *js_isolate_user(const struct js_isolate *js);
/* From now on hooks->stack sees each stack before anybody else does: when it is read first, unless
 * Error.prepareStackTrace of user code makes it. Errors whose stack nobody reads cost nothing. */
void js_stack_hook(struct js_isolate *js);

/* A turn: one entry into the isolate. Turns of different isolates of a thread may nest. */
struct js_turn {
    void *opaque[6];
};
void js_turn_begin(struct js_isolate *js, struct js_turn *t);
void js_turn_end(struct js_turn *t);
bool js_in_turn(const struct js_isolate *js);
/* The isolate whose turn runs on this thread, the innermost; NULL outside of turns. For the platform's
 * callbacks, which get no context. */
struct js_isolate *js_current(void);

/* Runs microtasks until none is left. JS_THREW: terminated; the rest of them is gone. */
CD_MUST_USE int js_microtasks(struct js_isolate *js);
/* Runs the tasks of V8 that are due (finalizers, collector steps). Microtasks may be waiting after it. False:
 * nothing was due. */
bool js_pump(struct js_isolate *js);
uint64_t js_next_task_ns(const struct js_isolate *js); /* UINT64_MAX: none. */

/* Ends the JavaScript that runs, or else that starts next, uncatchably. From any thread, while the isolate
 * lives. It stays in force until js_resume, which the isolate's thread calls outside of JavaScript. */
void js_terminate(struct js_isolate *js);
void js_resume(struct js_isolate *js);
/* Whether JavaScript is being unwound. V8 does not say so before JavaScript met the request, so never inside
 * of a host function that it was made during. */
bool js_terminating(struct js_isolate *js);
/* Whether js_terminate was called in this turn. For host functions that take long: they end early, and
 * JavaScript is unwound when it goes on. */
bool js_terminate_asked(const struct js_isolate *js);

/* eval and new Function; they are allowed at first. */
void js_allow_eval(struct js_isolate *js, bool allowed);

struct js_heap {
    uint64_t used, committed, limit; /* Bytes of the JavaScript heap. limit: the one V8 enforces now. */
    uint64_t array_buffers; /* Bytes allocated for array buffers of this isolate that live. */
    uint64_t external; /* These and what js_external_memory told of. */
    uint64_t wasm; /* Bytes of WebAssembly memories and their like, with those that wait for the collector. */
    enum js_heap_state state;
};
void js_heap_stats(struct js_isolate *js, struct js_heap *out);
enum js_heap_state js_heap_state_of(const struct js_isolate *js); /* Costs nothing. */
/* Whether an array buffer was refused since the last call. Costs nothing. */
bool js_buffers_refused(struct js_isolate *js);
/* WebAssembly memories and array buffers have one limit. V8 makes and grows the former by itself and cannot
 * be refused them, so passing it ends the turn: JS_HEAP_EXHAUSTED. It is looked at after collections, which
 * growing memory brings about, and here: at the end of each turn. */
void js_memory_look(struct js_isolate *js);
void js_gc(struct js_isolate *js); /* A full collection: milliseconds, tens with a large heap. */
/* If the heap's use is below 75 % of its limit: the state is JS_HEAP_OK again and the original limit holds.
 */
bool js_heap_recover(struct js_isolate *js);
/* Native memory that JavaScript objects hold. */
void js_external_memory(struct js_isolate *js, int64_t change);

/* What the prelude returned when the snapshot was built (js/snapshot.h). */
js_value js_prelude(struct js_isolate *js);
js_value js_global(struct js_isolate *js);

/* The value that async functions and promise reactions carry along: AsyncLocalStorage. undefined at first. */
js_value js_continuation(struct js_isolate *js);
void js_continuation_set(struct js_isolate *js, js_value v);

/* ---- Scopes and references ---- */

struct js_scope {
    void *opaque[6];
};
void js_scope_open(struct js_isolate *js, struct js_scope *s);
/* One whose js_scope_escape may be called, once; it costs the scope around it a place even if it is not. */
void js_scope_open_escapable(struct js_isolate *js, struct js_scope *s);
void js_scope_close(struct js_scope *s); /* In reverse order of opening. */
/* v as a value of the scope around s. */
js_value js_scope_escape(struct js_scope *s, js_value v);

/* Keeps a value alive. Zeroed: empty. To be cleared before the isolate is freed. */
struct js_ref {
    void *slot;
};
void js_ref_set(struct js_isolate *js, struct js_ref *r, js_value v); /* Replaces. */
void js_ref_clear(struct js_ref *r);
js_value js_ref_get(struct js_isolate *js, const struct js_ref *r); /* NULL when empty. */
static inline bool js_ref_is_set(const struct js_ref *r)
{
    return r->slot != NULL;
}

/* Watches a value without keeping it alive. finalize is called once, when it was collected or when the
 * isolate is freed, on the isolate's thread; w is the caller's again then. It must not call into js: the
 * collector is running. */
struct js_weak {
    void *slot;
    void (*finalize)(struct js_weak *w);
    struct cd_link link;
};
void js_weak_set(struct js_isolate *js, struct js_weak *w, js_value v, void (*finalize)(struct js_weak *w));
js_value js_weak_get(struct js_isolate *js, const struct js_weak *w); /* NULL when it is gone. */
void js_weak_clear(struct js_weak *w); /* finalize will not be called. */

/* ---- Exceptions ---- */

/* Catches what the calls until js_try_end throw. On the stack, ended in reverse order, in the function that
 * began it. */
struct js_try {
    void *opaque[8];
};
void js_try_begin(struct js_isolate *js, struct js_try *t);
void js_try_end(struct js_try *t);
bool js_try_caught(const struct js_try *t);
bool js_try_terminated(const struct js_try *t); /* By js_terminate or an exhausted heap. */
js_value js_try_exception(const struct js_try *t); /* NULL: nothing caught, or terminated. */
void js_try_clear(struct js_try *t);
/* Throws it on, to the js_try or host function around. Nothing else follows but js_try_end. */
int js_try_rethrow(struct js_try *t);

/* What people want to know of an exception. All texts are UTF-8, empty when unknown; line and column count
 * from 1, 0: unknown. */
struct js_problem {
    struct cd_buf name,
        message; /* "TypeError", "x is not a function"; for a value that is no Error: its text. */
    struct cd_buf stack; /* The stack property, when it is a string. */
    struct cd_buf script, source_line;
    int line, column;
    bool terminated;
};
/* Appends nothing: replaces. Reads properties of the exception, which can run its getters: what they throw is
 * dropped. */
void js_try_problem(struct js_try *t, struct js_problem *out);
void js_problem_of(struct js_isolate *js, js_value exception, struct js_problem *out);
void js_problem_deinit(struct js_problem *p);

enum js_error_kind { JS_ERROR, JS_TYPE_ERROR, JS_RANGE_ERROR, JS_SYNTAX_ERROR, JS_WASM_COMPILE_ERROR };
js_value js_error_new(struct js_isolate *js, enum js_error_kind kind, struct cd_str message);
/* These return JS_THREW, for `return js_throw...`. */
int js_throw(struct js_isolate *js, js_value exception);
int js_throw_error(struct js_isolate *js, enum js_error_kind kind, const char *format, ...) CD_PRINTF(3, 4);
/* new exports.DOMException(message, name) of the prelude's exports; an Error with that name when there is
 * none. */
int js_throw_dom(struct js_isolate *js, const char *name, const char *format, ...) CD_PRINTF(3, 4);

#endif
