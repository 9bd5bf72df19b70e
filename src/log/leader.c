#include "log/leader.h"

#define BACKOFF_NS IO_MS(50)
#define BACKOFF_DOUBLINGS 5u /* 1.6 s; then 2 s. */
#define BACKOFF_MAX_NS IO_SEC(2)

static const struct log_action nothing = {LOG_DO_NOTHING, 0, 0, 0};

void log_leader_init(struct log_leader *l, unsigned pipeline)
{
    CD_ASSERT(pipeline >= 1 && pipeline <= LOG_PIPELINE_MAX);
    *l = (struct log_leader){.pipeline = pipeline, .next_batch = 1, .next_slot = 1, .next_op = 1};
}

static bool is_open(const struct log_leader *l)
{
    return l->phase == LOG_OPEN || (CD_PLANT("log.slot-before-open") && l->phase == LOG_OPENING);
}

static bool place_free(const struct log_leader *l)
{
    uint64_t ahead = l->pipeline;
    if (CD_PLANT("log.beyond-pipeline") && ahead + 2 <= LOG_PIPELINE_MAX)
        ahead += 2;
    return l->next_slot <= l->durable_slot + ahead;
}

/* Whether a batch that all members confirm is proven by that: else gates wait for the bucket. */
static bool creditable(const struct log_leader *l)
{
    bool below = l->durable_batch + 1 >= l->first_batch || CD_PLANT("log.credit-above-hole");
    return l->fleet == LOG_FLEET_ACTIVE && below && (l->acks || CD_PLANT("log.lazy-before-credit"));
}

/* Whether the backlog is at 1/part of one of its limits. */
static bool backlog_at(const struct log_leader *l, const struct log_pace *p, uint64_t part)
{
    return (p->window != 0 && l->backlog_batches >= p->window / part) ||
           (p->window_bytes != 0 && l->backlog_bytes >= p->window_bytes / part) ||
           p->now_ns - p->backlog_ns >= LOG_BACKLOG_AGE_NS / part;
}

bool log_leader_may_cut(const struct log_leader *l, const struct log_pace *p)
{
    if (!is_open(l))
        return false;
    if (l->fleet != LOG_FLEET_ACTIVE)
        return place_free(l) && (p->target_bytes == 0 || l->unslotted_bytes < p->target_bytes);
    uint64_t done = l->confirmed + 1 < l->first_batch ? l->first_batch - 1 : l->confirmed;
    return l->next_batch - 1 - done < l->pipeline && !backlog_at(l, p, 1);
}

bool log_leader_slot_due(const struct log_leader *l, const struct log_pace *p)
{
    if (!is_open(l) || !place_free(l) || l->slotted + 1 == l->next_batch)
        return false;
    if (!creditable(l) || l->slotted < l->hurry_to)
        return true;
    return p->flush_ns == 0 || p->now_ns - p->unslotted_ns >= p->flush_ns ||
           (p->target_bytes != 0 && l->unslotted_bytes >= p->target_bytes) || backlog_at(l, p, 2);
}

uint64_t log_leader_proven(const struct log_leader *l)
{
    return l->credited > l->durable_batch ? l->credited : l->durable_batch;
}

bool log_leader_barrier(const struct log_leader *l)
{
    return l->durable_batch >= l->credited || CD_PLANT("log.no-barrier");
}

static struct log_place *place_at(struct log_leader *l, uint64_t slot)
{
    return &l->place[slot % LOG_PIPELINE_MAX];
}

const struct log_place *log_leader_place(const struct log_leader *l, uint64_t slot)
{
    const struct log_place *p = &l->place[slot % LOG_PIPELINE_MAX];
    return p->state != LOG_PLACE_FREE && p->slot == slot ? p : NULL;
}

static uint64_t backoff_ns(unsigned failures)
{
    return failures > BACKOFF_DOUBLINGS + 1 ? BACKOFF_MAX_NS : BACKOFF_NS << (failures - 1);
}

/* ---- The record ---- */

static struct log_action open_ask(struct log_leader *l)
{
    l->phase = LOG_OPENING;
    l->open_op = l->next_op++;
    l->open_waits = false;
    return (struct log_action){.kind = LOG_DO_PUBLISH, .op = l->open_op};
}

