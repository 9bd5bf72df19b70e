/* cell/tunnel.c: tunnels on the control loop. It moves frames between streams and shards, knows which wires
 * a tunnel has, so that their shards hear when it breaks, and asks whether the other side is still there. */
#include "cell/tunnel.h"

#include <stdio.h>

#include "cell/cell_internal.h"
#include "io/backend.h"

#define TICK_NS IO_SEC(5)
#define SILENT_TICKS_MAX 3u /* Without a byte, although we asked. */
#define IDLE_NS IO_SEC(30) /* Without a wire, for who connected; twice that for the other. */
#define FINISH_NS IO_SEC(1)
#define WIRES_MAX 65536u /* Of a tunnel that serves. */
#define WAITING_MAX (1u << 20) /* Beyond that a sign of life is not answered: what waits is one. */

enum tunnel_phase { TUNNEL_DIALING, TUNNEL_OPEN, TUNNEL_CLOSING };

struct tunnel {
    struct cell_tunnels *hub;
    uint64_t serial;
    char *target, *addr; /* owned; NULL: it serves */
    enum tunnel_phase phase;
    struct io_fiber *fiber; /* While dialing. */
    struct io_op dialed, closed;
    int dial_status;
    struct cell_dial dial;
    struct io_stream stream;
    struct io_read read;
    struct io_write write;
    struct cd_str part;
    struct cd_buf writing, waiting, carry; /* carry: the beginning of a frame. */
    struct cd_map wires; /* To the place in hub.out of its loop. */
    uint64_t used_ns;
    unsigned silent;
    bool heard; /* Since the last tick. */
    bool ended; /* The node that serves has said its last word. */
};

struct cell_tunnels {
    struct cell_router *router;
    struct cell_tunnels_opts o; /* io NULL: not started. */
    struct cd_map by_target, by_serial; /* struct tunnel; open or dialing, and all that serve or call. */
    struct cd_map wires; /* Those that this node forwards: their tunnel. */
    unsigned tunnels; /* Also those that are closing. */
    uint64_t serials;
    struct cd_buf *out; /* owned: for each loop, posted at the end of a call. */
    struct io_timer tick;
    bool stopping, at_once;
    struct io_op *stop_op;
    uint64_t finish_ns;
};

static bool serves(const struct tunnel *t)
{
    return t->target == NULL;
}

/* ---- Posts ---- */

void cell_post_add(struct cd_buf *out, uint64_t tunnel)
{
    cd_buf_add_u64(out, tunnel);
}

bool cell_post_take(struct cd_str *rest, uint64_t *tunnel, struct cell_frame *f)
{
    const char *why;
    if (rest->len == 0)
        return false;
    *tunnel = cd_get_u64(rest->ptr);
    *rest = cd_str_sub(*rest, 8, SIZE_MAX);
    int taken = cell_frame_take(*rest, f, &why);
    CD_ASSERT(taken > 0); /* Of our own. */
    *rest = cd_str_sub(*rest, (size_t)taken, SIZE_MAX);
    return true;
}

struct cd_str cell_post_text(struct cd_str *rest)
{
    size_t len = cd_get_u16(rest->ptr);
    struct cd_str text = cd_str_sub(*rest, 2, len);
    *rest = cd_str_sub(*rest, 2 + len, SIZE_MAX);
    return text;
}

static void post_handle(struct io *at, struct io_msg *m)
{
    struct cell_post *p = CD_CONTAINER(m, struct cell_post, msg);
    if (io_loop_index(at) == 0)
        cell_post_at_control(p->router, cd_buf_str(&p->bytes));
    else
        cell_post_at_shard(p->router, at, cd_buf_str(&p->bytes));
    cd_buf_deinit(&p->bytes);
    cd_free(p);
}

void cell_post_send(struct cell_router *r, struct io *io, unsigned loop, struct cd_buf *bytes)
{
    struct cell_post *p = cd_new(struct cell_post);
    p->router = r;
    p->bytes = cd_buf_move(bytes);
    p->msg.handle = post_handle;
    io_post(io, loop, &p->msg);
}

static void flush_posts(struct cell_tunnels *h)
{
    for (unsigned i = 0; i < h->router->loops; i++) {
        if (h->out[i].len > 0)
            cell_post_send(h->router, h->o.io, i, &h->out[i]);
    }
}

