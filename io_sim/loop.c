/* io_sim/loop.c: one loop of a node: its operations, its mailbox, its end.
 *
 * Freezing a loop decides every op in flight at once (IO_CANCELED, without effect) and lets its code unwind
 * as events of the loop like any others. */
#include "io_sim/kernel.h"

/* ---- Operations ---- */

static void op_fire(struct sim *sim, struct sim_event *e)
{
    sim_op_done(sim, e, e->status);
}

void sim_op_done(struct sim *sim, struct sim_event *e, int status)
{
    struct io_op *op = e->op;
    void *lent = e->lent;
    e->actor->loop->ops--;
    sim->record.status = status;
    if (e->ended != NULL)
        e->ended(sim, e);
    sim_event_free(sim, e);
    op->impl = lent;
    io_complete(op, status);
}

/* Ends the op with status whatever was decided before. */
static void op_kill(struct sim *sim, struct sim_event *e, int status)
{
    if (e->drop != NULL)
        e->drop(sim, e);
    cd_link_remove(&e->link);
    e->drop = NULL;
    e->fire = op_fire;
    e->status = status;
    e->settled = true;
    sim_schedule(sim, e, 0);
}

static void op_cancel(struct io_op *op)
{
    struct sim_event *e = op->impl;
    if (!e->settled && !e->closing)
        op_kill(e->actor->loop->sim, e, IO_CANCELED);
}

static struct sim_event *op_begin(struct io_op *op, struct io *io, io_done_fn *done, enum sim_kind kind)
{
    struct sim_loop *loop = sim_loop_of(io);
    io_begin(op, io, done);
    struct sim_event *e = sim_event_new(loop->sim, &loop->actor, kind, op_fire);
    e->op = op;
    op->impl = e;
    op->cancel = op_cancel;
    loop->ops++;
    return e;
}

struct sim_event *sim_op_begin(struct io_op *op, struct io *io, io_done_fn *done, enum sim_kind kind)
{
    struct sim_event *e = op_begin(op, io, done, kind);
    int status = sim_call(sim_loop_of(io), kind);
    if (status == 0)
        return e;
    sim_op_finish(e, status, 0); /* Settled already when the call froze the node. */
    return NULL;
}

struct sim_event *sim_op_begin_closing(struct io_op *op, struct io *io, io_done_fn *done, enum sim_kind kind)
{
    struct sim_event *e = op_begin(op, io, done, kind);
    e->closing = true;
    return e;
}

void sim_op_finish(struct sim_event *e, int status, uint64_t delay_ns)
{
    if (e->settled)
        return;
    cd_link_remove(&e->link);
    e->settled = true;
    e->status = status;
    e->fire = op_fire;
    sim_schedule(e->actor->loop->sim, e, delay_ns);
}

/* io_defer, and waits for signals that were woken or cancelled. Their outcome is inside the loop: a freeze
 * leaves it. */
static void loop_defer(struct io *io, struct io_op *op, int status)
{
    struct sim_loop *loop = sim_loop_of(io);
    CD_ASSERT(op->impl == NULL);
    struct sim_event *e = sim_event_new(loop->sim, &loop->actor, SIM_DEFER, op_fire);
    e->op = op;
    op->impl = e;
    op->cancel = op_cancel;
    e->status = status;
    e->settled = true;
    loop->ops++;
    sim_schedule(loop->sim, e, 0);
}

static void wake_fire(struct sim *sim, struct sim_event *e)
{
    e->actor->loop->waking = false;
    sim_event_free(sim, e);
}

static void loop_wake(struct io *io)
{
    struct sim_loop *loop = sim_loop_of(io);
    if (loop->waking)
        return;
    loop->waking = true;
    sim_schedule(loop->sim, sim_event_new(loop->sim, &loop->actor, SIM_WAKE, wake_fire), 0);
}

/* ---- Life ---- */

static void loop_random_init(struct sim_loop *loop)
{
    struct cd_buf label = {0};
    for (unsigned use = 0; use < IO_RAND_COUNT; use++) {
        cd_buf_clear(&label);
        cd_buf_addf(&label, "random/%s/%u/%u/%u", loop->node->name, loop->node->life, loop->index, use);
        cd_rng_seed(&loop->random[use], loop->sim->opts.seed, cd_buf_str(&label));
    }
    cd_buf_deinit(&label);
}

struct sim_loop *sim_loop_new(struct sim_node *n, unsigned index)
{
    struct sim_loop *loop = cd_new(struct sim_loop);
    io_init(&loop->io);
    loop->io.defer = loop_defer;
    loop->io.wake = loop_wake;
    loop->sim = n->sim;
    loop->node = n;
    loop->index = index;
    cd_list_init(&loop->files);
    cd_list_init(&loop->watches);
    cd_list_init(&loop->streams);
    cd_list_init(&loop->listeners);
    cd_list_init(&loop->https);
    cd_list_init(&loop->children);
    loop->inbox = cd_alloc(n->loops * sizeof *loop->inbox);
    struct cd_buf name = {0};
    cd_buf_addf(&name, "%s/%u/%u", n->name, n->life, index);
    sim_actor_init(n->sim, &loop->actor, cd_buf_cstr(&name));
    cd_buf_deinit(&name);
    loop->actor.node = n;
    loop->actor.loop = loop;
    loop_random_init(loop);
    return loop;
}

