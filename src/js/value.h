/* js/value.h: JavaScript values: primitives, strings, objects, functions, promises, array buffers.
 *
 * The rules of js/engine.h hold. Text is UTF-8 in C unless a name says otherwise. */
#ifndef JS_VALUE_H
#define JS_VALUE_H

#include "js/engine.h"

/* ---- Kinds ---- */

enum js_kind {
    JS_UNDEFINED,
    JS_NULL,
    JS_BOOL,
    JS_NUMBER,
    JS_BIGINT,
    JS_STRING,
    JS_SYMBOL,
    JS_OBJECT, /* Functions too. */
};
enum js_kind js_kind(js_value v);

enum js_class {
    JS_IS_FUNCTION,
    JS_IS_ASYNC_FUNCTION,
    JS_IS_ARRAY,
    JS_IS_PROMISE,
    JS_IS_PROXY,
    JS_IS_DATE,
    JS_IS_REGEXP,
    JS_IS_ERROR, /* Native errors and what derives from them. */
    JS_IS_MAP,
    JS_IS_SET,
    JS_IS_ARRAY_BUFFER,
    JS_IS_SHARED_ARRAY_BUFFER,
    JS_IS_VIEW, /* Typed arrays and DataView. */
    JS_IS_TYPED_ARRAY,
    JS_IS_UINT8_ARRAY,
    JS_IS_DATA_VIEW,
    JS_IS_EXTERNAL,
    JS_IS_WASM_MODULE,
    JS_IS_NAMESPACE, /* Of a module. */
    JS_IS_GENERATOR,
    JS_IS_GENERATOR_FUNCTION,
    JS_IS_WEAK_MAP,
    JS_IS_WEAK_SET,
    JS_IS_MAP_ITERATOR,
    JS_IS_SET_ITERATOR,
    JS_IS_ARGUMENTS,
    JS_IS_NUMBER_OBJECT,
    JS_IS_STRING_OBJECT,
    JS_IS_BOOLEAN_OBJECT,
    JS_IS_BIGINT_OBJECT,
    JS_IS_SYMBOL_OBJECT,
    JS_CLASS_COUNT
};
bool js_is(js_value v, enum js_class what);
static inline bool js_is_undefined(js_value v)
{
    return js_kind(v) == JS_UNDEFINED;
}
bool js_is_int32(js_value v);
bool js_same(js_value a, js_value b); /* === */
bool js_same_value(js_value a, js_value b); /* Object.is */
CD_MUST_USE int js_instance_of(struct js_isolate *js, js_value v, js_value constructor, bool *out);
/* The name of the class of an object, without running JavaScript. */
void js_class_name(struct js_isolate *js, js_value object, struct cd_buf *out);

/* ---- Primitives ---- */

js_value js_undefined(struct js_isolate *js);
js_value js_null(struct js_isolate *js);
js_value js_bool(struct js_isolate *js, bool v);
js_value js_int(struct js_isolate *js, int32_t v);
js_value js_number(struct js_isolate *js, double v);
js_value js_bigint(struct js_isolate *js, int64_t v);
js_value js_bigint_u64(struct js_isolate *js, uint64_t v);
CD_MUST_USE int js_date(struct js_isolate *js, double ms, js_value *out);

/* Conversions as JavaScript does them; they can run valueOf and toString. */
bool js_to_bool(struct js_isolate *js, js_value v);
CD_MUST_USE int js_to_number(struct js_isolate *js, js_value v, double *out);
CD_MUST_USE int js_to_int32(struct js_isolate *js, js_value v, int32_t *out);
CD_MUST_USE int js_to_string(struct js_isolate *js, js_value v, js_value *out);
double js_as_number(js_value number); /* Asserts that it is one. */
double js_as_date(js_value date);
/* Of a BigInt, modulo 2^64; lossless tells whether nothing was cut. */
int64_t js_as_i64(js_value bigint, bool *lossless);
uint64_t js_as_u64(js_value bigint, bool *lossless);

js_value js_symbol(struct js_isolate *js, const char *description);
enum js_well_known { JS_SYMBOL_ITERATOR, JS_SYMBOL_ASYNC_ITERATOR, JS_SYMBOL_TO_STRING_TAG };
js_value js_symbol_well_known(struct js_isolate *js, enum js_well_known which);

