/* log/follower_gc.c: gives up what nobody will ask a follower for any more (fleet.md 6.10).
 *
 * What is there is what the directories say, not what this process remembers. First the state is saved that
 * the range is empty and takes no appends, then the files go: whoever dies in between leaves files that do
 * not count. */
#include "log/follower_internal.h"
#include "log/recover.h"

#define KEEP_NS IO_SEC(24 * 3600) /* How long a seal outlives its session: requests may be that late. */

static void name_collect(void *arg, const char *name)
{
    struct cd_buf *names = arg;
    cd_buf_add(names, name, strlen(name) + 1);
}

static int names_of(struct log_follower *f, const char *dir, struct cd_buf *names)
{
    cd_buf_clear(names);
    int rc = io_path_list(f->o.io, dir, name_collect, names);
    if (rc == IO_OK || rc == IO_NOENT || rc == IO_CANCELED)
        return rc == IO_CANCELED ? rc : IO_OK;
    cd_event_to(f->o.io, CD_WARN, "log", "follower_gc_failed", CD_Z("path", dir),
                CD_Z("error", cd_err_text(rc)));
    cd_buf_clear(names);
    return IO_OK;
}

static int give_up(struct followed *s)
{
    struct log_fragment v = s->v;
    v.base = v.end;
    if (v.sealed_to < v.epoch)
        v.sealed_to = v.epoch;
    int rc = v.base != s->v.base || v.sealed_to != s->v.sealed_to ? log_followed_state_save(s, &v) : IO_OK;
    if (rc == IO_OK && s->count > 0)
        rc = log_followed_forget(s);
    return rc;
}

/* Whether anybody may still ask for it. A lease that is gone leaves that to the listing of the log. */
static int closed_of(struct followed *s, const struct store_lease *lease, struct cd_str generation,
                     enum log_closed *closed)
{
    bool batches = false;
    *closed = CD_PLANT("follower.gc-open") ? LOG_CLOSED_EPOCH : log_fragment_closed(&s->v, lease, generation);
    if (lease != NULL)
        return IO_OK;
    int rc = log_remains(s->f->o.io, s->f->o.bucket, cd_str(s->session), &batches);
    if (rc == IO_OK && !batches)
        *closed = LOG_CLOSED_SESSION;
    return rc;
}

/* With its lock. *gone: there is nothing left of it, on the disk or in memory. */
static int look_at(struct followed *s, struct cd_str generation, bool *gone)
{
    struct store_lease *lease = NULL;
    uint64_t now = io_now_ns(s->f->o.io);
    int rc = log_followed_load(s);
    if (rc == IO_OK)
        rc = log_followed_lease(s, &lease);
    enum log_closed closed = LOG_CLOSED_NOT;
    if (rc == IO_OK)
        rc = closed_of(s, lease, generation, &closed);
    if (rc != IO_CANCELED && rc != IO_OK && CD_PLANT("follower.gc-unread-lease")) {
        closed = LOG_CLOSED_SESSION;
        rc = IO_OK;
    }
    if (rc == IO_OK) {
        if (closed != LOG_CLOSED_NOT)
            rc = give_up(s);
        if (closed == LOG_CLOSED_SESSION && s->over_ns == 0)
            s->over_ns = now;
        *gone = rc == IO_OK && s->over_ns != 0 && now - s->over_ns >= KEEP_NS && s->users == 1 &&
                log_followed_remove(s) == IO_OK;
    }
    cd_free(lease);
    return rc;
}

static int session_gc(struct log_follower *f, struct cd_str session)
{
    struct cd_str generation;
    struct followed *s;
    bool gone = false;
    if (!store_session_split(session, NULL, &generation))
        return IO_OK; /* Not ours. */
    int rc = log_followed_enter(f, session, &s);
    if (rc != 0)
        return rc == IO_CANCELED ? rc : IO_OK;
    rc = look_at(s, generation, &gone);
    if (rc != IO_OK && rc != IO_CANCELED)
        cd_event_to(f->o.io, CD_WARN, "log", "follower_gc_failed", CD_Z("session", s->session),
                    CD_Z("error", cd_err_text(rc)));
    log_followed_leave(s);
    if (gone) {
        (void)cd_map_remove(&f->followed, session);
        log_followed_free(s);
    }
    return rc == IO_CANCELED ? rc : IO_OK;
}

static int node_gc(struct log_follower *f, const char *node)
{
    struct cd_buf names = {0}, text = {0};
    cd_buf_addf(&text, "%s/peerlog/%s", f->data_dir, node);
    int rc = names_of(f, cd_buf_cstr(&text), &names);
    for (size_t at = 0; rc == IO_OK && at < names.len; at += strlen(names.ptr + at) + 1) {
        cd_buf_clear(&text);
        cd_buf_addf(&text, "%s/%s", node, names.ptr + at);
        rc = session_gc(f, cd_buf_str(&text));
    }
    cd_buf_deinit(&names);
    cd_buf_deinit(&text);
    return rc;
}

int log_follower_gc(struct log_follower *f)
{
    struct cd_buf names = {0}, dir = {0};
    cd_buf_addf(&dir, "%s/peerlog", f->data_dir);
    f->busy++;
    int rc = names_of(f, cd_buf_cstr(&dir), &names);
    for (size_t at = 0; rc == IO_OK && at < names.len; at += strlen(names.ptr + at) + 1)
        rc = node_gc(f, names.ptr + at);
    f->busy--;
    cd_buf_deinit(&names);
    cd_buf_deinit(&dir);
    return rc;
}
