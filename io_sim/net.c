/* io_sim/net.c: listening, connecting, accepting and closing of streams; what peers see of a crash.
 * simulation.md 4. */
#include "io_sim/net.h"

#include <stdio.h>

#define FIRST_PORT 32768u
#define SYN_RETRY_NS IO_SEC(1) /* A full backlog drops the request; it is sent again. */

/* ---- Names ---- */

static void address_of(const struct sim_node *n, bool loopback, char out[64])
{
    if (loopback)
        (void)snprintf(out, 64, "127.0.0.1");
    else
        (void)snprintf(out, 64, "10.0.%u.%u", n->id >> 8 & 255u, n->id & 255u);
}

static bool is_loopback_name(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "localhost") == 0 || strcmp(host, "::1") == 0;
}

static bool is_any_name(const char *host)
{
    return host[0] == '\0' || strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

/* Children live in the network of their parent. */
struct sim_node *sim_net_node(struct sim_node *n)
{
    while (n->parent != NULL)
        n = n->parent;
    return n;
}

struct sim_node *sim_resolve(struct sim_node *from, const char *host, bool *loopback)
{
    struct sim *sim = from->sim;
    *loopback = is_loopback_name(host) || is_any_name(host);
    if (*loopback)
        return sim_net_node(from);
    struct sim_node *n = sim_node_find(sim, host);
    for (struct cd_link *k = cd_list_first(&sim->nodes); k != NULL && n == NULL;
         k = cd_list_next(&sim->nodes, k)) {
        struct sim_node *other = CD_CONTAINER(k, struct sim_node, link);
        char address[64];
        address_of(other, false, address);
        if (strcmp(address, host) == 0)
            n = other;
    }
    return n;
}

/* ---- Connections ---- */

static struct sim_conn *conn_new(struct sim *sim, uint64_t id)
{
    struct sim_conn *c = cd_new(struct sim_conn);
    sim_end_init(&c->end[0], c, 0);
    sim_end_init(&c->end[1], c, 1);
    c->id = id;
    cd_list_push(&sim_net(sim)->conns, &c->link);
    return c;
}

static void conn_free(struct sim_conn *c)
{
    cd_link_remove(&c->link);
    sim_end_deinit(&c->end[0]);
    sim_end_deinit(&c->end[1]);
    cd_free(c);
}

void sim_conn_hold(struct sim_conn *c)
{
    c->refs++;
}

void sim_conn_release(struct sim *sim, struct sim_conn *c)
{
    (void)sim;
    CD_ASSERT(c->refs > 0);
    if (--c->refs == 0)
        conn_free(c);
}

struct sim_event *sim_conn_wire_event(struct sim_end *from, sim_fire_fn *fire)
{
    struct sim *sim = from->node->sim;
    struct sim_event *e = sim_event_new(sim, &sim->wire, SIM_WIRE, fire);
    e->owner = from;
    sim_conn_hold(from->conn);
    return e;
}

void sim_conn_wire_event_end(struct sim *sim, struct sim_event *e)
{
    struct sim_conn *c = ((struct sim_end *)e->owner)->conn;
    sim_event_free(sim, e);
    sim_conn_release(sim, c);
}

static void end_place(struct sim_end *e, struct sim_node *n, struct sim_loop *loop)
{
    e->node = n;
    e->life = n->life;
    e->loop = loop;
}

/* The program of loop has the end as s from now on. */
static void end_attach(struct sim_end *e, struct sim_loop *loop, struct io_stream *s)
{
    sim_conn_hold(e->conn);
    e->loop = loop;
    e->stream = s;
    cd_list_push(&loop->streams, &e->link);
    s->io = &loop->io;
    s->impl = e;
}

static void conn_draw_faults(struct sim_conn *c)
{
    struct sim *sim = c->end[0].node->sim;
    for (unsigned side = 0; side < 2 && !c->pipe; side++) {
        struct sim_end *e = &c->end[side];
        const struct sim_link *l = sim_wire_link(sim, sim_end_wire(e));
        uint64_t draw = sim_draw(sim, "connection", c->id, side);
        e->out.half_open = sim_strikes(draw, l->half_open_ppm);
        if (e->out.half_open)
            e->out.hole_from = sim_mix(draw, 1) % 4096;
        e->out.slow = sim_strikes(sim_mix(draw, 2), l->slow_ppm);
    }
}

void sim_net_pair(struct sim_loop *a, struct io_stream *at_a, struct sim_loop *b, struct io_stream *at_b)
{
    struct sim_node *n = a->node;
    struct sim_conn *c = conn_new(n->sim, sim_draw(n->sim, "pipe", n->id, n->connects++));
    c->pipe = true;
    end_place(&c->end[0], sim_net_node(a->node), a);
    end_place(&c->end[1], sim_net_node(b->node), b);
    end_attach(&c->end[0], a, at_a);
    end_attach(&c->end[1], b, at_b);
}

void sim_net_half(struct sim_loop *a, struct io_stream *at_a)
{
    struct sim_node *n = sim_net_node(a->node);
    struct sim_conn *c = conn_new(n->sim, 0);
    c->pipe = true;
    end_place(&c->end[0], n, a);
    end_place(&c->end[1], n, NULL);
    end_attach(&c->end[0], a, at_a);
    c->end[0].broken = IO_RESET;
    c->end[1].out.fin_at = 0;
    c->end[1].out.fin_arrived = true;
    c->end[1].shut = true;
}

/* ---- Listening ---- */

static uint64_t port_key(const struct sim_node *n, uint16_t port)
{
    return (uint64_t)n->id << 16 | port;
}

static uint16_t free_port(struct sim_net *net, struct sim_node *n)
{
    for (;;) {
        uint16_t port = (uint16_t)(FIRST_PORT + n->next_port++ % (65536u - FIRST_PORT));
        if (cd_map_get_u64(&net->ports, port_key(n, port)) == NULL)
            return port;
    }
}

static int listen_scope(struct sim_listener *l, const char *host, struct sim_node *n)
{
    bool loopback;
    if (is_any_name(host))
        return 0;
    const struct sim_node *of = sim_resolve(n, host, &loopback);
    if (of != n)
        return of == NULL ? CD_EINVAL : IO_UNREACHABLE; /* No address, or not one of this machine. */
    l->loopback_only = loopback;
    l->outside_only = !loopback;
    return 0;
}

int io_listen(struct io_listener *handle, struct io *io, const struct io_addr *at, unsigned flags)
{
    struct sim_loop *loop = sim_loop_of(io);
    struct sim_node *n = sim_net_node(loop->node);
    struct sim_net *net = sim_net(loop->sim);
    int rc = sim_call(loop, SIM_NET_LISTEN);
    if (rc != 0)
        return rc;
    struct sim_listener *l = cd_new(struct sim_listener);
    rc = listen_scope(l, at->host, n);
    if (rc != 0)
        goto free_listener;
    uint16_t port = at->port == 0 ? free_port(net, n) : at->port;
    struct sim_port *p = cd_map_get_u64(&net->ports, port_key(n, port));
    bool shared = (flags & IO_LISTEN_SHARED) != 0;
    if (p != NULL && !(p->shared && shared)) {
        rc = IO_BUSY;
        goto free_listener;
    }
    if (p == NULL) {
        p = cd_new(struct sim_port);
        cd_list_init(&p->listeners);
        p->shared = shared;
        (void)cd_map_put_u64(&net->ports, port_key(n, port), p);
    }
    l->loop = loop;
    l->addr = *at;
    l->addr.port = port;
    l->port = p;
    p->count++;
    cd_list_push(&p->listeners, &l->same);
    cd_list_push(&loop->listeners, &l->link);
    cd_list_init(&l->backlog);
    l->handle = handle;
    handle->io = io;
    handle->impl = l;
    sim_note(loop, SIM_NET_LISTEN, 0, NULL, port, NULL);
    return 0;

free_listener:
    cd_free(l);
    return rc;
}

void io_listener_addr(const struct io_listener *handle, struct io_addr *out)
{
    const struct sim_listener *l = handle->impl;
    *out = l->addr;
}

int io_listener_cover(struct io_listener *handle, unsigned loop)
{
    struct sim_listener *l = handle->impl;
    CD_ASSERT(l->port->shared && loop != io_loop_index(handle->io));
    for (struct cd_link *k = cd_list_first(&l->port->listeners); k != NULL;
         k = cd_list_next(&l->port->listeners, k)) {
        if (io_loop_index(&CD_CONTAINER(k, struct sim_listener, same)->loop->io) == loop)
            return IO_OK;
    }
    return loop == IO_NO_LOOP ? IO_OK : IO_NOENT;
}

/* No connection reaches it any more; those that wait in its backlog are reset. */
static void listener_shut(struct sim_listener *l, bool silent)
{
    if (l->dead)
        return;
    l->dead = true;
    struct sim *sim = l->loop->sim;
    struct sim_node *n = sim_net_node(l->loop->node);
    cd_link_remove(&l->same);
    if (--l->port->count == 0) {
        (void)cd_map_remove_u64(&sim_net(sim)->ports, port_key(n, l->addr.port));
        cd_free(l->port);
    }
    struct cd_link *k;
    while ((k = cd_list_pop(&l->backlog)) != NULL) {
        struct sim_end *e = CD_CONTAINER(k, struct sim_end, link);
        e->silent = silent;
        e->shut = true;
        sim_end_send_reset(e);
        sim_conn_release(sim, e->conn);
    }
    l->waiting = 0;
}

static void accept_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_listener *l = ev->owner;
    struct sim_end *e = CD_CONTAINER(cd_list_pop(&l->backlog), struct sim_end, link);
    l->waiting--;
    end_attach(e, l->loop, l->into);
    sim_conn_release(sim, e->conn); /* The backlog's hold. */
    l->into = NULL;
    sim->record.len = e->port;
    sim_op_done(sim, ev, IO_OK);
}

