/* io_real/embedded.c: the threads of the embedded store, and group commit.
 *
 * The writer's round: lock the file against other processes, take all that waits, run each write with its own
 * condition, in order within each lane, commit once, tell everybody. Writes that arrive meanwhile make the
 * next round, so rounds grow under load and a write alone waits for nothing. A round that finds the disk full
 * empties the log into the file and runs once more. A round that fails before its commit record can be on the
 * disk is run again one by one, so that one write that does not fit fails alone; when the commit itself ends
 * in an I/O error its writes are IO_UNKNOWN: the record may be there, and a recovery of the log would find
 * it. */
#include "io_real/embedded.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <time.h>

#include "io/backend.h"
#include "io_real/embedded_db.h"

#define ROUND_JOBS_MAX 2048u
#define ROUND_BYTES_MAX (64u << 20)
#define WAL_PAGES_MAX 4096u /* Log length that makes the writer move it into the file: 16 MiB. */

struct worker {
    struct embedded *store;
    bool writes;
    pthread_t thread;
    pthread_cond_t wakeup;
    struct cd_list queue[IO_LANE_COUNT]; /* Under the store's lock. */
    unsigned turn; /* The lane that is asked first the next time. */
    struct embedded_db db;
    bool broken; /* An I/O error: the connection is opened anew before it is used again. */
    uint32_t dice; /* For pauses between tries to lock the file. */
};

struct embedded {
    char *path; /* owned */
    pthread_mutex_t lock;
    bool closing;
    bool lost; /* Under the lock: its file was taken away, and nothing more is answered from it. */
    struct embedded_file file; /* What path led to when it was opened. */
    struct worker writer, reader;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    int rc = clock_gettime(CLOCK_BOOTTIME, &t);
    CD_ASSERT(rc == 0);
    return IO_SEC(t.tv_sec) + (uint64_t)t.tv_nsec;
}

static void lock(struct embedded *e)
{
    int rc = pthread_mutex_lock(&e->lock);
    CD_ASSERT(rc == 0);
}

static void unlock(struct embedded *e)
{
    int rc = pthread_mutex_unlock(&e->lock);
    CD_ASSERT(rc == 0);
}

struct embedded_job *embedded_job_new(enum embedded_kind kind)
{
    struct embedded_job *j = cd_new(struct embedded_job);
    j->kind = kind;
    return j;
}

void embedded_job_free(struct embedded_job *j)
{
    if (j == NULL)
        return;
    cd_buf_deinit(&j->key);
    cd_buf_deinit(&j->body);
    cd_buf_deinit(&j->after);
    cd_buf_deinit(&j->out.body);
    io_list_deinit(&j->list);
    cd_free(j);
}

static bool is_lost(struct embedded *e)
{
    lock(e);
    bool lost = e->lost;
    unlock(e);
    return lost;
}

static void set_lost(struct embedded *e)
{
    lock(e);
    e->lost = true;
    unlock(e);
}

static bool is_write(const struct embedded_job *j)
{
    return j->kind == EMBEDDED_PUT || j->kind == EMBEDDED_DELETE;
}

static void fail(struct embedded_job *j, int status, enum io_outcome outcome, const char *why)
{
    j->status = status;
    j->out.outcome = is_write(j) ? outcome : IO_REJECTED;
    char *to = j->kind == EMBEDDED_LIST ? j->list.why : j->out.why;
    snprintf(to, sizeof(j->out.why), "%.199s", why);
}

/* ---- Queues ---- */

/* Hands all jobs of the list to their owners, or frees those that were abandoned. */
static void finish_all(struct embedded *e, struct cd_list *list)
{
    struct cd_list gone;
    struct cd_link *k, *next;
    cd_list_init(&gone);
    lock(e);
    for (k = cd_list_first(list); k != NULL; k = next) {
        struct embedded_job *j = CD_CONTAINER(k, struct embedded_job, link);
        next = cd_list_next(list, k);
        j->state = EMBEDDED_FINISHED;
        if (j->abandoned) {
            cd_link_remove(k);
            cd_list_push(&gone, k);
        }
    }
    unlock(e);
    while ((k = cd_list_pop(&gone)) != NULL)
        embedded_job_free(CD_CONTAINER(k, struct embedded_job, link));
    while ((k = cd_list_pop(list)) != NULL) {
        struct embedded_job *j = CD_CONTAINER(k, struct embedded_job, link);
        j->finished(j);
    }
}

/* Under the lock, as are the next two. */
static bool some_wait(const struct worker *w)
{
    for (unsigned i = 0; i < IO_LANE_COUNT; i++) {
        if (!cd_list_empty(&w->queue[i]))
            return true;
    }
    return false;
}

