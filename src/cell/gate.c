/* cell/gate.c: the output gate. See gate.h. */
#include "cell/gate.h"

#include "cell/cell_internal.h"

bool cell_proven(const struct cell *c, uint64_t stamp)
{
    if (CD_PLANT("cell.gate-open"))
        return true;
    return stamp <= log_feed_proven(c->shard->feed);
}

static bool authoritative(const struct cell *c)
{
    return fleet_authoritative(c->shard->o.self->authority, io_now_ns(c->shard->o.io));
}

int cell_flush(struct cell *c, struct cd_buf *why)
{
    if (c->storage == NULL)
        return 0;
    if (c->doomed || c->gate_failed) { /* What is not committed now never will be. */
        cd_buf_add_str(why, c->why.len > 0 ? cd_buf_str(&c->why) : CD_STR("the cell is being stopped"));
        return CD_ECLOSED;
    }
    int rc = 0;
    /* The name goes with the first write: an alarm that wakes the cell knows it then. */
    if (!c->named && c->name.len > 0 && storage_depth(c->storage) == 0 && storage_uncommitted(c->storage)) {
        rc = storage_name_set(c->storage, cd_buf_str(&c->name));
        c->named = rc == 0;
    }
    if (rc == 0)
        rc = storage_turn_end(c->storage, why);
    else
        cd_buf_add_str(why, storage_error(c->storage));
    const char *broken = storage_broken(c->storage);
    if (broken != NULL)
        cell_reset(c, cd_str(broken));
    return rc;
}

uint64_t cell_stamp(struct cell *c)
{
    struct cd_buf why = {0};
    int rc = cell_flush(c, &why);
    if (rc != 0 && !c->doomed) /* The effect would show what may never be committed. */
        cell_reset(c, cd_buf_str(&why));
    cd_buf_deinit(&why);
    return c->seq;
}

static void proof_done(struct io_op *op, int status);

static void wait_for_first(struct cell *c)
{
    struct cd_link *k = cd_list_first(&c->held);
    if (k == NULL || io_busy(&c->proof.op) || c->gate_failed)
        return;
    c->proof.seq = CD_CONTAINER(k, struct cell_held, link)->stamp;
    if (cell_proven(c, c->proof.seq))
        return; /* Only authority is missing: the sweep asks for it. */
    log_feed_wait(c->shard->feed, &c->proof, proof_done);
}

/* In order, as far as the proofs go. */
static void release(struct cell *c)
{
    struct cd_link *k;
    while (!c->doomed && (k = cd_list_first(&c->held)) != NULL && authoritative(c)) {
        struct cell_held *h = CD_CONTAINER(k, struct cell_held, link);
        if (!cell_proven(c, h->stamp))
            break;
        cd_link_remove(&h->link);
        c->held_since_ns = io_now_ns(c->shard->o.io);
        h->done(h, 0, (struct cd_str){0});
    }
    if (cd_list_empty(&c->held))
        cd_link_remove(&c->holding);
    cell_touch(c);
}

static void proof_done(struct io_op *op, int status)
{
    struct cell *c = CD_CONTAINER(op, struct cell, proof.op);
    bool again = c->proof_again; /* We cancelled it: another residence may wait by now. */
    c->proof_again = false;
    if (status == IO_OK)
        release(c);
    if (status == IO_OK || again) /* Else the session is lost, or the node: a fence fails the gate. */
        wait_for_first(c);
    cell_poke(c);
}

void cell_gate(struct cell *c, struct cell_held *h, cell_held_fn *done)
{
    CD_ASSERT(!cd_link_linked(&h->link));
    h->done = done;
    if (c->gate_failed) {
        done(h, CD_ECLOSED, cd_buf_str(&c->why));
        return;
    }
    uint64_t before = c->seq;
    h->stamp = cell_stamp(c);
    if (h->stamp == before && CD_PLANT("cell.read-passes"))
        h->stamp = 0;
    if (!c->doomed && cd_list_empty(&c->held) && cell_proven(c, h->stamp) && authoritative(c)) {
        done(h, 0, (struct cd_str){0});
        return;
    }
    if (cd_list_empty(&c->held)) {
        c->held_since_ns = io_now_ns(c->shard->o.io);
        if (!cd_link_linked(&c->holding)) /* It is, when all that was held was cancelled since the sweep. */
            cd_list_push(&c->shard->holding, &c->holding);
    }
    cd_list_push(&c->held, &h->link);
    cell_touch(c);
    wait_for_first(c);
    cell_shard_stir(c->shard);
}

void cell_gate_cancel(struct cell_held *h)
{
    cd_link_remove(&h->link); /* An empty list leaves shard.holding at the next sweep. */
}

/* The proof budget (fleet.md 5.6): a row waits as long as the node proves anything within one budget, and six
 * of them at most. */
#define BUDGETS_MAX 6

void cell_gate_look(struct cell *c, uint64_t now_ns)
{
    const struct cell_shard *s = c->shard;
    release(c);
    wait_for_first(c);
    if (cd_list_empty(&c->held) || c->doomed)
        return;
    uint64_t waited = now_ns - c->held_since_ns;
    bool stalled = now_ns - s->proven_moved_ns > s->o.limits.proof_ns;
    if (waited > BUDGETS_MAX * s->o.limits.proof_ns || (waited > s->o.limits.proof_ns && stalled)) {
        CD_MARK("cell.proof_budget");
        cell_reset(c, CD_STR("durability unproven: the log stored nothing within its budget"));
    }
}

void cell_gate_fail(struct cell *c)
{
    struct cd_link *k;
    c->gate_failed = true;
    c->proof_again = io_busy(&c->proof.op);
    io_cancel(&c->proof.op);
    while ((k = cd_list_pop(&c->held)) != NULL) {
        struct cell_held *h = CD_CONTAINER(k, struct cell_held, link);
        h->done(h, CD_ECLOSED, cd_buf_str(&c->why));
    }
    cd_link_remove(&c->holding);
}

void cell_gate_open(struct cell *c)
{
    CD_ASSERT(cd_list_empty(&c->held));
    c->gate_failed = false;
}
