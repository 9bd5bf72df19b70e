#!/usr/bin/env bash
# cli.sh CELLD_SIM PLANTED: the command line: what is accepted, every exit code, the last line, the traces, the dump.
. "$(dirname "${BASH_SOURCE[0]}")/support.sh"
scn=$top/tests/sim/scn plants=$top/scenarios/plants
without() { sed -e "/^$1 /d" "$2"; }

# Texts.
run 0 "$sim" --help
says '^usage: celld-sim'
run 0 "$sim" --version
says '^celld-sim [0-9.]+ \([0-9a-f]{12}'

# 7: what is wrong with the question.
run 7 "$sim" --sed 1
complains 'unknown option --sed'
run 7 "$sim" --seed 1..
run 7 "$sim" "$tmp/none.scn"
complains 'none.scn: No such file'
printf 'scn 1\nload files\nat 3s explode n1\n' > "$tmp/bad.scn"
run 7 "$sim" "$tmp/bad.scn"
complains "bad.scn:3:7: unknown word 'explode'"
printf 'scn 1\nload js\n' > "$tmp/later.scn"
run 7 "$sim" "$tmp/later.scn"
complains "later.scn:2: 'load js' is not available yet"
printf 'scn 1\nload files for=2s\nexpect mark no.such_mark\n' > "$tmp/mark.scn"
run 7 "$sim" "$tmp/mark.scn"
complains 'wants mark no.such_mark'
last_line '^celld-sim .*mark.scn --seed 1 --rev [^ ]+ # expect.mark at [0-9.]+s$'
while read -r step; do
    printf 'scn 1\nload files for=3s\nat 1s pause n1 10ms\n%s\n' "$step" > "$tmp/step.scn"
    run 7 "$sim" "$tmp/step.scn"
    complains "step never came: $step\$"
    grep -q 'never came: at 1s' "$tmp/err" && fail 'a step that came is said to be missed'
    last_line '^celld-sim .*step.scn --seed 1 --rev [^ ]+ # step at [0-9.]+s$'
    run 0 "$sim" "$tmp/step.scn" --until 2s
done << 'EOF'
when mark no.such.mark pause n1 1s
when event zzz heal
at 900s crash n1
EOF
run 7 "$sim" --rev 0000000 --seed 1
complains 'a seed belongs to a commit'

# 0, and what is said about it.
run 0 "$sim" "$scn/quiet.scn" --list-marks
last_line '^1 run, 1 passed: [0-9]+ events in [0-9.]+s of virtual time, .* events/s, '
rev=$("$sim" --version | sed 's/.*(\(.*\))/\1/')
run 0 "$sim" "$scn/quiet.scn" --rev "$rev" --seed 1..3 --jobs 2 --quiet
last_line '^3 runs, 3 passed'
[ -s "$tmp/err" ] && fail '--quiet is not quiet'

# 3, 4, 5, 6: failures, and the line that repeats them.
without expect "$plants/files-ack-before-sync.scn" > "$tmp/safety.scn"
run 3 "$planted" "$tmp/safety.scn"
complains '^FAILED safety: files.acked-lost, seed 1, event [0-9]+, '
last_line '^celld-sim .*/safety.scn --seed 1 --rev [^ ]+ # files.acked-lost at [0-9]+\.[0-9]{3}s$'
printf 'scn 1\nload files for=5s\nexpect served all by 1s\n' > "$tmp/late.scn"
run 4 "$sim" "$tmp/late.scn"
last_line '# liveness.served at '
run 5 "$planted" "$scn/assertion.scn"
complains 'assertion failed: .*files.assertion'
last_line '--seed 1 --rev [^ ]+ # assertion at [0-9]+\.[0-9]{3}s$'
without expect "$plants/files-handle-kept.scn" > "$tmp/leak.scn"
run 6 "$planted" "$tmp/leak.scn"
complains 'file /data/log'
last_line '# leak at '
# The lowest seed that failed decides, whatever ended first.
run 3 "$planted" "$tmp/safety.scn" --seed 1..4 --jobs 4 --quiet
last_line '--seed 1 '

# "expect fails" wants its own invariant, not any.
sed 's/^expect .*/expect fails files.order/' "$plants/files-ack-before-sync.scn" > "$tmp/other.scn"
run 7 "$planted" "$tmp/other.scn"
complains 'wants files.order to fail, but files.acked-lost did'

# A trace in text and JSON, from the start and up to a time.
run 0 "$sim" "$scn/quiet.scn" --trace text --until 1s
says '^[0-9]+ 0\.[0-9]{9} n1/0 file\.sync #[0-9]+'
grep -q '^[0-9]* 2\.' "$tmp/out" && fail 'the trace goes on behind --until'
run 0 "$sim" "$scn/quiet.scn" --trace json --until 1s
says '^\{"event":[0-9]+,"ns":[0-9]+,"node":"n1","loop":0,"kind":"file.sync"'

says '^\{"ns":[0-9]+,"note":"n1: life 1 begins"\}$'
grep -vq '^{' "$tmp/out" && fail 'a line of the JSON trace is no record'

