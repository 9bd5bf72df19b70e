/* cell/relay.c: calls between nodes, as a shard sees them: a relay has an end of a wire of this node on the
 * one side and a numbered wire of a tunnel on the other, and passes on what comes. fleet.md 9.10, 10.4.
 *
 * One that forwards stands for the cell: what its caller sent before the cell got the call is kept, so that
 * an attempt which certainly did not start can be made again, here or at another node. One that serves stands
 * for the caller. What they say goes to the control loop in one post for each turn.
 *
 * Each direction of a wire has a window. The receiver gives credit when it has passed the bytes on and the
 * wire behind it is not full, so a receiver who is slow stops its sender and nobody else. */
#include "cell/cell_internal.h"

#define MESSAGE_MAX (128u << 20) /* A message that a peer sends. */

struct relay_message {
    struct cd_link link;
    struct cd_buf bytes;
    size_t sent;
};

struct relay {
    struct cell_shard *shard;
    struct cell_wire *wire; /* owned */
    uint64_t tunnel, id; /* tunnel 0: it forwards. */
    /* Of one that forwards: the cell, and where the attempt goes. */
    struct cell *cell;
    char target[STORE_SESSION_MAX + 1];
    uint64_t epoch;
    bool started, paused;
    struct cd_list queue, kept; /* struct relay_message: beyond the window; sent, and it is not started. */
    int64_t window;
    size_t owed; /* Credit that was not given yet. */
    struct cd_buf in; /* Parts of a message. */
};

static bool serves(const struct relay *r)
{
    return r->tunnel != 0;
}

static struct cd_str serve_key(uint64_t tunnel, uint64_t id, char key[16])
{
    cd_put_u64(key, tunnel);
    cd_put_u64(key + 8, id);
    return cd_str_of(key, 16);
}

/* ---- To the control loop ---- */

static void posts_done(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, posts_op);
    (void)status; /* After a crash too: the other loop passes it over. */
    cell_post_send(s->o.router, s->o.io, 0, &s->posts);
    cell_shard_settle(s);
}

static struct cd_buf *frame_for(struct relay *r)
{
    struct cell_shard *s = r->shard;
    if (!io_busy(&s->posts_op))
        io_defer(&s->posts_op, s->o.io, IO_OK, posts_done);
    cell_post_add(&s->posts, r->tunnel);
    return &s->posts;
}

static void message_free(struct relay_message *m)
{
    cd_buf_deinit(&m->bytes);
    cd_free(m);
}

static void drop_messages(struct cd_list *list)
{
    struct cd_link *k;
    while ((k = cd_list_pop(list)) != NULL)
        message_free(CD_CONTAINER(k, struct relay_message, link));
}

static void relay_free(struct relay *r)
{
    struct cell_shard *s = r->shard;
    char key[16];
    CD_ASSERT(r->wire == NULL);
    if (serves(r))
        (void)cd_map_remove(&s->serves, serve_key(r->tunnel, r->id, key));
    else
        (void)cd_map_remove_u64(&s->forwards, r->id);
    if (r->cell != NULL) {
        r->cell->relays--;
        cell_poke(r->cell);
    }
    drop_messages(&r->queue);
    drop_messages(&r->kept);
    cd_buf_deinit(&r->in);
    cd_free(r);
    if (s->closing)
        cell_shard_pump(s); /* Maybe it was the last: the next turn asks. */
}

/* The other node has said its last word, or cannot. */
static void relay_end(struct relay *r, const struct cell_close *why)
{
    struct cell_wire *w = r->wire;
    r->wire = NULL;
    cell_wire_close(w, why);
    relay_free(r);
}

/* Both hear why. */
static void relay_cut(struct relay *r, const struct cell_close *why)
{
    cell_frame_add_close(frame_for(r), CELL_FRAME_CLOSE, r->id, why);
    relay_end(r, why);
}

/* ---- From the wire to the tunnel ---- */

static const struct cell_wire_hooks hooks;

