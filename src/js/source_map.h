/* js/source_map.h: source maps, version 3: from places in a bundle to places in the files it was made of.
 * Pure.
 *
 * Positions count lines and columns from 1, as in the stacks of V8. */
#ifndef JS_SOURCE_MAP_H
#define JS_SOURCE_MAP_H

#include "base/buf.h"

struct js_source_map;

/* text is the JSON; it is not kept. NULL: it is malformed, and stacks stay as they are. */
struct js_source_map *js_source_map_parse(struct cd_str text);
void js_source_map_free(struct js_source_map *m); /* NULL is fine. */

struct js_source_place {
    struct cd_str source; /* Borrowed from the map. */
    unsigned line, column;
};
/* The place that the code at line and column came from. False: the map does not say. */
bool js_source_map_find(const struct js_source_map *m, unsigned line, unsigned column,
                        struct js_source_place *out);

/* Appends a stack with each "name:line:column" as the map has it; all else stays. */
void js_source_map_stack(const struct js_source_map *m, struct cd_str name, struct cd_str stack,
                         struct cd_buf *out);

#endif
