/* io_sim/io_sim.h: the simulator behind src/io/io.h, for tests and for celld-sim. simulation.md 3, 4, 9.
 *
 * One struct sim is one run: nodes, clients, networks, disks and clocks in one thread and virtual time. The
 * same seed, options and calls give the same run, byte for byte. sim_step fires one event: the earliest one
 * sets the time and io_current(), its callback runs to the end, then the fibers it woke, then the hooks.
 * Nothing runs outside of sim_step, and nothing here blocks.
 *
 * Times are nanoseconds since the start of the run unless a name says otherwise; rates are parts per million
 * (ppm), 0 is never and 1000000 always. Pointers to nodes are good until sim_free; a struct io is good for
 * one life of its node. */
#ifndef IO_SIM_IO_SIM_H
#define IO_SIM_IO_SIM_H

#include "io/io.h"

struct sim;
struct sim_node;

/* ---- A run ---- */

enum sim_policy {
    SIM_FIFO, /* Ties in the order of submission, nothing late. */
    SIM_RANDOM, /* Each event late by 0..slack, ties at random. */
    SIM_PCT, /* Random priorities per actor, changed at pct_points random events: late by rank. */
};

struct sim_opts {
    uint64_t seed;
    enum sim_policy policy;
    uint64_t slack_ns; /* How late an event may run. SIM_FIFO ignores it. */
    unsigned pct_points; /* Of SIM_PCT; 0: 3. */
    uint64_t pct_horizon; /* The change points lie within this many events; 0: 100000. */
    int64_t wall_ms; /* Wall clock at the start; 0: 2026-01-01T00:00:00Z. */
    /* What is left of a node that does not unwind, or after it (simulation.md 4). Does not return. NULL:
     * printed to stderr, then the process aborts. */
    void (*leak)(void *arg, const char *node, const char *report);
    void *leak_arg;
};

struct sim *sim_new(const struct sim_opts *opts); /* NULL: seed 1, SIM_FIFO. */
/* Freezes every node, lets all unwind, asserts that nothing is left (and says what by name), frees the run.
 */
void sim_free(struct sim *sim);

bool sim_step(struct sim *sim); /* Fires one event. False: none is scheduled. */
/* Steps until holds(arg), asked before each event. False: limit_ns more of virtual time passed, or nothing is
 * left to do. Time stands at the limit in the first case. */
bool sim_run_until(struct sim *sim, bool (*holds)(void *arg), void *arg, uint64_t limit_ns);
void sim_run_for(struct sim *sim, uint64_t ns); /* All events up to now + ns; time stands there afterwards. */

uint64_t sim_now_ns(const struct sim *sim);
uint64_t sim_seed(const struct sim *sim);
uint64_t sim_events(const struct sim *sim); /* Fired so far. The next one has the number sim_events() + 1. */
struct sim *sim_of(struct io *io);

/* Runs fn(arg) after after_ns as an event outside of all nodes, for plans of faults and workloads.
 * What is not due before sim_free never runs. */
void sim_at(struct sim *sim, uint64_t after_ns, void (*fn)(struct sim *sim, void *arg), void *arg);

/* ---- Randomness ---- */

/* A stream of the run by purpose ("swarm", "plan"). Draws of one never shift another's. */
struct cd_rng;
void sim_rng(const struct sim *sim, const char *purpose, struct cd_rng *out);
/* A micro-draw: a hash of (seed, purpose, what, ordinal), so that no other draw shifts it. */
uint64_t sim_draw(const struct sim *sim, const char *purpose, uint64_t what, uint64_t ordinal);

/* ---- Nodes ---- */

/* What runs on each loop. Both are called as events of that loop. */
struct sim_program {
    void (*boot)(struct io *io, void *arg); /* First event of a life. May be NULL. */
    void (*unwind)(struct io *io,
                   void *arg); /* At a freeze, after all pending ops were failed: free what no op holds. */
    void *arg;
    /* At once when the loop freezes, even inside a call of its own code: notes it, stops what must not run
     * on, and leaves all else to unwind. May be NULL. */
    void (*freeze)(struct io *io, void *arg);
};