static void accept_kick(struct sim_listener *l)
{
    if (l->accept == NULL || l->accept->settled || l->accept->index != SIM_PARKED || l->waiting == 0)
        return;
    sim_schedule(l->loop->sim, l->accept, 0);
}

static void accept_ended(struct sim *sim, struct sim_event *ev)
{
    struct sim_listener *l = ev->owner;
    l->accept = NULL;
    if (l->close != NULL)
        sim_schedule(sim, l->close, 0);
}

void io_accept(struct io_listener *handle, struct io_stream *into, struct io_op *op, io_done_fn *done)
{
    struct sim_listener *l = handle->impl;
    CD_ASSERT(l->accept == NULL && l->close == NULL && into->io == NULL);
    struct sim_event *ev = sim_op_begin(op, handle->io, done, SIM_NET_ACCEPT);
    l->accept = op->impl;
    l->accept->owner = l;
    l->accept->ended = accept_ended;
    if (ev == NULL)
        return;
    l->into = into;
    ev->fire = accept_fire;
    accept_kick(l);
}

static void listener_close_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_listener *l = ev->owner;
    l->handle->io = NULL;
    l->handle->impl = NULL;
    cd_link_remove(&l->link);
    cd_free(l);
    sim_op_done(sim, ev, IO_OK);
}