/* The next job, from each lane in turn; NULL when none waits. */
static struct cd_link *next_waiting(struct worker *w)
{
    for (unsigned i = 0; i < IO_LANE_COUNT; i++) {
        struct cd_link *k = cd_list_pop(&w->queue[w->turn]);
        w->turn = (w->turn + 1) % IO_LANE_COUNT;
        if (k != NULL)
            return k;
    }
    return NULL;
}

static void expire_lane(struct cd_list *queue, uint64_t now, struct cd_list *late)
{
    struct cd_link *next;
    for (struct cd_link *k = cd_list_first(queue); k != NULL; k = next) {
        struct embedded_job *j = CD_CONTAINER(k, struct embedded_job, link);
        next = cd_list_next(queue, k);
        if (j->deadline_ns > now)
            continue;
        cd_link_remove(k);
        cd_list_push(late, k);
        fail(j, IO_TIMEDOUT, IO_REJECTED, "the store's file was busy for too long");
    }
}

/* Ends what waited too long for its turn. False: nothing waits any more. */
static bool expire(struct worker *w)
{
    struct cd_list late;
    uint64_t now = now_ns();
    cd_list_init(&late);
    lock(w->store);
    for (unsigned i = 0; i < IO_LANE_COUNT; i++)
        expire_lane(&w->queue[i], now, &late);
    bool some = some_wait(w);
    unlock(w->store);
    finish_all(w->store, &late);
    return some;
}

static unsigned take(struct worker *w, struct cd_list *round)
{
    unsigned count = 0;
    size_t bytes = 0;
    struct cd_link *k;
    lock(w->store);
    while (count < ROUND_JOBS_MAX && bytes < ROUND_BYTES_MAX && (k = next_waiting(w)) != NULL) {
        struct embedded_job *j = CD_CONTAINER(k, struct embedded_job, link);
        j->state = EMBEDDED_RUNNING;
        cd_list_push(round, k);
        count++;
        bytes += j->body.len;
    }
    unlock(w->store);
    return count;
}

/* False: the store closes and nothing waits. */
static bool wait_for_work(struct worker *w)
{
    lock(w->store);
    while (!some_wait(w) && !w->store->closing)
        (void)pthread_cond_wait(&w->wakeup, &w->store->lock);
    bool some = some_wait(w);
    unlock(w->store);
    return some;
}

/* ---- Rounds ---- */

/* 0.2 to 1.2 ms: short beside an fsync, and not in step with the other processes that wait. */
static void pause_for_others(struct worker *w)
{
    w->dice = w->dice * 1664525u + 1013904223u;
    struct timespec t = {0, 200000 + (long)(w->dice >> 12)};
    (void)nanosleep(&t, NULL);
}

static int reopen(struct worker *w)
{
    struct cd_buf why = {0};
    if (!w->broken)
        return SQLITE_OK;
    /* A name that leads elsewhere would begin an empty store, as if there had never been an object. */
    if (!embedded_db_in_place(&w->db) || !embedded_file_is(w->store->path, &w->store->file)) {
        set_lost(w->store);
        return SQLITE_IOERR;
    }
    embedded_db_close(&w->db);
    int rc = embedded_db_open(&w->db, w->store->path, &why);
    cd_buf_deinit(&why);
    w->broken = rc != IO_OK;
    return rc == IO_OK ? SQLITE_OK : rc == IO_NOSPACE ? SQLITE_FULL : SQLITE_IOERR;
}

static bool is_busy(int rc)
{
    return (rc & 0xff) == SQLITE_BUSY || (rc & 0xff) == SQLITE_PROTOCOL;
}

/* Whether a commit that ended so can have left its record in the log. SQLITE_FULL comes from a write of the
 * log that did not fit, so the record, which is the last, is not whole; an error of fsync or later comes when
 * it is. */
static bool is_certain(int rc)
{
    return is_busy(rc) || (rc & 0xff) == SQLITE_FULL;
}

static void fail_db(struct worker *w, struct embedded_job *j, int rc, enum io_outcome outcome)
{
    int status = embedded_db_status(&w->db, rc);
    char why[160];
    snprintf(why, sizeof(why), "%s (%d)", sqlite3_errstr(rc), rc);
    fail(j, status, outcome, why);
    if (status == IO_FAULT)
        w->broken = true;
}

static bool is_full(int rc)
{
    return (rc & 0xff) == SQLITE_FULL;
}

/* A transaction of its own for one job; the file may have become busy meanwhile. Returns the result code,
 * with the transaction rolled back unless it is SQLITE_OK; certain: whether it had no effect then. */
static int try_alone(struct worker *w, struct embedded_job *j, bool *certain)
{
    int rc;
    *certain = true;
    for (;;) {
        rc = reopen(w);
        if (rc == SQLITE_OK)
            rc = embedded_db_begin(&w->db, w->writes);
        if (!is_busy(rc) || now_ns() >= j->deadline_ns)
            break;
        pause_for_others(w);
    }
    if (rc == SQLITE_OK)
        rc = embedded_db_run(&w->db, j);
    if (rc == SQLITE_OK) {
        rc = embedded_db_commit(&w->db);
        *certain = is_certain(rc);
    }
    return rc;
}

