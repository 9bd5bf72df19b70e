/* js/watch.c: how one loop ends a turn of another. The isolate is only safe to touch while its turn runs, so
 * the watcher says that it is looking and the end of the turn waits for that. */
#include "js/site.h"

static void watch_lock(struct js_watch *w)
{
    while (__atomic_exchange_n(&w->locked, 1, __ATOMIC_SEQ_CST) != 0) {
        /* A few instructions on the other side. */
    }
}

static void watch_unlock(struct js_watch *w)
{
    __atomic_store_n(&w->locked, 0, __ATOMIC_SEQ_CST);
}

void js_watch_begin(struct js_watch *w, struct js_isolate *js, struct cd_str script, uint64_t until_ns)
{
    w->isolate = js;
    w->script = script;
    w->cell = (struct cd_str){0};
    __atomic_store_n(&w->until_ns, until_ns, __ATOMIC_SEQ_CST);
}

void js_watch_cell(struct js_watch *w, struct cd_str scope)
{
    if (w == NULL)
        return;
    watch_lock(w);
    w->cell = scope;
    watch_unlock(w);
}

void js_watch_end(struct js_watch *w)
{
    __atomic_store_n(&w->until_ns, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&w->locked, __ATOMIC_SEQ_CST) != 0) {
        /* A few instructions on the other side. */
    }
}

uint64_t js_watch_turn(const struct js_watch *w)
{
    return __atomic_load_n(&w->until_ns, __ATOMIC_SEQ_CST);
}

enum js_watched js_watch_look(struct js_watch *w, uint64_t now_ns, bool all)
{
    watch_lock(w);
    uint64_t until = js_watch_turn(w);
    bool late = until != 0 && (all || now_ns >= until);
    if (late)
        js_terminate(w->isolate); /* Each time: V8 forgets it when the host catches it. */
    watch_unlock(w);
    if (!late)
        return JS_WATCH_QUIET;
    if (w->told_until_ns != until) {
        w->told_until_ns = until;
        w->told_ns = now_ns;
        return JS_WATCH_TOLD;
    }
    return now_ns - w->told_ns >= JS_STUCK_MAX_NS ? JS_WATCH_STUCK : JS_WATCH_QUIET;
}

void js_watch_whose(struct js_watch *w, struct cd_buf *script, struct cd_buf *cell)
{
    watch_lock(w);
    if (js_watch_turn(w) != 0) {
        if (script != NULL)
            cd_buf_add_str(script, w->script);
        if (cell != NULL)
            cd_buf_add_str(cell, w->cell);
    }
    watch_unlock(w);
}