void io_listener_close(struct io_listener *handle, struct io_op *op, io_done_fn *done)
{
    struct sim_listener *l = handle->impl;
    CD_ASSERT(l != NULL && l->close == NULL);
    struct sim_event *ev = sim_op_begin_closing(op, handle->io, done, SIM_NET_CLOSE);
    ev->owner = l;
    ev->fire = listener_close_fire;
    l->handle = handle;
    l->close = ev;
    listener_shut(l, false);
    if (l->accept != NULL)
        io_cancel(l->accept->op);
    else
        sim_schedule(l->loop->sim, ev, 0);
}

/* ---- Connecting ---- */

static struct sim_listener *listener_for(struct sim_conn *c, uint16_t port)
{
    struct sim_node *n = c->end[1].node;
    struct sim_port *p = cd_map_get_u64(&sim_net(n->sim)->ports, port_key(n, port));
    if (p == NULL)
        return NULL;
    /* Of several on the same port, any: the system hashes connections too. */
    uint64_t skip = sim_mix(c->id, 7) % p->count;
    for (struct cd_link *k = cd_list_first(&p->listeners);; k = cd_list_next(&p->listeners, k)) {
        struct sim_listener *l = CD_CONTAINER(k, struct sim_listener, same);
        if (skip-- == 0)
            return (c->loopback ? l->outside_only : l->loopback_only) ? NULL : l;
    }
}

