#include "fleet/lease_machine.h"

void fleet_lease_machine_init(struct fleet_lease_machine *m, uint64_t ttl_ns, bool configured_id)
{
    CD_ASSERT(ttl_ns >= 3);
    *m = (struct fleet_lease_machine){.ttl_ns = ttl_ns, .configured_id = configured_id, .next_seq = 1};
}

uint64_t fleet_lease_deadline_ns(const struct fleet_lease_machine *m)
{
    bool over = m->state == FLEET_LEASE_FENCED || m->state == FLEET_LEASE_STOPPED;
    return m->acquired && !over ? m->held.anchor_ns + m->ttl_ns : 0;
}

bool fleet_lease_wants_write(const struct fleet_lease_machine *m)
{
    uint64_t sent = m->attempts == 0 ? m->held.publication : m->attempt[m->attempts - 1].publication;
    return m->wanted > sent;
}

static bool over(const struct fleet_lease_machine *m)
{
    return m->state == FLEET_LEASE_FENCED || m->state == FLEET_LEASE_STOPPED;
}

static enum fleet_lease_action_kind fence(struct fleet_lease_machine *m, const char *cause)
{
    if (CD_PLANT("fleet.fence_not_final")) {
        fleet_lease_machine_init(m, m->ttl_ns, m->configured_id);
        m->state = FLEET_LEASE_READING;
        return FLEET_LEASE_DO_READ;
    }
    m->state = FLEET_LEASE_FENCED;
    m->cause = cause;
    return FLEET_LEASE_DO_END;
}

static enum fleet_lease_action_kind wait_until(struct fleet_lease_machine *m, enum fleet_lease_state state,
                                               uint64_t wake_ns)
{
    m->state = state;
    m->wake_ns = wake_ns;
    return FLEET_LEASE_DO_WAIT;
}

static enum fleet_lease_action_kind read_again(struct fleet_lease_machine *m, enum fleet_lease_state state)
{
    m->state = state;
    return FLEET_LEASE_DO_READ;
}

static enum fleet_lease_action_kind try_later(struct fleet_lease_machine *m, uint64_t now_ns)
{
    return wait_until(m, FLEET_LEASE_RETRYING, now_ns + m->ttl_ns / 3);
}

static void set_guard(struct fleet_lease_machine *m, const char *token)
{
    bool absent = token == NULL || token[0] == '\0';
    if (absent == m->guard_absent && (absent || strcmp(token, m->token) == 0))
        return;
    m->guard_absent = absent;
    memset(m->token, 0, sizeof m->token);
    if (!absent)
        memcpy(m->token, token, strnlen(token, sizeof m->token - 1));
    m->attempts = 0; /* They were sent with another guard, which does not hold any more. */
}

/* The next body. Its expiry is computed now, before it is sent: that is the anchor. */
static enum fleet_lease_action_kind write_next(struct fleet_lease_machine *m, uint64_t now_ns)
{
    if (m->attempts == FLEET_LEASE_ATTEMPTS) {
        if (m->acquired) /* No room to remember another: first learn what became of these. */
            return read_again(m, FLEET_LEASE_READBACK);
        m->attempts = 0; /* One that lands yet is found as OURS by the read before the next try. */
    }
    m->attempt[m->attempts++] = (struct fleet_lease_attempt){m->next_seq++, now_ns, m->wanted};
    m->state = FLEET_LEASE_WRITING;
    return FLEET_LEASE_DO_WRITE;
}

static enum fleet_lease_action_kind hold(struct fleet_lease_machine *m, struct fleet_lease_attempt a,
                                         const char *token, uint64_t now_ns)
{
    m->acquired = true;
    m->held = a;
    if (CD_PLANT("fleet.anchor_at_completion"))
        m->held.anchor_ns = now_ns;
    m->attempts = 0;
    set_guard(m, token);
    CD_ASSERT(!m->guard_absent);
    if (m->wanted > a.publication) /* Asked for while this one was under way. */
        return write_next(m, now_ns);
    return wait_until(m, FLEET_LEASE_HELD, m->held.anchor_ns + m->ttl_ns / 3);
}

/* The record is still the one that is held: the next try comes with the next renewal, sooner when a
 * publication waits for it, at once when one came after what was sent. */
