/* cli/serve_ready.c: when a node says for the first time that it serves. operations.md 5.11; fleet.md 9.6. */
#include "cell/keeper.h"
#include "cli/serve_internal.h"
#include "fleet/gate.h"
#include "fleet/node.h"

#define LOOK_NS IO_SEC(1)

/* NULL, or what it waits for. */
static const char *closed(struct serve *s, bool *successor)
{
    const struct fleet_self *self = fleet_node_self(s->node);
    const struct cell_load *load = cell_keeper_load(s->keeper);
    const char *why = NULL;
    *successor = false;
    if (!fleet_authoritative(self->authority, io_now_ns(s->control)))
        return "own_lease";
    if (s->current == NULL)
        return "deployment";
    if (!load->confirmed)
        return "inventory";
    if (s->reload == NULL)
        cli_reload_begin(s);
    if (!cli_reload_over(s))
        return "reload";
    if (self->sole || cli_num(&s->c->settings, CLI_SET_READY_FLEET_GATE_MS) == 0)
        return NULL;
    const struct fleet_gate g = {.io = s->control,
                                 .bucket = io_bucket(s->control),
                                 .self = self,
                                 .owned = load->cells.owned,
                                 .activations = cli_serve_activations(s)};
    return fleet_gate_look(&g, &why, successor) == IO_OK ? why : "unreadable";
}

static void tell(struct serve *s, const char *event, enum cd_level level, const char *key, const char *why,
                 uint64_t since_ns)
{
    cd_event(s->control, level, event, CD_Z(key, why),
             CD_U("waited_ms", (io_now_ns(s->control) - since_ns) / 1000000));
}

static void ready_flow(void *arg)
{
    struct serve *s = arg;
    struct cd_buf why = {0};
    uint64_t since = io_now_ns(s->control), limit = cli_num(&s->c->settings, CLI_SET_READY_FLEET_GATE_MS);
    bool successor = false, expired = false, open = false;
    int rc = cli_serve_node_wait(s, &why);
    while (rc == IO_OK && !open && !s->stopping) {
        const char *holder = closed(s, &successor);
        open = holder == NULL;
        if (!open && !expired && limit > 0 && io_now_ns(s->control) - since >= IO_MS(limit)) {
            expired = true;
            tell(s, "ready_gate_expired", CD_WARN, "reason", holder, since);
        }
        if (!open)
            rc = io_sleep(s->control, LOOK_NS);
    }
    if (open && !s->stopping) {
        __atomic_store_n(&s->ready, true, __ATOMIC_SEQ_CST);
        tell(s, "ready_gate_open", CD_INFO, "readiness_reason",
             successor ? "successor_capacity" : "fleet_settled", since);
    }
    cd_buf_deinit(&why);
    s->gate = NULL;
}

void cli_serve_ready_start(struct serve *s)
{
    s->gate = io_spawn(s->control, "ready", ready_flow, s);
}

bool cli_serve_healthy(const struct serve *s, struct io *io)
{
    return __atomic_load_n(&s->ready, __ATOMIC_SEQ_CST) &&
           fleet_authoritative(fleet_node_authority(s->node), io_now_ns(io));
}
