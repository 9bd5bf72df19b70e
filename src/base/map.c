/* base/map.c: an AVL tree. The heights of the two sides of a node differ by one at most, so no choice of
 * keys, nor of the order they come in, makes it slow: keys are often chosen by peers and users. Its shape
 * depends on the calls alone. */
#include "base/map.h"

#include "base/map_internal.h"

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

/* Hangs n (NULL: nothing) where old was. */
static void replace(struct cd_map *m, struct cd_map_node *old, struct cd_map_node *n)
{
    *link_to(m, old) = n;
    if (n != NULL)
        n->parent = old->parent;
}

static unsigned height(const struct cd_map_node *n)
{
    return n == NULL ? 0 : n->height;
}

static void measure(struct cd_map_node *n)
{
    unsigned left = height(n->child[0]), right = height(n->child[1]);
    n->height = (unsigned char)(1 + (left > right ? left : right));
}

/* Lifts n above its parent. */
static void rotate_up(struct cd_map *m, struct cd_map_node *n)
{
    struct cd_map_node *p = n->parent;
    unsigned side = p->child[1] == n;
    struct cd_map_node *inner = n->child[!side];
    replace(m, p, n);
    p->child[side] = inner;
    if (inner != NULL)
        inner->parent = p;
    n->child[!side] = p;
    p->parent = n;
    measure(p);
    measure(n);
}

/* From n, one of whose sides became one higher or lower, upwards until a height is what it was. */
static void rebalance(struct cd_map *m, struct cd_map_node *n)
{
    while (n != NULL) {
        unsigned was = n->height, left = height(n->child[0]), right = height(n->child[1]);
        if (left > right + 1 || right > left + 1) {
            unsigned side = right > left;
            struct cd_map_node *c = n->child[side];
            if (height(c->child[!side]) > height(c->child[side]))
                rotate_up(m, c->child[!side]);
            c = n->child[side];
            rotate_up(m, c);
            n = c;
        } else {
            measure(n);
        }
        if (n->height == was)
            return;
        n = n->parent;
    }
}

/* Shorter keys end in zeros: heads that are equal decide nothing. */
static uint64_t head_of(struct cd_str key)
{
    unsigned char bytes[8] = {0};
    if (key.len > 0)
        memcpy(bytes, key.ptr, key.len < 8 ? key.len : 8);
    uint64_t head = 0;
    for (unsigned i = 0; i < 8; i++)
        head = head << 8 | bytes[i];
    return head;
}

static int compare(struct cd_str key, uint64_t head, const struct cd_map_node *n)
{
    if (head != n->head)
        return head < n->head ? -1 : 1;
    return cd_str_cmp(key, cd_map_key(n));
}

static struct cd_map_node *find(const struct cd_map *m, struct cd_str key)
{
    uint64_t head = head_of(key);
    struct cd_map_node *n = m->root;
    while (n != NULL) {
        int order = compare(key, head, n);
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
    uint64_t head = head_of(key);
    struct cd_map_node **at = &m->root, *parent = NULL;
    while (*at != NULL) {
        int order = compare(key, head, *at);
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
    n->head = head;
    n->len = key.len;
    n->value = value;
    n->parent = parent;
    n->height = 1;
    *at = n;
    m->count++;
    rebalance(m, parent);
    return NULL;
}

static struct cd_map_node *outermost(struct cd_map_node *n, unsigned side)
{
    while (n != NULL && n->child[side] != NULL)
        n = n->child[side];
    return n;
}

/* Takes n out of the tree; returns the lowest node that a side was taken from. */
static struct cd_map_node *detach(struct cd_map *m, struct cd_map_node *n)
{
    if (n->child[0] == NULL || n->child[1] == NULL) {
        replace(m, n, n->child[n->child[0] == NULL]);
        return n->parent;
    }
    /* The next key's node has no left side: it takes n's place. */
    struct cd_map_node *next = outermost(n->child[1], 0);
    struct cd_map_node *lowest = next->parent == n ? next : next->parent;
    replace(m, next, next->child[1]);
    for (unsigned side = 0; side < 2; side++) {
        next->child[side] = n->child[side];
        if (next->child[side] != NULL)
            next->child[side]->parent = next;
    }
    next->height = n->height;
    replace(m, n, next);
    return lowest;
}

void *cd_map_remove(struct cd_map *m, struct cd_str key)
{
    struct cd_map_node *n = find(m, key);
    if (n == NULL)
        return NULL;
    rebalance(m, detach(m, n));
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
    uint64_t head = head_of(key);
    struct cd_map_node *n = m->root, *best = NULL;
    while (n != NULL) {
        if (compare(key, head, n) <= 0) {
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
