/* cell/remote.c: cells that another node has: the route there, and how often it is looked up again. fleet.md
 * 4.4, 9.10.
 *
 * A route is what one look at the records told. It is used until the lease that was read there ends and not
 * after that, whatever connection is open. An attempt that certainly did not start (relay.c) drops it; the
 * next look follows at once, which finds who was handed the cell, then after 50 ms, then twice as long up to
 * 1 s, and when the lease ends: by then the record may name somebody else, or its owner is dead and the cell
 * is taken over. The calls wait here meanwhile, as for any activation. */
#include <stdio.h>

#include "cell/cell_internal.h"

#define AGAIN_MIN_NS IO_MS(50)
#define AGAIN_MAX_NS IO_SEC(1)
#define ROUTES_MAX 65536u /* Of a shard: half a kilobyte each, and the cell's record. */

bool cell_route_fresh(const struct cell *c)
{
    if (c->route == NULL)
        return false;
    return io_now_ns(c->shard->o.io) < c->route->until_ns || CD_PLANT("cell.route-for-ever");
}

void cell_route_drop(struct cell *c)
{
    if (c->route == NULL)
        return;
    cd_link_remove(&c->route->link);
    cd_free(c->route);
    c->route = NULL;
}

void cell_route_set(struct cell *c, const struct fleet_claim *found)
{
    struct cell_shard *s = c->shard;
    int64_t left_ms = found->until_ms - io_wall_ms(s->o.io);
    cell_route_drop(c);
    c->looked_up = true;
    if (found->end != FLEET_CLAIM_REMOTE)
        return;
    if (left_ms <= 0) { /* It ended meanwhile. */
        c->retry_ns = io_now_ns(s->o.io) + AGAIN_MIN_NS;
        return;
    }
    s->route_refreshes++;
    struct cell_route *r = cd_new(struct cell_route);
    r->cell = c;
    memcpy(r->target, found->live, sizeof r->target);
    memcpy(r->addr, found->addr, sizeof r->addr);
    r->epoch = found->epoch;
    r->until_ns = io_now_ns(s->o.io) + IO_MS(left_ms);
    c->route = r;
    cd_list_push(&s->routes, &r->link);
    if (c->shard->cells.count >
        ROUTES_MAX) { /* The oldest may be of use still; it costs a look at records. */
        struct cell *old = CD_CONTAINER(cd_list_first(&s->routes), struct cell_route, link)->cell;
        if (old != c && old->relays == 0 && cd_list_empty(&old->calls)) {
            cell_route_drop(old);
            cell_poke(old);
        }
    }
    cell_shard_stir(s);
}

void cell_routes_look(struct cell_shard *s, uint64_t now_ns)
{
    struct cd_link *k;
    while ((k = cd_list_first(&s->routes)) != NULL) {
        struct cell_route *r = CD_CONTAINER(k, struct cell_route, link);
        if (now_ns < r->until_ns || CD_PLANT("cell.route-for-ever"))
            return;
        struct cell *c = r->cell;
        cell_route_drop(c);
        cell_poke(c);
    }
}

bool cell_only_foreign(const struct cell *c)
{
    if (c->wake || c->look || cd_list_empty(&c->calls))
        return false;
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = cd_list_next(&c->calls, k)) {
        const struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (!w->foreign || w->epoch == 0) /* Epoch 0: it was nobody's, and was sent here for our room. */
            return false;
    }
    return true;
}

/* ---- The next look ---- */

static void expire(struct cell *c, uint64_t now)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = next) {
        next = cd_list_next(&c->calls, k);
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (w->deadline_ns > now)
            continue;
        CD_MARK("cell.route_deadline");
        cell_wire_refuse(w, &(struct cell_close){.text = cd_buf_str(&c->why), .retryable = true});
    }
}

static void again_done(struct io_op *op, int status);

static void again_soon(struct cell_shard *s)
{
    if (!io_busy(&s->again_timer.op) && !cd_list_empty(&s->again) && !s->closing && !s->fenced)
        io_timer_start(&s->again_timer, s->o.io, AGAIN_MIN_NS, again_done);
}

static void again_done(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, again_timer.op);
    uint64_t now = io_now_ns(s->o.io);
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&s->again); k != NULL && status == IO_OK; k = next) {
        next = cd_list_next(&s->again, k);
        struct cell *c = CD_CONTAINER(k, struct cell, queue);
        expire(c, now);
        if (cd_list_empty(&c->calls))
            cd_link_remove(&c->queue);
        else if (now >= c->retry_ns)
            cell_feed(c, CELL_EV_RETRY);
        cell_poke(c);
    }
    if (status == IO_OK)
        again_soon(s);
    cell_shard_settle(s);
}

/* ---- Calls ---- */

/* What other nodes sent here is not sent on: they look at the record themselves. True: one of them knows of a
 * later owner than the route, which is no news (looked_up: the record was read just now). */
