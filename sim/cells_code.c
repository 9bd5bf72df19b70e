/* sim/cells_code.c: instances and their calls; what a message means is in cells_ledger.c and its neighbours.
 */
#include "sim/cells_code.h"

#include "db/db.h"
#include "db/storage.h"

struct actor {
    const struct cells_hooks *hooks;
    struct cell *cell;
    struct cd_list talks;
};

struct talk { /* One call. */
    struct actor *actor;
    struct cell_wire *wire;
    struct cd_link link;
};

bool cells_take_u64(struct cd_str *text, uint64_t *out)
{
    struct cd_str word;
    return cd_str_next(text, ' ', &word) && cd_str_u64(word, out) == 0;
}

bool cells_answer_take(struct cd_str *text, uint64_t *epoch, uint64_t *txid)
{
    return cells_take_u64(text, epoch) && cells_take_u64(text, txid);
}

static void talk_end(struct talk *t, const char *why)
{
    cd_link_remove(&t->link);
    cell_wire_close(t->wire, &(struct cell_close){.text = cd_str(why)});
    cd_free(t);
}

static int obey(struct cell *c, struct cd_str message, struct cd_buf *answer)
{
    if (cd_str_starts(cell_scope(c), CD_STR("Ledger:")))
        return cells_ledger(c, message, answer);
    if (cd_str_starts(cell_scope(c), CD_STR("Mix:")))
        return cells_mix(c, message, answer);
    return cells_alarm(c, message, answer);
}

static void talk_message(void *arg, struct cell_wire *w, struct cd_buf *bytes)
{
    struct talk *t = arg;
    struct cell *c = t->actor->cell;
    struct cd_buf rest = {0}, answer = {0}, why = {0};
    int rc = obey(c, cd_buf_str(bytes), &rest);
    if (rc != 0) {
        /* What the message did so far must not be kept in part. */
        cd_buf_addf(&why, "%s: %.*s", cd_err_text(rc), (int)storage_error(cell_storage(c)).len,
                    storage_error(cell_storage(c)).ptr);
        cell_abort(c, cd_buf_str(&why));
    } else if (cell_flush(c, &why) == 0) {
        t->actor->hooks->committed(t->actor->hooks->arg, c);
        cd_buf_addf(&answer, "%llu %llu ", (unsigned long long)cell_epoch(c),
                    (unsigned long long)db_txid(cell_db(c)));
        cd_buf_add_str(&answer, cd_buf_str(&rest));
        cell_wire_send(w, &answer);
    }
    cd_buf_deinit(&rest);
    cd_buf_deinit(&answer);
    cd_buf_deinit(&why);
}

static void talk_closed(void *arg, struct cell_wire *w, const struct cell_close *why)
{
    (void)w;
    (void)why;
    talk_end(arg, "");
}

static const struct cell_wire_hooks talk_hooks = {talk_message, talk_closed, NULL, NULL};

static void actor_start(void *arg, struct cell *c)
{
    struct actor *a = cd_new(struct actor);
    a->hooks = arg;
    a->cell = c;
    cd_list_init(&a->talks);
    cell_set_user(c, a);
    cell_started(c, NULL);
}

static void actor_open(void *arg, struct cell *c, struct cell_wire *w)
{
    struct talk *t = cd_new(struct talk);
    (void)arg;
    t->actor = cell_user(c);
    t->wire = w;
    cd_list_push(&t->actor->talks, &t->link);
    cell_wire_attach(w, &talk_hooks, t);
}

static void actor_alarm(void *arg, struct cell *c, const struct cell_alarm_run *run)
{
    cells_alarm_run(arg, c, run);
}

static void actor_wake(void *arg, struct cell *c)
{
    (void)arg;
    (void)c; /* It parks no sockets. */
}

static void actor_stop(void *arg, struct cell *c, enum cell_stop cause, struct cd_str why)
{
    struct actor *a = cell_user(c);
    struct cd_link *k;
    (void)arg;
    (void)cause;
    (void)why;
    while ((k = cd_list_first(&a->talks)) != NULL)
        talk_end(CD_CONTAINER(k, struct talk, link), "the cell stops");
    cd_free(a);
    cell_stopped(c);
}

const struct cell_code cells_code = {actor_start, actor_open, actor_alarm, actor_wake, actor_stop, NULL};
