/* io_sim/sim_internal.h: what the parts of io_sim share. Users include io_sim.h.
 *
 * How an operation of io.h is made here:
 *
 *     struct sim_event *e = sim_op_begin(op, io, done, SIM_NET_READ);
 *     if (e == NULL)
 *         return; // Failed already: the node is frozen, or sim_at_call struck. done comes.
 *     ... the op is busy, e is parked ... later, in any event:
 *     sim_op_finish(e, status, delay_ns); // done comes as an event of the loop
 *
 * e->drop, when set, is called when the op is cancelled or the node freezes while e is parked or scheduled:
 * it takes e out of whatever waits for it. What a part does in the name of the outside world (bytes on a
 * wire, a request at the store) is an event of its own actor (sim_schedule) and does not die with the node.
 */
#ifndef IO_SIM_INTERNAL_H
#define IO_SIM_INTERNAL_H

#include "base/list.h"
#include "base/map.h"
#include "base/rng.h"
#include "io/backend.h"
#include "io_sim/io_sim.h"

/* Kinds of events and calls: name in traces, whether sim_at_call counts it. */
#define SIM_KINDS(X)                                                                                         \
    X(SIM_PLAN, "plan", false)                                                                               \
    X(SIM_RUN, "run", false)                                                                                 \
    X(SIM_WAKE, "wake", false)                                                                               \
    X(SIM_DEFER, "defer", false)                                                                             \
    X(SIM_TIMER, "timer", false)                                                                             \
    X(SIM_POST, "post", false)                                                                               \
    X(SIM_LOG, "log", false)                                                                                 \
    X(SIM_CRASHED, "crash", false)                                                                           \
    X(SIM_WIRE, "wire", false)                                                                               \
    X(SIM_NET_LISTEN, "net.listen", true)                                                                    \
    X(SIM_NET_ACCEPT, "net.accept", true)                                                                    \
    X(SIM_NET_CONNECT, "net.connect", true)                                                                  \
    X(SIM_NET_READ, "net.read", true)                                                                        \
    X(SIM_NET_WRITE, "net.write", true)                                                                      \
    X(SIM_NET_FINISH, "net.finish", true)                                                                    \
    X(SIM_NET_CLOSE, "net.close", false)                                                                     \
    X(SIM_FILE_OPEN, "file.open", true)                                                                      \
    X(SIM_FILE_READ, "file.read", true)                                                                      \
    X(SIM_FILE_WRITE, "file.write", true)                                                                    \
    X(SIM_FILE_TRUNCATE, "file.truncate", true)                                                              \
    X(SIM_FILE_SIZE, "file.size", true)                                                                      \
    X(SIM_FILE_SYNC, "file.sync", true)                                                                      \
    X(SIM_FILE_CLOSE, "file.close", false)                                                                   \
    X(SIM_PATH_STAT, "path.stat", true)                                                                      \
    X(SIM_PATH_MKDIR, "path.mkdir", true)                                                                    \
    X(SIM_PATH_RENAME, "path.rename", true)                                                                  \
    X(SIM_PATH_REMOVE, "path.remove", true)                                                                  \
    X(SIM_PATH_SYNC, "path.sync", true)                                                                      \
    X(SIM_PATH_LIST, "path.list", true)                                                                      \
    X(SIM_STORE_GET, "store.get", true)                                                                      \
    X(SIM_STORE_HEAD, "store.head", true)                                                                    \
    X(SIM_STORE_PUT, "store.put", true)                                                                      \
    X(SIM_STORE_DELETE, "store.delete", true)                                                                \
    X(SIM_STORE_LIST, "store.list", true)                                                                    \
    X(SIM_STORE_WIRE, "store.wire", false)                                                                   \
    X(SIM_HTTP_START, "http.start", true)                                                                    \
    X(SIM_HTTP_WRITE, "http.write", true)                                                                    \
    X(SIM_HTTP_READ, "http.read", true)                                                                      \
    X(SIM_HTTP_CLOSE, "http.close", false)                                                                   \
    X(SIM_CHILD_START, "child.start", true)                                                                  \
    X(SIM_CHILD_EXIT, "child.exit", false)                                                                   \
    X(SIM_WATCH_OPEN, "watch.open", true)                                                                    \
    X(SIM_WATCH_ADD, "watch.add", true)                                                                      \
    X(SIM_WATCH_WAIT, "watch.wait", true)