static struct cd_buf *out_of(struct cell_tunnels *h, uint64_t id) /* Of a wire that this node forwards. */
{
    unsigned loop = (unsigned)(id >> 48);
    return &h->out[loop < h->router->loops ? loop : 0];
}

/* ---- The end of a tunnel ---- */

static void tunnel_free(struct tunnel *t)
{
    struct cell_tunnels *h = t->hub;
    CD_ASSERT(t->wires.count == 0 && t->fiber == NULL);
    cd_free(t->target);
    cd_free(t->addr);
    cd_buf_deinit(&t->writing);
    cd_buf_deinit(&t->waiting);
    cd_buf_deinit(&t->carry);
    cd_free(t);
    h->tunnels--;
    if (h->tunnels > 0 || h->stop_op == NULL || io_busy(&h->tick.op))
        return;
    io_complete_later(h->stop_op, IO_OK);
    h->stop_op = NULL;
}

static void closed_done(struct io_op *op, int status)
{
    (void)status;
    tunnel_free(CD_CONTAINER(op, struct tunnel, closed));
}

/* Nothing of it is found any more. */
static void forget(struct tunnel *t)
{
    struct cell_tunnels *h = t->hub;
    if (!serves(t) && cd_map_get(&h->by_target, cd_str(t->target)) == t)
        (void)cd_map_remove(&h->by_target, cd_str(t->target));
    (void)cd_map_remove_u64(&h->by_serial, t->serial);
}

/* Tells the shards of all its wires: with a refusal the calls certainly did not start. */
static void tell_wires(struct tunnel *t, const struct cell_close *refused, const char *why)
{
    struct cell_tunnels *h = t->hub;
    struct cd_map_node *n;
    while ((n = cd_map_first(&t->wires)) != NULL) {
        uint64_t id = cd_map_key_u64(n);
        struct cd_buf *out = cd_map_value(n);
        cell_post_add(out, serves(t) ? t->serial : 0);
        if (refused != NULL)
            cell_frame_add_close(out, CELL_FRAME_REFUSED, id, refused);
        else
            cell_frame_add(out, CELL_FRAME_LOST, id, cd_str(why));
        (void)cd_map_remove_u64(&t->wires, id);
        if (!serves(t))
            (void)cd_map_remove_u64(&h->wires, id);
    }
}

static void tunnel_close(struct tunnel *t, bool abort, const char *why)
{
    struct cell_tunnels *h = t->hub;
    if (t->phase != TUNNEL_OPEN)
        return;
    if (t->wires.count > 0)
        cd_event(h->o.io, CD_INFO, "tunnel_lost", CD_Z("target", serves(t) ? "" : t->target),
                 CD_Z("why", why), CD_U("wires", t->wires.count));
    t->phase = TUNNEL_CLOSING;
    forget(t);
    tell_wires(t, NULL, why);
    io_stream_close(&t->stream, abort, &t->closed, closed_done);
}

/* ---- Writing ---- */

static void write_done(struct io_op *op, int status);

static void tunnel_write(struct tunnel *t)
{
    struct cell_tunnels *h = t->hub;
    if (t->phase != TUNNEL_OPEN || io_busy(&t->write.op))
        return;
    if (t->waiting.len == 0 && h->stopping && serves(t) && t->wires.count == 0 && !t->ended) {
        t->ended = true; /* Calls may be under way to us. */
        cell_frame_add(&t->waiting, CELL_FRAME_END, 0, (struct cd_str){0});
    }
    if (t->waiting.len == 0) {
        /* One that serves has said END, and who connected closes: calls may be under way to us, and a
         * connection that is closed with bytes unread can lose that last word. */
        if (h->stopping && !serves(t) && t->wires.count == 0)
            tunnel_close(t, false, "the node is stopping");
        return;
    }
    /* The process may have been paused since the shard gave it to us. */
    if (serves(t) && !CD_PLANT("cell.answer-late") &&
        !fleet_authoritative(h->o.authority, io_now_ns(h->o.io))) {
        CD_MARK("cell.tunnel_too_late");
        tunnel_close(t, true, "the node's lease has run out");
        return;
    }
    cd_buf_clear(&t->writing);
    struct cd_buf spare = t->writing;
    t->writing = t->waiting;
    t->waiting = spare;
    t->part = cd_buf_str(&t->writing);
    t->write.part = &t->part;
    t->write.parts = 1;
    io_stream_write(&t->stream, &t->write, write_done);
}