static enum fleet_lease_action_kind keep(struct fleet_lease_machine *m, uint64_t anchor_ns, uint64_t now_ns)
{
    if (fleet_lease_wants_write(m) && m->attempts < FLEET_LEASE_ATTEMPTS)
        return write_next(m, now_ns);
    uint64_t pause = m->wanted > m->held.publication ? m->ttl_ns / 30 : m->ttl_ns / 3;
    uint64_t at = anchor_ns + pause;
    uint64_t soonest = now_ns + m->ttl_ns / 30; /* A slow failure has used the pause up. */
    return wait_until(m, FLEET_LEASE_HELD, at > soonest ? at : soonest);
}

static enum fleet_lease_action_kind first_read(struct fleet_lease_machine *m,
                                               const struct fleet_lease_event *e)
{
    switch (e->found) {
    case FLEET_LEASE_FAILED: return try_later(m, e->now_ns);
    case FLEET_LEASE_ABSENT:
        if (m->configured_id && !m->looked) {
            m->state = FLEET_LEASE_PREDECESSOR;
            m->absent = true;
            return FLEET_LEASE_DO_RECOVER;
        }
        set_guard(m, NULL);
        return write_next(m, e->now_ns);
    case FLEET_LEASE_OTHER_LOG:
        if (CD_PLANT("fleet.install_over_open_log")) {
            set_guard(m, e->token);
            return write_next(m, e->now_ns);
        }
        m->state = FLEET_LEASE_PREDECESSOR;
        m->absent = false;
        return FLEET_LEASE_DO_RECOVER;
    case FLEET_LEASE_OURS_CHANGED:
        /* A try of ours landed late, was found dead, and the session was sealed: it must not live again. */
        return fence(m, "node_lease_record_mismatch_fence");
    case FLEET_LEASE_OTHER:
    case FLEET_LEASE_OURS: /* Landed too late to count. Replaced like any other. */
    case FLEET_LEASE_OURS_PRIOR: set_guard(m, e->token); return write_next(m, e->now_ns);
    }
    CD_UNREACHABLE();
}

static enum fleet_lease_action_kind read_back(struct fleet_lease_machine *m,
                                              const struct fleet_lease_event *e)
{
    bool listed = e->found == FLEET_LEASE_OURS && e->attempt < m->attempts;
    if (!m->acquired) {
        if (listed && e->now_ns < m->attempt[e->attempt].anchor_ns + m->ttl_ns)
            return hold(m, m->attempt[e->attempt], e->token, e->now_ns);
        return try_later(m, e->now_ns);
    }
    switch (e->found) {
    case FLEET_LEASE_FAILED: return wait_until(m, FLEET_LEASE_READBACK, e->now_ns + m->ttl_ns / 30);
    case FLEET_LEASE_OURS:
        if (listed)
            return hold(m, m->attempt[e->attempt], e->token, e->now_ns);
        break;
    case FLEET_LEASE_OURS_PRIOR: {
        uint64_t anchor = m->attempt[m->attempts - 1].anchor_ns;
        set_guard(m, e->token);
        return keep(m, anchor, e->now_ns);
    }
    case FLEET_LEASE_ABSENT: return fence(m, "node_lease_record_missing_fence");
    case FLEET_LEASE_OURS_CHANGED:
        if (CD_PLANT("fleet.readback_ignores_log"))
            return hold(m, m->attempt[m->attempts - 1], e->token, e->now_ns);
        break;
    case FLEET_LEASE_OTHER:
    case FLEET_LEASE_OTHER_LOG: break;
    }
    return fence(m, "node_lease_record_mismatch_fence");
}

static enum fleet_lease_action_kind wrote(struct fleet_lease_machine *m, const struct fleet_lease_event *e)
{
    CD_ASSERT(m->attempts > 0);
    struct fleet_lease_attempt a = m->attempt[m->attempts - 1];
    switch (e->outcome) {
    case FLEET_LEASE_APPLIED:
        if (!m->acquired && e->now_ns >= a.anchor_ns + m->ttl_ns)
            return try_later(m, e->now_ns); /* It ran out before we knew. */
        return hold(m, a, e->token, e->now_ns);
    case FLEET_LEASE_NOT_COMMITTED:
        m->attempts--;
        return m->acquired ? keep(m, a.anchor_ns, e->now_ns) : try_later(m, e->now_ns);
    case FLEET_LEASE_REJECTED: /* Of a renewal: perhaps by an older attempt of our own. */
        return m->acquired ? read_again(m, FLEET_LEASE_READBACK) : try_later(m, e->now_ns);
    case FLEET_LEASE_AMBIGUOUS: return read_again(m, FLEET_LEASE_READBACK);
    }
    CD_UNREACHABLE();
}

