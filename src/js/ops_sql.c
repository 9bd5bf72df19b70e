/* js/ops_sql.c: host functions: SQL of a cell. services.md 1.5.
 *
 * Rows cross into JavaScript many at a time, as one flat list of values: most queries take a single call. A
 * statement that writes is run to its end at once, so that no effect can find it half done; one that reads
 * goes on where it stopped when JavaScript asks for more. */
#include "js/ops_storage.h"
#include "js/storage_internal.h"

#define BATCH_VALUES 256u /* Of a statement that reads. */
#define BATCH_BYTES 65536u

struct sql_cursor {
    struct js_storage *h;
    struct storage_cursor *c; /* owned */
    uint64_t number; /* 0: JavaScript does not know it. */
    struct js_weak owner; /* An object of the cursor in JavaScript: when it is gone, so are we. */
    char *failed; /* owned; what the next sql_next throws */
};

static void cursor_free(struct sql_cursor *k)
{
    if (k->number != 0)
        cd_map_remove_u64(&k->h->cursors, k->number);
    storage_cursor_close(k->c);
    cd_free(k->failed);
    cd_free(k);
}

static void on_owner_gone(struct js_weak *w)
{
    cursor_free(CD_CONTAINER(w, struct sql_cursor, owner));
}

static void cursor_close(struct sql_cursor *k)
{
    js_weak_clear(&k->owner);
    cursor_free(k);
}

void js_sql_close_all(struct js_storage *h)
{
    struct cd_map_node *n;
    while ((n = cd_map_first(&h->cursors)) != NULL)
        cursor_close(cd_map_value(n));
}

/* ---- Values ---- */

static int value_out(struct js_isolate *js, const struct storage_value *v, js_value *out)
{
    switch (v->type) {
    case STORAGE_NULL: *out = js_null(js); return 0;
    case STORAGE_INTEGER:
        *out = v->integer >= INT32_MIN && v->integer <= INT32_MAX ? js_int(js, (int32_t)v->integer)
                                                                  : js_number(js, (double)v->integer);
        return 0;
    case STORAGE_REAL: *out = js_number(js, v->real); return 0;
    case STORAGE_TEXT: return js_string(js, v->bytes, out);
    case STORAGE_BLOB: return js_buffer_copy(js, v->bytes, out);
    }
    CD_UNREACHABLE();
}

/* Bindings: their texts and bytes are copied to one buffer, which moves while it grows. */
struct bindings {
    struct storage_value value[STORAGE_PARAMETERS_MAX];
    size_t at[STORAGE_PARAMETERS_MAX]; /* Of texts and blobs, in bytes. */
    unsigned count;
    struct cd_buf bytes;
};

static int value_in(struct js_isolate *js, js_value v, struct bindings *b)
{
    struct storage_value *to = &b->value[b->count];
    uint8_t small[64];
    struct cd_str bytes;
    bool lossless;
    b->at[b->count] = b->bytes.len;
    switch (js_kind(v)) {
    case JS_UNDEFINED:
    case JS_NULL: to->type = STORAGE_NULL; break;
    case JS_BOOL: *to = (struct storage_value){.type = STORAGE_INTEGER, .integer = js_to_bool(js, v)}; break;
    case JS_NUMBER: *to = (struct storage_value){.type = STORAGE_REAL, .real = js_as_number(v)}; break;
    case JS_BIGINT:
        *to = (struct storage_value){.type = STORAGE_INTEGER, .integer = js_as_i64(v, &lossless)};
        if (!lossless)
            return js_throw_error(js, JS_RANGE_ERROR,
                                  "A BigInt that is bound to an SQL query must fit into 64 bits.");
        break;
    case JS_STRING:
        to->type = STORAGE_TEXT;
        js_string_add(js, v, &b->bytes);
        break;
    case JS_SYMBOL:
    case JS_OBJECT:
        if (js_kind(v) != JS_OBJECT || !js_bytes_read(v, small, &bytes))
            return js_throw_error(
                js, JS_TYPE_ERROR,
                "Values bound to an SQL query are numbers, strings, booleans, BigInts, null "
                "or ArrayBuffers.");
        to->type = STORAGE_BLOB;
        cd_buf_add_str(&b->bytes, bytes);
        break;
    }
    to->bytes.len =
        to->type == STORAGE_TEXT || to->type == STORAGE_BLOB ? b->bytes.len - b->at[b->count] : to->bytes.len;
    b->count++;
    return 0;
}

