#include "fixture.h"

static void test_properties_by_value_text_name_and_index(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value o = js_object(f.js), v;
    bool has;
    assert_int_equal(js_set(f.js, o, js_text(f.js, "a"), js_int(f.js, 1)), 0);
    assert_int_equal(js_set_text(f.js, o, "b", js_int(f.js, 2)), 0);
    assert_int_equal(js_set_name(f.js, o, NAME_X, js_int(f.js, 3)), 0);
    assert_int_equal(js_set_index(f.js, o, 7, js_int(f.js, 4)), 0);
    struct cd_buf json = {0};
    assert_int_equal(js_json_add(f.js, o, &json), 0);
    assert_str_is(cd_buf_str(&json), "{\"7\":4,\"a\":1,\"b\":2,\"x\":3}");
    assert_int_equal(js_get(f.js, o, js_text(f.js, "b"), &v), 0);
    TEXT_IS(&f, v, "2");
    assert_int_equal(js_get_name(f.js, o, NAME_X, &v), 0);
    TEXT_IS(&f, v, "3");
    assert_int_equal(js_get_index(f.js, o, 7, &v), 0);
    TEXT_IS(&f, v, "4");
    assert_int_equal(js_get_text(f.js, o, "none", &v), 0);
    assert_true(js_is_undefined(v));
    assert_int_equal(js_delete(f.js, o, js_text(f.js, "a")), 0);
    assert_int_equal(js_has(f.js, o, js_text(f.js, "a"), &has), 0);
    assert_false(has);
    assert_int_equal(js_keys(f.js, o, &v), 0);
    assert_int_equal(js_array_len(v), 3);
    TEXT_IS(&f, v, "7,b,x");
    TEXT_IS(&f, js_name(f.js, NAME_LENGTH), "length");
    cd_buf_deinit(&json);
    fixture_close(&f);
}

static void test_defined_properties_have_their_attributes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value o = js_object_bare(f.js);
    assert_int_equal(js_define(f.js, o, js_text(f.js, "k"), js_int(f.js, 1), JS_READ_ONLY | JS_HIDDEN), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "o", o), 0);
    RUN_IS(&f, "JSON.stringify(Object.getOwnPropertyDescriptor(o, 'k'))",
           "{\"value\":1,\"writable\":false,\"enumerable\":false,\"configurable\":true}");
    RUN_IS(&f, "Object.getPrototypeOf(o)", "null");
    assert_int_equal(js_define(f.js, o, js_int(f.js, 1), js_int(f.js, 1), 0), JS_THREW);
    THREW(&f, "TypeError: a property key must be a string or a symbol");
    js_value proto = fixture_run(&f, "({ inherited: 5 })");
    assert_int_equal(js_set_proto(f.js, o, proto), 0);
    assert_true(js_same(js_proto(o), proto));
    RUN_IS(&f, "o.inherited", "5");
    assert_int_equal(js_freeze(f.js, o), 0);
    RUN_IS(&f, "Object.isFrozen(o)", "true");
    fixture_close(&f);
}

static void test_getters_and_proxies_run_and_may_throw(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    js_value o = fixture_run(&f, "({ get x() { throw new TypeError('no x') } })");
    assert_int_equal(js_get_name(f.js, o, NAME_X, &v), JS_THREW);
    THREW(&f, "TypeError: no x");
    o = fixture_run(
        &f, "new Proxy({}, { get: (t, k) => 'got ' + String(k), ownKeys() { throw new Error('keys') } })");
    assert_int_equal(js_get_name(f.js, o, NAME_X, &v), 0);
    TEXT_IS(&f, v, "got x");
    assert_int_equal(js_keys(f.js, o, &v), JS_THREW);
    THREW(&f, "Error: keys");
    fixture_close(&f);
}

