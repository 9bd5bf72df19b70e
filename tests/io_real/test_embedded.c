/* The engine of the embedded store: group commit, faults of the disk, power loss, several processes. What
 * io.h promises of every store is in tests/io/test_contract_store.c. */
#include "io_real/embedded.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map.h"
#include "support/test.h"
#include "tests/io_real/embedded_help.h"
#include "tests/io_real/fault_vfs.h"

struct place {
    char dir[64];
    struct embedded *store;
};

static void place_make(struct place *p)
{
    *p = (struct place){.dir = "/tmp/celld-embedded-XXXXXX"};
    assert_non_null(mkdtemp(p->dir));
}

/* In memory where that can be had: for tests whose disk is simulated by fault_vfs. */
static void place_make_fast(struct place *p)
{
    *p = (struct place){.dir = "/dev/shm/celld-embedded-XXXXXX"};
    if (mkdtemp(p->dir) == NULL)
        place_make(p);
}

static struct embedded *open_store(const char *dir)
{
    struct embedded *e = NULL;
    struct cd_buf why = {0};
    int rc = embedded_open(&e, dir, &why);
    if (rc != IO_OK)
        print_error("%s\n", cd_buf_cstr(&why));
    assert_int_equal(rc, IO_OK);
    cd_buf_deinit(&why);
    return e;
}

static void place_open(struct place *p)
{
    place_make(p);
    p->store = open_store(p->dir);
}

static void place_drop(struct place *p)
{
    static const char *const names[] = {"", "-wal", "-shm"};
    if (p->store != NULL)
        embedded_close(p->store);
    for (size_t i = 0; i < CD_COUNT(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/objects.sqlite3%s", p->dir, names[i]);
        (void)unlink(path);
    }
    assert_int_equal(rmdir(p->dir), 0);
}

/* The outcome of a put; the new token goes to token when it is not NULL. */
static int put(struct embedded *e, const char *key, const char *body, enum io_put how, char *token)
{
    struct embedded_job *j = job_run(e, job_put(key, cd_str(body), how, token == NULL ? "" : token));
    int status = j->status;
    if (status == IO_OK && token != NULL)
        memcpy(token, j->out.token, sizeof(j->out.token));
    embedded_job_free(j);
    return status;
}

static bool has_body(struct embedded *e, const char *key, const char *body)
{
    struct embedded_job *j = job_run(e, job_get(key, 0, IO_WHOLE));
    bool same = j->status == IO_OK && cd_str_eq(cd_buf_str(&j->out.body), cd_str(body));
    assert_true(j->status == IO_OK || j->status == IO_NOENT);
    embedded_job_free(j);
    return same;
}

/* ---- Group commit ---- */

static void test_writes_that_wait_share_one_sync(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct place p;
    struct embedded_job *jobs[COUNT];
    fault_vfs_install();
    place_open(&p);
    struct crew *c = crew_new(p.store);
    unsigned before = fault_vfs_syncs();
    for (unsigned i = 0; i < COUNT; i++) {
        char key[32];
        snprintf(key, sizeof(key), "k%u", i);
        jobs[i] = job_put(key, CD_STR("body"), IO_PUT_IF_ABSENT, "");
    }
    for (unsigned i = 0; i < COUNT; i++)
        crew_start(c, jobs[i]);
    crew_wait(c);
    unsigned syncs = fault_vfs_syncs() - before;
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(jobs[i]->status, IO_OK);
        embedded_job_free(jobs[i]);
    }
    assert_uint_in_range(syncs, 1, COUNT / 10);
    crew_free(c);
    place_drop(&p);
    fault_vfs_remove();
}

