#include "log/follower.h"

#include "log/follower_internal.h"
#include "store/retry.h"

#define LOCK_NS IO_SEC(30)

struct log_follower *log_follower_new(const struct log_follower_opts *o)
{
    CD_ASSERT(io_loop_index(o->io) == 0 && store_node_valid(o->node));
    struct log_follower *f = cd_new(struct log_follower);
    f->o = *o;
    f->data_dir = cd_str_dup(o->data_dir);
    f->node = cd_str_dup(o->node);
    f->o.data_dir = cd_str(f->data_dir);
    f->o.node = cd_str(f->node);
    return f;
}

void log_followed_free(struct followed *s)
{
    cd_free(s->dir);
    cd_free(s->kept);
    cd_free(s);
}

void log_follower_free(struct log_follower *f)
{
    if (f == NULL)
        return;
    CD_ASSERT(f->busy == 0);
    for (struct cd_map_node *n = cd_map_first(&f->followed); n != NULL; n = cd_map_next(n))
        log_followed_free(cd_map_value(n));
    cd_map_deinit(&f->followed);
    cd_free(f->data_dir);
    cd_free(f->node);
    cd_free(f);
}

/* ---- One at a time ---- */

static struct followed *followed_of(struct log_follower *f, struct cd_str session)
{
    struct followed *s = cd_map_get(&f->followed, session);
    if (s != NULL)
        return s;
    struct cd_buf dir = {0};
    s = cd_new(struct followed);
    s->f = f;
    memcpy(s->session, session.ptr, session.len);
    cd_buf_addf(&dir, "%s/peerlog/%s", f->data_dir, s->session);
    s->dir = cd_str_dup(cd_buf_str(&dir));
    cd_buf_deinit(&dir);
    io_signal_init(&s->unlocked);
    (void)cd_map_put(&f->followed, session, s);
    return s;
}

int log_followed_enter(struct log_follower *f, struct cd_str session, struct followed **out)
{
    struct followed *s = followed_of(f, session);
    uint64_t deadline = io_now_ns(f->o.io) + LOCK_NS;
    int rc = 0;
    f->busy++;
    s->users++;
    while (rc == 0 && s->locked) {
        struct io_op op = {0};
        io_signal_wait(&s->unlocked, f->o.io, &op, NULL);
        rc = io_await(&op, deadline);
    }
    if (rc != 0) {
        f->busy--;
        s->users--;
        return rc;
    }
    s->locked = true;
    *out = s;
    return 0;
}

void log_followed_leave(struct followed *s)
{
    s->locked = false;
    s->users--;
    s->f->busy--;
    io_signal_wake(&s->unlocked, IO_OK);
}

/* What a failure of the disk, or of waiting for it, is as an answer. */
static int failed(struct followed *s, const char *what, int rc, struct cd_buf *answer)
{
    if (rc == IO_CANCELED)
        return rc;
    cd_event_to(s->f->o.io, CD_WARN, "log", "follower_failed", CD_Z("session", s->session),
                CD_Z("step", what), CD_Z("error", cd_err_text(rc)));
    cd_buf_clear(answer);
    cd_buf_addf(answer, "%s: %s", what, cd_err_text(rc));
    return 500;
}

/* ---- Append ---- */

int log_followed_lease(struct followed *s, struct store_lease **lease)
{
    struct cd_str node;
    struct cd_buf key = {0};
    struct io_store get = {0};
    struct store_policy p = store_policy_of(IO_LANE_CONTROL, 0);
    CD_ASSERT(store_session_split(cd_str(s->session), &node, NULL));
    store_key_lease(&key, node);
    int rc = store_retry_get(&get, s->f->o.io, s->f->o.bucket, cd_buf_str(&key), 0, IO_WHOLE, &p);
    *lease = NULL;
    if (rc == IO_OK) {
        *lease = cd_new(struct store_lease);
        rc = store_lease_read(*lease, node, cd_buf_str(&get.body), NULL);
        if (rc != 0) {
            cd_free(*lease);
            *lease = NULL;
        }
    } else if (rc == IO_NOENT) {
        rc = 0;
    }
    cd_buf_deinit(&get.body);
    cd_buf_deinit(&key);
    return rc;
}

