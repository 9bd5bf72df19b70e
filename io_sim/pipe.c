/* io_sim/pipe.c: bytes of connections: writing, flying, reading, ends and resets of streams. */
#include <stdio.h>

#include "io_sim/net.h"

#define NONE UINT64_MAX
#define SLOW_NS IO_MS(50)
#define SLOW_BYTES 1024u
#define LENT_BYTES 65536u
#define COMPACT_BYTES 65536u

struct sim_end *sim_end_other(struct sim_end *e)
{
    return &e->conn->end[1 - e->side];
}

struct sim_wire *sim_end_wire(struct sim_end *e)
{
    return sim_wire(e->node->sim, e->node, sim_end_other(e)->node);
}

void sim_end_init(struct sim_end *e, struct sim_conn *c, unsigned side)
{
    e->conn = c;
    e->side = side;
    cd_list_init(&e->writes);
    cd_list_init(&e->written);
    e->out.hole_from = e->out.fin_at = NONE;
}

void sim_end_deinit(struct sim_end *e)
{
    CD_ASSERT(cd_list_empty(&e->writes) && cd_list_empty(&e->written) && e->ops == 0);
    cd_buf_deinit(&e->out.data);
    cd_free(e->lent);
}

static uint64_t pipe_draw(struct sim_end *e, const char *purpose, uint64_t ordinal)
{
    return sim_mix(sim_mix(sim_label(e->node->sim, purpose), e->conn->id + e->side), ordinal);
}

/* ---- Reading ---- */

static bool readable(struct sim_end *e)
{
    const struct sim_pipe *in = &sim_end_other(e)->out;
    return in->arrived > in->consumed || e->broken != 0 || (in->fin_arrived && in->arrived >= in->fin_at);
}

/* The pending read is due if there is something to tell it. */
static void read_kick(struct sim_end *e)
{
    if (e->read == NULL || e->read->index != SIM_PARKED || e->read->settled || !readable(e))
        return;
    struct sim *sim = e->node->sim;
    struct sim_wire *w = sim_end_wire(sim_end_other(e));
    uint64_t delay = 0;
    if (sim_end_other(e)->out.slow && e->broken == 0) {
        delay = sim_wire_link(sim, w)->slow_ns;
        delay = delay == 0 ? SLOW_NS : delay;
    }
    sim_schedule(sim, e->read, delay);
}

static size_t read_size(struct sim_end *e, const struct sim_pipe *in, size_t cap)
{
    struct sim_end *other = sim_end_other(e);
    uint64_t have = in->arrived - in->consumed;
    size_t n = have < cap ? (size_t)have : cap;
    if (in->slow && n > SLOW_BYTES)
        n = SLOW_BYTES;
    const struct sim_link *l = sim_wire_link(e->node->sim, sim_end_wire(other));
    if (l->split_ppm > 0 && n > 1) {
        uint64_t draw = pipe_draw(other, "split", in->reads);
        if (sim_strikes(draw, l->split_ppm))
            n = 1 + (size_t)(sim_mix(draw, 1) % n);
    }
    return n;
}

static void pipe_consume(struct sim_pipe *p, size_t n)
{
    p->head += n;
    p->consumed += n;
    if (p->head == p->data.len) {
        p->head = p->data.len = 0;
    } else if (p->head >= COMPACT_BYTES && p->head >= p->data.len / 2) {
        cd_buf_drop(&p->data, p->head);
        p->head = 0;
    }
}

static void read_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *e = ev->owner, *other = sim_end_other(e);
    struct sim_pipe *in = &other->out;
    struct io_read *r = CD_CONTAINER(ev->op, struct io_read, op);
    if (in->arrived == in->consumed) {
        bool ended = in->fin_arrived && in->arrived >= in->fin_at;
        int status = ended ? IO_EOF : e->broken; /* What the peer said before it went is heard first. */
        sim_op_done(sim, ev, status);
        return;
    }
    size_t n = read_size(e, in, r->lent ? LENT_BYTES : r->cap);
    in->reads++;
    sim_read_give(e->loop, r, &e->lent, in->data.ptr + in->head, n);
    ev->lent = r->lent ? r->buf : NULL;
    pipe_consume(in, n);
    sim->record.len = n;
    sim_end_pump(other); /* There is room again. */
    sim_op_done(sim, ev, IO_OK);
}