static void test_conditions_are_judged_in_order_inside_one_round(void **state)
{
    (void)state;
    struct place p;
    place_open(&p);
    struct crew *c = crew_new(p.store);
    for (unsigned round = 0; round < 50; round++) {
        char key[32];
        struct embedded_job *jobs[8];
        unsigned won = 0;
        snprintf(key, sizeof(key), "k%u", round);
        for (unsigned i = 0; i < CD_COUNT(jobs); i++)
            jobs[i] = job_put(key, CD_STR("x"), IO_PUT_IF_ABSENT, "");
        for (unsigned i = 0; i < CD_COUNT(jobs); i++)
            crew_start(c, jobs[i]);
        crew_wait(c);
        for (unsigned i = 0; i < CD_COUNT(jobs); i++) {
            won += jobs[i]->status == IO_OK;
            assert_true(jobs[i]->status == IO_OK || jobs[i]->status == IO_CONFLICT);
            assert_int_equal(jobs[i]->out.outcome, jobs[i]->status == IO_OK ? IO_DONE : IO_REJECTED);
        }
        assert_int_equal(jobs[0]->status, IO_OK); /* Queued first. */
        assert_int_equal(won, 1);
        for (unsigned i = 0; i < CD_COUNT(jobs); i++)
            embedded_job_free(jobs[i]);
    }
    crew_free(c);
    place_drop(&p);
}

static void test_tokens_never_come_back(void **state)
{
    (void)state;
    struct place p;
    char first[IO_TOKEN_MAX] = "", token[IO_TOKEN_MAX] = "";
    place_open(&p);
    assert_int_equal(put(p.store, "k", "same", IO_PUT_IF_ABSENT, first), IO_OK);
    embedded_job_free(job_run(p.store, job_delete("k")));
    embedded_close(p.store);
    p.store = open_store(p.dir); /* Also not over a restart with an empty table. */
    assert_int_equal(put(p.store, "k", "same", IO_PUT_IF_ABSENT, token), IO_OK);
    assert_string_not_equal(token, first);
    assert_int_equal(put(p.store, "k", "other", IO_PUT_IF_MATCH, first), IO_CONFLICT);
    assert_int_equal(put(p.store, "k", "other", IO_PUT_IF_MATCH, token), IO_OK);
    place_drop(&p);
}

static void test_a_job_that_has_not_begun_can_be_taken_back(void **state)
{
    (void)state;
    struct place p;
    place_open(&p);
    sqlite3 *other;
    char path[128];
    snprintf(path, sizeof(path), "%s/objects.sqlite3", p.dir);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct crew *c = crew_new(p.store);
    struct embedded_job *late = job_put("late", CD_STR("x"), IO_PUT_ANY, "");
    struct embedded_job *taken = job_put("taken", CD_STR("x"), IO_PUT_ANY, "");
    late->deadline_ns = 1; /* Long ago. */
    crew_start(c, late);
    crew_wait(c);
    assert_int_equal(late->status, IO_TIMEDOUT);
    assert_int_equal(late->out.outcome, IO_REJECTED);
    crew_start(c, taken);
    assert_int_equal(embedded_abandon(p.store, taken), EMBEDDED_NEVER_RAN);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_false(has_body(p.store, "late", "x"));
    assert_false(has_body(p.store, "taken", "x"));
    assert_int_equal(embedded_abandon(p.store, late), EMBEDDED_COMES);
    embedded_job_free(late);
    embedded_job_free(taken);
    crew_free(c);
    place_drop(&p);
}

static void test_an_abandoned_job_is_the_stores(void **state)
{
    (void)state;
    struct place p;
    place_open(&p);
    struct crew *c = crew_new(p.store);
    unsigned left = 0;
    for (unsigned i = 0; i < 200; i++) { /* Where each is caught depends on the threads. */
        struct embedded_job *j = job_put("k", CD_STR("x"), IO_PUT_ANY, "");
        j->user = c;
        crew_start(c, j);
        enum embedded_left how = embedded_abandon(p.store, j);
        left += how == EMBEDDED_LEFT_RUNNING;
        if (how == EMBEDDED_COMES)
            crew_wait(c);
        if (how != EMBEDDED_LEFT_RUNNING)
            embedded_job_free(j);
        crew_free(c);
        c = crew_new(p.store);
    }
    CD_MAYBE(left);
    crew_free(c);
    place_drop(&p);
}

/* ---- Faults of the disk ---- */

