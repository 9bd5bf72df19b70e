/* tests/js/fixture.h: an isolate of the tests' snapshot with an open turn and an open js_try. */
#ifndef TESTS_JS_FIXTURE_H
#define TESTS_JS_FIXTURE_H

#include "js/module.h"
#include "js/parcel.h"
#include "js/value.h"
#include "support/test.h"

enum { NAME_X, NAME_LENGTH, NAME_BRAND, NAME_COUNT };

struct fixture {
    struct js_isolate *js;
    struct js_turn turn;
    struct js_try caught;
    struct cd_buf log; /* What console.log wrote, a line each. */
    struct cd_buf events; /* What the hooks saw. */
    struct js_ref later; /* What host.later was given. */
    int (*resolve)(struct fixture *f, const struct js_import *import, js_value *module);
    uint64_t task_ns;
    void *arg;
};

/* The clock of the platform; tests move it. */
extern uint64_t fixture_now_ns;
extern int64_t fixture_wall_ms;

void fixture_platform(void); /* Starts it once per process. */
/* Zero in config means the default; snapshot, ops, names, hooks and user are the fixture's. */
void fixture_open_with(struct fixture *f, const struct js_isolate_config *config);
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f); /* Closes turn and isolate. */
void fixture_leave(struct fixture *f); /* Closes the js_try and the turn. */
void fixture_enter(struct fixture *f);

/* Runs a script; it must not throw. */
js_value fixture_run(struct fixture *f, const char *source);
/* The same; its value as text must be want. */
#define RUN_IS(f, source, want) fixture_run_is((f), (source), (want), __FILE__, __LINE__)
void fixture_run_is(struct fixture *f, const char *source, const char *want, const char *file, int line);
/* The script must throw; what people would see of it must be want: "TypeError: text". Clears it. */
#define RUN_THROWS(f, source, want) fixture_run_throws((f), (source), (want), __FILE__, __LINE__)
void fixture_run_throws(struct fixture *f, const char *source, const char *want, const char *file, int line);
/* The pending exception must read like want; clears it. */
#define THREW(f, want) fixture_threw((f), (want), __FILE__, __LINE__)
void fixture_threw(struct fixture *f, const char *want, const char *file, int line);
#define TEXT_IS(f, v, want) fixture_text_is((f), (v), (want), __FILE__, __LINE__)
void fixture_text_is(struct fixture *f, js_value v, const char *want, const char *file, int line);

#endif
