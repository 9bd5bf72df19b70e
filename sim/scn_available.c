/* sim/scn_available.c: what of the scenario language has a program behind it today. The language is read
 * whole, and a statement without effect would make a test that proves nothing: so it is refused by name. */
#include <stdio.h>

#include "sim/run.h"

/* What the workloads of today never do: a fault of it could not strike. */
static const char *const absent_settings[SCN_SETTING_COUNT] = {
    [SCN_JS_PROJECT] = "there is one Worker, sim/js/worker.js",
};
/* Calls a node can be crashed at: patterns of sim_at_call, of the groups that workloads use. */
static const char *const calls[] = {
    "any",           "net",         "net.listen", "net.accept", "net.connect", "net.read",
    "net.write",     "net.finish",  "file",       "file.open",  "file.read",   "file.write",
    "file.truncate", "file.size",   "file.sync",  "path",       "path.stat",   "path.mkdir",
    "path.rename",   "path.remove", "path.sync",  "path.list",
};
static const char *const store_calls[] = {"store",     "store.get",    "store.head",
                                          "store.put", "store.delete", "store.list"};
static const char *const absent_calls[] = {"store", "http", "child"};

static int refuse(struct cd_buf *why, const char *name, unsigned line, const char *what, const char *reason)
{
    cd_buf_addf(why, "%s:%u: '%s' is not available yet: %s", name, line, what, reason);
    return CD_EUNSUPPORTED;
}

static const char no_cells[] = "only cells use the store, and this scenario has none";

static bool has_cells(const struct scn *s)
{
    return s->has[SCN_LOAD_LEDGER] || s->has[SCN_LOAD_STORAGE] || s->has[SCN_LOAD_ALARMS];
}

unsigned scn_clients(const struct scn *s)
{
    static const struct {
        enum scn_group load;
        enum scn_setting clients;
    } loads[] = {{SCN_LOAD_HTTP, SCN_HTTP_CLIENTS},
                 {SCN_LOAD_JS, SCN_JS_CLIENTS},
                 {SCN_LOAD_STORAGE, SCN_STORAGE_CLIENTS},
                 {SCN_LOAD_ALARMS, SCN_ALARMS_CLIENTS},
                 {SCN_LOAD_LEDGER, SCN_LEDGER_CLIENTS}};
    unsigned sum = 0;
    for (unsigned i = 0; i < CD_COUNT(loads); i++)
        sum += s->has[loads[i].load] ? (unsigned)scn_get(s, loads[i].clients) : 0;
    return sum;
}

static int check_settings(const struct scn *s, const char *name, struct cd_buf *why)
{
    static const enum scn_group of_cells[] = {SCN_STORE, SCN_CELLS};
    for (unsigned i = 0; i < CD_COUNT(of_cells) && !has_cells(s); i++) {
        if (s->has[of_cells[i]])
            return refuse(why, name, s->group_line[of_cells[i]], scn_group_text(of_cells[i]), no_cells);
    }
    if (has_cells(s) && !run_has_kind(SCN_LOAD_LEDGER))
        return refuse(why, name, s->group_line[SCN_LOAD_LEDGER], "a load of cells",
                      "this program has none; celld-sim has");
    if (s->value[SCN_FLEET_TTL].set && !has_cells(s))
        return refuse(why, name, s->group_line[SCN_FLEET], "fleet ttl=", no_cells);
    if (s->value[SCN_FLEET_DURABILITY].set && !has_cells(s))
        return refuse(why, name, s->group_line[SCN_FLEET], "fleet durability=", no_cells);
    if (scn_get(s, SCN_FLEET_DURABILITY) == 1 && scn_get(s, SCN_CELLS_SOLE) == 1) {
        cd_buf_addf(why, "%s:%u: sole=1 is a bucket of one node: there is nobody to follow it", name,
                    s->group_line[SCN_CELLS]);
        return CD_EUNSUPPORTED;
    }
    if (scn_get(s, SCN_CELLS_SOLE) == 1 && scn_get(s, SCN_FLEET_NODES) > 1) {
        cd_buf_addf(why, "%s:%u: sole=1 is a bucket of one node, this fleet has more", name,
                    s->group_line[SCN_CELLS]);
        return CD_EUNSUPPORTED;
    }
    if (scn_clients(s) > SCN_CLIENTS_MAX) {
        cd_buf_addf(why, "%s: %u clients in all loads, want at most %d", name, scn_clients(s),
                    SCN_CLIENTS_MAX);
        return CD_EUNSUPPORTED;
    }
    if (s->has[SCN_LOAD_JS] && !run_has_kind(SCN_LOAD_JS))
        return refuse(why, name, s->group_line[SCN_LOAD_JS], "load js",
                      "this program has no JavaScript; celld-sim-js has");
    if (s->has[SCN_LOAD_JS] && s->has[SCN_LOAD_HTTP])
        return refuse(why, name, s->group_line[SCN_LOAD_JS], "load js beside load http",
                      "both listen at the same port");
    for (unsigned i = 0; i < SCN_SETTING_COUNT; i++) {
        if (!s->value[i].set || absent_settings[i] == NULL)
            continue;
        const struct scn_setting_info *info = scn_setting_info(i);
        char what[SCN_NAME_MAX];
        (void)snprintf(what, sizeof what, "%s %s=", scn_group_text(info->group), info->key);
        return refuse(why, name, s->group_line[info->group], what, absent_settings[i]);
    }
    if (!s->has[SCN_LOAD_HTTP] && !s->has[SCN_LOAD_FILES] && !s->has[SCN_LOAD_JS] && !has_cells(s)) {
        cd_buf_addf(why, "%s: no load statement: nothing would run", name);
        return CD_EUNSUPPORTED;
    }
    return 0;
}

