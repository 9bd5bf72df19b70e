/* sim/ask_truth.h: the oracle of the js workload: what the Worker was asked, what it ran, what came back.
 * Pure.
 *
 * Every request has a number that is never used again; its answer follows from the number, but for the route
 * that is asked for random values, which must never come twice in the fleet. The Worker (sim/js/worker.js)
 * says on its console what it runs, so the oracle knows it at that moment. */
#ifndef SIM_ASK_TRUTH_H
#define SIM_ASK_TRUTH_H

#include "base/buf.h"
#include "base/map.h"

/* What a request asks for: the path of its URL, without the slash. */
#define ASK_ROUTES(X)                                                                                        \
    X(ASK_TEXT, "text") /* A short text. */                                                                  \
    X(ASK_JSON, "json")                                                                                      \
    X(ASK_ECHO, "echo") /* The body, passed through as a stream. */                                          \
    X(ASK_READ, "read") /* The body, read whole before the answer. */                                        \
    X(ASK_TIMER, "timer") /* A text after n milliseconds. */                                                 \
    X(ASK_STREAM, "stream") /* n lines, with waits between them. */                                          \
    X(ASK_RANDOM, "random") /* Math.random, a UUID and random bytes. */                                      \
    X(ASK_THROW, "throw") /* An error that nobody catches: 500. */

enum ask_route {
#define X(id, path) id,
    ASK_ROUTES(X)
#undef X
        ASK_ROUTE_COUNT
};
const char *ask_route_path(enum ask_route route);

enum ask_outcome {
    ASK_OPEN,
    ASK_ANSWERED, /* As it had to be: it ran, once. */
    ASK_REFUSED, /* By the server, before or while the Worker ran. */
    ASK_LOST, /* No whole answer: it ran at most once. */
};

struct ask {
    enum ask_route route;
    uint8_t client, node;
    uint32_t n; /* Bytes of the body, milliseconds or lines, as the route has it. */
    uint8_t ran, late; /* How often the handler was called, and its waitUntil came to its end. */
    enum ask_outcome outcome;
};

struct ask_truth {
    struct ask *ask; /* owned; number i is ask[i - 1] */
    uint64_t asks, cap;
    uint64_t answered, refused, lost, thrown;
    struct cd_map random; /* Every random value that was seen. */
};

void ask_truth_deinit(struct ask_truth *t);
uint64_t ask_truth_add(struct ask_truth *t, const struct ask *ask); /* Returns its number, from 1. */
struct ask ask_truth_get(const struct ask_truth *t, uint64_t id); /* A copy: the table moves as it grows. */

/* The rest returns NULL when all is well, else the invariant that is broken, with the reason in why. */

/* A line of the Worker's console: "run 17" when its handler was called, "fail 17" when its client or its body
 * was lost, or it throws; "late 17" when what it left to waitUntil is done. up: the node has not crashed.
 * js.ran-on, js.invented, js.twice, js.order */
const char *ask_truth_console(struct ask_truth *t, struct cd_str line, bool up, struct cd_buf *why);
/* An answer that is whole as far as HTTP tells, took_ns after it was asked. js.answer, js.unexecuted,
 * js.early, js.random */
const char *ask_truth_answer(struct ask_truth *t, uint64_t id, int status, struct cd_str body,
                             uint64_t took_ns, struct cd_buf *why);
void ask_truth_lose(struct ask_truth *t, uint64_t id); /* No whole answer came. */

#endif
