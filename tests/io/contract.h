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
    struct io_bucket *bucket; /* An empty bucket; NULL in suites that need none. */
    void *arg;
};

void contract_run(void (*flow)(struct contract *c));
void contract_run_loops(unsigned loops, void (*flow)(struct contract *c));
/* Runs work in another loop of the node and waits for it. Call from a fiber of loop 0. */
void contract_in_loop(struct contract *c, unsigned loop, void (*work)(struct io *io, void *arg), void *arg);

/* Names resolve "localhost" to the node itself, as does 127.0.0.1; "nobody.invalid" is nobody. */

/* Programs for children, which each harness has in its own way:
 *     contract-cat         copies its input to its output, then exits with 0
 *     contract-exit CODE   exits at once
 *     contract-say         writes its working directory, arguments and environment but for PATH, one a line
 *     contract-hang        writes "up\n", then does nothing until it is killed */

/* Faults that both backends can make. Each returns false where this backend cannot make it on this machine;
 * the test then says "skipped" through cmocka's skip(), never silently passes. */
bool contract_disk_full(struct contract *c, bool on); /* Writes that grow files in dir fail. */
bool contract_disk_sync_fails(struct contract *c, bool on); /* The next sync in dir fails. */

#endif
