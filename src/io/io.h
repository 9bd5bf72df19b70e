/* io/io.h: all that src may ask of the outside world. architecture.md 4, simulation.md 1.
 *
 * One struct io per loop: each shard, and the control loop of a node. Two archives implement this header,
 * io_real and io_sim; the linker picks. All calls are made from the loop's own thread (in its callbacks, its
 * fibers, or before it runs); only io_post crosses loops.
 *
 * Rules of every operation:
 * - The op struct is the caller's. Submitting returns nothing and runs nothing: every outcome arrives in
 * done, exactly once, never from inside submit or io_cancel. done == NULL: a fiber awaits the op with
 * io_await.
 * - A busy op (op.io != NULL) is not moved, reused or freed. In done it is idle again and may be submitted
 * anew.
 * - What an op borrows (struct cd_str, buffers) must stay until done.
 * - After a simulated crash, and after io_stop, every pending and later op ends with IO_CANCELED or IO_FAULT
 * and has no effect. Memory that is zeroed is a valid idle op. */
#ifndef IO_IO_H
#define IO_IO_H

#include "base/buf.h"
#include "base/event.h"
#include "base/iotext.h"
#include "base/list.h"

/* Negative, disjoint from CD_ERRORS; cd_err_text() knows both. The list is in base/iotext.h. */
enum io_status {
    IO_OK = 0,
#define X(name, value, text) name = (value),
    IO_STATUSES(X)
#undef X
};

#define IO_FOREVER UINT64_MAX /* As a deadline: none. Say why where you use it. */
#define IO_MS(ms) ((uint64_t)(ms) * 1000000u)
#define IO_SEC(s) ((uint64_t)(s) * 1000000000u)

struct io;
struct io_op;
struct io_fiber;
typedef void io_done_fn(struct io_op *op, int status);

struct io_op {
    io_done_fn *done; /* NULL: a fiber awaits it. */
    struct io *io; /* NULL while idle. */
    uint64_t serial; /* The n-th op of this loop: its name in traces and its tie-break, never its address. */
    int status; /* Of the last completion. */
    bool canceling; /* io_cancel was called and done has not come yet. */
    struct io_fiber *waiter; /* Of io/fiber.c. */
    struct cd_link all; /* In io.ops. */
    struct cd_link link; /* The rest is the backend's. */
    void *impl;
    void (*cancel)(struct io_op *op);
};

/* Asks. done still comes, once, and never from inside this call: with IO_CANCELED, or with the result if that
 * came first. Idle ops: no effect. A cancelled store write is IO_UNKNOWN unless it was certainly not sent. */
void io_cancel(struct io_op *op);
static inline bool io_busy(const struct io_op *op)
{
    return op->io != NULL;
}

/* ---- Fibers (io/fiber.c, the same in both backends) ---- */

/* Starts flow on a stack of its own at the loop's next turn. The pointer is good until flow returns; the name
 * is its flow ("takeover") and must outlive it. The stack has 256 KiB. A fiber never runs JavaScript. */
struct io_fiber *io_spawn(struct io *io, const char *name, void (*flow)(void *arg), void *arg);
/* The await in progress and every later one of f behaves as if io_cancel were called on its op at once.
 * Closing ops complete regardless, so cleanup is the normal error path. */
void io_fiber_cancel(struct io_fiber *f);
/* In a fiber: suspends until op is done and returns its status. The op was submitted with done NULL. Past
 * deadline_ns (io_now_ns time) it cancels, still waits for done, and returns IO_TIMEDOUT unless the op had
 * succeeded. An op that has ended already gives its status at once. Not for two fibers at one op. */
int io_await(struct io_op *op, uint64_t deadline_ns);
int io_sleep(struct io *io, uint64_t ns); /* In a fiber: IO_OK or IO_CANCELED. */
struct io_fiber *io_fiber_current(void); /* NULL outside of fibers. */

