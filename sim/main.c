/* sim/main.c: celld-sim. */
#include "sim/runner.h"

int main(int argc, char **argv)
{
    return runner_main(argc, argv);
}