static void pump(struct relay *r)
{
    struct cd_link *k;
    while (r->window > 0 && (k = cd_list_first(&r->queue)) != NULL) {
        struct relay_message *m = CD_CONTAINER(k, struct relay_message, link);
        size_t n = m->bytes.len - m->sent;
        n = n > CELL_FRAME_PAYLOAD_MAX ? CELL_FRAME_PAYLOAD_MAX : n;
        n = n > (size_t)r->window ? (size_t)r->window : n;
        struct cd_str piece = cd_str_sub(cd_buf_str(&m->bytes), m->sent, n);
        bool last = m->sent + n == m->bytes.len;
        cell_frame_add(frame_for(r), last ? CELL_FRAME_DATA : CELL_FRAME_PART, r->id, piece);
        r->window -= (int64_t)(n + CELL_FRAME_HEAD);
        m->sent += n;
        if (!last)
            continue;
        cd_link_remove(&m->link);
        if (!serves(r) && !r->started)
            cd_list_push(&r->kept, &m->link);
        else
            message_free(m);
    }
    bool pause = !cd_list_empty(&r->queue);
    if (pause != r->paused) { /* More waits in the wire meanwhile. */
        CD_MARK("cell.relay_window");
        r->paused = pause;
        cell_wire_attach(r->wire, pause ? NULL : &hooks, r);
    }
}

static void on_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct relay *r = arg;
    struct relay_message *m = cd_new(struct relay_message);
    (void)w;
    m->bytes = cd_buf_move(bytes);
    cd_list_push(&r->queue, &m->link);
    pump(r);
}

static void give_credit(struct relay *r)
{
    /* What comes before the start is kept by the sender: no more of it. */
    if ((serves(r) && !r->started) || r->owed < CELL_FRAME_WINDOW / 2 || cell_wire_full(r->wire))
        return;
    cell_frame_add_credit(frame_for(r), r->id, (uint32_t)r->owed);
    r->owed = 0;
}

static void on_started(void *arg, struct cell_wire *w)
{
    struct relay *r = arg;
    (void)w;
    r->started = true;
    cell_frame_add(frame_for(r), CELL_FRAME_STARTED, r->id, (struct cd_str){0});
    give_credit(r);
}

/* This node's end has gone: the caller of one that forwards, the cell of one that serves. */
static void on_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    struct relay *r = arg;
    bool refused =
        serves(r) && !r->started && why->refusal != CELL_NOT_REFUSED && why->refusal != CELL_REFUSED_FAILED;
    (void)w;
    cell_frame_add_close(frame_for(r), refused ? CELL_FRAME_REFUSED : CELL_FRAME_CLOSE, r->id, why);
    relay_end(r, NULL);
}

static void on_drained(void *arg, struct cell_wire *w)
{
    (void)w;
    give_credit(arg);
}

static const struct cell_wire_hooks hooks = {on_message, on_closed, on_started, on_drained};

static struct relay *relay_new(struct cell_shard *s, uint64_t tunnel, uint64_t id, struct cell_wire *w)
{
    struct relay *r = cd_new(struct relay);
    char key[16];
    r->shard = s;
    r->tunnel = tunnel;
    r->id = id;
    r->wire = w;
    r->window = CELL_FRAME_WINDOW;
    cd_list_init(&r->queue);
    cd_list_init(&r->kept);
    if (serves(r))
        (void)cd_map_put(&s->serves, serve_key(tunnel, id, key), r);
    else
        (void)cd_map_put_u64(&s->forwards, id, r);
    return r;
}

/* ---- Forwarding ---- */

static void post_text(struct cd_buf *out, const char *text)
{
    struct cd_str s = cd_str(text);
    cd_buf_add_u16(out, (uint16_t)s.len);
    cd_buf_add_str(out, s);
}

