/* tests/io/contract.h: the contract of src/io/io.h as fibers that run on either backend.
 *
 * A test is a flow: contract_run starts a node of `loops` loops, runs flow in a fiber of loop 0 until it
 * returns, then checks that no op, fiber, file or stream is left. What differs between the backends is behind
 * this header. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "io/io.h"
#include "support/test.h"

struct contract {
    struct io *io;
    struct io *loop[4]; /* loop[0] == io. */
    char dir[200]; /* An empty directory for files. */
    char path[220]; /* "PATH=...", for the environment of children: where the programs below are. */
    struct io_bucket *bucket; /* Of contract_run_store: an empty bucket, of each loop as io_bucket too. */
    void *arg;
};

void contract_run(void (*flow)(struct contract *c));
void contract_run_loops(unsigned loops, void (*flow)(struct contract *c));
/* As contract_run_loops, with a bucket. On the real system it is the embedded store in dir, or the
 * S3-compatible one that the variables of tools/stores describe. */
void contract_run_store(unsigned loops, void (*flow)(struct contract *c));
/* The same for either; each harness has its own. */
void contract_start(unsigned loops, void (*flow)(struct contract *c), bool with_store);
/* Runs work in another loop of the node and waits for it. Call from a fiber of loop 0. */
void contract_in_loop(struct contract *c, unsigned loop, void (*work)(struct io *io, void *arg), void *arg);

/* Whether what is due at the same moment comes in the order of submission. io.h does not promise it; the real
 * loop does it, the simulator by its policy. */
bool contract_keeps_ties(void);

/* Names resolve "localhost" to the node itself, as does 127.0.0.1; "nobody.invalid" is nobody. */

/* An address in the way to which everything gets lost: connecting there neither works nor is refused. False
 * where this machine has none. One per run. */
bool contract_hole(struct contract *c, struct io_addr *at);

/* Programs for children, which each harness has in its own way:
 *     contract-cat         copies its input to its output, then exits with 0
 *     contract-exit CODE   exits at once
 *     contract-say         writes its working directory, arguments and environment but for PATH, one a line
 *     contract-hang        writes "up\n", then does nothing until it is killed
 *     contract-complain    writes "complaint\n" to standard error, nothing to its output, then exits with 0
 */

/* All events so far, as lines of text; info and above are wanted. Stuck: nobody takes what the log writes,
 * and events may get lost. A backend whose log cannot get stuck does nothing. */
void contract_log(struct contract *c, struct cd_buf *out);
void contract_log_stuck(struct contract *c, bool on);

/* From now on a console is captured (IO_OK), or its writes fail with status: IO_EOF, IO_NOSPACE, CD_ECLOSED.
 * contract_console_end appends what was captured to out (or NULL), and the console is as it was. */
void contract_console_start(struct contract *c, enum io_console which, int status);
void contract_console_end(struct contract *c, enum io_console which, struct cd_buf *out);

/* From now on standard input is /dev/null, or where contract_keyboard_type writes to.
 * contract_keyboard_hangup: nothing more comes. contract_keyboard_end: it is as it was before. Simulated
 * keyboards are all alike, and exist from io_console_input on. */
enum contract_keyboard { CONTRACT_NO_KEYBOARD, CONTRACT_PIPE, CONTRACT_SOCKET };
void contract_keyboard_start(struct contract *c, enum contract_keyboard what);
void contract_keyboard_type(struct contract *c, struct cd_str bytes);
void contract_keyboard_hangup(struct contract *c);
void contract_keyboard_end(struct contract *c);

/* Whether randomness can repeat: two runs draw the same. */
bool contract_random_repeats(void);

/* Faults that both backends can make. Each returns false where this backend cannot make it on this machine;
 * the test then says "skipped" through cmocka's skip(), never silently passes. */
bool contract_disk_full(struct contract *c, bool on); /* Writes that grow files in dir fail. */
bool contract_disk_sync_fails(struct contract *c, bool on); /* The next sync in dir fails. */
bool contract_disk_denies(struct contract *c,
                          bool on); /* dir is not ours to change. Nothing is open in it. */

enum contract_store_fault {
    CONTRACT_LOSE_REQUEST, /* It ends in a reset; the store has not seen it. */
    CONTRACT_LOSE_ANSWER, /* The store does it, then the answer is lost in a reset. */
    CONTRACT_HOLD_REQUEST, /* It reaches the store a second late. */
    CONTRACT_HOLD_ANSWER, /* The store does it at once; the answer does not come for a minute. */
    CONTRACT_THROTTLE, /* 503 SlowDown, Retry-After: 1; not done. */
    CONTRACT_ERROR, /* 500 although it was done. */
    CONTRACT_CUT_BODY, /* The answer ends in a reset after 5 bytes of its body. */
    CONTRACT_DOWN, /* Until contract_store_heal: no connection; method and times mean nothing. */
};
/* The next times requests of this method ("PUT", "GET", "HEAD", "DELETE", "LIST") fare so. */
bool contract_store_fault(struct contract *c, enum contract_store_fault fault, const char *method,
                          unsigned times);
void contract_store_heal(struct contract *c); /* Also at the end of each run. */
/* Requests wait for each other in a queue of ours, not in a server's. */
bool contract_store_queues(void);
/* The store under test takes conditions and ignores them: only its refusal is tested. */
bool contract_store_is_broken(void);

#endif
