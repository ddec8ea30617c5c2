# shellcheck shell=bash
# ./hopx doctor: what the machine must offer. Everything that can be tried is tried.

# shellcheck source=scripts/packages.sh
. "$HOPX_ROOT/scripts/packages.sh"
# shellcheck source=scripts/namespace.sh
. "$HOPX_ROOT/scripts/namespace.sh"

MIN_KERNEL=5.15
MIN_DISK_MIB=6144
MIN_MEMORY_MIB=2000
PROBLEMS=0

row() { printf '%-8s %-22s %s\n' "$1" "$2" "$3"; }
ok() { row ok "$1" "${2:-}"; }
note() { row note "$1" "$2"; }
missing() {
    row MISSING "$1" "$2"
    PROBLEMS=$((PROBLEMS + 1))
}

at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

doctor() {
    [ $# -eq 0 ] || { say "doctor takes no arguments"; exit 2; }
    check_kernel
    check_control_groups
    check_tools
    check_space
    check_network
    check_shared_limits
    echo
    if [ $PROBLEMS -eq 0 ]; then
        echo "This machine can run hopx."
    else
        echo "$PROBLEMS requirement(s) missing. ./hopx up installs what apt has; the other lines say what to do."
        return 1
    fi
}

check_kernel() {
    local release
    if [ "$(id -u)" = 0 ]; then
        ok root
    else
        missing root "run as root (sudo ./hopx doctor); what follows may be wrong without it"
    fi
    release=$(uname -r)
    if at_least $MIN_KERNEL "$release"; then
        ok kernel "$release (idmapped mounts: since 5.12)"
    else
        missing kernel "$release: Linux $MIN_KERNEL or newer is needed (idmapped mounts)"
    fi
    if grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null; then
        ok overlay
    else
        missing overlay "the kernel has no overlay file system (CONFIG_OVERLAY_FS)"
    fi
    if unshare --user true 2>/dev/null; then
        ok 'user namespaces'
    else
        missing 'user namespaces' "sysctl -w user.max_user_namespaces=65536 (or CONFIG_USER_NS is off)"
    fi
    if grep -q '^Seccomp:' /proc/self/status; then
        ok seccomp
    else
        missing seccomp "the kernel has no CONFIG_SECCOMP_FILTER"
    fi
    if [ -e /dev/loop-control ]; then
        ok 'loop devices' "the disks of sandboxes"
    else
        missing 'loop devices' "modprobe loop, or go without disk quotas (disk-quota=none)"
    fi
    if unshare --net ip link add hopxdr0 type veth peer name hopxdr1 2>/dev/null; then
        ok veth
    else
        missing veth "the kernel cannot make veth links (modprobe veth), or iproute2 is missing"
    fi
    if unshare --net nft 'add table inet hopxdoctor; add chain inet hopxdoctor c { type nat hook postrouting priority srcnat; }' 2>/dev/null; then
        ok nf_tables "with NAT"
    else
        missing nf_tables "the kernel has no nf_tables with NAT (modprobe nf_tables nft_chain_nat), or nft is missing"
    fi
    if unshare --net nft 'add table inet hopxdoctor; add set inet hopxdoctor s { type ipv4_addr; size 16; flags dynamic; }; add chain inet hopxdoctor c; add rule inet hopxdoctor c add @s { ip saddr ct count over 9 } drop' 2>/dev/null; then
        ok 'nf_tables ct count' "connections of a sandbox are capped"
    else
        missing 'nf_tables ct count' "the kernel has no CONFIG_NFT_CONNLIMIT (modprobe nft_connlimit)"
    fi
}

check_control_groups() {
    local types controllers name
    types=$(awk '$3 == "cgroup" || $3 == "cgroup2" {print $3}' /proc/self/mounts | sort -u | tr '\n' ' ')
    case $types in
        'cgroup2 ')
            controllers=$(cat "$(awk '$3 == "cgroup2" {print $2; exit}' /proc/self/mounts)/cgroup.controllers")
            ok 'cgroup layout' "version 2"
            ;;
        'cgroup ' | 'cgroup cgroup2 ')
            controllers=$(awk '$3 == "cgroup" {print $4}' /proc/self/mounts | tr ',' '\n' | sort -u | tr '\n' ' ')
            if mountpoint -q "$HYBRID_MOUNT"; then
                ok 'cgroup layout' "hybrid; ./hopx up hides $HYBRID_MOUNT from the server"
            else
                ok 'cgroup layout' "version 1"
            fi
            ;;
        *)
            missing 'cgroup layout' "no control groups are mounted; mount -t cgroup2 none /sys/fs/cgroup"
            return
            ;;
    esac
    for name in cpu memory pids; do
        case " $controllers " in
            *" $name "*) ok "cgroup $name" ;;
            *) missing "cgroup $name" "controller not available; look for cgroup_disable= on the kernel's command line" ;;
        esac
    done
}

tool() { # COMMAND PACKAGE VERSION-TEXT
    if has_command "$1"; then
        ok "$1" "$3"
    else
        missing "$1" "apt-get install $2"
    fi
}

# Away from the sources, whose .mvn asks for options that only the right JDK knows.
maven_version() {
    if cd /; then mvn --version 2>/dev/null | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p'; fi
}