/* A place where ops wait until somebody signals it: the way fibers and callbacks wait for each other. */
struct io_signal {
    struct cd_list waiting; /* struct io_op.link */
};
void io_signal_init(struct io_signal *s);
void io_signal_wait(struct io_signal *s, struct io *io, struct io_op *op, io_done_fn *done);
void io_signal_wake(struct io_signal *s,
                    int status); /* All that wait now end with status, at the loop's next turn. */

/* Ends op with status at the loop's next turn. */
void io_defer(struct io_op *op, struct io *io, int status, io_done_fn *done);

/* ---- The loop ---- */

struct io *io_current(
    void); /* The loop whose callback runs now; for hooks that get no context (V8's clock). */
void io_mark(struct io *io,
             const char *name); /* CD_MARK: counted by io_sim, nothing in io_real. io may be NULL: current. */
#define CD_MARK(name) io_mark(NULL, name)
unsigned io_loop_index(struct io *io); /* 0: the control loop; then shards. */
unsigned io_loop_count(struct io *io);
/* Of this process, for people who look for it; decides nothing. */
unsigned io_process_id(struct io *io);
/* Appends the path of the program that runs: a child can be the same. IO_FAULT where the system hides it. */
CD_MUST_USE int io_process_program(struct io *io, struct cd_buf *out);
/* The loop ends once nothing is pending any more, or at once after the op in flight when force. */
void io_stop(struct io *io);

/* Writes one event through the node's log (filter and format are the backend's). Never blocks. */
void io_event(struct io *io, enum cd_level level, const char *target, const char *name,
              const struct cd_field *fields, size_t count);
bool io_event_wanted(struct io *io, enum cd_level level, const char *target);
#define cd_event_to(io, level, target, name, ...)                                                            \
    do {                                                                                                     \
        if (io_event_wanted((io), (level), (target))) {                                                      \
            const struct cd_field cd_fields_[] = {__VA_ARGS__ __VA_OPT__(, ) CD_U(NULL, 0)};                 \
            io_event((io), (level), (target), (name), cd_fields_, CD_COUNT(cd_fields_) - 1);                 \
        }                                                                                                    \
    } while (0)
#define cd_event(io, level, name, ...) cd_event_to(io, level, "celld", name __VA_OPT__(, ) __VA_ARGS__)

/* ---- Clock, timers, random ---- */

/* Monotonic, nanoseconds; runs on while a node is paused (CLOCK_BOOTTIME). Stands still in one callback. */
uint64_t io_now_ns(struct io *io);
/* Wall clock; may jump both ways. For people and user code, never for safety. */
int64_t io_wall_ms(struct io *io);
int64_t io_wall_us(struct io *io);
/* CPU time of a piece of code is not here: benchmarks measure from outside. */

struct io_timer {
    struct io_op op;
    uint64_t at_ns;
    struct io_timer *child, *next, *prev; /* The backend's. */
};
/* Never early. after_ns 0 ends at the next turn. */
void io_timer_start(struct io_timer *t, struct io *io, uint64_t after_ns, io_done_fn *done);

enum io_rand {
    IO_RAND_ID,
    IO_RAND_KEY,
    IO_RAND_JITTER,
    IO_RAND_JS,
    IO_RAND_COUNT
}; /* A draw of one never shifts another's. */
void io_random(struct io *io, enum io_rand use, void *out, size_t len);
uint64_t io_random_below(struct io *io, enum io_rand use, uint64_t n); /* 0..n-1 without bias; n > 0. */

/* ---- Streams ---- */
/* Bytes in order, nothing duplicated. At most one read and, in flight at once, IO_WRITES_MAX writes per
 * stream; writes are sent in the order of submission. */

#define IO_HOST_MAX 254
#define IO_WRITES_MAX 64
#define IO_PARTS_MAX 16

