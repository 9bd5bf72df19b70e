/* js/ops_cells.h: host functions: cells. */
#ifndef JS_OPS_CELLS_H
#define JS_OPS_CELLS_H

#define JS_OPS_CELLS(X)                                                                                      \
    X(cell_busy)                                                                                             \
    X(cell_abort)                                                                                            \
    X(cell_alarm_done)                                                                                       \
    X(cell_socket_new)                                                                                       \
    X(cell_socket_park)                                                                                      \
    X(cell_socket_info)                                                                                      \
    X(cell_socket_attach)                                                                                    \
    X(cell_socket_send)                                                                                      \
    X(cell_socket_unsent)                                                                                    \
    X(cell_socket_close)                                                                                     \
    X(cell_socket_drop)                                                                                      \
    X(cell_socket_entered)                                                                                   \
    X(cell_sockets)                                                                                          \
    X(cell_auto_response)                                                                                    \
    X(cell_auto_time)                                                                                        \
    X(cell_event_timeout)                                                                                    \
    X(storage_of)                                                                                            \
    X(storage_synced)

#endif
