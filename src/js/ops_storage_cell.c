/* js/ops_storage_cell.c: host functions: which storage is a cell's, and the proof of what it wrote. */
#include "js/cells.h"
#include "js/ops.h"
#include "js/storage.h"

/* ---- Who may use it ---- */

#define OTHER_CELL "Cannot perform I/O on behalf of a different Durable Object."

struct user {
    struct js_event *event; /* The cell's. */
    struct js_ref frame; /* The last one of it that was seen: most uses come from the same. */
};

/* Frames are those of runtime/core.js. Without one the code belongs to no event. */
static bool is_of(struct js_isolate *js, js_value frame, uint64_t id)
{
    js_value v;
    struct js_try t;
    js_try_begin(js, &t);
    bool is = js_get_text(js, frame, "context", &v) == 0 && js_kind(v) == JS_OBJECT &&
              js_get_text(js, v, "id", &v) == 0 && js_kind(v) == JS_NUMBER && js_as_number(v) == (double)id;
    js_try_end(&t);
    return is;
}

static const char *refuse(struct js_isolate *js, void *arg)
{
    struct user *u = arg;
    js_value frame = js_continuation(js), known = js_ref_get(js, &u->frame);
    js_cell_touch(u->event); /* What it writes is committed when the turn ends. */
    if (known != NULL && js_same(known, frame))
        return NULL;
    if (js_kind(frame) != JS_OBJECT)
        return NULL;
    if (!is_of(js, frame, u->event->id))
        return OTHER_CELL;
    js_ref_set(js, &u->frame, frame);
    return NULL;
}

static void closed(void *arg)
{
    struct user *u = arg;
    js_ref_clear(&u->frame);
    cd_free(u);
}

/* storage_of(the cell's event): the number of its storage. Once. */
int js_op_storage_of(struct js_args *a)
{
    struct js_cell *c;
    uint64_t id;
    int rc = js_arg_cell(a, 0, &c);
    if (rc == 0)
        rc = js_arg_u64(a, 0, &id);
    if (rc != 0)
        return rc;
    struct user *u = cd_new(struct user);
    u->event = js_event_get(js_worker_of(a), id);
    struct cell *cell = js_cell_cell(c);
    uint64_t number =
        js_storage_open(js_worker_of(a), &(struct js_storage_opts){.storage = cell_storage(cell),
                                                                   .id = cell_scope(cell),
                                                                   .event = u->event,
                                                                   .refuse = refuse,
                                                                   .closed = closed,
                                                                   .arg = u});
    js_return_number(a, (double)number);
    return 0;
}

/* ---- sync() ---- */

struct sync {
    struct js_async async;
    struct js_effect effect;
    struct io_op op;
};

static void sync_cancel(struct js_async *s)
{
    js_effect_cancel(&CD_CONTAINER(s, struct sync, async)->effect);
}

static void sync_done(struct io_op *op, int status)
{
    struct sync *y = CD_CONTAINER(op, struct sync, op);
    struct js_async s;
    bool wanted = js_async_take(&y->async, &s);
    cd_free(y);
    if (wanted)
        js_async_status(&s, status, "the durability of what was written is unproven");
    js_async_end(&s);
}

static void sync_go(struct js_effect *x)
{
    io_defer(x->op, x->io, IO_OK, x->done);
}

/* storage_synced(event, promise): when all that was committed is proven. */
int js_op_storage_synced(struct js_args *a)
{
    struct sync *y = cd_new(struct sync);
    int rc = js_effect_async(a, &y->async, sync_cancel);
    if (rc != 0) {
        cd_free(y);
        return rc;
    }
    js_effect_start(&y->effect, y->async.event, &y->op, sync_done, sync_go);
    return 0;
}