static void test_private_properties_are_invisible(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    js_value o = fixture_run(&f, "globalThis.o = { a: 1 }");
    assert_false(js_has_private(f.js, o, NAME_BRAND));
    assert_int_equal(js_get_private(f.js, o, NAME_BRAND, &v), 0);
    assert_true(js_is_undefined(v));
    assert_int_equal(js_set_private(f.js, o, NAME_BRAND, js_int(f.js, 9)), 0);
    assert_true(js_has_private(f.js, o, NAME_BRAND));
    RUN_IS(&f, "Reflect.ownKeys(o).length + ' ' + o.brand", "1 undefined");
    /* A Proxy around it does not have it, and its handler hears nothing. */
    js_value p = fixture_run(&f, "new Proxy(o, { get() { throw 1 }, has() { throw 1 } })");
    assert_false(js_has_private(f.js, p, NAME_BRAND));
    assert_int_equal(js_get_private(f.js, o, NAME_BRAND, &v), 0);
    TEXT_IS(&f, v, "9");
    fixture_close(&f);
}

static void test_maps_and_sets_are_read_without_running_javascript(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    fixture_run(&f, "Map.prototype.entries = Map.prototype[Symbol.iterator] = () => { throw 1 }");
    assert_int_equal(js_entries(f.js, fixture_run(&f, "new Map([['a', 1], ['b', 2]])"), &v), 0);
    TEXT_IS(&f, v, "a,1,b,2");
    assert_int_equal(js_entries(f.js, fixture_run(&f, "new Set([3, 4])"), &v), 0);
    TEXT_IS(&f, v, "3,4");
    assert_int_equal(js_entries(f.js, fixture_run(&f, "[1]"), &v), JS_THREW);
    THREW(&f, "TypeError: neither a Map nor a Set");
    fixture_close(&f);
}

static void test_instances_and_class_names(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    bool is;
    struct cd_buf name = {0};
    js_value a = fixture_run(&f, "globalThis.A = class Animal {}; globalThis.a = new A");
    assert_int_equal(js_instance_of(f.js, a, fixture_run(&f, "A"), &is), 0);
    assert_true(is);
    assert_int_equal(js_instance_of(f.js, js_int(f.js, 1), fixture_run(&f, "A"), &is), 0);
    assert_false(is);
    assert_int_equal(js_instance_of(f.js, a, js_int(f.js, 1), &is), JS_THREW);
    THREW(&f, "TypeError: the right side of instanceof is not an object");
    js_class_name(f.js, a, &name);
    assert_str_is(cd_buf_str(&name), "Animal");
    cd_buf_deinit(&name);
    fixture_close(&f);
}

static void test_json_goes_both_ways(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    struct cd_buf out = {0};
    assert_int_equal(js_json_parse(f.js, CD_STR("{\"a\":[1,\"\xc3\xbc\"]}"), &v), 0);
    assert_int_equal(js_json_add(f.js, v, &out), 0);
    assert_str_is(cd_buf_str(&out), "{\"a\":[1,\"\xc3\xbc\"]}");
    assert_int_equal(js_json_parse(f.js, CD_STR("{a"), &v), JS_THREW);
    THREW(&f, "SyntaxError: Expected property name or '}' in JSON at position 1 (line 1 column 2)");
    assert_int_equal(js_json_add(f.js, fixture_run(&f, "const c = {}; c.c = c; c"), &out), JS_THREW);
    assert_true(js_try_caught(&f.caught));
    js_try_clear(&f.caught);
    cd_buf_deinit(&out);
    fixture_close(&f);
}

static void test_functions_are_called_and_constructed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v;
    js_value fn = fixture_run(&f, "(function (a, b) { return this.base + a + b })");
    js_value argv[] = {js_int(f.js, 2), js_int(f.js, 3)};
    assert_int_equal(js_call(f.js, fn, fixture_run(&f, "({ base: 10 })"), argv, 2, &v), 0);
    TEXT_IS(&f, v, "15");
    assert_int_equal(js_construct(f.js, fixture_run(&f, "Date"), argv, 1, &v), 0);
    assert_true(js_as_date(v) == 2);
    assert_int_equal(js_construct(f.js, fixture_run(&f, "(() => 1)"), NULL, 0, &v), JS_THREW);
    THREW(&f, "TypeError: function is not a constructor");
    assert_int_equal(js_call(f.js, js_int(f.js, 1), js_undefined(f.js), NULL, 0, &v), JS_THREW);
    THREW(&f, "TypeError: not a function");
    fixture_close(&f);
}