static void run_alone(struct worker *w, struct embedded_job *j, bool *room)
{
    bool certain;
    int rc = try_alone(w, j, &certain);
    /* Those before it in the round have filled the log again. */
    if (is_full(rc) && *room && w->db.db != NULL && w->db.wal_pages > 0) {
        embedded_db_rollback(&w->db);
        *room = embedded_db_make_room(&w->db);
        rc = try_alone(w, j, &certain);
    }
    if (rc == SQLITE_OK)
        return;
    fail_db(w, j, rc, certain ? IO_REJECTED : IO_UNKNOWN);
    if (w->db.db != NULL)
        embedded_db_rollback(&w->db);
}

/* room: whether the log may be emptied on the way; each time that fails has waited, so it is not tried again.
 */
static void run_each_alone(struct worker *w, struct cd_list *round, bool room)
{
    for (struct cd_link *k = cd_list_first(round); k != NULL; k = cd_list_next(round, k))
        run_alone(w, CD_CONTAINER(k, struct embedded_job, link), &room);
}

/* Inside a transaction, which is over afterwards. As try_alone. */
static int try_round(struct worker *w, struct cd_list *round, bool *certain)
{
    int rc = SQLITE_OK;
    *certain = true;
    for (struct cd_link *k = cd_list_first(round); k != NULL && rc == SQLITE_OK; k = cd_list_next(round, k))
        rc = embedded_db_run(&w->db, CD_CONTAINER(k, struct embedded_job, link));
    if (rc == SQLITE_OK) {
        rc = embedded_db_commit(&w->db);
        *certain = is_certain(rc);
    }
    return rc;
}

/* Inside a transaction. */
static void run_round(struct worker *w, struct cd_list *round)
{
    bool certain, room = true;
    int rc = try_round(w, round, &certain);
    if (rc == SQLITE_OK)
        return;
    embedded_db_rollback(&w->db);
    /* The log may be what fills the disk, and nothing else would ever shorten it: rounds that fail add no
     * pages. */
    if (is_full(rc) && w->writes) {
        room = embedded_db_make_room(&w->db);
        if (embedded_db_begin(&w->db, true) == SQLITE_OK) {
            rc = try_round(w, round, &certain);
            if (rc == SQLITE_OK)
                return;
            embedded_db_rollback(&w->db);
        }
    }
    if (certain) {
        run_each_alone(w, round, room);
        return;
    }
    for (struct cd_link *k = cd_list_first(round); k != NULL; k = cd_list_next(round, k))
        fail_db(w, CD_CONTAINER(k, struct embedded_job, link), rc, IO_UNKNOWN);
    w->broken = true;
}

/* Opens the transaction of a round. SQLITE_DONE: nothing waits any more. */
static int begin_round(struct worker *w)
{
    while (expire(w)) {
        int rc = reopen(w);
        if (rc == SQLITE_OK)
            rc = embedded_db_begin(&w->db, w->writes);
        if (!is_busy(rc))
            return rc;
        pause_for_others(w);
    }
    return SQLITE_DONE;
}

static void fail_lost(struct cd_list *round, enum io_outcome outcome)
{
    for (struct cd_link *k = cd_list_first(round); k != NULL; k = cd_list_next(round, k))
        fail(CD_CONTAINER(k, struct embedded_job, link), IO_FAULT, outcome,
             "objects.sqlite3 was deleted or replaced while in use");
}

static void do_round(struct worker *w)
{
    struct cd_list round;
    cd_list_init(&round);
    int rc = begin_round(w);
    if (rc == SQLITE_DONE)
        return;
    unsigned count = take(w, &round);
    bool lost = is_lost(w->store);
    if (!lost && rc == SQLITE_OK && count > 0) {
        run_round(w, &round);
    } else {
        for (struct cd_link *k = cd_list_first(&round); k != NULL; k = cd_list_next(&round, k))
            fail_db(w, CD_CONTAINER(k, struct embedded_job, link), rc, IO_REJECTED);
        if (w->db.db != NULL)
            embedded_db_rollback(&w->db);
    }
    if (lost || !embedded_db_in_place(&w->db)) {
        set_lost(w->store);
        fail_lost(&round, lost ? IO_REJECTED : IO_UNKNOWN);
    }
    finish_all(w->store, &round);
    /* After the answers, so that no write of this round waits for it. */
    if (w->writes && !w->broken && !is_lost(w->store) && w->db.wal_pages >= WAL_PAGES_MAX)
        embedded_db_checkpoint(&w->db);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    (void)pthread_setname_np(pthread_self(), w->writes ? "celld-store-w" : "celld-store-r");
    while (wait_for_work(w))
        do_round(w);
    return NULL;
}

