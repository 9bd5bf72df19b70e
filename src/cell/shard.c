/* cell/shard.c: the cells of a loop: who waits, who may come, and the turn in which the loop acts on them.
 *
 * Whatever has to happen to a cell outside of the call at hand (a reset, a call, a look) is noted in it and
 * done at the loop's next turn (cell_poke): so nothing is taken from under a caller, and the code is always
 * called from the loop. */
#include "cell/cell_internal.h"

/* ---- Records ---- */

struct cell *cell_find(struct cell_shard *s, struct cd_str scope, bool make)
{
    struct cell *c = cd_map_get(&s->cells, scope);
    if (c != NULL || !make)
        return c;
    c = cd_new(struct cell);
    c->shard = s;
    c->scope = cd_str_dup(scope);
    cd_list_init(&c->held);
    cd_list_init(&c->calls);
    cd_list_init(&c->wires);
    if (s->fenced)
        c->state.phase = CELL_FENCED;
    (void)cd_map_put(&s->cells, scope, c);
    return c;
}

bool cell_asleep(const struct cell *c)
{
    enum cell_phase p = c->state.phase;
    return p == CELL_INACTIVE || p == CELL_DORMANT || p == CELL_REMOTE || p == CELL_FENCED;
}

void cell_forget(struct cell *c)
{
    (void)cd_map_remove(&c->shard->cells, cd_str(c->scope));
    struct cd_link *k;
    while ((k = cd_list_first(&c->wires)) != NULL)
        cell_wire_unbind(CD_CONTAINER(k, struct cell_wire, of_cell));
    cd_link_remove(&c->turn);
    cd_link_remove(&c->queue);
    cd_link_remove(&c->going);
    cd_link_remove(&c->placed);
    cell_route_drop(c);
    cd_free(c->scope);
    cd_free(c->script);
    cd_buf_deinit(&c->name);
    cd_buf_deinit(&c->why);
    cd_free(c);
}

/* ---- Activity ---- */

bool cell_active(const struct cell *c)
{
    return c->pins > 0 || c->wake || c->look || c->doomed || !cd_list_empty(&c->held) ||
           !cd_list_empty(&c->calls);
}

void cell_idle_set(struct cell *c, bool idle)
{
    struct cell_shard *s = c->shard;
    if (cd_link_linked(&c->idle)) {
        cd_link_remove(&c->idle);
        s->idle_count--;
    }
    if (!idle)
        return;
    cd_list_push(c->refused ? &s->refused : &s->idle, &c->idle);
    s->idle_count++;
}

void cell_touch(struct cell *c)
{
    struct cell_shard *s = c->shard;
    bool idle = cell_phase_awake(c->state.phase) && !cell_active(c);
    if (c->state.phase == CELL_QUIESCING && cell_quiet(c) && cell_may_try(c))
        cell_poke(c);
    if (idle == cd_link_linked(&c->idle))
        return;
    c->used_ns = io_now_ns(s->o.io);
    cell_idle_set(c, idle);
    if (!idle) {
        c->refused = false;
        if (c->state.phase == CELL_PROVING)
            cell_poke(c); /* The eviction is off. */
        return;
    }
    cell_shard_stir(s);
    if (s->closing || s->press.engaged || !cd_list_empty(&s->slot_queue))
        cell_poke(c);
}

void cell_pin(struct cell *c)
{
    c->pins++;
    cell_touch(c);
}

void cell_unpin(struct cell *c)
{
    CD_ASSERT(c->pins > 0);
    c->pins--;
    cell_touch(c);
}

bool cell_request_begin(struct cell *c)
{
    if (c->requests >= c->shard->o.limits.requests_max || log_feed_full(c->shard->feed))
        return false;
    c->requests++;
    return true;
}

void cell_request_end(struct cell *c)
{
    CD_ASSERT(c->requests > 0);
    c->requests--;
}

/* ---- Orders ---- */

static void refuse(struct cell_wire *w, const char *text, enum cell_refusal refusal)
{
    cell_wire_refuse(w, &(struct cell_close){.text = cd_str(text), .retryable = true, .refusal = refusal});
}

