#include "fixture.h"

/* (module (func (export "add") (param i32 i32) (result i32) local.get 0 local.get 1 i32.add)) */
static const uint8_t add_wasm[] = {0,   97, 115, 109, 1, 0, 0, 0,  1, 7,  1, 96,  2,   127,
                                   127, 1,  127, 3,   2, 1, 0, 7,  7, 1,  3, 97,  100, 100,
                                   0,   0,  10,  9,   1, 7, 0, 32, 0, 32, 1, 106, 11};

static struct cd_str wasm_bytes(void)
{
    return cd_str_of(add_wasm, sizeof add_wasm);
}

/* Clones through a parcel into the isolate of to. */
static js_value carry(struct fixture *from, js_value v, struct fixture *to)
{
    struct js_parcel *p = NULL;
    js_value out = NULL;
    CHECK_INT(js_parcel_pack(from->js, v, NULL, &p), 0);
    CHECK_INT(js_parcel_unpack(to->js, p, NULL, &out, NULL), 0);
    js_parcel_free(p);
    return out;
}

static void test_values_are_cloned_with_their_shape(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value v = fixture_run(
        &f, "const o = { a: 1, d: new Date(5), m: new Map([[1, new Set(['x'])]]), r: /a/gi,"
            " b: 2n, u: new Uint8Array([1, 2]), e: new RangeError('r'), n: [, 1] }; o.self = o; o");
    js_value c = carry(&f, v, &f);
    assert_false(js_same(v, c));
    assert_int_equal(js_set_text(f.js, js_global(f.js), "c", c), 0);
    RUN_IS(
        &f,
        "[c.a, +c.d, c.m.get(1).has('x'), c.r, c.b, c.u, c.e instanceof RangeError, c.e.message, 0 in c.n, "
        "c.self === c].join()",
        "1,5,true,/a/gi,2,1,2,true,r,false,true");
    fixture_close(&f);
}

static void test_what_cannot_be_cloned_is_a_data_clone_error(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_parcel *p;
    assert_int_equal(js_parcel_pack(f.js, fixture_run(&f, "(() => 1)"), NULL, &p), JS_THREW);
    THREW(&f, "DataCloneError: () => 1 could not be cloned.");
    assert_int_equal(js_parcel_pack(f.js, fixture_run(&f, "[Symbol('s')]"), NULL, &p), JS_THREW);
    THREW(&f, "DataCloneError: Symbol(s) could not be cloned.");
    assert_int_equal(
        js_parcel_pack(f.js, fixture_run(&f, "({ get a() { throw new TypeError('g') } })"), NULL, &p),
        JS_THREW);
    THREW(&f, "TypeError: g");
    fixture_close(&f);
}

static void test_buffers_move_between_isolates_once(void **state)
{
    (void)state;
    struct fixture a, b;
    fixture_open(&a);
    js_value buffer = fixture_run(&a, "globalThis.u = new Uint8Array([1, 2, 3]); u.buffer");
    js_value v = fixture_run(&a, "({ u, more: u.subarray(1) })");
    struct js_parcel_opts opts = {.transfer = &buffer, .transfer_count = 1};
    struct js_parcel *p;
    js_value out, moved;
    assert_int_equal(js_parcel_pack(a.js, v, &opts, &p), 0);
    assert_false(js_parcel_plain(p));
    RUN_IS(&a, "u.length", "0");
    fixture_open(&b);
    assert_int_equal(js_parcel_unpack(b.js, p, NULL, &out, &moved), 0);
    assert_int_equal(js_array_len(moved), 1);
    assert_int_equal(js_set_text(b.js, js_global(b.js), "o", out), 0);
    RUN_IS(&b, "o.u[0] = 9; o.u + ' ' + o.more + ' ' + (o.u.buffer === o.more.buffer)", "9,2,3 2,3 true");
    assert_int_equal(js_parcel_unpack(b.js, p, NULL, &out, &moved), JS_THREW);
    THREW(&b, "DataCloneError: The transferred buffers were taken already.");
    js_parcel_free(p);
    fixture_leave(&b);
    fixture_close(&a); /* The bytes outlive the isolate they were made in. */
    fixture_enter(&b);
    RUN_IS(&b, "o.u.length", "3");
    fixture_close(&b);
}

