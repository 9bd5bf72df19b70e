/* sim/runner.h: celld-sim as a function: options in, exit code out. */
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

int runner_main(int argc, char **argv);

#endif
