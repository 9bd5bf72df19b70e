/* io_sim/heap.c: events: their pool, and the heap that orders them by (time, tie, serial).
 *
 * The heap is 4-ary and keeps the keys beside the pointers, so that sifting rarely touches an event. An event
 * knows its place, so that a timer can be taken out when it is cancelled. */
#include "io_sim/kernel.h"

#define BLOCK_EVENTS 64u

struct sim_block {
    struct cd_link link;
    struct sim_event event[BLOCK_EVENTS];
};

const char *sim_kind_name(enum sim_kind kind)
{
    static const char *const name[] = {
#define X(id, text, counted) text,
        SIM_KINDS(X)
#undef X
    };
    CD_ASSERT((unsigned)kind < CD_COUNT(name));
    return name[kind];
}

struct sim_event *sim_event_new(struct sim *sim, struct sim_actor *a, enum sim_kind kind, sim_fire_fn *fire)
{
    struct cd_link *k = cd_list_pop(&sim->pool);
    if (k == NULL) {
        struct sim_block *b = cd_new(struct sim_block);
        cd_list_push(&sim->blocks, &b->link);
        for (unsigned i = 0; i < BLOCK_EVENTS; i++)
            cd_list_push(&sim->pool, &b->event[i].link);
        k = cd_list_pop(&sim->pool);
    }
    struct sim_event *e = CD_CONTAINER(k, struct sim_event, link);
    *e = (struct sim_event){.index = SIM_PARKED, .kind = kind, .actor = a, .fire = fire};
    e->serial = ++sim->next_serial;
    cd_list_push(&a->events, &e->all);
    return e;
}

void sim_event_free(struct sim *sim, struct sim_event *e)
{
    sim_unschedule(sim, e);
    cd_link_remove(&e->link);
    cd_link_remove(&e->all);
    e->fire = NULL;
    e->op = NULL;
    cd_list_push_front(&sim->pool, &e->link);
}

void sim_pool_deinit(struct sim *sim)
{
    struct cd_link *k;
    while ((k = cd_list_pop(&sim->blocks)) != NULL)
        cd_free(CD_CONTAINER(k, struct sim_block, link));
    cd_free(sim->heap);
    sim->heap = NULL;
    sim->heap_len = sim->heap_cap = 0;
}

static inline bool before(const struct sim_heap_slot *a, const struct sim_heap_slot *b)
{
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns;
    if (a->tie != b->tie)
        return a->tie < b->tie;
    return a->event->serial < b->event->serial;
}

static inline void place(struct sim *sim, uint32_t index, struct sim_heap_slot slot)
{
    sim->heap[index] = slot;
    slot.event->index = index;
}

static void sift_up(struct sim *sim, uint32_t index, struct sim_heap_slot slot)
{
    while (index > 0) {
        uint32_t parent = (index - 1) / 4;
        if (!before(&slot, &sim->heap[parent]))
            break;
        place(sim, index, sim->heap[parent]);
        index = parent;
    }
    place(sim, index, slot);
}

static void sift_down(struct sim *sim, uint32_t index, struct sim_heap_slot slot)
{
    for (;;) {
        uint32_t child = index * 4 + 1, end = child + 4, least = child;
        if (child >= sim->heap_len)
            break;
        if (end > sim->heap_len)
            end = sim->heap_len;
        for (uint32_t i = child + 1; i < end; i++) {
            if (before(&sim->heap[i], &sim->heap[least]))
                least = i;
        }
        if (!before(&sim->heap[least], &slot))
            break;
        place(sim, index, sim->heap[least]);
        index = least;
    }
    place(sim, index, slot);
}

void sim_heap_push(struct sim *sim, struct sim_event *e)
{
    CD_ASSERT(e->index == SIM_PARKED && e->fire != NULL);
    if (sim->heap_len == sim->heap_cap) {
        sim->heap_cap = sim->heap_cap == 0 ? 1024 : sim->heap_cap * 2;
        sim->heap = cd_realloc(sim->heap, sim->heap_cap * sizeof *sim->heap);
    }
    e->actor->scheduled++;
    sift_up(sim, sim->heap_len++, (struct sim_heap_slot){e->at_ns, e->tie, e});
}

void sim_unschedule(struct sim *sim, struct sim_event *e)
{
    if (e->index == SIM_PARKED)
        return;
    uint32_t index = e->index;
    CD_ASSERT(index < sim->heap_len && sim->heap[index].event == e);
    e->index = SIM_PARKED;
    e->actor->scheduled--;
    struct sim_heap_slot last = sim->heap[--sim->heap_len];
    if (last.event == e)
        return;
    if (index > 0 && before(&last, &sim->heap[(index - 1) / 4]))
        sift_up(sim, index, last);
    else
        sift_down(sim, index, last);
}

struct sim_event *sim_heap_pop(struct sim *sim)
{
    if (sim->heap_len == 0)
        return NULL;
    struct sim_event *e = sim->heap[0].event;
    sim_unschedule(sim, e);
    return e;
}
