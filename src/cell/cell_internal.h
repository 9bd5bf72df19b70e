/* cell/cell_internal.h: what the files of src/cell share: the structs of cells, wires and shards. */
#ifndef CELL_CELL_INTERNAL_H
#define CELL_CELL_INTERNAL_H

#include "base/map.h"
#include "cell/id.h"
#include "cell/machine.h"
#include "cell/pace.h"
#include "cell/tunnel_frame.h"
#include "db/db.h"
#include "db/storage.h"
#include "fleet/claim.h"
#include "log/feed.h"
#include "log/fold.h"
#include "log/restore.h"

/* ---- Wires (wire.c, route.c) ---- */

enum cell_message_kind { CELL_MESSAGE_BYTES, CELL_MESSAGE_STARTED, CELL_MESSAGE_CREDIT, CELL_MESSAGE_CLOSE };

/* On its way between two ends, waiting at the receiver, or behind the sender's gate. */
struct cell_message {
    struct io_msg msg;
    struct cell_held held;
    struct cd_link link; /* In wire.in or wire.out. */
    struct cell_wire *wire; /* The end it goes to; while it is held, the end it comes from. */
    enum cell_message_kind kind;
    const struct fleet_authority *authority; /* Of the cell that sent it; NULL: none did. */
    bool again; /* It was taken before: the sender has its credit. */
    size_t credit; /* Of a credit: so much was taken. */
    bool overloaded, retryable, reset; /* Of a close, with: */
    enum cell_refusal refusal;
    struct cd_buf bytes; /* owned; of a close: the text */
};

/* One end. It is freed when its user gave it up and each end has said its last word to the other: messages of
 * a pair of loops keep their order, so nothing names it any more. */
struct cell_wire {
    struct io *io;
    struct cell_wire *peer; /* A name for messages; never followed here. */
    unsigned peer_loop;
    bool user_gone, close_sent, close_seen, busy; /* busy: on the stack of pump. */
    bool is_cells; /* The cell's end; else the caller's. */
    bool stale; /* What came was too late: the node had no authority any more. */
    bool activate; /* Of cell_target. */
    bool parked, counted; /* counted: it takes one of the cell's requests. */
    const struct cell_wire_hooks *hooks;
    void *arg;
    struct cd_list in, out; /* struct cell_message: received and not taken; behind the gate. */
    struct io_op deliver; /* Busy: in is to be delivered at the next turn. */
    size_t held; /* Bytes behind the gate. */
    size_t unsent; /* Sent, and not taken as far as is known here. */
    size_t taken; /* What the other end does not know yet. */
    struct cell *cell; /* Whose gate holds what is sent; NULL: nobody's. */
    struct cd_link of_cell; /* In cell.wires. */
    struct cd_link queued; /* In cell.calls: not given to the code yet. */
    struct cd_link stalled; /* In shard.stalled: its messages wait until the log has less to prove. */
    unsigned calls; /* That cell_wire_call_begin let in. */
    uint64_t deadline_ns; /* While it is queued, here or at a relay. */
    bool foreign; /* Of a call that came from another node, with the epoch that led it here. */
    uint64_t epoch;
};

/* A pair of ends, the second one of which is to live on another loop. */
struct cell_wire *cell_wire_pair(struct io *io, unsigned peer_loop, struct cell_wire **peer);
void cell_wire_bind(struct cell_wire *w, struct cell *c); /* Its gate from now on; once. */
void cell_wire_unbind(struct cell_wire *w); /* The cell goes: nothing of w may be held. */
/* The other end hears why at once, past the gate; what was held is dropped. The user still closes w. */
void cell_wire_fail(struct cell_wire *w, const struct cell_close *why);
/* The same, for an end that nobody uses yet: closes it too. */
void cell_wire_refuse(struct cell_wire *w, const struct cell_close *why);