void cell_relay_forward(struct cell *c, struct cell_wire *w)
{
    struct cell_shard *s = c->shard;
    uint64_t now = io_now_ns(s->o.io);
    uint64_t id = (uint64_t)io_loop_index(s->o.io) << 48 | ++s->wires;
    cell_wire_detach_cell(w);
    struct relay *r = relay_new(s, 0, id, w);
    memcpy(r->target, c->route->target, sizeof r->target);
    r->epoch = c->route->epoch;
    r->cell = c;
    c->relays++;
    struct cell_frame_open open = {
        .hops = 1,
        .deadline_ms = w->deadline_ns > now ? (uint32_t)((w->deadline_ns - now) / IO_MS(1)) : 0,
        .epoch = r->epoch,
        .scope = cd_str(c->scope),
        .script = c->script == NULL ? (struct cd_str){0} : cd_str(c->script),
        .name = cd_buf_str(&c->name)};
    struct cd_buf *out = frame_for(r);
    cell_frame_add_open(out, id, &open);
    post_text(out, r->target);
    post_text(out, c->route->addr);
    cell_wire_attach(w, &hooks, r);
    cell_shard_stir(s);
}

static void untake(struct cell_wire *w, struct cd_list *list)
{
    while (!cd_list_empty(list)) {
        struct relay_message *m = CD_CONTAINER(list->head.prev, struct relay_message, link);
        cd_link_remove(&m->link);
        cell_wire_untake(w, &m->bytes);
        message_free(m);
    }
}

/* The attempt certainly did not start. */
static void give_back(struct relay *r, const struct cell_close *why)
{
    struct cell *c = r->cell;
    struct cell_wire *w = r->wire;
    char target[sizeof r->target];
    uint64_t epoch = r->epoch;
    memcpy(target, r->target, sizeof target);
    cell_wire_attach(w, NULL, NULL);
    untake(w, &r->queue);
    untake(w, &r->kept);
    r->wire = NULL;
    cell_call_back(c, w, target, epoch, why);
    relay_free(r);
}

#define LOST CD_STR("Network connection lost.")

static void lost(struct relay *r, struct cd_str text)
{
    struct cell_close why = {.text = LOST};
    if (serves(r)) {
        why.text = text; /* Of the cell's event, which is cancelled. */
        relay_end(r, &why);
    } else if (!r->started && CD_PLANT("cell.resend-ambiguous")) {
        give_back(r, &why);
    } else {
        CD_MARK("cell.forward_lost");
        relay_end(r, &why);
    }
}

/* ---- From the tunnel ---- */

static void on_data(struct relay *r, const struct cell_frame *f)
{
    if (r->in.len + f->payload.len > MESSAGE_MAX || r->owed > 2 * CELL_FRAME_WINDOW) {
        relay_cut(
            r, &(struct cell_close){.text = CD_STR("a message that is too long, or beyond its window, came "
                                                   "from another node")});
        return;
    }
    cd_buf_add_str(&r->in, f->payload);
    r->owed += f->payload.len + CELL_FRAME_HEAD;
    if (f->type == CELL_FRAME_DATA)
        cell_wire_send(r->wire, &r->in);
    give_credit(r);
}

static void on_frame(struct relay *r, const struct cell_frame *f)
{
    struct cell_close why = {0};
    switch (f->type) {
    case CELL_FRAME_LOST: lost(r, f->payload); return;
    case CELL_FRAME_STARTED:
        r->started = true;
        r->cell->tries = 0;
        drop_messages(&r->kept);
        return;
    case CELL_FRAME_REFUSED:
        if (!cell_frame_close_read(f->payload, &why) || r->started)
            relay_cut(r, &(struct cell_close){.text = LOST});
        else
            give_back(r, &why);
        return;
    case CELL_FRAME_PART:
    case CELL_FRAME_DATA: on_data(r, f); return;
    case CELL_FRAME_CLOSE: relay_end(r, cell_frame_close_read(f->payload, &why) ? &why : NULL); return;
    case CELL_FRAME_CREDIT:
        r->window += cd_get_u32(f->payload.ptr);
        if (r->window > CELL_FRAME_WINDOW)
            r->window = CELL_FRAME_WINDOW;
        pump(r);
        return;
    case CELL_FRAME_OPEN:
    case CELL_FRAME_PING:
    case CELL_FRAME_PONG:
    case CELL_FRAME_END:
    case CELL_FRAME_TYPES: break;
    }
    CD_UNREACHABLE(); /* The control loop passes on what makes sense. */
}

