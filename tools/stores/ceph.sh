#!/usr/bin/env bash
# ceph: a real Ceph object gateway (radosgw) over a real one-OSD RADOS cluster, on loopback, from Debian's
# packages, in a tree of its own.
#
#   ceph.sh start PORT     fetch (first time), start, wait, print the settings
#   ceph.sh stop [PORT]    stop and forget the data (all instances without PORT)
#   ceph.sh env [PORT]     print the settings again
#   ceph.sh install        fetch only
#   ceph.sh crash PORT     kill the gateway with SIGKILL;   'revive PORT' starts it again
#   ceph.sh freeze PORT    stop the OSD with SIGSTOP: requests hang;  'thaw PORT' resumes
#
# Settings come out as NAME=value lines: eval "$(ceph.sh start 9000)". Environment:
#   CELLD_STORES_DIR, CELLD_CACHE   where all is kept: lib.sh
#   CELLD_CEPH_SUITE         Debian suites to try (default "forky sid"; Ceph before 20 refuses a quoted ETag
#                            in If-Match)
#   CELLD_CEPH_OBJECTSTORE   memstore (default: in memory) or bluestore (a sparse file)
NAME=ceph
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
SUITES=${CELLD_CEPH_SUITE:-forky sid}
OBJECTSTORE=${CELLD_CEPH_OBJECTSTORE:-memstore}

do_install() { # Sets TREE and SUITE.
    for SUITE in $SUITES; do
        # In a process of its own, so that the first error ends it.
        if TREE=$(bash "${BASH_SOURCE[0]}" tree "$SUITE"); then return; fi
        say "ceph: cannot be had from Debian $SUITE"
    done
    die "Ceph cannot be had: the messages above say why"
}
run_in() { (in_tree "$TREE" "$RUN" "$@"); }
run_logged() { # run_logged LOG WHAT COMMAND...
    run_in "${@:3}" >>"$RUN/$1" 2>&1 || { tail -n 20 "$RUN/$1" >&2; die "$2 failed"; }
}
in_cluster() { run_in /usr/bin/ceph -c /srv/ceph.conf --connect-timeout 30 "$@"; }
start_rgw() {
    spawn "$RUN/rgw.pid" "$RUN/rgw.out" in_tree "$TREE" "$RUN" \
        /usr/bin/radosgw -c /srv/ceph.conf -f -n client.rgw
    wait_port "$1" "$RUN/rgw.pid" "$RUN/rgw.out" 60
}

write_conf() { # write_conf PORT MON_PORT FSID
    cat > "$RUN/ceph.conf" <<CONF
[global]
fsid = $3
mon_host = [v2:127.0.0.1:$2]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc secure
ms_client_mode = crc secure
run_dir = /srv/run
admin_socket = /srv/run/\$name.asok
log_file = /srv/\$name.log
log_to_stderr = false
debug_ms = 0/0
debug_mon = 0/0
debug_paxos = 0/0
debug_osd = 0/0
debug_rgw = 1/1
mon_data = /srv/mon
osd_data = /srv/osd
rgw_data = /srv/rgw
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 2000
mon_data_avail_warn = 2
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
mon_data_avail_crit = 1
osd_objectstore = $OBJECTSTORE
memstore_device_bytes = 8589934592
bluestore_block_size = 21474836480
bluestore_block_create = true
osd_memory_target = 1073741824
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pgp_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
rgw_frontends = beast endpoint=127.0.0.1:$1
rgw_thread_pool_size = 64
rgw_run_sync_thread = false
rgw_dynamic_resharding = false
CONF
}

