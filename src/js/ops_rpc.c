/* js/ops_rpc.c: host functions: events of calls within one isolate, and the values that calls carry.
 * runtime.md 6. */
#include "js/ops_rpc.h"

#include "js/ops.h"
#include "js/parcel.h"
#include "js/worker_internal.h"

#define MESSAGE_MAX (32u << 20) /* runtime.md 2.10 */

/* ---- Events of calls whose caller is in the same isolate ---- */

static void local_end(struct js_event *e, const char *why)
{
    (void)why; /* The caller is told by the prelude, or has gone with it. */
    cd_free(e);
}

static const struct js_event_type local_type = {.name = "call", .end = local_end};

/* event_open(): the id of a new event; event_end ends it. */
int js_op_event_open(struct js_args *a)
{
    struct js_event *e = cd_new(struct js_event);
    js_event_init(e, js_worker_of(a), &local_type);
    js_event_stir(e);
    js_return_number(a, (double)e->id);
    return 0;
}

/* ---- Values ---- */

/* The order is known to runtime/rpc_message.js. */
enum kind {
    KIND_OTHER,
    KIND_PROXY,
    KIND_FUNCTION,
    KIND_ARRAY,
    KIND_ERROR,
    KIND_MAP,
    KIND_SET,
    KIND_VIEW,
    KIND_PLAIN
};

/* value_kind(object): how a message carries it, without running JavaScript. */
int js_op_value_kind(struct js_args *a)
{
    static const struct {
        enum js_class is;
        enum kind kind;
    } table[] = {
        {JS_IS_PROXY, KIND_PROXY},        {JS_IS_FUNCTION, KIND_FUNCTION}, {JS_IS_ARRAY, KIND_ARRAY},
        {JS_IS_ERROR, KIND_ERROR},        {JS_IS_MAP, KIND_MAP},           {JS_IS_SET, KIND_SET},
        {JS_IS_VIEW, KIND_VIEW},          {JS_IS_DATE, KIND_PLAIN},        {JS_IS_REGEXP, KIND_PLAIN},
        {JS_IS_ARRAY_BUFFER, KIND_PLAIN}, {JS_IS_WASM_MODULE, KIND_PLAIN},
    };
    enum kind kind = KIND_OTHER;
    for (unsigned i = 0; i < CD_COUNT(table) && kind == KIND_OTHER; i++)
        kind = js_is(js_arg(a, 0), table[i].is) ? table[i].kind : kind;
    js_return_int(a, (int32_t)kind);
    return 0;
}

static int too_large(struct js_isolate *js, size_t size)
{
    return js_throw_error(js, JS_ERROR,
                          "Serialized RPC arguments or return values are limited to 32MiB, but the size of "
                          "this value was: %zu bytes.",
                          size);
}

/* message_copy(value): its structured clone. */
int js_op_message_copy(struct js_args *a)
{
    struct js_parcel *p;
    js_value v;
    int rc = js_parcel_pack(a->js, js_arg(a, 0), NULL, &p);
    if (rc != 0)
        return rc;
    size_t size = js_parcel_bytes(p).len;
    rc = size > MESSAGE_MAX ? too_large(a->js, size) : js_parcel_unpack(a->js, p, NULL, &v, NULL);
    js_parcel_free(p);
    if (rc == 0)
        js_return(a, v);
    return rc;
}
