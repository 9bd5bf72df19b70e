#include "fixture.h"

#include "base/rng.h"
#include "ops.h"

extern const char test_snapshot_begin[], test_snapshot_end[];

uint64_t fixture_now_ns = 1000000000;
int64_t fixture_wall_ms = 1700000000000;
static struct cd_rng rng;

static uint64_t now_ns(void)
{
    return fixture_now_ns;
}

static int64_t wall_ms(void)
{
    return fixture_wall_ms;
}

static void fill_random(void *out, size_t len)
{
    cd_rng_fill(&rng, out, len);
}

void fixture_platform(void)
{
    static bool started;
    if (started)
        return;
    started = true;
    cd_rng_seed(&rng, 1, CD_STR("js"));
    const struct js_platform_config config = {.now_ns = now_ns, .wall_ms = wall_ms, .random = fill_random};
    js_platform_start(&config);
}

static struct fixture *of(struct js_isolate *js)
{
    return js_isolate_user(js);
}

static int op_log(struct js_args *a)
{
    struct cd_buf *log = &of(a->js)->log;
    int rc = js_to_utf8(a->js, js_arg(a, 0), log);
    cd_buf_add_byte(log, '\n');
    return rc;
}

static int op_add(struct js_args *a)
{
    double x, y;
    int rc = js_to_number(a->js, js_arg(a, 0), &x);
    if (rc == 0)
        rc = js_to_number(a->js, js_arg(a, 1), &y);
    if (rc == 0)
        js_return_number(a, x + y);
    return rc;
}

static int op_fail(struct js_args *a)
{
    return js_throw_error(a->js, JS_RANGE_ERROR, "op failed with %u arguments", a->count);
}

static int op_code(struct js_args *a)
{
    int32_t code;
    int rc = js_to_int32(a->js, js_arg(a, 0), &code);
    return rc != 0 ? rc : code;
}

static int op_echo(struct js_args *a)
{
    js_return(a, js_arg(a, 0));
    return 0;
}

static int op_later(struct js_args *a)
{
    js_ref_set(a->js, &of(a->js)->later, js_arg(a, 0));
    return 0;
}

#define X(name) {#name, op_##name},
static const struct js_op ops[] = {JS_OPS(X)};
#undef X
static const char *const names[NAME_COUNT] = {"x", "length", "brand"};

static void on_task(struct js_isolate *js, uint64_t due_ns)
{
    struct fixture *f = of(js);
    if (due_ns < f->task_ns)
        f->task_ns = due_ns;
}

static void on_rejection(struct js_isolate *js, enum js_rejection what, js_value promise, js_value reason)
{
    struct fixture *f = of(js);
    CHECK(js_is(promise, JS_IS_PROMISE));
    cd_buf_addf(&f->events, what == JS_REJECTED_UNHANDLED ? "unhandled " : "handled ");
    if (js_kind(reason) == JS_STRING)
        js_string_add(js, reason, &f->events);
    cd_buf_add_byte(&f->events, '\n');
}

static void on_uncaught(struct js_isolate *js, js_value exception, const struct js_problem *problem)
{
    struct fixture *f = of(js);
    CHECK(exception != NULL);
    cd_buf_addf(&f->events, "uncaught ");
    cd_buf_add_str(&f->events, cd_buf_str(&problem->message));
    cd_buf_addf(&f->events, " at %d\n", problem->line);
}

static void on_heap(struct js_isolate *js, enum js_heap_state state)
{
    cd_buf_addf(&of(js)->events, state == JS_HEAP_OVER ? "over\n" : "exhausted\n");
}

static int on_resolve(struct js_isolate *js, const struct js_import *import, js_value *module)
{
    struct fixture *f = of(js);
    return f->resolve == NULL ? CD_ENOTFOUND : f->resolve(f, import, module);
}

static int on_meta(struct js_isolate *js, struct cd_str module_name, js_value meta)
{
    js_value url;
    int rc = js_string(js, module_name, &url);
    return rc == 0 ? js_set_text(js, meta, "url", url) : rc;
}

