/* base/map_internal.h: the insides of cd_map, for map.c and its tests. */
#ifndef BASE_MAP_INTERNAL_H
#define BASE_MAP_INTERNAL_H

#include "base/map.h"

struct cd_map_node {
    struct cd_map_node *child[2], *parent;
    void *value;
    uint64_t head; /* The first eight bytes of the key, as a number that orders as they do. */
    size_t len;
    unsigned char height; /* Of the tree below and with this node: a leaf has 1. */
    char key[];
};

#endif