/* The arguments from index on. */
static int bindings_read(struct js_args *a, unsigned index, struct bindings *b)
{
    if (a->count > index + STORAGE_PARAMETERS_MAX)
        return js_throw_error(a->js, JS_ERROR, "Wrong number of parameter bindings for SQL query.");
    int rc = 0;
    for (unsigned i = index; i < a->count && rc == 0; i++)
        rc = value_in(a->js, js_arg(a, i), b);
    for (unsigned i = 0; i < b->count; i++) {
        if (b->value[i].type == STORAGE_TEXT || b->value[i].type == STORAGE_BLOB)
            b->value[i].bytes.ptr = b->bytes.ptr + b->at[i];
    }
    return rc;
}

/* ---- Answers: [owner or undefined, number, shape, names or undefined, rows read, rows written, values...].
 * JavaScript asks for more while owner is there. ---- */

enum { OWNER, NUMBER, SHAPE, NAMES, ROWS_READ, ROWS_WRITTEN, VALUES };

static void set(struct cd_buf *answer, unsigned index, js_value v)
{
    memcpy(answer->ptr + index * sizeof(js_value), &v, sizeof(js_value));
}

static int add_row(struct js_args *a, struct sql_cursor *k, struct cd_buf *answer, size_t *bytes)
{
    unsigned columns = storage_cursor_columns(k->c);
    for (unsigned i = 0; i < columns; i++) {
        struct storage_value value;
        js_value v;
        storage_cursor_value(k->c, i, &value);
        int rc = value_out(a->js, &value, &v);
        if (rc != 0)
            return rc;
        if (value.type == STORAGE_TEXT || value.type == STORAGE_BLOB)
            *bytes += value.bytes.len;
        cd_buf_add(answer, &v, sizeof(js_value));
    }
    return 0;
}

/* Adds rows: all of a statement that writes, else as many as fit. An error behind rows is for later. */
static int add_rows(struct js_args *a, struct sql_cursor *k, struct cd_buf *answer)
{
    bool all = storage_cursor_writes(k->c);
    size_t bytes = 0, room = (VALUES + BATCH_VALUES) * sizeof(js_value);
    while (storage_cursor_row(k->c) && (all || (answer->len < room && bytes < BATCH_BYTES))) {
        int rc = add_row(a, k, answer, &bytes);
        if (rc != 0)
            return rc;
        rc = storage_cursor_next(k->c);
        if (rc != 0 && all)
            return js_storage_throw(a, k->h, rc);
        if (rc != 0) {
            int unwound = js_unwind(a);
            if (unwound != 0)
                return unwound;
            k->failed = cd_str_dup(storage_error(k->h->storage));
        }
    }
    return 0;
}

static int names(struct js_args *a, struct sql_cursor *k, js_value *out)
{
    js_value name[STORAGE_PARAMETERS_MAX]; /* SQLite's limit of columns is the same. */
    unsigned count = storage_cursor_columns(k->c);
    CD_ASSERT(count <= CD_COUNT(name));
    for (unsigned i = 0; i < count; i++) {
        int rc = js_string(a->js, storage_cursor_name(k->c, i), &name[i]);
        if (rc != 0)
            return rc;
    }
    *out = js_array(a->js, name, count);
    return 0;
}

/* Fills the answer with the next rows and returns it. On failure the cursor stays the caller's; else it is
 * JavaScript's, or gone. known: the shape whose names JavaScript has. */
static int answer(struct js_args *a, struct sql_cursor *k, uint64_t known)
{
    struct cd_buf values = {0};
    cd_buf_add_zero(&values, VALUES * sizeof(js_value));
    uint64_t shape = storage_cursor_shape(k->c);
    set(&values, OWNER, js_undefined(a->js));
    set(&values, NAMES, js_undefined(a->js));
    set(&values, SHAPE, js_number(a->js, (double)shape));
    js_value v;
    int rc = shape == known ? 0 : names(a, k, &v);
    if (rc == 0 && shape != known)
        set(&values, NAMES, v);
    if (rc == 0)
        rc = add_rows(a, k, &values);
    if (rc == 0) {
        bool more = storage_cursor_row(k->c) || k->failed != NULL;
        if (more && k->number == 0) {
            k->number = ++k->h->last_cursor;
            cd_map_put_u64(&k->h->cursors, k->number, k);
            v = js_object_bare(a->js);
            js_weak_set(a->js, &k->owner, v, on_owner_gone);
            set(&values, OWNER, v);
        } else if (more) {
            v = js_weak_get(a->js, &k->owner);
            set(&values, OWNER, v != NULL ? v : js_undefined(a->js));
        }
        set(&values, NUMBER, js_number(a->js, (double)k->number));
        set(&values, ROWS_READ, js_number(a->js, (double)storage_cursor_read(k->c)));
        set(&values, ROWS_WRITTEN, js_number(a->js, (double)storage_cursor_written(k->c)));
        js_return(a, js_array(a->js, (const js_value *)(void *)values.ptr,
                              (unsigned)(values.len / sizeof(js_value))));
        if (!more && k->number == 0)
            cursor_free(k);
        else if (!more)
            cursor_close(k);
    }
    cd_buf_deinit(&values);
    return rc;
}

