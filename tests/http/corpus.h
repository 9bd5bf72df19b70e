/* tests/http/corpus.h: reads the cases of tests/http/corpus/requests.txt. */
#ifndef TESTS_HTTP_CORPUS_H
#define TESTS_HTTP_CORPUS_H

#include "base/buf.h"
#include "http/parse.h"

#define CORPUS_STATUSES_MAX 8

struct corpus_case {
    char name[80];
    struct cd_buf bytes; /* owned by the walk */
    int status[CORPUS_STATUSES_MAX];
    unsigned statuses;
};

/* The limits that the expectations of the corpus are made for. */
extern const struct http_limits corpus_limits;

/* Calls each for every case, in order. Stops the program when the file cannot be read or understood. Returns
 * how many cases there were. */
unsigned corpus_each(void (*each)(const struct corpus_case *c, void *arg), void *arg);

#endif
