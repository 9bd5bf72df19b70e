#include "sim/cell_watch.h"

#include <stdio.h>

static void changed(void *arg, const struct sim_store_change *change)
{
    const struct cell_watch *w = arg;
    char by[80] = "";
    if (change->by != NULL)
        (void)snprintf(by, sizeof by, "%s.%u", sim_node_name(change->by), change->life);
    cell_truth_change(w->truth,
                      &(struct cell_change){.key = change->key,
                                            .there = change->after != NULL,
                                            .body = change->after != NULL ? change->after->body : CD_STR(""),
                                            .by = cd_str(by),
                                            .now_ns = sim_now_ns(w->sim)});
}

void cell_watch(struct cell_watch *w, struct sim *sim, struct cell_truth *t)
{
    *w = (struct cell_watch){sim, t};
    sim_on_store(sim, changed, w);
}
