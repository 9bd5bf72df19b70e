#include "fleet/finish.h"

#include <stdio.h>

#include "io/backend.h"

/* Travels to the control loop and back. The asker may be gone by then, so it owns all it needs. */
struct ask {
    struct io_msg msg;
    unsigned loop; /* The asker's. */
    struct fleet_finisher *finisher;
    char session[STORE_SESSION_MAX + 1];
    struct log_recover recover;
    struct io_fiber *fiber; /* Of the control loop, as the link. */
    struct cd_link link;
    bool answered, abandoned; /* Of the asker's loop, as the signal. */
    struct io_signal done;
};

void fleet_finisher_init(struct fleet_finisher *f, struct io *io, struct log_recoverer *recoverer)
{
    *f = (struct fleet_finisher){.io = io, .recoverer = recoverer, .recover = log_recover};
    cd_list_init(&f->running);
}

static void finisher_settle(struct fleet_finisher *f)
{
    if (f->stop != NULL && cd_list_empty(&f->running)) {
        io_complete_later(f->stop, IO_OK);
        f->stop = NULL;
    }
}

void fleet_finisher_stop(struct fleet_finisher *f, struct io_op *op, io_done_fn *done)
{
    f->stopped = true;
    io_begin(op, f->io, done); /* It cannot be cancelled. */
    f->stop = op;
    for (struct cd_link *k = cd_list_first(&f->running); k != NULL; k = cd_list_next(&f->running, k))
        io_fiber_cancel(CD_CONTAINER(k, struct ask, link)->fiber);
    finisher_settle(f);
}

static int run(const struct fleet_finisher *f, struct log_recover *r)
{
    int rc = f->recover(f->recoverer, r);
    if (rc != IO_OK) {
        r->end = LOG_RECOVER_FAILED;
        (void)snprintf(r->why, sizeof r->why, "%s", cd_err_text(rc));
    }
    return rc;
}

static void came_back(struct io *at, struct io_msg *m)
{
    (void)at;
    struct ask *a = CD_CONTAINER(m, struct ask, msg);
    if (a->abandoned) {
        cd_free(a);
        return;
    }
    a->answered = true;
    io_signal_wake(&a->done, IO_OK);
}

static void go_back(struct ask *a)
{
    struct fleet_finisher *f = a->finisher;
    a->msg.handle = came_back;
    io_post(f->io, a->loop, &a->msg);
    finisher_settle(f);
}

static void recover_flow(void *arg)
{
    struct ask *a = arg;
    (void)run(a->finisher, &a->recover);
    cd_link_remove(&a->link);
    go_back(a);
}

static void arrived(struct io *at, struct io_msg *m)
{
    struct ask *a = CD_CONTAINER(m, struct ask, msg);
    if (a->finisher->stopped) {
        a->recover.end = LOG_RECOVER_FAILED;
        go_back(a);
        return;
    }
    cd_list_push(&a->finisher->running, &a->link);
    a->fiber = io_spawn(at, "takeover", recover_flow, a);
}

static int elsewhere(struct fleet_finish *f)
{
    struct ask *a = cd_new(struct ask);
    a->loop = io_loop_index(f->io);
    a->finisher = f->finisher;
    memcpy(a->session, f->session.ptr, f->session.len);
    a->recover = (struct log_recover){
        .session = {a->session, f->session.len}, .mode = f->mode, .deadline_ns = f->deadline_ns};
    io_signal_init(&a->done);
    a->msg.handle = arrived;
    io_post(f->io, 0, &a->msg);
    struct io_op op = {0};
    io_signal_wait(&a->done, f->io, &op, NULL);
    int status = io_await(&op, IO_FOREVER); /* The recovery has the deadline, and answers in any case. */
    if (!a->answered) {
        a->abandoned = true;
        return IO_CANCELED;
    }
    f->end = a->recover.end;
    memcpy(f->why, a->recover.why, sizeof f->why);
    cd_free(a);
    return status;
}

int fleet_finish(struct fleet_finish *f)
{
    CD_ASSERT(f->session.len <= STORE_SESSION_MAX);
    if (io_loop_index(f->io) != 0)
        return elsewhere(f);
    struct log_recover r = {.session = f->session, .mode = f->mode, .deadline_ns = f->deadline_ns};
    int rc = run(f->finisher, &r);
    f->end = r.end;
    CD_STATIC_ASSERT(sizeof f->why == sizeof r.why, "one text");
    memcpy(f->why, r.why, sizeof f->why);
    return rc;
}
