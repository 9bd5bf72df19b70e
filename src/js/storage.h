/* js/storage.h: the storage of a cell as its JavaScript holds it. services.md 1.4 to 1.6.
 *
 * JavaScript knows a storage by number: newStorage(number, cell) of runtime/storage.js makes ctx.storage of
 * it. */
#ifndef JS_STORAGE_H
#define JS_STORAGE_H

#include "js/worker.h"

struct js_event;
struct storage;

struct js_storage_opts {
    struct storage *storage; /* Borrowed until it is closed here. */
    struct cd_str id; /* Of the cell, for messages; copied. */
    struct js_event *event; /* Whose end closes it; NULL: js_storage_close does. */
    /* Asked at each use. NULL: the code that runs now may use it. Else the text of the Error that it gets.
     * May be NULL. */
    const char *(*refuse)(struct js_isolate *js, void *arg);
    void (*closed)(void *arg); /* It is; arg is not used any more. May be NULL. */
    void *arg;
};

/* The number. Outside of JavaScript or in it. */
uint64_t js_storage_open(struct js_worker *w, const struct js_storage_opts *opts);
/* From now on its uses throw; its cursors are closed. Before storage_close, and before the worker is closed.
 */
void js_storage_close(struct js_worker *w, uint64_t number);

#endif