enum sim_kind {
#define X(id, name, counted) id,
    SIM_KINDS(X)
#undef X
        SIM_KIND_COUNT
};
const char *sim_kind_name(enum sim_kind kind);

/* ---- Actors and events ---- */

/* Whoever events happen to: a loop, the network, the store, the plan. Events of one actor never overlap. */
struct sim_actor {
    uint64_t id; /* Hash of its name: stable when other actors come or go. */
    uint64_t ordinal; /* Events scheduled so far: numbers its micro-draws. */
    uint64_t free_at_ns; /* Busy (charged latency) or paused until then: its events wait. */
    uint64_t rank; /* Of SIM_PCT, 0..1023: 0 runs first. */
    struct sim_node *node; /* NULL: none. */
    struct sim_loop *loop; /* NULL: no loop; else its events run inside of it. */
    unsigned scheduled; /* Of its events: in the heap. */
    struct cd_list events; /* All of them (sim_event.all), parked ones too, in the order of their making. */
};
void sim_actor_init(struct sim *sim, struct sim_actor *a, const char *name);
void sim_actor_deinit(struct sim *sim, struct sim_actor *a); /* Frees its events. */

#define SIM_PARKED UINT32_MAX

struct sim_event;
typedef void sim_fire_fn(struct sim *sim, struct sim_event *e);

struct sim_event {
    uint64_t at_ns, tie, serial;
    uint32_t index; /* In the heap, or SIM_PARKED. */
    enum sim_kind kind;
    struct sim_actor *actor;
    sim_fire_fn *fire;
    struct cd_link all; /* Of sim_actor.events. */
    /* Of ops. */
    struct io_op *op;
    int status;
    void (*drop)(struct sim *sim, struct sim_event *e); /* See above. */
    void (*ended)(struct sim *sim, struct sim_event *e); /* Just before done, whatever the outcome. */
    void *lent; /* Of a read that was lent its bytes: where they are. */
    bool closing; /* Neither cancel nor freeze changes its outcome; a freeze calls drop. */
    bool settled; /* Its outcome is decided; cancel comes too late. */
    /* The part's own. */
    struct cd_link link;
    void *owner;
    void (*fn)(void); /* Cast to what it is by fire. */
    uint64_t num;
};

/* From a pool; zeroed, parked. */
struct sim_event *sim_event_new(struct sim *sim, struct sim_actor *a, enum sim_kind kind, sim_fire_fn *fire);
void sim_event_free(struct sim *sim, struct sim_event *e); /* Takes it out of the heap when scheduled. */
/* At the earliest after delay_ns; the policy may make it later. Replaces an earlier schedule. An event that
 * fires is parked again: fire frees it, schedules it anew, or keeps it. While it fires, sim->record is its
 * record: fire may set status, len, digest and note there. */
void sim_schedule(struct sim *sim, struct sim_event *e, uint64_t delay_ns);
void sim_unschedule(struct sim *sim, struct sim_event *e);
/* The actor does nothing for ns more: what a synchronous call costs. */
void sim_charge(struct sim *sim, struct sim_actor *a, uint64_t ns);
/* From now on nothing happens to it, until sim_actor_continue: then what was due meanwhile is due at once. */
void sim_actor_stop(struct sim_actor *a);
void sim_actor_continue(struct sim *sim, struct sim_actor *a); /* No effect on one that was not stopped. */

/* ---- Loops and nodes ---- */

struct sim_queue { /* Messages from one loop to another. */
    struct io_msg *first, *last;
};

