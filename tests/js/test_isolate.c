#include <pthread.h>
#include <sched.h>

#include "fixture.h"
#include "js/site.h"

extern const char test_snapshot_begin[], test_snapshot_end[];

static void test_the_prelude_ran_before_the_snapshot(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v, sum;
    assert_int_equal(js_get_text(f.js, js_prelude(f.js), "sum", &sum), 0);
    js_value argv[] = {js_int(f.js, 20), js_int(f.js, 22)};
    assert_int_equal(js_call(f.js, sum, js_undefined(f.js), argv, 2, &v), 0);
    TEXT_IS(&f, v, "42");
    assert_int_equal(js_set_text(f.js, js_global(f.js), "p", js_prelude(f.js)), 0);
    RUN_IS(&f, "p.ages.get('alan') + ' ' + p.ticks() + ' ' + p.Stub.name", "41 1 Stub");
    fixture_close(&f);
}

static void test_a_foreign_snapshot_is_refused_with_the_reason(void **state)
{
    (void)state;
    fixture_platform();
    static const struct js_op other[] = {{"log", NULL}, {"sub", NULL}};
    struct js_isolate *js;
    struct cd_buf why = {0};
    struct js_isolate_config c = {.snapshot = CD_STR("short")};
    assert_int_equal(js_isolate_new(&js, &c, &why), CD_EINVAL);
    assert_str_is(cd_buf_str(&why), "the startup snapshot is none: 5 bytes");
    cd_buf_clear(&why);
    c.snapshot = cd_str_of(test_snapshot_begin, (size_t)(test_snapshot_end - test_snapshot_begin));
    c.ops = other;
    c.op_count = CD_COUNT(other);
    assert_int_equal(js_isolate_new(&js, &c, &why), CD_EINVAL);
    assert_str_is(cd_buf_str(&why), "the startup snapshot was made for other host functions");
    cd_buf_clear(&why);
    char header[128];
    memcpy(header, test_snapshot_begin, sizeof header);
    memcpy(header + 32, "9.9", 4);
    c.snapshot = cd_str_of(header, sizeof header);
    assert_int_equal(js_isolate_new(&js, &c, &why), CD_EINVAL);
    assert_true(
        cd_str_starts(cd_buf_str(&why), CD_STR("the startup snapshot was made by V8 9.9, this is 13.6.")));
    cd_buf_deinit(&why);
}

static void test_isolates_come_and_go(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        struct fixture f;
        fixture_open(&f);
        RUN_IS(&f, "class A { b = [1, 2, 3].map(x => x * 2) } new A().b", "2,4,6");
        fixture_close(&f);
    }
}

static void test_two_isolates_of_a_thread_take_turns(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_open(&a);
    fixture_run(&a, "globalThis.who = 'a'");
    fixture_open(&b); /* Nested: a's turn goes on after it. */
    assert_true(js_in_turn(a.js) && js_in_turn(b.js));
    fixture_run(&b, "globalThis.who = 'b'");
    fixture_leave(&b);
    assert_false(js_in_turn(b.js));
    RUN_IS(&a, "who", "a");
    fixture_leave(&a);
    fixture_enter(&b);
    RUN_IS(&b, "who", "b");
    fixture_leave(&b);
    fixture_enter(&a);
    RUN_IS(&a, "who", "a");
    fixture_close(&a);
    fixture_enter(&b);
    fixture_close(&b);
}

static void *work_alone(void *arg)
{
    struct fixture f;
    fixture_open(&f);
    js_value v = fixture_run(&f, "let h = 0; for (let i = 0; i < 20000; i++) { const o = { i, s: 'x' + i };"
                                 " h = (h * 31 + o.s.length + o.i) | 0 } h");
    CHECK_INT(js_to_utf8(f.js, v, arg), 0);
    js_gc(f.js);
    fixture_close(&f);
    return NULL;
}

