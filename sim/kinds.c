/* sim/kinds.c: the workloads of celld-sim. celld-sim-js has sim/js/kinds.c in its place. */
#include "sim/run.h"

const struct load_kind *const run_kinds[] = {&load_http, &load_files, &load_ledger, &load_storage,
                                             &load_alarms};
const unsigned run_kind_count = CD_COUNT(run_kinds);
const char *const run_program = "celld-sim";
