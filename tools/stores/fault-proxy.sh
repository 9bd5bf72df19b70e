#!/usr/bin/env bash
# fault-proxy: puts fault-proxy.mjs in front of a store that is already running.
#
#   fault-proxy.sh start PORT TARGET_PORT   listen on PORT, pass on to TARGET_PORT
#   fault-proxy.sh stop [PORT] | env [PORT]
#
# Prints CELLD_FAULT_PORT (connect here in place of the store's port) and CELLD_FAULT_CONTROL (the control
# URL; see the head of fault-proxy.mjs).
NAME=fault-proxy
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
TARGET=${3:-}

do_install() { need_cmd node; }
serve() {
    exec ${SETSID:-} node "$HERE/fault-proxy.mjs" --listen "$1" --target "$TARGET" --control "$2" \
        --seed "${CELLD_FAULT_SEED:-1}"
}
do_start() {
    local port=$1 control
    RUN=$2
    do_install
    case $TARGET in '' | *[!0-9]*) die "usage: fault-proxy.sh start PORT TARGET_PORT" ;; esac
    control=$(free_port $((port + 1)))
    spawn "$RUN/server.pid" "$RUN/server.log" serve "$port" "$control"
    wait_port "$port" "$RUN/server.pid" "$RUN/server.log" 20
    printf 'CELLD_FAULT_PORT=%s\nCELLD_FAULT_CONTROL=http://127.0.0.1:%s\n' "$port" "$control" > "$RUN/env"
}
do_stop() { stop_pid "$1/server.pid"; }
main "$@"
