/* sim/check.h: where two runs of one seed part. simulation.md 9. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "sim/child.h"

/* Whether two runs of a seed were the same; else says in what they differ. */
bool check_same(const struct run_result *a, const struct run_result *b, struct cd_buf *why);
/* First event behind the last checkpoint that both have in common; 1 when there is none. */
uint64_t check_from(const struct run_result *a, const struct run_result *b);
/* Runs the seed both ways again with text traces and appends the first line that differs. */
void check_locate(const struct run_options *o, const struct child_target *t, uint64_t from, char *const *argv,
                  struct cd_buf *out);

#endif