static void connect_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_conn *c = ev->owner;
    c->connecting = NULL;
    end_attach(&c->end[0], ev->actor->loop, c->into);
    sim_conn_release(sim, c);
    sim_op_done(sim, ev, IO_OK);
}

static void connect_failed(struct sim *sim, struct sim_event *ev)
{
    struct sim_conn *c = ev->owner;
    if (c->connecting == NULL)
        return; /* It was made. */
    c->connecting = NULL;
    c->end[0].shut = true;
    sim_conn_release(sim, c);
}

static void connect_late_fire(struct sim *sim, struct sim_event *ev)
{
    sim_op_done(sim, ev, IO_TIMEDOUT);
}

/* The answer is back at who connects. */
static void syn_ack_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *b = ev->owner;
    struct sim_conn *c = b->conn;
    struct sim_wire *w = sim_end_wire(b);
    if (sim_wire_held(w)) {
        cd_list_push(&w->waiting, &ev->link);
        return;
    }
    if (c->connecting != NULL && !c->connecting->settled) {
        sim_op_finish(c->connecting, IO_OK, 0);
        c->connecting->fire = connect_fire;
    } else if (c->connecting == NULL && !c->end[0].silent) {
        c->end[0].shut = true;
        sim_end_send_reset(&c->end[0]); /* Nobody wants it any more. */
    }
    sim_conn_wire_event_end(sim, ev);
}

static void refuse(struct sim *sim, struct sim_end *b)
{
    struct sim_conn *c = b->conn;
    uint64_t delay = sim_wire_delay(sim, sim_end_wire(b), 0, sim_mix(c->id, 3));
    if (c->connecting != NULL && delay != UINT64_MAX)
        sim_op_finish(c->connecting, IO_REFUSED, delay);
}

/* The request is there. */
static void syn_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *a = ev->owner, *b = sim_end_other(a);
    struct sim_wire *w = sim_end_wire(a);
    struct sim_node *n = b->node;
    if (sim_wire_held(w)) {
        cd_list_push(&w->waiting, &ev->link);
        return;
    }
    bool gone = n->state != SIM_UP && n->how == SIM_POWER; /* Nobody answers: it ends by its own patience. */
    struct sim_listener *l = gone ? NULL : listener_for(a->conn, b->port);
    sim->record.note = n->name;
    sim->record.len = b->port;
    if (l != NULL && l->waiting >= SIM_BACKLOG_MAX && a->conn->connecting != NULL) {
        sim_schedule(sim, ev, SYN_RETRY_NS);
        return;
    }
    if (l == NULL && !gone)
        refuse(sim, b);
    if (l != NULL && l->waiting < SIM_BACKLOG_MAX) {
        end_place(b, sim_net_node(l->loop->node), NULL);
        conn_draw_faults(a->conn);
        sim_conn_hold(a->conn);
        cd_list_push(&l->backlog, &b->link);
        l->waiting++;
        accept_kick(l);
        uint64_t delay = sim_wire_delay(sim, sim_end_wire(b), 0, sim_mix(a->conn->id, 2));
        b->out.last_at_ns = sim->now_ns + (delay == UINT64_MAX ? 0 : delay);
        if (delay != UINT64_MAX)
            sim_schedule(sim, sim_conn_wire_event(b, syn_ack_fire), delay);
    }
    sim_conn_wire_event_end(sim, ev);
}

