/* tests/log/plants/follower.c: each bug that is planted in the follower's store is caught by the observers of
 * follow.c, by the rule that is named for it (fleet.md 11.5). */
#include "../follow.h"

#include "io_sim/plant.h"

#define SEEDS 400u

static const struct planted {
    const char *name, *id, *rule;
    bool damage;
} plants[] = {
    {"follower.seal-after-answer", "B22", "C-ACK", false},
    {"follower.forgets-seal", "B22", "C-ACK", false},
    {"follower.ignores-seal", "B23", "C-ACK", false},
    {"follower.leaders-word", "B24", "C-ACK", false},
    {"follower.no-file-sync", "B25", "C-ACK", false},
    {"follower.no-dir-sync", "B25", "C-ACK", false},
    {"follower.trusts-cache", "B25", "C-ACK", false},
    {"follower.named-first", "-", "C-ACK", false},
    {"follower.gap", "B26", "C-ACK", false},
    {"follower.always-complete", "B30", "C-SEAL", true},
    {"follower.gc-open", "B43", "C-GC", false},
    {"follower.gc-unread-lease", "B82", "C-GC", false},
    {"follower.without-authority", "B79", "C-ACK", false},
    {"follower.unverified", "B80", "C-ACK", false},
    {"follower.other-epoch", "B97", "C-SEAL", false},
};

static const char *broken_by(const struct planted *p, const char *plant, unsigned seeds, struct cd_buf *why,
                             uint64_t *hits)
{
    const char *rule = NULL;
    *hits = 0;
    for (uint64_t seed = 1; rule == NULL && seed <= seeds; seed++) {
        struct follow f = {.seed = seed, .damage = p->damage, .gc = strcmp(p->rule, "C-GC") == 0};
        CD_ASSERT(sim_plant_set(plant));
        follow_run(&f);
        *hits += sim_plant_hits();
        rule = f.broken;
        cd_buf_clear(why);
        cd_buf_add_str(why, cd_buf_str(&f.why));
        CD_ASSERT(sim_plant_set(NULL));
        follow_deinit(&f);
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
        printf("%-10s %-4s %-28s %s\n",
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