struct io_addr {
    char host[IO_HOST_MAX]; /* A literal address or a name, NUL-terminated. Names are resolved on connect. */
    uint16_t port; /* 0 in listen: any free one, see io_listener_addr. */
};

/* The struct may be moved while no op is in flight on it: streams change hands. */
struct io_stream {
    struct io *io; /* NULL: not open. */
    void *impl;
};

struct io_listener {
    struct io *io;
    void *impl;
};

struct io_read {
    struct io_op op;
    /* Where to read to, 1..cap bytes. buf NULL: the backend lends its own buffer: in done buf and len tell,
     * and the bytes are good until done (or the fiber's slice after io_await) returns. An idle connection
     * then needs no buffer at all. buf is NULL again after that. */
    void *buf;
    size_t cap; /* With buf NULL: ignored. */
    size_t len;
    bool lent; /* The backend's. */
};

struct io_write {
    struct io_op op;
    const struct cd_str *part; /* Borrowed until done, with the bytes. */
    unsigned parts; /* 1..IO_PARTS_MAX */
    size_t sent; /* The backend's. */
};

/* IO_LISTEN_SHARED: several loops of one node listen on the same address (SO_REUSEPORT); the first fixes the
 * port. */
enum { IO_LISTEN_SHARED = 1 };
CD_MUST_USE int io_listen(struct io_listener *l, struct io *io, const struct io_addr *at, unsigned flags);
void io_listener_addr(const struct io_listener *l, struct io_addr *out); /* The bound one. */
/* One accept at a time per listener; connections wait in the backlog meanwhile. into is open when status is
 * IO_OK. */
void io_accept(struct io_listener *l, struct io_stream *into, struct io_op *op, io_done_fn *done);
/* For a loop that is too busy to accept: from now on l, which is shared, also accepts what comes to the
 * shared listener of the same address on that other loop, and to no further one; IO_NO_LOOP: to its own only.
 * Of use while an accept of l waits. IO_NOENT: that loop does not listen there. In the simulator, where no
 * loop is ever too busy, nothing changes. */
#define IO_NO_LOOP UINT32_MAX
CD_MUST_USE int io_listener_cover(struct io_listener *l, unsigned loop);
void io_listener_close(struct io_listener *l, struct io_op *op,
                       io_done_fn *done); /* A pending accept ends first. */

/* s is open when status is IO_OK; else nothing is to be closed. */
void io_connect(struct io_stream *s, struct io *io, const struct io_addr *to, struct io_op *op,
                io_done_fn *done);
/* The other end, as far as known: host empty for pipes. */
void io_stream_peer(const struct io_stream *s, struct io_addr *out);
/* IO_OK with 1..cap bytes, or IO_EOF (the peer finished; writing may go on), or an error (the stream is
 * broken). */
void io_stream_read(struct io_stream *s, struct io_read *r, io_done_fn *done);
/* IO_OK: all bytes were handed on, in order; else some prefix may have gone and the stream is broken. */
void io_stream_write(struct io_stream *s, struct io_write *w, io_done_fn *done);
/* TLS, as its client: from IO_OK on what is read and written is inside it. s was opened by io_connect and
 * nothing is in flight on it meanwhile. The certificate has to be for name, a DNS name or a literal address,
 * and trusted by this machine. Else s is broken, and why is for people. In the simulator, whose peers speak
 * no TLS, nothing changes. */
struct io_secure {
    struct io_op op;
    char why[200];
};
void io_stream_secure(struct io_stream *s, const char *name, struct io_secure *t, io_done_fn *done);
/* Half-close: after all earlier writes the peer reads IO_EOF. Reading goes on. */
void io_stream_finish(struct io_stream *s, struct io_op *op, io_done_fn *done);
/* Pending reads and writes end first (IO_CANCELED where they did not finish). Bytes already written are still
 * delivered, unless abort is set: then the peer sees a reset. s is closed when done comes. */