static void test_two_threads_have_an_isolate_each(void **state)
{
    (void)state;
    fixture_platform();
    pthread_t thread[2];
    struct cd_buf out[2] = {0};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work_alone, &out[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert_true(out[0].len > 0);
    assert_true(cd_str_eq(cd_buf_str(&out[0]), cd_buf_str(&out[1])));
    cd_buf_deinit(&out[0]);
    cd_buf_deinit(&out[1]);
}

/* Terminates the isolate once the script has said that it runs. */
struct killer {
    struct js_isolate *js;
    bool running;
};

static int say_running(struct js_args *a)
{
    struct killer *k = a->user;
    __atomic_store_n(&k->running, true, __ATOMIC_RELEASE);
    return 0;
}

static void *kill_when_running(void *arg)
{
    struct killer *k = arg;
    while (!__atomic_load_n(&k->running, __ATOMIC_ACQUIRE))
        sched_yield();
    js_terminate(k->js);
    return NULL;
}

static void killed(const char *source, bool in_microtasks)
{
    struct fixture f;
    pthread_t thread;
    js_value fn, v;
    fixture_open(&f);
    struct killer k = {.js = f.js};
    CHECK_INT(js_function_new(f.js, say_running, &k, &fn), 0);
    CHECK_INT(js_set_text(f.js, js_global(f.js), "running", fn), 0);
    CHECK_INT(pthread_create(&thread, NULL, kill_when_running, &k), 0);
    if (in_microtasks) {
        fixture_run(&f, source);
        CHECK_INT(js_microtasks(f.js), JS_THREW);
    } else {
        CHECK_INT(js_run(f.js, cd_str(source), "loop.js", &v), JS_THREW);
        CHECK(js_try_terminated(&f.caught));
        CHECK(js_try_exception(&f.caught) == NULL);
        struct js_problem p = {0};
        js_try_problem(&f.caught, &p);
        CHECK(p.terminated);
        js_problem_deinit(&p);
    }
    pthread_join(thread, NULL);
    fixture_leave(&f);
    js_resume(f.js);
    fixture_enter(&f);
    CHECK(!js_terminating(f.js));
    RUN_IS(&f, "'alive'", "alive");
    CHECK_INT(js_microtasks(f.js), 0);
    fixture_close(&f);
}

static void test_an_endless_loop_is_ended_from_another_thread(void **state)
{
    (void)state;
    killed("running(); for (;;) ;", false);
    killed("running(); try { for (;;) ; } catch { } finally { for (;;) ; }", false);
    killed("running(); /(a*)*b/.test('a'.repeat(40))", false);
}

static void test_an_endless_promise_chain_is_ended_from_another_thread(void **state)
{
    (void)state;
    killed("const f = () => { running(); Promise.resolve().then(f) }; f()", true);
    killed("(async () => { for (;;) { running(); await null } })()", true);
}

/* What a long host function sees: V8 says nothing of it before JavaScript goes on. */
static int long_work(struct js_args *a)
{
    CHECK(!js_terminate_asked(a->js));
    (void)say_running(a);
    while (!js_terminate_asked(a->js))
        sched_yield();
    return 0;
}

static void test_a_host_function_sees_that_its_turn_was_ended(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t thread;
    js_value fn, v;
    fixture_open(&f);
    struct killer k = {.js = f.js};
    CHECK_INT(js_function_new(f.js, long_work, &k, &fn), 0);
    CHECK_INT(js_set_text(f.js, js_global(f.js), "work", fn), 0);
    CHECK_INT(pthread_create(&thread, NULL, kill_when_running, &k), 0);
    CHECK_INT(js_run(f.js, CD_STR("try { work(); for (;;) ; } catch { for (;;) ; }"), "a.js", &v), JS_THREW);
    CHECK(js_try_terminated(&f.caught));
    pthread_join(thread, NULL);
    fixture_leave(&f);
    CHECK(!js_terminate_asked(f.js));
    js_resume(f.js);
    fixture_enter(&f);
    RUN_IS(&f, "'alive'", "alive");
    fixture_close(&f);
}

static void test_a_request_that_came_too_late_hits_the_next_turn_unless_resumed(void **state)
{
    (void)state;
    struct fixture f;
    js_value v;
    fixture_open(&f);
    js_terminate(f.js);
    assert_int_equal(js_run(f.js, CD_STR("for (;;) ;"), "a.js", &v), JS_THREW);
    assert_true(js_try_terminated(&f.caught));
    js_try_clear(&f.caught);
    js_resume(f.js);
    js_terminate(f.js);
    js_resume(f.js);
    RUN_IS(&f, "let n = 0; while (n < 1000) n++; n", "1000");
    fixture_close(&f);
}

static void test_a_turn_that_outlives_its_end_is_stuck(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_watch w = {0};
    struct cd_buf script = {0}, cell = {0};
    assert_int_equal(js_watch_look(&w, IO_SEC(1), true), JS_WATCH_QUIET);
    js_watch_begin(&w, f.js, CD_STR("app"), IO_SEC(30));
    js_watch_cell(&w, CD_STR("Counter:a"));
    assert_int_equal(js_watch_look(&w, IO_SEC(29), false), JS_WATCH_QUIET);
    assert_int_equal(js_watch_look(&w, IO_SEC(31), false), JS_WATCH_TOLD);
    assert_int_equal(js_watch_look(&w, IO_SEC(32), false), JS_WATCH_QUIET);
    assert_int_equal(js_watch_look(&w, IO_SEC(31) + JS_STUCK_MAX_NS - 1, false), JS_WATCH_QUIET);
    assert_int_equal(js_watch_look(&w, IO_SEC(31) + JS_STUCK_MAX_NS, false), JS_WATCH_STUCK);
    js_watch_whose(&w, &script, &cell);
    assert_str_is(cd_buf_str(&script), "app");
    assert_str_is(cd_buf_str(&cell), "Counter:a");
    js_watch_end(&w);
    assert_int_equal(js_watch_look(&w, IO_SEC(200), true), JS_WATCH_QUIET);
    /* The next one has its own minute, also where the node fenced and none has time left. */
    js_watch_begin(&w, f.js, CD_STR("app"), IO_SEC(230));
    assert_int_equal(js_watch_look(&w, IO_SEC(201), true), JS_WATCH_TOLD);
    assert_int_equal(js_watch_look(&w, IO_SEC(202), true), JS_WATCH_QUIET);
    cd_buf_clear(&cell);
    js_watch_whose(&w, NULL, &cell);
    assert_int_equal(cell.len, 0);
    js_watch_end(&w);
    js_resume(f.js);
    cd_buf_deinit(&script);
    cd_buf_deinit(&cell);
    fixture_close(&f);
}

static void test_a_huge_table_of_webassembly_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open_with(&f, &(struct js_isolate_config){.heap_limit = 16 << 20});
    RUN_IS(&f,
           "let r; try { new WebAssembly.Table({ initial: 1e7, element: 'anyfunc' }) } catch (e) { r = e } "
           "r.name",
           "RangeError");
    RUN_IS(&f,
           "const t = new WebAssembly.Table({ initial: 1, element: 'anyfunc' });"
           " try { t.grow(9999990) } catch (e) { r = e } r.name",
           "RangeError");
    fixture_close(&f);
}