/* All that was held goes; then the fragment is that of the request's epoch. */
static int adopt(struct followed *s, const struct log_append *a)
{
    struct log_fragment v = log_fragment_adopted(&s->v, a);
    int rc = log_followed_forget(s);
    if (rc == 0)
        rc = log_followed_state_save(s, &v);
    if (rc == 0)
        cd_event_to(s->f->o.io, CD_INFO, "log", "follower_adopted", CD_Z("session", s->session),
                    CD_U("log_epoch", a->log_epoch), CD_U("first_batch", a->first_batch));
    return rc;
}

static uint64_t first_batch_of(const struct log_append *a)
{
    struct cd_str rest = a->frames, bytes;
    struct log_batch b;
    return log_frame_next(&rest, &bytes) && log_batch_open(&b, bytes, NULL) == 0 ? b.batch : 0;
}

/* What the lease says is asked for. *ok: the fragment may take the request. */
static int authorise(struct followed *s, const struct log_append *a, enum log_follow what, bool *ok)
{
    struct store_lease *lease = NULL;
    int rc = log_followed_lease(s, &lease);
    if (rc == 0 && what == LOG_FOLLOW_VERIFY) {
        *ok = log_follow_verified(&s->v, a, lease, s->f->o.node);
        s->v.verified = *ok;
    } else if (rc == 0) {
        *ok = log_follow_adopts(&s->v, a, lease, s->f->o.node, first_batch_of(a));
        if (*ok)
            rc = adopt(s, a);
    }
    cd_free(lease);
    return rc;
}

static int take(struct followed *s, const struct log_append *a, uint64_t *asked)
{
    struct log_take t;
    struct cd_buf why = {0};
    int rc = 0;
    log_follow_take(&t, &s->v, a, &why);
    if (t.violation)
        cd_event_to(s->f->o.io, CD_WARN, "log", "follower_refused", CD_Z("session", s->session),
                    CD_S("error", cd_buf_str(&why)));
    *asked = t.violation ? UINT64_MAX : t.asked;
    if (t.count > 0) {
        rc = log_followed_batches_save(s, &t);
    } else if (a->count == 0 || t.base > s->v.base) { /* The idle probe: a dying disk shows here. */
        struct log_fragment v = s->v;
        log_fragment_took(&v, &t);
        rc = log_followed_state_save(s, &v);
    }
    if (rc == 0)
        log_followed_trim(s);
    cd_buf_deinit(&why);
    return rc;
}

static bool may(const struct log_follower *f)
{
    return f->o.may(f->o.arg) || CD_PLANT("follower.without-authority");
}

static int append(struct followed *s, const struct log_append *a, struct cd_buf *answer)
{
    bool ok = true;
    uint64_t asked = 0;
    int rc = log_followed_load(s);
    if (rc != 0)
        return failed(s, "load", rc, answer);
    enum log_follow what = log_follow_decide(&s->v, a, may(s->f));
    if (what == LOG_FOLLOW_VERIFY || what == LOG_FOLLOW_ADOPT) {
        rc = authorise(s, a, what, &ok);
        if (rc != 0)
            return failed(s, "look at the leader's lease", rc, answer);
    }
    ok = ok && what != LOG_FOLLOW_REFUSE;
    if (ok && may(s->f)) {
        rc = take(s, a, &asked);
        if (rc != 0)
            return failed(s, "write", rc, answer);
    }
    if (!may(s->f)) { /* Asked last: a process that was paused while it wrote helps nobody acknowledge. */
        cd_buf_addf(answer, "this node is not authoritative");
        return 503;
    }
    log_append_answer_write(answer, &(struct log_append_answer){
                                        .ok = ok && asked <= s->v.end, .end = s->v.end, .epoch = s->v.epoch});
    return 200;
}

