/* tests/js/bench.c: what the engine's calls cost. Prints one line per figure; the least of several rounds,
 * because the machine may be busy. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "js/module.h"
#include "js/value.h"
#include "ops.h"

extern const char test_snapshot_begin[], test_snapshot_end[];

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t spent_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int64_t wall_ms(void)
{
    return (int64_t)(now_ns() / 1000000);
}

static void fill_random(void *out, size_t len)
{
    FILE *f = fopen("/dev/urandom", "rb");
    if (f == NULL || fread(out, 1, len, f) != len)
        abort();
    fclose(f);
}

static int op_none(struct js_args *a)
{
    (void)a;
    return 0;
}

static int op_add(struct js_args *a)
{
    js_return_number(a, js_as_number(js_arg(a, 0)) + js_as_number(js_arg(a, 1)));
    return 0;
}

static int op_echo(struct js_args *a)
{
    js_return(a, js_arg(a, 0));
    return 0;
}

#define op_log op_none
#define op_fail op_none
#define op_code op_none
#define op_later op_none
#define X(name) {#name, op_##name},
static const struct js_op ops[] = {JS_OPS(X)};
#undef X

static struct js_isolate *isolate(void)
{
    const struct js_isolate_config config = {
        .snapshot = cd_str_of(test_snapshot_begin, (size_t)(test_snapshot_end - test_snapshot_begin)),
        .ops = ops,
        .op_count = CD_COUNT(ops)};
    struct js_isolate *js;
    struct cd_buf why = {0};
    int rc = js_isolate_new(&js, &config, &why);
    CD_ASSERT(rc == 0);
    return js;
}

/* The shortest of the rounds, per run. */
static double least(void (*body)(struct js_isolate *js, int runs, void *arg), struct js_isolate *js, int runs,
                    void *arg)
{
    double best = 1e18;
    for (int round = 0; round < 12; round++) {
        uint64_t from = spent_ns();
        body(js, runs, arg);
        double each = (double)(spent_ns() - from) / runs;
        best = each < best ? each : best;
    }
    return best;
}

static js_value run(struct js_isolate *js, const char *source)
{
    js_value v;
    int rc = js_run(js, cd_str(source), "bench.js", &v);
    CD_ASSERT(rc == 0);
    return v;
}

static void create(struct js_isolate *js, int runs, void *arg)
{
    (void)js, (void)arg;
    for (int i = 0; i < runs; i++) {
        struct js_isolate *one = isolate();
        struct js_turn turn;
        struct js_try t;
        js_turn_begin(one, &turn);
        js_try_begin(one, &t);
        run(one, "1 + 1");
        js_try_end(&t);
        js_turn_end(&turn);
        js_isolate_free(one);
    }
}

static void calls(struct js_isolate *js, int runs, void *arg)
{
    for (int i = 0; i < runs; i++) {
        struct js_scope scope;
        struct js_try t;
        js_value v;
        js_scope_open(js, &scope);
        js_try_begin(js, &t);
        js_value argv[] = {js_int(js, i), js_int(js, 2)};
        int rc = js_call(js, js_ref_get(js, arg), js_undefined(js), argv, 2, &v);
        CD_ASSERT(rc == 0);
        js_try_end(&t);
        js_scope_close(&scope);
    }
}

static void turns(struct js_isolate *js, int runs, void *arg)
{
    for (int i = 0; i < runs; i++) {
        struct js_turn turn;
        struct js_try t;
        js_value v;
        js_turn_begin(js, &turn);
        js_try_begin(js, &t);
        js_value argv[] = {js_int(js, i), js_int(js, 2)};
        int rc = js_call(js, js_ref_get(js, arg), js_undefined(js), argv, 2, &v);
        CD_ASSERT(rc == 0);
        rc = js_microtasks(js);
        CD_ASSERT(rc == 0);
        js_try_end(&t);
        js_turn_end(&turn);
    }
}

/* One call of a function that loops runs times in JavaScript. */
static void inside(struct js_isolate *js, int runs, void *arg)
{
    struct js_scope scope;
    js_value v;
    js_scope_open(js, &scope);
    js_value argv[] = {js_int(js, runs)};
    int rc = js_call(js, js_ref_get(js, arg), js_undefined(js), argv, 1, &v);
    CD_ASSERT(rc == 0);
    js_scope_close(&scope);
}

static void to_utf8(struct js_isolate *js, int runs, void *arg)
{
    struct cd_buf out = {0};
    struct js_scope scope;
    js_scope_open(js, &scope);
    js_value v = js_ref_get(js, arg);
    for (int i = 0; i < runs; i++) {
        cd_buf_clear(&out);
        js_string_add(js, v, &out);
    }
    js_scope_close(&scope);
    cd_buf_deinit(&out);
}