static void test_a_full_heap_runs_on_in_its_reserve_and_recovers(void **state)
{
    (void)state;
    struct fixture f;
    struct js_heap heap;
    fixture_open_with(&f, &(struct js_isolate_config){.heap_limit = 32 << 20});
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.state, JS_HEAP_OK);
    uint64_t limit = heap.limit;
    /* More than the limit, less than the reserve: it goes well, and its owner hears of it. */
    RUN_IS(&f, "globalThis.a = []; for (let i = 0; i < 40000; i++) a.push(new Array(120).fill(i)); a.length",
           "40000");
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.state, JS_HEAP_OVER);
    assert_str_is(cd_buf_str(&f.events), "over\n");
    assert_true(heap.limit > limit);
    assert_false(js_heap_recover(f.js));
    fixture_run(&f, "a = null");
    js_gc(f.js);
    assert_true(js_heap_recover(f.js));
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.state, JS_HEAP_OK);
    assert_true(heap.limit <= limit + (4 << 20));
    RUN_IS(&f, "1 + 1", "2");
    fixture_close(&f);
}

static void test_an_exhausted_heap_ends_the_turn_not_the_process(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        "(() => { const a = []; for (;;) a.push({ x: [1, 2, 3], y: 'z' + a.length }) })()",
        "(() => { const m = new Map(); for (let i = 0; ; i++) m.set(i, 'x' + i) })()",
        "(keep => { (function f(n) { keep.push(new Array(1000).fill(n)); try { f(n + 1) } catch { } f(n + 1) "
        "})(0) })([])",
    };
    for (size_t i = 0; i < CD_COUNT(bombs); i++) {
        struct fixture f;
        js_value v;
        fixture_open_with(&f, &(struct js_isolate_config){.heap_limit = 24 << 20});
        assert_int_equal(js_run(f.js, cd_str(bombs[i]), "bomb.js", &v), JS_THREW);
        assert_true(js_try_terminated(&f.caught));
        assert_str_is(cd_buf_str(&f.events), "over\nexhausted\n");
        fixture_leave(&f);
        js_resume(f.js);
        fixture_enter(&f);
        js_gc(f.js);
        /* It may even be used again once the garbage is gone. */
        RUN_IS(&f, "'alive'", "alive");
        assert_true(js_heap_recover(f.js));
        fixture_close(&f);
    }
}

