/* cell/wire.c: the ends of wires. See wire.h.
 *
 * Each end sends exactly one close, its last word, and receives exactly one. An end that hears the other's
 * answers at once with its own, since nothing it could still say would be heard. */
#include "cell/wire.h"

#include "cell/cell_internal.h"

static void message_free(struct cell_message *m)
{
    cd_buf_deinit(&m->bytes);
    cd_free(m);
}

static void drop_all(struct cd_list *list)
{
    struct cd_link *k;
    while ((k = cd_list_pop(list)) != NULL) {
        struct cell_message *m = CD_CONTAINER(k, struct cell_message, link);
        cell_gate_cancel(&m->held);
        message_free(m);
    }
}

static size_t cost(const struct cell_message *m)
{
    return m->bytes.len + sizeof *m;
}

/* Asked wherever one of its conditions may have become true; w may be gone afterwards. */
static void release(struct cell_wire *w)
{
    if (!w->user_gone || !w->close_sent || !w->close_seen || w->busy || io_busy(&w->deliver))
        return;
    CD_ASSERT(cd_list_empty(&w->in) && cd_list_empty(&w->out) && !cd_link_linked(&w->queued));
    if (w->cell != NULL)
        cell_poke(w->cell); /* Maybe it was the last that its record was kept for. */
    cd_link_remove(&w->of_cell);
    cd_free(w);
}

static void handle(struct io *at, struct io_msg *m);

static void post(struct cell_wire *w, struct cell_message *m)
{
    CD_ASSERT(!w->close_sent);
    w->close_sent = m->kind == CELL_MESSAGE_CLOSE;
    m->wire = w->peer;
    m->authority = w->cell == NULL ? NULL : w->cell->shard->o.self->authority;
    m->msg.handle = handle;
    io_post(w->io, w->peer_loop, &m->msg);
}

static struct cell_message *close_message(const struct cell_close *why)
{
    struct cell_message *m = cd_new(struct cell_message);
    m->kind = CELL_MESSAGE_CLOSE;
    if (why != NULL) {
        cd_buf_add_str(&m->bytes, why->text);
        m->overloaded = why->overloaded;
        m->retryable = why->retryable;
        m->reset = why->reset;
        m->refusal = why->refusal;
    }
    return m;
}

/* ---- Receiving ---- */

/* m is about to be taken. Credit is given in large pieces: most wires never carry so much. */
static void take(struct cell_wire *w, const struct cell_message *m)
{
    w->taken += m->again ? 0 : cost(m);
    if (w->taken < CELL_WIRE_WINDOW / 4 || w->close_sent)
        return;
    struct cell_message *credit = cd_new(struct cell_message);
    credit->kind = CELL_MESSAGE_CREDIT;
    credit->credit = w->taken;
    w->taken = 0;
    post(w, credit);
}

static void credited(struct cell_wire *w, size_t credit)
{
    size_t before = w->unsent;
    CD_ASSERT(credit <= before);
    w->unsent -= credit;
    if (before >= CELL_WIRE_WINDOW / 2 && w->unsent < CELL_WIRE_WINDOW / 2 && w->hooks->drained != NULL)
        w->hooks->drained(w->arg, w);
}

/* New events have to wait (fleet.md 5.6): the log has too much to prove. A call that runs goes on. */
static bool stalls(struct cell_wire *w)
{
    struct cell_shard *s = w->is_cells && w->cell != NULL ? w->cell->shard : NULL;
    if (s == NULL || w->counted || w->calls > 0 || s->closing || s->fenced || !log_feed_full(s->feed))
        return false;
    CD_MARK("cell.wire_stalls");
    if (!cd_link_linked(&w->stalled))
        cd_list_push(&s->stalled, &w->stalled);
    cell_shard_stir(s);
    return true;
}

static void pump(struct cell_wire *w)
{
    w->busy = true;
    while (w->hooks != NULL && !cd_list_empty(&w->in) && !stalls(w)) {
        struct cell_message *m = CD_CONTAINER(cd_list_pop(&w->in), struct cell_message, link);
        if (m->kind == CELL_MESSAGE_CLOSE) {
            struct cell_close why = {cd_buf_str(&m->bytes), m->overloaded, m->retryable, m->reset,
                                     m->refusal};
            w->hooks->closed(w->arg, w, &why);
        } else if (m->kind == CELL_MESSAGE_STARTED) {
            if (w->hooks->started != NULL)
                w->hooks->started(w->arg, w);
        } else if (m->kind == CELL_MESSAGE_CREDIT) {
            credited(w, m->credit);
        } else {
            take(w, m);
            w->hooks->message(w->arg, w, &m->bytes);
        }
        message_free(m);
    }
    w->busy = false;
    release(w);
}

