/* cell/alarm.c: when to look at a cell's alarm, and running it. fleet.md 8.2 (timer index), 8.5.
 *
 * SQLite alone knows whether an alarm is due. A timer only makes somebody look, so it may be early but never
 * late: while rows of the cell are unproven it is only moved forward in time by a look at what is proven. */
#include "cell/cell_internal.h"

#define RELOOK_MS 500 /* After a lost run, twice as long after each next one; and for looks in between. */
#define LOSSES_MAX 7u
#define RETRY_MS 1000 /* Frames of parked sockets after an activation that failed. */
#define WATCH_MS 30000 /* An activation for an alarm that ended nowhere is tried again after it. */
#define TIMER_CAP_MS 60000 /* The wall clock may jump: it is asked at least so often. */

struct cell_timer {
    int64_t due_ms;
    unsigned losses; /* Runs in a row that ended with a reset: nothing in the database tells of them. */
    char scope[]; /* NUL-terminated */
};

/* Ascending by due time, then scope. */
static void due_key(struct cd_buf *out, int64_t due_ms, struct cd_str scope)
{
    cd_buf_addf(out, "%016llx", (unsigned long long)(due_ms < 0 ? 0 : due_ms));
    cd_buf_add_str(out, scope);
}

static void fire(struct io_op *op, int status);

static void arm(struct cell_shard *s)
{
    if (io_busy(&s->alarm.op)) {
        s->alarm_again = true; /* fire() arms it again. */
        io_cancel(&s->alarm.op);
        return;
    }
    struct cd_map_node *n = cd_map_first(&s->by_due);
    if (n == NULL || s->closing)
        return;
    const struct cell_timer *t = cd_map_value(n);
    int64_t wait = t->due_ms - io_wall_ms(s->o.io);
    wait = wait < 0 ? 0 : wait > TIMER_CAP_MS ? TIMER_CAP_MS : wait;
    io_timer_start(&s->alarm, s->o.io, IO_MS(wait), fire);
}

static struct cell_timer *take(struct cell_shard *s, struct cd_str scope)
{
    struct cell_timer *t = cd_map_remove(&s->timers, scope);
    if (t == NULL)
        return NULL;
    struct cd_buf key = {0};
    due_key(&key, t->due_ms, scope);
    void *same = cd_map_remove(&s->by_due, cd_buf_str(&key));
    CD_ASSERT(same == t);
    cd_buf_deinit(&key);
    return t;
}

void cell_timer_set(struct cell_shard *s, struct cd_str scope, int64_t due_ms)
{
    struct cell_timer *t = take(s, scope);
    if (t == NULL) {
        t = cd_alloc(sizeof *t + scope.len + 1);
        memcpy(t->scope, scope.ptr, scope.len);
    }
    t->due_ms = due_ms;
    struct cd_buf key = {0};
    due_key(&key, due_ms, cd_str(t->scope));
    (void)cd_map_put(&s->timers, cd_str(t->scope), t);
    (void)cd_map_put(&s->by_due, cd_buf_str(&key), t);
    const struct cell_timer *head = cd_map_value(cd_map_first(&s->by_due));
    cd_buf_deinit(&key);
    if (head == t ||
        head->due_ms <= io_wall_ms(s->o.io)) /* The clock was set forward: nobody has looked yet. */
        arm(s);
}

void cell_timer_clear(struct cell_shard *s, struct cd_str scope)
{
    cd_free(take(s, scope));
}

void cell_timer_by(struct cell_shard *s, struct cd_str scope, int64_t due_ms)
{
    const struct cell_timer *t = cd_map_get(&s->timers, scope);
    if (t == NULL || due_ms < t->due_ms)
        cell_timer_set(s, scope, due_ms);
}

void cell_timers_free(struct cell_shard *s)
{
    for (struct cd_map_node *n = cd_map_first(&s->timers); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&s->timers);
    cd_map_deinit(&s->by_due);
}

static void fire(struct io_op *op, int status)
{
    struct cell_shard *s = CD_CONTAINER(op, struct cell_shard, alarm.op);
    bool again = s->alarm_again;
    s->alarm_again = false;
    if (s->closing || (status != IO_OK && !again)) {
        cell_shard_settle(s);
        return;
    }
    int64_t now = io_wall_ms(s->o.io);
    struct cd_map_node *n;
    while ((n = cd_map_first(&s->by_due)) != NULL) {
        const struct cell_timer *t = cd_map_value(n);
        if (t->due_ms > now)
            break;
        char *scope = cd_str_dup(cd_str(t->scope));
        cell_timer_set(s, cd_str(scope), now + WATCH_MS); /* Until a look knows better. */
        struct cell *c = cell_find(s, cd_str(scope), true);
        cd_free(scope);
        c->look = true;
        c->wake = c->wake || c->wake_later;
        c->wake_later = false;
        cell_poke(c);
    }
    arm(s);
}

