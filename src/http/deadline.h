/* http/deadline.h: the timeouts of many connections with one timer.
 *
 * There are a few kinds, each with one duration, so a list per kind is in order of time by itself: setting
 * and clearing is a few pointers and no operation. The one timer sleeps until the earliest deadline, at most
 * for the shortest duration, and so never has to be hurried. With nothing to watch it does not run.
 *
 * Time in which the loop stood still, because a turn of JavaScript held it, counts for nobody: what came
 * meanwhile has not been read yet. */
#ifndef HTTP_DEADLINE_H
#define HTTP_DEADLINE_H

#include "io/io.h"

#define HTTP_DEADLINE_KINDS_MAX 6

struct http_deadline { /* Zeroed: not set. */
    struct cd_link link;
    uint64_t at_ns;
};

struct http_deadlines {
    struct io *io;
    struct cd_list list[HTTP_DEADLINE_KINDS_MAX];
    uint64_t after_ns[HTTP_DEADLINE_KINDS_MAX]; /* 0: this kind never expires. */
    unsigned kinds;
    uint64_t shortest_ns;
    struct io_timer timer;
    uint64_t due_ns; /* Of the timer. */
    bool firing, stopping;
    void (*expired)(struct http_deadlines *d, struct http_deadline *which,
                    unsigned kind); /* It is cleared already. */
    void (*stopped)(struct http_deadlines *d); /* After http_deadlines_stop, never from inside of it. */
};

void http_deadlines_init(struct http_deadlines *d, struct io *io, const uint64_t *after_ns, unsigned kinds);
/* Sets anew, whatever it was set to: which expires after_ns[kind] from now. */
void http_deadline_set(struct http_deadlines *d, struct http_deadline *which, unsigned kind);
void http_deadline_clear(struct http_deadline *which);
/* Nothing expires any more. stopped is called once the timer is idle; d may be freed in it. */
void http_deadlines_stop(struct http_deadlines *d);

#endif
