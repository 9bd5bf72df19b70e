/* js/event_run.c: an event without a client, for tools and tests. */
#include "js/ops.h"
#include "js/worker_internal.h"

struct run {
    struct js_event event;
    void (*done)(void *arg, const struct js_problem *problem);
    void *arg;
    struct js_problem problem;
    bool failed;
};

static void run_end(struct js_event *e, const char *why)
{
    struct run *r = CD_CONTAINER(e, struct run, event);
    if (why != NULL && !r->failed) {
        r->failed = true;
        cd_buf_addf(&r->problem.message, "%s", why);
    }
    r->done(r->arg, r->failed ? &r->problem : NULL);
    js_problem_deinit(&r->problem);
    cd_free(r);
}

static const struct js_event_type run_type = {.name = "run", .end = run_end};

void js_worker_run(struct js_worker *w, const char *name,
                   void (*done)(void *arg, const struct js_problem *problem), void *arg)
{
    struct run *r = cd_new(struct run);
    js_event_init(&r->event, w, &run_type);
    r->done = done;
    r->arg = arg;
    uint64_t id = r->event.id;
    struct js_entry e;
    js_enter(w, &e);
    const js_value argv[] = {js_number(w->js, (double)id), js_text(w->js, name)};
    int rc = js_invoke(w, JS_EXPORT_RUN, argv, CD_COUNT(argv), NULL);
    js_leave(&e);
    if (rc != 0 && js_event_get(w, id) != NULL)
        js_event_end(&r->event, "The runtime failed.");
}

/* run_failed(event, error): what the run is to be told of; the event goes on to its end. */
int js_op_run_failed(struct js_args *a)
{
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(js_worker_of(a), id);
    if (e == NULL || e->type != &run_type)
        return 0;
    struct run *r = CD_CONTAINER(e, struct run, event);
    r->failed = true;
    js_problem_of(a->js, js_arg(a, 1), &r->problem);
    return 0;
}