/* Nodes and clients that a step may name: those from the start and those that some step lets join. */
struct cast {
    unsigned nodes, clients;
    bool joins[SCN_NODES_MAX + 1];
    bool cells; /* And so a store, and something to drain. */
};

static int check_who(const struct scn_step *p, struct scn_who who, const struct cast *cast, const char *name,
                     struct cd_buf *why)
{
    switch (who.kind) {
    case SCN_ONE_NODE:
        if (who.index <= cast->nodes || cast->joins[who.index])
            return 0;
        cd_buf_addf(why, "%s:%u: n%u is not in this fleet of %u", name, p->line, who.index, cast->nodes);
        return CD_EUNSUPPORTED;
    case SCN_ONE_CLIENT:
        if (who.index <= cast->clients)
            return 0;
        cd_buf_addf(why, "%s:%u: c%u is not among these %u clients", name, p->line, who.index, cast->clients);
        return CD_EUNSUPPORTED;
    case SCN_THE_STORE:
        return cast->cells ? 0 : refuse(why, name, p->line, "a step about the store", no_cells);
    case SCN_NOBODY:
    case SCN_ALL_NODES:
    case SCN_ALL_CLIENTS: return 0;
    }
    CD_UNREACHABLE();
}

static int check_call(const struct scn_step *p, const struct cast *cast, const char *name, struct cd_buf *why)
{
    if (p->name[0] == 0)
        return 0;
    for (size_t i = 0; i < CD_COUNT(store_calls) && cast->cells; i++) {
        if (strcmp(p->name, store_calls[i]) == 0)
            return 0;
    }
    for (size_t i = 0; i < CD_COUNT(calls); i++) {
        if (strcmp(p->name, calls[i]) == 0)
            return 0;
    }
    struct cd_str call = cd_str(p->name);
    char what[SCN_NAME_MAX + 10];
    (void)snprintf(what, sizeof what, "at-call %s", p->name);
    for (size_t i = 0; i < CD_COUNT(absent_calls); i++) {
        if (cd_str_starts(call, cd_str(absent_calls[i])))
            return refuse(why, name, p->line, what, "no workload makes it");
    }
    cd_buf_addf(why, "%s:%u: '%s': no such call", name, p->line, what);
    return CD_EUNSUPPORTED;
}

static int check_step(const struct scn_step *p, const struct cast *cast, const char *name, struct cd_buf *why)
{
    if ((p->action == SCN_STORE_DOES || p->action == SCN_LATE_PUT || p->action == SCN_DRAIN ||
         p->action == SCN_MEMORY_IS) &&
        !cast->cells)
        return refuse(why, name, p->line, scn_action_text(p->action), no_cells);
    if (p->action == SCN_JOIN && p->a.index <= cast->nodes) {
        cd_buf_addf(why, "%s:%u: n%u is in the fleet from the start", name, p->line, p->a.index);
        return CD_EUNSUPPORTED;
    }
    int rc = check_who(p, p->a, cast, name, why);
    if (rc == 0)
        rc = check_who(p, p->b, cast, name, why);
    if (rc == 0 && p->action == SCN_CRASH)
        rc = check_call(p, cast, name, why);
    return rc;
}

int scn_available(const struct scn *s, const char *name, struct cd_buf *why)
{
    int rc = check_settings(s, name, why);
    struct cast cast = {.nodes = (unsigned)scn_get(s, SCN_FLEET_NODES), .clients = scn_clients(s)};
    cast.cells = has_cells(s);
    for (unsigned i = 0; i < s->steps; i++) {
        if (s->step[i].action == SCN_JOIN && scn_get(s, SCN_CELLS_SOLE) == 1)
            return refuse(why, name, s->step[i].line, "join", "sole=1 is a bucket of one node");
        if (s->step[i].action == SCN_JOIN)
            cast.joins[s->step[i].a.index] = true;
    }
    for (unsigned i = 0; rc == 0 && i < s->steps; i++)
        rc = check_step(&s->step[i], &cast, name, why);
    return rc;
}