# The same as a page: the same every time, and what it shows.
html() { # html CODE BINARY SCENARIO [ARG...]: shows the page of that run.
    run "$1" "${@:2}" --trace html --quiet
    cp "$tmp/out" "$tmp/page.html"
    run "$1" "${@:2}" --trace html --quiet
    cmp -s "$tmp/out" "$tmp/page.html" || fail "another page the second time: ${*:3}"
    run "$1" "${@:2}" --trace json --quiet
    cp "$tmp/out" "$tmp/page.json"
    run 0 node "$top/tests/sim/trace.mjs" "$tmp/page.html" "$tmp/page.json"
}
html 0 "$sim" "$top/scenarios/cells-takeover.scn" --until 16s
says '^celld-sim --seed 3: pass, [0-9]+ records, '
says '^plan: crash n1 kill$'
says '^n1: life 1, lease, log none, lease, log open, ✕ ends, log recovering by n[23], log sealed'
says '^cell Ledger:[1-8]: e1 n1, e2 n[23]'
printf 'scn 1\nload files for=2s\nat 500ms pause n1 300ms\nat 1s crash n2\nat 1100ms restart n2\n' > "$tmp/pause.scn"
html 0 "$sim" "$tmp/pause.scn" --until 2s
says '^n1: life 1, paused, '
says '^n2: life 1, life 2, ⚡ power'
html 3 "$planted" "$tmp/safety.scn"
says '^celld-sim --seed 1: safety, files.acked-lost at '
# A run that dies has said what it did.
html 5 "$planted" "$scn/assertion.scn"
says '^celld-sim --seed 1: assertion or sanitizer, assertion at .*, [1-9][0-9]* records, '

# Output that cannot be written is no failed run: 7 and the reason. A reader that has seen enough is none.
for args in '--seed 1 --until 1s --quiet --trace text' '--seed 1 --dump' '--seed 1 --until 1s --quiet' --help --version; do
    # shellcheck disable=SC2086 # words
    for to in /dev/full '&-'; do
        : > "$tmp/out"
        if [ "$to" = /dev/full ]; then
            "$sim" $args > /dev/full 2> "$tmp/err"
        else
            "$sim" $args >&- 2> "$tmp/err"
        fi
        code=$?
        [ "$code" -eq 7 ] || fail "exit code $code, want 7: $args > $to"
        complains '^celld-sim: write standard output: (No space left on device|Bad file descriptor)$'
        grep -q FAILED "$tmp/err" && fail "a failed run: $args > $to"
    done
    # The reader ends before anything is written to it.
    # shellcheck disable=SC2086 # words
    { sleep 0.1; "$sim" $args 2> "$tmp/err"; echo $? > "$tmp/code"; } | :
    [ "$(cat "$tmp/code")" -eq 0 ] || fail "exit code $(cat "$tmp/code") without a reader: $args"
    [ -s "$tmp/err" ] && fail "not quiet without a reader: $args"
done
"$planted" "$tmp/safety.scn" --quiet > /dev/full 2> "$tmp/err"
[ $? -eq 3 ] || fail 'a failure that was found is not the exit code when its report cannot be written'
complains '^celld-sim: write standard output: No space left on device$'

# What is dumped replays to the same run.
run 0 "$sim" --seed 11 --trace text
grep -E '^[0-9]+ [0-9]+[.]' "$tmp/out" | sha256sum > "$tmp/one"
run 0 "$sim" --seed 11 --dump
cp "$tmp/out" "$tmp/11.scn"
run 0 "$sim" "$tmp/11.scn" --trace text
grep -E '^[0-9]+ [0-9]+[.]' "$tmp/out" | sha256sum > "$tmp/two"
cmp -s "$tmp/one" "$tmp/two" || fail 'a dumped scenario runs in another way than its seed'
run 0 "$sim" "$tmp/11.scn" --dump
cmp -s "$tmp/out" "$tmp/11.scn" || fail 'a dump of a dump is another one'

# A debugger is called before an event: without one the trap ends the process.
("$sim" "$scn/quiet.scn" --break-at 50 > "$tmp/out" 2> "$tmp/err"; echo $? > "$tmp/code") 2> "$tmp/shell"
[ "$(cat "$tmp/code")" -eq 133 ] || fail 'no SIGTRAP before the event'

# Shrinking keeps the failure and throws the rest away.
{
    without expect "$plants/files-ack-before-sync.scn"
    printf 'net loss=1%%\nserver body-max=64k\nat 1s pause n1 100ms\nat 9s skew n1 +3s\nat 10s pause n1 200ms\n'
} > "$tmp/large.scn"
run 3 "$planted" "$tmp/large.scn" --shrink --quiet
says '^# files.acked-lost at '
complains '# files.acked-lost at '
grep -qE 'pause|skew|loss|body-max' "$tmp/out" && fail 'what the failure does not need is still there'
cp "$tmp/out" "$tmp/small.scn"
run 3 "$planted" "$tmp/small.scn" --quiet
last_line '# files.acked-lost at '
run 0 "$sim" "$scn/quiet.scn" --shrink --quiet
complains 'nothing to shrink'
finish
