/* js/cells_internal.h: what cells.c and cell_sockets.c share. */
#ifndef JS_CELLS_INTERNAL_H
#define JS_CELLS_INTERNAL_H

#include "js/cells.h"

struct js_parked;

struct js_cells {
    struct js_cells_opts opts;
    struct js_site *site; /* Whose code starts; NULL: none. */
    struct cd_list cells; /* struct js_cell.link */
    struct cd_list parked; /* struct js_parked.link */
    struct io_timer move; /* Runs while cells have the code of another site. */
    uint64_t served_ns; /* When site took over. */
    bool freed;
};

struct js_cell {
    struct js_event event;
    struct js_cells *host;
    struct js_site *site;
    struct js_worker *w;
    struct cell *cell;
    struct js_parked *parked; /* Its hibernatable sockets; NULL: it has none. */
    struct cd_link link, touched;
    bool starting, stopping;
    bool ended; /* The event has; w may be gone. */
    bool busy; /* Something of it runs, says the prelude. */
    bool pinned;
    bool reset; /* reason says why. */
    struct cd_buf reason; /* owned */
    struct cell_close close;
};

/* Whether JavaScript of the cell may be entered. */
static inline bool js_cell_runs(const struct js_cell *c)
{
    return !c->ended && !c->reset && !c->starting && !c->stopping;
}

#endif
