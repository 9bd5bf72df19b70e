/* sim/cells.h: the workloads of cells: what they share. Nodes that serve cells, clients that ask them, and a
 * class of cells per workload (load ledger, load storage, load alarms). simulation.md 6.
 *
 * A client asks any node; one that does not own a cell says so, and the client tries another one later.
 * Nothing is ever asked again under the same number. */
#ifndef SIM_CELLS_H
#define SIM_CELLS_H

#include "sim/cells_call.h"
#include "sim/run.h"

#define CELLS_MAX 40u /* Of a class. */
#define CELLS_FIBERS 2u /* Questions of a client at a time. */

struct cells_load;

struct cells_client { /* One fiber of a client. */
    struct cells_load *load;
    unsigned index, number; /* c3, 0. */
    unsigned order; /* Among the clients of its load, from 0. */
    struct io *io;
    unsigned at[CELLS_MAX + 1]; /* By cell: the node that answered last; 0: none did. */
    uint64_t round; /* Of audits it has finished. */
    unsigned probed;
    bool rests; /* Of alarms, in the audit: those of the probed cell have all run. */
    struct cd_buf message, text;
};

/* What a workload is made of. */
struct cells_class {
    const char *name; /* Of the class of its cells: "Ledger". */
    enum scn_setting cells, clients, rate;
    void *(*start)(struct cells_load *l);
    void (*finish)(void *work);
    void (*tell)(const void *work, struct cd_buf *out); /* How much was done, for the trace. */
    /* One question, drawn. False: the run has failed, or the client is gone. */
    bool (*work)(struct cells_client *c);
    /* Looks at all of a cell; must be answered by some node. 1: it was; 0: not now; -1: the run has failed.
     */
    int (*probe)(struct cells_client *c, unsigned cell);
};

struct cells_pool { /* Of a client's calls. */
    struct http_client *client;
    struct io_op stop;
};

struct cells_load {
    struct run *run;
    const struct cells_class *class;
    void *work;
    struct cells_client client[SCN_CLIENTS_MAX][CELLS_FIBERS];
    struct cells_pool pool[SCN_CLIENTS_MAX];
    unsigned clients;
    bool quiet;
    uint64_t round; /* Rises with each look at everything. */
};

extern const struct cells_class cells_class_ledger, cells_class_mix, cells_class_alarm;
/* What the nodes tell the alarms workload; as alarm_truth_run. */
const char *cells_alarm_ran(struct cells_load *l, unsigned cell, uint64_t id, int64_t scheduled_ms,
                            unsigned retry, int64_t wall_ms, struct cd_buf *why);

/* For classes. */
uint64_t cells_draw(struct cells_client *c, uint64_t n);
unsigned cells_draw_cell(struct cells_client *c); /* Half of them are two cells. */
bool cells_pause(struct cells_client *c, uint64_t ns); /* False: the client is gone or the run has failed. */
/* Asks a node what is in c->message; the answer, without its front, is *text, borrowed from c->text. */
enum cells_outcome cells_question(struct cells_client *c, unsigned cell, struct cd_str *text);
/* Clocks of several nodes differ: then a node that was replaced too early may still answer reads from what it
 * has (fleet.md 1.1, E5), until it hears of it. Writes it cannot prove. */
bool cells_reads_may_be_stale(const struct cells_client *c);
/* False: broken is an invariant; the run has failed. */
bool cells_judge(struct cells_client *c, const char *broken, struct cd_buf *why);

/* The nodes, cells_nodes.c; one for all loads of a run. */
struct cells_nodes;
void cells_nodes_boot(struct run *run, struct fleet_node *n, struct io *io);
void cells_nodes_freeze(struct run *run, struct fleet_node *n);
void cells_nodes_audit(struct run *run); /* The observers look at everything. */
/* Whether its disk may be lost; else what is nowhere else is named. */
bool cells_nodes_spare(struct run *run, const struct fleet_node *n, struct cd_buf *why);
void cells_nodes_unwind(struct run *run, struct fleet_node *n, struct io *io);
void cells_nodes_alarms(struct run *run, struct cells_load *l); /* Who is told of alarms that run. */
/* Whether every node has had its lease in the life that it has now. */
bool cells_nodes_started(const struct run *run, struct cd_buf *why);
bool cells_nodes_drain(struct run *run, struct fleet_node *n); /* False: it is not up. */
void cells_nodes_free(struct run *run);

#endif
