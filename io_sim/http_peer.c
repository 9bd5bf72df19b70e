/* io_sim/http_peer.c: scripted HTTP peers. Request and answer travel as messages over the wire between the
 * node and the world, in order each way; each may be late, lost for good (a reset), or held by a cut or a
 * clog. */
#include "io_sim/http.h"

enum message_kind { MESSAGE_ASK, MESSAGE_BODY, MESSAGE_HEAD, MESSAGE_RESET, MESSAGE_LEAVE };

struct message {
    struct cd_link link;
    enum message_kind kind;
    bool last;
    int status;
    struct cd_buf bytes;
};

void sim_http_peer(struct sim *sim, const char *host, const struct sim_http_peer *peer)
{
    struct sim_http_peer *own = cd_new(struct sim_http_peer);
    *own = *peer;
    cd_free(cd_map_put(&sim_peers(sim)->hosts, cd_str(host), own));
}

static void message_free(struct message *m)
{
    cd_link_remove(&m->link);
    cd_buf_deinit(&m->bytes);
    cd_free(m);
}

static void peer_over(struct sim_http *x)
{
    if (x->peer_over)
        return;
    x->peer_over = true;
    sim_http_release(x); /* The peer's hold. */
}

void sim_hosts_free(struct sim *sim)
{
    struct sim_peers *peers = sim->peers;
    struct cd_link *k;
    while ((k = cd_list_first(&peers->exchanges)) != NULL) {
        struct sim_http *x = CD_CONTAINER(k, struct sim_http, all);
        if (x->peer != NULL && !x->peer_over && x->peer->gone != NULL && x->asked)
            x->peer->gone(x->peer->arg, x); /* It may hold memory for it. */
        while ((k = cd_list_first(&x->to_peer)) != NULL)
            message_free(CD_CONTAINER(k, struct message, link));
        while ((k = cd_list_first(&x->to_us)) != NULL)
            message_free(CD_CONTAINER(k, struct message, link));
        x->refs = 1; /* Messages under way held it; their events went with the wire. */
        sim_http_release(x);
    }
    for (struct cd_map_node *n = cd_map_first(&peers->hosts); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&peers->hosts);
}

/* ---- Messages ---- */

static void deliver_to_peer(struct sim_http *x, const struct message *m)
{
    const struct sim_http_peer *p = x->peer;
    if (x->peer_over)
        return;
    if (m->kind == MESSAGE_LEAVE) {
        if (p->gone != NULL && x->asked)
            p->gone(p->arg, x);
        peer_over(x);
    } else if (m->kind == MESSAGE_ASK) {
        struct cd_buf url = {0};
        if (x->start != NULL && !x->start->settled)
            sim_unschedule(x->sim, x->start); /* Connected: now it waits as long as it takes. */
        x->asked = true;
        cd_buf_addf(&url, "http://%.*s:%u%.*s", (int)x->host.len, x->host.ptr, x->port, (int)x->target.len,
                    x->target.ptr);
        p->request(p->arg, x, cd_buf_str(&x->method), cd_buf_str(&url), cd_buf_str(&x->lines));
        cd_buf_deinit(&url);
        if (x->body_len == IO_HTTP_NO_BODY && p->body != NULL && !x->peer_over)
            p->body(p->arg, x, (struct cd_str){0}, true);
    } else if (p->body != NULL) {
        p->body(p->arg, x, cd_buf_str(&m->bytes), m->last);
    }
}

static void deliver_to_us(struct sim_http *x, const struct message *m)
{
    if (x->loop == NULL || x->over)
        return;
    if (m->kind == MESSAGE_RESET) {
        sim_http_end(x, IO_RESET);
    } else if (m->kind == MESSAGE_HEAD) {
        sim_http_head_is_there(x, m->status, cd_buf_str(&m->bytes));
    } else {
        sim_http_body_is_there(x, cd_buf_str(&m->bytes));
        if (m->last)
            sim_http_end(x, IO_EOF);
    }
}

static void message_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    bool to_us = e->num == 1;
    struct sim_node *from = to_us ? sim->world_node : x->node, *to = to_us ? x->node : sim->world_node;
    if (sim_wire_held(sim_wire(sim, from, to))) {
        sim_wait_link(sim, from, to, e);
        return;
    }
    sim_event_free(sim, e);
    struct cd_list *list = to_us ? &x->to_us : &x->to_peer;
    struct message *m = CD_CONTAINER(cd_list_first(list), struct message, link);
    sim->record.len = m->bytes.len;
    sim->record.note = "http";
    cd_link_remove(&m->link);
    if (to_us && !x->hole)
        deliver_to_us(x, m);
    else if (!to_us)
        deliver_to_peer(x, m);
    message_free(m);
    sim_http_release(x);
}