/* V8 ends the process when an allocation is refused that it needs, so a large one must go through: what it
 * runs on into is the termination. */
static void test_one_allocation_far_over_the_limit_does_not_end_the_process(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        "(() => { const a = Array.from({ length: 4e6 }); for (;;) a.length; })()",
        "(() => { let s = 'abcdefgh'; while (s.length < 2 ** 25) s += s; const a = [];"
        " for (let i = 0; ; i++) { const t = s + i; t.charCodeAt(3); a.push(t) } })()",
        "(() => { const a = []; for (;;) a.push(new Array(1e6).fill(1.5)) })()",
    };
    for (size_t i = 0; i < CD_COUNT(bombs); i++) {
        struct fixture f;
        js_value v;
        fixture_open_with(&f, &(struct js_isolate_config){.heap_limit = 16 << 20});
        assert_int_equal(js_run(f.js, cd_str(bombs[i]), "bomb.js", &v), JS_THREW);
        assert_true(js_try_terminated(&f.caught));
        assert_true(cd_str_ends(cd_buf_str(&f.events), CD_STR("exhausted\n")));
        fixture_leave(&f);
        js_resume(f.js);
        fixture_enter(&f);
        js_gc(f.js);
        RUN_IS(&f, "'alive'", "alive");
        assert_true(js_heap_recover(f.js));
        fixture_close(&f);
    }
}

/* A memory of one page, and g(n), which grows it from inside and gives the old size. */
#define WASM_GROWS                                                                                           \
    "const grows = () => new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, " \
    "0, 0, "                                                                                                 \
    "0, 1, 6, 1, 96, 1, 127, 1, 127, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 5, 1, 1, 103, 0, 0, 10, 8, 1, 6, 0, 32, " \
    "0, "                                                                                                    \
    "64, 0, 11))).exports.g; const keep = globalThis.keep = [];"

static void test_wasm_memories_over_the_limit_end_the_turn(void **state)
{
    (void)state;
    static const char *const bombs[] = {
        "for (;;) keep.push(new WebAssembly.Memory({ initial: 64 }))",
        "const m = new WebAssembly.Memory({ initial: 1 }); keep.push(m); for (;;) try { m.grow(64) } catch "
        "{}",
        "for (let i = 0; ; i++) { keep.push(grows()); for (let n = 0; n < 16; n++) keep[i](64) }",
        "for (;;) { keep.push(new Uint8Array(1 << 20), grows()); keep.at(-1)(16) }",
    };
    for (size_t i = 0; i < CD_COUNT(bombs); i++) {
        struct fixture f;
        struct js_heap heap;
        js_value v;
        struct cd_buf text = {0};
        fixture_open_with(&f,
                          &(struct js_isolate_config){.heap_limit = 16 << 20, .external_limit = 256 << 20});
        cd_buf_addf(&text, "%s %s", WASM_GROWS, bombs[i]);
        assert_int_equal(js_run(f.js, cd_buf_str(&text), "bomb.js", &v), JS_THREW);
        cd_buf_deinit(&text);
        assert_true(js_try_terminated(&f.caught));
        js_heap_stats(f.js, &heap);
        assert_int_equal(heap.state, JS_HEAP_EXHAUSTED);
        assert_true(heap.wasm + heap.array_buffers < UINT64_C(1) << 30);
        fixture_leave(&f);
        js_resume(f.js);
        fixture_enter(&f);
        fixture_run(&f, "keep.length = 0");
        fixture_close(&f);
    }
}

