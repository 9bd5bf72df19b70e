/* sim/cells_service.h: the HTTP front of a shard: a request becomes a call of a cell, on whatever loop the
 * cell lives. POST /Class/instance; the body is the message.
 *
 * 200: the cell's answer. 503: refused, the cell's code provably did not start. 502: anything else; it may
 * have run. */
#ifndef SIM_CELLS_SERVICE_H
#define SIM_CELLS_SERVICE_H

#include "base/str.h"

struct cell_router;
struct cells_service;
struct io;

/* answer is told of each answer of a cell, before its first byte can leave. NULL when the port cannot be had.
 */
struct cells_service *cells_service_new(struct io *io, struct cell_router *router,
                                        void (*answer)(void *arg, struct cd_str scope, struct cd_str text),
                                        void *arg);
/* Cuts what is open; frees itself when all is closed. */
void cells_service_end(struct cells_service *s);

#endif
