/* js/hang.c: finds events that wait for what can never come. runtime.md 2.6.
 *
 * An event is still when nothing of the host is on its way to it: no operation, no timer, no socket. What it
 * waits for then are promises that other JavaScript of its isolate would have to settle. So it hangs when all
 * events of the isolate are still, or as soon as none is left of those that ran when it became still and are
 * not. A request that is yet to come might settle it as well: that is not waited for. */
#include "js/worker_internal.h"

void js_event_stir(struct js_event *e)
{
    js_event_calm(e);
    cd_list_push(&e->w->stirred, &e->stirred);
}

void js_event_calm(struct js_event *e)
{
    cd_link_remove(&e->stirred);
    if (e->still)
        e->w->still_count--;
    e->still = false;
}

static bool is_still(struct js_event *e)
{
    if (cd_list_first(&e->asyncs) != NULL)
        return false;
    for (struct cd_link *k = cd_list_first(&e->handles); k != NULL; k = cd_list_next(&e->handles, k)) {
        if (!CD_CONTAINER(k, struct js_handle, link)->type->passive)
            return false;
    }
    return true;
}

static bool hangs(const struct js_event *e, uint64_t live)
{
    return e->still && e->still_since < live && e->type->unanswered != NULL && e->type->unanswered(e);
}

int js_hangs_sweep(struct js_worker *w)
{
    if (w->still_count == 0)
        return 0;
    uint64_t live = UINT64_MAX; /* The first event that is not still. */
    for (struct cd_map_node *n = cd_map_first(&w->events); n != NULL && live == UINT64_MAX;
         n = cd_map_next(n))
        live = ((struct js_event *)cd_map_value(n))->still ? UINT64_MAX : cd_map_key_u64(n);
    int ended = 0;
    struct cd_map_node *n = cd_map_first(&w->events);
    while (n != NULL) {
        uint64_t id = cd_map_key_u64(n);
        if (hangs(cd_map_value(n), live)) {
            js_value argument = js_number(w->js, (double)id);
            int rc = js_invoke(w, JS_EXPORT_HUNG, &argument, 1, NULL);
            if (rc != 0)
                return rc;
            ended++;
        }
        n = cd_map_at_or_after_u64(&w->events, id + 1); /* The event has gone. */
    }
    return ended;
}

int js_hangs_look(struct js_worker *w)
{
    for (struct cd_link *k; (k = cd_list_pop(&w->stirred)) != NULL;) {
        struct js_event *e = CD_CONTAINER(k, struct js_event, stirred);
        if (!is_still(e))
            continue;
        e->still = true;
        e->still_since = w->last_id;
        e->still_ns = io_now_ns(w->io);
        w->still_count++;
    }
    if (w->still_count == 0 || w->still_count < w->events.count || w->task_ns <= io_now_ns(w->io))
        return 0;
    return js_hangs_sweep(w);
}