struct sim_loop {
    struct io io; /* First: a struct io * is a struct sim_loop *. */
    struct sim *sim;
    struct sim_node *node;
    unsigned index;
    struct sim_actor actor;
    bool frozen; /* Nothing it does has an effect; ops fail. */
    bool booted, unwound; /* The program's calls were made. */
    bool waking; /* A SIM_WAKE event is scheduled. */
    unsigned ops; /* In flight, but for signal waits. */
    struct cd_rng random[IO_RAND_COUNT];
    struct cd_list files, streams, listeners, https, children, watches; /* Open: file.c, net.c, ... */
    struct sim_queue *inbox; /* One per sending loop. */
    uint64_t calls; /* Serial of synchronous calls. */
    struct io_bucket *bucket; /* Of store.c; freed by bucket_free when the life ends. */
    void (*bucket_free)(struct sim_loop *loop);
    char **lent; /* What is freed at the end of the event. */
};

static inline struct sim_loop *sim_loop_of(struct io *io)
{
    return (struct sim_loop *)(void *)io;
}

struct sim_trigger { /* Of sim_at_call. */
    unsigned char match[SIM_KIND_COUNT];
    uint64_t left; /* 0: disarmed. */
    enum sim_action action;
    int status;
    bool *hit;
};

struct sim_console { /* Of console.c. */
    struct cd_buf text;
    uint64_t fail_after;
    int fail; /* 0: writes succeed. */
    bool tty;
};

struct sim_fs; /* disk.c: what is on a disk. */
struct sim_net; /* net.c */

struct sim_node {
    struct sim *sim;
    char *name; /* owned */
    unsigned id, life;
    bool client, pseudo;
    enum sim_life state;
    enum sim_crash how;
    uint64_t unwound; /* Events since the freeze. */
    struct sim_program program;
    struct sim_loop **loop; /* owned; NULL when dead */
    unsigned loops;
    struct sim_trigger trigger;
    uint64_t call_count[SIM_KIND_COUNT];
    /* Clock: local = local_ref + (now - true_ref) * (1 + ppm / 10^6). */
    uint64_t true_ref_ns, local_ref_ns, paused_until_ns;
    int64_t wall_offset_ns;
    int32_t drift_ppm;
    void (*usage)(void *arg, struct io_usage *usage); /* Of sim_on_usage. */
    void *usage_arg;
    struct sim_console console[2]; /* Output, error; kept over lives. */
    struct io_stream *keyboard; /* Of sim_console_keyboard. */
    struct sim_fs *fs; /* owned; made on first use */
    struct sim_disk disk;
    bool disk_full;
    uint16_t next_port;
    uint64_t connects; /* Numbers its connections. */
    struct sim_node *parent; /* Of a child process. */
    void (*dead)(struct sim_node *n); /* Called at the end of a life; may be NULL. */
    void *dead_arg;
    struct cd_link link; /* Of sim.nodes. */
};

struct sim_heap_slot {
    uint64_t at_ns, tie;
    struct sim_event *event;
};

struct sim_hook {
    void (*fn)(void);
    void *arg;
};
struct sim_hooks {
    struct sim_hook *hook; /* owned */
    unsigned count;
};

