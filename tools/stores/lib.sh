# shellcheck shell=bash
# Shared by the start scripts in this folder; sourced, not run: places, processes by pid, the command line.
#
# Running servers are kept under $CELLD_STORES_DIR (default build/stores of the checkout), what is
# downloaded under the cache that tools/root uses too, so that every checkout has it. Both can be deleted at
# any time when nothing runs.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
STORES=${CELLD_STORES_DIR:-$HERE/../../build/stores}
CACHE=${CELLD_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/celld}/stores
mkdir -p "$STORES" "$CACHE"
STORES=$(cd "$STORES" && pwd -P)
CACHE=$(cd "$CACHE" && pwd -P)

say() { printf '%s\n' "$*" >&2; }
die() { say "${NAME:-stores}: $*"; exit 1; }
need_cmd() {
    local c
    for c in "$@"; do
        command -v "$c" >/dev/null 2>&1 || die "this machine has no $c, which is needed to run this store"
    done
}
random_hex() { od -An -N"$1" -tx1 /dev/urandom | tr -d ' \n'; }

# shellcheck source=packages.sh
. "$HERE/packages.sh"

# ---- Processes --------------------------------------------------------------------------------------------

# In ticks since the machine started: with the pid it names a process for ever.
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
process_state() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -c1; }

# spawn PIDFILE LOG COMMAND...: starts COMMAND in the background and notes its pid with its start time, so
# that stop_pid can never hit a recycled pid. It is detached (setsid): it outlives the shell that started
# it.
spawn() {
    local pidfile=$1 log=$2 pid
    shift 2
    # shellcheck disable=SC2034 # Used by in_tree and the serve functions.
    ( exec </dev/null >>"$log" 2>&1 9>&-; SETSID=setsid; "$@" ) &
    pid=$!
    printf '%s %s\n' "$pid" "$(start_time "$pid")" > "$pidfile"
    disown "$pid" 2>/dev/null || true
}
alive() { # alive PIDFILE
    local pid st
    [ -s "$1" ] || return 1
    read -r pid st < "$1"
    [ -n "$st" ] && [ "$(start_time "$pid")" = "$st" ] && [ "$(process_state "$pid")" != Z ]
}
stop_pid() { # stop_pid PIDFILE [SIGNAL]
    local pid i
    if alive "$1"; then
        read -r pid _ < "$1"
        kill "-${2:-TERM}" "$pid" 2>/dev/null || true
        kill -CONT "$pid" 2>/dev/null || true
        for ((i = 0; i < 100; i++)); do
            alive "$1" || break
            sleep 0.1
        done
        if alive "$1"; then
            kill -KILL "$pid" 2>/dev/null || true
            sleep 0.2
        fi
    fi
    rm -f "$1"
}
port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free_port() { # free_port FROM: the first port from FROM up that nothing listens on
    local p=$1
    while port_open "$p"; do p=$((p + 1)); done
    printf '%s\n' "$p"
}
wait_port() { # wait_port PORT PIDFILE LOG SECONDS
    local i
    for ((i = 0; i < $4 * 5; i++)); do
        port_open "$1" && return 0
        alive "$2" || { tail -n 20 "$3" >&2; die "the server ended before it was ready"; }
        sleep 0.2
    done
    tail -n 20 "$3" >&2
    die "not ready after $4 s"
}

# make_bucket s3|azure OPTION...: the bucket or container, by the probe.
make_bucket() {
    node "$HERE/conditional-probe.mjs" "$1" --create-only "${@:2}" >&2 || die "cannot create the bucket"
}

# ---- The command line that every script shares ------------------------------------------------------------
# A script defines NAME, do_install, do_start PORT RUN (starts, waits, writes RUN/env) and do_stop RUN, then
# calls main "$@".

usage_error() { die "usage: $NAME.sh start PORT | stop [PORT] | env [PORT] | install"; }

start_instance() { # start_instance PORT
    local port=$1 run=$STORES/run/$NAME-$1
    case $port in '' | *[!0-9]*) usage_error ;; esac
    if [ -s "$run/env" ] && port_open "$port"; then
        cat "$run/env"
        return
    fi
    port_open "$port" && die "port $port is taken"
    [ -d "$run" ] && do_stop "$run"
    rm -rf "$run"
    mkdir -p "$run"
    # shellcheck disable=SC2064 # Now.
    trap "do_stop '$run'" EXIT
    do_start "$port" "$run"
    trap - EXIT
    cat "$run/env"
}
main() {
    local verb=${1:-} port=${2:-} d
    case $verb in
        start) start_instance "$port" ;;
        stop)
            for d in "$STORES/run/$NAME-"${port:-*}; do
                [ -d "$d" ] || continue
                do_stop "$d"
                rm -rf "$d"
            done
            ;;
        install) do_install ;;
        env)
            for d in "$STORES/run/$NAME-"${port:-*}; do
                if [ -s "$d/env" ]; then cat "$d/env"; fi
            done
            ;;
        *) usage_error ;;
    esac
}