static enum fleet_lease_action_kind tick(struct fleet_lease_machine *m, uint64_t now_ns)
{
    switch (m->state) {
    case FLEET_LEASE_HELD:
        if (now_ns >= m->wake_ns || fleet_lease_wants_write(m))
            return write_next(m, now_ns);
        return FLEET_LEASE_DO_WAIT;
    case FLEET_LEASE_RETRYING:
        return now_ns >= m->wake_ns ? read_again(m, FLEET_LEASE_READING) : FLEET_LEASE_DO_WAIT;
    case FLEET_LEASE_READBACK:
        return now_ns >= m->wake_ns ? read_again(m, FLEET_LEASE_READBACK) : FLEET_LEASE_DO_WAIT;
    case FLEET_LEASE_UNSTARTED:
    case FLEET_LEASE_READING:
    case FLEET_LEASE_PREDECESSOR:
    case FLEET_LEASE_WRITING: return FLEET_LEASE_DO_NOTHING;
    case FLEET_LEASE_STOPPED:
    case FLEET_LEASE_FENCED: return FLEET_LEASE_DO_END;
    }
    CD_UNREACHABLE();
}

static enum fleet_lease_action_kind recovered(struct fleet_lease_machine *m,
                                              const struct fleet_lease_event *e)
{
    if (!e->ok)
        return try_later(m, e->now_ns);
    m->looked = m->looked || m->absent;
    return read_again(m, FLEET_LEASE_READING);
}

enum fleet_lease_action_kind fleet_lease_step(struct fleet_lease_machine *m,
                                              const struct fleet_lease_event *e)
{
    if (over(m))
        return FLEET_LEASE_DO_END;
    if (e->kind == FLEET_LEASE_STOP) {
        m->state = FLEET_LEASE_STOPPED;
        return FLEET_LEASE_DO_END;
    }
    if (e->kind == FLEET_LEASE_LOST)
        return fence(m, e->cause);
    /* Whatever is learned after it is too late: a successor may be acting. Also of a renewal that was
     * applied. */
    if (m->acquired && e->now_ns >= m->held.anchor_ns + m->ttl_ns &&
        !(e->kind == FLEET_LEASE_WROTE && CD_PLANT("fleet.late_renewal_revives")))
        return fence(m, "node_lease_watchdog_fence");
    switch (e->kind) {
    case FLEET_LEASE_START: CD_ASSERT(m->state == FLEET_LEASE_UNSTARTED); break;
    case FLEET_LEASE_READ:
        if (m->state == FLEET_LEASE_READBACK)
            return read_back(m, e);
        CD_ASSERT(m->state == FLEET_LEASE_READING);
        return first_read(m, e);
    case FLEET_LEASE_RECOVERED: CD_ASSERT(m->state == FLEET_LEASE_PREDECESSOR); return recovered(m, e);
    case FLEET_LEASE_WROTE: CD_ASSERT(m->state == FLEET_LEASE_WRITING); return wrote(m, e);
    case FLEET_LEASE_TICK: return tick(m, e->now_ns);
    case FLEET_LEASE_LOST:
    case FLEET_LEASE_STOP: CD_UNREACHABLE();
    }
    return read_again(m, FLEET_LEASE_READING);
}

void fleet_lease_validate(const struct fleet_lease_machine *m)
{
    CD_ASSERT((m->cause != NULL) == (m->state == FLEET_LEASE_FENCED));
    CD_ASSERT(m->attempts <= FLEET_LEASE_ATTEMPTS);
    uint64_t seq = m->acquired ? m->held.seq : 0;
    for (unsigned i = 0; i < m->attempts; i++) {
        CD_ASSERT(m->attempt[i].seq > seq);
        CD_ASSERT(m->attempt[i].publication <= m->wanted);
        seq = m->attempt[i].seq;
    }
    CD_ASSERT(seq < m->next_seq);
    CD_ASSERT(!m->acquired || !m->guard_absent);
    switch (m->state) {
    case FLEET_LEASE_UNSTARTED:
    case FLEET_LEASE_READING:
    case FLEET_LEASE_PREDECESSOR:
    case FLEET_LEASE_RETRYING: CD_ASSERT(!m->acquired); break;
    case FLEET_LEASE_WRITING:
    case FLEET_LEASE_READBACK: CD_ASSERT(m->attempts > 0); break;
    case FLEET_LEASE_HELD: CD_ASSERT(m->acquired); break;
    case FLEET_LEASE_STOPPED:
    case FLEET_LEASE_FENCED: break;
    }
}
