/* js/watch.c: how one loop ends a turn of another. The isolate is only safe to touch while its turn runs, so
 * the watcher says that it is looking and the end of the turn waits for that. */
#include "js/site.h"

void js_watch_begin(struct js_watch *w, struct js_isolate *js, uint64_t until_ns)
{
    w->isolate = js;
    __atomic_store_n(&w->until_ns, until_ns, __ATOMIC_SEQ_CST);
}

void js_watch_end(struct js_watch *w)
{
    __atomic_store_n(&w->until_ns, 0, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&w->looking, __ATOMIC_SEQ_CST) != 0) {
        /* A few instructions on the other side. */
    }
}

uint64_t js_watch_turn(const struct js_watch *w)
{
    return __atomic_load_n(&w->until_ns, __ATOMIC_SEQ_CST);
}

bool js_watch_look(struct js_watch *w, uint64_t now_ns)
{
    __atomic_store_n(&w->looking, 1, __ATOMIC_SEQ_CST);
    uint64_t until = __atomic_load_n(&w->until_ns, __ATOMIC_SEQ_CST);
    bool late = until != 0 && now_ns >= until;
    if (late)
        js_terminate(w->isolate);
    __atomic_store_n(&w->looking, 0, __ATOMIC_SEQ_CST);
    return late;
}
