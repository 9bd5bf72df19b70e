/* js/no_cells.c: in programs that host no cells this stands for js/cells.c and the host functions that need
 * src/cell: the library celld_no_cells instead of celld_cells. */
#include "js/cell_splice.h"
#include "js/cells.h"
#include "js/ops.h"
#include "js/wire.h"

struct js_cell *js_cell_of(struct js_event *e)
{
    (void)e;
    return NULL;
}

void js_cell_touch(struct js_event *e)
{
    (void)e;
}

void js_cell_ending(struct js_event *e, const char *why)
{
    (void)e, (void)why;
}

void js_cells_turn_end(struct js_worker *w)
{
    CD_ASSERT(w->cells == 0);
}

struct cd_str js_worker_scope(struct js_worker *w)
{
    (void)w;
    return (struct cd_str){0};
}

int js_effect_begin(struct js_args *a, struct js_event *e)
{
    (void)a, (void)e;
    return 0;
}

int js_effect_async(struct js_args *a, struct js_async *s, void (*cancel)(struct js_async *s))
{
    return js_async_begin(a, s, cancel);
}

void js_effect_start(struct js_effect *x, struct js_event *e, struct io_op *op, io_done_fn *done,
                     void (*go)(struct js_effect *x))
{
    (void)e, (void)done;
    x->op = op;
    go(x);
}

void js_effect_cancel(struct js_effect *x)
{
    if (x->op != NULL)
        io_cancel(x->op);
}

struct cell_wire *js_wire_take(struct js_args *a, unsigned index)
{
    (void)a, (void)index;
    return NULL;
}

void js_wire_drop(struct cell_wire *w)
{
    CD_ASSERT(w == NULL);
}

struct http_ws_host *js_splices_host(struct js_splices *s)
{
    (void)s;
    CD_UNREACHABLE();
}

void js_splice(struct http_ws *ws, struct cell_wire *wire)
{
    (void)ws, (void)wire;
    CD_UNREACHABLE();
}

/* The areas whose host functions are in celld_cells. */
#define X(name)                                                                                              \
    int js_op_##name(struct js_args *a)                                                                      \
    {                                                                                                        \
        return js_throw_error(a->js, JS_ERROR, "Durable Objects are not served by this program.");           \
    }
JS_OPS_CELLS(X)
JS_OPS_WIRE(X)
#undef X
