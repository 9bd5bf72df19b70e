/* tests/io/store_sim.c: faults of the simulated store, for the contract. */
#include "contract.h"

#include "io_sim/sim_store.h"

bool contract_store_is_broken(void)
{
    return false;
}

bool contract_store_queues(void)
{
    return false;
}

static struct sim_store_rule rule_of(enum contract_store_fault fault)
{
    switch (fault) {
    case CONTRACT_LOSE_REQUEST: return (struct sim_store_rule){.effect = SIM_STORE_LOSE_REQUEST};
    case CONTRACT_LOSE_ANSWER: return (struct sim_store_rule){.effect = SIM_STORE_LOSE_ANSWER};
    case CONTRACT_HOLD_REQUEST: return (struct sim_store_rule){.effect = SIM_STORE_LATE, .ns = IO_SEC(1)};
    case CONTRACT_HOLD_ANSWER:
        return (struct sim_store_rule){.effect = SIM_STORE_HOLD_ANSWER, .ns = IO_SEC(60)};
    case CONTRACT_THROTTLE: return (struct sim_store_rule){.effect = SIM_STORE_THROTTLE, .ns = IO_SEC(1)};
    case CONTRACT_ERROR: return (struct sim_store_rule){.effect = SIM_STORE_FAIL_DONE};
    case CONTRACT_CUT_BODY: return (struct sim_store_rule){.effect = SIM_STORE_CUT_BODY};
    case CONTRACT_DOWN: return (struct sim_store_rule){.effect = SIM_STORE_DOWN};
    }
    CD_UNREACHABLE();
}

bool contract_store_fault(struct contract *c, enum contract_store_fault fault, const char *method,
                          unsigned times)
{
    char op[16];
    size_t i = 0;
    struct sim_store_rule rule = rule_of(fault);
    for (; method[i] != 0 && i + 1 < sizeof op; i++)
        op[i] = (char)(method[i] - 'A' + 'a');
    op[i] = 0;
    sim_store_heal(sim_of(c->io)); /* One rule at a time, as at the proxy. */
    if (fault != CONTRACT_DOWN) {
        rule.op = op;
        rule.times = times;
    }
    sim_store_rule(sim_of(c->io), &rule);
    return true;
}

void contract_store_heal(struct contract *c)
{
    sim_store_heal(sim_of(c->io));
}
