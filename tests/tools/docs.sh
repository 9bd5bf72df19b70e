#!/usr/bin/env bash
# docs.sh: runs the commands of README.md and docs: every fenced block marked `sh`, at the top of the checkout.
# What cannot run here (it takes long, it does not end, or the feature is not built) is in a block marked
# `text`.
set -uo pipefail
top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
cd "$top" || exit 1
failed=0 count=0
for file in README.md docs/*.md; do
    while IFS= read -r -d '' block; do
        count=$((count + 1))
        if ! timeout 600 bash -euo pipefail -c "$block" > build/docs-block.log 2>&1 < /dev/null; then
            printf '%s: this block fails:\n%s\n' "$file" "$block"
            tail -n 40 build/docs-block.log
            failed=1
        fi
    done < <(awk '/^```sh$/ { on = 1; next } /^```/ { if (on) printf "%c", 0; on = 0 } on' "$file")
done
printf '%s blocks\n' "$count"
[ "$count" -gt 0 ] && exit "$failed"
