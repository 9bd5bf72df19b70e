/* cell/id.h: names of cells. services.md 1.2, fleet.md 1.1.
 *
 * A namespace is a class of a script. An id of it is 16 bytes of base (a MAC of the name, or random) and 16
 * bytes of tag, by which the namespace knows its own ids. A scope is how everything below JavaScript names
 * the cell: "Class:<64 hex digits>". Pure but for cell_id_unique. */
#ifndef CELL_ID_H
#define CELL_ID_H

#include "base/buf.h"

struct io;

#define CELL_ID_BYTES 32u
#define CELL_ID_TEXT (2 * CELL_ID_BYTES)

struct cell_namespace {
    uint8_t key[32];
};
struct cell_id {
    uint8_t bytes[CELL_ID_BYTES];
};

/* Renaming a script or a class changes all ids: the key is the hash of both. */
void cell_namespace_init(struct cell_namespace *ns, struct cd_str script, struct cd_str class_name);
/* The namespace of all D1 databases. */
void cell_namespace_init_d1(struct cell_namespace *ns);

void cell_id_of_name(struct cell_id *out, const struct cell_namespace *ns, struct cd_str name);
void cell_id_unique(struct cell_id *out, const struct cell_namespace *ns, struct io *io);
/* CD_ESYNTAX: not 64 hex digits (upper case is accepted). CD_EINVAL: an id of another namespace, compared in
 * constant time. */
CD_MUST_USE int cell_id_parse(struct cell_id *out, const struct cell_namespace *ns, struct cd_str text);
void cell_id_text(const struct cell_id *id, char out[CELL_ID_TEXT + 1]); /* Lower case, NUL-terminated. */

/* Appends "Class:instance". CD_EINVAL when that is no scope. */
CD_MUST_USE int cell_scope_of(struct cd_buf *out, struct cd_str class_name, struct cd_str instance);
/* 1..255 bytes of [A-Za-z0-9_.:$-], not "." or "..": asked at every entrance, keys of the bucket included. */
bool cell_scope_valid(struct cd_str scope);
/* The part before the first ':' and the part behind it; CD_ESYNTAX when one is empty or there is none. */
CD_MUST_USE int cell_scope_split(struct cd_str scope, struct cd_str *class_name, struct cd_str *instance);
/* The loop that a scope lives on: 1..loops-1, or 0 where there is only one loop. The same on every node. */
unsigned cell_scope_loop(struct cd_str scope, unsigned loops);

#endif