/* ---- Strings ---- */

#define JS_STRING_MAX ((1u << 29) - 24) /* UTF-16 units; V8's limit. Longer ones throw RangeError. */

/* Malformed UTF-8 becomes U+FFFD, as TextDecoder does it. */
CD_MUST_USE int js_string(struct js_isolate *js, struct cd_str utf8, js_value *out);
CD_MUST_USE int js_string_latin1(struct js_isolate *js, struct cd_str bytes, js_value *out);
CD_MUST_USE int js_string_utf16(struct js_isolate *js, const uint16_t *units, size_t count, js_value *out);
/* Not copied: bytes are Latin-1 and stay unchanged until release(arg) is called, exactly once, also on
 * failure. */
CD_MUST_USE int js_string_external(struct js_isolate *js, struct cd_str bytes, void (*release)(void *arg),
                                   void *arg, js_value *out);
js_value js_text(struct js_isolate *js, const char *text); /* For our own short texts. */
size_t js_string_len(js_value string); /* UTF-16 units. */
/* Appends; lone surrogates become U+FFFD. */
void js_string_add(struct js_isolate *js, js_value string, struct cd_buf *out);
/* The same after ToString. */
CD_MUST_USE int js_to_utf8(struct js_isolate *js, js_value v, struct cd_buf *out);
/* Whether every unit is below 256, and then appends them as bytes; else appends nothing. */
bool js_string_add_latin1(struct js_isolate *js, js_value string, struct cd_buf *out);
void js_string_add_utf16(struct js_isolate *js, js_value string, struct cd_buf *out); /* Little-endian. */
bool js_string_eq(struct js_isolate *js, js_value string, const char *ascii);

/* ---- Objects ---- */

js_value js_object(struct js_isolate *js);
js_value js_object_bare(struct js_isolate *js); /* Without a prototype. */
js_value js_array(struct js_isolate *js, const js_value *values, unsigned count);
unsigned js_array_len(js_value array);

CD_MUST_USE int js_get(struct js_isolate *js, js_value object, js_value key, js_value *out);
CD_MUST_USE int js_set(struct js_isolate *js, js_value object, js_value key, js_value v);
CD_MUST_USE int js_has(struct js_isolate *js, js_value object, js_value key, bool *out);
CD_MUST_USE int js_delete(struct js_isolate *js, js_value object, js_value key);
CD_MUST_USE int js_get_index(struct js_isolate *js, js_value object, unsigned index, js_value *out);
CD_MUST_USE int js_set_index(struct js_isolate *js, js_value object, unsigned index, js_value v);
CD_MUST_USE int js_get_text(struct js_isolate *js, js_value object, const char *key, js_value *out);
CD_MUST_USE int js_set_text(struct js_isolate *js, js_value object, const char *key, js_value v);
/* By the index of a name in the isolate's table: made once per isolate. */
js_value js_name(struct js_isolate *js, unsigned name);
CD_MUST_USE int js_get_name(struct js_isolate *js, js_value object, unsigned name, js_value *out);
CD_MUST_USE int js_set_name(struct js_isolate *js, js_value object, unsigned name, js_value v);

enum { JS_READ_ONLY = 1, JS_HIDDEN = 2, JS_FIXED = 4 }; /* Not writable, not enumerable, not configurable. */
CD_MUST_USE int js_define(struct js_isolate *js, js_value object, js_value key, js_value v, unsigned flags);
CD_MUST_USE int js_keys(struct js_isolate *js, js_value object, js_value *array); /* Object.keys */
js_value js_proto(js_value object);
CD_MUST_USE int js_set_proto(struct js_isolate *js, js_value object, js_value proto);
CD_MUST_USE int js_freeze(struct js_isolate *js, js_value object);

/* Properties that JavaScript cannot see, not even through a Proxy; keyed by the isolate's names. */
CD_MUST_USE int js_get_private(struct js_isolate *js, js_value object, unsigned name, js_value *out);
CD_MUST_USE int js_set_private(struct js_isolate *js, js_value object, unsigned name, js_value v);
bool js_has_private(struct js_isolate *js, js_value object, unsigned name);