struct sim_node_opts {
    const char *name; /* Its host name too; copied. */
    unsigned loops; /* The control loop and the shards; 0: 1. */
    struct sim_program program;
    bool client; /* An actor outside of the fleet: not subject to disk faults, shown as such in traces. */
};

/* Adds a node and starts its first life: its loops are up at once, boot comes as an event. */
struct sim_node *sim_node(struct sim *sim, const struct sim_node_opts *opts);
struct sim_node *sim_node_find(struct sim *sim, const char *name); /* NULL when there is none. */
/* The pseudo-nodes of links: the bucket, and the hosts of scripted HTTP peers. They have no loops and cannot
 * crash. */
struct sim_node *sim_store_node(struct sim *sim);
struct sim_node *sim_world_node(struct sim *sim);
struct sim_node *sim_node_of(struct io *io);
const char *sim_node_name(const struct sim_node *n);
unsigned sim_node_id(const struct sim_node *n); /* 0 store, 1 world, then in order of creation. */
unsigned sim_node_lives(const struct sim_node *n); /* 1 in its first life. */
struct io *sim_io(struct sim_node *n, unsigned loop); /* NULL when the node is dead. */
/* Runs fn(io, arg) as an event of that loop. Not called when the node dies first. */
void sim_in_loop(struct sim_node *n, unsigned loop, void (*fn)(struct io *io, void *arg), void *arg);

enum sim_life {
    SIM_UP,
    SIM_DYING, /* Frozen; its code unwinds. */
    SIM_DEAD, /* Nothing is left of that life. */
};
enum sim_life sim_node_life(const struct sim_node *n);

enum sim_crash {
    SIM_KILL, /* The process ends: the page cache stays, the kernel closes its connections (end of stream or
                 reset). */
    SIM_POWER, /* The machine stops: unsynced writes and names are kept, dropped or torn; peers hear nothing.
                */
};
/* Freezes the node at once: nothing it does from now on has any effect, every pending and later op fails. Its
 * life ends (SIM_DEAD) once ops, fibers, files and streams are gone, which must be within SIM_UNWIND_EVENTS
 * events of the node, else the run stops with a report of what is left. Bytes and requests on the wire keep
 * travelling. No effect on a node that is not up. */
#define SIM_UNWIND_EVENTS 200000u
void sim_crash(struct sim_node *n, enum sim_crash how);
/* As sim_crash, then steps the run until the node is dead. */
void sim_crash_wait(struct sim_node *n, enum sim_crash how);
/* A new life over the same disk, or (wipe) an empty one. The node must be dead. */
void sim_restart(struct sim_node *n, bool wipe);
void sim_restart_with(struct sim_node *n, bool wipe,
                      const struct sim_program *program); /* Another version of the program. */
/* Its loops stand still for ns; timers come late afterwards, io_now_ns has run on. Adds to a pause in
 * progress. */
void sim_pause(struct sim_node *n, uint64_t ns);
/* What its machine says of memory, CPU time and descriptors (io_usage_read): fn changes what is in usage, a
 * machine of 8 GiB without a control group, of which the process has 64 MiB. NULL: that. */
void sim_on_usage(struct sim_node *n, void (*fn)(void *arg, struct io_usage *usage), void *arg);
/* What is left of the current life: "op net.read serial 17", "fiber takeover awaits op 9", "file /d/x",
 * "stream ...". Returns the count; report may be NULL. */
size_t sim_left(struct sim_node *n, struct cd_buf *report);

/* ---- The k-th call ---- */

