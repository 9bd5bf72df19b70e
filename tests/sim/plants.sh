#!/usr/bin/env bash
# plants.sh CELLD_SIM PLANTED: every planted bug is caught by the invariant named for it, and by nothing else; the same
# scenario without its bug passes, so that it is the bug that was caught. What ships refuses to plant anything.
set -uo pipefail
sim=$1 planted=$2
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
caught=0 all=0 failed=0
for scn in "$top"/scenarios/plants/*.scn; do
    name=$(basename "$scn" .scn)
    all=$((all + 1))
    if "$planted" "$scn" --quiet > "$tmp/out" 2>&1; then
        caught=$((caught + 1))
    else
        failed=1
        echo "NOT CAUGHT $name"
        sed 's/^/    /' "$tmp/out"
    fi
    sed -e '/^plant /d' -e '/^expect /d' "$scn" > "$tmp/$name.scn"
    if ! "$planted" "$tmp/$name.scn" --quiet > "$tmp/out" 2>&1; then
        failed=1
        echo "FAILS WITHOUT ITS BUG $name"
        sed 's/^/    /' "$tmp/out"
    fi
done
"$sim" "$scn" --quiet > "$tmp/out" 2>&1
if [ $? -ne 7 ] || ! grep -q 'contains no planted bugs' "$tmp/out"; then
    failed=1
    echo "THE BINARY THAT SHIPS DOES NOT REFUSE A PLANT"
fi
echo "$caught of $all planted bugs caught"
[ "$caught" -eq "$all" ] && [ "$failed" -eq 0 ]
