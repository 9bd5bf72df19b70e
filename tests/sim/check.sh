#!/usr/bin/env bash
# check.sh CELLD_SIM PLANTED: runs are deterministic, and --check finds those that are not, and where.
. "$(dirname "${BASH_SOURCE[0]}")/support.sh"
scn=$top/tests/sim/scn
# The start of each: all of it, and more seeds, are for preset sim (tools/test).
run 0 "$sim" --seed 1..20 --check --quiet --until 10s
last_line '^20 runs, 20 passed'
for plant in address-order uninitialised-byte real-clock; do
    run 2 "$planted" "$scn/check-$plant.scn" --check --quiet
    complains 'FAILED not deterministic: determinism, seed 1'
    complains 'the first line that differs'
    complains '^ *- [0-9]+ [0-9.]+ '
    complains '^ *\+ [0-9]+ [0-9.]+ '
    last_line "check-$plant.scn --seed 1 --rev [^ ]+ # determinism at "
    # The same scenario without its plant is deterministic.
    sed '/^plant /d' "$scn/check-$plant.scn" > "$tmp/without.scn"
    run 0 "$planted" "$tmp/without.scn" --check --quiet
done
# A failure that repeats is that failure, not a lack of determinism.
sed '/^expect /d' "$top/scenarios/plants/files-ack-before-sync.scn" > "$tmp/fails.scn"
run 3 "$planted" "$tmp/fails.scn" --check --quiet
last_line '# files.acked-lost at '
CELLD_SIM_CHILD=nonsense run 7 "$sim" "$scn/quiet.scn"
finish
