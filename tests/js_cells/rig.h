/* js_cells/rig.h: cells in V8 behind a struct cell that the test moves: starts, alarms, proofs, stops. */
#ifndef JS_CELLS_RIG_H
#define JS_CELLS_RIG_H

#include <sqlite3.h>

#include "cell/cell.h"
#include "db/storage.h"
#include "io_sim/io_sim.h"
#include "js/cells.h"
#include "js/site.h"
#include "support/test.h"

struct cell {
    struct io *io;
    const char *scope;
    bool woken; /* For an alarm: no call has told its script. */
    void *user;
    int pins;
    unsigned flushes;
    bool unproven; /* What is gated waits for rig_prove. */
    const char *bad_flush; /* What cell_flush fails with. */
    struct cd_list held;
    sqlite3 *db; /* In memory. */
    struct storage *storage;
    unsigned commits;
    bool running; /* Between start and stop. */
    bool evict_wanted;
    struct cd_buf log; /* "started", "started: WHY", "alarm 0", "abort: REASON", "stopped" in lines. */
};

struct rig {
    struct sim *sim;
    struct sim_node *node;
    struct io *io;
    struct js_site *site;
    struct js_bundle_module module[2];
    struct js_bundle bundle[2];
    struct js_cells *cells;
    struct cd_buf log; /* Console and uncaught errors, in lines. */
};

/* A Worker "test" of the source, with the cells of rig_cell. heap: its limit in MiB, 0: the default. */
void rig_open(struct rig *r, const char *source, unsigned heap);
void rig_close(struct rig *r); /* Stops nothing: cells have been stopped. */
void rig_run(struct rig *r, uint64_t ns);
/* Another deployment of it: resident cells are moved. The old site is closed. */
void rig_deploy(struct rig *r, const char *source);

void rig_cell(struct rig *r, struct cell *c, const char *scope); /* Starts it. */
void rig_cell_woken(struct rig *r, struct cell *c, const char *scope);
void rig_alarm(struct rig *r, struct cell *c, int64_t at_ms, unsigned retries);
void rig_prove(struct rig *r, struct cell *c);
void rig_stop(struct rig *r, struct cell *c, enum cell_stop cause, const char *why);
void rig_cell_free(struct cell *c);

/* What was logged since the last look is exactly this. */
#define rig_log_is(buf, text)                                                                                \
    do {                                                                                                     \
        assert_string_equal(cd_buf_cstr(buf), text);                                                         \
        cd_buf_clear(buf);                                                                                   \
    } while (0)

#endif
