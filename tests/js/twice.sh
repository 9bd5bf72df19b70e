#!/usr/bin/env bash
# twice.sh PROGRAM [ARG...]: runs PROGRAM three times: as it is, with another environment, stack position and
# allocator behaviour, and with other addresses; all must print the same bytes. simulation.md 9.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$@" | cat > "$dir/1"
[ -s "$dir/1" ] || { echo "printed nothing"; exit 1; }
big=$(head -c 60000 /dev/zero | tr '\0' x)
BIG="$big" LC_ALL=C.UTF-8 TZ=Asia/Tokyo MALLOC_ARENA_MAX=1 MALLOC_TOP_PAD_=1048576 "$@" | cat > "$dir/2"
(cd / && setarch -R "$@") | cat > "$dir/3"
for other in 2 3; do
    cmp "$dir/1" "$dir/$other" || { diff -a "$dir/1" "$dir/$other" | head -n 20; exit 1; }
done
wc -c < "$dir/1"