static void test_host_functions_are_in_the_preludes_hands_only(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value host;
    assert_int_equal(js_get_text(f.js, js_prelude(f.js), "host", &host), 0);
    RUN_IS(&f, "console.log('a', 1); typeof host + ' ' + typeof globalThis.add", "undefined undefined");
    assert_str_is(cd_buf_str(&f.log), "a 1\n");
    assert_int_equal(js_set_text(f.js, js_global(f.js), "h", host), 0);
    RUN_IS(&f, "h.add(2, 3)", "5");
    RUN_IS(&f, "h.echo()", "undefined");
    RUN_IS(&f, "h.echo(h.add) === h.add", "true");
    RUN_IS(&f, "h.code(0)", "undefined");
    RUN_IS(&f, "Object.keys(h) + ' ' + h.add.name", "log,add,fail,code,echo,later,frame_get,frame_set add");
    RUN_IS(&f, "h.frame_set('one'); h.frame_get()", "one");
    TEXT_IS(&f, js_continuation(f.js), "one");
    js_continuation_set(f.js, js_undefined(f.js));
    RUN_IS(&f, "h.frame_get()", "undefined");
    RUN_THROWS(&f, "h.fail(1, 2)", "RangeError: op failed with 2 arguments");
    RUN_THROWS(&f, "h.add({ valueOf() { throw new TypeError('v') } })", "TypeError: v");
    RUN_THROWS(&f, "h.code(-6)", "Error: not found");
    RUN_THROWS(&f, "new h.add(1)", "TypeError: h.add is not a constructor");
    RUN_IS(&f, "try { h.fail() } catch (e) { e.name }", "RangeError");
    fixture_close(&f);
}

static int count_calls(struct js_args *a)
{
    int *count = a->user;
    *count += 1;
    js_return_int(a, *count);
    if (js_is_construct(a))
        js_return(a, js_object(a->js));
    return 0;
}

static int give_bool(struct js_args *a)
{
    js_return_bool(a, js_kind(a->this_value) == JS_OBJECT);
    return 0;
}

static void test_functions_made_at_run_time_carry_a_pointer(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    int count = 0;
    js_value fn;
    assert_int_equal(js_function_new(f.js, count_calls, &count, &fn), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "fn", fn), 0);
    RUN_IS(&f, "fn(); fn(); fn()", "3");
    RUN_IS(&f, "typeof new fn", "object");
    assert_int_equal(js_function_new(f.js, give_bool, NULL, &fn), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "fn", fn), 0);
    RUN_IS(&f, "fn.call({})", "true");
    js_gc(f.js); /* The first one's record goes with it; the leak check would tell. */
    fixture_close(&f);
}

static void test_promises_are_made_settled_and_followed(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value p, q, r;
    int count = 0;
    js_value on;
    assert_int_equal(js_promise_new(f.js, &p), 0);
    assert_int_equal(js_promise_state(p), JS_PENDING);
    assert_int_equal(js_function_new(f.js, count_calls, &count, &on), 0);
    assert_int_equal(js_promise_then(f.js, p, on, on, &q), 0);
    assert_int_equal(js_promise_resolve(f.js, p, js_int(f.js, 4)), 0);
    assert_int_equal(js_promise_state(p), JS_FULFILLED);
    assert_int_equal(count, 0);
    assert_int_equal(js_microtasks(f.js), 0);
    assert_int_equal(count, 1);
    TEXT_IS(&f, js_promise_result(q), "1");
    assert_int_equal(js_promise_new(f.js, &r), 0);
    assert_int_equal(js_promise_reject(f.js, r, js_text(f.js, "why")), 0);
    assert_int_equal(js_promise_state(r), JS_REJECTED);
    assert_str_is(cd_buf_str(&f.events), "unhandled why\n");
    assert_int_equal(js_promise_then(f.js, r, on, on, &q), 0);
    assert_int_equal(js_microtasks(f.js), 0);
    assert_str_is(cd_buf_str(&f.events), "unhandled why\nhandled \n");
    assert_int_equal(count, 2);
    fixture_close(&f);
}