void io_stream_close(struct io_stream *s, bool abort, struct io_op *op, io_done_fn *done);

/* ---- Files ---- */
/* Synchronous, because SQLite is. What is not synced may vanish, wholly or in part, in any order. Paths are
 * absolute. Errors: IO_NOENT, IO_EXISTS, IO_NOSPACE, IO_DENIED, IO_BUSY, IO_FAULT. */

struct io_file {
    struct io *io; /* NULL: not open. */
    void *impl;
};

enum {
    IO_FILE_CREATE = 1, /* Make it when absent. */
    IO_FILE_EXCLUSIVE = 2, /* With CREATE: IO_EXISTS when it is there. */
    IO_FILE_READONLY = 4,
    IO_FILE_TRUNCATE = 8,
    IO_FILE_LOCK =
        16, /* Whole-file exclusive lock until close; IO_BUSY when another process or open file has it. */
};

CD_MUST_USE int io_file_open(struct io_file *f, struct io *io, const char *path, unsigned flags);
/* got < len only at the end of the file. */
CD_MUST_USE int io_file_pread(struct io_file *f, void *buf, size_t len, uint64_t at, size_t *got);
/* All or an error; on an error any part may have been written. Past the end: the gap reads as zeros. */
CD_MUST_USE int io_file_pwrite(struct io_file *f, const void *buf, size_t len, uint64_t at);
CD_MUST_USE int io_file_truncate(struct io_file *f, uint64_t size);
CD_MUST_USE int io_file_size(struct io_file *f, uint64_t *size);
/* IO_OK: all earlier writes are durable. IO_FAULT: they may be lost, and retrying proves nothing. */
CD_MUST_USE int io_file_sync(struct io_file *f);
/* The same without stopping the loop; covers the writes made before this call. */
void io_file_sync_start(struct io_file *f, struct io_op *op, io_done_fn *done);
int io_file_close(
    struct io_file *f); /* Does not sync. No sync may be in flight. f is closed whatever it returns. */

enum io_path_kind { IO_PATH_FILE, IO_PATH_DIR, IO_PATH_OTHER };
struct io_path_info {
    enum io_path_kind kind; /* Of what a link leads to, like the rest. */
    bool link; /* The last name of the path is a symbolic link. The simulator has none. */
    uint64_t size;
    int64_t modified_ms;
};
CD_MUST_USE int io_path_stat(struct io *io, const char *path, struct io_path_info *out);
/* Appends the directory in which the process was started, where relative paths of people begin. Absolute, no
 * slash at its end unless it is "/". */
CD_MUST_USE int io_path_cwd(struct io *io, struct cd_buf *out);
CD_MUST_USE int io_path_mkdir(struct io *io, const char *path); /* One level; IO_EXISTS when it is there. */
CD_MUST_USE int io_path_rename(struct io *io, const char *from, const char *to); /* Replaces a file. */
CD_MUST_USE int io_path_remove(struct io *io, const char *path); /* A file or an empty directory. */
CD_MUST_USE int io_path_sync(struct io *io,
                             const char *dir); /* Makes create, rename and remove in dir durable. */
/* Calls each with the names in dir (without . and ..), ascending by byte. */
CD_MUST_USE int io_path_list(struct io *io, const char *dir, void (*each)(void *arg, const char *name),
                             void *arg);

/* ---- Watching directories ---- */
/* Tells that something in a directory has changed, so that one can look. Not what: the next change may have
 * come already. Reading is no change. */

struct io_watch {
    struct io *io; /* NULL: not open. */
    void *impl;
};
#define IO_NAME_MAX 255
struct io_change {
    unsigned dir; /* Which directory: see io_watch_add. */
    bool is_dir; /* What has the name is a directory, or was one. */
    bool lost; /* Too many at once: any directory may have changed. The rest says nothing then. */
    char name[IO_NAME_MAX + 1]; /* Made, removed, renamed from or to this, or written to. */
};
CD_MUST_USE int io_watch_open(struct io_watch *w, struct io *io);
/* From now on changes of names in the directory and of files in it are told, not those in directories below
 * it. *dir is its number in changes; the same again for a directory that is watched already, whatever its
 * name is by now. A directory that is removed ends being watched. IO_NOENT; IO_NOSPACE: the machine watches
 * enough. */
