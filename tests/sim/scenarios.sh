#!/usr/bin/env bash
# scenarios.sh CELLD_SIM PLANTED: every named situation, and everything that was ever found, passes. Those named js-* are
# for celld-sim-js, and only those.
# Arguments behind the two binaries go to celld-sim: tools/test asks for --check.
. "$(dirname "${BASH_SOURCE[0]}")/support.sh"
shopt -s nullglob
for scn in "$top"/scenarios/*.scn "$top"/scenarios/found/*.scn; do
    name=${scn##*/} program=${sim##*/}
    [[ $name == js-* ]] && want=celld-sim-js || want=celld-sim
    [ "$program" = "$want" ] || continue
    run 0 "$sim" "$scn" --quiet "${@:3}"
done
finish
