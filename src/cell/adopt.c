/* cell/adopt.c: a cell that another node handed to this one, at its shard: it stays out of memory until
 * somebody needs it, and from now on this session answers for its alarm. fleet.md 10.5. */
#include "cell/cell_internal.h"

/* ---- On the shard ---- */

struct note {
    struct cell_flow flow; /* First: freed with it. */
    struct cell_adoption *adoption;
    uint64_t seq;
};

static void came_back(struct io *at, struct io_msg *m)
{
    struct cell_adoption *a = CD_CONTAINER(m, struct cell_adoption, msg);
    (void)at;
    if (a->abandoned) {
        cd_free(a->scope);
        cd_free(a);
        return;
    }
    a->answered = true;
    io_signal_wake(&a->answer, IO_OK);
}

static void answer(struct io *io, struct cell_adoption *a, int status)
{
    a->status = status;
    a->msg.handle = came_back;
    io_post(io, 0, &a->msg);
}

static void note_flow(struct cell_flow *f)
{
    struct note *n = CD_CONTAINER(f, struct note, flow);
    struct cell_shard *s = f->shard;
    int rc = IO_OK;
    if (!CD_PLANT("cell.adopt_unproven"))
        rc = cell_flow_proven(f, n->seq, io_now_ns(s->o.io) + s->o.limits.operation_ns);
    answer(s->o.io, n->adoption, rc);
}

/* The alarm is in this session's log from now on: whoever recovers it finds it there. */
static void note(struct cell_shard *s, struct cell_adoption *a)
{
    struct log_row *row = log_row_new(cd_str(a->scope), a->epoch);
    row->kind = LOG_ROW_NOTE;
    row->alarm = (struct log_alarm){true, a->alarm.due_ms, a->alarm.inst_seq};
    struct note *n = cd_new(struct note);
    n->adoption = a;
    n->seq = log_feed_row(s->feed, row);
    struct store_alarm duty = {cd_str(a->scope), {a->epoch, a->alarm.inst_seq}, (uint64_t)a->alarm.due_ms};
    log_folder_alarm(s->o.folder, s->o.io, &duty);
    cell_timer_by(s, cd_str(a->scope), a->alarm.due_ms);
    cell_flow_detached(s, "adopt", &n->flow, note_flow);
}

static void arrived(struct io *at, struct io_msg *m)
{
    struct cell_adoption *a = CD_CONTAINER(m, struct cell_adoption, msg);
    struct cell_shard *s = a->router->shard[io_loop_index(at)];
    if (s == NULL || s->closing || s->fenced) {
        answer(at, a, IO_CANCELED);
        return;
    }
    const struct cell_owned *had = cell_owned(s, cd_str(a->scope), false);
    bool again = had != NULL && had->adopted && had->epoch == a->epoch; /* The same message, twice. */
    if (had != NULL && had->epoch >= a->epoch && !again) { /* It was activated here meanwhile. */
        answer(at, a, a->alarm.armed ? IO_BUSY : IO_OK); /* Its rows tell of the alarm; let an entry, too. */
        return;
    }
    struct cell *c = cell_find(s, cd_str(a->scope), true);
    struct cell_owned *o = cell_owned(s, cd_str(a->scope), true);
    *o = a->alarm;
    o->epoch = a->epoch;
    o->adopted = true;
    o->entries = true;
    o->used_ns = io_now_ns(at);
    c->epoch = a->epoch;
    CD_MARK("cell.adopted");
    c->look = c->look || a->wanted; /* Those who wait for it are on their way. */
    cell_feed(c, CELL_EV_ADOPTED);
    cell_poke(c);
    if (a->alarm.armed)
        note(s, a);
    else
        answer(at, a, IO_OK);
}

/* ---- On the control loop ---- */

int cell_adoption_tell(struct cell_router *r, struct io *io, struct cd_str scope, uint64_t epoch,
                       const struct cell_owned *alarm, bool wanted, uint64_t deadline_ns)
{
    struct cell_adoption *a = cd_new(struct cell_adoption);
    struct io_op op = {0};
    a->router = r;
    a->scope = cd_str_dup(scope);
    a->epoch = epoch;
    a->alarm = *alarm;
    a->wanted = wanted;
    a->msg.handle = arrived;
    io_signal_init(&a->answer);
    io_post(io, cell_scope_loop(scope, r->loops), &a->msg);
    io_signal_wait(&a->answer, io, &op, NULL);
    int rc = io_await(&op, deadline_ns);
    if (!a->answered) {
        a->abandoned = true;
        return rc == IO_OK ? IO_CANCELED : rc;
    }
    rc = a->status;
    cd_free(a->scope);
    cd_free(a);
    return rc;
}
