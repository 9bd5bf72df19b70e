/* js/ops_wire.h: host functions: wires to cells, and the names of cells. */
#ifndef JS_OPS_WIRE_H
#define JS_OPS_WIRE_H

#define JS_OPS_WIRE(X)                                                                                       \
    X(wire_open)                                                                                             \
    X(wire_send)                                                                                             \
    X(wire_call_begin)                                                                                       \
    X(wire_call_end)                                                                                         \
    X(wire_unsent)                                                                                           \
    X(wire_listen)                                                                                           \
    X(wire_served)                                                                                           \
    X(wire_close)                                                                                            \
    X(cell_namespace)                                                                                        \
    X(cell_id_of_name)                                                                                       \
    X(cell_id_unique)                                                                                        \
    X(cell_id_parse)

#endif
