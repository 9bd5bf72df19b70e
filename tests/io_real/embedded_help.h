/* tests/io_real/embedded_help.h: waiting for jobs of the embedded store without a loop. */
#ifndef EMBEDDED_HELP_H
#define EMBEDDED_HELP_H

#include "io_real/embedded.h"

/* Counts jobs that are out; wait_all returns when none is. */
struct crew;
struct crew *crew_new(struct embedded *e);
void crew_free(struct crew *c);
void crew_start(struct crew *c, struct embedded_job *j); /* Stays the caller's to free. */
void crew_wait(struct crew *c);

struct embedded_job *job_put(const char *key, struct cd_str body, enum io_put how, const char *token);
struct embedded_job *job_get(const char *key, uint64_t from, uint64_t len);
struct embedded_job *job_delete(const char *key);
struct embedded_job *job_list(const char *prefix, const char *after, char delimiter, unsigned max);
struct embedded_job *job_run(struct embedded *e, struct embedded_job *j); /* Starts and waits; returns j. */

#endif