static void write_done(struct io_op *op, int status)
{
    struct tunnel *t = CD_CONTAINER(op, struct tunnel, write.op);
    if (t->phase != TUNNEL_OPEN)
        return;
    if (status != IO_OK)
        tunnel_close(t, true, "the other node's connection broke");
    else
        tunnel_write(t);
    flush_posts(t->hub);
}

/* ---- Reading ---- */

static void read_done(struct io_op *op, int status);

static void tunnel_read(struct tunnel *t)
{
    t->read.buf = NULL;
    io_stream_read(&t->stream, &t->read, read_done);
}

/* The place of a frame's loop; NULL: nobody is there any more. */
static struct cd_buf *place_of(struct tunnel *t, const struct cell_frame *f, const char **why)
{
    struct cell_tunnels *h = t->hub;
    struct cd_buf *out = cd_map_get_u64(&t->wires, f->wire);
    bool last = f->type == CELL_FRAME_CLOSE || f->type == CELL_FRAME_REFUSED;
    struct cell_frame_open open;
    if (f->type == CELL_FRAME_OPEN) {
        bool well = cell_frame_open_read(f->payload, &open);
        CD_ASSERT(well);
        if (out != NULL) {
            *why = "a wire that is open already";
            return NULL;
        }
        bool refused = t->wires.count >= WIRES_MAX || open.hops > CELL_FRAME_HOPS_MAX || h->stopping;
        if (refused) {
            cell_frame_add_close(
                &t->waiting, CELL_FRAME_REFUSED, f->wire,
                &(struct cell_close){.text = CD_STR("the node takes no more calls"),
                                     .retryable = true,
                                     .refusal = h->stopping ? CELL_REFUSED_DRAINING : CELL_REFUSED_CAPACITY});
            return NULL;
        }
        out = &h->out[cell_scope_loop(open.scope, h->router->loops)];
        (void)cd_map_put_u64(&t->wires, f->wire, out);
    }
    if (last) {
        (void)cd_map_remove_u64(&t->wires, f->wire);
        if (!serves(t))
            (void)cd_map_remove_u64(&h->wires, f->wire);
    }
    return out;
}

/* NULL, or what does not make sense. */
static const char *take_frame(struct tunnel *t, const struct cell_frame *f)
{
    const char *why = cell_frame_check(f, serves(t));
    if (why != NULL)
        return why;
    if (f->type == CELL_FRAME_PING && t->waiting.len < WAITING_MAX)
        cell_frame_add(&t->waiting, CELL_FRAME_PONG, 0, (struct cd_str){0});
    if (f->type == CELL_FRAME_PING || f->type == CELL_FRAME_PONG)
        return NULL;
    if (f->type == CELL_FRAME_END) {
        CD_MARK("cell.tunnel_ended");
        t->ended = true;
        tell_wires(t,
                   &(struct cell_close){.text = CD_STR("the node is stopping"),
                                        .retryable = true,
                                        .refusal = CELL_REFUSED_DRAINING},
                   NULL);
        return NULL;
    }
    struct cd_buf *out = place_of(t, f, &why);
    if (out != NULL) {
        cell_post_add(out, serves(t) ? t->serial : 0);
        cell_frame_add(out, f->type, f->wire, f->payload);
    }
    return why;
}

/* Takes what is complete; NULL, or why the tunnel ends. */
static const char *take_bytes(struct tunnel *t, struct cd_str bytes)
{
    const char *why = NULL;
    bool carried = t->carry.len > 0;
    if (carried) {
        cd_buf_add_str(&t->carry, bytes);
        bytes = cd_buf_str(&t->carry);
    }
    size_t at = 0;
    while (why == NULL) {
        struct cell_frame f;
        int taken = cell_frame_take(cd_str_sub(bytes, at, SIZE_MAX), &f, &why);
        if (taken <= 0)
            break;
        why = take_frame(t, &f);
        at += (size_t)taken;
    }
    if (carried)
        cd_buf_drop(&t->carry, at);
    else
        cd_buf_add_str(&t->carry, cd_str_sub(bytes, at, SIZE_MAX));
    return why;
}