int log_follower_append(struct log_follower *f, struct cd_str body, struct cd_buf *answer)
{
    struct log_append a;
    struct followed *s;
    if (log_append_read(&a, body, answer) != 0)
        return 400;
    int rc = log_followed_enter(f, a.leader, &s);
    if (rc != 0)
        return rc == IO_CANCELED ? rc : 503;
    rc = append(s, &a, answer);
    log_followed_leave(s);
    return rc;
}

/* ---- Seal and tail ---- */

static int seal(struct followed *s, uint64_t log_epoch, struct cd_buf *answer)
{
    struct cd_buf frames = {0};
    uint32_t count;
    bool complete = false;
    int rc = log_followed_load(s);
    if (rc != 0)
        return failed(s, "load", rc, answer);
    if (log_epoch > s->v.sealed_to) {
        struct log_fragment v = s->v;
        v.sealed_to = log_epoch;
        if (CD_PLANT("follower.seal-after-answer"))
            s->v = v;
        else
            rc = log_followed_state_save(s, &v);
        if (rc != 0)
            return failed(s, "write the seal", rc, answer);
        cd_event_to(s->f->o.io, CD_INFO, "log", "follower_sealed", CD_Z("session", s->session),
                    CD_U("log_epoch", log_epoch), CD_U("end", s->v.end));
    }
    rc = log_followed_read(s, &frames, &count, &complete);
    cd_buf_deinit(&frames);
    if (rc != 0)
        return failed(s, "read", rc, answer);
    log_seal_answer_write(answer, &(struct log_seal_answer){.base = s->v.base,
                                                            .end = s->v.end,
                                                            .held = s->v.epoch,
                                                            .certified = complete ? s->v.epoch : 0});
    return 200;
}

int log_follower_seal(struct log_follower *f, struct cd_str body, struct cd_buf *answer)
{
    char leader[STORE_SESSION_MAX + 1];
    uint64_t log_epoch;
    struct followed *s;
    if (log_seal_ask_read(leader, &log_epoch, body) != 0) {
        cd_buf_addf(answer, "no seal request");
        return 400;
    }
    int rc = log_followed_enter(f, cd_str(leader), &s);
    if (rc != 0)
        return rc == IO_CANCELED ? rc : 503;
    rc = seal(s, log_epoch, answer);
    log_followed_leave(s);
    return rc;
}

static int tail(struct followed *s, struct cd_buf *answer)
{
    struct cd_buf frames = {0};
    struct log_tail t = {0};
    int rc = log_followed_load(s);
    if (rc == 0)
        rc = log_followed_read(s, &frames, &t.count, &t.complete);
    if (rc != 0) {
        cd_buf_deinit(&frames);
        return failed(s, "read", rc, answer);
    }
    t.epoch = s->v.epoch;
    t.base = s->v.base;
    t.end = s->v.end;
    t.frames = cd_buf_str(&frames);
    log_tail_write(answer, &t);
    cd_buf_deinit(&frames);
    return 200;
}

int log_follower_tail(struct log_follower *f, struct cd_str body, struct cd_buf *answer)
{
    char leader[STORE_SESSION_MAX + 1];
    struct followed *s;
    int rc = log_tail_ask_read(leader, body);
    if (rc != 0) {
        cd_buf_addf(answer, rc == CD_EUNSUPPORTED ? "tail_format: this node knows %u" : "no tail request",
                    LOG_TAIL_FORMAT);
        return 400;
    }
    rc = log_followed_enter(f, cd_str(leader), &s);
    if (rc != 0)
        return rc == IO_CANCELED ? rc : 503;
    rc = tail(s, answer);
    log_followed_leave(s);
    return rc;
}