static bool refuse_foreign(struct cell *c, bool looked_up)
{
    struct cd_link *next;
    bool later = false;
    for (struct cd_link *k = cd_list_first(&c->calls); k != NULL; k = next) {
        next = cd_list_next(&c->calls, k);
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (!w->foreign)
            continue;
        if (!looked_up && (c->route == NULL || w->epoch > c->route->epoch)) {
            later = true;
            continue;
        }
        CD_MARK("cell.stale_owner");
        cell_wire_refuse(w, &(struct cell_close){.text = CD_STR("another node has the cell"),
                                                 .retryable = true,
                                                 .refusal = CELL_REFUSED_STALE_OWNER});
    }
    return later;
}

bool cell_where_read(struct cd_str message, struct cell_where *out)
{
    if (message.len < 10)
        return false;
    size_t len = cd_get_u16(message.ptr + 8);
    *out = (struct cell_where){.epoch = cd_get_u64(message.ptr),
                               .session = cd_str_sub(message, 10, len),
                               .addr = cd_str_sub(message, 10 + len, SIZE_MAX)};
    return out->session.len == len;
}

/* Who wants it in the memory of this node. */
static void refuse_activation(const struct cell *c, struct cell_wire *w)
{
    struct cd_buf text = {0}, where = {0};
    cd_buf_add_u64(&where, c->route->epoch);
    cd_buf_add_u16(&where, (uint16_t)strlen(c->route->target));
    cd_buf_addf(&where, "%s%s", c->route->target, c->route->addr);
    cell_wire_detach_cell(w); /* There is no code whose gate it could wait at. */
    cell_wire_send(w, &where);
    cd_buf_addf(&text, "another node has the cell: %s at %s, epoch %llu", c->route->target, c->route->addr,
                (unsigned long long)c->route->epoch);
    cell_wire_refuse(w, &(struct cell_close){.text = cd_buf_str(&text),
                                             .retryable = true,
                                             .refusal = CELL_REFUSED_STALE_OWNER});
    cd_buf_deinit(&text);
}

void cell_forward(struct cell *c)
{
    struct cell_shard *s = c->shard;
    struct cd_link *k;
    bool looked_up = c->looked_up;
    c->looked_up = false;
    c->look = false; /* Its owner looks after its alarm. */
    if (c->wake)
        cell_alarm_retry(c);
    c->wake = false;
    /* Sockets that are parked do not move: their clients open them again. */
    cell_fail_wires(c, &(struct cell_close){.text = CD_STR("another node has the cell"), .retryable = true});
    if (c->route != NULL && !cell_route_fresh(c))
        cell_route_drop(c);
    if (refuse_foreign(c, looked_up))
        cell_route_drop(c);
    while (c->route != NULL && (k = cd_list_first(&c->calls)) != NULL) {
        struct cell_wire *w = CD_CONTAINER(k, struct cell_wire, queued);
        if (w->activate)
            refuse_activation(c, w);
        else
            cell_relay_forward(c, w);
    }
    if (cd_list_empty(&c->calls) || s->closing)
        return;
    if (io_now_ns(s->o.io) >= c->retry_ns) {
        cell_feed(c, CELL_EV_RETRY);
    } else if (!cd_link_linked(&c->queue)) {
        cd_list_push(&s->again, &c->queue);
        again_soon(s);
    }
}

static void put_in_order(struct cell *c, struct cell_wire *w)
{
    struct cd_link *k = cd_list_first(&c->calls);
    while (k != NULL && CD_CONTAINER(k, struct cell_wire, queued)->deadline_ns <= w->deadline_ns)
        k = cd_list_next(&c->calls, k);
    if (k == NULL)
        cd_list_push(&c->calls, &w->queued);
    else
        cd_list_insert_before(k, &w->queued);
}

void cell_call_back(struct cell *c, struct cell_wire *w, const char *target, uint64_t epoch,
                    const struct cell_close *why)
{
    struct cell_shard *s = c->shard;
    uint64_t now = io_now_ns(s->o.io);
    if (epoch == 0 && why->refusal != CELL_REFUSED_STALE_OWNER && s->o.router->place_refused != NULL)
        s->o.router->place_refused(s->o.router, s->o.io, target);
    if (c->route != NULL && c->route->epoch == epoch && strcmp(c->route->target, target) == 0) {
        uint64_t wait = c->tries == 0 ? 0 : AGAIN_MIN_NS << (c->tries < 6 ? c->tries - 1 : 5);
        uint64_t until_ns = c->route->until_ns; /* Then whoever looks may take it over. */
        cell_route_drop(c);
        c->tries++;
        c->retry_ns = now + (wait < AGAIN_MAX_NS ? wait : AGAIN_MAX_NS);
        if (now < until_ns && until_ns < c->retry_ns)
            c->retry_ns = until_ns;
    }
    if (c->state.phase == CELL_REMOTE) { /* What those hear whose time is over before the next look. */
        cd_buf_clear(&c->why);
        cd_buf_add_str(&c->why, why->text);
    }
    cell_poke(c);
    if (s->closing || s->fenced || now >= w->deadline_ns || !cell_request_begin(c)) {
        struct cell_close end = *why;
        end.retryable = true;
        cell_wire_refuse(w, &end);
        return;
    }
    CD_MARK("cell.call_back");
    w->counted = true;
    cell_wire_bind(w, c);
    put_in_order(c, w);
    cell_touch(c);
}
