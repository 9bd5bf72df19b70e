/* js/ops_storage.c: host functions: key-value pairs, transactions and the alarm of a cell. services.md 1.4,
 * 1.6.
 *
 * Values are stored as parcels. What a value's getters do while it is packed may be anything, so the storage
 * is looked up after that. */
#include "js/ops_storage.h"

#include "js/parcel.h"
#include "js/storage_internal.h"

/* ---- Handles ---- */

static void on_close(struct js_handle *handle)
{
    struct js_storage *h = CD_CONTAINER(handle, struct js_storage, handle);
    js_sql_close_all(h);
    storage_interruptible(h->storage, NULL, NULL);
    if (h->closed != NULL)
        h->closed(h->arg);
    cd_map_deinit(&h->cursors);
    cd_free(h->id);
    cd_free(h);
}

static const struct js_handle_type handle_type = {.name = "storage", .close = on_close};

static bool interrupted(void *arg)
{
    return js_terminate_asked(arg);
}

uint64_t js_storage_open(struct js_worker *w, const struct js_storage_opts *opts)
{
    struct js_storage *h = cd_new(struct js_storage);
    h->storage = opts->storage;
    h->id = cd_str_dup(opts->id);
    h->refuse = opts->refuse;
    h->closed = opts->closed;
    h->arg = opts->arg;
    js_handle_init(&h->handle, w, opts->event, &handle_type);
    storage_interruptible(h->storage, interrupted, w->js);
    return h->handle.id;
}

void js_storage_close(struct js_worker *w, uint64_t number)
{
    struct js_handle *handle = cd_map_get_u64(&w->handles, number);
    CD_ASSERT(handle != NULL && handle->type == &handle_type);
    js_handle_close(handle);
}

int js_arg_storage(struct js_args *a, struct js_storage **out)
{
    struct js_handle *handle;
    int rc = js_arg_handle(a, 0, &handle_type, &handle);
    if (rc != 0)
        return rc;
    struct js_storage *h = CD_CONTAINER(handle, struct js_storage, handle);
    const char *refusal = h->refuse != NULL ? h->refuse(a->js, h->arg) : NULL;
    if (refusal != NULL)
        return js_throw_error(a->js, JS_ERROR, "%s", refusal);
    *out = h;
    return 0;
}

int js_storage_throw(struct js_args *a, struct js_storage *h, int rc)
{
    int unwound = js_unwind(a); /* A statement that ended with its turn. */
    if (unwound != 0)
        return unwound;
    struct cd_str text = storage_error(h->storage);
    return js_throw_error(a->js, rc == CD_ETOOBIG ? JS_RANGE_ERROR : JS_ERROR, "%.*s", (int)text.len,
                          text.ptr);
}

/* ---- Values ---- */

static int pack(struct js_args *a, js_value v, struct js_parcel **out)
{
    static const struct js_parcel_opts storable = {.storable = true};
    return js_parcel_pack(a->js, v, &storable, out);
}

static int unpack(struct js_args *a, const struct js_storage *h, struct cd_str key, struct cd_str bytes,
                  js_value *out)
{
    struct js_try t;
    js_try_begin(a->js, &t);
    struct js_parcel *p = js_parcel_of_bytes(bytes);
    int rc = js_parcel_unpack(a->js, p, NULL, out, NULL);
    js_parcel_free(p);
    if (rc != 0 && js_try_terminated(&t)) {
        rc = js_try_rethrow(&t);
        js_try_end(&t);
        return rc;
    }
    js_try_end(&t);
    if (rc == 0)
        return 0;
    return js_throw_error(a->js, JS_ERROR, "actor storage deserialization failed; actorId = %s; key = %.*s",
                          h->id, (int)key.len, key.ptr);
}

/* A growing list of values. They live as long as the host function's scope. */
struct values {
    struct cd_buf buf;
};

static void values_add(struct values *v, js_value value)
{
    cd_buf_add(&v->buf, &value, sizeof(js_value));
}

static void values_return(struct js_args *a, struct values *v)
{
    js_return(
        a, js_array(a->js, (const js_value *)(void *)v->buf.ptr, (unsigned)(v->buf.len / sizeof(js_value))));
}

/* ---- Reading ---- */

/* storage_get(storage, key): the value, or undefined. */
int js_op_storage_get(struct js_args *a)
{
    struct js_storage *h;
    struct cd_buf key = {0};
    struct cd_str bytes;
    js_value v;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    js_string_add(a->js, js_arg(a, 1), &key);
    rc = storage_kv_get(h->storage, cd_buf_str(&key), &bytes);
    if (rc == 0) {
        rc = unpack(a, h, cd_buf_str(&key), bytes, &v);
        if (rc == 0)
            js_return(a, v);
    } else {
        rc = rc == CD_ENOTFOUND ? 0 : js_storage_throw(a, h, rc);
    }
    cd_buf_deinit(&key);
    return rc;
}

