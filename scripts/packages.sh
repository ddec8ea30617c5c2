# shellcheck shell=bash
# shellcheck disable=SC2034 # the lists are read by others
# What has to be installed: "command package" pairs.

RUN_PACKAGES="
crun crun
nft nftables
mmdebstrap mmdebstrap
ip iproute2
mkfs.ext4 e2fsprogs
curl curl
"
BUILD_PACKAGES="
musl-gcc musl-tools
gcc gcc
make make
mvn maven
"
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

has_command() {
    command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]
}

# missing_packages "PAIRS": the packages whose command is not there, one a line.
missing_packages() {
    local command package
    while read -r command package; do
        [ -z "$command" ] || has_command "$command" || printf '%s\n' "$package"
    done <<<"$1"
    [ -e "$KEYRING" ] || printf '%s\n' debian-archive-keyring
    # musl-gcc compiles against the kernel's headers.
    [ -e /usr/include/linux/audit.h ] || printf '%s\n' linux-libc-dev
}

has_candidate() {
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# ensure_packages "PAIRS": installs what is missing, after saying what.
ensure_packages() {
    local missing jdk=
    missing=$(missing_packages "$1" | sort -u | tr '\n' ' ')
    JDK=$(find_jdk) || jdk=openjdk-$MIN_JDK-jdk-headless
    [ -n "$missing$jdk" ] || return 0
    has_command apt-get ||
        die "missing: $missing$jdk; install them and run this again (only Debian's apt is known here)"
    say "missing packages: $missing$jdk"
    local package stale=
    for package in $missing $jdk; do
        has_candidate "$package" || stale=1
    done
    if [ -n "$stale" ]; then
        say "fetching apt's package lists"
        apt-get update -qq || die "apt-get update failed: check /etc/apt/sources.list.d and the network"
    fi
    if [ -n "$jdk" ] && ! has_candidate "$jdk"; then
        die "no JDK $MIN_JDK or newer, and this Debian has none: unpack Eclipse Temurin $MIN_JDK" \
            "under /usr/lib/jvm (or set JAVA_HOME), then run this again"
    fi
    say "installing with apt: $missing$jdk"
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing $jdk \
        </dev/null >&2 || die "apt-get could not install: $missing$jdk"
    [ -n "$JDK" ] || JDK=$(find_jdk) || die "$jdk is installed, but no JDK is below /usr/lib/jvm"
}
