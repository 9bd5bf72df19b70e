/* log/alarms.c: see alarms.h. */
#include "log/alarms.h"

struct state {
    struct store_identity identity;
    bool armed;
    uint64_t due_ms, batch;
};

void log_alarms_deinit(struct log_alarms *a)
{
    for (struct cd_map_node *n = cd_map_first(&a->cells); n != NULL; n = cd_map_next(n))
        cd_free(cd_map_value(n));
    cd_map_deinit(&a->cells);
    a->armed = 0;
}

void log_alarms_apply(struct log_alarms *a, struct cd_str scope, struct store_identity identity, bool armed,
                      uint64_t due_ms, uint64_t batch)
{
    struct state *s = cd_map_get(&a->cells, scope);
    if (s != NULL && store_identity_cmp(identity, s->identity) < 0)
        return;
    /* The same state again says only where else it can be found. */
    if (s != NULL && s->armed)
        a->armed--;
    if (!armed && !a->keep) {
        if (s != NULL)
            cd_free(cd_map_remove(&a->cells, scope));
        return;
    }
    if (s == NULL) {
        s = cd_new(struct state);
        cd_map_put(&a->cells, scope, s);
    }
    uint64_t newest = store_identity_cmp(identity, s->identity) == 0 && s->batch > batch ? s->batch : batch;
    *s = (struct state){identity, armed, due_ms, newest};
    if (armed)
        a->armed++;
}

void log_alarms_remove(struct log_alarms *a, struct cd_str scope, uint64_t epoch)
{
    struct state *s = cd_map_get(&a->cells, scope);
    if (s == NULL || s->identity.epoch > epoch)
        return;
    if (s->armed)
        a->armed--;
    cd_free(cd_map_remove(&a->cells, scope));
}

struct store_alarm *log_alarms_list(const struct log_alarms *a, size_t *count)
{
    *count = 0;
    if (a->armed == 0)
        return NULL;
    struct store_alarm *list = cd_alloc(a->armed * sizeof *list);
    for (struct cd_map_node *n = cd_map_first(&a->cells); n != NULL; n = cd_map_next(n)) {
        const struct state *s = cd_map_value(n);
        if (s->armed)
            list[(*count)++] = (struct store_alarm){cd_map_key(n), s->identity, s->due_ms};
    }
    CD_ASSERT(*count == a->armed);
    return list;
}

bool log_alarms_need_checkpoint(const struct log_alarms *a, uint64_t batch)
{
    for (struct cd_map_node *n = cd_map_first(&a->cells); n != NULL; n = cd_map_next(n)) {
        const struct state *s = cd_map_value(n);
        if (s->armed && s->batch <= batch)
            return true;
    }
    return false;
}
