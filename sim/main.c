/* sim/main.c: celld-sim. */
#include "db/db.h"
#include "sim/runner.h"

int main(int argc, char **argv)
{
    db_setup();
    return runner_main(argc, argv);
}