/* The code has the call: the caller's end hears it (hooks.started). */
void cell_wire_started(struct cell_wire *w);
/* Messages of a wire that were held back come at the next turn. */
void cell_wire_go_on(struct cell_wire *w);
/* A call that waits for its cell is taken away from it: w has no gate and counts nowhere. */
void cell_wire_detach_cell(struct cell_wire *w);
/* What was taken last comes again first; nobody is attached. */
void cell_wire_untake(struct cell_wire *w, struct cd_buf *bytes);

/* ---- Handoff (leave.c, adopt.c, handoff.c); fleet.md 9.2, 10.5 ---- */

/* What a shard knows of a cell whose record names this session, in memory or not. */
struct cell_owned {
    uint64_t epoch;
    bool adopted; /* By a handoff, and never activated since. */
    bool inherited; /* The same, by an earlier process of this node. */
    bool entries; /* As of the cell: an adopted one is not in memory. */
    char token[IO_TOKEN_MAX]; /* Of its record as this session wrote it. */
    /* Its alarm as the last residence left it. Unknown after a reset, or when the owner before did not say:
     * then nobody is told of it, and what stands in the log or in wake/ goes on speaking for it. */
    bool known, armed;
    int64_t due_ms;
    uint64_t inst_seq;
    uint64_t used_ns; /* When it was in use last, or came here; 0: before this process. */
};

/* A cell on its way to another node: made by the shard, filled in on the control loop. */
struct cell_offer {
    struct io_msg msg;
    struct cell_router *router;
    unsigned loop;
    bool abandoned, answered;
    bool balance; /* Only to have shares even; else because this node stops. */
    struct io_signal answer;
    char *scope; /* owned */
    uint64_t epoch; /* It was released at. */
    struct cell_owned alarm;
    bool wanted; /* Somebody waits for it. */
    /* Out: who has it now. */
    bool taken;
    uint64_t taken_epoch;
    int64_t until_ms; /* Of the lease. */
    char session[STORE_SESSION_MAX + 1], addr[STORE_ADDR_MAX + 1];
};
void cell_offer_free(struct cell_offer *o);

/* A cell that this node has adopted, on its way from the control loop to its shard and back. */
struct cell_adoption {
    struct io_msg msg;
    struct cell_router *router;
    bool abandoned, answered;
    struct io_signal answer;
    char *scope; /* owned */
    uint64_t epoch; /* Ours. */
    struct cell_owned alarm;
    bool wanted; /* As of the offer. */
    int status; /* Out: IO_OK: what the donor answered for, we do. */
};
/* In a fiber of the control loop: until the shard has it, and the note of its alarm is proven. */
CD_MUST_USE int cell_adoption_tell(struct cell_router *r, struct io *io, struct cd_str scope, uint64_t epoch,
                                   const struct cell_owned *alarm, bool wanted, uint64_t deadline_ns);

/* A cell that has no room here asks where there is some: to the control loop and back (balance.c). */
struct cell_place {
    struct io_msg msg;
    struct cd_link link;
    struct cell_router *router;
    unsigned loop;
    bool abandoned, answered;
    struct io_signal answer;
    bool found; /* Out, with: */
    char session[STORE_SESSION_MAX + 1], addr[STORE_ADDR_MAX + 1];
};
void cell_place_free(struct cell_place *p);

/* A call, or a look (wire NULL), on its way to the loop of its scope. */
struct cell_order {
    struct io_msg msg;
    struct cell_router *router;
    struct cell_wire *wire; /* owned; NULL: only look */
    char *scope, *script; /* owned; script NULL for a look */
    struct cd_buf name; /* Any bytes; empty: nobody told. */
    /* Of a call from another node. */
    bool foreign;
    uint64_t epoch, wait_ns;
    bool activate;
};

struct cell_handoff; /* handoff.c, on the control loop. */