static void heard(struct tunnel *t, struct cd_str bytes)
{
    struct cell_tunnels *h = t->hub;
    t->heard = true;
    t->silent = 0;
    t->used_ns = io_now_ns(h->o.io);
    const char *why = take_bytes(t, bytes);
    if (why != NULL) {
        CD_MARK("cell.tunnel_nonsense");
        cd_event(h->o.io, CD_WARN, "tunnel_protocol_error", CD_Z("target", serves(t) ? "" : t->target),
                 CD_Z("why", why));
        tunnel_close(t, true, why);
    } else if (t->ended && !serves(t)) {
        tunnel_close(t, false, "the other node stops");
    } else {
        tunnel_write(t);
    }
}

static void read_done(struct io_op *op, int status)
{
    struct tunnel *t = CD_CONTAINER(op, struct tunnel, read.op);
    if (t->phase != TUNNEL_OPEN)
        return;
    if (status != IO_OK)
        tunnel_close(t, true,
                     status == IO_EOF ? "the other node closed the connection"
                                      : "the other node's connection broke");
    else
        heard(t, cd_str_of(t->read.buf, t->read.len));
    if (t->phase == TUNNEL_OPEN)
        tunnel_read(t);
    flush_posts(t->hub);
}

/* ---- Life ---- */

static void tick_done(struct io_op *op, int status);

static struct tunnel *tunnel_new(struct cell_tunnels *h)
{
    struct tunnel *t = cd_new(struct tunnel);
    t->hub = h;
    t->serial = ++h->serials;
    t->used_ns = io_now_ns(h->o.io);
    t->phase = TUNNEL_DIALING;
    h->tunnels++;
    (void)cd_map_put_u64(&h->by_serial, t->serial, t);
    if (!io_busy(&h->tick.op))
        io_timer_start(&h->tick, h->o.io, TICK_NS, tick_done);
    return t;
}

static void opened(struct tunnel *t, struct io_stream *stream, struct cd_buf *rest)
{
    struct cd_buf first = cd_buf_move(rest);
    t->stream = *stream;
    *stream = (struct io_stream){0};
    t->phase = TUNNEL_OPEN;
    if (first.len > 0)
        heard(t, cd_buf_str(&first));
    else
        tunnel_write(t);
    if (t->phase == TUNNEL_OPEN)
        tunnel_read(t);
    cd_buf_deinit(&first);
    flush_posts(t->hub);
}

static void dialed(struct io_op *op, int status)
{
    struct tunnel *t = CD_CONTAINER(op, struct tunnel, dialed);
    struct cell_tunnels *h = t->hub;
    struct cd_buf why = {0};
    (void)status;
    if (t->dial_status == IO_OK) {
        opened(t, &t->dial.stream, &t->dial.rest);
        return;
    }
    CD_MARK("cell.tunnel_not_connected");
    cd_buf_addf(&why, "the node that has the cell cannot be reached: %s",
                t->dial.why[0] != 0 ? t->dial.why : cd_err_text(t->dial_status));
    forget(t);
    tell_wires(t,
               &(struct cell_close){
                   .text = cd_buf_str(&why), .retryable = true, .refusal = CELL_REFUSED_UNREACHABLE},
               NULL);
    flush_posts(h);
    cd_buf_deinit(&why);
    cd_buf_deinit(&t->dial.rest);
    tunnel_free(t);
}

static void dial_flow(void *arg)
{
    struct tunnel *t = arg;
    struct cell_tunnels *h = t->hub;
    t->dial_status = h->o.dial(h->o.arg, &t->dial);
    t->fiber = NULL;
    io_defer(&t->dialed, h->o.io, IO_OK, dialed);
}

static struct tunnel *tunnel_to(struct cell_tunnels *h, struct cd_str target, struct cd_str addr)
{
    struct tunnel *t = cd_map_get(&h->by_target, target);
    if (t != NULL)
        return t;
    t = tunnel_new(h);
    t->target = cd_str_dup(target);
    t->addr = cd_str_dup(addr);
    t->dial = (struct cell_dial){.io = h->o.io, .target = cd_str(t->target), .addr = cd_str(t->addr)};
    (void)cd_map_put(&h->by_target, target, t);
    t->fiber = io_spawn(h->o.io, "tunnel", dial_flow, t);
    return t;
}

