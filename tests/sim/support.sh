# support.sh: sourced by the tests of celld-sim as a program. $1 celld-sim, $2 the binary with planted bugs.
set -uo pipefail
sim=$1 planted=$2
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failures=0

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/    out: /' "$tmp/out" | tail -n 15
    sed 's/^/    err: /' "$tmp/err" | tail -n 15
}

# run CODE CMD...: runs it and compares the exit code. Output is in $tmp/out and $tmp/err.
run() {
    local want=$1 got
    shift
    "$@" > "$tmp/out" 2> "$tmp/err"
    got=$?
    [ "$got" -eq "$want" ] || fail "exit code $got, want $want: $*"
}

says() { grep -qE -- "$1" "$tmp/out" || fail "stdout has no line like: $1"; }
complains() { grep -qE -- "$1" "$tmp/err" || fail "stderr has no line like: $1"; }
last_line() { tail -n 1 "$tmp/out" | grep -qE -- "$1" || fail "the last line is not like: $1"; }

finish() {
    [ "$failures" -eq 0 ] && echo ok
    [ "$failures" -eq 0 ]
}
