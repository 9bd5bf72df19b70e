/* cell/route.c: from a name to the loop that has the cell, or that knows which node has it (remote.c). */
#include "cell/cell_internal.h"

struct cell_router *cell_router_new(unsigned loops)
{
    CD_ASSERT(loops > 0);
    struct cell_router *r = cd_alloc(sizeof *r + loops * sizeof r->shard[0]);
    r->loops = loops;
    return r;
}

void cell_router_free(struct cell_router *r)
{
    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->loops; i++)
        CD_ASSERT(r->shard[i] == NULL);
    cd_free(r);
}

static void order_free(struct cell_order *o)
{
    cd_free(o->scope);
    cd_free(o->script);
    cd_buf_deinit(&o->name);
    cd_free(o);
}

static void refuse(struct cell_wire *w, const char *why)
{
    cell_wire_refuse(w, &(struct cell_close){.text = cd_str(why), .retryable = true});
}

/* On the loop of the scope. */
static void order_handle(struct io *at, struct io_msg *m)
{
    struct cell_order *o = CD_CONTAINER(m, struct cell_order, msg);
    struct cell_shard *s = o->router->shard[io_loop_index(at)];
    struct cell_wire *w = o->wire;
    if (w != NULL)
        w->io = at;
    if (s != NULL) {
        o->wire = NULL;
        cell_shard_order(s, o, w);
    } else if (w != NULL) {
        refuse(w, "the node is starting or stopping");
    }
    order_free(o);
}

static void order_post(struct cell_router *r, struct io *io, struct cell_order *o)
{
    o->router = r;
    o->msg.handle = order_handle;
    io_post(io, cell_scope_loop(cd_str(o->scope), r->loops), &o->msg);
}

struct cell_wire *cell_call(struct cell_router *r, struct io *io, const struct cell_target *target,
                            struct cell *from)
{
    struct cell_order *o = cd_new(struct cell_order);
    o->scope = cd_str_dup(target->scope);
    o->script = cd_str_dup(target->script);
    cd_buf_add_str(&o->name, target->name);
    o->activate = target->activate;
    struct cell_wire *mine = cell_wire_pair(io, cell_scope_loop(target->scope, r->loops), &o->wire);
    if (from != NULL)
        cell_wire_bind(mine, from);
    order_post(r, io, o);
    return mine;
}

struct folded {
    struct io_msg msg;
    struct cell_router *router;
    char *scope; /* owned */
    uint64_t epoch, max_txid, bytes;
};

static void folded_handle(struct io *at, struct io_msg *m)
{
    struct folded *f = CD_CONTAINER(m, struct folded, msg);
    struct cell_shard *s = f->router->shard[io_loop_index(at)];
    if (s != NULL)
        cell_chain_folded(s, cd_str(f->scope), f->epoch, f->max_txid, f->bytes);
    cd_free(f->scope);
    cd_free(f);
}

void cell_folded(struct cell_router *r, struct io *from, struct cd_str scope, uint64_t epoch,
                 uint64_t max_txid, uint64_t bytes)
{
    struct folded *f = cd_new(struct folded);
    *f = (struct folded){.msg.handle = folded_handle,
                         .router = r,
                         .scope = cd_str_dup(scope),
                         .epoch = epoch,
                         .max_txid = max_txid,
                         .bytes = bytes};
    io_post(from, cell_scope_loop(scope, r->loops), &f->msg);
}

void cell_wake_scope(struct cell_router *r, struct io *from, struct cd_str scope)
{
    if (!cell_scope_valid(scope))
        return; /* Of a listing: somebody else's object. */
    struct cell_order *o = cd_new(struct cell_order);
    o->scope = cd_str_dup(scope);
    order_post(r, from, o);
}
