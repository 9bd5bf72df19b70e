#!/usr/bin/env bash
# s3rver: a store that must be refused. This S3 server from the npm registry takes If-None-Match and
# If-Match on a PUT, ignores both and answers 200. Use it to test that celld notices such a store and will
# not run on it; never as a store.
#
#   s3rver.sh start PORT | stop [PORT] | env [PORT] | install
NAME=s3rver
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
VERSION=${CELLD_S3RVER_VERSION:-3.7.1}

do_install() { DIR=$(npm_dir "s3rver-$VERSION" "s3rver@$VERSION"); }
serve() {
    exec ${SETSID:-} node "$DIR/node_modules/s3rver/bin/s3rver.js" -a 127.0.0.1 -p "$1" -d "$RUN/data" \
        --configure-bucket celld -s
}
do_start() {
    local port=$1
    RUN=$2
    do_install
    spawn "$RUN/server.pid" "$RUN/server.log" serve "$port"
    wait_port "$port" "$RUN/server.pid" "$RUN/server.log" 30
    cat > "$RUN/env" <<ENV
CELLD_STORE_KIND=s3
CELLD_STORE_SERVER="s3rver $VERSION (ignores conditions)"
CELLD_STORE_ENDPOINT=http://127.0.0.1:$port
CELLD_STORE_REGION=us-east-1
CELLD_STORE_BUCKET=celld
CELLD_STORE_ACCESS_KEY=S3RVER
CELLD_STORE_SECRET_KEY=S3RVER
ENV
}
do_stop() { stop_pid "$1/server.pid"; }
main "$@"