enum sim_action { SIM_FAIL, SIM_DIE_KILL, SIM_DIE_POWER };
/* From now on the k-th (1 is the next) io call of n that matches pattern fails with status (SIM_FAIL), or the
 * node dies in it and the call fails. pattern: "any", a group ("file"), or a call ("file.sync"). Only calls
 * that can fail are counted: no close, timer, clock, random, mailbox. *hit (may be NULL) is set when it
 * happens. One per node; the newer one replaces the older; k 0 disarms. False: unknown pattern. */
CD_MUST_USE bool sim_at_call(struct sim_node *n, const char *pattern, uint64_t k, enum sim_action action,
                             int status, bool *hit);
uint64_t sim_calls(const struct sim_node *n, const char *pattern); /* Made so far, over all lives. */

/* Fails the n-th io call of the body for n = 1, 2, ... until the body runs through untouched:
 *     FOR_EACH_FAULT(sweep) { ... sim_sweep_arm(&sweep, node); ...; sim_free(sim); } */
struct sim_sweep {
    uint64_t at;
    bool armed, hit;
    int status; /* 0: IO_FAULT. */
};
bool sim_sweep_next(struct sim_sweep *s);
void sim_sweep_arm(struct sim_sweep *s, struct sim_node *n);
/* NOLINTNEXTLINE(bugprone-macro-parentheses): name is declared here. */
#define FOR_EACH_FAULT(name) for (struct sim_sweep name = {0}; sim_sweep_next(&name);)

/* ---- Clock ---- */

void sim_clock_step(struct sim_node *n, int64_t wall_ms); /* The wall clock jumps by so much. */
void sim_clock_drift(struct sim_node *n,
                     int32_t ppm); /* Both clocks of the node run fast (> 0) or slow; |ppm| < 10^6. */

/* ---- Network ---- */

/* One direction between two nodes. Zeroed: 0 delay, no limit, no faults. */
struct sim_link {
    uint64_t delay_ns, jitter_ns; /* Each arrival takes delay + 0..jitter. */
    uint64_t bytes_per_s; /* 0: without limit. */
    uint32_t window; /* Bytes in flight and unread before writers wait; 0: 64 KiB. */
    uint32_t loss_ppm; /* Per write: late by retransmissions; lost six times in a row: reset. */
    uint32_t split_ppm; /* Per read: a random prefix of what is there. */
    uint32_t refuse_ppm; /* Per connect. */
    uint32_t reset_ppm; /* Per write: a prefix is delivered, then both ends see a reset. */
    uint32_t half_open_ppm; /* Per connection: from a random byte on, this direction is a hole. */
    uint32_t slow_ppm; /* Per connection: a slow reader, slow_ns per read of at most 1 KiB. */
    uint64_t slow_ns; /* 0: 50 ms. */
    uint64_t give_up_ns; /* Undelivered for so long: the sender sees a reset; connects end. 0: 15 s. */
};
/* NULL as from or to: any node; the most special setting wins. Links of a node to itself are only set by
 * name. */
void sim_link_set(struct sim *sim, struct sim_node *from, struct sim_node *to, const struct sim_link *link);
void sim_link_get(struct sim *sim, struct sim_node *from, struct sim_node *to, struct sim_link *out);
/* Nothing passes from one node to the other until the heal; what was sent arrives after it unless its sender
 * gave up. */
void sim_cut(struct sim *sim, struct sim_node *from, struct sim_node *to);
void sim_cut_both(struct sim *sim, struct sim_node *a, struct sim_node *b);
void sim_heal(struct sim *sim, struct sim_node *from, struct sim_node *to);
void sim_heal_both(struct sim *sim, struct sim_node *a, struct sim_node *b);
void sim_heal_all(struct sim *sim); /* Cuts and clogs; link settings stay. */
/* Holds what arrives for ns, then delivers all in a burst. Nobody gives up because of it. */
void sim_clog(struct sim *sim, struct sim_node *from, struct sim_node *to, uint64_t ns);
/* Clogs all links of n one by one over ns, and frees them in another order. */
void sim_swizzle(struct sim_node *n, uint64_t ns);
/* Resets all connections between the two, now. Returns how many. */
unsigned sim_reset(struct sim *sim, struct sim_node *a, struct sim_node *b);

