#!/usr/bin/env bash
# azurite: Microsoft's Azure Storage emulator (Node.js), blob service only, on loopback, in memory, from the
# npm registry, in a folder of its own.
#
#   azurite.sh start PORT | stop [PORT] | env [PORT] | install
#
# Settings come out as NAME=value lines: eval "$(azurite.sh start 10000)". Environment:
#   CELLD_STORES_DIR, CELLD_CACHE   where all is kept: lib.sh
#   CELLD_AZURITE_VERSION   default 3.35.0, the last one for Node.js 20
NAME=azurite
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
VERSION=${CELLD_AZURITE_VERSION:-3.35.0}

do_install() { DIR=$(npm_dir "azurite-$VERSION" "azurite@$VERSION"); }
serve() {
    cd "$RUN"
    exec ${SETSID:-} env AZURITE_ACCOUNTS="$ACCOUNT:$KEY" \
        node "$DIR/node_modules/azurite/dist/src/blob/main.js" --blobHost 127.0.0.1 --blobPort "$1" \
        --inMemoryPersistence --skipApiVersionCheck --disableTelemetry --silent
}
do_start() {
    local port=$1
    RUN=$2
    ACCOUNT=celldtest
    KEY=$(head -c 64 /dev/urandom | base64 -w 0)
    do_install
    spawn "$RUN/server.pid" "$RUN/server.log" serve "$port"
    wait_port "$port" "$RUN/server.pid" "$RUN/server.log" 60
    make_bucket azure --endpoint "http://127.0.0.1:$port/$ACCOUNT" --container celld \
        --account "$ACCOUNT" --key "$KEY"
    cat > "$RUN/env" <<ENV
CELLD_STORE_KIND=azure
CELLD_STORE_SERVER="azurite $VERSION"
CELLD_STORE_ENDPOINT=http://127.0.0.1:$port/$ACCOUNT
CELLD_STORE_BUCKET=celld
CELLD_STORE_ACCESS_KEY=$ACCOUNT
CELLD_STORE_SECRET_KEY=$KEY
ENV
}
do_stop() { stop_pid "$1/server.pid"; }
main "$@"