static void deliver_done(struct io_op *op, int status)
{
    struct cell_wire *w = CD_CONTAINER(op, struct cell_wire, deliver);
    (void)status; /* After a crash the user still hears that the other end is gone. */
    pump(w);
}

/* The process may have been paused since the gate let m go: what a cell says leaves while its node may speak
 * (fleet.md S4), and the caller hears why the rest does not come. */
static bool in_time(struct cell_wire *w, struct cell_message *m)
{
    if (CD_PLANT("cell.answer-late") || m->authority == NULL ||
        (!w->stale && fleet_authoritative(m->authority, io_now_ns(w->io))))
        return true;
    w->stale = true;
    if (m->kind != CELL_MESSAGE_CLOSE) {
        CD_MARK("cell.answer_too_late");
        return false;
    }
    if (m->bytes.len == 0) {
        cd_buf_add_str(&m->bytes, CD_STR("the node's lease has run out"));
        m->reset = true;
    }
    return true;
}

static void handle(struct io *at, struct io_msg *msg)
{
    struct cell_message *m = CD_CONTAINER(msg, struct cell_message, msg);
    struct cell_wire *w = m->wire;
    CD_ASSERT(w->io == at && !w->close_seen);
    if (!in_time(w, m)) {
        message_free(m);
        return;
    }
    if (m->kind == CELL_MESSAGE_CLOSE) {
        w->close_seen = true;
        if (!w->close_sent) {
            drop_all(&w->out);
            w->held = 0;
            post(w, close_message(NULL));
        }
        if (w->is_cells &&
            cd_link_linked(&w->queued)) { /* No code has it, and nobody waits for it any more. */
            CD_MARK("cell.queued_call_left");
            if (w->cell->wanted_until_ns < w->deadline_ns)
                w->cell->wanted_until_ns = w->deadline_ns;
            message_free(m);
            cell_wire_close(w, NULL);
            return;
        }
    }
    if (w->user_gone) {
        message_free(m);
        release(w);
        return;
    }
    cd_list_push(&w->in, &m->link);
    if (w->hooks != NULL && !w->busy && !io_busy(&w->deliver))
        pump(w);
}

void cell_wire_go_on(struct cell_wire *w)
{
    cd_link_remove(&w->stalled);
    if (w->hooks != NULL && !w->busy && !io_busy(&w->deliver))
        io_defer(&w->deliver, w->io, IO_OK, deliver_done);
}

void cell_wire_attach(struct cell_wire *w, const struct cell_wire_hooks *hooks, void *arg)
{
    CD_ASSERT(!w->user_gone);
    w->hooks = hooks;
    w->arg = arg;
    if (hooks != NULL && !cd_list_empty(&w->in) && !w->busy && !io_busy(&w->deliver))
        io_defer(&w->deliver, w->io, IO_OK, deliver_done);
}

/* ---- Sending ---- */

static void held_done(struct cell_held *h, int status, struct cd_str why)
{
    struct cell_message *m = CD_CONTAINER(h, struct cell_message, held);
    struct cell_wire *w = m->wire;
    if (cd_link_linked(&m->link)) {
        cd_link_remove(&m->link);
        w->held -= m->bytes.len;
    }
    if (status == 0) {
        post(w, m);
    } else {
        message_free(m);
        cell_wire_fail(w, &(struct cell_close){.text = why, .reset = true});
    }
    release(w);
}

/* The gate of a cell that is out of memory is shut, but there is no code whose state a message could show: it
 * is of who keeps the wire, like the automatic answer of a WebSocket. */
static bool is_keepers(const struct cell_wire *w)
{
    const struct cell *c = w->cell;
    enum cell_phase p = c->state.phase;
    bool runs = p == CELL_STARTING || cell_phase_awake(p) || p == CELL_STOPPING || p == CELL_FENCED;
    return w->parked && !w->user_gone && c->gate_failed && !runs && cd_list_empty(&w->out);
}

/* Behind the gate, and behind what waits there. */
static void send(struct cell_wire *w, struct cell_message *m)
{
    m->wire = w;
    if (w->cell == NULL || (w->is_cells && is_keepers(w))) {
        post(w, m);
        return;
    }
    cd_list_push(&w->out, &m->link);
    w->held += m->bytes.len;
    cell_gate(w->cell, &m->held, held_done);
}

void cell_wire_send(struct cell_wire *w, struct cd_buf *bytes)
{
    CD_ASSERT(!w->user_gone);
    struct cd_buf taken = cd_buf_move(bytes);
    if (w->close_sent) {
        cd_buf_deinit(&taken);
        return;
    }
    struct cell_message *m = cd_new(struct cell_message);
    m->bytes = taken;
    w->unsent += cost(m);
    send(w, m);
}