/* ---- Of a cell that is awake ---- */

void cell_alarm_committed(struct cell *c, bool armed, int64_t due_ms, uint64_t inst_seq)
{
    c->had_alarm = c->had_alarm || inst_seq > 0;
    if (armed)
        cell_timer_by(c->shard, cd_str(c->scope), due_ms);
}

void cell_alarm_retry(struct cell *c)
{
    c->wake_later = true;
    cell_timer_by(c->shard, cd_str(c->scope), io_wall_ms(c->shard->o.io) + RETRY_MS);
}

void cell_alarm_lost(struct cell *c)
{
    struct cell_shard *s = c->shard;
    bool ran = c->alarm_runs;
    c->pins -= ran;
    c->alarm_runs = false;
    if (!c->had_alarm)
        return;
    struct cell_timer *t = cd_map_get(&s->timers, cd_str(c->scope));
    unsigned losses = t == NULL ? 0 : t->losses;
    cell_timer_set(s, cd_str(c->scope), io_wall_ms(s->o.io) + ((int64_t)RELOOK_MS << losses));
    t = cd_map_get(&s->timers, cd_str(c->scope));
    t->losses = ran && losses < LOSSES_MAX ? losses + 1 : losses;
}

static void look(struct cell *c)
{
    struct cell_shard *s = c->shard;
    struct storage_alarm a = storage_alarm(c->storage);
    int64_t now = io_wall_ms(s->o.io);
    if (!a.armed) {
        /* What it replaced may still be the proven state. */
        if (cell_proven(c, c->seq))
            cell_timer_clear(s, cd_str(c->scope));
        else
            cell_timer_set(s, cd_str(c->scope), now + RELOOK_MS);
        return;
    }
    if (a.due_ms > now) {
        cell_timer_set(s, cd_str(c->scope), a.due_ms);
        return;
    }
    if (!fleet_authoritative(s->o.self->authority, io_now_ns(s->o.io)) || log_feed_full(s->feed)) {
        cell_timer_set(s, cd_str(c->scope), now + RELOOK_MS);
        return;
    }
    c->alarm_runs = true;
    cell_pin(c);
    storage_alarm_begin(c->storage);
    s->o.code->alarm(s->o.code_arg, c,
                     &(struct cell_alarm_run){.scheduled_ms = a.due_ms, .retry_count = a.retry_count});
}

void cell_alarm_look(struct cell *c)
{
    c->look = false;
    if (c->alarm_runs)
        return; /* Its end looks again. */
    look(c);
    if (!c->alarm_runs)
        cell_retire(c);
}

/* The commit that consumed it is proven, or never will be. */
static void settled(struct cell_held *h, int status, struct cd_str why)
{
    struct cell *c = CD_CONTAINER(h, struct cell, alarm_held);
    (void)why;
    if (status != 0 || !c->alarm_runs)
        return; /* A reset: cell_alarm_lost saw to it. */
    struct cell_timer *t = cd_map_get(&c->shard->timers, cd_str(c->scope));
    if (t != NULL)
        t->losses = 0;
    c->alarm_runs = false;
    c->look = true;
    cell_poke(c);
    cell_unpin(c);
}

void cell_alarm_done(struct cell *c, enum cell_alarm_end end)
{
    static const enum storage_alarm_end ends[] = {[CELL_ALARM_OK] = STORAGE_ALARM_OK,
                                                  [CELL_ALARM_FAILED] = STORAGE_ALARM_COUNTED,
                                                  [CELL_ALARM_EXCUSED] = STORAGE_ALARM_EXCUSED};
    struct cell_shard *s = c->shard;
    bool dropped = false;
    if (c->gate_failed || c->doomed || !c->alarm_runs)
        return; /* It is being stopped: the next residence runs it again. */
    if (CD_PLANT("cell.alarm-forgotten") && end == CELL_ALARM_FAILED)
        end = CELL_ALARM_OK;
    int rc = storage_alarm_end(c->storage, ends[end], io_wall_ms(s->o.io), &dropped);
    if (rc != 0) {
        cell_reset(c, storage_error(c->storage));
        return;
    }
    if (dropped)
        cd_event(s->o.io, CD_WARN, "alarm_dropped", CD_Z("scope", c->scope));
    cell_gate(c, &c->alarm_held, settled);
}