/* True: it was closed. */
static void tick(struct tunnel *t, uint64_t now)
{
    if (t->phase != TUNNEL_OPEN)
        return;
    if (t->wires.count == 0) {
        if (now - t->used_ns < (serves(t) ? 2 * IDLE_NS : IDLE_NS))
            return;
        tunnel_close(t, false, "nothing goes over it");
        return;
    }
    if (!t->heard && ++t->silent > SILENT_TICKS_MAX) {
        CD_MARK("cell.tunnel_silent");
        tunnel_close(t, true, "the other node gives no sign of life");
        return;
    }
    if (!t->heard && t->waiting.len < WAITING_MAX)
        cell_frame_add(&t->waiting, CELL_FRAME_PING, 0, (struct cd_str){0});
    t->heard = false;
    tunnel_write(t);
}

static void close_all(struct cell_tunnels *h, bool abort)
{
    uint64_t after = 0;
    struct cd_map_node *n;
    while ((n = cd_map_at_or_after_u64(&h->by_serial, after)) != NULL) {
        struct tunnel *t = cd_map_value(n);
        after = cd_map_key_u64(n) + 1;
        if (t->fiber != NULL)
            io_fiber_cancel(t->fiber);
        else if (abort)
            tunnel_close(t, true, "the node is stopping");
        else
            tunnel_write(t); /* It ends when nothing is left, or when the time is up. */
    }
    flush_posts(h);
}

static void tick_done(struct io_op *op, int status)
{
    struct cell_tunnels *h = CD_CONTAINER(op, struct cell_tunnels, tick.op);
    uint64_t after = 0;
    struct cd_map_node *n;
    if (h->stopping) {
        if (status == IO_OK && io_now_ns(h->o.io) >= h->finish_ns)
            close_all(h, true);
    } else if (status == IO_OK) {
        while ((n = cd_map_at_or_after_u64(&h->by_serial, after)) != NULL) {
            after = cd_map_key_u64(n) + 1;
            tick(cd_map_value(n), io_now_ns(h->o.io));
        }
        flush_posts(h);
    }
    if (h->tunnels > 0 && (status == IO_OK || (h->stopping && !h->at_once))) {
        io_timer_start(&h->tick, h->o.io, h->stopping ? FINISH_NS / 10 : TICK_NS, tick_done);
    } else if (h->tunnels == 0 && h->stop_op != NULL) {
        io_complete_later(h->stop_op, IO_OK);
        h->stop_op = NULL;
    }
}

/* ---- From the shards ---- */

static void refuse_open(struct cell_tunnels *h, uint64_t id, const char *text)
{
    struct cd_buf *out = out_of(h, id);
    cell_post_add(out, 0);
    cell_frame_add_close(
        out, CELL_FRAME_REFUSED, id,
        &(struct cell_close){.text = cd_str(text), .retryable = true, .refusal = CELL_REFUSED_UNREACHABLE});
}

static struct tunnel *tunnel_for(struct cell_tunnels *h, uint64_t serial, const struct cell_frame *f,
                                 struct cd_str *rest)
{
    struct tunnel *t;
    if (f->type == CELL_FRAME_OPEN) {
        struct cd_str target = cell_post_text(rest);
        struct cd_str addr = cell_post_text(rest);
        if (h->stopping || addr.len == 0) {
            refuse_open(h, f->wire,
                        h->stopping ? "the node is stopping" : "the owner's lease has no address");
            return NULL;
        }
        t = tunnel_to(h, target, addr);
        (void)cd_map_put_u64(&t->wires, f->wire, out_of(h, f->wire));
        (void)cd_map_put_u64(&h->wires, f->wire, t);
        return t;
    }
    t = serial == 0 ? cd_map_get_u64(&h->wires, f->wire) : cd_map_get_u64(&h->by_serial, serial);
    if (t == NULL || cd_map_get_u64(&t->wires, f->wire) == NULL)
        return NULL; /* The tunnel has ended; the shard has been told. */
    if (f->type == CELL_FRAME_CLOSE || f->type == CELL_FRAME_REFUSED) {
        (void)cd_map_remove_u64(&t->wires, f->wire);
        if (serial == 0)
            (void)cd_map_remove_u64(&h->wires, f->wire);
    }
    return t;
}