static void test_a_full_disk_rejects_what_does_not_fit_and_nothing_else(void **state)
{
    (void)state;
    struct place p;
    fault_vfs_install();
    place_open(&p);
    assert_int_equal(put(p.store, "before", "x", IO_PUT_ANY, NULL), IO_OK);
    for (unsigned skip = 0; skip < 12; skip++) {
        char key[32];
        snprintf(key, sizeof(key), "k%u", skip);
        fault_vfs_fail(FAULT_WRITE, skip, 1000, SQLITE_FULL);
        struct embedded_job *j = job_run(p.store, job_put(key, CD_STR("x"), IO_PUT_IF_ABSENT, ""));
        bool hit = fault_vfs_failed() > 0;
        fault_vfs_fail(FAULT_NONE, 0, 0, 0);
        assert_int_equal(j->status, hit ? IO_NOSPACE : IO_OK);
        assert_int_equal(j->out.outcome, hit ? IO_REJECTED : IO_DONE);
        assert_int_equal(has_body(p.store, key, "x"), !hit);
        embedded_job_free(j);
        /* Also for whoever recovers the log. */
        embedded_close(p.store);
        p.store = open_store(p.dir);
        assert_int_equal(has_body(p.store, key, "x"), !hit);
    }
    assert_true(has_body(p.store, "before", "x"));
    place_drop(&p);
    fault_vfs_remove();
}

static void test_one_write_that_does_not_fit_fails_alone(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    struct place p;
    struct embedded_job *jobs[COUNT];
    fault_vfs_install();
    place_open(&p);
    /* A connection that holds the file, so that all of them wait for one round. */
    sqlite3 *other;
    char path[128];
    snprintf(path, sizeof(path), "%s/objects.sqlite3", p.dir);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    struct crew *c = crew_new(p.store);
    struct cd_buf big = {0};
    cd_buf_add_zero(&big, 200 * 4096);
    for (unsigned i = 0; i < COUNT; i++) {
        char key[32];
        snprintf(key, sizeof(key), "k%u", i);
        jobs[i] = job_put(key, i == 7 ? cd_buf_str(&big) : CD_STR("x"), IO_PUT_ANY, "");
        crew_start(c, jobs[i]);
    }
    /* The round writes about 210 pages and fails; alone, all but the big one stay below that. */
    fault_vfs_fail(FAULT_WRITE, 150, 1, SQLITE_FULL);
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    crew_wait(c);
    assert_int_equal(fault_vfs_failed(), 1);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_int_equal(jobs[i]->status, IO_OK); /* The disk was full once; then all fits, one by one. */
        embedded_job_free(jobs[i]);
    }
    fault_vfs_fail(FAULT_WRITE, 150, 100000, SQLITE_FULL);
    struct embedded_job *small = job_put("small", CD_STR("x"), IO_PUT_ANY, "");
    struct embedded_job *large = job_put("large", cd_buf_str(&big), IO_PUT_ANY, "");
    crew_start(c, small);
    crew_wait(c);
    crew_start(c, large);
    crew_wait(c);
    assert_int_equal(small->status, IO_OK);
    assert_int_equal(large->status, IO_NOSPACE);
    assert_int_equal(large->out.outcome, IO_REJECTED);
    fault_vfs_fail(FAULT_NONE, 0, 0, 0);
    embedded_job_free(small);
    embedded_job_free(large);
    cd_buf_deinit(&big);
    crew_free(c);
    place_drop(&p);
    fault_vfs_remove();
}

static void test_a_log_that_fills_the_disk_is_emptied(void **state)
{
    (void)state;
    struct place p;
    sqlite3 *reader;
    char path[128], token[IO_TOKEN_MAX] = "";
    fault_vfs_install();
    place_make_fast(&p);
    p.store = open_store(p.dir);
    snprintf(path, sizeof(path), "%s/objects.sqlite3", p.dir);
    fault_vfs_fail(FAULT_NONE, 0, 0, 0);
    fault_vfs_limit(64 << 10);
    assert_int_equal(put(p.store, "k", "0", IO_PUT_IF_ABSENT, token), IO_OK);
    for (unsigned i = 1; i < 300; i++) {
        char body[32];
        snprintf(body, sizeof(body), "%u", i);
        assert_int_equal(put(p.store, "k", body, IO_PUT_IF_MATCH, token), IO_OK);
        assert_true(has_body(p.store, "k", body));
    }
    assert_true(fault_vfs_failed() > 0);
    /* Who still reads the log keeps it; it ends with him. */
    assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM objects", NULL, NULL, NULL),
                     SQLITE_OK);
    unsigned kept = 0;
    while (put(p.store, "k", "kept", IO_PUT_IF_MATCH, token) == IO_OK)
        assert_true(++kept < 100);
    assert_int_equal(put(p.store, "k", "more", IO_PUT_IF_MATCH, token), IO_NOSPACE);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    assert_int_equal(put(p.store, "k", "last", IO_PUT_IF_MATCH, token), IO_OK);
    assert_true(has_body(p.store, "k", "last"));
    place_drop(&p);
    fault_vfs_remove();
}

