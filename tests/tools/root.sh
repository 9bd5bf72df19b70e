#!/usr/bin/env bash
# root.sh: what tools/root promises to the command that it runs. Not inside the build root: it enters it.
set -uo pipefail
top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
root=$top/tools/root
failed=0
expect() { # expect WHAT GOT WANT
    [ "$2" = "$3" ] && return
    printf '%s: got "%s", want "%s"\n' "$1" "$2" "$3"
    failed=1
}
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/celld root.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

"$root" sh -c 'exit 7'
expect 'the exit code' "$?" 7
("$root" sh -c 'kill -TERM $$') 2> /dev/null
expect 'death by a signal' "$?" 143
"$root" /nonexistent 2> /dev/null
expect 'a command that is not there' "$?" 127
expect 'standard input' "$(echo in | "$root" cat)" in
expect 'arguments' "$("$root" printf '%s|' 'a b' '' '$x' "it's")" "a b||\$x|it's|"
expect 'the environment' "$(SOME_THING='a b' "$root" sh -c 'printf %s "$SOME_THING"')" 'a b'
expect 'the folder' "$(cd "$scratch" && "$root" pwd)" "$scratch"
(cd "$scratch" && "$root" sh -c 'echo made > made')
expect 'a file made inside' "$(cat "$scratch/made")" made
expect 'a checkout behind a link' "$(ln -s "$top" "$scratch/link" && "$scratch/link/tools/root" echo ok)" ok
expect 'from within' "$("$root" "$root" echo ok)" ok
expect 'the compiler' "$("$root" gcc -dumpversion)" 16
expect 'resolv.conf and hosts' "$("$root" sh -c 'cat /etc/hosts' | cksum)" "$(cksum < /etc/hosts)"
expect 'the program is our child itself' "$("$root" sh -c 'echo $PPID')" "$$"
if [ -w /etc ]; then
    place=$(mktemp -d '/etc/celld root.XXXXXX')
    mkdir "$place/sub"
    (cd "$place/sub" && "$root" sh -c 'echo made > ../made')
    expect 'a project under /etc' "$(cat "$place/made")" made
    rm -rf "$place"
fi

# A signal from a terminal goes to the process group; nothing may be left of it. Whoever runs us in the background may
# have told us to ignore SIGINT, which programs inherit: the command gets it back.
set -m
env --default-signal=INT "$root" sh -c 'sleep 60; true' &
job=$!
sleep 0.5
kill -INT -- "-$job" 2> /dev/null
wait "$job" 2> /dev/null
expect 'interrupted' "$?" 130
sleep 0.1
kill -0 -- "-$job" 2> /dev/null
expect 'nothing is left' "$?" 1

# Two first calls at once do not disturb each other: here the tree is there, and both just run.
"$root" true & one=$!
"$root" true & two=$!
wait "$one" && wait "$two"
expect 'two at once' "$?" 0
exit "$failed"