static struct log_action on_published(struct log_leader *l, const struct log_event *e)
{
    if (l->phase != LOG_OPENING || l->open_waits || e->op != l->open_op)
        return nothing;
    l->open_op = 0;
    if (e->ok) {
        l->phase = LOG_OPEN;
        return (struct log_action){.kind = LOG_DO_LOOK};
    }
    if (e->lost) { /* The lease fences the node; there is nothing for us to add. */
        l->phase = LOG_LEFT;
        return nothing;
    }
    l->open_waits = true;
    l->open_op = l->next_op++;
    return (struct log_action){
        .kind = LOG_DO_WAIT, .op = l->open_op, .wait_ns = backoff_ns(++l->open_failures)};
}

/* ---- Slots ---- */

static struct log_action send(struct log_leader *l, struct log_place *p)
{
    p->state = LOG_PLACE_SENT;
    p->op = l->next_op++;
    return (struct log_action){.kind = LOG_DO_SEND, .slot = p->slot, .op = p->op};
}

static struct log_action look(struct log_leader *l, struct log_place *p)
{
    p->state = LOG_PLACE_READ;
    p->op = l->next_op++;
    return (struct log_action){.kind = LOG_DO_READ, .slot = p->slot, .op = p->op};
}

static struct log_action wait_to(struct log_leader *l, struct log_place *p, enum log_place_state state)
{
    p->state = state;
    p->op = l->next_op++;
    return (struct log_action){
        .kind = LOG_DO_WAIT, .slot = p->slot, .op = p->op, .wait_ns = backoff_ns(p->failures)};
}

static struct log_action on_cut(struct log_leader *l, const struct log_event *e)
{
    if (!is_open(l))
        return nothing;
    l->next_batch++;
    l->backlog_batches++;
    l->backlog_bytes += e->bytes;
    l->unslotted_bytes += e->bytes;
    return (struct log_action){.kind = LOG_DO_LOOK};
}

static struct log_action on_slot(struct log_leader *l, const struct log_event *e)
{
    if (!is_open(l) || !place_free(l) || e->batch <= l->slotted || e->batch >= l->next_batch ||
        e->bytes > l->unslotted_bytes)
        return nothing;
    struct log_place *p = place_at(l, l->next_slot);
    *p = (struct log_place){
        .slot = l->next_slot++, .first = l->slotted + 1, .batch = e->batch, .bytes = e->bytes};
    l->slotted = e->batch;
    l->unslotted_bytes -= e->bytes;
    return send(l, p);
}

/* The prefix rule: only an unbroken row of stored slots is durable. */
static void advance(struct log_leader *l)
{
    for (;;) {
        struct log_place *p = place_at(l, l->durable_slot + 1);
        bool next = p->state == LOG_PLACE_STORED && p->slot == l->durable_slot + 1;
        if (!next)
            return;
        l->durable_slot = p->slot;
        l->durable_batch = p->batch;
        l->backlog_batches -= p->batch - p->first + 1;
        l->backlog_bytes -= p->bytes;
        *p = (struct log_place){0};
    }
}

/* ---- The ensemble ---- */

/* Credits what every member has, or asks for the record to say that this may happen. */
static struct log_action credit(struct log_leader *l)
{
    bool below = l->durable_batch + 1 >= l->first_batch || CD_PLANT("log.credit-above-hole");
    if (l->fleet != LOG_FLEET_ACTIVE || l->confirmed < l->first_batch || !below || l->phase != LOG_OPEN)
        return (struct log_action){.kind = LOG_DO_LOOK};
    if (l->acks || CD_PLANT("log.credit-before-record")) {
        if (l->confirmed > l->credited)
            l->credited = l->confirmed;
        return (struct log_action){.kind = LOG_DO_LOOK};
    }
    if (l->acks_asked)
        return (struct log_action){.kind = LOG_DO_LOOK};
    l->acks_asked = true;
    return (struct log_action){.kind = LOG_DO_PUBLISH_ACKS, .op = l->log_epoch};
}

static struct log_action on_ensemble(struct log_leader *l, const struct log_event *e)
{
    if (l->phase != LOG_OPEN || l->fleet == LOG_FLEET_ACTIVE || e->batch <= l->log_epoch ||
        !log_leader_barrier(l))
        return nothing;
    l->fleet = LOG_FLEET_ACTIVE;
    l->log_epoch = e->batch;
    l->first_batch = l->next_batch;
    l->confirmed = l->first_batch - 1;
    l->acks = l->acks_asked = false;
    return (struct log_action){.kind = LOG_DO_LOOK};
}

static struct log_action on_confirmed(struct log_leader *l, const struct log_event *e)
{
    if (l->fleet != LOG_FLEET_ACTIVE || e->batch <= l->confirmed || e->batch >= l->next_batch)
        return nothing;
    l->confirmed = e->batch;
    return credit(l);
}

