#include "fleet/finish.h"

#include <stdio.h>

/* Travels to the control loop and back. The asker may be gone by then, so it owns all it needs. */
struct ask {
    struct io_msg msg;
    struct io *asker; /* Its loop, used only there. */
    unsigned loop;
    struct log_recoverer *recoverer;
    char session[STORE_SESSION_MAX + 1];
    struct log_recover recover;
    bool answered, abandoned; /* Of the asker's loop. */
    struct io_signal done;
};

static int run(struct log_recoverer *rr, struct log_recover *r)
{
    int rc = log_recover(rr, r);
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

static void recover_flow(void *arg)
{
    struct ask *a = arg;
    struct io *io = io_current();
    (void)run(a->recoverer, &a->recover);
    a->msg.handle = came_back;
    io_post(io, a->loop, &a->msg);
}

static void arrived(struct io *at, struct io_msg *m)
{
    struct ask *a = CD_CONTAINER(m, struct ask, msg);
    (void)io_spawn(at, "takeover", recover_flow, a);
}

static int elsewhere(struct fleet_finish *f)
{
    struct ask *a = cd_new(struct ask);
    a->asker = f->io;
    a->loop = io_loop_index(f->io);
    a->recoverer = f->recoverer;
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
    int rc = run(f->recoverer, &r);
    f->end = r.end;
    CD_STATIC_ASSERT(sizeof f->why == sizeof r.why, "one text");
    memcpy(f->why, r.why, sizeof f->why);
    return rc;
}
