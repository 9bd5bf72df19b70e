/* base/list.h: intrusive doubly linked list, circular through its head. Order is insertion order. A list
 * needs cd_list_init; a link is zeroed before its first use. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/cd.h"

struct cd_link {
    struct cd_link *next, *prev; /* Both NULL: in no list. */
};

struct cd_list {
    struct cd_link head;
};

static inline void cd_list_init(struct cd_list *l)
{
    l->head.next = l->head.prev = &l->head;
}

static inline bool cd_list_empty(const struct cd_list *l)
{
    return l->head.next == &l->head;
}

static inline bool cd_link_linked(const struct cd_link *k)
{
    return k->next != NULL;
}

static inline void cd_list_insert_before(struct cd_link *at, struct cd_link *k)
{
    CD_ASSERT(!cd_link_linked(k));
    k->prev = at->prev;
    k->next = at;
    at->prev->next = k;
    at->prev = k;
}

static inline void cd_list_push(struct cd_list *l, struct cd_link *k) /* At the back. */
{
    cd_list_insert_before(&l->head, k);
}

static inline void cd_list_push_front(struct cd_list *l, struct cd_link *k)
{
    cd_list_insert_before(l->head.next, k);
}

static inline void cd_link_remove(struct cd_link *k) /* No effect on one that is in no list. */
{
    if (k->next == NULL)
        return;
    k->prev->next = k->next;
    k->next->prev = k->prev;
    k->next = k->prev = NULL;
}

static inline struct cd_link *cd_list_first(const struct cd_list *l) /* NULL when empty. */
{
    return cd_list_empty(l) ? NULL : l->head.next;
}

static inline struct cd_link *cd_list_pop(struct cd_list *l) /* From the front; NULL when empty. */
{
    struct cd_link *k = cd_list_first(l);
    if (k != NULL)
        cd_link_remove(k);
    return k;
}

static inline struct cd_link *cd_list_next(const struct cd_list *l,
                                           const struct cd_link *k) /* NULL at the end. */
{
    return k->next == &l->head ? NULL : k->next;
}

#endif