static void write_to(struct cell_tunnels *h, uint64_t serial)
{
    struct tunnel *t = cd_map_get_u64(&h->by_serial, serial); /* Another's write may have ended it. */
    if (t != NULL)
        tunnel_write(t);
}

void cell_post_at_control(struct cell_router *r, struct cd_str bytes)
{
    struct cell_tunnels *h = r->tunnels;
    uint64_t serial, last = 0;
    struct cell_frame f;
    if (h->o.io == NULL)
        return; /* It was never started, and so nothing is open. */
    while (cell_post_take(&bytes, &serial, &f)) {
        struct tunnel *t = tunnel_for(h, serial, &f, &bytes);
        if (t == NULL)
            continue;
        cell_frame_add(&t->waiting, f.type, f.wire, f.payload);
        t->used_ns = io_now_ns(h->o.io);
        if (last != t->serial)
            write_to(h, last);
        last = t->serial;
    }
    write_to(h, last);
    flush_posts(h);
}

/* ---- For the node ---- */

struct cell_tunnels *cell_tunnels_new(struct cell_router *r)
{
    struct cell_tunnels *h = cd_new(struct cell_tunnels);
    h->router = r;
    h->out = cd_alloc(r->loops * sizeof *h->out);
    r->tunnels = h;
    return h;
}

void cell_tunnels_free(struct cell_tunnels *h)
{
    if (h == NULL)
        return;
    CD_ASSERT(h->tunnels == 0 && h->wires.count == 0 && !io_busy(&h->tick.op));
    for (unsigned i = 0; i < h->router->loops; i++)
        cd_buf_deinit(&h->out[i]);
    cd_free(h->out);
    cd_free(h);
}

void cell_tunnels_start(struct cell_tunnels *h, const struct cell_tunnels_opts *o)
{
    CD_ASSERT(io_loop_index(o->io) == 0 && h->o.io == NULL);
    h->o = *o;
}

/* Says the last word at once, and waits until it was heard (tunnel_write has why): no call has started. */
static void turn_away(struct io *io, struct io_stream *stream)
{
    struct cd_buf end = {0};
    struct io_read read = {0};
    struct io_op closed = {0};
    uint64_t until = io_now_ns(io) + FINISH_NS;
    cell_frame_add(&end, CELL_FRAME_END, 0, (struct cd_str){0});
    struct cd_str part = cd_buf_str(&end);
    struct io_write write = {.part = &part, .parts = 1};
    CD_MARK("cell.tunnel_turned_away");
    io_stream_write(stream, &write, NULL);
    int rc = io_await(&write.op, until);
    while (rc == IO_OK) {
        read.buf = NULL;
        io_stream_read(stream, &read, NULL);
        rc = io_await(&read.op, until);
    }
    io_stream_close(stream, rc != IO_EOF, &closed, NULL);
    (void)io_await(&closed, IO_FOREVER); /* Closing ends by itself. */
    cd_buf_deinit(&end);
}

void cell_tunnels_accept(struct cell_tunnels *h, struct io *io, struct io_stream *stream, struct cd_buf *rest)
{
    CD_ASSERT(h->o.io == io); /* A node that serves has been started. */
    if (!h->stopping) {
        opened(tunnel_new(h), stream, rest);
        return;
    }
    cd_buf_deinit(rest);
    turn_away(io, stream);
}

void cell_tunnels_stop(struct cell_tunnels *h, struct io *io, bool at_once, struct io_op *op,
                       io_done_fn *done)
{
    CD_ASSERT(!h->stopping);
    h->stopping = true;
    h->at_once = at_once;
    io_begin(op, io, done); /* It cannot be cancelled: tunnels are there until it is done. */
    if (h->tunnels == 0 && !io_busy(&h->tick.op)) {
        io_complete_later(op, IO_OK);
        return;
    }
    h->stop_op = op;
    h->finish_ns = io_now_ns(io) + FINISH_NS;
    close_all(h, at_once);
    io_cancel(&h->tick.op);
}