void sim_end_op_ended(struct sim *sim, struct sim_event *op)
{
    struct sim_end *e = op->owner;
    CD_ASSERT(e->ops > 0);
    e->ops--;
    if (e->read == op)
        e->read = NULL;
    if (e->ops == 0 && e->close != NULL)
        sim_schedule(sim, e->close, 0);
}

/* Common start of reads, writes and finishes. NULL: it has failed already. */
static struct sim_event *end_op(struct io_stream *s, struct io_op *op, io_done_fn *done, enum sim_kind kind)
{
    struct sim_end *e = s->impl;
    CD_ASSERT(s->io != NULL && e != NULL && e->close == NULL);
    struct sim_event *ev = sim_op_begin(op, s->io, done, kind);
    /* A failed one counts too: close waits for its done. */
    struct sim_event *any = op->impl;
    any->owner = e;
    any->ended = sim_end_op_ended;
    e->ops++;
    return ev;
}

void io_stream_read(struct io_stream *s, struct io_read *r, io_done_fn *done)
{
    struct sim_end *e = s->impl;
    CD_ASSERT(e->read == NULL); /* One at a time. */
    sim_read_begin(r, &e->lent);
    struct sim_event *ev = end_op(s, &r->op, done, SIM_NET_READ);
    e->read = r->op.impl;
    if (ev == NULL)
        return;
    ev->fire = read_fire;
    read_kick(e);
}

/* ---- Flying ---- */

void sim_end_break(struct sim_end *e, int status)
{
    if (e->broken != 0)
        return;
    e->broken = status;
    struct cd_link *k;
    while ((k = cd_list_pop(&e->writes)) != NULL)
        sim_op_finish(CD_CONTAINER(k, struct sim_event, link), status, 0);
    read_kick(e);
}

/* Traces tell which way something flew; nobody pays for the text without one. */
static void note_way(struct sim *sim, struct sim_end *from, const char *what)
{
    if (sim->on_record.count + sim->on_event.count == 0)
        return;
    struct sim_end *to = sim_end_other(from);
    (void)snprintf(sim->note, sizeof sim->note, "%s:%u -> %s:%u%s", from->node->name, from->port,
                   to->node->name, to->port, what);
    sim->record.note = sim->note;
}

static void reset_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *from = ev->owner, *to = sim_end_other(from);
    struct sim_wire *w = sim_end_wire(from);
    if (sim_wire_held(w)) {
        cd_list_push(&w->waiting, &ev->link);
        return;
    }
    note_way(sim, from, " reset");
    if (to->conn->connecting != NULL && to->side == 0)
        sim_op_finish(to->conn->connecting, IO_REFUSED, 0);
    else if (!to->silent)
        sim_end_break(to, IO_RESET);
    sim_conn_wire_event_end(sim, ev);
}

/* Behind what flies already. */
static void fly_at(struct sim_end *from, struct sim_event *ev, uint64_t delay_ns)
{
    struct sim *sim = from->node->sim;
    uint64_t at = sim->now_ns + delay_ns;
    if (at < from->out.last_at_ns)
        at = from->out.last_at_ns;
    from->out.last_at_ns = at;
    sim_schedule(sim, ev, at - sim->now_ns);
}

void sim_end_send_reset(struct sim_end *e)
{
    if (e->silent || e->out.half_open)
        return;
    struct sim *sim = e->node->sim;
    uint64_t delay = sim_wire_delay(sim, sim_end_wire(e), 0, pipe_draw(e, "reset", e->out.writes));
    fly_at(e, sim_conn_wire_event(e, reset_fire), delay == UINT64_MAX ? 0 : delay);
}

static void give_up_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *e = ev->owner, *other = sim_end_other(e);
    e->out.giving_up = false;
    bool lost = other->silent || e->out.hole_from != NONE || sim_end_wire(e)->cut || sim_end_wire(other)->cut;
    if (lost && !e->silent) {
        note_way(sim, e, " gives up");
        e->out.hole_from = e->out.arrived; /* What still waits does not arrive any more. */
        sim_end_break(e, IO_RESET);
    }
    sim_conn_wire_event_end(sim, ev);
}