struct cell_router {
    unsigned loops;
    struct cell_handoff *handoff; /* NULL: nobody adopts. */
    /* On any loop: a cell that was given back looks for a node; the answer comes to o->answer. */
    void (*offer)(struct cell_router *r, struct io *from, struct cell_offer *o);
    /* On any loop: a node with room is looked for; the answer comes to p->answer. NULL: there are no others.
     */
    void (*place)(struct cell_router *r, struct io *from, struct cell_place *p);
    /* On any loop: the node of that session took none. NULL: nobody asks. */
    void (*place_refused)(struct cell_router *r, struct io *from, const char *session);
    struct cell_tunnels *tunnels; /* NULL: this node knows no other. */
    _Atomic unsigned shortening; /* Attempts of all shards that run. */
    struct cell_shard *shard[]; /* By loop; each slot is touched by its own loop only. */
};

/* ---- Other nodes (remote.c, relay.c, tunnel.c) ---- */

/* Where a cell is that another node has. */
struct cell_route {
    struct cd_link link; /* In shard.routes, the oldest first. */
    struct cell *cell;
    char target[STORE_SESSION_MAX + 1]; /* The session that runs there now, not the one in the record. */
    char addr[STORE_ADDR_MAX + 1];
    uint64_t epoch; /* Of the record. */
    uint64_t until_ns; /* Not used from then on: the lease that was read ends. */
};

/* The posts between a shard and the control loop: each a number of a tunnel (0: of a wire that this node
 * forwards), a frame, and behind a frame OPEN of a shard whom it is for: u16 length and target, the same of
 * the address. */
struct cell_post {
    struct io_msg msg;
    struct cell_router *router;
    struct cd_buf bytes;
};
void cell_post_add(struct cd_buf *out, uint64_t tunnel);
void cell_post_send(struct cell_router *r, struct io *io, unsigned loop, struct cd_buf *bytes);
/* Takes the next frame off; false: no more. Of a shard's OPEN also whom it is for. */
CD_MUST_USE bool cell_post_take(struct cd_str *rest, uint64_t *tunnel, struct cell_frame *f);
struct cd_str cell_post_text(struct cd_str *rest);
void cell_post_at_control(struct cell_router *r, struct cd_str bytes); /* tunnel.c */
void cell_post_at_shard(struct cell_router *r, struct io *io, struct cd_str bytes); /* relay.c */

/* ---- Cells ---- */

/* A flow of several steps for one cell; at most one at a time. It outlives its use when the cell does not
 * wait for it any more (cell NULL), and then only cleans up. */
struct cell_flow {
    struct cell_shard *shard;
    struct cell *cell;
    struct cd_link link; /* In shard.flows. */
    struct io_fiber *fiber; /* NULL: it has returned. */
    void (*run)(struct cell_flow *f);
    struct io_op ended; /* From the end of the fiber back to the loop. */
    enum cell_event event; /* What the cell hears at the end. */
    struct cd_buf why;
    bool retryable; /* In: why. */
};

