/* io_sim/http.c: io_http_*: the asking side of an exchange. Where the request goes is http_peer.c's or
 * http_wire.c's. */
#include "io_sim/http.h"

#include <stdio.h>

#define CONNECT_NS IO_SEC(10)

void sim_http_hold(struct sim_http *x)
{
    x->refs++;
}

void sim_http_release(struct sim_http *x)
{
    CD_ASSERT(x->refs > 0);
    if (--x->refs > 0)
        return;
    cd_link_remove(&x->all);
    cd_buf_deinit(&x->method);
    cd_buf_deinit(&x->host);
    cd_buf_deinit(&x->target);
    cd_buf_deinit(&x->lines);
    cd_buf_deinit(&x->head);
    cd_buf_deinit(&x->in);
    cd_free(x->lent);
    cd_free(x);
}

/* The asking side goes. */
static void leave(struct sim_http *x)
{
    CD_ASSERT(x->loop != NULL && x->ops == 0 && x->wire == NULL);
    if (x->late != NULL)
        sim_event_free(x->sim, x->late);
    x->late = NULL;
    cd_link_remove(&x->link);
    x->loop = NULL;
    if (x->peer != NULL)
        sim_http_peer_leave(x);
    sim_http_release(x);
}

/* The program's struct is not ours any more. */
static void owner_detach(struct sim_http *x)
{
    x->owner->io = NULL;
    x->owner->impl = NULL;
    x->owner = NULL;
}

void sim_http_settle(struct sim_http *x)
{
    if (!x->over || x->ops > 0 || x->wire != NULL)
        return;
    if (x->close != NULL)
        sim_schedule(x->sim, x->close, 0);
    else
        leave(x);
}

/* ---- Delivering ---- */

static void op_ended(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    (void)sim;
    x->ops--;
    if (x->read == e)
        x->read = NULL;
    if (x->write == e)
        x->write = NULL;
    sim_http_settle(x);
}

static void read_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    struct io_read *r = CD_CONTAINER(e->op, struct io_read, op);
    size_t have = x->in.len - x->in_at;
    if (have == 0) {
        sim_op_done(sim, e, x->end_status);
        return;
    }
    size_t n = r->lent || have < r->cap ? have : r->cap;
    sim_read_give(x->loop, r, &x->lent, x->in.ptr + x->in_at, n);
    e->lent = r->lent ? r->buf : NULL;
    x->in_at += n;
    if (x->in_at == x->in.len) {
        cd_buf_clear(&x->in);
        x->in_at = 0;
    }
    sim->record.len = n;
    if (x->wire != NULL)
        sim_http_wire_more(x);
    sim_op_done(sim, e, IO_OK);
}

static void read_kick(struct sim_http *x)
{
    if (x->read == NULL || x->read->settled || x->read->index != SIM_PARKED || !x->announced)
        return;
    if (x->in.len > x->in_at || x->ended)
        sim_schedule(x->sim, x->read, 0);
}

static void start_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    x->announced = true;
    x->start = NULL;
    x->owner->status = x->status;
    x->owner->head = cd_buf_move(&x->head);
    read_kick(x);
    sim->record.note = "head";
    sim_op_done(sim, e, IO_OK);
}

/* There will be no answer: nothing is left to close for the program. */
static void start_over(struct sim_http *x, int status)
{
    (void)snprintf(x->owner->why, sizeof x->owner->why, "%s", cd_err_text(status));
    x->start->drop = NULL;
    x->start = NULL;
    owner_detach(x);
    x->over = x->ended = true;
    x->end_status = status;
    if (x->read != NULL)
        sim_op_finish(x->read, status, 0);
    if (x->write != NULL)
        sim_op_finish(x->write, status, 0);
    if (x->wire != NULL)
        sim_http_wire_leave(x);
    sim_http_settle(x);
}

void sim_http_head_is_there(struct sim_http *x, int status, struct cd_str head)
{
    x->status = status;
    cd_buf_clear(&x->head);
    cd_buf_add_str(&x->head, head);
    x->has_head = true;
    if (x->start == NULL)
        return;
    sim_op_finish(x->start, IO_OK, 0);
    x->start->fire = start_fire;
}

void sim_http_body_is_there(struct sim_http *x, struct cd_str bytes)
{
    if (x->loop == NULL || x->ended)
        return;
    cd_buf_add_str(&x->in, bytes);
    read_kick(x);
}

void sim_http_end(struct sim_http *x, int status)
{
    if (x->ended || x->loop == NULL)
        return;
    if (!x->has_head) {
        struct sim_event *start = x->start;
        status = status == IO_EOF ? IO_PROTOCOL : status;
        sim_op_finish(start, status, 0);
        start_over(x, status);
        return;
    }
    x->ended = true;
    x->end_status = status;
    if (status != IO_EOF && x->owner != NULL)
        (void)snprintf(x->owner->why, sizeof x->owner->why, "%s", cd_err_text(status));
    if (x->write != NULL)
        sim_op_finish(x->write, status == IO_EOF ? IO_RESET : status, 0);
    read_kick(x);
}

/* ---- Asking ---- */

static void late_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    x->late = NULL;
    sim_event_free(sim, e);
    if (x->wire != NULL && x->has_head)
        sim_http_wire_leave(x);
    sim_http_end(x, IO_TIMEDOUT);
}

static void start_drop(struct sim *sim, struct sim_event *e)
{
    (void)sim;
    start_over(e->owner, IO_CANCELED); /* Cancelled, or its node froze. */
}