struct sim {
    struct sim_opts opts;
    uint64_t now_ns, events, next_serial, next_tie, hash;
    struct sim_heap_slot *heap; /* owned */
    uint32_t heap_len, heap_cap;
    struct cd_list pool; /* Free events (sim_event.link). */
    struct cd_list blocks; /* What the pool is made of. */
    struct cd_list nodes;
    struct sim_actor plan, wire; /* Faults and workloads; the network with the kernels at its ends. */
    struct sim_actor store_actor;
    struct sim_node *store_node, *world_node;
    struct cd_map node_by_name;
    unsigned next_node_id;
    struct cd_map marks; /* name -> struct sim_mark * */
    uint64_t *checkpoint;
    size_t checkpoints, checkpoints_cap;
    struct sim_hooks on_event, on_record, on_send, on_log;
    enum cd_level log_level;
    uint64_t *pct_at; /* owned; Events before which a priority changes, ascending. */
    unsigned pct_next, pct_count;
    uint64_t schedule_label;
    struct sim_net *net; /* net.c */
    struct sim_store *store; /* store.c: made by it on first use, freed through store_free. */
    void (*store_free)(struct sim *sim);
    void (*entropy_free)(struct sim *sim); /* entropy.c, when it is installed. */
    struct sim_peers *peers; /* http.c, child.c */
    struct sim_record record; /* Of the event that fires. */
    char note[256]; /* Its note, where the text does not outlive the event. */
    enum sim_kind record_kind;
    bool ending; /* In sim_free. */
};

/* ---- Operations ---- */

/* Counts the call. 0, or the status it has to fail with: the node is frozen, or sim_at_call struck (then it
 * may be frozen now). For calls without an op. */
CD_MUST_USE int sim_call(struct sim_loop *loop, enum sim_kind kind);
/* For calls with one: begins it. NULL: it fails already (done comes later); the caller returns. */
struct sim_event *sim_op_begin(struct io_op *op, struct io *io, io_done_fn *done, enum sim_kind kind);
/* The same for closing ops: never NULL, never failed. */
struct sim_event *sim_op_begin_closing(struct io_op *op, struct io *io, io_done_fn *done, enum sim_kind kind);
/* Decides the outcome: done comes as an event of the loop after delay_ns. Once per op; ignored when already
 * settled. Afterwards the part may replace e->fire for work at that moment, which ends with sim_op_done. */
void sim_op_finish(struct sim_event *e, int status, uint64_t delay_ns);
/* In fire: frees e and completes the op. Nothing of the op may be touched afterwards. */
void sim_op_done(struct sim *sim, struct sim_event *e, int status);

/* A record outside of events: synchronous calls. Mixed into the hash. */
void sim_note(struct sim_loop *loop, enum sim_kind kind, int status, const void *bytes, uint64_t len,
              const char *note);

/* Reads: begin forgets what the last one lent; give copies the bytes to the op's buffer, or lends them (slot
 * owns). After give, the event's lent is set to r->buf when r->lent. */
void sim_read_begin(struct io_read *r, char **slot);
void sim_read_give(struct sim_loop *loop, struct io_read *r, char **slot, const char *bytes, size_t len);
void sim_sent(struct sim *sim, struct sim_node *from, struct sim_node *to,
              struct cd_str bytes); /* sim_on_send. */

/* ---- Wires ---- */

enum sim_transit { SIM_ARRIVES, SIM_CLOGGED, SIM_CUT };
/* How one message from a node to another fares that is not part of a stream (requests of the store): when it
 * would arrive (delay_ns from now, loss as delay), and whether the link is cut or clogged now. ordinal
 * numbers it for its draws. */
enum sim_transit sim_transit(struct sim *sim, struct sim_node *from, struct sim_node *to, uint64_t bytes,
                             uint64_t ordinal, uint64_t *delay_ns);
/* Parks e until from -> to is free; it is then scheduled at once. Its link and owner are used meanwhile. */
void sim_wait_link(struct sim *sim, struct sim_node *from, struct sim_node *to, struct sim_event *e);

/* ---- Draws ---- */

uint64_t sim_mix(uint64_t a, uint64_t b); /* One round of a hash of two numbers. */
uint64_t sim_label(const struct sim *sim,
                   const char *purpose); /* (seed, purpose), to be mixed with the rest. */
/* Of a hashed draw: whether ppm strikes; a number below n. Different bits of the same draw may be used once
 * each. */
static inline bool sim_strikes(uint64_t draw, uint32_t ppm)
{
    return ppm != 0 && draw % 1000000u < ppm;
}

void sim_console_free(struct sim_node *n); /* console.c */

#endif