static void demand(struct cell *c)
{
    if (c->state.phase != CELL_RESIDENT)
        cell_feed(c, CELL_EV_DEMAND);
    else
        cell_poke(c);
}

void cell_shard_order(struct cell_shard *s, const struct cell_order *o, struct cell_wire *w)
{
    if (!cell_scope_valid(cd_str(o->scope))) {
        if (w != NULL)
            refuse(w, "not the name of a cell", CELL_NOT_REFUSED);
        return;
    }
    if (s->fenced || s->closing) {
        if (w != NULL)
            refuse(w, "the node is stopping", CELL_REFUSED_DRAINING);
        return;
    }
    if (w != NULL && !fleet_authoritative(s->o.self->authority, io_now_ns(s->o.io))) {
        refuse(w, "the node's lease has run out", CELL_REFUSED_STALE_OWNER); /* Somebody else may have it. */
        return;
    }
    struct cell *c = cell_find(s, cd_str(o->scope), true);
    if (w == NULL) {
        c->look = true;
        c->entries = true; /* That is where the hint comes from. */
        cell_poke(c);
        return;
    }
    if (c->script == NULL && o->script[0] != '\0')
        c->script = cd_str_dup(cd_str(o->script));
    if (c->name.len == 0 && o->name.len <= 1024)
        cd_buf_add_str(&c->name, cd_buf_str(&o->name));
    if (!cell_request_begin(c)) {
        CD_MARK("cell.overload");
        cell_wire_refuse(w, &(struct cell_close){
                                .text = CD_STR(CELL_OVERLOAD_TEXT), .overloaded = true, .retryable = true});
        cell_poke(c); /* Its record may be of no use. */
        return;
    }
    if (o->foreign && o->epoch > c->epoch && cell_phase_awake(c->state.phase)) {
        CD_MARK("cell.older_owner");
        cell_request_end(c);
        refuse(w, "the cell was taken over", CELL_REFUSED_STALE_OWNER);
        return;
    }
    w->counted = true;
    w->foreign = o->foreign;
    w->epoch = o->epoch;
    w->activate = o->activate;
    w->deadline_ns = io_now_ns(s->o.io) + s->o.limits.operation_ns;
    if (o->foreign && o->wait_ns < s->o.limits.operation_ns)
        w->deadline_ns = io_now_ns(s->o.io) + o->wait_ns;
    cell_wire_bind(w, c);
    cd_list_push(&c->calls, &w->queued);
    if (o->foreign && o->epoch == 0 && !cd_link_linked(&c->placed))
        cd_list_push(&s->placed, &c->placed);
    cell_touch(c);
    demand(c);
}

void cell_wake(struct cell_shard *s, struct cd_str scope)
{
    if (s->closing || s->fenced)
        return;
    struct cell *c = cell_find(s, scope, true);
    c->wake = true;
    cell_touch(c);
    cell_poke(c);
}

/* ---- Accessors ---- */

struct io *cell_io(const struct cell *c)
{
    return c->shard->o.io;
}

struct cell_shard *cell_shard_of(const struct cell *c)
{
    return c->shard;
}

struct cd_str cell_scope(const struct cell *c)
{
    return cd_str(c->scope);
}

struct cd_str cell_script(const struct cell *c)
{
    return cd_str(c->script);
}

struct cd_str cell_name(const struct cell *c)
{
    return cd_buf_str(&c->name);
}

uint64_t cell_epoch(const struct cell *c)
{
    return c->epoch;
}

struct db *cell_db(const struct cell *c)
{
    return c->db;
}

struct storage *cell_storage(const struct cell *c)
{
    return c->storage;
}

void cell_set_user(struct cell *c, void *user)
{
    c->user = user;
}

void *cell_user(const struct cell *c)
{
    return c->user;
}

void cell_set_parked(struct cell_shard *s, struct cd_str scope, void *parked)
{
    struct cell *c = cell_find(s, scope, parked != NULL);
    if (c == NULL)
        return;
    c->parked = parked;
    cell_poke(c);
}

void *cell_parked(struct cell_shard *s, struct cd_str scope)
{
    const struct cell *c = cell_find(s, scope, false);
    return c == NULL ? NULL : c->parked;
}