CD_MUST_USE int io_watch_add(struct io_watch *w, const char *path, unsigned *dir);
void io_watch_wait(struct io_watch *w, struct io_op *op, io_done_fn *done); /* Done when there is a change. */
bool io_watch_next(struct io_watch *w, struct io_change *out); /* Takes the next one. False: none is left. */
void io_watch_close(struct io_watch *w); /* No wait may be in flight. */

/* ---- Object store ---- */
/* fleet.md 3. A backend never retries a conditional write: its own first try would then answer as a foreign
 * winner. Plain writes are not sent twice here either, and reads only when a kept connection turned out to be
 * dead; src/store retries where it is safe. */

struct io_bucket; /* A bucket as one loop sees it, with its prefix and credentials. Opened by the backend's
                     set-up. */
struct io_bucket *io_bucket(struct io *io); /* The fleet bucket of this loop; NULL when the node has none. */

enum io_outcome {
    IO_DONE, /* Did it. */
    IO_REJECTED, /* Certainly did not and never will: IO_CONFLICT when the precondition failed, else not
                    committed. */
    IO_UNKNOWN, /* May have, or may yet. */
};
enum io_put { IO_PUT_ANY, IO_PUT_IF_ABSENT, IO_PUT_IF_MATCH };
/* Separate connections, so that none waits behind another: fleet.md 3.6. The embedded store, which has one
 * writer for all, takes from each in turn. */
enum io_lane { IO_LANE_DATA, IO_LANE_LOG, IO_LANE_LEASE, IO_LANE_CONTROL, IO_LANE_TELEMETRY, IO_LANE_COUNT };

#define IO_TOKEN_MAX 72
#define IO_KEY_MAX 1024
#define IO_LIST_MAX 1000
#define IO_WHOLE UINT64_MAX
#define IO_BODY_MAX (256u << 20) /* Of one put or get. */

struct io_store {
    struct io_op op;
    enum io_lane lane; /* In. */
    uint64_t timeout_ns; /* In: of this one attempt; 0 is 15 s. */
    char token[IO_TOKEN_MAX]; /* In: what IF_MATCH compares. Out: of what was read or written. Opaque,
                                 NUL-terminated. */
    enum io_outcome
        outcome; /* Out. Reads are DONE or REJECTED; a failed write is UNKNOWN unless proven otherwise. */
    struct cd_buf body; /* Out, of get; owned by the caller. Replaced, not appended to. */
    uint64_t size; /* Out, of get and head: of the whole object. */
    int64_t modified_ms; /* Out, of get and head. */
    int64_t date_ms; /* Out: the store's clock as its answer tells it, to the second; 0: it does not. */
    uint64_t retry_after_ns; /* Out: what the store asked for with IO_THROTTLED, or 0. */
    char why[200]; /* Out: for people, when not DONE; no secrets. */
};

/* Keys are UTF-8 without control characters, 1..IO_KEY_MAX bytes with the bucket's prefix; others are
 * CD_EINVAL (REJECTED). Bodies end at IO_BODY_MAX: IO_TOOBIG (REJECTED).
 *
 * Bytes from..from+len of the object (len 1 or more); IO_WHOLE as len: to its end. A range that starts at or
 * behind the end gives IO_EOF (REJECTED), but 0..IO_WHOLE of an empty object is IO_OK. IO_NOENT when absent.
 * Never more or other bytes than asked for: wrong answers are IO_PROTOCOL, cut ones IO_RESET. */