static struct log_action on_acks(struct log_leader *l, const struct log_event *e)
{
    if (e->op != l->log_epoch || !l->acks_asked)
        return nothing;
    l->acks_asked = false;
    l->acks = e->ok;
    if (!e->ok && l->fleet == LOG_FLEET_ACTIVE)
        l->fleet = LOG_FLEET_DEGRADED;
    return credit(l);
}

static struct log_action on_degrade(struct log_leader *l)
{
    if (l->fleet != LOG_FLEET_ACTIVE)
        return nothing;
    l->fleet = LOG_FLEET_DEGRADED;
    return (struct log_action){.kind = LOG_DO_LOOK};
}

/* ---- The end ---- */

static struct log_action seal_ended(struct log_leader *l, struct log_place *p, bool stored)
{
    uint64_t slot = p->slot;
    l->phase = stored ? LOG_SEALED : LOG_LEFT;
    *p = (struct log_place){0};
    return (struct log_action){.kind = stored ? LOG_DO_SEALED : LOG_DO_LEAVE, .slot = slot};
}

static struct log_action stored(struct log_leader *l, struct log_place *p)
{
    if (p->seal)
        return seal_ended(l, p, true);
    p->state = LOG_PLACE_STORED;
    p->op = 0;
    advance(l);
    return credit(l); /* What the bucket lacked below the ensemble may be there now. */
}

/* The place whose awaited op has ended so, if it is still awaited. */
static struct log_place *awaited(struct log_leader *l, const struct log_event *e, enum log_place_state a,
                                 enum log_place_state b)
{
    struct log_place *p = place_at(l, e->slot);
    bool is = (p->state == a || p->state == b) && p->slot == e->slot && p->op == e->op;
    return is && (l->phase == LOG_OPEN || l->phase == LOG_SEALING || l->phase == LOG_OPENING) ? p : NULL;
}

static struct log_action on_put(struct log_leader *l, const struct log_event *e)
{
    struct log_place *p = awaited(l, e, LOG_PLACE_SENT, LOG_PLACE_SENT);
    if (p == NULL)
        return nothing;
    if (e->put != LOG_PUT_APPLIED)
        p->failures++;
    switch (e->put) {
    case LOG_PUT_APPLIED: return stored(l, p);
    case LOG_PUT_NOT_COMMITTED:
        return p->seal ? seal_ended(l, p, false) : wait_to(l, p, LOG_PLACE_WAITS_TO_SEND);
    case LOG_PUT_REJECTED:
    case LOG_PUT_UNKNOWN: return CD_PLANT("log.unread") ? stored(l, p) : look(l, p);
    }
    CD_UNREACHABLE();
}

static struct log_action on_read(struct log_leader *l, const struct log_event *e)
{
    struct log_place *p = awaited(l, e, LOG_PLACE_READ, LOG_PLACE_READ);
    if (p == NULL)
        return nothing;
    if (e->found == LOG_FOUND_OURS)
        return stored(l, p);
    if (e->found == LOG_FOUND_OTHER) {
        l->phase = LOG_FENCED;
        return (struct log_action){.kind = LOG_DO_FENCE, .slot = p->slot};
    }
    if (p->seal) /* It may land yet: nothing is ever cut behind it, so that does no harm. */
        return seal_ended(l, p, false);
    if (e->found == LOG_FOUND_ERROR) {
        p->failures++;
        return wait_to(l, p, LOG_PLACE_WAITS_TO_READ);
    }
    return p->failures == 1 ? send(l, p) : wait_to(l, p, LOG_PLACE_WAITS_TO_SEND);
}

static struct log_action on_waited(struct log_leader *l, const struct log_event *e)
{
    if (e->slot == 0)
        return l->phase == LOG_OPENING && l->open_waits && e->op == l->open_op ? open_ask(l) : nothing;
    struct log_place *p = awaited(l, e, LOG_PLACE_WAITS_TO_SEND, LOG_PLACE_WAITS_TO_READ);
    if (p == NULL)
        return nothing;
    return p->state == LOG_PLACE_WAITS_TO_SEND ? send(l, p) : look(l, p);
}

static struct log_action on_seal(struct log_leader *l)
{
    bool may = l->phase == LOG_OPEN && l->backlog_batches == 0;
    if (l->phase >= LOG_SEALING)
        return nothing;
    if (!may) {
        l->phase = LOG_LEFT;
        l->open_op = 0; /* A publication that is under way opens nothing any more. */
        return (struct log_action){.kind = LOG_DO_LEAVE};
    }
    CD_ASSERT(l->next_slot == l->durable_slot + 1);
    l->phase = LOG_SEALING;
    struct log_place *p = place_at(l, l->next_slot);
    *p = (struct log_place){.slot = l->next_slot, .seal = true};
    return send(l, p);
}