static void from_utf8(struct js_isolate *js, int runs, void *arg)
{
    for (int i = 0; i < runs; i++) {
        struct js_scope scope;
        js_value v;
        js_scope_open(js, &scope);
        int rc = js_string(js, cd_str(arg), &v);
        CD_ASSERT(rc == 0);
        js_scope_close(&scope);
    }
}

static void promises(struct js_isolate *js, int runs, void *arg)
{
    for (int i = 0; i < runs; i++) {
        struct js_scope scope;
        js_value p, q;
        js_scope_open(js, &scope);
        js_value on = js_ref_get(js, arg);
        int rc = js_promise_new(js, &p);
        rc = rc != 0 ? rc : js_promise_then(js, p, on, on, &q);
        rc = rc != 0 ? rc : js_promise_resolve(js, p, js_int(js, i));
        rc = rc != 0 ? rc : js_microtasks(js);
        CD_ASSERT(rc == 0);
        js_scope_close(&scope);
    }
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%ld %ld", &pages, &resident) != 2)
        abort();
    fclose(f);
    return resident * 4;
}

static void memory(void)
{
    enum { MANY = 40 };
    struct js_isolate *many[MANY];
    long before = resident_kib();
    for (int i = 0; i < MANY; i++)
        many[i] = isolate();
    printf("memory of an isolate            %8ld KiB resident\n", (resident_kib() - before) / MANY);
    struct js_turn turn;
    struct js_heap heap;
    js_turn_begin(many[0], &turn);
    js_heap_stats(many[0], &heap);
    js_turn_end(&turn);
    printf("heap of an isolate              %8llu KiB used, %llu KiB committed\n",
           (unsigned long long)heap.used / 1024, (unsigned long long)heap.committed / 1024);
    for (int i = 0; i < MANY; i++)
        js_isolate_free(many[i]);
}

static void figure(const char *name, double ns)
{
    printf("%-32s%8.1f ns\n", name, ns);
}

int main(void)
{
    uint64_t from = spent_ns();
    const struct js_platform_config config = {.now_ns = now_ns, .wall_ms = wall_ms, .random = fill_random};
    js_platform_start(&config);
    uint64_t started = spent_ns();
    struct js_isolate *js = isolate();
    printf("%-32s%8.2f ms, first isolate %.2f ms\n", "platform start", (double)(started - from) / 1e6,
           (double)(spent_ns() - started) / 1e6);
    memory();
    printf("%-32s%8.3f ms\n", "isolate, script, dispose", least(create, NULL, 10, NULL) / 1e6);
    struct js_turn turn;
    struct js_try t;
    struct js_ref fn = {0}, host = {0}, echo = {0}, empty = {0}, text = {0}, on = {0};
    js_turn_begin(js, &turn);
    js_try_begin(js, &t);
    js_value h;
    int rc = js_get_text(js, js_prelude(js), "host", &h);
    CD_ASSERT(rc == 0);
    rc = js_set_text(js, js_global(js), "h", h);
    CD_ASSERT(rc == 0);
    js_ref_set(js, &fn, run(js, "((a, b) => a + b)"));
    js_ref_set(
        js, &host,
        run(js, "(n => { const f = h.add; let s = 0; for (let i = 0; i < n; i++) s = f(s, i); return s })"));
    js_ref_set(
        js, &echo,
        run(js, "(n => { const f = h.echo; let s = 0; for (let i = 0; i < n; i++) s = f(i); return s })"));
    js_ref_set(js, &empty, run(js, "(n => { const f = h.log; for (let i = 0; i < n; i++) f() })"));
    js_ref_set(js, &text, run(js, "'content-type: text/h'"));
    js_ref_set(js, &on, run(js, "(v => v)"));
    figure("scope, try, call of (a, b)", least(calls, js, 200000, &fn));
    figure("host call without arguments", least(inside, js, 1000000, &empty));
    figure("host call, value in and out", least(inside, js, 1000000, &echo));
    figure("host call, two numbers", least(inside, js, 1000000, &host));
    figure("20 bytes to UTF-8", least(to_utf8, js, 1000000, &text));
    figure("20 bytes from UTF-8", least(from_utf8, js, 1000000, (void *)(uintptr_t)"content-type: text/h"));
    figure("promise, then, resolve, microtask", least(promises, js, 100000, &on));
    js_try_end(&t);
    js_turn_end(&turn);
    figure("turn, call, microtasks", least(turns, js, 200000, &fn));
    js_ref_clear(&fn);
    js_ref_clear(&host);
    js_ref_clear(&echo);
    js_ref_clear(&empty);
    js_ref_clear(&text);
    js_ref_clear(&on);
    js_isolate_free(js);
    js_platform_stop();
    return 0;
}
