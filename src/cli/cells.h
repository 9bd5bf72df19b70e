/* cli/cells.h: `celld cell list` and `celld cell gc --dry-run`: cells as the bucket shows them
 * (operations.md 1.3, 1.7). Both only read. */
#ifndef CLI_CELLS_H
#define CLI_CELLS_H

#include "cli/out.h"

struct cli;

int cli_cell_list(struct cli *c);
int cli_cell_gc(struct cli *c);

/* What both do, apart from the command line. */
struct cli_cells {
    /* In; all borrowed. */
    struct io *io;
    struct io_bucket *bucket;
    struct cli_out *out;
    struct cd_str class_name; /* Empty: all. */
    struct cd_str after; /* A scope; empty: from the start. */
    uint64_t limit; /* Rows, at most; 0: all of them, with progress on stderr. */
    bool json;
    bool gc; /* A row tells the epochs of a cell that no restore needs; cells without any have none. */
    uint64_t grace_ms; /* Of gc: epochs younger than that are spared. */
    /* Out */
    uint64_t rows;
    uint64_t unreadable; /* Of gc: cells that could not be read; stderr named them. */
    struct cd_buf why; /* After an error, for people; owned by the caller. */
};

/* In a fiber of io's loop. Rows go to out, everything else to stderr. IO_CANCELED, or why the bucket could
 * not be listed. */
CD_MUST_USE int cli_cells_run(struct cli_cells *l);

#endif
