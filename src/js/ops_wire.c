/* js/ops_wire.c: wires between callers and cells, and the names of cells, for JavaScript. runtime.md 6;
 * services.md 1.2. */
#include "js/ops_wire.h"

#include "cell/id.h"
#include "cell/wire.h"
#include "js/cells.h"
#include "js/ops.h"
#include "js/parcel.h"
#include "js/site.h"
#include "js/wire.h"
#include "js/wire_format.h"

#define VALUE_MAX (32u << 20) /* runtime.md 2.10 */

struct wire {
    struct js_handle handle;
    struct cell_wire *wire; /* owned; NULL once it is closed */
    uint64_t event; /* Whose it is. */
    struct js_cell *cell; /* The same; NULL: no cell. Good as long as the handle is open. */
    bool served; /* It is the cell's end. */
    bool held; /* A callback of it is at work. */
};

/* ---- The life of an end ---- */

static void wire_free_if_idle(struct wire *s)
{
    if (s->wire == NULL && !s->held)
        cd_free(s);
}

static void wire_shut(struct wire *s, const struct cell_close *why)
{
    struct cell_wire *w = s->wire;
    s->wire = NULL;
    cell_wire_close(w, why);
}

/* With its event: nobody has closed it. */
static void wire_handle_close(struct js_handle *h)
{
    struct wire *s = CD_CONTAINER(h, struct wire, handle);
    if (s->wire != NULL)
        wire_shut(s, s->served && s->cell != NULL ? js_cell_close(s->cell) : NULL);
    wire_free_if_idle(s);
}

static const struct js_handle_type wire_type = {.name = "wire", .close = wire_handle_close};

static struct wire *wire_new(struct js_event *e, struct cell_wire *w, bool served)
{
    struct wire *s = cd_new(struct wire);
    s->wire = w;
    s->event = e->id;
    s->cell = js_cell_of(e);
    s->served = served;
    js_handle_init(&s->handle, e->w, e, &wire_type);
    return s;
}

/* ---- What comes ---- */

static enum js_wire_form form_of(unsigned kind)
{
    static const enum js_wire_form forms[JS_WIRE_KIND_COUNT] = {
#define X(name, number, form) [number] = JS_WIRE_FORM_##form,
        JS_WIRE_KINDS(X)
#undef X
    };
    return kind < JS_WIRE_KIND_COUNT ? forms[kind] : JS_WIRE_FORM_NONE;
}

/* What follows the head. CD_ECORRUPT, or JS_THREW: it is ill-formed. */
static int value_read(struct js_worker *w, enum js_wire_form form, struct cd_str rest, js_value *out)
{
    struct js_parcel *p;
    int rc;
    switch (form) {
    case JS_WIRE_FORM_NONE: return CD_ECORRUPT;
    case JS_WIRE_FORM_NOTHING: return rest.len == 0 ? 0 : CD_ECORRUPT;
    case JS_WIRE_FORM_NUMBER:
        if (rest.len != 4)
            return CD_ECORRUPT;
        *out = js_number(w->js, cd_get_u32(rest.ptr));
        return 0;
    case JS_WIRE_FORM_BYTES: return js_uint8_array_copy(w->js, rest, out);
    case JS_WIRE_FORM_TEXT: return js_string(w->js, rest, out);
    case JS_WIRE_FORM_VALUE:
        p = js_parcel_of_bytes(rest);
        rc = js_parcel_unpack(w->js, p, NULL, out, NULL);
        js_parcel_free(p);
        return rc;
    }
    CD_UNREACHABLE();
}

/* The prelude's wire(number, event, kind, id, value); kind 0: the other end has gone. */
static void tell(struct wire *s, struct js_entry *e, unsigned kind, uint32_t id, js_value value)
{
    struct js_isolate *js = e->w->js;
    const js_value argv[] = {js_number(js, (double)s->handle.id), js_number(js, (double)s->event),
                             js_int(js, (int32_t)kind), js_number(js, id), value};
    if (s->cell != NULL)
        js_cell_touch(s->handle.event);
    if (js_invoke(e->w, JS_EXPORT_WIRE, argv, CD_COUNT(argv), NULL) != 0 && !js_try_terminated(&e->t))
        js_report(e, "wire");
}

/* What operations.md 8 calls the reason of a refusal. */
static const char *const refusal_names[CELL_REFUSALS] = {
    [CELL_REFUSED_STALE_OWNER] = "route",  [CELL_REFUSED_CAPACITY] = "capacity",
    [CELL_REFUSED_STARTING] = "not_ready", [CELL_REFUSED_DRAINING] = "draining",
    [CELL_REFUSED_UNREACHABLE] = "route",  [CELL_REFUSED_FAILED] = "not_ready"};

