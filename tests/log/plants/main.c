/* tests/log/plants/main.c: each bug that is planted in the leader is caught by the observers of tests/log, by
 * the rule that is named for it, within the seeds allowed; without it the same seeds are clean. This program
 * has src/log compiled with its plants (fleet.md 11.5, simulation.md 8). */
#include "../world.h"

#include "io_sim/plant.h"

#define SEEDS 60u

static const struct planted {
    const char *name, *id, *rule;
    struct world_opts opts;
} plants[] = {
    {"log.hole", "B13", "C-ACK", {.pipeline = 4, .faults = true}},
    {"log.unread", "B14", "C-ACK", {.faults = true, .blind_folder = true}},
    {"log.slot-before-open", "B85", "C-LOG", {.faults = true}},
    {"log.other-id", "B87", "C-LOG", {.rows_per_s = 20, .late_ns = IO_MS(15030), .for_ns = IO_SEC(60)}},
    {"log.fold-above-hole", "B94", "C-CHAIN", {.pipeline = 4, .faults = true}},
    {"log.cut-before-apart", "B95", "C-SEAL", {.faults = true, .large = true}},
    {"log.beyond-pipeline", "B96", "C-LOG", {.pipeline = 2, .rows_per_s = 200, .faults = true}},
    {"log.drop-cut", "B102", "C-SETTLE", {.resets = true, .faults = true}},
    {"log.packed-again",
     "B103",
     "C-ACK",
     {.pipeline = 1, .rows_per_s = 20, .late_ns = IO_MS(15030), .for_ns = IO_SEC(60), .blind_folder = true}},
    {"log.plain-put", "-", "C-LOG", {.faults = true, .seal = true}},
};

/* The rule that broke first; NULL: none did in these seeds. Says where. */
static const char *broken_by(const struct planted *p, const char *plant, unsigned seeds, struct cd_buf *why,
                             uint64_t *hits)
{
    const char *rule = NULL;
    *hits = 0;
    for (uint64_t seed = 1; rule == NULL && seed <= seeds; seed++) {
        struct world w;
        struct world_opts opts = p->opts;
        opts.seed = seed;
        opts.for_ns = opts.for_ns != 0 ? opts.for_ns : IO_SEC(4);
        CD_ASSERT(sim_plant_set(plant));
        world_run(&w, &opts);
        *hits += sim_plant_hits();
        rule = w.broken;
        cd_buf_clear(why);
        cd_buf_add_str(why, cd_buf_str(&w.why));
        CD_ASSERT(sim_plant_set(NULL)); /* The end is not to be harmed. */
        world_deinit(&w);
    }
    return rule;
}

int main(void)
{
    unsigned failed = 0;
    struct cd_buf why = {0};
    uint64_t hits;
    for (size_t i = 0; i < CD_COUNT(plants); i++) {
        const struct planted *p = &plants[i];
        const char *rule = broken_by(p, p->name, SEEDS, &why, &hits);
        bool caught = rule != NULL && strcmp(rule, p->rule) == 0;
        printf("%-10s %-4s %-22s %s\n",
               caught      ? "caught"
               : hits == 0 ? "NOT MET"
                           : "NOT CAUGHT",
               p->id, p->name, cd_buf_cstr(&why));
        const char *clean = broken_by(p, NULL, 3, &why, &hits);
        if (clean != NULL)
            printf("FAILS WITHOUT ITS BUG  %s\n", cd_buf_cstr(&why));
        failed += !caught || clean != NULL;
    }
    cd_buf_deinit(&why);
    printf("%zu planted, %u not as expected\n", CD_COUNT(plants), failed);
    return failed != 0;
}
