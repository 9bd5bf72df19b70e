#!/usr/bin/env bash
# moto: the moto AWS emulator's S3 (Python), on loopback, in memory, from Debian's packages, in a tree of
# its own. It starts in a few seconds and takes little room, but it checks neither signatures nor checksums:
# use ceph.sh for those.
#
#   moto.sh start PORT | stop [PORT] | env [PORT] | install
#
# Settings come out as NAME=value lines: eval "$(moto.sh start 9000)". Environment:
#   CELLD_STORES_DIR, CELLD_CACHE   where all is kept: lib.sh
#   CELLD_MOTO_SUITE   Debian suites to try (default "forky sid"; the one in trixie, 5.1.1, ignores If-Match)
NAME=moto
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
SUITES=${CELLD_MOTO_SUITE:-forky sid}

do_install() { # Sets TREE and SUITE.
    for SUITE in $SUITES; do
        # In a process of its own, so that the first error ends it.
        if TREE=$(bash "${BASH_SOURCE[0]}" tree "$SUITE"); then return; fi
        say "moto: cannot be had from Debian $SUITE"
    done
    die "moto cannot be had: the messages above say why"
}
do_start() {
    local port=$1 ak=celldtest sk
    RUN=$2
    sk=$(random_hex 20)
    need_cmd node
    do_install
    spawn "$RUN/server.pid" "$RUN/server.log" in_tree "$TREE" "$RUN" \
        /usr/bin/python3 -c "$(cat "${BASH_SOURCE[0]%/*}/moto_server.py")" -H 127.0.0.1 -p "$port"
    wait_port "$port" "$RUN/server.pid" "$RUN/server.log" 60
    make_bucket s3 --endpoint "http://127.0.0.1:$port" --bucket celld --access-key "$ak" --secret-key "$sk"
    cat > "$RUN/env" <<ENV
CELLD_STORE_KIND=s3
CELLD_STORE_SERVER="moto $(deb_version moto "$SUITE" python3-moto)"
CELLD_STORE_ENDPOINT=http://127.0.0.1:$port
CELLD_STORE_REGION=us-east-1
CELLD_STORE_BUCKET=celld
CELLD_STORE_ACCESS_KEY=$ak
CELLD_STORE_SECRET_KEY=$sk
ENV
}
do_stop() { stop_pid "$1/server.pid"; }
case ${1:-} in
    tree) deb_tree moto "$2" python3-moto python3-flask python3-flask-cors ;;
    *) main "$@" ;;
esac