static void test_a_failed_sync_leaves_a_write_unknown_and_the_store_usable(void **state)
{
    (void)state;
    struct place p;
    fault_vfs_install();
    place_open(&p);
    assert_int_equal(put(p.store, "before", "x", IO_PUT_ANY, NULL), IO_OK);
    for (unsigned i = 0; i < 5; i++) {
        char key[32];
        snprintf(key, sizeof(key), "k%u", i);
        fault_vfs_fail(FAULT_SYNC, 0, 1, SQLITE_IOERR_FSYNC);
        struct embedded_job *j = job_run(p.store, job_put(key, CD_STR("x"), IO_PUT_IF_ABSENT, ""));
        assert_int_equal(fault_vfs_failed(), 1);
        fault_vfs_fail(FAULT_NONE, 0, 0, 0);
        assert_int_equal(j->status, IO_FAULT);
        assert_int_equal(j->out.outcome, IO_UNKNOWN);
        embedded_job_free(j);
        /* The same again with the same condition: done, or it was there already with our bytes. */
        int status = put(p.store, key, "x", IO_PUT_IF_ABSENT, NULL);
        assert_true(status == IO_OK || status == IO_CONFLICT);
        assert_true(has_body(p.store, key, "x"));
    }
    assert_true(has_body(p.store, "before", "x"));
    place_drop(&p);
    fault_vfs_remove();
}

static void test_a_failed_write_of_the_log_is_no_conflict_for_the_next(void **state)
{
    (void)state;
    struct place p;
    fault_vfs_install();
    place_open(&p);
    struct crew *c = crew_new(p.store);
    struct embedded_job *a = job_put("k", CD_STR("a"), IO_PUT_IF_ABSENT, "");
    struct embedded_job *b = job_put("k", CD_STR("b"), IO_PUT_IF_ABSENT, "");
    fault_vfs_fail(FAULT_WRITE, 0, 100, SQLITE_FULL);
    crew_start(c, a);
    crew_start(c, b);
    crew_wait(c);
    fault_vfs_fail(FAULT_NONE, 0, 0, 0);
    assert_int_equal(a->status, IO_NOSPACE);
    assert_int_equal(b->status, IO_NOSPACE); /* Not IO_CONFLICT: the object of a was never there. */
    embedded_job_free(a);
    embedded_job_free(b);
    assert_int_equal(put(p.store, "k", "c", IO_PUT_IF_ABSENT, NULL), IO_OK);
    crew_free(c);
    place_drop(&p);
    fault_vfs_remove();
}

/* ---- Power loss ---- */

struct power {
    struct cd_buf acked; /* Keys, one a line. */
    struct embedded_job *jobs[64];
    unsigned count;
};

static void power_start(struct power *w, struct crew *c, struct cd_rng *rng, unsigned *n)
{
    w->count = 1 + (unsigned)cd_rng_below(rng, CD_COUNT(w->jobs));
    for (unsigned i = 0; i < w->count; i++) {
        char key[32];
        struct cd_buf body = {0};
        bool again = *n > 0 && cd_rng_below(rng, 4) == 0;
        snprintf(key, sizeof(key), "k%u", again ? (unsigned)cd_rng_below(rng, *n) : (*n)++);
        cd_buf_add_str(&body, cd_str(key));
        cd_buf_add_zero(&body, cd_rng_below(rng, 10) == 0 ? 20000 : cd_rng_below(rng, 300));
        w->jobs[i] = job_put(key, cd_buf_str(&body), IO_PUT_IF_ABSENT, "");
        cd_buf_deinit(&body);
    }
    for (unsigned i = 0; i < w->count; i++)
        crew_start(c, w->jobs[i]);
}