void io_store_get(struct io_store *s, struct io_bucket *b, struct cd_str key, uint64_t from, uint64_t len,
                  io_done_fn *done);
void io_store_head(struct io_store *s, struct io_bucket *b, struct cd_str key, io_done_fn *done);
/* DONE with the new token. IF_ABSENT/IF_MATCH: REJECTED with IO_CONFLICT when the condition failed (IF_MATCH
 * of an absent key too). */
void io_store_put(struct io_store *s, struct io_bucket *b, struct cd_str key, struct cd_str body,
                  enum io_put how, io_done_fn *done);
void io_store_delete(struct io_store *s, struct io_bucket *b, struct cd_str key,
                     io_done_fn *done); /* Absent is DONE. */

struct io_entry {
    struct cd_str key; /* With delimiter: may be a common prefix, ending in the delimiter. */
    uint64_t size;
    int64_t modified_ms;
    bool is_prefix;
};
struct io_list {
    struct io_op op;
    enum io_lane lane; /* In. */
    uint64_t timeout_ns; /* In; 0 is 15 s. */
    char delimiter; /* In: 0, or '/': group keys by their common prefix up to it. */
    struct io_entry
        *entry; /* Out: ascending by key, byte order; owned, freed by io_list_deinit or the next call. */
    unsigned count;
    bool more; /* Out: from the store's own truncation mark. The next page starts after the last entry. */
    struct cd_buf keys; /* Out, owned: what the entries borrow from. */
    char why[200];
};
/* Keys that start with prefix and are > after (empty: from the start), at most max (1..IO_LIST_MAX). With a
 * delimiter a common prefix counts as one entry, and is listed when it is > after itself. A page may be short
 * while more is true, but is not empty then. */
void io_store_list(struct io_list *l, struct io_bucket *b, struct cd_str prefix, struct cd_str after,
                   unsigned max, io_done_fn *done);
void io_list_deinit(struct io_list *l); /* io/store.c */

/* ---- Outbound HTTP ---- */
/* One request and its answer, bodies as chunks both ways. Redirects are not followed, bodies not decoded, no
 * proxy or cookie store is used; TLS certificates are verified. HTTP/2 is used where the server offers it (in
 * TLS), over one connection once there is one. No request waits for the answer of another or for its reader.
 */

#define IO_HTTP_NO_BODY 0u
#define IO_HTTP_CHUNKED UINT64_MAX

struct io_http {
    struct io *io; /* NULL: not open. */
    void *impl;
    int status; /* 200, ... once started. */
    struct cd_buf head; /* "Name: value\r\n"... of the answer, owned; freed by close. */
    char why[200]; /* For people, after an error. */
};
struct io_http_ask {
    struct cd_str method, url; /* Absolute http(s) URL. */
    struct cd_str head; /* "Name: value\r\n"...; without Host, Content-Length, Transfer-Encoding. */
    uint64_t body_len; /* IO_HTTP_NO_BODY, a length, or IO_HTTP_CHUNKED. */
    uint64_t connect_timeout_ns, total_timeout_ns; /* 0: 10 s; 0: none. */
};
/* Done when the answer's head is there; the request body may be written before and after that. All of ask is
 * copied. On an error nothing is to be closed. */
void io_http_start(struct io_http *h, struct io *io, const struct io_http_ask *ask, struct io_op *op,
                   io_done_fn *done);
/* One write at a time. CD_EINVAL when the bytes do not come out at the announced length, the request going on
 * as it was; IO_RESET when the answer is complete without them. A cancelled write breaks the request. */
void io_http_write(struct io_http *h, struct cd_str chunk, bool last, struct io_op *op, io_done_fn *done);
void io_http_read(struct io_http *h, struct io_read *r,
                  io_done_fn *done); /* IO_EOF at the end of the answer. */
void io_http_close(struct io_http *h, struct io_op *op, io_done_fn *done); /* Ends what is pending. */