struct cell {
    struct cell_shard *shard;
    char *scope, *script; /* owned; script may be NULL */
    struct cd_buf name; /* Any bytes; empty: nobody told. */
    void *user, *parked;
    struct cell_state state;
    unsigned requests, pins;
    uint64_t epoch; /* 0: not claimed in this process. */
    struct cell_flow *flow;
    /* Flags of the turn (shard.c): what the loop has to do for it. */
    bool doomed, wake, look, looked, named;
    bool wake_later; /* Its frames wait for the timer. */
    bool proof_again; /* Its wait for a proof was cancelled by us. */
    bool leaving; /* Counted in shard.evicting. */
    bool handing; /* Counted in shard.handing, */
    uint64_t handing_ns; /* and since when it answers nobody because of that. */
    struct cell_owned leave; /* Of the handoff at hand. */
    struct cd_link going; /* In shard.going: it is to be handed off. */
    bool shed, release; /* Of the eviction at hand: for want of memory; its ownership goes too. */
    bool refused; /* Its last eviction did not work: others go first. */
    uint64_t refused_ns; /* When one did not work; 0: none. */
    const char *refusal; /* Why; a literal. */
    uint64_t covered; /* Its alarm of this inst_seq has a wake entry, or needs none. */
    bool gate_failed; /* The code is being stopped: nothing is held any more. */
    bool alarm_runs, had_alarm;
    bool entries; /* There may be something in wake/ about its alarm that is not settled. */
    bool retiring; /* That is being done. */
    struct cd_link turn; /* In shard.turn. */
    struct cd_link placed; /* In shard.placed. */
    struct cd_link queue; /* In shard.permits, shard.slots, or shard.recovering. */
    struct cd_link idle; /* In shard.idle, refused or near: awake and not active, the longest first. */
    struct cd_link holding; /* In shard.holding: held is not empty. */
    bool storage_used; /* By code that has been stopped: its cursors and open writes go first. */
    bool why_retryable, why_reset;
    uint64_t used_ns; /* When it was last active. */
    uint64_t retry_ns; /* In CELL_RECOVERING. */
    /* While it waits for room: it keeps its place so long for a caller that has left, and will ask again. Who
     * asks again at the end of the queue each time is never served by a node that is busy enough. */
    uint64_t wanted_until_ns;
    uint64_t placed_ns; /* In CELL_WAITING_SLOT: when it was looked for elsewhere last; 0: not yet. */
    struct cd_buf why; /* Of a reset. */
    /* The database (body.c). */
    struct db *db;
    struct storage *storage;
    uint64_t txid, seq; /* Of the last row of this residence; 0: none. */
    /* For those who look: a row, whose proof is looked for when the next one comes, and what was proven then.
     */
    struct {
        uint64_t txid, seq, proven_txid;
    } mark;
    /* Rows of an earlier residence that may not be in the prefix yet; txid 0: none. */
    struct {
        uint64_t epoch, txid, seq;
    } tail;
    /* What is known of its chain (chain.c), of this epoch. */
    struct {
        struct ltx_weight weight; /* As it was last seen, and what was folded since. */
        bool known; /* It was seen; else only what was folded. */
        bool begun; /* This epoch is a part of it. */
        bool garbage; /* Below it there are epochs. */
        uint64_t folded_txid, compacted_txid, pending_bytes; /* Of L1. */
        size_t pending_objects;
        uint64_t looked_ns; /* When it was seen, */
        uint64_t not_before_ns; /* and until when no attempt is worth it. */
    } chain;
    /* Output gate. */
    struct cd_list held; /* struct cell_held.link */
    struct log_wait proof; /* Of the first of them. */
    uint64_t held_since_ns;
    struct cell_held alarm_held;
    /* Who wants it. */
    struct cd_list calls; /* struct cell_wire.queued */
    struct cd_list wires; /* struct cell_wire.of_cell */
    void (*evict_done)(void *arg, const char *reason);
    void *evict_arg;
    unsigned recoveries; /* Tries in a row that left it in CELL_RECOVERING. */
    /* In CELL_REMOTE. */
    struct cell_route *route; /* owned; NULL: it has to be looked up. */
    bool looked_up; /* Just now. */
    unsigned tries; /* In a row that led nowhere. */
    unsigned relays; /* Calls that were forwarded; in any phase. */
};

/* 50,000 cells at rest on a machine with 8 GiB. */
CD_STATIC_ASSERT(sizeof(struct cell) <= 1024, "a cell at rest is small");