/* Entries of a Map (key, value, key, value, ...) or a Set as an array, without running JavaScript. */
CD_MUST_USE int js_entries(struct js_isolate *js, js_value map_or_set, js_value *array);
/* What is left in a Map, Set, WeakMap, WeakSet or an iterator of one, without moving it. keyed: as of a Map.
 * False: v is none of these. */
bool js_preview(struct js_isolate *js, js_value v, js_value *array, bool *keyed);
/* Of a Proxy; both are null when it was revoked. */
void js_proxy_parts(js_value proxy, js_value *target, js_value *handler);

js_value js_external(struct js_isolate *js, void *ptr); /* A pointer in JavaScript's hands, opaque to it. */
void *js_as_external(js_value external);

CD_MUST_USE int js_json_parse(struct js_isolate *js, struct cd_str text, js_value *out);
CD_MUST_USE int js_json_add(struct js_isolate *js, js_value v, struct cd_buf *out); /* JSON.stringify */

/* ---- Functions ---- */

CD_MUST_USE int js_call(struct js_isolate *js, js_value function, js_value this_value, const js_value *argv,
                        unsigned argc, js_value *out);
CD_MUST_USE int js_construct(struct js_isolate *js, js_value function, const js_value *argv, unsigned argc,
                             js_value *out);
/* A function that calls fn with user. user must outlive the isolate, or every call. */
CD_MUST_USE int js_function_new(struct js_isolate *js, js_host_fn *fn, void *user, js_value *out);
/* A classic script: its last expression's value. */
CD_MUST_USE int js_run(struct js_isolate *js, struct cd_str source, const char *name, js_value *out);

/* ---- Promises ---- */

enum js_promise_state { JS_PENDING, JS_FULFILLED, JS_REJECTED };
CD_MUST_USE int js_promise_new(struct js_isolate *js, js_value *out);
/* Only of those made by js_promise_new. Reactions run at the next js_microtasks. */
CD_MUST_USE int js_promise_resolve(struct js_isolate *js, js_value promise, js_value v);
CD_MUST_USE int js_promise_reject(struct js_isolate *js, js_value promise, js_value reason);
enum js_promise_state js_promise_state(js_value promise);
js_value js_promise_result(js_value promise); /* Of a settled one. */
void js_promise_handled(js_value promise); /* A rejection of it is not reported. */
CD_MUST_USE int js_promise_then(struct js_isolate *js, js_value promise, js_value on_fulfilled,
                                js_value on_rejected, js_value *out);
CD_MUST_USE int js_queue_microtask(struct js_isolate *js, js_value function);

/* ---- Array buffers ---- */

CD_MUST_USE int js_buffer(struct js_isolate *js, size_t len, js_value *out); /* Zeroed. */
CD_MUST_USE int js_buffer_copy(struct js_isolate *js, struct cd_str bytes, js_value *out);
/* Not copied; release(arg) is called exactly once, on any thread that has an isolate, when no buffer refers
 * to the bytes any more, also on failure. They count as external memory of the isolate. */
CD_MUST_USE int js_buffer_external(struct js_isolate *js, void *bytes, size_t len, void (*release)(void *arg),
                                   void *arg, js_value *out);
CD_MUST_USE int js_buffer_detach(struct js_isolate *js, js_value buffer); /* TypeError when it cannot be. */
bool js_buffer_detached(js_value buffer);
CD_MUST_USE int js_uint8_array(struct js_isolate *js, js_value buffer, size_t at, size_t len, js_value *out);
CD_MUST_USE int js_uint8_array_copy(struct js_isolate *js, struct cd_str bytes, js_value *out);

/* The bytes of an ArrayBuffer, SharedArrayBuffer or view, in place: good until JavaScript runs again. */
struct js_bytes {
    uint8_t *ptr;
    size_t len;
    js_value buffer; /* Of a view: what it looks at. */
    size_t at; /* Its offset there. */
};
bool js_bytes(js_value v, struct js_bytes *out); /* False: v is none of these. */
/* For reading only, cheaper for views of a few bytes, which live in V8's heap: small is 64 bytes of the
 * caller. */
bool js_bytes_read(js_value v, uint8_t *small, struct cd_str *out);

#endif
