#!/usr/bin/env bash
# bootstrap.sh: first calls of tools/root: killed, interrupted, two at once, after a change of the package list, as a
# plain user. A copy of tools/root beside a package list of its own makes small trees (a few seconds each, from the
# mirror of this machine) in build/, all of which is removed at the end. Exit code 77: cannot be tested here.
set -uo pipefail
top=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd -P)
limit=120 # Seconds that one call may take. Only a hang does.
failed=0
skipped=

fail() { printf '%s\n' "$*"; failed=1; }
expect() { # expect WHAT GOT WANT
    [ "$2" = "$3" ] || fail "$1: got \"$2\", want \"$3\""
}

if [ "$("$top/tools/root")" = / ]; then
    echo 'skipped: this machine is Debian 14 itself, and tools/root makes no tree here'
    exit 77
fi

work=$top/build/bootstrap
remove_work() {
    [ ! -e "$work/pattern" ] || left | cut -d / -f 3 | xargs -r kill -KILL 2> /dev/null
    [ ! -e "$work" ] || rm -rf --one-file-system "$work"
}
trap remove_work EXIT
trap 'exit 130' INT TERM
remove_work
mkdir -p "$work/tools"
cp "$top/tools/root" "$work/tools/root"
root=$work/tools/root
printf '# Small.\nca-certificates\n' > "$work/tools/root-packages"
export CELLD_CACHE="$work/the cache"
log=$work/said # What the call said.
printf '%s/\n' "$work" > "$work/pattern"

trees() { # The trees there are, whole or not, without what lies beside them.
    local t
    for t in "$CELLD_CACHE"/root-*; do
        [ ! -d "$t" ] || printf '%s\n' "${t##*/}"
    done
}
left() { # Processes that know of our folder. The pattern is in a file, or grep would find itself.
    grep -lzF -f "$work/pattern" /proc/[0-9]*/cmdline 2> /dev/null
}
# Starts a call in a process group of its own, and waits until its tree has got to have the path $1. Sets call.
start_until() {
    local end=$((SECONDS + limit))
    set -m
    env --default-signal=INT "$root" true > "$log" 2>&1 &
    call=$!
    set +m
    until compgen -G "$CELLD_CACHE/root-*.new/$1" > /dev/null; do
        kill -0 "$call" 2> /dev/null || { fail "the call ended before its tree had $1:"; cat "$log"; return; }
        [ "$SECONDS" -lt "$end" ] || { fail "no tree with $1 after $limit s"; return; }
        sleep 0.1
    done
}
ended() { # ended WHAT CODE: the call of start_until ends with it, leaves no process, and its tree is not taken for whole.
    local i
    { wait "$call"; } 2> /dev/null
    expect "$1" "$?" "$2"
    for i in {1..30}; do # Far less than the rest of the work would take.
        [ -z "$(left)" ] || sleep 0.1
    done
    expect "$1: processes that are left" "$(left)" ''
    expect "$1: trees" "$(trees | grep -v '\.new$')" ''
}

# Interrupted: killed while it fetches, then Ctrl-C while it unpacks.
start_until var/lib/apt
kill -KILL "$call"
ended 'killed' 137
start_until usr/bin
kill -INT -- "-$call"
ended 'interrupted' 130
printf '%3s s  killed and interrupted\n' "$SECONDS"

