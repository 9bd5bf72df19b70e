/* base/map.h: ordered map from bytes or u64 to a pointer. Iteration is by key: the same in every run.
 *
 * The map copies its keys and never touches its values. A zeroed struct is a valid empty map. Inserting or
 * removing invalidates iterators; cd_map_at_or_after(key) resumes behind any key. Every call takes time of
 * the order of log(count), whatever the keys and their order. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

struct cd_map_node;
struct cd_map {
    struct cd_map_node *root; /* owned */
    size_t count;
};

void cd_map_deinit(struct cd_map *m); /* Frees the map, not the values. */
void *cd_map_get(const struct cd_map *m, struct cd_str key); /* NULL when absent. */
/* Sets key to a value that is not NULL and returns the one it replaces, or NULL. */
void *cd_map_put(struct cd_map *m, struct cd_str key, void *value);
void *cd_map_remove(struct cd_map *m, struct cd_str key); /* Returns the value, or NULL when absent. */

/* Integer keys order by number. Do not mix both kinds in one map. */
void *cd_map_get_u64(const struct cd_map *m, uint64_t key);
void *cd_map_put_u64(struct cd_map *m, uint64_t key, void *value);
void *cd_map_remove_u64(struct cd_map *m, uint64_t key);

/* Entries in ascending order. NULL at the end. */
struct cd_map_node *cd_map_first(const struct cd_map *m);
struct cd_map_node *cd_map_last(const struct cd_map *m);
struct cd_map_node *cd_map_next(const struct cd_map_node *n);
struct cd_map_node *cd_map_prev(const struct cd_map_node *n);
struct cd_map_node *cd_map_at_or_after(const struct cd_map *m, struct cd_str key);
struct cd_map_node *cd_map_at_or_after_u64(const struct cd_map *m, uint64_t key);
struct cd_str cd_map_key(const struct cd_map_node *n);
uint64_t cd_map_key_u64(const struct cd_map_node *n);
void *cd_map_value(const struct cd_map_node *n);

#endif
