/* io_real/embedded.h: the embedded object store (fleet.md 3.4, operations.md 3.6): objects in one SQLite file
 * that several processes of one machine share. For `celld dev`, file:// buckets and tests.
 *
 * One value per node, used by all of its loops from any thread. A writer thread takes all waiting writes into
 * one transaction, so that many small writes share one fsync; a reader thread serves the rest. Both take from
 * all lanes in turn: a job waits for those of its own lane and for the round in progress, not for what is
 * queued in other lanes. Nothing here blocks its caller but open and close. */
#ifndef IO_REAL_EMBEDDED_H
#define IO_REAL_EMBEDDED_H

#include "io/io.h"

struct embedded;

enum embedded_kind { EMBEDDED_GET, EMBEDDED_HEAD, EMBEDDED_LIST, EMBEDDED_PUT, EMBEDDED_DELETE };
enum embedded_state { EMBEDDED_QUEUED, EMBEDDED_RUNNING, EMBEDDED_FINISHED };

struct embedded_job {
    struct cd_link link; /* The store's. */
    void *user; /* The caller's. */
    enum embedded_state state; /* The store's, under its lock. */
    bool abandoned; /* The same. */
    void (*finished)(struct embedded_job *j); /* On a thread of the store: the job is the caller's again. */
    enum embedded_kind kind;
    enum io_lane lane;
    uint64_t deadline_ns; /* CLOCK_BOOTTIME. One that has not begun by then ends with IO_TIMEDOUT. */
    struct cd_buf key; /* owned; of LIST: the prefix */
    struct cd_buf body; /* owned; PUT */
    struct cd_buf after; /* owned; LIST */
    enum io_put how; /* PUT, with out.token for IF_MATCH */
    char match[IO_TOKEN_MAX]; /* The store's: that token, for a second run after out was written. */
    uint64_t from, len; /* GET */
    char delimiter; /* LIST */
    unsigned max; /* LIST */
    int status; /* Results, with out or list. */
    struct io_store out;
    struct io_list list;
};

struct embedded_job *embedded_job_new(enum embedded_kind kind);
void embedded_job_free(struct embedded_job *j); /* NULL is fine. */

/* dir must exist; objects.sqlite3 is made in it when absent. Blocks. IO_* with the reason in why: among them
 * CD_EUNSUPPORTED for a network file system. */
CD_MUST_USE int embedded_open(struct embedded **out, const char *dir, struct cd_buf *why);
/* No job of a caller may be left. Waits for abandoned ones that run. */
void embedded_close(struct embedded *e);

void embedded_start(struct embedded *e, struct embedded_job *j);

enum embedded_left {
    EMBEDDED_NEVER_RAN, /* It had no effect and is the caller's again; finished does not come. */
    EMBEDDED_LEFT_RUNNING, /* Its effect is open; the store frees it. finished does not come. */
    EMBEDDED_COMES, /* Too late: finished was called, or is being called. */
};
enum embedded_left embedded_abandon(struct embedded *e, struct embedded_job *j);

#endif