/* ---- Host functions ---- */

/* sql_exec(storage, query, known shape or 0, ...bindings): the answer. */
int js_op_sql_exec(struct js_args *a)
{
    struct js_storage *h;
    struct bindings b;
    struct cd_buf sql = {0};
    b.count = 0;
    b.bytes = (struct cd_buf){0};
    int rc = js_arg_storage(a, &h);
    if (rc == 0)
        rc = bindings_read(a, 3, &b);
    struct storage_cursor *c = NULL;
    if (rc == 0) {
        js_string_add(a->js, js_arg(a, 1), &sql);
        rc = storage_sql(h->storage, cd_buf_str(&sql), b.value, b.count, &c);
        if (rc != 0)
            rc = js_storage_throw(a, h, rc);
    }
    cd_buf_deinit(&sql);
    cd_buf_deinit(&b.bytes);
    if (rc != 0)
        return rc;
    struct sql_cursor *k = cd_new(struct sql_cursor);
    k->h = h;
    k->c = c;
    rc = answer(a, k, (uint64_t)js_as_number(js_arg(a, 2)));
    if (rc != 0)
        cursor_free(k);
    return rc;
}

static int arg_cursor(struct js_args *a, struct js_storage *h, struct sql_cursor **out)
{
    uint64_t number;
    int rc = js_arg_u64(a, 1, &number);
    if (rc == 0)
        *out = cd_map_get_u64(&h->cursors, number);
    return rc;
}

/* sql_next(storage, number, known shape): the answer. */
int js_op_sql_next(struct js_args *a)
{
    struct js_storage *h;
    struct sql_cursor *k;
    int rc = js_arg_storage(a, &h);
    if (rc == 0)
        rc = arg_cursor(a, h, &k);
    if (rc != 0)
        return rc;
    if (k == NULL)
        return js_throw_error(a->js, JS_ERROR, "This SQL cursor is closed.");
    if (k->failed != NULL)
        rc = js_throw_error(a->js, JS_ERROR, "%s", k->failed);
    else if (!storage_cursor_row(k->c)) /* It was taken away: the storage says by whom. */
        rc = js_storage_throw(a, h, storage_cursor_next(k->c));
    else
        rc = answer(a, k, (uint64_t)js_as_number(js_arg(a, 2)));
    if (rc != 0)
        cursor_close(k);
    return rc;
}

/* sql_all(): throws when the heap has no room for all rows of a result. runtime.md 2.9. */
int js_op_sql_all(struct js_args *a)
{
    if (js_heap_state_of(a->js) == JS_HEAP_OK)
        return 0;
    return js_throw_error(a->js, JS_ERROR,
                          "toArray(): the isolate is over its heap limit (CELLD_HEAP_LIMIT_MB).");
}

/* sql_close(storage, number): it was not read to its end. */
int js_op_sql_close(struct js_args *a)
{
    struct js_storage *h;
    struct sql_cursor *k;
    int rc = js_arg_storage(a, &h);
    if (rc == 0)
        rc = arg_cursor(a, h, &k);
    if (rc == 0 && k != NULL)
        cursor_close(k);
    return rc;
}

/* sql_size(storage): bytes in use. */
int js_op_sql_size(struct js_args *a)
{
    struct js_storage *h;
    uint64_t size;
    int rc = js_arg_storage(a, &h);
    if (rc != 0)
        return rc;
    rc = storage_size(h->storage, &size);
    if (rc != 0)
        return js_storage_throw(a, h, rc);
    js_return_number(a, (double)size);
    return 0;
}