struct cell_shard {
    struct cell_shard_opts o;
    struct log_feed *feed;
    struct db_host *host;
    struct cd_map cells; /* By scope. */
    unsigned slots, activating, evicting, runtimes, slot_waiters, checks;
    bool closing, fenced, grant; /* grant: a permit or a slot may be free. */
    bool feed_closing, alarm_again; /* alarm_again: its timer was cancelled by us. */
    uint64_t close_deadline_ns;
    /* Handoff. */
    struct cd_map owned; /* struct cell_owned, by scope. */
    bool inventoried; /* Those of earlier processes are among them. */
    bool draining;
    unsigned window, handing;
    struct cell_pace pace; /* While draining: how many of the window go at once. */
    uint64_t handed, not_handed; /* Taken by another node; by nobody. */
    uint64_t stops, route_refreshes; /* As of cell_tally. */
    uint64_t rebalanced, rebalance_failed; /* Of these, so that shares are even. */
    struct cd_list going;
    /* struct cell.placed: those that may have a call which came here for our room (epoch 0). What waits for
     * a permit is not bounded, so whoever grants one looks at these and not at all that wait. */
    struct cd_list placed;
    struct cd_buf why; /* Of the fence. */
    struct cd_list permits, slot_queue, recovering, turn, holding, flows;
    struct cd_list idle, refused, near; /* Idle ones, in the order in which they go (turn.c). */
    uint64_t idle_count, shed;
    uint64_t gone; /* Slots that came free since the code's last shrink. */
    struct cell_press press;
    struct io_op turn_op; /* Busy: turn is not empty. */
    struct io_timer sweep;
    uint64_t proven, proven_moved_ns, swept_ns; /* As the last sweep saw it. */
    struct cd_map timers, by_due; /* struct cell_timer: by scope, and by due time and scope. */
    struct io_timer alarm;
    struct cd_list stalled; /* struct cell_wire.stalled */
    /* Other nodes. */
    struct cd_list routes; /* struct cell_route.link */
    struct cd_list again; /* struct cell.queue: in CELL_REMOTE, waiting for their next look. */
    struct io_timer again_timer;
    struct cd_map forwards; /* struct relay, by wire. */
    struct cd_map serves; /* The same, by tunnel and wire. */
    struct cd_buf posts; /* For the control loop, at the end of the turn. */
    struct io_op posts_op;
    uint64_t wires; /* The last number given. */
    struct cd_map chains; /* struct chain_job, by scope: chain.c. */
    struct cell_cache *cache; /* owned: cache.c */
    struct io_op *close_op; /* Of cell_shard_close; NULL: of an unwinding. */
    struct io_op feed_op;
};

/* shard.c, turn.c, close.c */
void cell_shard_pump(struct cell_shard *s); /* Who waits for a permit or a slot is looked at. */
void cell_shard_evict_for(struct cell_shard *s); /* Room for those who wait. */
bool cell_asleep(const struct cell *c);
void cell_forget(struct cell *c);
void cell_closing_turn(struct cell *c);
void cell_shard_order(struct cell_shard *s, const struct cell_order *o, struct cell_wire *w);
void cell_feed(struct cell *c, enum cell_event e); /* The machine's next step, and its actions. */
void cell_fail_wires(struct cell *c, const struct cell_close *why); /* Those that the code has or parked. */
void cell_poke(struct cell *c); /* The loop looks at c at its next turn. */
void cell_touch(struct cell *c); /* Something of what makes it active changed. */
void cell_idle_set(struct cell *c, bool idle); /* Behind all others that may go; or not among them. */
void cell_evict_begin(struct cell *c); /* It is resident, and may go. */
void cell_shard_shed(struct cell_shard *s); /* Memory is short: idle cells go, as far as they are to. */
bool cell_active(const struct cell *c);
struct cell *cell_find(struct cell_shard *s, struct cd_str scope, bool make);
void cell_shard_settle(struct cell_shard *s); /* Closing, and something ended: maybe it was the last. */
void cell_shard_stir(struct cell_shard *s); /* Something waits for time to pass: the sweep runs. */
void cell_check(struct cell_shard *s); /* validate() of fleet.md 4.12. */
void cell_recovery_again(struct cell *c); /* In CELL_RECOVERING, when its wait is over. */
void cell_refuse_calls(struct cell *c, const struct cell_close *why); /* Those that wait to be opened. */
/* Ends this residence from the loop, with the reason of errors. */
void cell_reset(struct cell *c, struct cd_str why);