struct listing {
    struct js_args *a;
    struct js_storage *h;
    struct values found;
};

static int add_pair(void *arg, struct cd_str key, struct cd_str bytes)
{
    struct listing *l = arg;
    js_value k, v;
    int rc = js_string(l->a->js, key, &k);
    if (rc == 0)
        rc = unpack(l->a, l->h, key, bytes, &v);
    if (rc == 0) {
        values_add(&l->found, k);
        values_add(&l->found, v);
    }
    return rc;
}

/* Of one key of storage_get_all; absent ones are left out. */
static int get_one(struct listing *l, struct cd_str key)
{
    struct cd_str bytes;
    int rc = storage_kv_get(l->h->storage, key, &bytes);
    if (rc == 0)
        return add_pair(l, key, bytes);
    return rc == CD_ENOTFOUND ? 0 : js_storage_throw(l->a, l->h, rc);
}

/* storage_get_all(storage, [key, ...]): [key, value, ...] of those that are there, in the order of keys. */
int js_op_storage_get_all(struct js_args *a)
{
    struct listing l = {.a = a};
    int rc = js_arg_storage(a, &l.h);
    if (rc != 0)
        return rc;
    struct cd_map keys = {0}; /* Sorts them, and drops doubles. */
    struct cd_buf key = {0};
    js_value v;
    unsigned count = js_array_len(js_arg(a, 1));
    for (unsigned i = 0; i < count && rc == 0; i++) {
        rc = js_get_index(a->js, js_arg(a, 1), i, &v);
        if (rc == 0) {
            cd_buf_clear(&key);
            js_string_add(a->js, v, &key);
            cd_map_put(&keys, cd_buf_str(&key), a);
        }
    }
    for (struct cd_map_node *n = cd_map_first(&keys); n != NULL && rc == 0; n = cd_map_next(n))
        rc = get_one(&l, cd_map_key(n));
    if (rc == 0)
        values_return(a, &l.found);
    cd_map_deinit(&keys);
    cd_buf_deinit(&key);
    cd_buf_deinit(&l.found.buf);
    return rc;
}

/* Texts of a list's options; ptr is NULL for an option that is not there. */
struct bounds {
    struct cd_buf start, after, end, prefix;
};

static struct cd_str bound(struct js_args *a, unsigned index, struct cd_buf *buf)
{
    if (js_is_undefined(js_arg(a, index)))
        return (struct cd_str){0};
    js_string_add(a->js, js_arg(a, index), buf);
    return cd_str_of(cd_buf_cstr(buf), buf->len);
}

static bool less(struct cd_str x, struct cd_str y)
{
    return cd_str_cmp(x, y) < 0;
}

/* The range that fulfils all options. The bytes of a bound lie in b. */
static void range_of(struct js_args *a, struct bounds *b, struct storage_range *r)
{
    r->start = bound(a, 1, &b->start);
    struct cd_str after = bound(a, 2, &b->after);
    r->end = bound(a, 3, &b->end);
    struct cd_str prefix = bound(a, 4, &b->prefix);
    if (after.ptr != NULL) {
        r->start = after;
        r->after = true;
    }
    if (prefix.len == 0)
        return;
    if (less(r->start, prefix)) {
        cd_buf_clear(&b->start);
        cd_buf_add_str(&b->start, prefix);
        r->start = cd_buf_str(&b->start);
        r->after = false;
    }
    /* No byte of UTF-8 is 0xFF: the next larger text of bytes ends what starts with the prefix. */
    b->prefix.ptr[b->prefix.len - 1]++;
    if (r->end.ptr == NULL || less(cd_buf_str(&b->prefix), r->end))
        r->end = cd_buf_str(&b->prefix);
}

/* storage_list(storage, start, startAfter, end, prefix, reverse, limit): [key, value, ...]. The texts may be
 * undefined; limit 0: none. */
int js_op_storage_list(struct js_args *a)
{
    struct listing l = {.a = a};
    struct bounds b = {0};
    int rc = js_arg_storage(a, &l.h);
    if (rc != 0)
        return rc;
    struct storage_range range = {.reverse = js_to_bool(a->js, js_arg(a, 5)),
                                  .limit = (uint64_t)js_as_number(js_arg(a, 6))};
    range_of(a, &b, &range);
    rc = storage_kv_list(l.h->storage, &range, add_pair, &l);
    if (rc == 0)
        values_return(a, &l.found);
    else if (rc != JS_THREW)
        rc = js_storage_throw(a, l.h, rc);
    cd_buf_deinit(&b.start);
    cd_buf_deinit(&b.after);
    cd_buf_deinit(&b.end);
    cd_buf_deinit(&b.prefix);
    cd_buf_deinit(&l.found.buf);
    return rc;
}

