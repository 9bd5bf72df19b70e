/* js/cell_sockets.h: hibernatable WebSockets: those that a cell accepted with ctx.acceptWebSocket().
 * services.md 1.8; runtime.md 2.1.
 *
 * The wire over which the client's messages come belongs to the record here, not to the instance: it is
 * parked (cell/wire.h), and stays open while the cell is out of memory, at a few hundred bytes with its tags
 * and attachment. What comes then waits and wakes the cell. The client's connection is the accepting
 * Worker's.
 */
#ifndef JS_CELL_SOCKETS_H
#define JS_CELL_SOCKETS_H

#include "js/cells.h"

struct js_parked; /* What a scope keeps. */

/* The instance was made; what waits for it comes with js_parked_wake. */
void js_parked_attach(struct js_cell *c);
/* Delivers what waits. */
void js_parked_wake(struct js_cell *c);
/* The instance has gone: sockets that no client has are forgotten. True: something waits for the next one. */
bool js_parked_detach(struct js_cell *c);
/* Closes all sockets of the host's cells: their clients are told to come again. shard_gone: nothing else is
 * left of the cells. */
void js_parked_close(struct js_cells *h, bool shard_gone);

#endif