static void power_collect(struct power *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        struct embedded_job *j = w->jobs[i];
        if (j->status == IO_OK)
            cd_buf_addf(&w->acked, "%s\n", cd_buf_cstr(&j->key));
        embedded_job_free(j);
    }
    w->count = 0;
}

static void want_all(struct embedded *e, const struct cd_buf *keys)
{
    struct cd_str rest = cd_buf_str(keys), line;
    while (cd_str_next(&rest, '\n', &line)) {
        if (line.len == 0)
            continue;
        char *key = cd_str_dup(line);
        struct embedded_job *j = job_run(e, job_get(key, 0, IO_WHOLE));
        if (j->status != IO_OK)
            print_error("acknowledged %s is lost: %d\n", key, j->status);
        assert_int_equal(j->status, IO_OK);
        assert_true(cd_str_starts(cd_buf_str(&j->out.body), line));
        embedded_job_free(j);
        cd_free(key);
    }
}

static void test_an_acknowledged_put_survives_power_loss(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct cd_rng rng;
        struct place p, after;
        struct power w = {0};
        unsigned n = 0;
        cd_rng_seed(&rng, seed, CD_STR("power"));
        fault_vfs_install();
        place_make_fast(&p);
        place_make_fast(&after);
        p.store = open_store(p.dir);
        struct crew *c = crew_new(p.store);
        unsigned bursts = 1 + (unsigned)cd_rng_below(&rng, 20);
        for (unsigned i = 0; i < bursts; i++) {
            power_start(&w, c, &rng, &n);
            crew_wait(c);
            power_collect(&w);
        }
        power_start(&w, c, &rng, &n); /* In flight when the power goes. */
        usleep((useconds_t)cd_rng_below(&rng, 3000));
        fault_vfs_power_loss(after.dir, &rng);
        crew_wait(c);
        for (unsigned i = 0; i < w.count; i++)
            embedded_job_free(w.jobs[i]);
        crew_free(c);
        place_drop(&p);
        fault_vfs_remove();

        print_message("seed %u\n", (unsigned)seed);
        after.store = open_store(after.dir);
        want_all(after.store, &w.acked);
        place_drop(&after);
        cd_buf_deinit(&w.acked);
    }
}

/* ---- Several processes ---- */

/* Conditional creates ("c N" won, "l N" lost) and overwrites by token ("s N") against the others. */
static int race(struct embedded *e, unsigned rounds, const char *name)
{
    for (unsigned i = 0; i < rounds; i++) {
        char key[32];
        snprintf(key, sizeof(key), "race-%u", i);
        struct embedded_job *j = job_run(e, job_put(key, cd_str(name), IO_PUT_IF_ABSENT, ""));
        if (j->status != IO_OK && j->status != IO_CONFLICT)
            return 1;
        dprintf(1, "%c %u\n", j->status == IO_OK ? 'c' : 'l', i);
        embedded_job_free(j);
        snprintf(key, sizeof(key), "counter-%u", i);
        for (;;) { /* Add one, by token, until nobody came in between. */
            struct embedded_job *get = job_run(e, job_get(key, 0, IO_WHOLE));
            bool absent = get->status == IO_NOENT;
            if (get->status != IO_OK && !absent)
                return 1;
            char next[24];
            uint64_t count = 0;
            if (!absent && cd_str_u64(cd_buf_str(&get->out.body), &count) != 0)
                return 1;
            snprintf(next, sizeof(next), "%llu", (unsigned long long)count + 1);
            j = job_run(
                e, job_put(key, cd_str(next), absent ? IO_PUT_IF_ABSENT : IO_PUT_IF_MATCH, get->out.token));
            int status = j->status;
            embedded_job_free(j);
            embedded_job_free(get);
            if (status == IO_OK)
                break;
            if (status != IO_CONFLICT)
                return 1;
        }
        dprintf(1, "s %u\n", i);
    }
    return 0;
}

