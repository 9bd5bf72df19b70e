/* tests/cell/rig_links.h: tunnels between the two nodes of a rig, over plain streams. Node 0 is n, 1 is m. */
#ifndef CELL_RIG_LINKS_H
#define CELL_RIG_LINKS_H

#include "base/str.h"

struct cell_router;
struct io;

void rig_links_new(struct cell_router *r, unsigned node);
void rig_links_start(void); /* Of n, which runs already. */
/* Without rig_links_new these do nothing. */
void rig_links_boot(struct io *io, unsigned node);
void rig_links_unwind(struct io *io, unsigned node);
void rig_links_stop_other(bool listening); /* That of m begins. listening: it still takes connections. */
void rig_links_stop(void); /* Both, as far as they run, and until they are closed. */
void rig_links_free(void);

/* A stream to the tunnels of m, for what no node would say. */
void rig_links_say(struct cd_str bytes);
const char *rig_links_heard(void); /* What came of it: "open", or "ended". */

#endif
