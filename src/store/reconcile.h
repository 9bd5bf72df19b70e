/* store/reconcile.h: what became of a conditional write whose answer was unclear (fleet.md 3.3, AMBIGUOUS).
 *
 * The writer reads back and compares with its own bytes, which must be unmistakably its own (a session, a
 * number that never repeats). A write that is not there may land later; it can only land with its own guard,
 * so it is harmless once somebody's newer write is there. */
#ifndef STORE_RECONCILE_H
#define STORE_RECONCILE_H

#include "store/retry.h"

enum store_fate {
    STORE_FATE_OURS, /* Our bytes are there: it was done. */
    STORE_FATE_OTHERS, /* Its guard does not hold any more: it cannot land from now on. It may have been done,
                          and been replaced since. */
    STORE_FATE_OPEN, /* All is as before the write: it may still land. */
};

struct store_write {
    struct cd_str key, body;
    enum io_put how;
    char guard[IO_TOKEN_MAX]; /* Of IO_PUT_IF_MATCH. */
};

/* Of a read that ended with status IO_OK (then body and token say what it found) or IO_NOENT. */
enum store_fate store_fate_of(const struct store_write *w, int status, struct cd_str body, const char *token);

/* In a fiber: reads the object into s, by the policy, and tells the fate. Any other status than IO_OK: the
 * read failed, nothing is known. STORE_FATE_OURS and STORE_FATE_OTHERS leave the token and body of what is
 * there in s (an absent object: an empty token). */
int store_read_back(struct io_store *s, struct io *io, struct io_bucket *b, const struct store_write *w,
                    const struct store_policy *p, enum store_fate *fate);

#endif