/* [text, overloaded, retryable, reset, refusal or undefined], or undefined for an orderly end. */
static js_value why_value(struct js_isolate *js, const struct cell_close *why)
{
    js_value text;
    if (why->text.len == 0 || js_string(js, why->text, &text) != 0)
        return js_undefined(js);
    js_value refusal = js_undefined(js);
    if (refusal_names[why->refusal] != NULL &&
        js_string(js, cd_str(refusal_names[why->refusal]), &refusal) != 0)
        return js_undefined(js);
    const js_value list[] = {text, js_bool(js, why->overloaded), js_bool(js, why->retryable),
                             js_bool(js, why->reset), refusal};
    return js_array(js, list, CD_COUNT(list));
}

/* The other end has gone, or is taken as gone. */
static void gone(struct wire *s, const struct cell_close *why)
{
    struct js_entry e;
    js_enter(s->handle.w, &e);
    tell(s, &e, 0, 0, why_value(e.w->js, why));
    js_leave(&e);
    if (s->wire != NULL)
        js_handle_close(&s->handle);
}

static void on_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct wire *s = arg;
    (void)w;
    struct cd_str all = cd_buf_str(bytes);
    unsigned kind = all.len >= JS_WIRE_HEAD_SIZE ? (uint8_t)all.ptr[0] : 0;
    enum js_wire_form form = form_of(kind);
    struct cd_str rest = {0};
    if (s->cell != NULL && js_cell_ends(s->cell))
        return; /* The wire ends with the cell. */
    s->held = true;
    if (form != JS_WIRE_FORM_NONE)
        rest = cd_str_of(all.ptr + JS_WIRE_HEAD_SIZE, all.len - JS_WIRE_HEAD_SIZE);
    struct js_entry e;
    js_enter(s->handle.w, &e);
    js_value value = js_undefined(e.w->js);
    bool good = value_read(e.w, form, rest, &value) == 0;
    if (good)
        tell(s, &e, kind, js_wire_id(all), value);
    else
        js_try_clear(&e.t);
    js_leave(&e);
    if (!good && s->wire != NULL) {
        const struct cell_close why = {.text = CD_STR("ill-formed message on a wire")};
        gone(s, &why);
    }
    s->held = false;
    wire_free_if_idle(s);
}

static void on_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct wire *s = arg;
    (void)w;
    if (s->cell != NULL && js_cell_ends(s->cell))
        return;
    s->held = true;
    gone(s, why);
    s->held = false;
    wire_free_if_idle(s);
}

static const struct cell_wire_hooks hooks = {on_message, on_closed, NULL, NULL};

void js_wire_attach(struct js_event *e, struct cell_wire *w)
{
    cell_wire_attach(w, &hooks, wire_new(e, w, true));
}

/* ---- What goes ---- */

static int text_arg(struct js_args *a, unsigned index, struct cd_buf *out)
{
    return js_is_undefined(js_arg(a, index)) ? 0 : js_to_utf8(a->js, js_arg(a, index), out);
}

/* wire_open(event, script, scope, name): the number of the caller's end. name may be undefined. */
int js_op_wire_open(struct js_args *a)
{
    struct js_worker *w = js_worker_of(a);
    uint64_t id;
    int rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct js_event *e = js_event_get(w, id);
    if (e == NULL)
        return js_throw_error(a->js, JS_ERROR, "The event that this operation belongs to has ended.");
    struct cell_router *router = w->site != NULL ? js_site_router(w->site) : NULL;
    if (router == NULL)
        return js_throw_error(a->js, JS_ERROR, "Durable Objects are not served here.");
    struct cd_buf script = {0}, scope = {0}, name = {0};
    rc = text_arg(a, 1, &script);
    if (rc == 0)
        rc = text_arg(a, 2, &scope);
    if (rc == 0)
        rc = text_arg(a, 3, &name);
    if (rc == 0 && !cell_scope_valid(cd_buf_str(&scope)))
        rc =
            js_throw_error(a->js, JS_TYPE_ERROR, "Not the name of a Durable Object: %s", cd_buf_cstr(&scope));
    if (rc == 0) {
        const struct cell_target target = {
            .scope = cd_buf_str(&scope), .script = cd_buf_str(&script), .name = cd_buf_str(&name)};
        struct js_cell *from = js_cell_of(e);
        struct wire *s =
            wire_new(e, cell_call(router, w->io, &target, from != NULL ? js_cell_cell(from) : NULL), false);
        cell_wire_attach(s->wire, &hooks, s);
        js_return_number(a, (double)s->handle.id);
    }
    cd_buf_deinit(&script);
    cd_buf_deinit(&scope);
    cd_buf_deinit(&name);
    return rc;
}

