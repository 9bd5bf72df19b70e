/* sim/scn_print.c: a scenario as text, one statement per line, in the order in which a reader wants to meet
 * them. */
#include "sim/quantity.h"
#include "sim/scn.h"

static void print_time(struct cd_buf *out, uint64_t ns)
{
    cd_buf_add_byte(out, ' ');
    quantity_print_duration(out, ns);
}

static void print_word(struct cd_buf *out, struct cd_str words, uint64_t index)
{
    struct cd_str piece = {0};
    for (uint64_t i = 0; i <= index; i++) {
        bool found = cd_str_next(&words, '|', &piece);
        CD_ASSERT(found);
    }
    cd_buf_add_str(out, piece);
}

static void print_value(struct cd_buf *out, const struct scn *s, enum scn_setting id)
{
    const struct scn_setting_info *info = scn_setting_info(id);
    const struct scn_value *v = &s->value[id];
    switch (info->kind) {
    case SCN_COUNT: cd_buf_addf(out, "%llu", (unsigned long long)v->lo); break;
    case SCN_TIME: quantity_print_duration(out, v->lo); break;
    case SCN_SPAN:
        quantity_print_duration(out, v->lo);
        if (v->hi != v->lo) {
            cd_buf_addf(out, "..");
            quantity_print_duration(out, v->hi);
        }
        break;
    case SCN_RATIO: quantity_print_ratio(out, v->lo); break;
    case SCN_RATE: quantity_print_rate(out, v->lo); break;
    case SCN_BYTES: quantity_print_bytes(out, v->lo); break;
    case SCN_WORD: print_word(out, cd_str(info->words), v->lo); break;
    case SCN_TEXT: cd_buf_addf(out, "%s", s->text); break;
    }
}

static void print_group(struct cd_buf *out, const struct scn *s, enum scn_group group)
{
    cd_buf_addf(out, "%s", scn_group_text(group));
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        const struct scn_setting_info *info = scn_setting_info(i);
        if (info->group != group || !s->value[i].set)
            continue;
        cd_buf_addf(out, " %s=", info->key);
        print_value(out, s, i);
    }
    cd_buf_add_byte(out, '\n');
}

void scn_print_who(struct cd_buf *out, struct scn_who who)
{
    switch (who.kind) {
    case SCN_NOBODY: break;
    case SCN_ONE_NODE: cd_buf_addf(out, "n%u", who.index); break;
    case SCN_ONE_CLIENT: cd_buf_addf(out, "c%u", who.index); break;
    case SCN_THE_STORE: cd_buf_addf(out, "store"); break;
    case SCN_ALL_NODES: cd_buf_addf(out, "all"); break;
    case SCN_ALL_CLIENTS: cd_buf_addf(out, "clients"); break;
    }
}

/* "file.sync+2", or the name alone for the first time. */
static void print_nth(struct cd_buf *out, const char *name, unsigned nth)
{
    cd_buf_addf(out, " %s", name);
    if (nth > 1)
        cd_buf_addf(out, "+%u", nth);
}

static void print_link(struct cd_buf *out, const struct scn_step *p)
{
    cd_buf_add_byte(out, ' ');
    scn_print_who(out, p->a);
    cd_buf_addf(out, p->both_ways ? " <-> " : " -> ");
    scn_print_who(out, p->b);
}

static void print_skew(struct cd_buf *out, const struct scn_step *p)
{
    uint64_t by = p->step_ns < 0 ? 0 - (uint64_t)p->step_ns : (uint64_t)p->step_ns;
    cd_buf_addf(out, " %c", p->step_ns < 0 ? '-' : '+');
    quantity_print_duration(out, by);
    if (p->drift_ppm != 0)
        cd_buf_addf(out, " drift %dppm", p->drift_ppm);
}