static bool is_host_object(struct js_isolate *js, js_value object)
{
    return js_has_private(js, object, NAME_BRAND);
}

static const struct js_hooks hooks = {.task = on_task,
                                      .rejection = on_rejection,
                                      .uncaught = on_uncaught,
                                      .heap = on_heap,
                                      .resolve = on_resolve,
                                      .import_meta = on_meta,
                                      .is_host_object = is_host_object};

void fixture_open_with(struct fixture *f, const struct js_isolate_config *config)
{
    fixture_platform();
    *f = (struct fixture){.task_ns = UINT64_MAX};
    struct js_isolate_config c = *config;
    if (c.snapshot.ptr == NULL)
        c.snapshot = cd_str_of(test_snapshot_begin, (size_t)(test_snapshot_end - test_snapshot_begin));
    c.ops = ops;
    c.op_count = CD_COUNT(ops);
    c.names = names;
    c.name_count = NAME_COUNT;
    c.hooks = &hooks;
    c.user = f;
    struct cd_buf why = {0};
    int rc = js_isolate_new(&f->js, &c, &why);
    if (rc != 0)
        fprintf(stderr, "%s\n", cd_buf_cstr(&why));
    CHECK_INT(rc, 0);
    cd_buf_deinit(&why);
    fixture_enter(f);
}

void fixture_open(struct fixture *f)
{
    fixture_open_with(f, &(struct js_isolate_config){0});
}

void fixture_enter(struct fixture *f)
{
    js_turn_begin(f->js, &f->turn);
    js_try_begin(f->js, &f->caught);
}

void fixture_leave(struct fixture *f)
{
    js_try_end(&f->caught);
    js_turn_end(&f->turn);
}

void fixture_close(struct fixture *f)
{
    fixture_leave(f);
    js_ref_clear(&f->later);
    js_isolate_free(f->js);
    cd_buf_deinit(&f->log);
    cd_buf_deinit(&f->events);
}

js_value fixture_run(struct fixture *f, const char *source)
{
    js_value v = NULL;
    if (js_run(f->js, cd_str(source), "test.js", &v) != 0) {
        struct js_problem p = {0};
        js_try_problem(&f->caught, &p);
        fprintf(stderr, "%s\nthrew %s: %s\n%s\n", source, cd_buf_cstr(&p.name), cd_buf_cstr(&p.message),
                cd_buf_cstr(&p.stack));
        abort();
    }
    return v;
}

static void same_text(struct cd_buf *got, const char *want, const char *what, const char *file, int line)
{
    if (!cd_str_eq(cd_buf_str(got), cd_str(want))) {
        fprintf(stderr, "%s\n  got  %s\n  want %s\n", what, cd_buf_cstr(got), want);
        cd_buf_deinit(got);
        _fail(file, line);
    }
    cd_buf_deinit(got);
}

void fixture_text_is(struct fixture *f, js_value v, const char *want, const char *file, int line)
{
    struct cd_buf got = {0};
    CHECK_INT(js_to_utf8(f->js, v, &got), 0);
    same_text(&got, want, "a value", file, line);
}

void fixture_run_is(struct fixture *f, const char *source, const char *want, const char *file, int line)
{
    fixture_text_is(f, fixture_run(f, source), want, file, line);
}

void fixture_threw(struct fixture *f, const char *want, const char *file, int line)
{
    CHECK(js_try_caught(&f->caught));
    struct js_problem p = {0};
    struct cd_buf got = {0};
    js_try_problem(&f->caught, &p);
    js_try_clear(&f->caught);
    cd_buf_addf(&got, "%s: %s", cd_buf_cstr(&p.name), cd_buf_cstr(&p.message));
    js_problem_deinit(&p);
    same_text(&got, want, "an exception", file, line);
}

void fixture_run_throws(struct fixture *f, const char *source, const char *want, const char *file, int line)
{
    js_value v;
    CHECK_INT(js_run(f->js, cd_str(source), "test.js", &v), JS_THREW);
    fixture_threw(f, want, file, line);
}