check_tools() {
    tool crun crun "$(crun --version 2>/dev/null | head -n 1 | sed 's/^crun version //' || true)"
    tool nft nftables "$(nft --version 2>/dev/null | cut -d ' ' -f 2 || true)"
    tool ip iproute2 "$(ip -V 2>/dev/null | sed 's/.*iproute2-\([^,]*\).*/\1/' || true)"
    tool mkfs.ext4 e2fsprogs "the disks of sandboxes"
    tool mmdebstrap mmdebstrap "$(mmdebstrap --version 2>/dev/null | cut -d ' ' -f 2 || true)"
    tool unshare util-linux ''
    tool nsenter util-linux ''
    tool curl curl ''
    tool musl-gcc musl-tools "the C compiler for what runs inside sandboxes"
    tool make make ''
    tool mvn maven "$(maven_version)"
    local jdk
    if jdk=$(find_jdk); then
        ok JDK "$jdk"
    else
        missing JDK "none of version $MIN_JDK or newer: apt-get install openjdk-$MIN_JDK-jdk-headless, or unpack Temurin $MIN_JDK under /usr/lib/jvm"
    fi
    if [ -e "$KEYRING" ]; then
        ok 'Debian key ring'
    else
        missing 'Debian key ring' "apt-get install debian-archive-keyring"
    fi
}

check_space() {
    local directory=$DATA_DIR free memory
    while [ ! -d "$directory" ]; do directory=$(dirname "$directory"); done
    free=$(df --output=avail -m "$directory" | tail -n 1 | tr -d ' ')
    if [ "$free" -ge $MIN_DISK_MIB ]; then
        ok disk "$free MiB free for $DATA_DIR"
    else
        missing disk "$free MiB free for $DATA_DIR, $MIN_DISK_MIB MiB are needed: make room or set data-dir"
    fi
    memory=$(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1024))
    if [ "$memory" -ge $MIN_MEMORY_MIB ]; then
        ok memory "$memory MiB"
    else
        missing memory "$memory MiB, $MIN_MEMORY_MIB MiB are needed"
    fi
}

check_network() {
    if [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ]; then
        ok ip_forward
    else
        note ip_forward "off; ./hopx up switches it on (keep it: net.ipv4.ip_forward=1 in /etc/sysctl.d)"
    fi
    local resolver kind reachable=
    while read -r resolver; do
        case $resolver in
            127.* | ::1) kind='on this host itself, out of reach of sandboxes' ;;
            10.* | 192.168.* | 172.1[6-9].* | 172.2[0-9].* | 172.3[01].* | 169.254.* | 100.6[4-9].* | 100.[7-9]?.* | 100.1[01]?.* | 100.12[0-7].*)
                kind='private address; only its port 53 is open to sandboxes'
                reachable=1
                ;;
            *:*) kind='IPv6, not used by sandboxes' ;;
            *)
                kind=public
                reachable=1
                ;;
        esac
        note resolver "$resolver ($kind)"
    done < <(sed -n 's/^nameserver *//p' /etc/resolv.conf 2>/dev/null)
    if [ -z "$reachable" ] && [ ! -e /run/systemd/resolve/resolv.conf ]; then
        note resolver "none that sandboxes can reach: names will not resolve inside; name a reachable server in /etc/resolv.conf"
    fi
    check_foreign_firewalls
}

# A packet has to be accepted by every table: another table's drop wins over our accept.
check_foreign_firewalls() {
    local found
    found=$(nft list chains 2>/dev/null | awk -v own="$INSTANCE" '
        $1 == "table" {table = $2 " " $3; name = $3}
        $1 == "chain" {chain = $2}
        /hook forward/ && /policy drop/ && name != own {print table " " chain}')
    if command -v iptables-legacy >/dev/null 2>&1 &&
        iptables-legacy -S FORWARD 2>/dev/null | grep -qx -e '-P FORWARD DROP'; then
        found="$found iptables-legacy FORWARD"
    fi
    if [ -z "${found# }" ]; then
        ok firewalls "no other forward chain drops by default"
    else
        note firewalls "these drop what they do not know: $(printf '%s' "$found" | tr '\n' ' '); if sandboxes have no network: iptables -I FORWARD -i '$INSTANCE-+' -j ACCEPT; iptables -I FORWARD -o '$INSTANCE-+' -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT"
    fi
}

# Pools that all sandboxes share with the host, with what 500 sandboxes want of them.
check_shared_limits() {
    limit kernel/pid_max 65536
    limit kernel/pty/max 4096
    limit net/netfilter/nf_conntrack_max 65536
    limit net/ipv4/neigh/default/gc_thresh3 1024
    limit user/max_net_namespaces 1024
    limit fs/file-max 100000
}

limit() { # PATH WANTED
    local value name
    name=$(printf '%s' "$1" | tr / .)
    value=$(cat "/proc/sys/$1" 2>/dev/null) || return 0
    if [ "$value" -ge "$2" ] 2>/dev/null; then
        ok "$name" "$value"
    else
        note "$name" "$value; for hundreds of sandboxes: sysctl -w $name=$2"
    fi
}
