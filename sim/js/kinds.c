/* sim/js/kinds.c: the workloads of celld-sim-js, in the place of sim/kinds.c. */
#include "sim/run.h"

const struct load_kind *const run_kinds[] = {&load_http, &load_files, &load_js};
const unsigned run_kind_count = CD_COUNT(run_kinds);
const char *const run_program = "celld-sim-js";