void sim_loop_free(struct sim_loop *loop)
{
    if (loop->bucket_free != NULL)
        loop->bucket_free(loop);
    for (unsigned i = 0; i < loop->node->loops; i++)
        CD_ASSERT(loop->inbox[i].first == NULL);
    sim_actor_deinit(loop->sim, &loop->actor);
    io_deinit(&loop->io);
    cd_free(loop->inbox);
    cd_free(loop);
}

static void frozen_fire(struct sim *sim, struct sim_event *e)
{
    sim_event_free(sim, e); /* The step's end looks what is left of the loop. */
}

void sim_loop_freeze(struct sim_loop *loop)
{
    if (loop->frozen)
        return;
    struct sim *sim = loop->sim;
    loop->frozen = true;
    sim_actor_continue(sim, &loop->actor);
    loop->actor.free_at_ns = sim->now_ns;
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(&loop->actor.events); k != NULL; k = next) {
        struct sim_event *e = CD_CONTAINER(k, struct sim_event, all);
        next = cd_list_next(&loop->actor.events, k);
        if (e->kind == SIM_RUN && e->index != SIM_PARKED)
            sim_event_free(sim, e); /* Work that outsiders wanted done in the loop. */
    }
    for (struct cd_link *k = cd_list_first(&loop->io.ops); k != NULL; k = cd_list_next(&loop->io.ops, k)) {
        struct io_op *op = CD_CONTAINER(k, struct io_op, all);
        struct sim_event *e = op->impl;
        if (e == NULL)
            io_cancel(op); /* A wait for a signal. */
        else if (e->closing && e->drop != NULL)
            e->drop(sim, e);
        else if (!e->closing && e->kind != SIM_DEFER)
            op_kill(sim, e, IO_CANCELED);
    }
    sim_schedule(sim, sim_event_new(sim, &loop->actor, SIM_CRASHED, frozen_fire), 0);
    const struct sim_program *program = &loop->node->program;
    if (loop->booted && program->freeze != NULL)
        program->freeze(&loop->io, program->arg);
}

void io_stop(struct io *io)
{
    sim_loop_freeze(sim_loop_of(io));
}

unsigned io_loop_index(struct io *io)
{
    return sim_loop_of(io)->index;
}

unsigned io_process_id(struct io *io)
{
    return sim_node_id(sim_loop_of(io)->node);
}

/* Child programs lie in /bin: a test registers "celld" there. */
int io_process_program(struct io *io, struct cd_buf *out)
{
    (void)io;
    cd_buf_add_str(out, CD_STR("/bin/celld"));
    return IO_OK;
}

unsigned io_loop_count(struct io *io)
{
    return sim_loop_of(io)->node->loops;
}

/* store.c sets bucket when the node is given one. */
struct io_bucket *io_bucket(struct io *io)
{
    return sim_loop_of(io)->bucket;
}

/* ---- Mailbox ---- */

/* Some message of this pair is due: always the first one, so that the policy cannot reorder them. */
static void post_fire(struct sim *sim, struct sim_event *e)
{
    struct sim_loop *loop = e->actor->loop;
    struct sim_queue *q = &loop->inbox[e->num];
    struct io_msg *m = q->first;
    CD_ASSERT(m != NULL);
    q->first = m->link[0];
    if (q->first == NULL)
        q->last = NULL;
    sim->record.len = e->num;
    sim_event_free(sim, e);
    m->handle(&loop->io, m);
}

/* Messages reach a frozen loop too: they are memory that only their receiver can free. */
void io_post(struct io *from, unsigned to_loop, struct io_msg *m)
{
    struct sim_loop *sender = sim_loop_of(from);
    CD_ASSERT(to_loop < sender->node->loops);
    struct sim_loop *loop = sender->node->loop[to_loop];
    struct sim_queue *q = &loop->inbox[sender->index];
    m->link[0] = NULL;
    if (q->last == NULL)
        q->first = m;
    else
        q->last->link[0] = m;
    q->last = m;
    struct sim_event *e = sim_event_new(loop->sim, &loop->actor, SIM_POST, post_fire);
    e->num = sender->index;
    sim_schedule(loop->sim, e, 0);
}

/* ---- Lent buffers ---- */

/* Every read gets bytes of its own, and they are freed as soon as the promise ends: a sanitizer sees who
 * looks later. */
void sim_read_give(struct sim_loop *loop, struct io_read *r, char **slot, const char *bytes, size_t len)
{
    r->len = len;
    if (r->buf != NULL) {
        memcpy(r->buf, bytes, len);
        return;
    }
    CD_ASSERT(*slot == NULL && loop->lent == NULL); /* One op completes per event. */
    r->buf = *slot = cd_alloc(len);
    memcpy(r->buf, bytes, len);
    /* A fiber looks at them when it gets around to it: they stay until the next read or the close. */
    if (r->op.done != NULL)
        loop->lent = slot;
}

void sim_read_begin(struct io_read *r, char **slot)
{
    if (r->lent && r->buf == r->op.impl)
        r->buf = NULL; /* What the last read lent. */
    r->lent = r->buf == NULL;
    r->len = 0;
    CD_ASSERT(r->lent || r->cap > 0);
    cd_free(*slot);
    *slot = NULL;
}

void sim_lent_end(struct sim_loop *loop)
{
    if (loop->lent == NULL)
        return;
    cd_free(*loop->lent);
    *loop->lent = NULL;
    loop->lent = NULL;
}
