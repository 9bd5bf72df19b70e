# shellcheck shell=bash
# Packages of Debian and of npm, privately; sourced by lib.sh.
#
# Nothing on the machine changes: an apt configuration of our own resolves and fetches Debian packages,
# which are unpacked (never installed) into a tree and run there with chroot, as root or as a plain user in
# a user namespace.

# The Debian mirror this machine is set up with, as apt itself says. Nothing is fetched to answer this.
debian_mirror() {
    local code uris uri
    code=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    uris=$(apt-get update --print-uris 2>/dev/null | sed -n "s#^'\([^']*\)/dists/${code}/InRelease'.*#\1#p")
    # Another vendor's repository may carry the same code name: Debian's path comes first.
    uri=$( { grep -E '/debian/?$' <<<"$uris" || true; printf '%s\n' "$uris"; } | sed '/^$/d' | sed -n 1p)
    uri=${CELLD_DEBIAN_MIRROR:-$uri}
    [ -n "$uri" ] || die "no Debian mirror in this machine's apt configuration; set CELLD_DEBIAN_MIRROR"
    printf '%s\n' "$uri"
}

# private_apt SUITE: prints the path of an apt configuration for that suite alone.
private_apt() {
    local d=$CACHE/apt-$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg sign=
    mkdir -p "$d/lists/partial" "$d/archives/partial" "$d/none/partial"
    [ -e "$keys" ] && sign="[signed-by=$keys] "
    : > "$d/status"
    printf 'deb %s%s %s main\n' "$sign" "$(debian_mirror)" "$1" > "$d/sources.list"
    cat > "$d/apt.conf" <<CONF
Dir::State::Lists "$d/lists";
Dir::State::status "$d/status";
Dir::State::extended_states "$d/extended_states";
Dir::Cache "$d";
Dir::Cache::archives "$d/archives/";
Dir::Etc::sourcelist "$d/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "$d";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
CONF
    printf '%s\n' "$d/apt.conf"
}

# unpack_tree TREE ARCHIVES FILE...: base-files first, which carries the links from /bin, /lib, ... into /usr.
unpack_tree() {
    local tree=$1 archives=$2 f
    local skip=(--exclude='./usr/share/doc/*' --exclude='./usr/share/man/*'
        --exclude='./usr/share/locale/*' --exclude='./usr/share/info/*')
    shift 2
    for f in "$@"; do
        dpkg-deb --fsys-tarfile "$archives/$f" | tar -x -C "$tree" --keep-directory-symlink "${skip[@]}"
    done
}

# What install scripts would have made, as far as something here looks for it.
finish_tree() {
    local tree=$1 f certs=etc/ssl/certs/ca-certificates.crt
    mkdir -p "$tree/dev" "$tree/proc" "$tree/srv" "$tree/tmp" "$tree/root" "$tree/run"
    for f in bin sbin lib lib64; do
        [ -d "$tree/usr/$f" ] && [ ! -e "$tree/$f" ] && ln -s "usr/$f" "$tree/$f"
    done
    [ -e "$tree/etc/passwd" ] || printf 'root:x:0:0:root:/root:/bin/sh\n' > "$tree/etc/passwd"
    [ -e "$tree/etc/group" ] || printf 'root:x:0:\n' > "$tree/etc/group"
    [ -e "$tree/etc/hosts" ] || printf '127.0.0.1 localhost\n' > "$tree/etc/hosts"
    if [ -d "$tree/usr/share/ca-certificates/mozilla" ] && [ ! -e "$tree/$certs" ]; then
        mkdir -p "$tree/etc/ssl/certs"
        cat "$tree"/usr/share/ca-certificates/mozilla/*.crt > "$tree/$certs"
    fi
}

# make_tree NAME SUITE TREE PACKAGE...: under the lock of the suite.
make_tree() {
    local name=$1 suite=$2 tree=$3 conf list tmp first rest
    shift 3
    say "$name: fetching $* and what they need from Debian $suite"
    conf=$(private_apt "$suite")
    list=$CACHE/apt-$suite/$name.list
    tmp=$tree.new
    APT_CONFIG=$conf apt-get update -qq >&2
    APT_CONFIG=$conf apt-get install -y --print-uris -o Dir::Cache::archives="$CACHE/apt-$suite/none/" \
        base-files "$@" | sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p" > "$list.new"
    [ -s "$list.new" ] || die "apt finds nothing for: $*"
    APT_CONFIG=$conf apt-get install -y -qq --download-only base-files "$@" >&2
    rm -rf "$tmp"
    mkdir -p "$tmp"
    first=$(grep '^base-files_' "$list.new")
    rest=$(grep -v '^base-files_' "$list.new")
    # shellcheck disable=SC2086 # One word per package.
    unpack_tree "$tmp" "$CACHE/apt-$suite/archives" $first $rest
    finish_tree "$tmp"
    touch "$tmp/.complete"
    rm -rf "$tree"
    mv "$tmp" "$tree"
    mv "$list.new" "$list"
    rm -f "$CACHE/apt-$suite/archives/"*.deb # Not needed again once unpacked.
}

# deb_tree NAME SUITE PACKAGE...: prints the path of a tree with the packages and all they depend on. Made
# once; later calls answer at once.
deb_tree() {
    local tree=$CACHE/tree-$1-$2
    if [ ! -e "$tree/.complete" ]; then
        need_cmd apt-get dpkg-deb flock tar
        exec 9>"$CACHE/.lock-$2"
        flock 9
        [ -e "$tree/.complete" ] || make_tree "$1" "$2" "$tree" "${@:3}"
        exec 9>&-
    fi
    printf '%s\n' "$tree"
}

# The version of a package as unpacked by deb_tree: deb_version NAME SUITE PACKAGE
deb_version() { sed -n "s/^$3_\([^_]*\)_.*/\1/p" "$CACHE/apt-$2/$1.list" | sed 's/%3a/:/'; }

# in_tree TREE STATE COMMAND...: runs COMMAND chrooted in TREE, with STATE at /srv, in a mount namespace of
# its own, so no mount is left behind. Each step replaces the one before: the process that a caller starts
# is COMMAND.
in_tree() {
    local as=()
    [ "$(id -u)" = 0 ] || as=(--map-root-user)
    need_cmd unshare chroot
    # shellcheck disable=SC2016 # For the inner shell.
    exec ${SETSID:-} unshare "${as[@]}" --mount --propagation private sh -ec '
        tree=$1 state=$2; shift 2
        mount --rbind /dev "$tree/dev"
        mount --rbind /proc "$tree/proc"
        mount --bind "$state" "$tree/srv"
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C PYTHONUTF8=1 chroot "$tree" "$@"
    ' sh "$@"
}

# npm_dir NAME SPEC...: prints a folder whose node_modules holds the packages.
npm_dir() {
    local d=$CACHE/npm-$1 name=$1
    shift
    if [ ! -e "$d/.complete" ]; then
        need_cmd node npm flock
        exec 9>"$CACHE/.lock-npm-$name"
        flock 9
        if [ ! -e "$d/.complete" ]; then
            say "$name: fetching $* from the npm registry"
            rm -rf "$d"
            mkdir -p "$d"
            printf '{"private":true}\n' > "$d/package.json"
            (cd "$d" && npm install --no-audit --no-fund --no-update-notifier --ignore-scripts \
                --loglevel=error --cache "$CACHE/npm-cache" "$@" >&2)
            touch "$d/.complete"
            rm -rf "$CACHE/npm-cache"
        fi
        exec 9>&-
    fi
    printf '%s\n' "$d"
}
