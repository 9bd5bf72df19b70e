/* tests/io_real/programs/store_bench.c: durable puts per second through the embedded store, without a loop.
 *
 *   store_bench DIR COUNT DEPTH     COUNT puts of 300 bytes, DEPTH in flight; prints how long they took */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "tests/io_real/embedded_help.h"

struct bench {
    struct embedded *store;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    unsigned next, count, left;
    struct cd_rng rng;
};

static void bench_put(struct bench *b, struct embedded_job *j);

static void bench_finished(struct embedded_job *j)
{
    struct bench *b = j->user;
    bool more;
    if (j->status != IO_OK)
        abort();
    pthread_mutex_lock(&b->lock);
    more = b->next < b->count;
    b->next += more;
    if (--b->left == 0)
        pthread_cond_signal(&b->ended);
    pthread_mutex_unlock(&b->lock);
    if (more)
        bench_put(b, j);
    else
        embedded_job_free(j);
}

static void bench_put(struct bench *b, struct embedded_job *j)
{
    static const char body[300];
    cd_buf_clear(&j->key);
    cd_buf_clear(&j->body);
    pthread_mutex_lock(&b->lock);
    uint64_t id = cd_rng_next(&b->rng);
    pthread_mutex_unlock(&b->lock);
    cd_buf_addf(&j->key, "cells/Room:%016llx/x.ltx", (unsigned long long)id);
    cd_buf_add(&j->body, body, sizeof(body));
    j->how = IO_PUT_IF_ABSENT;
    j->user = b;
    j->finished = bench_finished;
    j->deadline_ns = UINT64_MAX;
    embedded_start(b->store, j);
}

static int bench(struct embedded *e, unsigned count, unsigned depth)
{
    struct bench b = {.store = e, .next = depth, .count = count, .left = count};
    struct timespec from, to;
    cd_rng_seed(&b.rng, 1, CD_STR("bench"));
    pthread_mutex_init(&b.lock, NULL);
    pthread_cond_init(&b.ended, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (unsigned i = 0; i < depth; i++)
        bench_put(&b, embedded_job_new(EMBEDDED_PUT));
    pthread_mutex_lock(&b.lock);
    while (b.left > 0)
        pthread_cond_wait(&b.ended, &b.lock);
    pthread_mutex_unlock(&b.lock);
    clock_gettime(CLOCK_MONOTONIC, &to);
    double s = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("%u durable puts, %u in flight: %.2f s, %.0f/s\n", count, depth, s, count / s);
    return 0;
}

int main(int argc, char **argv)
{
    struct embedded *e;
    struct cd_buf why = {0};
    uint64_t count, depth;
    if (argc != 4 || cd_str_u64(cd_str(argv[2]), &count) != 0 || cd_str_u64(cd_str(argv[3]), &depth) != 0 ||
        depth > count) {
        fprintf(stderr, "usage: store_bench DIR COUNT DEPTH\n");
        return 2;
    }
    if (embedded_open(&e, argv[1], &why) != IO_OK) {
        fprintf(stderr, "%s\n", cd_buf_cstr(&why));
        cd_buf_deinit(&why);
        return 2;
    }
    int rc = bench(e, (unsigned)count, (unsigned)depth);
    embedded_close(e);
    return rc;
}