size_t cell_wire_unsent(const struct cell_wire *w)
{
    return w->unsent;
}

bool cell_wire_full(const struct cell_wire *w)
{
    return w->unsent >= CELL_WIRE_WINDOW;
}

static void calls_end(struct cell_wire *w)
{
    for (; w->calls > 0; w->calls--)
        cell_request_end(w->cell);
}

/* The user of a cell's end does not use the cell any more. */
static void leave_cell(struct cell_wire *w)
{
    if (w->cell == NULL || !w->is_cells)
        return;
    cell_wire_served(w);
    calls_end(w);
    if (!w->parked)
        cell_unpin(w->cell);
    w->parked = true;
}

void cell_wire_close(struct cell_wire *w, const struct cell_close *why)
{
    CD_ASSERT(!w->user_gone);
    leave_cell(w);
    w->user_gone = true;
    w->hooks = NULL;
    cd_link_remove(&w->queued);
    cd_link_remove(&w->stalled);
    drop_all(&w->in);
    if (w->close_sent) {
        release(w);
        return;
    }
    send(w, close_message(why));
}

void cell_wire_fail(struct cell_wire *w, const struct cell_close *why)
{
    drop_all(&w->out);
    w->held = 0;
    if (!w->close_sent)
        post(w, close_message(why));
}

void cell_wire_refuse(struct cell_wire *w, const struct cell_close *why)
{
    cell_wire_fail(w, why);
    cell_wire_close(w, NULL);
}

void cell_wire_started(struct cell_wire *w)
{
    if (w->close_sent)
        return;
    struct cell_message *m = cd_new(struct cell_message);
    m->kind = CELL_MESSAGE_STARTED;
    post(w, m);
}

/* ---- From the cell to a relay and back ---- */

void cell_wire_detach_cell(struct cell_wire *w)
{
    struct cell *c = w->cell;
    CD_ASSERT(w->is_cells && !w->parked && !w->user_gone);
    cd_link_remove(&w->queued);
    if (w->counted)
        cell_request_end(c);
    w->counted = false;
    cell_wire_unbind(w);
    cell_unpin(c);
}

void cell_wire_untake(struct cell_wire *w, struct cd_buf *bytes)
{
    struct cell_message *m = cd_new(struct cell_message);
    CD_ASSERT(w->hooks == NULL);
    m->again = true;
    m->bytes = cd_buf_move(bytes);
    cd_list_push_front(&w->in, &m->link);
}

/* ---- The rest ---- */

struct cell_wire *cell_wire_pair(struct io *io, unsigned peer_loop, struct cell_wire **peer)
{
    struct cell_wire *a = cd_new(struct cell_wire);
    struct cell_wire *b = cd_new(struct cell_wire);
    a->io = io;
    a->peer = b;
    a->peer_loop = peer_loop;
    b->peer = a;
    b->peer_loop = io_loop_index(io);
    b->is_cells = true;
    cd_list_init(&a->in);
    cd_list_init(&a->out);
    cd_list_init(&b->in);
    cd_list_init(&b->out);
    *peer = b;
    return a;
}

void cell_wire_bind(struct cell_wire *w, struct cell *c)
{
    CD_ASSERT(w->cell == NULL);
    w->cell = c;
    cd_list_push(&c->wires, &w->of_cell);
    if (w->is_cells)
        cell_pin(c);
}

void cell_wire_served(struct cell_wire *w)
{
    CD_ASSERT(w->is_cells && !w->user_gone);
    if (w->counted)
        cell_request_end(w->cell);
    w->counted = false;
}

bool cell_wire_call_begin(struct cell_wire *w)
{
    CD_ASSERT(w->is_cells && !w->user_gone);
    if (!cell_request_begin(w->cell))
        return false;
    w->calls++;
    return true;
}

void cell_wire_call_end(struct cell_wire *w)
{
    CD_ASSERT(!w->user_gone && w->calls > 0);
    w->calls--;
    cell_request_end(w->cell);
}

void cell_wire_park(struct cell_wire *w, bool parked)
{
    CD_ASSERT(w->is_cells && !w->user_gone);
    if (w->parked == parked)
        return;
    w->parked = parked;
    calls_end(w);
    if (parked)
        cell_unpin(w->cell);
    else
        cell_pin(w->cell);
}

void cell_wire_unbind(struct cell_wire *w)
{
    CD_ASSERT(cd_list_empty(&w->out));
    cd_link_remove(&w->of_cell);
    w->cell = NULL;
}
