#!/usr/bin/env bash
# console.sh CELLD: the console of the real system: readers that go away, full disks, closed descriptors.
set -uo pipefail
celld=$1
failed=0
expect() { # expect WHAT GOT WANT
    [ "$2" = "$3" ] || { printf '%s: got "%s", want "%s"\n' "$1" "$2" "$3"; failed=1; }
}
clean() { env -i PATH="$PATH" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} "$celld" "$@"; }

expect 'version' "$(clean --version | sed 's/ (debug)//')" "celld $(sed -n 's/^project(celld VERSION \([^ ]*\).*/\1/p' \
    "${0%/*}/../../CMakeLists.txt")"
clean --help | head -1 > /dev/null
expect 'help into a closed pipe' "${PIPESTATUS[0]}" 0
error=$(clean --help 2>&1 > /dev/full)
expect 'help onto a full disk' "$?" 1
expect 'what it says' "$error" 'Error: write standard output: No space left on device'
error=$(clean --version 2>&1 >&-)
expect 'a closed standard output' "$?" 1
expect 'what it says' "$error" 'Error: write standard output: Bad file descriptor'
clean frobnicate 2> /dev/full
expect 'an error with a full standard error' "$?" 1
expect 'nothing on standard output' "$(clean frobnicate 2> /dev/null)" ''
error=$(CELLD_TTL_MS=0 "$celld" --version 2>&1)
expect 'a bad environment' "$?" 1
expect 'what it says' "$error" 'Error: CELLD_TTL_MS must be greater than zero, not 0'
exit "$failed"