struct log_action log_leader_step(struct log_leader *l, const struct log_event *e)
{
    switch (e->kind) {
    case LOG_EVENT_OPEN: return l->phase == LOG_CLOSED ? open_ask(l) : nothing;
    case LOG_EVENT_PUBLISHED: return on_published(l, e);
    case LOG_EVENT_CUT: return on_cut(l, e);
    case LOG_EVENT_SLOT: return on_slot(l, e);
    case LOG_EVENT_ENSEMBLE: return on_ensemble(l, e);
    case LOG_EVENT_CONFIRMED: return on_confirmed(l, e);
    case LOG_EVENT_ACKS: return on_acks(l, e);
    case LOG_EVENT_DEGRADE: return on_degrade(l);
    case LOG_EVENT_HURRY:
        if (e->batch > l->hurry_to)
            l->hurry_to = e->batch;
        return (struct log_action){.kind = LOG_DO_LOOK};
    case LOG_EVENT_PUT: return on_put(l, e);
    case LOG_EVENT_READ: return on_read(l, e);
    case LOG_EVENT_WAITED: return on_waited(l, e);
    case LOG_EVENT_SEAL: return on_seal(l);
    }
    CD_UNREACHABLE();
}

/* ---- validate ---- */

static const char *place_validate(const struct log_leader *l, const struct log_place *p)
{
    if (p->slot <= l->durable_slot || p->slot > l->durable_slot + l->pipeline)
        return "a slot in flight is one of the P above the durable one";
    if ((p->state == LOG_PLACE_STORED) == (p->op != 0))
        return "a slot in flight awaits one op, a stored one none";
    if (p->seal)
        return l->phase == LOG_SEALING || l->phase == LOG_FENCED ? NULL : "a seal is in flight while sealing";
    if (p->slot >= l->next_slot || p->first > p->batch || p->batch > l->slotted)
        return "a slot in flight has batches that were cut";
    const struct log_place *below = log_leader_place(l, p->slot - 1);
    if (p->first != (below == NULL ? l->durable_batch : below->batch) + 1)
        return "slots carry the batches one behind the other";
    return NULL;
}

static const char *fleet_validate(const struct log_leader *l)
{
    if ((l->log_epoch == 0) != (l->first_batch == 0) || (l->fleet != LOG_FLEET_NONE) != (l->log_epoch != 0))
        return "an ensemble has a log epoch";
    if (l->confirmed >= l->next_batch || l->credited >= l->next_batch)
        return "what is confirmed was cut";
    if (l->acks && l->acks_asked)
        return "the record is asked for once";
    return NULL;
}

const char *log_leader_validate(const struct log_leader *l)
{
    uint64_t places = 0, bytes = l->unslotted_bytes, batches = l->next_batch - 1 - l->slotted;
    if (l->slotted >= l->next_batch || l->durable_batch > l->slotted)
        return "what is durable is in a slot, what is in a slot was cut";
    const char *fleet = fleet_validate(l);
    if (fleet != NULL)
        return fleet;
    if (l->durable_slot >= l->next_slot || l->durable_batch >= l->next_batch)
        return "what is durable was cut";
    for (unsigned i = 0; i < LOG_PIPELINE_MAX; i++) {
        const struct log_place *p = &l->place[i];
        if (p->state == LOG_PLACE_FREE)
            continue;
        const char *why = i != p->slot % LOG_PIPELINE_MAX ? "a slot is at its place" : place_validate(l, p);
        if (why != NULL)
            return why;
        places += p->seal ? 0 : 1;
        batches += p->seal ? 0 : p->batch - p->first + 1;
        bytes += p->bytes;
    }
    if (l->place[(l->durable_slot + 1) % LOG_PIPELINE_MAX].state == LOG_PLACE_STORED)
        return "the slot above the durable one is not known to be stored";
    if (batches != l->next_batch - 1 - l->durable_batch || places != l->next_slot - 1 - l->durable_slot)
        return "each batch that is not durable is un-slotted or in exactly one slot in flight";
    if (batches != l->backlog_batches || bytes != l->backlog_bytes)
        return "the backlog is what is in flight";
    if (l->phase == LOG_CLOSED && l->next_slot != 1)
        return "no slot before the record says open";
    if ((l->phase == LOG_OPENING) != (l->open_op != 0))
        return "one op is awaited while opening";
    return NULL;
}
