/* base/map.c: a treap. Its priorities come from a counter of the map, not from keys or addresses: the shape
 * is the same in every run, and no choice of keys can unbalance it. */
#include "base/map.h"

struct cd_map_node {
    struct cd_map_node *child[2], *parent;
    void *value;
    uint64_t priority;
    size_t len;
    char key[];
};

static uint64_t draw_priority(struct cd_map *m)
{
    uint64_t z = (m->draw += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

struct cd_str cd_map_key(const struct cd_map_node *n)
{
    return cd_str_of(n->key, n->len);
}

static void key_of_u64(char out[8], uint64_t key)
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (char)(unsigned char)(key >> (56 - 8 * i)); /* Big-endian: bytes order as numbers do. */
}

uint64_t cd_map_key_u64(const struct cd_map_node *n)
{
    CD_ASSERT(n->len == 8);
    uint64_t key = 0;
    for (unsigned i = 0; i < 8; i++)
        key = key << 8 | (unsigned char)n->key[i];
    return key;
}

void *cd_map_value(const struct cd_map_node *n)
{
    return n->value;
}

/* The link that holds n. */
static struct cd_map_node **link_to(struct cd_map *m, struct cd_map_node *n)
{
    if (n->parent == NULL)
        return &m->root;
    return &n->parent->child[n->parent->child[1] == n];
}

/* Lifts n above its parent. */
static void rotate_up(struct cd_map *m, struct cd_map_node *n)
{
    struct cd_map_node *p = n->parent;
    unsigned side = p->child[1] == n;
    struct cd_map_node **at = link_to(m, p);
    struct cd_map_node *inner = n->child[!side];
    p->child[side] = inner;
    if (inner != NULL)
        inner->parent = p;
    n->child[!side] = p;
    n->parent = p->parent;
    p->parent = n;
    *at = n;
}

static struct cd_map_node *find(const struct cd_map *m, struct cd_str key)
{
    struct cd_map_node *n = m->root;
    while (n != NULL) {
        int order = cd_str_cmp(key, cd_map_key(n));
        if (order == 0)
            return n;
        n = n->child[order > 0];
    }
    return NULL;
}

void *cd_map_get(const struct cd_map *m, struct cd_str key)
{
    struct cd_map_node *n = find(m, key);
    return n == NULL ? NULL : n->value;
}

void *cd_map_put(struct cd_map *m, struct cd_str key, void *value)
{
    CD_ASSERT(value != NULL);
    struct cd_map_node **at = &m->root, *parent = NULL;
    while (*at != NULL) {
        int order = cd_str_cmp(key, cd_map_key(*at));
        if (order == 0) {
            void *old = (*at)->value;
            (*at)->value = value;
            return old;
        }
        parent = *at;
        at = &parent->child[order > 0];
    }
    struct cd_map_node *n = cd_alloc(sizeof *n + key.len);
    if (key.len > 0)
        memcpy(n->key, key.ptr, key.len);
    n->len = key.len;
    n->value = value;
    n->parent = parent;
    n->priority = draw_priority(m);
    *at = n;
    m->count++;
    while (n->parent != NULL && n->parent->priority < n->priority)
        rotate_up(m, n);
    return NULL;
}

void *cd_map_remove(struct cd_map *m, struct cd_str key)
{
    struct cd_map_node *n = find(m, key);
    if (n == NULL)
        return NULL;
    while (n->child[0] != NULL && n->child[1] != NULL)
        rotate_up(m, n->child[n->child[1]->priority > n->child[0]->priority]);
    struct cd_map_node *rest = n->child[n->child[0] == NULL];
    *link_to(m, n) = rest;
    if (rest != NULL)
        rest->parent = n->parent;
    void *value = n->value;
    cd_free(n);
    m->count--;
    return value;
}

void *cd_map_get_u64(const struct cd_map *m, uint64_t key)
{
    char bytes[8];
    key_of_u64(bytes, key);
    return cd_map_get(m, cd_str_of(bytes, 8));
}

void *cd_map_put_u64(struct cd_map *m, uint64_t key, void *value)
{
    char bytes[8];
    key_of_u64(bytes, key);
    return cd_map_put(m, cd_str_of(bytes, 8), value);
}

void *cd_map_remove_u64(struct cd_map *m, uint64_t key)
{
    char bytes[8];
    key_of_u64(bytes, key);
    return cd_map_remove(m, cd_str_of(bytes, 8));
}

static struct cd_map_node *outermost(struct cd_map_node *n, unsigned side)
{
    while (n != NULL && n->child[side] != NULL)
        n = n->child[side];
    return n;
}

static struct cd_map_node *step(const struct cd_map_node *n, unsigned side)
{
    if (n->child[side] != NULL)
        return outermost(n->child[side], !side);
    while (n->parent != NULL && n->parent->child[side] == n)
        n = n->parent;
    return n->parent;
}

struct cd_map_node *cd_map_first(const struct cd_map *m)
{
    return outermost(m->root, 0);
}

struct cd_map_node *cd_map_last(const struct cd_map *m)
{
    return outermost(m->root, 1);
}

struct cd_map_node *cd_map_next(const struct cd_map_node *n)
{
    return step(n, 1);
}

struct cd_map_node *cd_map_prev(const struct cd_map_node *n)
{
    return step(n, 0);
}

struct cd_map_node *cd_map_at_or_after(const struct cd_map *m, struct cd_str key)
{
    struct cd_map_node *n = m->root, *best = NULL;
    while (n != NULL) {
        if (cd_str_cmp(cd_map_key(n), key) >= 0) {
            best = n;
            n = n->child[0];
        } else {
            n = n->child[1];
        }
    }
    return best;
}

struct cd_map_node *cd_map_at_or_after_u64(const struct cd_map *m, uint64_t key)
{
    char bytes[8];
    key_of_u64(bytes, key);
    return cd_map_at_or_after(m, cd_str_of(bytes, 8));
}

void cd_map_deinit(struct cd_map *m)
{
    /* Children first, without recursion: go down to a leaf, free it, go on at its parent. */
    struct cd_map_node *n = m->root;
    while (n != NULL) {
        unsigned side = n->child[0] != NULL ? 0 : 1;
        if (n->child[side] != NULL) {
            struct cd_map_node *down = n->child[side];
            n->child[side] = NULL;
            n = down;
            continue;
        }
        struct cd_map_node *up = n->parent;
        cd_free(n);
        n = up;
    }
    *m = (struct cd_map){0};
}
