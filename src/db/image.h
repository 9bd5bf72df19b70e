/* db/image.h: a whole image of a database (fleet.md 5.14), read in steps, from the open file or a closed one.
 *
 * Of an open file it is the state at the commit boundary where the image began: a page that is about to be
 * overwritten or cut off before it was read is kept aside. The database goes on meanwhile. */
#ifndef DB_IMAGE_H
#define DB_IMAGE_H

#include "db/db.h"

/* What may be kept aside: beyond a quarter of the database, and this much, the attempt is given up. */
#define DB_IMAGE_ASIDE_MIN (64u << 20)

struct db_image;
/* Outside of a transaction, of a database with data and all its pages (else CD_ENOTFOUND), one at a time.
 * db_close ends it: later steps fail. */
CD_MUST_USE int db_image_open(struct db_image **out, struct db *d, struct cd_buf *why);
/* Of a snapshot's file that nobody opens meanwhile. */
CD_MUST_USE int db_image_open_file(struct db_image **out, struct db_host *h, const char *path,
                                   struct cd_str scope, const struct db_snapshot *s, struct cd_buf *why);
/* What it is of: the name of the object is e<epoch>, LTX_L9, 1 to max_txid. */
struct db_position db_image_at(const struct db_image *i);
/* Appends about so many bytes of the object to out. True in *last: that was all. On an error the image cannot
 * be finished: CD_ETOOBIG, too much had to be kept aside; CD_ECLOSED, the database was closed. */
CD_MUST_USE int db_image_step(struct db_image *i, size_t bytes, struct cd_buf *out, bool *last,
                              struct cd_buf *why);
void db_image_close(struct db_image *i); /* At any time. NULL is fine. */

#endif