static int value_add(struct js_args *a, js_value v, struct cd_buf *out)
{
    static const struct js_parcel_opts opts = {.storable = true};
    struct js_parcel *p;
    int rc = js_parcel_pack(a->js, v, &opts, &p);
    if (rc != 0)
        return rc;
    struct cd_str bytes = js_parcel_bytes(p);
    if (bytes.len <= VALUE_MAX)
        cd_buf_add_str(out, bytes);
    else
        rc = js_throw_error(a->js, JS_ERROR,
                            "Serialized RPC arguments or return values are limited to 32MiB, but the size of "
                            "this value was: %zu bytes.",
                            bytes.len);
    js_parcel_free(p);
    return rc;
}

static int form_add(struct js_args *a, enum js_wire_form form, js_value v, struct cd_buf *out)
{
    double n;
    struct cd_str bytes;
    uint8_t small[64];
    int rc;
    switch (form) {
    case JS_WIRE_FORM_NONE: return js_throw_error(a->js, JS_ERROR, "no such kind of message");
    case JS_WIRE_FORM_NOTHING: return 0;
    case JS_WIRE_FORM_NUMBER:
        rc = js_to_number(a->js, v, &n);
        if (rc != 0)
            return rc;
        cd_buf_add_u32(out, n >= 0 && n <= UINT32_MAX ? (uint32_t)n : 0);
        return 0;
    case JS_WIRE_FORM_BYTES:
        if (!js_bytes_read(v, small, &bytes))
            return js_throw_error(a->js, JS_TYPE_ERROR, "not bytes");
        cd_buf_add_str(out, bytes);
        return 0;
    case JS_WIRE_FORM_TEXT: return js_to_utf8(a->js, v, out);
    case JS_WIRE_FORM_VALUE: return value_add(a, v, out);
    }
    CD_UNREACHABLE();
}

/* An open end; NULL: there is none of that number any more. */
static int wire_arg(struct js_args *a, unsigned index, struct wire **out)
{
    uint64_t id;
    int rc = js_arg_u64(a, index, &id);
    if (rc != 0)
        return rc;
    struct js_handle *h = cd_map_get_u64(&js_worker_of(a)->handles, id);
    struct wire *s = h != NULL && h->type == &wire_type ? CD_CONTAINER(h, struct wire, handle) : NULL;
    *out = s != NULL && s->wire != NULL ? s : NULL;
    return 0;
}

/* wire_send(wire, kind, id, value): what cannot be sent is thrown; nothing happens when the wire is gone.
 * Gives what wire_unsent does. */
int js_op_wire_send(struct js_args *a)
{
    struct wire *s;
    uint64_t kind, id;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0)
        rc = js_arg_u64(a, 1, &kind);
    if (rc == 0)
        rc = js_arg_u64(a, 2, &id);
    if (rc != 0 || s == NULL)
        return rc;
    rc = js_effect_begin(a, s->handle.event);
    if (rc != 0)
        return rc;
    struct cd_buf message = {0};
    js_wire_add_head(&message, (enum js_wire_kind)kind, (uint32_t)id);
    rc = form_add(a, form_of((unsigned)kind), js_arg(a, 3), &message);
    if (rc == 0) {
        cell_wire_send(s->wire, &message);
        js_return_number(a, (double)cell_wire_unsent(s->wire));
    }
    cd_buf_deinit(&message);
    return rc;
}

/* wire_unsent(wire): bytes that were sent and not taken. */
int js_op_wire_unsent(struct js_args *a)
{
    struct wire *s;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0)
        js_return_number(a, s != NULL ? (double)cell_wire_unsent(s->wire) : 0);
    return rc;
}

/* wire_served(wire): what the call has started at the cell has ended; stubs and streams go on. */
int js_op_wire_served(struct js_args *a)
{
    struct wire *s;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0 && s != NULL && s->served)
        cell_wire_served(s->wire);
    return rc;
}

/* wire_call_begin(wire): whether the cell may have one more call, which came over its end. */
int js_op_wire_call_begin(struct js_args *a)
{
    struct wire *s;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0)
        js_return(a, js_bool(a->js, s != NULL && s->served && cell_wire_call_begin(s->wire)));
    return rc;
}