static void serve(struct cell_shard *s, uint64_t tunnel, const struct cell_frame *f)
{
    struct io *io = s->o.io;
    struct cell_frame_open open;
    struct cell_wire *cells;
    bool well = cell_frame_open_read(f->payload, &open);
    CD_ASSERT(well); /* As above. */
    struct cell_wire *mine = cell_wire_pair(io, io_loop_index(io), &cells);
    struct relay *r = relay_new(s, tunnel, f->wire, mine);
    struct cell_order o = {.foreign = true, .epoch = open.epoch, .wait_ns = IO_MS(open.deadline_ms)};
    cells->io = io;
    cell_wire_attach(mine, &hooks, r);
    o.scope = cd_str_dup(open.scope);
    o.script = cd_str_dup(open.script);
    cd_buf_add_str(&o.name, open.name);
    cell_shard_order(s, &o, cells);
    cd_free(o.scope);
    cd_free(o.script);
    cd_buf_deinit(&o.name);
}

/* This loop has no cells yet, or none any more. */
static void nobody(struct cell_router *r, struct io *io, uint64_t tunnel, const struct cell_frame *f)
{
    struct cd_buf out = {0};
    if (f->type != CELL_FRAME_OPEN)
        return;
    cell_post_add(&out, tunnel);
    cell_frame_add_close(&out, CELL_FRAME_REFUSED, f->wire,
                         &(struct cell_close){.text = CD_STR("the node is starting or stopping"),
                                              .retryable = true,
                                              .refusal = CELL_REFUSED_STARTING});
    cell_post_send(r, io, 0, &out);
}

void cell_post_at_shard(struct cell_router *router, struct io *io, struct cd_str bytes)
{
    uint64_t tunnel;
    struct cell_frame f;
    char key[16];
    while (cell_post_take(&bytes, &tunnel, &f)) {
        struct cell_shard *s = router->shard[io_loop_index(io)];
        if (s == NULL) {
            nobody(router, io, tunnel, &f);
        } else if (f.type == CELL_FRAME_OPEN) {
            serve(s, tunnel, &f);
        } else {
            struct relay *r = tunnel == 0 ? cd_map_get_u64(&s->forwards, f.wire)
                                          : cd_map_get(&s->serves, serve_key(tunnel, f.wire, key));
            if (r != NULL)
                on_frame(r, &f);
        }
    }
}

/* ---- The shard ---- */

static void end_map(struct cd_map *map, const struct cell_close *why)
{
    struct cd_map_node *n;
    while ((n = cd_map_first(map)) != NULL)
        relay_cut(cd_map_value(n), why);
}

void cell_relays_end(struct cell_shard *s, const struct cell_close *why)
{
    end_map(&s->forwards, why);
    end_map(&s->serves, why);
}

/* Who waits for a start for longer than the node that was asked may take: it is paused, or cut off, and may
 * have started the call. */
#define START_GRACE_NS IO_SEC(1)

void cell_relays_look(struct cell_shard *s, uint64_t now_ns)
{
    struct cd_map_node *next;
    bool over = s->closing && now_ns >= s->close_deadline_ns;
    for (struct cd_map_node *n = cd_map_first(&s->forwards); n != NULL; n = next) {
        struct relay *r = cd_map_value(n);
        if (over || (!r->started && now_ns >= r->wire->deadline_ns + START_GRACE_NS)) {
            uint64_t id = r->id;
            CD_MARK("cell.forward_not_started");
            relay_cut(r, &(struct cell_close){.text = over ? CD_STR("the node is stopping") : LOST});
            next = cd_map_at_or_after_u64(&s->forwards, id);
        } else {
            next = cd_map_next(n);
        }
    }
}