/* The peers' addresses, as each end sees the other. */
static void conn_addresses(struct sim_conn *c, struct sim_node *from, uint16_t port)
{
    struct sim_end *a = &c->end[0], *b = &c->end[1];
    a->port = free_port(sim_net(from->sim), from);
    b->port = port;
    address_of(b->node, c->loopback, a->peer);
    address_of(from, c->loopback, b->peer);
}

void io_connect(struct io_stream *s, struct io *io, const struct io_addr *to, struct io_op *op,
                io_done_fn *done)
{
    struct sim_loop *loop = sim_loop_of(io);
    struct sim *sim = loop->sim;
    struct sim_node *from = sim_net_node(loop->node);
    CD_ASSERT(s->io == NULL);
    struct sim_event *ev = sim_op_begin(op, io, done, SIM_NET_CONNECT);
    if (ev == NULL)
        return;
    bool loopback, named = to->host[0] != '\0' && memchr(to->host, '\0', sizeof to->host) != NULL;
    struct sim_node *n = named ? sim_resolve(from, to->host, &loopback) : NULL;
    if (n == NULL || n->pseudo) {
        sim_op_finish(ev, IO_NOENT, 0);
        return;
    }
    uint64_t id = sim_draw(sim, "connect", cd_hash64(0, from->name, strlen(from->name)), from->connects++);
    struct sim_conn *c = conn_new(sim, id);
    c->loopback = loopback;
    c->into = s;
    c->connecting = ev;
    sim_conn_hold(c);
    end_place(&c->end[0], from, loop);
    end_place(&c->end[1], n, NULL);
    conn_addresses(c, from, to->port);
    ev->owner = c;
    ev->ended = connect_failed;
    struct sim_wire *w = sim_end_wire(&c->end[0]);
    const struct sim_link *l = sim_wire_link(sim, w);
    uint64_t delay = sim_wire_delay(sim, w, 0, sim_mix(id, 1));
    if (sim_strikes(sim_mix(id, 5), l->refuse_ppm)) {
        sim_op_finish(ev, IO_REFUSED, delay == UINT64_MAX ? 0 : delay);
        return;
    }
    ev->fire = connect_late_fire;
    sim_schedule(sim, ev, sim_give_up_ns(sim, w));
    if (delay != UINT64_MAX)
        sim_schedule(sim, sim_conn_wire_event(&c->end[0], syn_fire), delay);
}

/* Nobody here speaks TLS: the stream stays what it is. */
void io_stream_secure(struct io_stream *s, const char *name, struct io_secure *t, io_done_fn *done)
{
    CD_ASSERT(name[0] != 0);
    t->why[0] = 0;
    io_defer(&t->op, s->io, IO_OK, done);
}

void io_stream_peer(const struct io_stream *s, struct io_addr *out)
{
    struct sim_end *e = s->impl;
    *out = (struct io_addr){0};
    if (e->conn->pipe)
        return;
    (void)snprintf(out->host, sizeof out->host, "%s", e->peer);
    out->port = sim_end_other(e)->port;
}

/* ---- Closing ---- */

static void stream_close_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *e = ev->owner;
    e->stream->io = NULL;
    e->stream->impl = NULL;
    e->stream = NULL;
    e->close = NULL;
    e->loop = NULL;
    cd_link_remove(&e->link);
    cd_free(e->lent);
    e->lent = NULL;
    sim_conn_release(sim, e->conn);
    sim_op_done(sim, ev, IO_OK);
}

void io_stream_close(struct io_stream *s, bool abort, struct io_op *op, io_done_fn *done)
{
    struct sim_end *e = s->impl;
    CD_ASSERT(e != NULL && e->close == NULL);
    struct sim_event *ev = sim_op_begin_closing(op, s->io, done, SIM_NET_CLOSE);
    ev->owner = e;
    ev->fire = stream_close_fire;
    e->stream = s;
    e->close = ev;
    sim_end_drop_pending(e);
    if (!e->shut) {
        e->shut = true;
        if (abort)
            sim_end_send_reset(e);
        else
            sim_end_fin(e);
    }
    if (e->ops == 0)
        sim_schedule(e->node->sim, ev, 0);
}