/* Puts without end: "A key" acknowledged, "R key" refused, until it is killed. */
static _Noreturn void write_on(struct embedded *e, const char *name)
{
    struct embedded_job *jobs[16];
    struct crew *c = crew_new(e);
    for (unsigned n = 0;; n++) {
        for (unsigned i = 0; i < CD_COUNT(jobs); i++) {
            char key[64], body[400];
            bool taken = i % 5 == 4;
            if (taken)
                snprintf(key, sizeof(key), "taken-%u", (n + i) % 50);
            else
                snprintf(key, sizeof(key), "w-%s-%u-%u", name, n, i);
            snprintf(body, sizeof(body), "write %s %*d", key, 20 * (int)i, 1);
            jobs[i] = job_put(key, cd_str(body), taken ? IO_PUT_IF_ABSENT : IO_PUT_ANY, "");
        }
        for (unsigned i = 0; i < CD_COUNT(jobs); i++)
            crew_start(c, jobs[i]);
        crew_wait(c);
        for (unsigned i = 0; i < CD_COUNT(jobs); i++) {
            struct embedded_job *j = jobs[i];
            if (j->status == IO_OK || j->status == IO_CONFLICT)
                dprintf(1, "%c %s\n", j->status == IO_OK ? 'A' : 'R', cd_buf_cstr(&j->key));
            embedded_job_free(j);
        }
    }
}

struct child {
    pid_t pid;
    int out;
    struct cd_buf text;
};

/* A process of its own that opens the store itself; rounds 0: writes until it is killed. The caller has no
 * store open: SQLite does not live through a fork, and threads do not either. */
static void child_start(struct child *c, const char *dir, unsigned rounds, const char *name)
{
    int ends[2];
    *c = (struct child){0};
    assert_int_equal(pipe(ends), 0);
    c->pid = fork();
    assert_true(c->pid >= 0);
    if (c->pid == 0) {
        struct embedded *e;
        struct cd_buf why = {0};
        if (dup2(ends[1], 1) < 0 || close(ends[0]) != 0 || embedded_open(&e, dir, &why) != IO_OK)
            _exit(2);
        if (rounds == 0)
            write_on(e, name);
        int rc = race(e, rounds, name);
        embedded_close(e);
        _exit(rc);
    }
    close(ends[1]);
    c->out = ends[0];
}

/* Reads what comes within so many milliseconds (-1: until its end). False: the output has ended. */
static bool child_read(struct child *c, int ms)
{
    struct pollfd p = {.fd = c->out, .events = POLLIN};
    int n = poll(&p, 1, ms);
    if (n <= 0)
        return true;
    char *to = cd_buf_reserve(&c->text, 65536);
    ssize_t got = read(c->out, to, 65536);
    assert_true(got >= 0);
    c->text.len += (size_t)got;
    return got > 0;
}