static struct sim_http *exchange_new(struct sim_loop *loop, struct io_http *h)
{
    struct sim_http *x = cd_new(struct sim_http);
    x->sim = loop->sim;
    x->refs = 1;
    x->loop = loop;
    x->owner = h;
    cd_list_init(&x->to_peer);
    cd_list_init(&x->to_us);
    cd_list_push(&sim_peers(x->sim)->exchanges, &x->all);
    return x;
}

void io_http_start(struct io_http *h, struct io *io, const struct io_http_ask *ask, struct io_op *op,
                   io_done_fn *done)
{
    struct sim_loop *loop = sim_loop_of(io);
    struct sim *sim = loop->sim;
    *h = (struct io_http){0};
    struct sim_event *e = sim_op_begin(op, io, done, SIM_HTTP_START);
    if (e == NULL)
        return;
    struct sim_http *x = exchange_new(loop, h);
    int rc = sim_http_ask_parse(x, ask);
    if (rc != 0) {
        (void)snprintf(h->why, sizeof h->why, "malformed method, URL or header");
        sim_http_release(x);
        sim_op_finish(e, rc, 0);
        return;
    }
    x->connect_ns = ask->connect_timeout_ns == 0 ? CONNECT_NS : ask->connect_timeout_ns;
    x->start = e;
    e->owner = x;
    e->drop = start_drop;
    h->io = io;
    h->impl = x;
    cd_list_push(&loop->https, &x->link);
    if (ask->total_timeout_ns != 0) {
        x->late = sim_event_new(sim, &sim->wire, SIM_WIRE, late_fire);
        x->late->owner = x;
        sim_schedule(sim, x->late, ask->total_timeout_ns);
    }
    x->peer = cd_map_get(&sim_peers(sim)->hosts, cd_buf_str(&x->host));
    if (x->peer != NULL)
        sim_http_peer_start(x);
    else
        sim_http_wire_start(x);
}

/* ---- Both bodies ---- */

static struct sim_http *exchange_of(const struct io_http *h)
{
    struct sim_http *x = h->impl;
    CD_ASSERT(h->io != NULL && x != NULL && x->close == NULL);
    return x;
}

static struct sim_event *exchange_op(struct sim_http *x, struct io_op *op, io_done_fn *done,
                                     enum sim_kind kind)
{
    x->ops++; /* Before: the node may freeze in this call, and x must outlive the op. */
    struct sim_event *e = sim_op_begin(op, &x->loop->io, done, kind);
    struct sim_event *any = op->impl;
    any->owner = x;
    any->ended = op_ended;
    return e;
}

/* Whether the chunk fits what was announced: a body of known length comes out even with its last chunk. */
static int chunk_check(const struct sim_http *x, size_t len, bool last)
{
    if (x->out_ended)
        return len == 0 && last ? IO_OK : CD_EINVAL;
    if (x->body_len == IO_HTTP_CHUNKED)
        return IO_OK;
    return len > x->body_left || (last && len < x->body_left) ? CD_EINVAL : IO_OK;
}

void io_http_write(struct io_http *h, struct cd_str chunk, bool last, struct io_op *op, io_done_fn *done)
{
    struct sim_http *x = exchange_of(h);
    CD_ASSERT(x->write == NULL);
    struct sim_event *e = exchange_op(x, op, done, SIM_HTTP_WRITE);
    if (e == NULL)
        return;
    int rc = chunk_check(x, chunk.len, last);
    if (rc == IO_OK && x->ended)
        rc = x->end_status == IO_EOF ? IO_RESET : x->end_status;
    if (rc != IO_OK || x->out_ended) {
        sim_op_finish(e, rc, 0);
        return;
    }
    if (x->body_len != IO_HTTP_CHUNKED)
        x->body_left -= chunk.len;
    x->out_ended = last || x->body_left == 0;
    if (x->peer != NULL) {
        sim_http_peer_write(x, chunk, x->out_ended);
        sim_op_finish(e, IO_OK, 0);
        return;
    }
    x->write = e;
    sim_http_wire_write(x, chunk, x->out_ended);
}

void io_http_read(struct io_http *h, struct io_read *r, io_done_fn *done)
{
    struct sim_http *x = exchange_of(h);
    CD_ASSERT(x->read == NULL);
    sim_read_begin(r, &x->lent);
    struct sim_event *e = exchange_op(x, &r->op, done, SIM_HTTP_READ);
    x->read = r->op.impl;
    if (e == NULL)
        return;
    e->fire = read_fire;
    read_kick(x);
}

static void close_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_http *x = e->owner;
    leave(x);
    sim_op_done(sim, e, IO_OK);
}

void io_http_close(struct io_http *h, struct io_op *op, io_done_fn *done)
{
    struct sim_http *x = exchange_of(h);
    CD_ASSERT(x->announced); /* Else cancel the start: when that fails, nothing is to be closed. */
    struct sim_event *e = sim_op_begin_closing(op, h->io, done, SIM_HTTP_CLOSE);
    e->owner = x;
    e->fire = close_fire;
    x->close = e;
    cd_buf_deinit(&h->head);
    owner_detach(x);
    x->over = true;
    if (x->read != NULL)
        io_cancel(x->read->op);
    if (x->write != NULL)
        io_cancel(x->write->op);
    if (x->wire != NULL)
        sim_http_wire_leave(x);
    sim_http_settle(x);
}

size_t sim_https_left(struct sim_loop *loop, struct cd_buf *report)
{
    size_t n = 0;
    for (struct cd_link *k = cd_list_first(&loop->https); k != NULL; k = cd_list_next(&loop->https, k)) {
        const struct sim_http *x = CD_CONTAINER(k, struct sim_http, link);
        n++;
        if (report != NULL)
            cd_buf_addf(report, "%s/%u http exchange with %.*s\n", loop->node->name, loop->index,
                        (int)x->host.len, x->host.ptr);
    }
    return n;
}