static void print_store(struct cd_buf *out, const struct scn_step *p)
{
    if (p->name[0] != 0)
        cd_buf_addf(out, " %s %s", p->name, p->pattern);
    cd_buf_addf(out, " %s", scn_store_effect_text(p->effect));
    if (p->effect == SCN_STORE_THROTTLE || p->effect == SCN_STORE_FAIL) {
        cd_buf_add_byte(out, ' ');
        quantity_print_ratio(out, p->ppm);
    }
    if (p->for_ns > 0)
        print_time(out, p->for_ns);
}

static void print_action(struct cd_buf *out, const struct scn_step *p)
{
    bool about_one = p->action != SCN_CUT && p->action != SCN_CLOG && p->action != SCN_RESET &&
                     p->action != SCN_HEAL && p->action != SCN_LATE_PUT;
    cd_buf_addf(out, "%s", scn_action_text(p->action));
    if (about_one) {
        cd_buf_add_byte(out, ' ');
        scn_print_who(out, p->a);
    }
    switch (p->action) {
    case SCN_CUT:
    case SCN_CLOG:
    case SCN_RESET:
        print_link(out, p);
        if (p->for_ns > 0)
            print_time(out, p->for_ns);
        break;
    case SCN_SWIZZLE:
    case SCN_PAUSE: print_time(out, p->for_ns); break;
    case SCN_CRASH:
        if (p->kill)
            cd_buf_addf(out, " kill");
        if (p->name[0] != 0) {
            cd_buf_addf(out, " at-call");
            print_nth(out, p->name, p->nth);
        }
        break;
    case SCN_RESTART: cd_buf_addf(out, p->wipe ? " wipe" : ""); break;
    case SCN_SKEW: print_skew(out, p); break;
    case SCN_DISK_IS: print_nth(out, scn_disk_text(p->disk), p->nth); break;
    case SCN_MEMORY_IS: cd_buf_addf(out, " %s", scn_memory_text(p->memory)); break;
    case SCN_STORE_DOES: print_store(out, p); break;
    case SCN_LATE_PUT:
        cd_buf_addf(out, " put %s", p->pattern);
        print_time(out, p->for_ns);
        break;
    case SCN_JOIN:
    case SCN_DRAIN:
    case SCN_HEAL: break;
    case SCN_ACTION_COUNT: CD_UNREACHABLE();
    }
    cd_buf_add_byte(out, '\n');
}

void scn_print_step(struct cd_buf *out, const struct scn_step *p)
{
    switch (p->trigger) {
    case SCN_AT:
        cd_buf_addf(out, "at");
        print_time(out, p->at_ns);
        break;
    case SCN_WHEN_MARK:
        cd_buf_addf(out, "when mark");
        print_nth(out, p->when, p->when_nth);
        break;
    case SCN_WHEN_EVENT:
        cd_buf_addf(out, "when event");
        print_nth(out, p->when, p->when_nth);
        break;
    }
    cd_buf_add_byte(out, ' ');
    print_action(out, p);
}

static void print_expect(struct cd_buf *out, const struct scn_expect *e)
{
    switch (e->kind) {
    case SCN_NO_FAILURE: cd_buf_addf(out, "expect no-failure\n"); break;
    case SCN_MARK: cd_buf_addf(out, "expect mark %s\n", e->name); break;
    case SCN_FAILS: cd_buf_addf(out, "expect fails %s\n", e->name); break;
    case SCN_SERVED:
        cd_buf_addf(out, "expect served all by");
        print_time(out, e->by_ns);
        cd_buf_add_byte(out, '\n');
        break;
    }
}

void scn_print(struct cd_buf *out, const struct scn *s)
{
    cd_buf_addf(out, "scn %d\n", SCN_VERSION);
    if (s->has_seed)
        cd_buf_addf(out, "seed %llu\n", (unsigned long long)s->seed);
    for (unsigned i = 0; i < SCN_GROUP_COUNT; i++) {
        if (s->has[i])
            print_group(out, s, i);
    }
    for (unsigned i = 0; i < s->steps; i++)
        scn_print_step(out, &s->step[i]);
    if (s->plant[0] != 0)
        cd_buf_addf(out, "plant %s\n", s->plant);
    for (unsigned i = 0; i < s->expects; i++)
        print_expect(out, &s->expect[i]);
}