static int child_end(struct child *c)
{
    int status;
    while (child_read(c, -1))
        continue;
    close(c->out);
    while (waitpid(c->pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

static void test_racing_processes_have_one_winner_each_time(void **state)
{
    (void)state;
    enum { CHILDREN = 4, ROUNDS = 60 };
    struct place p;
    struct child child[CHILDREN];
    unsigned wins[ROUNDS] = {0}, swaps[ROUNDS] = {0}, losses = 0;
    place_make(&p); /* The file is made by the children, all at once. */
    for (unsigned i = 0; i < CHILDREN; i++) {
        char name[8];
        snprintf(name, sizeof(name), "%u", i);
        child_start(&child[i], p.dir, ROUNDS, name);
    }
    for (unsigned i = 0; i < CHILDREN; i++) {
        assert_int_equal(child_end(&child[i]), 0);
        struct cd_str rest = cd_buf_str(&child[i].text), line;
        while (cd_str_next(&rest, '\n', &line)) {
            uint64_t round;
            if (line.len < 3)
                continue;
            assert_int_equal(cd_str_u64(cd_str_sub(line, 2, SIZE_MAX), &round), 0);
            assert_true(round < ROUNDS);
            wins[round] += line.ptr[0] == 'c';
            swaps[round] += line.ptr[0] == 's';
            losses += line.ptr[0] == 'l';
        }
        cd_buf_deinit(&child[i].text);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        assert_int_equal(wins[i], 1);
        assert_int_equal(swaps[i], CHILDREN); /* Each in turn, by its own token. */
    }
    assert_int_equal(losses, ROUNDS * (CHILDREN - 1));
    p.store = open_store(p.dir);
    for (unsigned i = 0; i < ROUNDS; i++) {
        char key[32];
        snprintf(key, sizeof(key), "counter-%u", i);
        assert_true(has_body(p.store, key, "4"));
    }
    place_drop(&p);
}

static void check_line(struct embedded_job *j, char what, unsigned *acked)
{
    bool ours = j->status == IO_OK && cd_str_starts(cd_buf_str(&j->out.body), CD_STR("write "));
    if (what == 'A' && !ours)
        print_error("acknowledged %s is lost: %d\n", cd_buf_cstr(&j->key), j->status);
    assert_true(what == 'A' ? ours : j->status == IO_OK && !ours);
    *acked += what == 'A';
    embedded_job_free(j);
}

static void check_after_kill(struct embedded *e, struct cd_str text, unsigned *acked)
{
    struct cd_str rest = text, line;
    struct embedded_job *jobs[256];
    char what[256];
    unsigned count = 0;
    struct crew *c = crew_new(e);
    while (cd_str_next(&rest, '\n', &line) && rest.ptr != NULL) { /* The last line may be cut. */
        char *key = cd_str_dup(cd_str_sub(line, 2, SIZE_MAX));
        what[count] = line.ptr[0];
        jobs[count] = job_get(key, 0, IO_WHOLE);
        cd_free(key);
        crew_start(c, jobs[count++]);
        if (count < CD_COUNT(jobs))
            continue;
        crew_wait(c);
        for (; count > 0; count--)
            check_line(jobs[count - 1], what[count - 1], acked);
    }
    crew_wait(c);
    for (; count > 0; count--)
        check_line(jobs[count - 1], what[count - 1], acked);
    crew_free(c);
}

/* A burst of processes that write, each killed at a moment of its own. */
static void kill_round(struct place *p, unsigned round, struct child *child, unsigned count,
                       struct cd_rng *rng)
{
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%u-%u", round, i);
        child_start(&child[i], p->dir, 0, name);
    }
    for (unsigned i = 0; i < count; i++) {
        while (child[i].text.len == 0 && child_read(&child[i], 20000))
            continue;
        assert_true(child[i].text.len > 0);
        usleep((useconds_t)cd_rng_below(rng, 10000));
        assert_int_equal(kill(child[i].pid, SIGKILL), 0);
        (void)child_end(&child[i]);
    }
}

static void test_no_acknowledged_put_is_lost_by_kill(void **state)
{
    (void)state;
    enum { ROUNDS = 25, CHILDREN = 4 };
    struct place p;
    struct cd_rng rng;
    unsigned acked = 0;
    cd_rng_seed(&rng, 1, CD_STR("kill"));
    place_open(&p);
    for (unsigned i = 0; i < 50; i++) { /* What the children's conditional creates have to lose against. */
        char key[32];
        snprintf(key, sizeof(key), "taken-%u", i);
        assert_int_equal(put(p.store, key, "parent", IO_PUT_IF_ABSENT, NULL), IO_OK);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct child child[CHILDREN];
        embedded_close(p.store);
        kill_round(&p, round, child, CHILDREN, &rng);
        p.store = open_store(p.dir); /* Recovers the log: nobody else has it open. */
        for (unsigned i = 0; i < CHILDREN; i++) {
            check_after_kill(p.store, cd_buf_str(&child[i].text), &acked);
            cd_buf_deinit(&child[i].text);
        }
    }
    print_message("%u acknowledged over %d kills\n", acked, ROUNDS * CHILDREN);
    assert_true(acked > ROUNDS * CHILDREN);
    place_drop(&p);
}

static void test_a_file_that_is_taken_away_ends_the_store(void **state)
{
    static const char *const names[] = {"", "-wal", "-shm"};
    (void)state;
    for (size_t i = 0; i < CD_COUNT(names) * 2; i++) {
        struct place p;
        char path[128], away[160];
        place_open(&p);
        assert_int_equal(put(p.store, "before", "x", IO_PUT_ANY, NULL), IO_OK);
        snprintf(path, sizeof(path), "%s/objects.sqlite3%s", p.dir, names[i / 2]);
        snprintf(away, sizeof(away), "%s.away", path);
        assert_int_equal(rename(path, away), 0);
        if (i % 2 == 1) {
            FILE *f = fopen(path, "w"); /* Another one in its place. */
            assert_non_null(f);
            fclose(f);
        }
        for (unsigned again = 0; again < 2; again++) {
            struct embedded_job *j = job_run(p.store, job_put("k", CD_STR("x"), IO_PUT_ANY, ""));
            assert_int_equal(j->status, IO_FAULT);
            assert_int_equal(j->out.outcome, again == 0 ? IO_UNKNOWN : IO_REJECTED);
            assert_string_equal(j->out.why, "objects.sqlite3 was deleted or replaced while in use");
            embedded_job_free(j);
        }
        struct embedded_job *j = job_run(p.store, job_get("before", 0, IO_WHOLE));
        assert_int_equal(j->status, IO_FAULT);
        embedded_job_free(j);
        embedded_close(p.store);
        p.store = NULL;
        assert_int_equal(unlink(away), 0);
        place_drop(&p);
    }
}

static void test_what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    struct place p;
    struct embedded *e = NULL;
    struct cd_buf why = {0};
    assert_int_equal(embedded_open(&e, "/nonexistent-celld", &why), IO_NOENT);
    assert_string_equal(cd_buf_cstr(&why),
                        "open /nonexistent-celld/objects.sqlite3: No such file or directory");
    place_make(&p);
    char path[128];
    snprintf(path, sizeof(path), "%s/objects.sqlite3", p.dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (unsigned i = 0; i < 1000; i++)
        fputs("not a database ", f);
    fclose(f);
    cd_buf_clear(&why);
    assert_int_equal(embedded_open(&e, p.dir, &why), IO_FAULT);
    assert_non_null(strstr(cd_buf_cstr(&why), "file is not a database"));
    assert_int_equal(unlink(path), 0);

    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA user_version=2; PRAGMA application_id=7", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    cd_buf_clear(&why);
    assert_int_equal(embedded_open(&e, p.dir, &why), IO_FAULT);
    assert_non_null(strstr(cd_buf_cstr(&why), "no object store of this version (version 2)"));
    assert_int_equal(unlink(path), 0);

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE theirs(x)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    cd_buf_clear(&why);
    assert_int_equal(embedded_open(&e, p.dir, &why), IO_FAULT);
    assert_non_null(strstr(cd_buf_cstr(&why), "it is a database of another program"));
    cd_buf_deinit(&why);
    place_drop(&p);
}

CD_TESTS(embedded, cmocka_unit_test(test_writes_that_wait_share_one_sync),
         cmocka_unit_test(test_conditions_are_judged_in_order_inside_one_round),
         cmocka_unit_test(test_tokens_never_come_back),
         cmocka_unit_test(test_a_job_that_has_not_begun_can_be_taken_back),
         cmocka_unit_test(test_an_abandoned_job_is_the_stores),
         cmocka_unit_test(test_a_full_disk_rejects_what_does_not_fit_and_nothing_else),
         cmocka_unit_test(test_one_write_that_does_not_fit_fails_alone),
         cmocka_unit_test(test_a_log_that_fills_the_disk_is_emptied),
         cmocka_unit_test(test_a_failed_sync_leaves_a_write_unknown_and_the_store_usable),
         cmocka_unit_test(test_a_failed_write_of_the_log_is_no_conflict_for_the_next),
         cmocka_unit_test(test_an_acknowledged_put_survives_power_loss),
         cmocka_unit_test(test_racing_processes_have_one_winner_each_time),
         cmocka_unit_test(test_no_acknowledged_put_is_lost_by_kill),
         cmocka_unit_test(test_a_file_that_is_taken_away_ends_the_store),
         cmocka_unit_test(test_what_cannot_be_opened_says_why))
