#include <openssl/crypto.h>

#include "fleet/node_internal.h"
#include "io/backend.h"

#define FLUSH_NS IO_SEC(10) /* fleet.md 9.3 */

/* Ends what goes on by itself: the start, maintenance, recoveries that shards asked for. */
static void end_fibers(struct fleet_node *n)
{
    bool any;
    do {
        any = false;
        if (n->starting != NULL) {
            io_fiber_cancel(n->starting);
            any = true;
        }
        for (unsigned i = 0; i < n->tasks; i++) {
            if (n->task[i].fiber != NULL) {
                io_fiber_cancel(n->task[i].fiber);
                any = true;
            }
        }
        if (any) {
            struct io_op op = {0};
            io_signal_wait(&n->changed, n->o.io, &op, NULL);
            (void)io_await(&op, IO_FOREVER); /* Each of them is cancelled, so each ends. */
        }
    } while (any);
}

/* The graceful seal (9.3). Anything short of it leaves the log open for a successor, which is always safe. */
static void seal(struct fleet_node *n)
{
    struct io *io = n->o.io;
    struct io_op op = {0};
    struct cd_buf why = {0};
    const char *what = "flush";
    log_flush(n->log, &op, NULL);
    int rc = io_await(&op, io_now_ns(io) + FLUSH_NS);
    if (rc == IO_OK) {
        what = "fold";
        rc = log_folder_finish(n->folder, &why);
    }
    if (rc == IO_OK) {
        what = "seal";
        log_seal(n->log, &op, NULL);
        rc = io_await(&op, io_now_ns(io) + FLUSH_NS);
    }
    n->sealed = rc == IO_OK;
    if (rc != IO_OK)
        cd_event(io, CD_WARN, "log_left_open", CD_Z("step", what), CD_Z("status", cd_err_text(rc)),
                 CD_S("error", cd_buf_str(&why)));
    cd_buf_deinit(&why);
}

/* What is left is closed by callbacks: a fiber's waits end early when it is cancelled, and these may not. */
static void close_next(struct fleet_node *n);

static void closed(struct io_op *op, int status)
{
    (void)status;
    close_next(CD_CONTAINER(op, struct fleet_node, closing));
}

static void close_next(struct fleet_node *n)
{
    struct log *log = n->log;
    struct log_folder *folder = n->folder;
    if (!n->peers_stopped) { /* First: what they do rests on all the rest. */
        n->peers_stopped = true;
        fleet_peer_server_stop(n->peers, &n->closing, closed);
        return;
    }
    if (log != NULL) { /* Then this: its rows go to the folder, its record to the lease. */
        n->log = NULL;
        log_close(log, &n->closing, closed);
        return;
    }
    if (folder != NULL) {
        n->folder = NULL;
        log_folder_close(folder, &n->closing, closed);
        return;
    }
    if (n->lease != NULL && !n->lease_stopped) {
        n->lease_stopped = true;
        fleet_lease_stop(n->lease, &n->closing, closed);
        return;
    }
    if (n->recoverer != NULL && !n->finisher.stopped) {
        fleet_finisher_stop(&n->finisher, &n->closing, closed);
        return;
    }
    if (n->caller != NULL && !n->caller_stopped) {
        n->caller_stopped = true;
        fleet_peer_client_stop(n->caller, &n->closing, closed);
        return;
    }
    fleet_lease_free(n->lease);
    n->lease = NULL;
    fleet_peer_client_free(n->caller);
    n->caller = NULL;
    if (n->recoverer != NULL)
        log_recoverer_free(n->recoverer);
    n->recoverer = NULL;
    log_follower_free(n->ensemble.follower);
    n->ensemble.follower = NULL;
    fleet_ensemble_deinit(&n->ensemble);
    fleet_sweep_deinit(&n->sweep);
    fleet_waker_deinit(&n->waker);
    fleet_data_dir_close(&n->data);
    n->over = true;
    io_complete_later(n->stop, IO_OK);
}

static void stop_flow(void *arg)
{
    struct fleet_node *n = arg;
    end_fibers(n);
    if (n->ready && !n->halted)
        seal(n);
    close_next(n);
}

void fleet_node_stop(struct fleet_node *n, struct io_op *op, io_done_fn *done)
{
    CD_ASSERT(n->stop == NULL);
    io_begin(op, n->o.io, done); /* It cannot be cancelled: memory is ours until it is done. */
    n->stop = op;
    (void)io_spawn(n->o.io, "node_stop", stop_flow, n);
}

void fleet_node_free(struct fleet_node *n)
{
    if (n == NULL)
        return;
    CD_ASSERT(n->over);
    fleet_peer_server_free(n->peers);
    OPENSSL_cleanse(&n->secret, sizeof n->secret);
    cd_free(n->data_dir);
    cd_free(n->addr);
    cd_free(n);
}
