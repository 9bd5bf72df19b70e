#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "sim/model/slot_log.h"

static const char usage[] =
    "usage: slot_log                 every configuration, then every planted bug; takes under a minute and a "
    "GB\n"
    "       slot_log NAME=VALUE...   one configuration\n"
    "CONFIG=a..i first, then changes to it: K batches, P pipeline, A PUTs per slot, X PUTs per seal,\n"
    "MEMBERS followers, EPOCHS log epochs, RECOVERERS, GC floor and deletes, CLOSE a graceful end, DISKS "
    "that\n"
    "are lost, UNCLEAR answers to CAS of the record. LIMIT of states; BUG=NAME plants one; TRACE=1 prints "
    "the shortest run to a violation. Exit code 0: the verdict is the wanted one.\n";

#define LIMIT 12000000u

static const struct {
    const char *name;
    char config;
} bugs[] = {{"", 'a'},
#define X(name, text, config) {text, config},
            MODEL_BUGS(X)
#undef X
};

static void configure(struct model *m, char which)
{
    /* a: bucket proofs and floor. b: two recoverers. c: two followers. d: change of ensemble. e: graceful
     * end. f: a follower loses its disk. g: unclear answers to CAS of the record. h: both, and two
     * recoverers. i: two recoverers, a follower, unclear answers. Batches, pipeline, PUTs per slot and per
     * seal, followers, log epochs, recoverers, floors, closes, disks, unclear. */
    static const unsigned row[][11] = {
        {3, 2, 2, 1, 0, 0, 1, 1, 0, 0, 0}, {2, 2, 1, 1, 0, 0, 2, 1, 0, 0, 0},
        {2, 2, 1, 1, 2, 1, 1, 0, 0, 0, 0}, {3, 2, 1, 1, 1, 2, 1, 0, 0, 0, 0},
        {2, 2, 2, 1, 0, 0, 1, 1, 1, 0, 0}, {2, 2, 1, 1, 2, 1, 1, 0, 0, 1, 0},
        {2, 1, 1, 1, 1, 2, 1, 0, 1, 0, 1}, {1, 1, 1, 1, 2, 1, 2, 0, 0, 1, 1},
        {2, 1, 1, 1, 1, 1, 2, 0, 0, 0, 1},
    };
    const unsigned *r = row[which - 'a'];
    m->batches = r[0];
    m->pipeline = r[1];
    m->puts = r[2];
    m->seal_puts = r[3];
    m->members = r[4];
    m->epochs = r[5];
    m->recoverers = r[6];
    m->floors = r[7];
    m->closes = r[8];
    m->disks = r[9];
    m->unclear = r[10];
}

static bool run(struct model *m, const char *name, const char *want, bool trace)
{
    const char *verdict = model_run(m);
    bool as_wanted = strncmp(verdict, want, strlen(want)) == 0;
    printf("%-10s K=%u P=%u A=%u X=%u members=%u epochs=%u recoverers=%u gc=%u close=%u disks=%u unclear=%u: "
           "%s, %u states%s\n",
           name, m->batches, m->pipeline, m->puts, m->seal_puts, m->members, m->epochs, m->recoverers,
           m->floors, m->closes, m->disks, m->unclear, verdict, m->count, as_wanted ? "" : " UNEXPECTED");
    if (trace || !as_wanted)
        model_trace(m);
    (void)fflush(stdout);
    return as_wanted;
}

static int run_all(void)
{
    struct model m = {0};
    bool good = true;
    model_init(&m, LIMIT);
    for (const char *c = "abcdefghi"; *c != 0; c++) {
        const char name[2] = {*c, 0};
        configure(&m, *c);
        good = run(&m, name, "COMPLETE", false) && good;
    }
    for (unsigned i = 1; i < CD_COUNT(bugs); i++) {
        configure(&m, bugs[i].config);
        m.bug = (enum model_bug)i;
        good = run(&m, bugs[i].name, "VIOLATION", false) && good;
    }
    puts(good ? "all verdicts as expected" : "UNEXPECTED VERDICT");
    model_deinit(&m);
    return good ? 0 : 1;
}

/* One NAME=VALUE. False: unknown, or out of bounds. */
static bool take(struct model *m, const char *arg, uint32_t *limit, bool *trace)
{
    const struct {
        const char *name;
        unsigned *into, low, high;
    } number[] = {{"K", &m->batches, 1, 3},       {"P", &m->pipeline, 1, 3},
                  {"A", &m->puts, 1, 2},          {"X", &m->seal_puts, 1, 2},
                  {"MEMBERS", &m->members, 0, 2}, {"EPOCHS", &m->epochs, 0, 2},
                  {"GC", &m->floors, 0, 1},       {"RECOVERERS", &m->recoverers, 1, 2},
                  {"CLOSE", &m->closes, 0, 1},    {"DISKS", &m->disks, 0, 2},
                  {"UNCLEAR", &m->unclear, 0, 1}};
    struct cd_str name, value = cd_str(arg);
    uint64_t v;
    (void)cd_str_next(&value, '=', &name);
    if (cd_str_eq(name, CD_STR("CONFIG")) && value.len == 1 && value.ptr[0] >= 'a' && value.ptr[0] <= 'i') {
        configure(m, value.ptr[0]);
        return true;
    }
    for (unsigned i = 1; cd_str_eq(name, CD_STR("BUG")) && i < CD_COUNT(bugs); i++) {
        if (cd_str_eq(value, cd_str(bugs[i].name))) {
            m->bug = (enum model_bug)i;
            return true;
        }
    }
    if (cd_str_u64(value, &v) != 0)
        return false;
    if (cd_str_eq(name, CD_STR("TRACE")) && v <= 1) {
        *trace = v == 1;
        return true;
    }
    if (cd_str_eq(name, CD_STR("LIMIT")) && v >= 1 && v <= 1000000000) {
        *limit = (uint32_t)v;
        return true;
    }
    for (size_t i = 0; i < CD_COUNT(number); i++) {
        if (cd_str_eq(name, cd_str(number[i].name)) && v >= number[i].low && v <= number[i].high) {
            *number[i].into = (unsigned)v;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    struct model m = {0};
    uint32_t limit = LIMIT;
    bool trace = false;
    if (argc == 1)
        return run_all();
    configure(&m, 'a');
    for (int i = 1; i < argc; i++) {
        if (!take(&m, argv[i], &limit, &trace)) {
            (void)fprintf(stderr, "slot_log: %s: not known, or out of bounds\n%s", argv[i], usage);
            return 2;
        }
    }
    model_init(&m, limit);
    bool good = run(&m, bugs[m.bug].name, m.bug == BUG_NONE ? "COMPLETE" : "VIOLATION", trace);
    model_deinit(&m);
    return good ? 0 : 1;
}