static void test_wasm_memories_below_the_limit_and_garbage_are_let_be(void **state)
{
    (void)state;
    struct fixture f;
    struct js_heap heap;
    fixture_open_with(&f, &(struct js_isolate_config){.heap_limit = 16 << 20, .external_limit = 256 << 20});
    RUN_IS(&f, WASM_GROWS "for (let i = 0; i < 3; i++) { keep.push(grows()); keep[i](1023) } keep.length",
           "3");
    js_memory_look(f.js);
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.state, JS_HEAP_OK);
    assert_true(heap.wasm >= 192 << 20 && heap.wasm < 193 << 20);
    /* Ten times the limit, but nobody keeps it. */
    RUN_IS(&f, "for (let i = 0; i < 160; i++) new WebAssembly.Memory({ initial: 256 }); 'alive'", "alive");
    js_memory_look(f.js);
    assert_false(js_terminate_asked(f.js));
    assert_int_equal(js_heap_state_of(f.js), JS_HEAP_OK);
    fixture_close(&f);
}

static void test_unhandled_rejections_are_reported(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    fixture_run(&f, "Promise.reject('a'); const p = Promise.reject('b'); Promise.reject('c').catch(() => 1)");
    assert_str_is(cd_buf_str(&f.events), "unhandled a\nunhandled b\nunhandled c\nhandled \n");
    fixture_run(&f, "p.catch(() => 1)");
    assert_true(cd_str_ends(cd_buf_str(&f.events), CD_STR("handled \nhandled \n")));
    assert_int_equal(js_microtasks(f.js), 0);
    fixture_close(&f);
}

static void test_eval_can_be_forbidden(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    RUN_IS(&f, "eval('1 + 1') + new Function('return 3')()", "5");
    js_allow_eval(f.js, false);
    RUN_THROWS(&f, "eval('1 + 1')", "EvalError: Code generation from strings disallowed for this context");
    RUN_THROWS(&f, "new Function('return 3')",
               "EvalError: Code generation from strings disallowed for this context");
    RUN_THROWS(&f, "(() => 1).constructor('return 3')",
               "EvalError: Code generation from strings disallowed for this context");
    RUN_IS(
        &f,
        "new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])) instanceof WebAssembly.Module",
        "true");
    js_allow_eval(f.js, true);
    RUN_IS(&f, "eval('1 + 1')", "2");
    fixture_close(&f);
}

static void test_atomics_wait_cannot_stop_the_thread(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    RUN_THROWS(&f, "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
               "TypeError: Atomics.wait cannot be called in this context");
    fixture_close(&f);
}

static int read_continuation(struct js_args *a)
{
    js_return(a, js_continuation(a->js));
    return 0;
}

static void test_the_continuation_value_follows_async_code(void **state)
{
    (void)state;
    struct fixture f;
    js_value fn;
    fixture_open(&f);
    assert_true(js_is_undefined(js_continuation(f.js)));
    assert_int_equal(js_function_new(f.js, read_continuation, NULL, &fn), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "read", fn), 0);
    js_continuation_set(f.js, js_text(f.js, "one"));
    fixture_run(
        &f,
        "var seen = []; (async () => { await null; seen.push(read()); await null; seen.push(read()) })()");
    js_continuation_set(f.js, js_text(f.js, "two"));
    fixture_run(&f, "Promise.resolve().then(() => seen.push(read()))");
    js_continuation_set(f.js, js_undefined(f.js));
    assert_int_equal(js_microtasks(f.js), 0);
    RUN_IS(&f, "seen", "one,two,one");
    assert_true(js_is_undefined(js_continuation(f.js)));
    fixture_close(&f);
}

static void test_references_keep_values_alive(void **state)
{
    (void)state;
    struct fixture f;
    struct js_ref r = {0};
    fixture_open(&f);
    assert_false(js_ref_is_set(&r));
    assert_null(js_ref_get(f.js, &r));
    struct js_scope scope;
    js_scope_open(f.js, &scope);
    js_ref_set(f.js, &r, fixture_run(&f, "({ toString: () => 'kept' })"));
    js_scope_close(&scope);
    js_gc(f.js);
    TEXT_IS(&f, js_ref_get(f.js, &r), "kept");
    js_ref_set(f.js, &r, js_int(f.js, 4));
    TEXT_IS(&f, js_ref_get(f.js, &r), "4");
    js_ref_clear(&r);
    assert_false(js_ref_is_set(&r));
    fixture_close(&f);
}