/* ---- Disk ---- */

struct sim_disk {
    uint64_t capacity; /* Bytes; 0: without limit. */
    uint64_t read_ns, write_ns, sync_ns; /* Latency per call: the loop is busy until then. */
    uint64_t sync_jitter_ns;
    uint32_t read_fail_ppm, write_fail_ppm; /* IO_FAULT; of a failed write any prefix may have been done. */
    uint32_t sync_fail_ppm; /* IO_FAULT, and what was not synced is gone for good, or part of it. */
    uint32_t stuck_ppm; /* Per sync: takes stuck_ns instead. */
    uint64_t stuck_ns; /* 0: 5 s. */
    /* Weights of the three fates of an unsynced write at SIM_POWER; all 0: 1, 1, 1. Names know the first two.
     */
    uint32_t keep, drop, tear;
};
void sim_disk_set(struct sim_node *n, const struct sim_disk *disk);
void sim_disk_get(const struct sim_node *n, struct sim_disk *out);
void sim_disk_full(struct sim_node *n, bool on); /* Writes that grow files fail with IO_NOSPACE. */
/* The next syncs of files whose path starts with prefix fail as with sync_fail_ppm. */
void sim_disk_fail_syncs(struct sim_node *n, const char *prefix, unsigned count);
/* Reads of files whose path starts with prefix flip one bit at this rate (opt-in, for files with checksums).
 */
void sim_disk_flip(struct sim_node *n, const char *prefix, uint32_t ppm);
/* Flips a bit of a stored file for good, durable image included. False: no such byte. */
CD_MUST_USE bool sim_disk_rot(struct sim_node *n, const char *path, uint64_t at, unsigned bit);
/* The truth, for checkers: what a power loss now could not take away. IO_NOENT when no durable name leads
 * there. */
CD_MUST_USE int sim_disk_durable(struct sim_node *n, const char *path, struct cd_buf *out);
/* The names in a directory that a power loss now could not take away, ascending. */
void sim_disk_names(struct sim_node *n, const char *dir, void (*each)(void *arg, const char *name),
                    void *arg);
/* What programs see now, without a call that counts or can fail. IO_NOENT. */
CD_MUST_USE int sim_disk_now(struct sim_node *n, const char *path, struct cd_buf *out);
/* A copy of what the disk shows now; sim_disk_restore puts it back (node dead). For restarts with an old
 * disk. */
struct sim_image;
struct sim_image *sim_disk_copy(struct sim_node *n);
void sim_disk_restore(struct sim_node *n, const struct sim_image *image);
void sim_image_free(struct sim_image *image);
uint64_t sim_disk_used(struct sim_node *n);
/* Ready-made content, durable at once; parent directories are made. For fixtures. */
void sim_disk_put(struct sim_node *n, const char *path, struct cd_str bytes);

/* ---- Scripted HTTP peers and child programs ---- */

struct sim_http; /* One request at a peer. */
struct sim_http_peer {
    /* The head of a request is there. */
    void (*request)(void *arg, struct sim_http *x, struct cd_str method, struct cd_str url,
                    struct cd_str head);
    /* A piece of its body; last also with an empty piece. May be NULL. */
    void (*body)(void *arg, struct sim_http *x, struct cd_str piece, bool last);
    /* The asking side is gone; x is not used afterwards. May be NULL. */
    void (*gone)(void *arg, struct sim_http *x);
    void *arg;
};
/* Requests to URLs of this host ("api.example", without port) go to the peer. Hosts without a peer that are
 * nodes of the run are reached by HTTP/1.1 over their listeners; others do not exist (IO_NOENT). Faults come
 * from the link between the node and sim_world_node(). */
void sim_http_peer(struct sim *sim, const char *host, const struct sim_http_peer *peer);
/* Answers, in the peer's callbacks or later (sim_at). After the last chunk, a reset or gone, x is not used
 * any more. */
