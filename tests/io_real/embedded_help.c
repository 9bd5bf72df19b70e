#include "tests/io_real/embedded_help.h"

#include <pthread.h>
#include <stdio.h>

struct crew {
    struct embedded *store;
    pthread_mutex_t lock;
    pthread_cond_t all_in;
    unsigned out;
};

struct crew *crew_new(struct embedded *e)
{
    struct crew *c = cd_new(struct crew);
    c->store = e;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->all_in, NULL);
    return c;
}

void crew_free(struct crew *c)
{
    pthread_mutex_destroy(&c->lock);
    pthread_cond_destroy(&c->all_in);
    cd_free(c);
}

static void job_finished(struct embedded_job *j)
{
    struct crew *c = j->user;
    pthread_mutex_lock(&c->lock);
    if (--c->out == 0)
        pthread_cond_signal(&c->all_in);
    pthread_mutex_unlock(&c->lock);
}

void crew_start(struct crew *c, struct embedded_job *j)
{
    pthread_mutex_lock(&c->lock);
    c->out++;
    pthread_mutex_unlock(&c->lock);
    j->user = c;
    j->finished = job_finished;
    if (j->deadline_ns == 0)
        j->deadline_ns = UINT64_MAX;
    embedded_start(c->store, j);
}

void crew_wait(struct crew *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->out > 0)
        pthread_cond_wait(&c->all_in, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

struct embedded_job *job_put(const char *key, struct cd_str body, enum io_put how, const char *token)
{
    struct embedded_job *j = embedded_job_new(EMBEDDED_PUT);
    cd_buf_add_str(&j->key, cd_str(key));
    cd_buf_add_str(&j->body, body);
    j->how = how;
    snprintf(j->out.token, sizeof(j->out.token), "%s", token);
    return j;
}

struct embedded_job *job_get(const char *key, uint64_t from, uint64_t len)
{
    struct embedded_job *j = embedded_job_new(EMBEDDED_GET);
    cd_buf_add_str(&j->key, cd_str(key));
    j->from = from;
    j->len = len;
    return j;
}

struct embedded_job *job_delete(const char *key)
{
    struct embedded_job *j = embedded_job_new(EMBEDDED_DELETE);
    cd_buf_add_str(&j->key, cd_str(key));
    return j;
}

struct embedded_job *job_list(const char *prefix, const char *after, char delimiter, unsigned max)
{
    struct embedded_job *j = embedded_job_new(EMBEDDED_LIST);
    cd_buf_add_str(&j->key, cd_str(prefix));
    cd_buf_add_str(&j->after, cd_str(after));
    j->delimiter = delimiter;
    j->max = max;
    return j;
}

struct embedded_job *job_run(struct embedded *e, struct embedded_job *j)
{
    struct crew *c = crew_new(e);
    crew_start(c, j);
    crew_wait(c);
    crew_free(c);
    return j;
}