start_cluster() { # start_cluster MON_PORT FSID
    local osd i
    osd=$(cat /proc/sys/kernel/random/uuid)
    run_logged mon.out monmaptool /usr/bin/monmaptool --create --fsid "$2" --addv a "[v2:127.0.0.1:$1]" \
        --clobber /srv/monmap
    run_logged mon.out "ceph-mon --mkfs" /usr/bin/ceph-mon -c /srv/ceph.conf --mkfs -i a --monmap /srv/monmap
    spawn "$RUN/mon.pid" "$RUN/mon.out" in_tree "$TREE" "$RUN" /usr/bin/ceph-mon -c /srv/ceph.conf -f -i a
    wait_port "$1" "$RUN/mon.pid" "$RUN/mon.out" 30
    run_logged mon.out "the first command to the monitor" \
        /usr/bin/ceph -c /srv/ceph.conf --connect-timeout 30 osd new "$osd" 0
    run_logged osd.out "ceph-osd --mkfs" /usr/bin/ceph-osd -c /srv/ceph.conf --mkfs -i 0 --osd-uuid "$osd"
    spawn "$RUN/osd.pid" "$RUN/osd.out" in_tree "$TREE" "$RUN" /usr/bin/ceph-osd -c /srv/ceph.conf -f -i 0
    for ((i = 0; i < 100; i++)); do
        in_cluster osd stat 2>/dev/null | grep -q '1 up' && return
        alive "$RUN/osd.pid" || { tail -n 20 "$RUN/osd.out" >&2; die "ceph-osd ended before it was ready"; }
        sleep 0.3
    done
    die "the OSD did not come up"
}

do_start() {
    local port=$1 fsid mon ak sk
    RUN=$2
    need_cmd node
    do_install
    fsid=$(cat /proc/sys/kernel/random/uuid)
    mon=$(free_port $((port + 1)))
    ak=CELLD$(random_hex 6 | tr a-f A-F)
    sk=$(random_hex 20)
    printf '%s\n' "$TREE" > "$RUN/tree"
    mkdir -p "$RUN/mon" "$RUN/osd" "$RUN/rgw" "$RUN/run"
    write_conf "$port" "$mon" "$fsid"
    start_cluster "$mon" "$fsid"
    run_logged admin.out radosgw-admin /usr/bin/radosgw-admin -c /srv/ceph.conf user create --uid=celld \
        --display-name=celld --access-key="$ak" --secret-key="$sk"
    start_rgw "$port"
    make_bucket s3 --endpoint "http://127.0.0.1:$port" --bucket celld --access-key "$ak" --secret-key "$sk"
    cat > "$RUN/env" <<ENV
CELLD_STORE_KIND=s3
CELLD_STORE_SERVER="ceph-radosgw $(deb_version ceph "$SUITE" radosgw) $OBJECTSTORE"
CELLD_STORE_ENDPOINT=http://127.0.0.1:$port
CELLD_STORE_REGION=us-east-1
CELLD_STORE_BUCKET=celld
CELLD_STORE_ACCESS_KEY=$ak
CELLD_STORE_SECRET_KEY=$sk
ENV
}
# The data goes with the instance, so nothing is gained by an orderly shutdown.
do_stop() { local f; for f in rgw osd mon; do stop_pid "$1/$f.pid" KILL; done; }

signal_to() { # signal_to SIGNAL PROCESS
    local pid
    alive "$RUN/$2.pid" || die "$2 does not run"
    read -r pid _ < "$RUN/$2.pid"
    kill "-$1" "$pid"
}
case ${1:-} in
    tree) deb_tree ceph "$2" radosgw ceph-mon ceph-osd ;;
    crash | revive | freeze | thaw)
        RUN=$STORES/run/$NAME-${2:-}
        [ -s "$RUN/env" ] || die "no running instance on port ${2:-}"
        TREE=$(cat "$RUN/tree")
        case $1 in
            crash) signal_to KILL rgw ;;
            revive) alive "$RUN/rgw.pid" || start_rgw "$2" ;;
            freeze) signal_to STOP osd ;;
            thaw) signal_to CONT osd ;;
        esac
        ;;
    *) main "$@" ;;
esac