static void test_a_value_escapes_its_scope(void **state)
{
    (void)state;
    struct fixture f;
    struct js_scope scope;
    fixture_open(&f);
    js_scope_open_escapable(f.js, &scope);
    for (int i = 0; i < 1000; i++)
        (void)js_number(f.js, i + 0.5);
    js_value v = js_scope_escape(&scope, js_text(f.js, "escaped"));
    js_scope_close(&scope);
    for (int i = 0; i < 1000; i++)
        (void)js_number(f.js, i + 0.5);
    TEXT_IS(&f, v, "escaped");
    fixture_close(&f);
}

static void test_a_loop_of_scopes_leaves_nothing_in_the_scope_around(void **state)
{
    (void)state;
    struct fixture f;
    struct js_scope scope;
    struct cd_buf out = {0};
    fixture_open(&f);
    js_value text = js_text(f.js, "some text");
    js_value last = js_number(f.js, 0.5), next;
    for (int i = 0; i < 100; i++) {
        js_scope_open(f.js, &scope);
        (void)js_object(f.js);
        js_string_add(f.js, text, &out);
        js_scope_close(&scope);
    }
    /* Values are slots in a row: the next one is where it would have been without the loop. */
    next = js_number(f.js, 0.25);
    assert_int_equal((char *)next - (char *)last, sizeof(void *));
    js_string_add(f.js, text, &out);
    assert_int_equal((char *)js_number(f.js, 0.125) - (char *)next, sizeof(void *));
    cd_buf_deinit(&out);
    fixture_close(&f);
}

struct watched {
    struct js_weak weak;
    int *gone;
};

static void watched_gone(struct js_weak *w)
{
    ++*CD_CONTAINER(w, struct watched, weak)->gone;
}

static void test_weak_references_tell_when_their_value_is_gone(void **state)
{
    (void)state;
    struct fixture f;
    int gone = 0;
    struct watched a = {.gone = &gone}, b = {.gone = &gone}, c = {.gone = &gone};
    fixture_open(&f);
    struct js_scope scope;
    js_scope_open(f.js, &scope);
    js_weak_set(f.js, &a.weak, js_object(f.js), watched_gone);
    js_weak_set(f.js, &b.weak, fixture_run(&f, "globalThis.b = {}"), watched_gone);
    js_weak_set(f.js, &c.weak, js_object(f.js), watched_gone);
    js_weak_clear(&c.weak);
    assert_non_null(js_weak_get(f.js, &a.weak));
    js_scope_close(&scope);
    js_gc(f.js);
    assert_int_equal(gone, 1);
    assert_null(js_weak_get(f.js, &a.weak));
    assert_true(js_same(js_weak_get(f.js, &b.weak), fixture_run(&f, "b")));
    fixture_close(&f); /* The rest with the isolate; the cleared one never. */
    assert_int_equal(gone, 2);
}

static void test_finalizers_run_as_tasks_of_the_loop(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_scope scope;
    js_scope_open(f.js, &scope);
    fixture_run(&f, "var gone = []; var r = new FinalizationRegistry(x => gone.push(x)); var w;"
                    "(() => { const o = {}; r.register(o, 'o'); w = new WeakRef(o) })()");
    js_scope_close(&scope);
    assert_int_equal(js_microtasks(f.js), 0);
    fixture_leave(&f);
    fixture_enter(&f); /* A WeakRef keeps its target until the turn is over. */
    js_gc(f.js);
    RUN_IS(&f, "gone.length", "0");
    assert_true(f.task_ns <= fixture_now_ns);
    assert_true(js_next_task_ns(f.js) <= fixture_now_ns);
    assert_true(js_pump(f.js));
    assert_int_equal(js_microtasks(f.js), 0);
    RUN_IS(&f, "gone + ' ' + w.deref()", "o undefined");
    fixture_close(&f);
}

static void test_delayed_tasks_wait_for_their_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    /* Atomics.waitAsync with a timeout is V8's only delayed task that a script can make. */
    fixture_run(&f, "var got; Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)"
                    ".value.then(v => got = v)");
    uint64_t due = js_next_task_ns(f.js);
    assert_true(due > fixture_now_ns);
    js_pump(f.js);
    assert_int_equal(js_microtasks(f.js), 0);
    RUN_IS(&f, "got", "undefined");
    fixture_now_ns += 60 * 1000000u;
    for (int i = 0; i < 5; i++) {
        js_pump(f.js);
        assert_int_equal(js_microtasks(f.js), 0);
    }
    RUN_IS(&f, "got", "timed-out");
    fixture_close(&f);
}

