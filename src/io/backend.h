/* io/backend.h: what io_real and io_sim share with the common part of src/io (op.c, fiber.c). Not for users
 * of io.h, but for layers that offer operations of their own over it (src/http): io_begin, io_complete and
 * io_complete_later.
 *
 * A backend embeds struct io as the first member of its loop and, around every callback it runs, does
 *
 *     io_enter(io); ... io_complete(op, status) or a callback ...; io_turn_end(io, max); io_leave(io);
 *
 * io_turn_end resumes the fibers that were woken and delivers deferred completions until none is left. A
 * backend that wants to decide the order itself (io_sim) sets the hooks and calls io_fiber_resume and
 * io_complete on its own. */
#ifndef IO_BACKEND_H
#define IO_BACKEND_H

#include "io/io.h"

struct io {
    uint64_t next_serial;
    unsigned busy; /* Ops in flight: 0 at the end of a clean loop. */
    struct cd_list ops; /* All of them (io_op.all), in the order of submission. */
    unsigned fibers; /* Alive. */
    unsigned entered; /* Depth of io_enter. */
    struct io_fiber *running; /* The fiber whose stack we are on. */
    struct cd_list ready; /* Fibers to resume, in the order they were woken. */
    struct cd_list deferred; /* Ops to complete at the next turn, with op->status set (io_op.link). */
    struct cd_list alive; /* All fibers, in the order they were spawned. */
    struct cd_list spare; /* Ended fibers whose stacks are kept. */
    unsigned spares;
    /* All hooks may be NULL. defer takes an op that is to be completed with status at a later turn, in place
     * of the deferred list. ready_hook hears of each fiber that becomes ready (it is in the ready list
     * already). wake hears that there is work although the loop is not inside a callback, so that a sleeping
     * loop wakes. */
    void (*defer)(struct io *io, struct io_op *op, int status);
    void (*ready_hook)(struct io *io, struct io_fiber *f);
    void (*wake)(struct io *io);
    void *user; /* Of the program on top (a test, a node); not the backend's. */
};

/* Each backend's: where io_current() is kept, one per thread. src has no writable data of its own. */
struct io **io_current_slot(void);

void io_init(struct io *io);
void io_deinit(struct io *io); /* Asserts that nothing is pending; frees kept stacks. */

void io_enter(struct io *io); /* Sets io_current(). Nests. */
void io_leave(struct io *io);

/* Marks op busy and names it. The backend then sets op->cancel (NULL: it cannot be hurried). op->link and
 * op->impl are the backend's until completion; io_complete unlinks op->link. */
void io_begin(struct io_op *op, struct io *io, io_done_fn *done);
/* Makes op idle, then calls done or wakes the waiting fiber. Only from the loop, inside io_enter, never from
 * submit or cancel and never from a fiber: asserted. */
void io_complete(struct io_op *op, int status);
/* Completes at the next turn: what submit and cancel use when the result is known at once. op is busy
 * already. */
void io_complete_later(struct io_op *op, int status);

/* Resumes ready fibers and delivers deferred completions until none is left or max were run. False: more is
 * left. */
bool io_turn_end(struct io *io, unsigned max);
/* The first ready fiber runs until its next await. False: none was ready. */
bool io_fiber_run_one(struct io *io);
/* This ready fiber runs until its next await. */
void io_fiber_resume(struct io_fiber *f);
void io_fiber_wake(struct io_fiber *f); /* Of io_complete. */
void io_fibers_cancel(struct io *io); /* io_fiber_cancel on every living fiber. */

const char *io_fiber_name(const struct io_fiber *f);
/* Calls each for every living fiber: its name and the serial of the op it awaits (0: none). */
void io_fibers_each(struct io *io, void (*each)(void *arg, const char *name, uint64_t op_serial), void *arg);

/* ---- What the store groups of both backends share (io/store.c) ---- */

/* The key with the bucket's prefix in front, or CD_EINVAL with the reason in why. */
CD_MUST_USE int io_store_key(struct cd_buf *out, struct cd_str prefix, struct cd_str key, char *why,
                             size_t cap);
/* Results of the last use go, inputs stay. */
void io_store_clear(struct io_store *s);
void io_list_clear(struct io_list *l);
/* Appends an entry; its key is copied. io_list_seal must follow the last one: only then keys point right. */
void io_list_add(struct io_list *l, struct cd_str key, uint64_t size, int64_t modified_ms, bool is_prefix);
void io_list_seal(struct io_list *l);
void io_list_cut(struct io_list *l, unsigned count); /* Before the seal: keeps the first count. */
/* Whether key belongs to a group: has the delimiter (0: never) behind prefix, which it starts with. Then
 * *group is its part up to there. */
bool io_list_group(struct cd_str key, struct cd_str prefix, char delimiter, struct cd_str *group);

/* ---- What the HTTP groups of both backends share (io/http.c); src/http has its grammar from here too ----
 */

bool io_http_is_token(struct cd_str s); /* RFC 9110 5.6.2: what a field name and a method are made of. */
/* What may stand in a field value: no CR, LF, NUL or other control characters but tab. */
bool io_http_is_value(struct cd_str s);
/* CD_EINVAL unless method, URL, head and length can be sent as they are. */
CD_MUST_USE int io_http_ask_check(const struct io_http_ask *ask);
/* Takes the first "Name: value\r\n" off head. CD_EINVAL: it does not start with one. */
CD_MUST_USE int io_http_line_next(struct cd_str *head, struct cd_str *name, struct cd_str *value);
struct io_http_url {
    bool tls;
    struct cd_str authority; /* Host and maybe a port; never empty, never with a user or password. */
    struct cd_str rest; /* Path, query and fragment. */
};
/* Borrows from url. CD_EINVAL: not http(s), without a host, with a user, spaces or control characters. */
CD_MUST_USE int io_http_url_split(struct cd_str url, struct io_http_url *out);

#endif