/* gate.c */
void cell_gate_fail(struct cell *c); /* All held effects fail with c->why. */
void cell_gate_open(struct cell *c); /* A new residence. */
void cell_gate_look(struct cell *c, uint64_t now_ns); /* Of the sweep: releases, or the budget is over. */

/* flow.c, activate.c, evict.c */
/* In a fiber: brings what this session cut of an earlier epoch into the prefix (fleet.md 7.7). */
CD_MUST_USE int cell_fold_tail(struct cell_flow *f);
/* flow: the fiber's code; it sets event and why, and may find cell NULL after any await. */
struct cell_flow *cell_flow_start(struct cell *c, const char *name, void (*flow)(struct cell_flow *f));
/* A flow that no cell waits for. It is freed when run returns, and cancelled when the shard closes. */
void cell_flow_detached(struct cell_shard *s, const char *name, struct cell_flow *f,
                        void (*run)(struct cell_flow *f));
void cell_flows_cancel(struct cell_shard *s); /* Those. */
void cell_flow_abandon(struct cell *c); /* Its end does not concern c any more; it is cancelled. */
/* In a fiber: until the log proved the row, or deadline_ns. */
CD_MUST_USE int cell_flow_proven(struct cell_flow *f, uint64_t seq, uint64_t deadline_ns);
void cell_activate(struct cell *c);
void cell_prove(struct cell *c);
void cell_keep(struct cell *c);
void cell_discard(struct cell *c);

/* body.c: the database and the storage in it. In fibers or out of them. */
void cell_dir(struct cd_buf *out, const struct cell_shard *s, struct cd_str scope, uint64_t epoch);
CD_MUST_USE int cell_dir_make(const struct cell_shard *s, struct cd_str scope, uint64_t epoch,
                              struct cd_buf *out, struct cd_buf *why);
CD_MUST_USE int cell_body_open(struct cell *c, struct cd_str dir, uint64_t base_epoch, uint64_t base_txid,
                               struct cd_buf *why);
/* The code is gone: what it has not committed is rolled back. */
CD_MUST_USE int cell_body_restart(struct cell *c, struct cd_buf *why);
/* Closes all. keep: leaves the file as the snapshot of this epoch; else it is deleted. */
void cell_body_close(struct cell *c, bool keep);
/* Opened with an armed alarm, this session answers for it (fleet.md 8.2); note: in the log too. */
void cell_body_alarm(struct cell *c, bool note);

/* chain.c: the chains of cells in the bucket are kept short, in the background. Nothing waits for it. */
void cell_chain_opened(struct cell *c, const struct log_restore *r); /* r NULL: from a local snapshot. */
/* Put away at its position, as a plan of the bucket shows it. */
void cell_chain_evicted(struct cell_shard *s, struct cd_str scope, uint64_t epoch,
                        const struct log_restore *r, bool compact);
bool cell_chain_compacts(const struct cell *c); /* An L1 is due. */
void cell_chain_let_go(struct cell_shard *s, struct cd_str scope); /* Its kept file is another's, or gone. */
void cell_chain_sweep(struct cell_shard *s);
void cell_chain_folded(struct cell_shard *s, struct cd_str scope, uint64_t epoch, uint64_t max_txid,
                       uint64_t bytes);
void cell_chain_free(struct cell_shard *s);

/* cache.c: the snapshots on this node's disk, within a bound (fleet.md 5.9). */
void cell_cache_open(struct cell_shard *s); /* Finds what an earlier process left. */
void cell_cache_kept(struct cell_shard *s, struct cd_str scope, uint64_t epoch);
void cell_cache_taken(struct cell_shard *s, struct cd_str scope); /* It is a database again. */
void cell_cache_free(struct cell_shard *s);

/* inventory.c: which of the cells that have a directory here are this node's. Takes the names and the list.
 */
void cell_inventory_start(struct cell_shard *s, char **scope, size_t count);

