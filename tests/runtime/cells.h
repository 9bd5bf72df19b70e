/* runtime/cells.h: cells for js_run: what src/cell gives js/cells.h and js/ops_wire.c, on one loop, without
 * proofs or other nodes.
 *
 * What the name of a cell begins with makes it misbehave, for the tests of wires:
 *   refuse:TEXT   the call is closed with the text before the handler starts
 *   overloaded    the same, for the limit of requests
 *   lost:TEXT     the first message is answered by the end of the wire, after a reset
 *   reply:HEX     the first message is answered with these bytes; there is no handler
 *   inject:HEX    the handler's side gets these bytes instead of the first message
 *   sleepy        it is evicted as soon as nothing keeps it in memory
 *
 * Each scope has a database in memory, which stays when the cell goes. */
#ifndef RUNTIME_CELLS_H
#define RUNTIME_CELLS_H

#include "io/io.h"
#include "js/cells.h"

struct cell_router *cells_open(struct io *io);
void cells_serve(struct js_site *site);
void cells_close(void); /* Stops what runs. */

#endif