# As a plain user, who can make namespaces on most machines, and must be able to reach the checkout. With tools and a
# cache of its own, beside the rest.
plain_user() {
    local home=$work/plain as=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs env HOME=/nonexistent)
    local root=$home/tools/root
    export CELLD_CACHE=$home/cache
    cd / || exit 1
    if ! "${as[@]}" test -r "$root" 2> /dev/null; then
        echo "plain user: cannot reach $work"
        exit 77
    fi
    if ! "${as[@]}" unshare --user --map-root-user --mount true 2> /dev/null; then
        expect 'a plain user is told so' "$("${as[@]}" "$root" true 2>&1 | grep -c 'make no user namespace')" 1
        [ "$failed" = 0 ] || exit 1
        echo 'plain user: this machine lets one make no user namespace'
        exit 77
    fi
    timeout "$limit" "${as[@]}" "$root" sh -c '. /etc/os-release; echo $VERSION_CODENAME' > "$home/said" 2>&1
    expect 'as a plain user' "$? $(tail -n 1 "$home/said")" '0 forky'
    expect 'files of somebody else' "$(find "$CELLD_CACHE" ! -user 65534 | head -n 1)" ''
    expect 'once more' "$("${as[@]}" "$root" echo again 2>&1)" again
    exit "$failed"
}
if [ "$UID" = 0 ]; then
    mkdir -p "$work/plain/cache" "$work/plain/tools"
    cp "$work/tools/root" "$work/tools/root-packages" "$work/plain/tools/"
    chown 65534:65534 "$work/plain/cache"
    (failed=0; trap - EXIT; plain_user) > "$work/plain.said" 2>&1 &
    plain=$!
fi

# Two at once, over what those left: one makes the tree, the other waits for it.
timeout "$limit" "$root" echo one > "$work/one" 2>&1 & one=$!
timeout "$limit" "$root" echo two > "$work/two" 2>&1 & two=$!
wait "$one"
expect 'the first of two' "$? $(tail -n 1 "$work/one")" '0 one'
wait "$two"
expect 'the second of two' "$? $(tail -n 1 "$work/two")" '0 two'
expect 'trees that two make' "$(trees | wc -l)" 1
expect 'made by one of two' "$(cat "$work/one" "$work/two" | grep -c 'making the Debian 14 build root')" 1
expect 'waited for by the other' "$(cat "$work/one" "$work/two" | grep -c 'waiting for it')" 1
expect 'what is in it' "$("$root" sh -c '. /etc/os-release; echo $VERSION_CODENAME')" forky
expect 'certificates' "$("$root" grep -c 'BEGIN CERT' /etc/ssl/certs/ca-certificates.crt | grep -c '^[1-9]')" 1
expect 'the cache of the loader' "$("$root" sh -c 'test -s /etc/ld.so.cache && echo there')" there
first=$("$root" 2> "$log")
expect 'the path of the tree' "$(ls -d "$first")" "$first"
expect 'a tree that is there makes no words' "$(< "$log")" ''
printf '%3s s  two at once\n' "$SECONDS"

# Another list is another tree; comments and spaces make no other list. A tree that nobody used goes then, the others
# stay.
printf 'ca-certificates # The same.\n\n' > "$work/tools/root-packages"
expect 'the same list' "$("$root")" "$first"
mkdir -p "$CELLD_CACHE/root-forgotten/etc"
touch -d '30 days ago' "$CELLD_CACHE/root-forgotten.used"
printf 'ca-certificates\nhello\n' > "$work/tools/root-packages"
expect 'a new package' "$(timeout "$limit" "$root" hello 2> "$log")" 'Hello, world!'
second=$("$root")
expect 'a tree of its own' "$([ "$second" != "$first" ] && trees | wc -l)" 2
expect 'the tree that nobody used' "$(trees | grep forgotten)" ''
printf 'ca-certificates\n' > "$work/tools/root-packages"
expect 'the old list again' "$("$root") $("$root" sh -c 'command -v hello')" "$first "
printf 'ca-certificates\nno-package-has-this-name\n' > "$work/tools/root-packages"
timeout "$limit" "$root" true > "$log" 2>&1
expect 'a package that does not exist' "$? $(grep -c 'no-package-has-this-name' "$log" | grep -c '^[1-9]')" '1 1'
expect 'trees after that' "$(trees | grep -vc '\.new$')" 2
printf '%3s s  a changed list\n' "$SECONDS"

if [ "$UID" = 0 ]; then
    wait "$plain"
    case $? in
        0) ;;
        77) skipped=$(< "$work/plain.said") ;;
        *) fail "$(< "$work/plain.said")" ;;
    esac
    printf '%3s s  a plain user\n' "$SECONDS"
fi

[ "$failed" = 0 ] || exit 1
[ -z "$skipped" ] || { printf 'skipped: %s\n' "$skipped"; exit 77; }
