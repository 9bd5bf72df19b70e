/* tests/cli/rig.h: one invocation of celld on the simulator, with what it wrote and its exit code. */
#ifndef CLI_RIG_H
#define CLI_RIG_H

#include "cli/command.h"
#include "io_sim/console.h"
#include "support/test.h"

#define RIG_MAX 40

struct rig {
    struct sim *sim;
    struct sim_node *node;
    const char *env[RIG_MAX];
};

void rig_open(struct rig *r);
void rig_close(struct rig *r);
/* Adds NAME=value; it must stay. */
void rig_env(struct rig *r, const char *entry);
/* Runs celld with the words of args, by single spaces; '' is an empty one. Output of an earlier run is
 * forgotten. Returns the exit code. */
int rig_run(struct rig *r, const char *args);
struct cd_str rig_out(struct rig *r);
struct cd_str rig_err(struct rig *r);

/* Runs with env (entries by line break; NULL: none) and expects exit code 1 and exactly this on stderr,
 * nothing on stdout. */
void rig_refuses(const char *env, const char *args, const char *error);
/* The same, but stderr must contain text. */
void rig_refuses_with(const char *env, const char *args, const char *text);
/* What is right gets as far as this version goes: exit code 1, and it says so. */
void rig_accepts(const char *env, const char *args);
bool rig_has(struct cd_str text, const char *part);

#endif