/* wire_call_end(wire): one that was let in has been answered. */
int js_op_wire_call_end(struct js_args *a)
{
    struct wire *s;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0 && s != NULL)
        cell_wire_call_end(s->wire);
    return rc;
}

struct cell_wire *js_wire_take(struct js_args *a, unsigned index)
{
    struct wire *s;
    if (wire_arg(a, index, &s) != 0 || s == NULL)
        return NULL;
    struct cell_wire *w = s->wire;
    s->wire = NULL;
    cell_wire_attach(w, NULL, NULL);
    js_handle_close(&s->handle);
    return w;
}

void js_wire_drop(struct cell_wire *w)
{
    cell_wire_close(w, NULL);
}

/* wire_listen(wire, on): whether what comes is delivered, or waits. */
int js_op_wire_listen(struct js_args *a)
{
    struct wire *s;
    int rc = wire_arg(a, 0, &s);
    if (rc == 0 && s != NULL)
        cell_wire_attach(s->wire, js_to_bool(a->js, js_arg(a, 1)) ? &hooks : NULL, s);
    return rc;
}

/* wire_close(wire, text): nothing comes any more. text: why the other side must not go on; undefined: it is
 * through. */
int js_op_wire_close(struct js_args *a)
{
    struct wire *s;
    struct cd_buf text = {0};
    int rc = wire_arg(a, 0, &s);
    if (rc == 0)
        rc = text_arg(a, 1, &text);
    if (rc == 0 && s != NULL) {
        wire_shut(s, &(struct cell_close){.text = cd_buf_str(&text)});
        js_handle_close(&s->handle);
    }
    cd_buf_deinit(&text);
    return rc;
}

/* ---- Names of cells: services.md 1.2 ---- */

/* cell_namespace(script, class): its key, for the functions below. */
int js_op_cell_namespace(struct js_args *a)
{
    struct cd_buf script = {0}, class_name = {0};
    struct cell_namespace ns;
    js_value v;
    int rc = js_to_utf8(a->js, js_arg(a, 0), &script);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 1), &class_name);
    if (rc == 0) {
        cell_namespace_init(&ns, cd_buf_str(&script), cd_buf_str(&class_name));
        rc = js_uint8_array_copy(a->js, cd_str_of((const char *)ns.key, sizeof ns.key), &v);
    }
    if (rc == 0)
        js_return(a, v);
    cd_buf_deinit(&script);
    cd_buf_deinit(&class_name);
    return rc;
}

static int namespace_arg(struct js_args *a, struct cell_namespace *out)
{
    uint8_t small[64];
    struct cd_str bytes;
    if (!js_bytes_read(js_arg(a, 0), small, &bytes) || bytes.len != sizeof out->key)
        return js_throw_error(a->js, JS_TYPE_ERROR, "not the key of a namespace");
    memcpy(out->key, bytes.ptr, sizeof out->key);
    return 0;
}

static void return_id(struct js_args *a, const struct cell_id *id)
{
    char text[CELL_ID_TEXT + 1];
    cell_id_text(id, text);
    js_return(a, js_text(a->js, text));
}

/* cell_id_of_name(namespace, name) */
int js_op_cell_id_of_name(struct js_args *a)
{
    struct cell_namespace ns;
    struct cell_id id;
    struct cd_buf name = {0};
    int rc = namespace_arg(a, &ns);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 1), &name);
    if (rc == 0) {
        cell_id_of_name(&id, &ns, cd_buf_str(&name));
        return_id(a, &id);
    }
    cd_buf_deinit(&name);
    return rc;
}

/* cell_id_unique(namespace) */
int js_op_cell_id_unique(struct js_args *a)
{
    struct cell_namespace ns;
    struct cell_id id;
    int rc = namespace_arg(a, &ns);
    if (rc != 0)
        return rc;
    cell_id_unique(&id, &ns, js_worker_of(a)->io);
    return_id(a, &id);
    return 0;
}

/* cell_id_parse(namespace, text): the id as text; undefined: it is none; null: one of another namespace. */
int js_op_cell_id_parse(struct js_args *a)
{
    struct cell_namespace ns;
    struct cell_id id;
    struct cd_buf text = {0};
    int rc = namespace_arg(a, &ns);
    if (rc == 0)
        rc = js_to_utf8(a->js, js_arg(a, 1), &text);
    if (rc == 0) {
        int parsed = cell_id_parse(&id, &ns, cd_buf_str(&text));
        if (parsed == 0)
            return_id(a, &id);
        else if (parsed == CD_EINVAL)
            js_return(a, js_null(a->js));
    }
    cd_buf_deinit(&text);
    return rc;
}
