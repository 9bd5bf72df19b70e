#include "store/selftest.h"

#include <stdio.h>

#include "base/encode.h"
#include "store/retry.h"

#define ATTEMPTS_MAX 3u
#define RANGE_SIZE 64u
#define RANGE_FROM 16u
#define RANGE_LEN 16u

struct probe {
    struct io *io;
    struct io_bucket *bucket;
    struct store_selftest *test;
    struct cd_buf key, range_key; /* owned */
};

/* fleet.md names the process by its pid too; io knows none, and the random digits alone are unique. */
static void make_keys(struct probe *p)
{
    char random[8];
    struct cd_buf tail = {0};
    io_random(p->io, IO_RAND_ID, random, sizeof random);
    cd_buf_addf(&tail, "%lld000-%u-", (long long)io_wall_us(p->io), p->test->attempts);
    cd_hex_encode(&tail, cd_str_of(random, sizeof random));
    cd_buf_clear(&p->key);
    cd_buf_clear(&p->range_key);
    cd_buf_addf(&p->key, "probe/cas-%.*s", (int)tail.len, tail.ptr);
    cd_buf_addf(&p->range_key, "probe/range-%.*s", (int)tail.len, tail.ptr);
    cd_buf_deinit(&tail);
}

static void say(struct store_selftest *t, enum store_verdict verdict, const char *which, int status,
                const char *what, const char *why)
{
    t->verdict = verdict;
    t->which = which;
    t->status = status;
    (void)snprintf(t->why, sizeof t->why, "%s%s%.200s", what, why[0] == 0 ? "" : ": ", why);
}

/* What comes and goes with the network and the load, and says nothing about the store. */
static bool is_transient(int status)
{
    switch (status) {
    case IO_TIMEDOUT:
    case IO_REFUSED:
    case IO_RESET:
    case IO_UNREACHABLE:
    case IO_THROTTLED:
    case IO_BUSY:
    case IO_NOSPACE: return true;
    }
    return false;
}

static enum store_verdict verdict_of(const struct io_store *s, int status)
{
    if (status == CD_EUNSUPPORTED)
        return STORE_VIOLATION;
    return s->outcome == IO_REJECTED && !is_transient(status) ? STORE_VIOLATION : STORE_AMBIGUOUS;
}

/* Each step: true when it went as it must; else the verdict is set, or *status is IO_CANCELED. */

static bool must_apply(struct probe *p, const char *which, struct io_store *s, enum io_put how,
                       const char *body, int *status)
{
    char before[IO_TOKEN_MAX];
    memcpy(before, s->token, sizeof before);
    s->lane = IO_LANE_CONTROL;
    io_store_put(s, p->bucket, cd_buf_str(&p->key), cd_str(body), how, NULL);
    *status = io_await(&s->op, io_now_ns(p->io) + IO_SEC(20));
    if (*status == IO_OK && how == IO_PUT_IF_MATCH && strcmp(before, s->token) == 0) {
        say(p->test, STORE_VIOLATION, which, *status, "other bytes got the same token", "");
        return false;
    }
    if (*status != IO_OK && *status != IO_CANCELED)
        say(p->test, verdict_of(s, *status), which, *status, "a write that must succeed failed", s->why);
    return *status == IO_OK;
}

static bool must_conflict(struct probe *p, const char *which, const char *token, enum io_put how, int *status)
{
    struct io_store s = {.lane = IO_LANE_CONTROL};
    memcpy(s.token, token, sizeof s.token);
    io_store_put(&s, p->bucket, cd_buf_str(&p->key), CD_STR("celld storage test, must be refused"), how,
                 NULL);
    *status = io_await(&s.op, io_now_ns(p->io) + IO_SEC(20));
    if (*status == IO_CONFLICT)
        return true;
    if (*status == IO_OK)
        say(p->test, STORE_VIOLATION, which, *status, "the store ignored a condition that did not hold", "");
    else if (*status == CD_EUNSUPPORTED)
        say(p->test, STORE_VIOLATION, which, *status, "the store does not support the condition", s.why);
    else if (*status != IO_CANCELED)
        say(p->test, STORE_AMBIGUOUS, which, *status, "the store answers conditional conflicts unclearly",
            s.why);
    return false;
}

static void fill_range(char *bytes)
{
    for (unsigned i = 0; i < RANGE_SIZE; i++)
        bytes[i] = (char)('0' + i); /* All different. */
}