/* ---- Crash ---- */

/* The kernel of a killed process ends its connections; of a machine without power nothing is heard. */
static void end_freeze(struct sim_end *e, enum sim_crash how)
{
    struct sim_pipe *in = &sim_end_other(e)->out;
    if (e->shut || e->silent)
        return;
    if (how == SIM_POWER) {
        e->silent = true;
        return;
    }
    if (in->arrived > in->consumed)
        sim_end_send_reset(e); /* Unread bytes: the system answers with a reset. */
    else
        sim_end_fin(e);
    e->shut = true;
}

void sim_net_freeze(struct sim_node *n, enum sim_crash how)
{
    struct sim *sim = n->sim;
    for (unsigned i = 0; i < n->loops; i++) {
        struct sim_loop *loop = n->loop[i];
        for (struct cd_link *k = cd_list_first(&loop->listeners); k != NULL;
             k = cd_list_next(&loop->listeners, k))
            listener_shut(CD_CONTAINER(k, struct sim_listener, link), how == SIM_POWER);
        for (struct cd_link *k = cd_list_first(&loop->streams); k != NULL;
             k = cd_list_next(&loop->streams, k))
            end_freeze(CD_CONTAINER(k, struct sim_end, link), how);
    }
    (void)sim;
}

unsigned sim_reset(struct sim *sim, struct sim_node *a, struct sim_node *b)
{
    unsigned count = 0;
    struct sim_net *net = sim_net(sim);
    for (struct cd_link *k = cd_list_first(&net->conns); k != NULL; k = cd_list_next(&net->conns, k)) {
        struct sim_conn *c = CD_CONTAINER(k, struct sim_conn, link);
        struct sim_node *x = sim_net_node(c->end[0].node), *y = sim_net_node(c->end[1].node);
        if (c->pipe || c->connecting != NULL || !((x == a && y == b) || (x == b && y == a)))
            continue;
        for (unsigned side = 0; side < 2; side++) {
            if (!c->end[side].silent)
                sim_end_break(&c->end[side], IO_RESET);
            c->end[side].out.hole_from = c->end[side].out.arrived;
        }
        count++;
    }
    return count;
}

size_t sim_net_left(struct sim_loop *loop, struct cd_buf *report)
{
    size_t count = 0;
    for (struct cd_link *k = cd_list_first(&loop->listeners); k != NULL;
         k = cd_list_next(&loop->listeners, k)) {
        const struct sim_listener *l = CD_CONTAINER(k, struct sim_listener, link);
        count++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u listener %s:%u\n", loop->node->name, loop->index, l->addr.host,
                        l->addr.port);
    }
    for (struct cd_link *k = cd_list_first(&loop->streams); k != NULL; k = cd_list_next(&loop->streams, k)) {
        struct sim_end *e = CD_CONTAINER(k, struct sim_end, link);
        count++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u stream to %s:%u\n", loop->node->name, loop->index, e->peer,
                        sim_end_other(e)->port);
    }
    return count;
}

static void map_free(struct cd_map *m)
{
    for (struct cd_map_node *k = cd_map_first(m); k != NULL; k = cd_map_next(k))
        cd_free(cd_map_value(k));
    cd_map_deinit(m);
}

void sim_net_free(struct sim *sim)
{
    struct sim_net *net = sim->net;
    if (net == NULL)
        return;
    sim->net = NULL;
    struct cd_link *k;
    while ((k = cd_list_first(&net->conns)) != NULL)
        conn_free(CD_CONTAINER(k, struct sim_conn, link)); /* Bytes on the wire may still have held it. */
    CD_ASSERT(net->ports.count == 0);
    map_free(&net->wires);
    map_free(&net->rules);
    cd_free(net);
}