/* Something of this end was not delivered or not confirmed: it will lose patience. */
static void give_up_later(struct sim_end *e)
{
    if (e->out.giving_up || e->broken != 0)
        return;
    e->out.giving_up = true;
    struct sim *sim = e->node->sim;
    sim_schedule(sim, sim_conn_wire_event(e, give_up_fire), sim_give_up_ns(sim, sim_end_wire(e)));
}

static void arrive(struct sim_end *from, uint64_t upto)
{
    struct sim_end *to = sim_end_other(from);
    struct sim_pipe *p = &from->out;
    if (to->silent) {
        /* A machine that came back knows nothing of the connection. */
        if (to->node->life != to->life && to->node->state == SIM_UP)
            sim_end_break(from, IO_RESET);
        else
            give_up_later(from);
        return;
    }
    if (upto > p->hole_from) {
        upto = p->hole_from;
        give_up_later(from);
    }
    if (upto > p->arrived)
        p->arrived = upto;
    if (p->fin_at <= p->arrived && p->fin_at != NONE)
        p->fin_arrived = true;
    if (sim_end_wire(to)->cut)
        give_up_later(from); /* Nobody confirms. */
    if ((to->shut || to->broken != 0) && p->arrived > p->consumed)
        sim_end_send_reset(to); /* Nobody is there for it any more. */
    read_kick(to);
}

static void flight_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *from = ev->owner;
    struct sim_wire *w = sim_end_wire(from);
    if (sim_wire_held(w)) {
        if (w->cut)
            give_up_later(from);
        cd_list_push(&w->waiting, &ev->link);
        note_way(sim, from, " held");
        return;
    }
    note_way(sim, from, from->out.fin_at == ev->num ? " end" : "");
    sim->record.len = ev->num > from->out.arrived ? ev->num - from->out.arrived : 0;
    arrive(from, ev->num);
    sim_conn_wire_event_end(sim, ev);
}

/* The newest len bytes of the pipe leave, in one event. */
static void fly(struct sim_end *e, size_t len)
{
    struct sim *sim = e->node->sim;
    struct sim_wire *w = sim_end_wire(e);
    const struct sim_link *l = sim_wire_link(sim, w);
    uint64_t draw = pipe_draw(e, "flight", e->out.writes++);
    uint64_t delay = sim_wire_delay(sim, w, len, draw);
    uint64_t upto = e->out.sent;
    bool reset = delay == UINT64_MAX || (len > 0 && sim_strikes(sim_mix(draw, 100), l->reset_ppm));
    if (delay == UINT64_MAX)
        delay = sim_give_up_ns(sim, w);
    if (reset && e->out.hole_from == NONE) {
        upto -= len == 0 ? 0 : 1 + sim_mix(draw, 101) % len; /* A prefix gets through. */
        fly_at(e, sim_conn_wire_event(sim_end_other(e), reset_fire), delay);
        sim_end_send_reset(e);
        e->out.hole_from = upto;
    }
    struct sim_event *ev = sim_conn_wire_event(e, flight_fire);
    ev->num = upto;
    fly_at(e, ev, delay);
}

void sim_end_fin(struct sim_end *e)
{
    if (e->finished || e->broken != 0 || e->silent)
        return;
    e->finished = true;
    e->out.fin_at = e->out.sent;
    fly(e, 0);
}

/* ---- Writing ---- */

/* Copies up to room bytes of the write from where it stands into the pipe. */
static size_t write_take(struct sim_pipe *p, struct io_write *w, size_t room)
{
    size_t skip = w->sent, took = 0;
    for (unsigned i = 0; i < w->parts && took < room; i++) {
        struct cd_str part = w->part[i];
        if (skip >= part.len) {
            skip -= part.len;
            continue;
        }
        size_t n = part.len - skip < room - took ? part.len - skip : room - took;
        cd_buf_add(&p->data, part.ptr + skip, n);
        skip = 0;
        took += n;
    }
    w->sent += took;
    p->sent += took;
    return took;
}

static size_t write_size(const struct io_write *w)
{
    size_t sum = 0;
    for (unsigned i = 0; i < w->parts; i++)
        sum += w->part[i].len;
    return sum;
}