static void test_memory_outside_is_counted(void **state)
{
    (void)state;
    struct fixture f;
    struct js_heap before, after;
    fixture_open(&f);
    js_heap_stats(f.js, &before);
    js_external_memory(f.js, 1 << 20);
    js_heap_stats(f.js, &after);
    assert_int_equal(after.external - before.external, 1 << 20);
    js_external_memory(f.js, -(1 << 20));
    assert_true(after.used > 0 && after.committed >= after.used);
    assert_true(after.limit >= JS_HEAP_LIMIT);
    fixture_close(&f);
}

static void test_math_random_differs_between_isolates(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_open(&a);
    fixture_open(&b);
    double x = js_as_number(fixture_run(&b, "Math.random()"));
    fixture_leave(&b);
    double y = js_as_number(fixture_run(&a, "Math.random()"));
    assert_true(x != y);
    fixture_close(&a);
    fixture_enter(&b);
    fixture_close(&b);
}

/* What V8 leaves to do when an isolate is freed must not start a timer of another one, whose loop may run in
 * another thread. */
static void test_the_end_of_an_isolate_gives_no_task_to_another(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_open(&a);
    fixture_leave(&a);
    fixture_open(&b);
    fixture_run(&b, "for (let i = 0; i < 300000; i++) globalThis.last = { i, list: [i, i] };");
    uint64_t before = js_next_task_ns(a.js);
    a.task_ns = 0;
    fixture_close(&b);
    assert_true(a.task_ns == 0 && js_next_task_ns(a.js) == before);
    fixture_enter(&a);
    fixture_close(&a);
}

CD_TESTS(isolate, cmocka_unit_test(test_the_prelude_ran_before_the_snapshot),
         cmocka_unit_test(test_a_foreign_snapshot_is_refused_with_the_reason),
         cmocka_unit_test(test_isolates_come_and_go),
         cmocka_unit_test(test_two_isolates_of_a_thread_take_turns),
         cmocka_unit_test(test_two_threads_have_an_isolate_each),
         cmocka_unit_test(test_an_endless_loop_is_ended_from_another_thread),
         cmocka_unit_test(test_an_endless_promise_chain_is_ended_from_another_thread),
         cmocka_unit_test(test_a_host_function_sees_that_its_turn_was_ended),
         cmocka_unit_test(test_a_request_that_came_too_late_hits_the_next_turn_unless_resumed),
         cmocka_unit_test(test_a_turn_that_outlives_its_end_is_stuck),
         cmocka_unit_test(test_a_huge_table_of_webassembly_is_refused),
         cmocka_unit_test(test_a_full_heap_runs_on_in_its_reserve_and_recovers),
         cmocka_unit_test(test_an_exhausted_heap_ends_the_turn_not_the_process),
         cmocka_unit_test(test_one_allocation_far_over_the_limit_does_not_end_the_process),
         cmocka_unit_test(test_wasm_memories_over_the_limit_end_the_turn),
         cmocka_unit_test(test_wasm_memories_below_the_limit_and_garbage_are_let_be),
         cmocka_unit_test(test_unhandled_rejections_are_reported),
         cmocka_unit_test(test_eval_can_be_forbidden),
         cmocka_unit_test(test_atomics_wait_cannot_stop_the_thread),
         cmocka_unit_test(test_the_continuation_value_follows_async_code),
         cmocka_unit_test(test_references_keep_values_alive),
         cmocka_unit_test(test_a_value_escapes_its_scope),
         cmocka_unit_test(test_a_loop_of_scopes_leaves_nothing_in_the_scope_around),
         cmocka_unit_test(test_weak_references_tell_when_their_value_is_gone),
         cmocka_unit_test(test_finalizers_run_as_tasks_of_the_loop),
         cmocka_unit_test(test_delayed_tasks_wait_for_their_time),
         cmocka_unit_test(test_memory_outside_is_counted),
         cmocka_unit_test(test_math_random_differs_between_isolates),
         cmocka_unit_test(test_the_end_of_an_isolate_gives_no_task_to_another))
