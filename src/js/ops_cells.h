/* js/ops_cells.h: host functions: cells. */
#ifndef JS_OPS_CELLS_H
#define JS_OPS_CELLS_H

#define JS_OPS_CELLS(X)                                                                                      \
    X(cell_busy)                                                                                             \
    X(cell_abort)                                                                                            \
    X(cell_alarm_done)                                                                                       \
    X(storage_of)                                                                                            \
    X(storage_synced)

#endif
