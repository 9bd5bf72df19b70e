/* ltx/name.h: the keys of a cell's objects (fleet.md 2.1): cells/<cell>/ltx/e<E>/<level>/<min>-<max>.ltx. */
#ifndef LTX_NAME_H
#define LTX_NAME_H

#include "base/buf.h"

#define LTX_SCOPE_MAX 255u
#define LTX_L0 0u
#define LTX_L1 1u
#define LTX_L9 9u

struct ltx_name {
    struct cd_str scope; /* Borrowed from the key. */
    uint64_t epoch;
    unsigned level; /* LTX_L0, LTX_L1, LTX_L9 */
    uint64_t min_txid, max_txid;
};

/* fleet.md 1.1: 1..255 bytes of [A-Za-z0-9_.:$-], not "." or "..". */
bool ltx_scope_valid(struct cd_str scope);

void ltx_key(struct cd_buf *out, const struct ltx_name *name);
/* "cells/<cell>/ltx/": its common prefixes up to '/' are the epochs. */
void ltx_key_cell(struct cd_buf *out, struct cd_str scope);
/* "cells/<cell>/ltx/e<E>/": everything of one epoch. */
void ltx_key_epoch(struct cd_buf *out, struct cd_str scope, uint64_t epoch);
/* CD_ESYNTAX for any other key, also for one that writes the same thing otherwise. */
CD_MUST_USE int ltx_key_parse(struct cd_str key, struct ltx_name *out);
/* The epoch of "cells/<cell>/ltx/e<E>/" and nothing behind it. CD_ESYNTAX. */
CD_MUST_USE int ltx_key_parse_epoch(struct cd_str prefix, struct cd_str scope, uint64_t *epoch);

#endif