/* ---- Child processes ---- */
/* In the simulator a child is a registered C function named like the program. */

enum {
    /* A process group of its own: signals of a terminal do not reach it, those of io_child_kill reach its own
     * children too. */
    IO_CHILD_GROUP = 1,
    /* It is killed when our process ends, in whatever way. Only for children that loop 0 starts. */
    IO_CHILD_TIED = 2,
    IO_CHILD_ERR = 4, /* Its standard error is the stream err; else it goes with ours. */
    /* argv[0] is our own program (io_process_program): it may be a copy of this process instead of a new one.
     */
    IO_CHILD_SELF = 8,
};

struct io_child {
    unsigned flags; /* In: IO_CHILD_*. */
    struct io_op
        exited; /* Done when the process has ended: IO_OK, or why it could not start (IO_NOENT, ...). */
    int code; /* Exit code, or 128 + signal. */
    struct io_stream in, out; /* Open from start on, for the caller to close. */
    struct io_stream err; /* The same with IO_CHILD_ERR; else not open. */
    void *impl;
};
/* argv[0] is looked up on PATH of env; env NULL is empty; both end with NULL. cwd NULL: ours. Copied. */
void io_child_start(struct io_child *c, struct io *io, const char *const argv[], const char *const env[],
                    const char *cwd, io_done_fn *exited);
/* Sends any signal: SIGTERM asks it to end, SIGKILL ends it, after SIGSTOP it stands still until SIGCONT. No
 * effect once it has ended. */
void io_child_kill(struct io_child *c, int signal);

/* ---- Console ---- */
/* Standard output and error of a command. Synchronous: a command has nothing to do meanwhile. A node that
 * serves writes events instead. */

enum io_console { IO_STDOUT = 1, IO_STDERR = 2 };

/* Writes all bytes or fails; part of them may be out then. IO_EOF: the reader has gone and wants no more.
 * IO_NOSPACE, IO_FAULT; CD_ECLOSED: we were started without that descriptor. */
CD_MUST_USE int io_console_write(struct io *io, enum io_console to, struct cd_str bytes);
bool io_console_is_tty(struct io *io, enum io_console which);
/* Opens standard input, where people type; s is the caller's to close. A terminal gives whole lines; reading
 * ends with an error when we are in its background. IO_NOENT: it is nothing that can be waited for, as a file
 * or /dev/null. */
CD_MUST_USE int io_console_input(struct io_stream *s, struct io *io);

/* ---- What this process uses of its machine ---- */

#define IO_ABSENT UINT64_MAX /* The system does not tell. */

/* All of one instant, bytes where nothing else is said. fleet.md 2.4, 4.10. */
struct io_usage {
    uint64_t rss;
    uint64_t slack; /* Of rss: free memory that the allocator has not given back. */
    uint64_t machine; /* IO_ABSENT: unknown. */
    /* Of the control group that bounds this process, or IO_ABSENT: none does. working_set is current without
     * what the system can drop at once. */
    uint64_t cgroup_limit, cgroup_current, cgroup_working_set;
    uint64_t cpu_us; /* CPU time of all threads since the process began. */
    uint64_t fds, fd_limit; /* Open descriptors, and how many there may be. */
};
/* Synchronous; about 0.1 ms: for once a second, on the control loop. */
void io_usage_read(struct io *io, struct io_usage *out);
/* Gives the slack back to the system, as far as it is whole pages. Synchronous, and tens of milliseconds with
 * a large heap, in which nobody allocates: for when memory is short. */
void io_usage_trim(struct io *io);

/* ---- Mailbox between loops of a node ---- */
/* FIFO per pair of loops, no order across pairs, never lost while the node lives. */

struct io_msg {
    void *link[2]; /* The backend's. */
    void (*handle)(struct io *at, struct io_msg *m);
};
void io_post(struct io *from, unsigned to_loop, struct io_msg *m); /* The receiver owns m from now on. */

#endif