/* ---- Writing ---- */

static int put_one(struct js_args *a, struct js_storage *h, js_value key, const struct js_parcel *p)
{
    struct cd_buf text = {0};
    js_string_add(a->js, key, &text);
    int rc = storage_kv_put(h->storage, cd_buf_str(&text), js_parcel_bytes(p));
    cd_buf_deinit(&text);
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* storage_put(storage, key, value) */
int js_op_storage_put(struct js_args *a)
{
    struct js_parcel *p;
    struct js_storage *h;
    int rc = pack(a, js_arg(a, 2), &p);
    if (rc != 0)
        return rc;
    rc = js_arg_storage(a, &h);
    if (rc == 0)
        rc = put_one(a, h, js_arg(a, 1), p);
    js_parcel_free(p);
    return rc;
}

static int put_parcels(struct js_args *a, struct js_storage *h, struct js_parcel *const *p, unsigned count)
{
    int rc = storage_begin(h->storage, false);
    if (rc != 0)
        return js_storage_throw(a, h, rc);
    for (unsigned i = 0; i < count && rc == 0; i++) {
        js_value key;
        rc = js_get_index(a->js, js_arg(a, 1), 2 * i, &key);
        if (rc == 0)
            rc = put_one(a, h, key, p[i]);
    }
    int end_rc = storage_end(h->storage, rc == 0);
    return rc != 0 || end_rc == 0 ? rc : js_storage_throw(a, h, end_rc);
}

/* storage_put_all(storage, [key, value, ...]): all of them, or none. */
int js_op_storage_put_all(struct js_args *a)
{
    struct js_storage *h;
    js_value v;
    unsigned count = js_array_len(js_arg(a, 1)) / 2, packed = 0;
    struct js_parcel **p = cd_alloc(count * sizeof(struct js_parcel *));
    int rc = 0;
    while (packed < count && rc == 0) {
        rc = js_get_index(a->js, js_arg(a, 1), 2 * packed + 1, &v);
        if (rc == 0)
            rc = pack(a, v, &p[packed]);
        packed += rc == 0;
    }
    if (rc == 0)
        rc = js_arg_storage(a, &h);
    if (rc == 0 && count > 0)
        rc = put_parcels(a, h, p, count);
    while (packed > 0)
        js_parcel_free(p[--packed]);
    cd_free(p);
    return rc;
}

/* storage_delete(storage, key): whether it was there. */
int js_op_storage_delete(struct js_args *a)
{
    struct js_storage *h;
    bool existed;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    struct cd_buf key = {0};
    js_string_add(a->js, js_arg(a, 1), &key);
    rc = storage_kv_delete(h->storage, cd_buf_str(&key), &existed);
    cd_buf_deinit(&key);
    if (rc != 0)
        return js_storage_throw(a, h, rc);
    js_return_bool(a, existed);
    return 0;
}

/* storage_clear(storage, alarm): everything; the alarm too? */
int js_op_storage_clear(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_delete_all(h->storage, js_to_bool(a->js, js_arg(a, 1)));
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* ---- Transactions ---- */

/* storage_begin(storage, commit what was before) */
int js_op_storage_begin(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_begin(h->storage, js_to_bool(a->js, js_arg(a, 1)));
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* storage_end(storage, keep) */
int js_op_storage_end(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_end(h->storage, js_to_bool(a->js, js_arg(a, 1)));
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* storage_commit(storage): what no open transaction holds. */
int js_op_storage_commit(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    struct cd_buf why = {0};
    rc = storage_turn_end(h->storage, &why);
    cd_buf_deinit(&why);
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* storage_depth(storage): how many transactions are open in each other. */
int js_op_storage_depth(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc == 0)
        js_return_int(a, (int32_t)storage_depth(h->storage));
    return rc;
}

/* ---- The alarm ---- */

/* storage_alarm(storage): milliseconds, or null. */
int js_op_storage_alarm(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    struct storage_alarm seen = storage_alarm_seen(h->storage);
    js_return(a, seen.armed ? js_number(a->js, (double)seen.due_ms) : js_null(a->js));
    return 0;
}

/* storage_alarm_set(storage, ms) */
int js_op_storage_alarm_set(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_alarm_set(h->storage, (int64_t)js_as_number(js_arg(a, 1)));
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}

/* storage_alarm_delete(storage) */
int js_op_storage_alarm_delete(struct js_args *a)
{
    struct js_storage *h;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_alarm_delete(h->storage);
    return rc == 0 ? 0 : js_storage_throw(a, h, rc);
}
