#include "fleet/claim_rule.h"

bool fleet_lease_dead(const struct store_lease *l, int64_t now_ms, uint64_t ahead_ms, bool sole)
{
    if (sole || CD_PLANT("fleet.takeover_without_expiry"))
        return true;
    return now_ms >= 0 && l->expires_ms + ahead_ms <= (uint64_t)now_ms;
}

static enum fleet_claim_rule of_other_node(const struct fleet_claim_facts *f, struct cd_str generation)
{
    if (!f->lease_read)
        return FLEET_RULE_READ_LEASE;
    if (f->lease == NULL) /* Deleted by hand, or with its generated id: its log tells (7.1). */
        return f->finished ? FLEET_RULE_TAKE : FLEET_RULE_FINISH;
    const struct store_lease *l = f->lease;
    /* The node lives, with this session or a later one: it takes the cell over itself. */
    if (!fleet_lease_dead(l, f->now_ms, f->ahead_ms, f->sole))
        return l->peer_protocol == FLEET_PEER_PROTOCOL ? FLEET_RULE_REMOTE : FLEET_RULE_OTHER_PROTOCOL;
    /* A lease is installed over a session only when its log is absent or sealed, and ends its chain. */
    if (f->finished || !cd_str_eq(generation, cd_str(l->generation)))
        return FLEET_RULE_TAKE;
    if (l->has_log && (l->log.state == STORE_LOG_SEALED || CD_PLANT("fleet.takeover_without_recovery")))
        return FLEET_RULE_TAKE;
    if (!l->has_log && CD_PLANT("fleet.no_log_without_seal"))
        return FLEET_RULE_TAKE;
    return FLEET_RULE_FINISH;
}

enum fleet_claim_rule fleet_claim_decide(const struct fleet_claim_facts *f, enum fleet_claim_from *from)
{
    *from = FLEET_CLAIM_FRESH;
    if (f->owner == NULL)
        return FLEET_RULE_CREATE;
    *from = FLEET_CLAIM_RELEASED;
    if (f->owner->session[0] == 0)
        return FLEET_RULE_TAKE;
    struct cd_str node, generation;
    bool valid = store_session_split(cd_str(f->owner->session), &node, &generation);
    CD_ASSERT(valid); /* store_owner_read saw to it. */
    if (!cd_str_eq(node, cd_str(f->node))) {
        *from = FLEET_CLAIM_TAKEOVER;
        return of_other_node(f, generation);
    }
    *from = FLEET_CLAIM_LOCAL;
    if (cd_str_eq(generation, cd_str(f->generation)) || f->finished)
        return FLEET_RULE_TAKE;
    /* An earlier session of this node, or one that replaced us: then others take our cells for finished ones,
     * and a claim of ours could hide what the later session acknowledged. The lease tells: a later session
     * wrote it before it claimed anything. */
    if (!f->lease_read)
        return FLEET_RULE_READ_OWN_LEASE;
    bool ours = f->lease != NULL && strcmp(f->lease->generation, f->generation) == 0;
    return ours ? FLEET_RULE_TAKE : FLEET_RULE_REPLACED;
}