static void test_a_bad_transfer_list_changes_nothing(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_parcel *p;
    js_value good = fixture_run(&f, "globalThis.g = new ArrayBuffer(4)");
    js_value list[2] = {good, js_int(f.js, 1)};
    struct js_parcel_opts opts = {.transfer = list, .transfer_count = 2};
    assert_int_equal(js_parcel_pack(f.js, good, &opts, &p), JS_THREW);
    THREW(&f, "DataCloneError: Value at index 1 is not transferable.");
    list[1] = good;
    assert_int_equal(js_parcel_pack(f.js, good, &opts, &p), JS_THREW);
    THREW(&f, "DataCloneError: ArrayBuffer at index 1 is a duplicate of an earlier ArrayBuffer.");
    list[1] = fixture_run(&f, "globalThis.d = new ArrayBuffer(4); structuredDetach = d.transfer(); d");
    assert_int_equal(js_parcel_pack(f.js, good, &opts, &p), JS_THREW);
    THREW(&f, "DataCloneError: ArrayBuffer at index 1 is already detached.");
    opts.transfer_count = 1;
    assert_int_equal(js_parcel_pack(f.js, fixture_run(&f, "[g, () => 1]"), &opts, &p), JS_THREW);
    THREW(&f, "DataCloneError: () => 1 could not be cloned.");
    /* A getter that takes the buffer away while it is being written. */
    assert_int_equal(
        js_parcel_pack(f.js, fixture_run(&f, "({ get x() { g.transfer(); return 1 } })"), &opts, &p),
        JS_THREW);
    THREW(&f, "DataCloneError: ArrayBuffer at index 0 is already detached.");
    fixture_close(&f);
}

static int write_host(void *arg, struct js_isolate *js, struct js_writer *w, js_value object)
{
    struct fixture *f = arg;
    js_value v;
    int rc = js_get_text(js, object, "inner", &v);
    if (rc != 0)
        return rc;
    js_write_u32(w, 77);
    js_write_u64(w, UINT64_MAX);
    js_write_bytes(w, CD_STR("tag"));
    cd_buf_addf(&f->log, "wrote\n");
    return js_write_value(w, v);
}

static int read_host(void *arg, struct js_isolate *js, struct js_reader *r, js_value *object)
{
    (void)arg;
    uint32_t a;
    uint64_t b;
    struct cd_str tag;
    js_value inner;
    int rc;
    if ((rc = js_read_u32(r, &a)) != 0 || (rc = js_read_u64(r, &b)) != 0 ||
        (rc = js_read_bytes(r, &tag)) != 0 || (rc = js_read_value(r, &inner)) != 0)
        return rc;
    CHECK_INT(a, 77);
    CHECK(b == UINT64_MAX);
    CHECK(cd_str_eq(tag, CD_STR("tag")));
    *object = js_object(js);
    return js_set_text(js, *object, "revived", inner);
}

static void test_host_objects_write_and_read_themselves(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_parcel *p;
    js_value out;
    js_value v = fixture_run(&f, "globalThis.h = new (class Stub { inner = { deep: [1] } }); [h, h]");
    assert_int_equal(js_set_private(f.js, fixture_run(&f, "h"), NAME_BRAND, js_int(f.js, 1)), 0);
    assert_int_equal(js_parcel_pack(f.js, v, NULL, &p), JS_THREW);
    THREW(&f, "DataCloneError: Stub object could not be cloned.");
    const struct js_parcel_opts opts = {.write = write_host, .arg = &f};
    assert_int_equal(js_parcel_pack(f.js, v, &opts, &p), 0);
    assert_str_is(cd_buf_str(&f.log), "wrote\n"); /* Once: the second is a reference. */
    const struct js_unpack_opts in = {.read = read_host};
    assert_int_equal(js_parcel_unpack(f.js, p, &in, &out, NULL), 0);
    struct cd_buf json = {0};
    assert_int_equal(js_json_add(f.js, out, &json), 0);
    assert_str_is(cd_buf_str(&json), "[{\"revived\":{\"deep\":[1]}},{\"revived\":{\"deep\":[1]}}]");
    assert_int_equal(js_parcel_unpack(f.js, p, NULL, &out, NULL), JS_THREW);
    THREW(&f, "Error: Unable to deserialize cloned data.");
    cd_buf_deinit(&json);
    js_parcel_free(p);
    fixture_close(&f);
}