static void test_microtasks_run_at_the_checkpoint_only(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    fixture_run(&f, "var log = []; Promise.resolve().then(() => log.push('then')); log.push('sync')");
    assert_int_equal(js_queue_microtask(f.js, fixture_run(&f, "(() => log.push('queued'))")), 0);
    RUN_IS(&f, "log", "sync");
    assert_int_equal(js_microtasks(f.js), 0);
    RUN_IS(&f, "log", "sync,then,queued");
    assert_int_equal(js_queue_microtask(f.js, js_int(f.js, 1)), JS_THREW);
    THREW(&f, "TypeError: not a function");
    /* What a queued callback throws has no caller: the hook hears of it. */
    fixture_run(&f, "1");
    assert_int_equal(js_queue_microtask(f.js, fixture_run(&f, "(() => { throw new Error('lost') })")), 0);
    assert_int_equal(js_microtasks(f.js), 0);
    assert_str_is(cd_buf_str(&f.events), "uncaught lost at 1\n");
    js_value p = fixture_run(&f, "Promise.reject('quiet')");
    js_promise_handled(p);
    fixture_close(&f);
}

static void test_array_buffers_copy_and_lend_their_bytes(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value b, u, v;
    struct js_bytes bytes;
    assert_int_equal(js_buffer_copy(f.js, CD_STR("hello world"), &b), 0);
    assert_true(js_bytes(b, &bytes));
    assert_int_equal(bytes.len, 11);
    assert_memory_equal(bytes.ptr, "hello world", 11);
    assert_int_equal(js_uint8_array(f.js, b, 6, 5, &u), 0);
    assert_true(js_bytes(u, &bytes));
    assert_memory_equal(bytes.ptr, "world", 5);
    assert_int_equal(bytes.at, 6);
    assert_true(js_same(bytes.buffer, b));
    bytes.ptr[0] = 'W';
    TEXT_IS(&f, u, "87,111,114,108,100");
    assert_int_equal(js_uint8_array(f.js, b, 6, 6, &v), JS_THREW);
    THREW(&f, "RangeError: the view is outside of its buffer");
    assert_int_equal(js_uint8_array_copy(f.js, CD_STR("ab"), &v), 0);
    TEXT_IS(&f, v, "97,98");
    assert_int_equal(js_buffer(f.js, 3, &b), 0);
    assert_true(js_bytes(b, &bytes));
    assert_memory_equal(bytes.ptr, "\0\0\0", 3);
    assert_false(js_bytes(js_int(f.js, 1), &bytes));
    fixture_close(&f);
}

static void test_small_views_are_read_from_the_heap(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    uint8_t small[64];
    struct cd_str got;
    assert_true(js_bytes_read(fixture_run(&f, "new Uint8Array([1, 2, 3]).subarray(1)"), small, &got));
    assert_int_equal(got.len, 2);
    assert_memory_equal(got.ptr, "\2\3", 2);
    assert_true(js_bytes_read(fixture_run(&f, "new Uint8Array(1000).fill(7)"), small, &got));
    assert_int_equal(got.len, 1000);
    assert_int_equal(got.ptr[999], 7);
    assert_true(js_bytes_read(fixture_run(&f, "new DataView(new ArrayBuffer(8), 2)"), small, &got));
    assert_int_equal(got.len, 6);
    assert_true(js_bytes_read(fixture_run(&f, "new SharedArrayBuffer(4)"), small, &got));
    assert_int_equal(got.len, 4);
    assert_false(js_bytes_read(fixture_run(&f, "[1]"), small, &got));
    fixture_close(&f);
}

