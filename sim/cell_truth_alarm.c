/* sim/cell_truth_alarm.c: who finds an armed alarm. I10; fleet.md 1.3 S8. */
#include "sim/cell_truth_internal.h"

#include "log/alarms.h"

void truth_alarm_counts(struct truth_row *r)
{
    struct truth_cell *c = r->cell;
    struct store_identity i = {r->epoch, r->alarm.inst_seq}, newest = {c->alarm.epoch, c->alarm.seq};
    if (i.seq == 0 || (c->has_alarm && store_identity_cmp(i, newest) < 0))
        return;
    c->has_alarm = true;
    c->unsure = false;
    c->alarm = (struct cell_alarm_state){r->alarm.armed, (uint64_t)r->alarm.due_ms, i.epoch, i.seq};
}

bool cell_truth_alarm(const struct cell_truth *t, struct cd_str scope, struct cell_alarm_state *out)
{
    const struct truth_cell *c = cd_map_get(&t->cells, scope);
    if (c == NULL || !c->has_alarm)
        return false;
    *out = c->alarm;
    return true;
}

/* ---- A session that has not ended answers for what its floor and slots carry ---- */

static void checkpoint(struct cell_truth *t, const struct truth_session *s, struct log_alarms *out)
{
    struct cd_buf key = {0}, why = {0};
    struct store_alarms items = {0};
    struct cd_str body;
    store_key_alarms(&key, cd_str(s->name), s->floor.alarms_n);
    if (!truth_get(t, cd_buf_str(&key), &body))
        truth_break(t, "I10", "the floor of %s names %s, which is not there", s->name, cd_buf_cstr(&key));
    else if (store_alarms_read(&items, cd_str(s->name), body, &why) != 0)
        truth_break(t, "I10", "%s: %s", cd_buf_cstr(&key), cd_buf_cstr(&why));
    for (size_t i = 0; i < items.count; i++)
        log_alarms_apply(out, items.item[i].cell, items.item[i].identity, true, items.item[i].due_ms, 0);
    store_alarms_deinit(&items);
    cd_buf_deinit(&key);
    cd_buf_deinit(&why);
}

static void of_session(struct cell_truth *t, const struct truth_session *s)
{
    struct log_alarms got = {.keep = true};
    uint64_t through = s->floor.has_alarms ? s->floor.alarms_through : 0;
    size_t count;
    if (s->floor.has_alarms)
        checkpoint(t, s, &got);
    for (struct cd_map_node *n = cd_map_first(&s->batches); n != NULL; n = cd_map_next(n)) {
        const struct truth_batch *b = cd_map_value(n);
        if ((b->slot != 0 && b->slot <= s->floor.floor) || b->number <= through)
            continue;
        for (const struct truth_row *r = b->row; r != NULL; r = r->next)
            if (r->counts && r->alarm.inst_seq > 0)
                log_alarms_apply(&got, cd_str(r->cell->scope),
                                 (struct store_identity){r->epoch, r->alarm.inst_seq}, r->alarm.armed,
                                 (uint64_t)r->alarm.due_ms, b->number);
    }
    struct store_alarm *list = log_alarms_list(&got, &count);
    for (size_t i = 0; i < count; i++) {
        struct truth_cell *c = truth_cell(t, list[i].cell);
        c->found |= list[i].identity.seq == c->alarm.seq && list[i].due_ms <= c->alarm.due_ms;
    }
    cd_free(list);
    log_alarms_deinit(&got);
}

/* ---- Else a wake entry or an item of a pack does, until it is settled ---- */

static bool settled(const struct cell_truth *t, struct cd_str scope, struct store_identity i)
{
    struct cd_buf key = {0};
    struct cd_str body;
    struct store_wake_retired r;
    store_key_wake_retired(&key, scope);
    bool yes = truth_get(t, cd_buf_str(&key), &body) && store_wake_retired_read(&r, body, NULL) == 0 &&
               store_wake_settled(&r, i);
    cd_buf_deinit(&key);
    return yes;
}

static void of_pack(struct cell_truth *t, struct cd_str key, struct cd_str body)
{
    struct store_alarms items = {0};
    struct cd_buf why = {0};
    if (store_pack_read(&items, key, body, &why) != 0)
        truth_break(t, "I10", "%.*s: %s", (int)key.len, key.ptr, cd_buf_cstr(&why));
    for (size_t i = 0; i < items.count; i++) {
        struct truth_cell *c = truth_cell(t, items.item[i].cell);
        c->found |= items.item[i].due_ms <= c->alarm.due_ms &&
                    !settled(t, items.item[i].cell, items.item[i].identity);
    }
    store_alarms_deinit(&items);
    cd_buf_deinit(&why);
}

static void of_wake_objects(struct cell_truth *t)
{
    const struct cd_str prefix = CD_STR("wake/");
    struct store_pack_name pack;
    struct store_wake_name entry;
    for (struct cd_map_node *n = cd_map_at_or_after(&t->objects, prefix);
         n != NULL && cd_str_starts(cd_map_key(n), prefix); n = cd_map_next(n)) {
        if (store_pack_name_parse(&pack, cd_map_key(n))) {
            of_pack(t, cd_map_key(n), cd_buf_str(&((struct truth_object *)cd_map_value(n))->body));
        } else if (store_wake_entry_parse(&entry, cd_map_key(n))) {
            struct truth_cell *c = truth_cell(t, entry.scope);
            c->found |=
                entry.minute <= store_minute_of(c->alarm.due_ms) && !settled(t, entry.scope, entry.identity);
        }
    }
}

/* The first cell whose alarm is found by nobody; NULL: none. */
static struct truth_cell *forgotten(struct cell_truth *t)
{
    for (struct cd_map_node *n = cd_map_first(&t->cells); n != NULL; n = cd_map_next(n))
        ((struct truth_cell *)cd_map_value(n))->found = false;
    for (struct cd_map_node *n = cd_map_first(&t->sessions); n != NULL; n = cd_map_next(n))
        if (!truth_ended(cd_map_value(n)))
            of_session(t, cd_map_value(n));
    of_wake_objects(t);
    for (struct cd_map_node *n = cd_map_first(&t->cells); n != NULL; n = cd_map_next(n)) {
        struct truth_cell *c = cd_map_value(n);
        if (c->has_alarm && c->alarm.armed && !c->found && !c->unsure)
            return c;
    }
    return NULL;
}

void truth_alarms_found(struct cell_truth *t, const char *when)
{
    struct truth_cell *c = NULL;
    while (t->broken == NULL && (c = forgotten(t)) != NULL && truth_follow_alarm(t, c))
        ;
    if (c != NULL)
        truth_break(t, "I10", "%s: the alarm %llu.%llu, due at %llu ms, is found by nobody, %s", c->scope,
                    (unsigned long long)c->alarm.epoch, (unsigned long long)c->alarm.seq,
                    (unsigned long long)c->alarm.due_ms, when);
}
