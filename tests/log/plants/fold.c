/* tests/log/plants/fold.c: each bug that is planted in the folder and in recovery is caught by the observers
 * of tests/log/life_truth.c, by the rule that is named for it, within the seeds allowed; without it the same
 * seeds are clean. This program has src/log compiled with its plants (fleet.md 11.5, simulation.md 8). */
#include "../life.h"

#include "io_sim/plant.h"

#define SEEDS 25u

static const struct planted {
    const char *name, *id, *rule; /* One of these rules: which one depends on the seed. */
    struct life_opts opts;
} plants[] = {
    {"floor.uncovered", "B42", "C-GC", {.faults = true}},
    {"floor.no-checkpoint", "B99", "C-WAKE", {.slots = 60}},
    {"floor.checkpoint-ahead", "B98", "C-WAKE", {.slots = 60}},
    {"floor.delete-first", "B89", "C-GC", {.slots = 60}},
    {"floor.plain-put", "B89", "C-LOG", {.slots = 80, .zombie = true, .faults = true, .stale = true}},
    {"fold.next-before-stored", "B52", "C-CHAIN", {.faults = true}},
    {"fold.finish-early", "B41", "C-SEAL", {.graceful = true}},
    {"recover.skips-slot", "B34", "C-SEAL C-WAKE", {.rotten = true}},
    {"recover.list-error-is-empty", "B36", "C-SETTLE", {.listless = true}},
    {"recover.early-checkpoint", "B37", "C-SEAL", {.slots = 60, .unfolded = true}},
    {"recover.page-is-all", "", "C-SETTLE", {.slots = 60}},
    {"recover.no-claim", "B38", "C-LOG", {.faults = false}},
    {"recover.past-the-seal", "B86", "C-EPOCH C-SETTLE", {.holes = true, .racers = true}},
    {"recover.hole-sealed", "B90", "C-LOG", {.lost = true}},
    {"clean.seal-too", "B91", "C-LOG", {.faults = false}},
    {"recover.absent-is-finished", "B92", "C-OWN", {.silent = true}},
    {"recover.seal-before-packs", "B101", "C-WAKE", {.faults = false}},
    {"recover.batch-of-leftover", "B106", "C-SEAL", {.holes = true}},
};

/* The rule that broke first; NULL: none did in these seeds. Says where. */
static const char *broken_by(const struct planted *p, const char *plant, unsigned seeds, struct cd_buf *why,
                             uint64_t *hits)
{
    const char *rule = NULL;
    *hits = 0;
    for (uint64_t seed = 1; rule == NULL && seed <= seeds; seed++) {
        struct life l;
        struct life_opts opts = p->opts;
        opts.seed = seed;
        CD_ASSERT(sim_plant_set(plant));
        life_run(&l, &opts);
        *hits += sim_plant_hits();
        rule = l.broken;
        cd_buf_clear(why);
        cd_buf_add_str(why, cd_buf_str(&l.why));
        CD_ASSERT(sim_plant_set(NULL)); /* The end is not to be harmed. */
        life_deinit(&l);
    }
    return rule;
}

int main(int argc, char **argv)
{
    unsigned failed = 0;
    struct cd_buf why = {0};
    uint64_t hits;
    for (size_t i = 0; i < CD_COUNT(plants); i++) {
        const struct planted *p = &plants[i];
        if (argc > 1 && strcmp(argv[1], p->id) != 0)
            continue;
        const char *rule = broken_by(p, p->name, SEEDS, &why, &hits);
        bool caught = rule != NULL && strstr(p->rule, rule) != NULL;
        printf("%-10s %-4s %-28s %s\n",
               caught      ? "caught"
               : hits == 0 ? "NOT MET"
                           : "NOT CAUGHT",
               p->id, p->name, cd_buf_cstr(&why));
        const char *clean = broken_by(p, NULL, 2, &why, &hits);
        if (clean != NULL)
            printf("FAILS WITHOUT ITS BUG  %s\n", cd_buf_cstr(&why));
        failed += !caught || clean != NULL;
        (void)fflush(stdout);
    }
    cd_buf_deinit(&why);
    printf("%zu planted, %u not as expected\n", CD_COUNT(plants), failed);
    return failed != 0;
}