static void test_bytes_alone_can_be_kept_and_bad_ones_are_refused(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    struct js_parcel *p, *q;
    js_value out;
    const struct js_parcel_opts opts = {.storable = true};
    assert_int_equal(js_parcel_pack(f.js, fixture_run(&f, "({ a: 'text', b: [1, 2, 3] })"), &opts, &p), 0);
    assert_true(js_parcel_plain(p));
    struct cd_str bytes = js_parcel_bytes(p);
    q = js_parcel_of_bytes(bytes);
    assert_int_equal(js_parcel_unpack(f.js, q, NULL, &out, NULL), 0);
    js_parcel_free(q);
    /* Every cut and every flipped byte is an error or another value, never more. */
    for (size_t i = 0; i < bytes.len; i++) {
        struct js_parcel *cut = js_parcel_of_bytes(cd_str_sub(bytes, 0, i));
        if (js_parcel_unpack(f.js, cut, NULL, &out, NULL) != 0)
            js_try_clear(&f.caught);
        js_parcel_free(cut);
        char copy[256];
        CHECK(bytes.len <= sizeof copy);
        memcpy(copy, bytes.ptr, bytes.len);
        copy[i] = (char)(copy[i] ^ 0x5b);
        struct js_parcel *flipped = js_parcel_of_bytes(cd_str_of(copy, bytes.len));
        if (js_parcel_unpack(f.js, flipped, NULL, &out, NULL) != 0)
            js_try_clear(&f.caught);
        js_parcel_free(flipped);
    }
    q = js_parcel_of_bytes((struct cd_str){NULL, 0});
    assert_int_equal(js_parcel_unpack(f.js, q, NULL, &out, NULL), JS_THREW);
    assert_true(js_try_caught(&f.caught));
    js_try_clear(&f.caught);
    js_parcel_free(q);
    js_parcel_free(p);
    assert_int_equal(js_parcel_pack(f.js, fixture_run(&f, "new SharedArrayBuffer(1)"), &opts, &p), JS_THREW);
    THREW(&f, "DataCloneError: #<SharedArrayBuffer> could not be cloned.");
    fixture_close(&f);
}

static void test_shared_buffers_stay_shared(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value c = carry(&f, fixture_run(&f, "globalThis.s = new Uint8Array(new SharedArrayBuffer(2))"), &f);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "c", c), 0);
    RUN_IS(&f, "c[1] = 5; s[1]", "5");
    fixture_close(&f);
}

static void test_a_compiled_module_is_shared_between_isolates(void **state)
{
    (void)state;
    struct fixture a, b;
    js_value m, copy;
    fixture_open(&a);
    assert_int_equal(js_wasm_compile(a.js, wasm_bytes(), &m), 0);
    assert_true(js_is(m, JS_IS_WASM_MODULE));
    struct js_wasm *w = js_wasm_share(m);
    struct js_parcel *p;
    assert_int_equal(js_parcel_pack(a.js, m, NULL, &p), 0);
    fixture_open(&b);
    assert_int_equal(js_wasm_module(b.js, w, &copy), 0);
    assert_int_equal(js_set_text(b.js, js_global(b.js), "m", copy), 0);
    RUN_IS(&b, "new WebAssembly.Instance(m).exports.add(2, 40)", "42");
    assert_int_equal(js_parcel_unpack(b.js, p, NULL, &copy, NULL), 0);
    assert_int_equal(js_set_text(b.js, js_global(b.js), "m", copy), 0);
    RUN_IS(&b, "new WebAssembly.Instance(m).exports.add(1, 1)", "2");
    js_parcel_free(p);
    js_wasm_free(w);
    fixture_close(&b);
    assert_int_equal(js_wasm_compile(a.js, cd_str_of(add_wasm, 20), &m), JS_THREW);
    assert_true(js_try_caught(&a.caught));
    struct js_problem problem = {0};
    js_try_problem(&a.caught, &problem);
    assert_str_is(cd_buf_str(&problem.name), "CompileError");
    js_problem_deinit(&problem);
    js_try_clear(&a.caught);
    fixture_close(&a);
}

static void test_wasm_is_compiled_without_threads_too(void **state)
{
    (void)state;
    struct fixture f;
    fixture_open(&f);
    js_value bytes;
    assert_int_equal(js_uint8_array_copy(f.js, wasm_bytes(), &bytes), 0);
    assert_int_equal(js_set_text(f.js, js_global(f.js), "bytes", bytes), 0);
    js_value p = fixture_run(&f, "WebAssembly.instantiate(bytes).then(r => r.instance.exports.add(3, 4))");
    for (int i = 0; i < 10 && js_promise_state(p) == JS_PENDING; i++) {
        assert_int_equal(js_microtasks(f.js), 0);
        js_pump(f.js);
    }
    assert_int_equal(js_promise_state(p), JS_FULFILLED);
    TEXT_IS(&f, js_promise_result(p), "7");
    fixture_close(&f);
}

CD_TESTS(parcel, cmocka_unit_test(test_values_are_cloned_with_their_shape),
         cmocka_unit_test(test_what_cannot_be_cloned_is_a_data_clone_error),
         cmocka_unit_test(test_buffers_move_between_isolates_once),
         cmocka_unit_test(test_a_bad_transfer_list_changes_nothing),
         cmocka_unit_test(test_host_objects_write_and_read_themselves),
         cmocka_unit_test(test_bytes_alone_can_be_kept_and_bad_ones_are_refused),
         cmocka_unit_test(test_shared_buffers_stay_shared),
         cmocka_unit_test(test_a_compiled_module_is_shared_between_isolates),
         cmocka_unit_test(test_wasm_is_compiled_without_threads_too))