/* Done of writes comes in their order, whichever of their events the policy fires first. */
static void written_fire(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *e = ev->owner;
    struct sim_event *first = CD_CONTAINER(cd_list_first(&e->written), struct sim_event, link);
    if (first != ev) {
        struct io_op *op = ev->op;
        ev->op = first->op;
        first->op = op;
        ev->op->impl = ev;
        first->op->impl = first;
        cd_link_remove(&first->link); /* It has the later op now: to the later place. */
        cd_list_insert_before(&ev->link, &first->link);
        sim->record.serial = ev->op->serial;
    }
    cd_link_remove(&ev->link);
    sim_op_done(sim, ev, IO_OK);
}

static void write_settle(struct sim_end *e, struct sim_event *ev)
{
    sim_op_finish(ev, IO_OK, 0);
    ev->fire = written_fire;
    ev->drop = NULL;
    cd_list_push(&e->written, &ev->link);
}

void sim_end_pump(struct sim_end *e)
{
    struct sim *sim = e->node->sim;
    if (e->broken != 0 || e->silent || cd_list_empty(&e->writes))
        return;
    struct sim_wire *wire = sim_end_wire(e);
    uint32_t set = sim_wire_link(sim, wire)->window;
    uint64_t window = set == 0 ? SIM_WINDOW_BYTES : set;
    struct cd_link *k;
    while ((k = cd_list_first(&e->writes)) != NULL) {
        struct sim_event *ev = CD_CONTAINER(k, struct sim_event, link);
        if (ev->kind == SIM_NET_FINISH) {
            cd_link_remove(k);
            sim_end_fin(e);
            write_settle(e, ev);
            continue;
        }
        struct io_write *w = CD_CONTAINER(ev->op, struct io_write, op);
        uint64_t used = e->out.sent - e->out.consumed;
        size_t took = used >= window ? 0 : write_take(&e->out, w, (size_t)(window - used));
        if (took > 0) {
            struct cd_str bytes = cd_str_of(e->out.data.ptr + e->out.data.len - took, took);
            if (sim->on_send.count > 0)
                sim_sent(sim, e->node, sim_end_other(e)->node, bytes);
            fly(e, took);
        }
        if (w->sent < write_size(w))
            break; /* The window is full. */
        cd_link_remove(k);
        write_settle(e, ev);
    }
}

/* A write is taken back: what is behind it would have a gap before it, so the stream is broken for writing.
 */
static void write_drop(struct sim *sim, struct sim_event *ev)
{
    struct sim_end *e = ev->owner;
    (void)sim;
    cd_link_remove(&ev->link);
    if (e->close == NULL && !ev->actor->loop->frozen)
        sim_end_break(e, IO_RESET);
}

void io_stream_write(struct io_stream *s, struct io_write *w, io_done_fn *done)
{
    struct sim_end *e = s->impl;
    CD_ASSERT(w->parts >= 1 && w->parts <= IO_PARTS_MAX);
    w->sent = 0;
    struct sim_event *ev = end_op(s, &w->op, done, SIM_NET_WRITE);
    if (ev == NULL)
        return;
    if (e->broken != 0 || e->finished) {
        sim_op_finish(ev, e->broken != 0 ? e->broken : IO_RESET, 0);
        return;
    }
    ev->drop = write_drop;
    cd_list_push(&e->writes, &ev->link);
    sim_end_pump(e);
}

void io_stream_finish(struct io_stream *s, struct io_op *op, io_done_fn *done)
{
    struct sim_end *e = s->impl;
    struct sim_event *ev = end_op(s, op, done, SIM_NET_FINISH);
    if (ev == NULL)
        return;
    if (e->broken != 0) {
        sim_op_finish(ev, e->broken, 0);
        return;
    }
    ev->drop = write_drop;
    cd_list_push(&e->writes, &ev->link);
    sim_end_pump(e);
}

void sim_end_drop_pending(struct sim_end *e)
{
    if (e->read != NULL)
        io_cancel(e->read->op);
    struct cd_link *k;
    while ((k = cd_list_pop(&e->writes)) != NULL)
        io_cancel(CD_CONTAINER(k, struct sim_event, link)->op);
}