static bool must_read_range(struct probe *p, int *status)
{
    static const char which[] = "exact range";
    char bytes[RANGE_SIZE];
    struct io_store s = {.lane = IO_LANE_CONTROL};
    fill_range(bytes);
    io_store_put(&s, p->bucket, cd_buf_str(&p->range_key), cd_str_of(bytes, sizeof bytes), IO_PUT_ANY, NULL);
    *status = io_await(&s.op, io_now_ns(p->io) + IO_SEC(20));
    if (*status != IO_OK) {
        if (*status != IO_CANCELED)
            say(p->test, verdict_of(&s, *status), which, *status, "a write that must succeed failed", s.why);
        return false;
    }
    io_store_get(&s, p->bucket, cd_buf_str(&p->range_key), RANGE_FROM, RANGE_LEN, NULL);
    *status = io_await(&s.op, io_now_ns(p->io) + IO_SEC(20));
    bool good = *status == IO_OK && cd_str_eq(cd_buf_str(&s.body), cd_str_of(bytes + RANGE_FROM, RANGE_LEN));
    if (*status == IO_OK && !good)
        say(p->test, STORE_VIOLATION, which, *status, "other bytes than the range holds", "");
    else if (!good && *status != IO_CANCELED)
        say(p->test, is_transient(*status) || *status == IO_FAULT ? STORE_AMBIGUOUS : STORE_VIOLATION, which,
            *status, "a ranged read failed", s.why);
    cd_buf_deinit(&s.body);
    return good;
}

/* True: all went as it must. */
static bool attempt(struct probe *p, int *status)
{
    struct io_store s = {0};
    char first[IO_TOKEN_MAX];
    if (!must_apply(p, "create", &s, IO_PUT_IF_ABSENT, "celld storage test, one", status))
        return false;
    memcpy(first, s.token, sizeof first);
    return must_conflict(p, "reject-create", first, IO_PUT_IF_ABSENT, status) &&
           must_apply(p, "update", &s, IO_PUT_IF_MATCH, "celld storage test, two", status) &&
           must_conflict(p, "reject-stale", first, IO_PUT_IF_MATCH, status) &&
           (!p->test->ranges || must_read_range(p, status));
}

/* ---- Cleaning up ---- */

static void delete_both(const struct probe *p)
{
    struct store_policy policy = store_policy_of(IO_LANE_CONTROL, 0);
    struct io_store s = {0};
    /* Best effort: what stays is a few bytes under probe/. */
    (void)store_retry_delete(&s, p->io, p->bucket, cd_buf_str(&p->key), &policy);
    if (p->test == NULL || p->test->ranges)
        (void)store_retry_delete(&s, p->io, p->bucket, cd_buf_str(&p->range_key), &policy);
}

static void cleanup_flow(void *arg)
{
    struct probe *p = arg;
    delete_both(p);
    cd_buf_deinit(&p->key);
    cd_buf_deinit(&p->range_key);
    cd_free(p);
}

/* The awaits of a cancelled fiber end at once, so another one deletes. */
static void cleanup_apart(struct probe *p)
{
    struct probe *copy = cd_new(struct probe);
    copy->io = p->io;
    copy->bucket = p->bucket;
    copy->key = cd_buf_move(&p->key);
    copy->range_key = cd_buf_move(&p->range_key);
    (void)io_spawn(p->io, "selftest.cleanup", cleanup_flow, copy);
}

int store_selftest_run(struct io *io, struct io_bucket *b, struct store_selftest *t)
{
    struct probe p = {.io = io, .bucket = b, .test = t};
    int status = IO_OK;
    *t = (struct store_selftest){.ranges = t->ranges, .verdict = STORE_AMBIGUOUS, .which = ""};
    while (t->verdict == STORE_AMBIGUOUS && t->attempts < ATTEMPTS_MAX && status != IO_CANCELED) {
        if (t->attempts > 0)
            status = io_sleep(
                io, store_backoff_ns(t->attempts, 0, io_random_below(io, IO_RAND_JITTER, IO_SEC(1))));
        if (status == IO_CANCELED)
            break;
        t->attempts++;
        make_keys(&p);
        if (attempt(&p, &status))
            say(t, STORE_CONFORMANT, "", IO_OK, "", "");
        if (status == IO_CANCELED)
            cleanup_apart(&p);
        else
            delete_both(&p);
    }
    cd_buf_deinit(&p.key);
    cd_buf_deinit(&p.range_key);
    return status == IO_CANCELED ? IO_CANCELED : IO_OK;
}
