/* js/storage_internal.h: what the host functions of storage share. */
#ifndef JS_STORAGE_INTERNAL_H
#define JS_STORAGE_INTERNAL_H

#include "db/storage.h"
#include "js/ops.h"
#include "js/storage.h"
#include "js/worker_internal.h"

struct js_storage {
    struct js_handle handle;
    struct storage *storage;
    char *id; /* owned */
    const char *(*refuse)(struct js_isolate *js, void *arg);
    void (*closed)(void *arg);
    void *arg;
    struct cd_map cursors; /* Number -> struct sql_cursor of ops_sql.c, owned */
    uint64_t last_cursor;
};

/* The storage whose number is the first argument, if it may be used now. */
CD_MUST_USE int js_arg_storage(struct js_args *a, struct js_storage **out);
/* Throws what storage_error says. */
int js_storage_throw(struct js_args *a, struct js_storage *h, int rc);
void js_sql_close_all(struct js_storage *h); /* ops_sql.c */

#endif
