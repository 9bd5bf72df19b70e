#!/usr/bin/env bash
# plants.sh CELLD_SIM PLANTED: every planted bug is caught by the invariant named for it, and by nothing else; the same
# scenario without its bug passes, so that it is the bug that was caught. What ships refuses to plant anything.
set -uo pipefail
sim=$1 planted=$2
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export planted tmp

# Scenarios that differ in nothing but their bug pass or fail together without it.
for scn in "$top"/scenarios/plants/*.scn; do
    sed -e '/^#/d' -e '/^plant /d' -e '/^expect /d' "$scn" > "$tmp/clean"
    mv "$tmp/clean" "$tmp/$(sha256sum "$tmp/clean" | cut -c1-16).scn"
done

one() {
    local scn=$1 out
    if ! out=$("$planted" "$scn" --quiet 2>&1); then
        case $scn in
            "$tmp"/*) printf 'FAILS WITHOUT A BUG: %s\n%s\n' "$(cat "$scn")" "$out" ;;
            *) printf 'NOT CAUGHT %s\n%s\n' "$(basename "$scn" .scn)" "$out" ;;
        esac
        return 1
    fi
}
export -f one
failed=0
printf '%s\0' "$top"/scenarios/plants/*.scn "$tmp"/*.scn |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'one "$1" || exit 1' one > "$tmp/said" || failed=1
cat "$tmp/said"
"$sim" "$scn" --quiet > "$tmp/out" 2>&1
if [ $? -ne 7 ] || ! grep -q 'contains no planted bugs' "$tmp/out"; then
    failed=1
    echo "THE BINARY THAT SHIPS DOES NOT REFUSE A PLANT"
fi
all=("$top"/scenarios/plants/*.scn)
missed=$(grep -c '^NOT CAUGHT ' "$tmp/said")
[ "$failed" -eq 0 ] || [ "$missed" -gt 0 ] || { echo "failed without a planted bug"; exit 1; }
echo "$((${#all[@]} - missed)) of ${#all[@]} planted bugs caught"
exit "$failed"
