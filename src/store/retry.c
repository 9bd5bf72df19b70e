#include "store/retry.h"

#define BACKOFF_MS 100u
#define BACKOFF_MAX_MS 2000u
#define RETRY_AFTER_MAX_NS IO_SEC(10)
#define GRACE_NS IO_SEC(1) /* Ops keep their own timeout; the await is only the second net. */

struct store_policy store_policy_of(enum io_lane lane, uint64_t size)
{
    uint64_t more_ns = IO_SEC(size >> 20); /* A second for each MiB. */
    switch (lane) {
    case IO_LANE_LEASE: return (struct store_policy){lane, IO_SEC(15), 0, 0, 1};
    case IO_LANE_LOG: return (struct store_policy){lane, IO_SEC(15) + more_ns, 0, 0, 0};
    case IO_LANE_DATA: return (struct store_policy){lane, IO_SEC(60) + more_ns, 0, IO_SEC(30), 3};
    case IO_LANE_CONTROL:
    case IO_LANE_TELEMETRY: return (struct store_policy){lane, IO_SEC(15), IO_SEC(30), 0, 2};
    case IO_LANE_COUNT: break;
    }
    CD_UNREACHABLE();
}

bool store_may_retry(int status)
{
    switch (status) {
    case IO_TIMEDOUT:
    case IO_REFUSED:
    case IO_RESET:
    case IO_UNREACHABLE:
    case IO_FAULT:
    case IO_THROTTLED:
    case IO_BUSY:
    case IO_PROTOCOL: return true;
    }
    return false;
}

uint64_t store_backoff_ns(unsigned tries, uint64_t retry_after_ns, uint64_t dice)
{
    CD_ASSERT(tries > 0);
    uint64_t base = IO_MS(tries > 5 ? BACKOFF_MAX_MS : BACKOFF_MS << (tries - 1));
    if (base > IO_MS(BACKOFF_MAX_MS))
        base = IO_MS(BACKOFF_MAX_MS);
    uint64_t wait = base / 2 + dice % base;
    uint64_t asked = retry_after_ns < RETRY_AFTER_MAX_NS ? retry_after_ns : RETRY_AFTER_MAX_NS;
    return wait > asked ? wait : asked;
}

/* The tries of one operation. */
struct tries {
    struct io *io;
    const struct store_policy *policy;
    uint64_t start_ns, failed_ns; /* failed_ns: of the first failure; 0: none yet. */
    unsigned count;
};

static struct tries tries_begin(struct io *io, const struct store_policy *p)
{
    return (struct tries){.io = io, .policy = p, .start_ns = io_now_ns(io)};
}

/* The time that the next try may take; 0: none is left. */
static uint64_t tries_time(const struct tries *t)
{
    uint64_t spent = io_now_ns(t->io) - t->start_ns;
    if (t->policy->whole_ns == 0)
        return t->policy->attempt_ns;
    if (spent >= t->policy->whole_ns)
        return 0;
    uint64_t left = t->policy->whole_ns - spent;
    return left < t->policy->attempt_ns ? left : t->policy->attempt_ns;
}

/* Waits for the op of a try. */
static int tries_await(struct tries *t, struct io_op *op, uint64_t time_ns)
{
    t->count++;
    return io_await(op, io_now_ns(t->io) + time_ns + GRACE_NS);
}

/* After a failed try: waits, if there may be another. IO_OK: try again. IO_CANCELED. Else: that was the last.
 */
static int tries_again(struct tries *t, int status, uint64_t retry_after_ns)
{
    uint64_t now = io_now_ns(t->io), dice;
    if (!store_may_retry(status) || t->count > t->policy->retries)
        return status;
    if (t->failed_ns == 0)
        t->failed_ns = now;
    io_random(t->io, IO_RAND_JITTER, &dice, sizeof dice);
    uint64_t wait = store_backoff_ns(t->count, retry_after_ns, dice);
    if (t->policy->whole_ns != 0 && now + wait - t->start_ns >= t->policy->whole_ns)
        return status;
    if (t->policy->window_ns != 0 && now + wait - t->failed_ns > t->policy->window_ns)
        return status;
    return io_sleep(t->io, wait);
}

enum what { GET, HEAD, PUT, DELETE };

struct ask {
    enum what what;
    struct io_bucket *bucket;
    struct cd_str key, body;
    uint64_t from, len;
};

static void submit(struct io_store *s, const struct ask *a)
{
    switch (a->what) {
    case GET: io_store_get(s, a->bucket, a->key, a->from, a->len, NULL); return;
    case HEAD: io_store_head(s, a->bucket, a->key, NULL); return;
    case PUT: io_store_put(s, a->bucket, a->key, a->body, IO_PUT_ANY, NULL); return;
    case DELETE: io_store_delete(s, a->bucket, a->key, NULL); return;
    }
}

static int retry(struct io_store *s, struct io *io, const struct ask *a, const struct store_policy *p)
{
    struct tries t = tries_begin(io, p);
    bool unknown = false;
    int status, again;
    do {
        s->lane = p->lane;
        s->timeout_ns = tries_time(&t);
        submit(s, a);
        status = tries_await(&t, &s->op, s->timeout_ns);
        if (s->outcome == IO_DONE)
            return IO_OK;
        unknown |= s->outcome == IO_UNKNOWN;
        again = tries_again(&t, status, s->retry_after_ns);
    } while (again == IO_OK && tries_time(&t) > 0);
    if (unknown)
        s->outcome = IO_UNKNOWN;
    return again == IO_CANCELED ? IO_CANCELED : status;
}

int store_retry_get(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key, uint64_t from,
                    uint64_t len, const struct store_policy *p)
{
    return retry(s, io, &(struct ask){.what = GET, .bucket = b, .key = key, .from = from, .len = len}, p);
}

int store_get_end(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key, uint64_t from,
                  uint64_t len, const struct store_policy *p)
{
    int rc = io_await(&s->op, IO_FOREVER);
    return store_may_retry(rc) ? store_retry_get(s, io, b, key, from, len, p) : rc;
}

int store_retry_head(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                     const struct store_policy *p)
{
    return retry(s, io, &(struct ask){.what = HEAD, .bucket = b, .key = key}, p);
}

int store_retry_put(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                    struct cd_str body, const struct store_policy *p)
{
    return retry(s, io, &(struct ask){.what = PUT, .bucket = b, .key = key, .body = body}, p);
}

int store_retry_delete(struct io_store *s, struct io *io, struct io_bucket *b, struct cd_str key,
                       const struct store_policy *p)
{
    return retry(s, io, &(struct ask){.what = DELETE, .bucket = b, .key = key}, p);
}

int store_retry_list(struct io_list *l, struct io *io, struct io_bucket *b, struct cd_str prefix,
                     struct cd_str after, unsigned max, const struct store_policy *p)
{
    struct tries t = tries_begin(io, p);
    int status, again;
    do {
        l->lane = p->lane;
        l->timeout_ns = tries_time(&t);
        io_store_list(l, b, prefix, after, max, NULL);
        status = tries_await(&t, &l->op, l->timeout_ns);
        if (status == IO_OK)
            return IO_OK;
        again = tries_again(&t, status, 0);
    } while (again == IO_OK && tries_time(&t) > 0);
    return again == IO_CANCELED ? IO_CANCELED : status;
}