void sim_http_head(struct sim_http *x, int status, struct cd_str head);
void sim_http_chunk(struct sim_http *x, struct cd_str bytes, bool last);
void sim_http_reset(struct sim_http *x);
void *sim_http_user(struct sim_http *x); /* A pointer for the peer, NULL at first. */
void sim_http_set_user(struct sim_http *x, void *user);

/* A program, in /bin: runs in a fiber of its own loop; argv and env are good until it returns; returns the
 * exit code. in, out and err are closed for it. Killed: every await of it fails. */
struct sim_child {
    struct io *io;
    int argc;
    const char *const *argv, *const *env;
    const char *cwd;
    struct io_stream *in, *out;
    struct io_stream
        *err; /* NULL unless the parent asked for it: then io_console_write goes with the parent's. */
    void *arg;
};
void sim_child_program(struct sim *sim, const char *name, int (*run)(struct sim_child *c), void *arg);
/* What goes wrong with its processes, each by a draw per process. */
struct sim_child_fault {
    uint32_t crash_ppm; /* Ends at once with code 139. */
    uint32_t hang_ppm; /* Does nothing until it is killed. */
    uint32_t garbage_ppm; /* Writes random bytes before it begins. */
    uint32_t slow_ppm; /* Begins a second late. */
};
void sim_child_fault(struct sim *sim, const char *name, const struct sim_child_fault *fault);

/* ---- Looking on ---- */

/* What happened, one per event and per file call. text fields are good for the call only. */
struct sim_record {
    uint64_t event; /* Number of the event it belongs to. */
    uint64_t at_ns;
    const struct sim_node *node; /* NULL: none (plans). */
    unsigned loop;
    const char *kind; /* "net.read", "file.sync", "timer", ... */
    uint64_t serial; /* Of the op in its loop, or of the call. */
    int status;
    uint64_t len, digest;
    const char *note; /* A path, a peer, a fault; may be NULL. */
};
/* Called after the event's callback and fibers. Hooks are called in the order of their making and live until
 * sim_free. */
void sim_on_event(struct sim *sim, void (*fn)(void *arg, const struct sim_record *r), void *arg);
/* Every record, file calls too, as it happens: for traces. */
void sim_on_record(struct sim *sim, void (*fn)(void *arg, const struct sim_record *r), void *arg);
void sim_record_text(struct cd_buf *out, const struct sim_record *r); /* One line with its line break. */
void sim_record_json(struct cd_buf *out, const struct sim_record *r);
/* Bytes on their way out of a node, at the moment of the write (the output gate's checker). */
void sim_on_send(struct sim *sim,
                 void (*fn)(void *arg, struct sim_node *from, struct sim_node *to, struct cd_str bytes),
                 void *arg);

uint64_t sim_hash(const struct sim *sim); /* Of all records so far. */
#define SIM_CHECKPOINT_EVENTS 10000u
/* The hash after each 10,000 events. */
const uint64_t *sim_checkpoints(const struct sim *sim, size_t *count);

struct sim_log {
    const struct sim_node *node;
    unsigned loop;
    enum cd_level level;
    const char *target, *name;
    const struct cd_field *fields;
    size_t count;
    int64_t wall_us;
};
void sim_on_log(struct sim *sim, void (*fn)(void *arg, const struct sim_log *log), void *arg); /* io_event. */
void sim_log_level(struct sim *sim, enum cd_level most); /* What io_event_wanted allows; CD_INFO at first. */

uint64_t sim_marks(const struct sim *sim, const char *name); /* How often io_mark(name) came. */
void sim_marks_each(const struct sim *sim, void (*each)(void *arg, const char *name, uint64_t count),
                    void *arg);

/* OpenSSL's generator draws from the run from now on; without a run in the process its calls fail.
 * io_sim/entropy.c */
void sim_entropy_install(struct sim *sim);

#endif