static void test_detached_buffers_are_empty(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value b = fixture_run(&f, "globalThis.b = new ArrayBuffer(8); globalThis.u = new Uint8Array(b); b");
    struct js_bytes bytes;
    assert_false(js_buffer_detached(b));
    assert_int_equal(js_buffer_detach(f.js, b), 0);
    assert_true(js_buffer_detached(b));
    assert_true(js_bytes(b, &bytes));
    assert_int_equal(bytes.len, 0);
    RUN_IS(&f, "u.length", "0");
    js_value memory = fixture_run(&f, "new WebAssembly.Memory({ initial: 1 }).buffer");
    assert_int_equal(js_buffer_detach(f.js, memory), JS_THREW);
    THREW(&f, "TypeError: the ArrayBuffer cannot be detached");
    fixture_close(&f);
}

static void count_release(void *arg)
{
    ++*(int *)arg;
}

static void test_external_buffers_are_released_once_and_counted(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 20];
    struct fixture f;
    fixture_open_with(&f, &(struct js_isolate_config){.external_limit = 4 << 20});
    int released = 0;
    js_value b;
    struct js_heap heap;
    struct js_scope scope;
    js_scope_open(f.js, &scope);
    assert_int_equal(js_buffer_external(f.js, bytes, sizeof bytes, count_release, &released, &b), 0);
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.array_buffers, sizeof bytes);
    js_scope_close(&scope);
    assert_int_equal(released, 0);
    js_gc(f.js);
    assert_int_equal(released, 1);
    js_heap_stats(f.js, &heap);
    assert_int_equal(heap.array_buffers, 0);
    assert_int_equal(js_buffer_external(f.js, bytes, 5u << 20, count_release, &released, &b), JS_THREW);
    THREW(&f, "RangeError: Array buffer allocation failed");
    assert_int_equal(released, 2);
    assert_int_equal(js_buffer_external(f.js, bytes, 0, count_release, &released, &b), 0);
    assert_int_equal(released, 3);
    assert_int_equal(js_buffer_external(f.js, bytes, 10, count_release, &released, &b), 0);
    fixture_close(&f);
    assert_int_equal(released, 4);
}

static void test_buffers_over_the_limit_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open_with(&f, &(struct js_isolate_config){.external_limit = 8 << 20});
    js_value b;
    RUN_THROWS(&f, "globalThis.a = []; for (;;) a.push(new Uint8Array(1 << 20))",
               "RangeError: Array buffer allocation failed");
    RUN_IS(&f, "a.length", "8");
    assert_int_equal(js_buffer(f.js, 1, &b), JS_THREW);
    THREW(&f, "RangeError: Array buffer allocation failed");
    RUN_IS(&f, "a.length = 0; new Uint8Array(4 << 20).length", "4194304");
    fixture_close(&f);
}

CD_TESTS(object, cmocka_unit_test(test_properties_by_value_text_name_and_index),
         cmocka_unit_test(test_defined_properties_have_their_attributes),
         cmocka_unit_test(test_getters_and_proxies_run_and_may_throw),
         cmocka_unit_test(test_private_properties_are_invisible),
         cmocka_unit_test(test_maps_and_sets_are_read_without_running_javascript),
         cmocka_unit_test(test_instances_and_class_names), cmocka_unit_test(test_json_goes_both_ways),
         cmocka_unit_test(test_functions_are_called_and_constructed),
         cmocka_unit_test(test_host_functions_are_in_the_preludes_hands_only),
         cmocka_unit_test(test_functions_made_at_run_time_carry_a_pointer),
         cmocka_unit_test(test_promises_are_made_settled_and_followed),
         cmocka_unit_test(test_microtasks_run_at_the_checkpoint_only),
         cmocka_unit_test(test_array_buffers_copy_and_lend_their_bytes),
         cmocka_unit_test(test_small_views_are_read_from_the_heap),
         cmocka_unit_test(test_detached_buffers_are_empty),
         cmocka_unit_test(test_external_buffers_are_released_once_and_counted),
         cmocka_unit_test(test_buffers_over_the_limit_are_refused))