/* alarm.c */
void cell_timer_set(struct cell_shard *s, struct cd_str scope, int64_t due_ms); /* Replaces. */
void cell_timer_by(struct cell_shard *s, struct cd_str scope, int64_t due_ms); /* Unless it is earlier. */
void cell_timer_clear(struct cell_shard *s, struct cd_str scope);
void cell_timers_free(struct cell_shard *s);
void cell_alarm_look(struct cell *c); /* Awake: fires what is due, sets the timer for what is not. */
void cell_alarm_committed(struct cell *c, bool armed, int64_t due_ms, uint64_t inst_seq);
void cell_alarm_retry(struct cell *c); /* Nobody could look, or deliver its frames: later. */
void cell_alarm_lost(struct cell *c); /* A reset: somebody has to look at what the log knows. */

/* remote.c */
/* The owner as a claim found it; c hears CELL_EV_REMOTE next. */
void cell_route_set(struct cell *c, const struct fleet_claim *found);
void cell_route_drop(struct cell *c);
bool cell_route_fresh(const struct cell *c);
void cell_forward(struct cell *c); /* In CELL_REMOTE: what waits goes there, or its owner is looked up. */
/* A call whose attempt at epoch of target certainly did not start comes back; w belongs to nobody. why is
 * its end when there is no time for another. */
void cell_call_back(struct cell *c, struct cell_wire *w, const char *target, uint64_t epoch,
                    const struct cell_close *why);
bool cell_only_foreign(const struct cell *c); /* Nobody here asks for it. */
void cell_routes_look(struct cell_shard *s, uint64_t now_ns); /* Of the sweep: forgets the old ones. */

/* relay.c */
void cell_relay_forward(struct cell *c, struct cell_wire *w); /* c->route leads there. */
/* All calls of other nodes' cells, and of other nodes, end: the node stops serving. */
void cell_relays_end(struct cell_shard *s, const struct cell_close *why);
void cell_relays_look(struct cell_shard *s,
                      uint64_t now_ns); /* Of the sweep: those that were never started. */

/* leave.c */
struct cell_owned *cell_owned(struct cell_shard *s, struct cd_str scope, bool make);
void cell_owned_drop(struct cell_shard *s, struct cd_str scope);
void cell_owned_free(struct cell_shard *s);
void cell_owned_note(struct cell *c); /* Its database is about to close: what is known of its alarm. */
void cell_give(struct cell *c); /* DO_RELEASE */
void cell_offer(struct cell *c); /* DO_OFFER */
bool cell_quiet(const struct cell *c); /* What it had accepted has ended; its log goes on. */
void cell_leaving_turn(struct cell *c); /* One cell of a shard that drains. */
void cell_handed(struct cell *c); /* A handoff of it has ended, one way or another. */
/* False: its eviction has just failed. It is tried again at a later sweep: what fails at once would be tried
 * without end otherwise. */
bool cell_may_try(const struct cell *c);
void cell_drain_go_on(struct cell_shard *s, bool look); /* More of them, in the window; look: for new ones. */
/* place.c */
void cell_look_elsewhere(struct cell_shard *s); /* For those who wait for a slot in vain. */
unsigned cell_lookers(const struct cell_shard *s); /* Of these, those whose look has not ended. */
void cell_refuse_placed(struct cell_shard *s); /* What was sent here for our room. */
/* Begins to give up to count dormant cells to other nodes, the longest unused first. */
void cell_shard_donate(struct cell_shard *s, unsigned count);
/* evict.c: folded up to at, a successor could restore it (5.8); the record goes to nobody. */
CD_MUST_USE bool cell_restorable(struct cell_flow *f, uint64_t epoch, uint64_t txid,
                                 struct log_restore *plan);
CD_MUST_USE bool cell_give_back(struct cell_flow *f, uint64_t epoch, bool settled);

/* retire.c: awake, its alarm is as storage says: settles what wake/ may hold. */
void cell_retire(struct cell *c);

#endif