static void message_push(struct sim_http *x, bool to_us, enum message_kind kind, int status,
                         struct cd_str bytes, bool last, uint64_t delay_ns)
{
    struct sim *sim = x->sim;
    struct message *m = cd_new(struct message);
    m->kind = kind;
    m->status = status;
    m->last = last;
    cd_buf_add_str(&m->bytes, bytes);
    cd_list_push(to_us ? &x->to_us : &x->to_peer, &m->link);
    uint64_t at = sim->now_ns + delay_ns;
    if (at < x->last_at_ns[to_us])
        at = x->last_at_ns[to_us];
    x->last_at_ns[to_us] = at;
    struct sim_event *e = sim_event_new(sim, &sim->wire, SIM_WIRE, message_fire);
    e->owner = x;
    e->num = to_us ? 1 : 0;
    sim_http_hold(x);
    sim_schedule(sim, e, at - sim->now_ns);
}

static void message_send(struct sim_http *x, bool to_us, enum message_kind kind, int status,
                         struct cd_str bytes, bool last)
{
    struct sim *sim = x->sim;
    struct sim_wire *w =
        to_us ? sim_wire(sim, sim->world_node, x->node) : sim_wire(sim, x->node, sim->world_node);
    uint64_t draw = sim_mix(sim_mix(x->draw, to_us ? 1 : 0), x->messages[to_us]++);
    uint64_t delay = sim_wire_delay(sim, w, bytes.len, draw);
    bool reset = delay == UINT64_MAX || sim_strikes(sim_mix(draw, 100), sim_wire_link(sim, w)->reset_ppm);
    if (x->broken)
        return;
    if (!reset) {
        message_push(x, to_us, kind, status, bytes, last, delay);
        return;
    }
    x->broken = true;
    if (delay == UINT64_MAX)
        delay = sim_give_up_ns(sim, w);
    if (to_us && kind == MESSAGE_BODY) /* A prefix gets through. */
        message_push(x, true, kind, 0, cd_str_sub(bytes, 0, sim_mix(draw, 101) % (bytes.len + 1)), false,
                     delay);
    message_push(x, true, MESSAGE_RESET, 0, (struct cd_str){0}, true, delay);
    message_push(x, false, MESSAGE_LEAVE, 0, (struct cd_str){0}, true, delay);
}

/* ---- The asking side ---- */

static void connect_late_fire(struct sim *sim, struct sim_event *e)
{
    (void)sim;
    sim_http_end(e->owner, IO_TIMEDOUT);
}

void sim_http_peer_start(struct sim_http *x)
{
    struct sim *sim = x->sim;
    x->node = sim_net_node(x->loop->node);
    uint64_t host = cd_hash64(0, x->host.ptr, x->host.len);
    x->draw = sim_mix(sim_draw(sim, "exchange", host, x->node->id), x->node->connects++);
    const struct sim_link *there = sim_wire_link(sim, sim_wire(sim, x->node, sim->world_node));
    const struct sim_link *back = sim_wire_link(sim, sim_wire(sim, sim->world_node, x->node));
    x->hole = sim_strikes(sim_mix(x->draw, 2), back->half_open_ppm);
    sim_http_hold(x); /* The peer's. */
    if (sim_strikes(sim_mix(x->draw, 3), there->refuse_ppm)) {
        peer_over(x);
        sim_http_end(x, IO_REFUSED);
        return;
    }
    x->start->fire = connect_late_fire;
    sim_schedule(sim, x->start, x->connect_ns);
    message_send(x, false, MESSAGE_ASK, 0, (struct cd_str){0}, false);
}

void sim_http_peer_write(struct sim_http *x, struct cd_str bytes, bool last)
{
    message_send(x, false, MESSAGE_BODY, 0, bytes, last);
}

void sim_http_peer_leave(struct sim_http *x)
{
    if (!x->peer_over)
        message_send(x, false, MESSAGE_LEAVE, 0, (struct cd_str){0}, true);
}

/* ---- The peer ---- */

void sim_http_head(struct sim_http *x, int status, struct cd_str head)
{
    message_send(x, true, MESSAGE_HEAD, status, head, false);
}

void sim_http_chunk(struct sim_http *x, struct cd_str bytes, bool last)
{
    message_send(x, true, MESSAGE_BODY, 0, bytes, last);
    if (last)
        peer_over(x);
}

void sim_http_reset(struct sim_http *x)
{
    message_send(x, true, MESSAGE_RESET, 0, (struct cd_str){0}, true);
    peer_over(x);
}

void *sim_http_user(struct sim_http *x)
{
    return x->user;
}

void sim_http_set_user(struct sim_http *x, void *user)
{
    x->user = user;
}