/* ---- The store ---- */

/* Locks of network file systems and shared memory over them do not do what SQLite's log needs. */
static bool is_network(const char *dir)
{
    static const uint32_t magic[] = {
        0x6969, /* NFS */
        0x517b, /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 */
        0x5346414f, /* AFS */
        0x73757245, /* Coda */
        0x00c36400, /* Ceph */
        0x0bd00bd0, /* Lustre */
        0x47504653, /* GPFS */
        0x01021997, /* 9P */
        0x7461636f, /* OCFS2 */
        0x01161970, /* GFS2 */
    };
    struct statfs s;
    if (statfs(dir, &s) != 0)
        return false; /* Opening the file will say what is wrong. */
    for (size_t i = 0; i < CD_COUNT(magic); i++) {
        if ((uint32_t)s.f_type == magic[i])
            return true;
    }
    return false;
}

static void worker_init(struct worker *w, struct embedded *e, bool writes)
{
    w->store = e;
    w->writes = writes;
    w->dice = (uint32_t)now_ns();
    for (unsigned i = 0; i < IO_LANE_COUNT; i++)
        cd_list_init(&w->queue[i]);
    int rc = pthread_cond_init(&w->wakeup, NULL);
    CD_ASSERT(rc == 0);
}

static void worker_start(struct worker *w)
{
    int rc = pthread_create(&w->thread, NULL, worker_main, w);
    CD_ASSERT(rc == 0);
}

static void worker_deinit(struct worker *w)
{
    CD_ASSERT(!some_wait(w));
    embedded_db_close(&w->db);
    (void)pthread_cond_destroy(&w->wakeup);
}

int embedded_open(struct embedded **out, const char *dir, struct cd_buf *why)
{
    if (is_network(dir)) {
        cd_buf_addf(why, "%s is on a network file system; the embedded store needs a local one", dir);
        return CD_EUNSUPPORTED;
    }
    struct embedded *e = cd_new(struct embedded);
    struct cd_buf path = {0};
    cd_buf_addf(&path, "%s/objects.sqlite3", strcmp(dir, "/") == 0 ? "" : dir);
    e->path = cd_str_dup(cd_buf_str(&path));
    cd_buf_deinit(&path);
    int rc = pthread_mutex_init(&e->lock, NULL);
    CD_ASSERT(rc == 0);
    worker_init(&e->writer, e, true);
    worker_init(&e->reader, e, false);
    rc = embedded_db_open(&e->writer.db, e->path, why);
    if (rc == IO_OK)
        rc = embedded_db_open(&e->reader.db, e->path, why);
    if (rc != IO_OK)
        goto deinit;
    e->file = e->writer.db.files[0];
    worker_start(&e->writer);
    worker_start(&e->reader);
    *out = e;
    return IO_OK;

deinit:
    worker_deinit(&e->writer);
    worker_deinit(&e->reader);
    (void)pthread_mutex_destroy(&e->lock);
    cd_free(e->path);
    cd_free(e);
    return rc;
}

void embedded_close(struct embedded *e)
{
    lock(e);
    e->closing = true;
    (void)pthread_cond_signal(&e->writer.wakeup);
    (void)pthread_cond_signal(&e->reader.wakeup);
    unlock(e);
    int rc = pthread_join(e->writer.thread, NULL);
    CD_ASSERT(rc == 0);
    rc = pthread_join(e->reader.thread, NULL);
    CD_ASSERT(rc == 0);
    worker_deinit(&e->reader);
    worker_deinit(&e->writer);
    (void)pthread_mutex_destroy(&e->lock);
    cd_free(e->path);
    cd_free(e);
}

void embedded_start(struct embedded *e, struct embedded_job *j)
{
    struct worker *w = is_write(j) ? &e->writer : &e->reader;
    CD_ASSERT(j->finished != NULL && !cd_link_linked(&j->link) && (unsigned)j->lane < IO_LANE_COUNT);
    memcpy(j->match, j->out.token, sizeof(j->match));
    lock(e);
    CD_ASSERT(!e->closing);
    j->state = EMBEDDED_QUEUED;
    cd_list_push(&w->queue[j->lane], &j->link);
    (void)pthread_cond_signal(&w->wakeup);
    unlock(e);
}

enum embedded_left embedded_abandon(struct embedded *e, struct embedded_job *j)
{
    enum embedded_left left = EMBEDDED_COMES;
    lock(e);
    if (j->state == EMBEDDED_QUEUED) {
        cd_link_remove(&j->link);
        left = EMBEDDED_NEVER_RAN;
    } else if (j->state == EMBEDDED_RUNNING) {
        j->abandoned = true;
        left = EMBEDDED_LEFT_RUNNING;
    }
    unlock(e);
    return left;
}
