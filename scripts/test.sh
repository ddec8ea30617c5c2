# shellcheck shell=bash
# ./hopx test: everything, in a mount namespace of its own, with names of its own.

# shellcheck source=scripts/packages.sh
. "$HOPX_ROOT/scripts/packages.sh"
# shellcheck source=scripts/build.sh
. "$HOPX_ROOT/scripts/build.sh"
# shellcheck source=scripts/namespace.sh
. "$HOPX_ROOT/scripts/namespace.sh"
# shellcheck source=scripts/remove.sh
. "$HOPX_ROOT/scripts/remove.sh"
# shellcheck source=scripts/store.sh
. "$HOPX_ROOT/scripts/store.sh"

TEST_PACKAGES="
clang clang
python3 python3
node nodejs
npm npm
git git
"
# Every test names its instance with this in front.
TEST_INSTANCE=hopxt

run_tests() {
    local long=
    while [ $# -gt 0 ]; do
        case $1 in
            --long) long=1 ;;
            *) say "test knows --long, not $1"; exit 2 ;;
        esac
        shift
    done
    require_root test
    ensure_packages "$RUN_PACKAGES$BUILD_PACKAGES$TEST_PACKAGES"
    ensure_test_libraries
    ensure_built
    local store=${HOPX_TEST_TEMPLATE_STORE:-/var/lib/hopx/templates} root
    install -d -m 0700 "$(dirname "$store")"
    APP=$HOPX_ROOT/server/target
    java_command templates prepare
    # Only the store is taken from the settings: tests never touch an installed instance.
    env -u HOPX_API_KEY -u HOPX_BASE_URL HOPX_TEMPLATE_STORE="$store" "${JAVA_COMMAND[@]}" </dev/null ||
        die "a template could not be prepared"
    root=$(template_root "$store" base) || die "template base is not in $store"
    export HOPX_TEST_TEMPLATE_STORE=$store HOPX_TEST_ROOTFS=$root HOPX_TEST_LONG=$long
    # Marks the processes of this run, whatever becomes of their parents.
    HOPX_TEST_RUN="$$-$(date +%s)"
    export HOPX_TEST_RUN
    local variable
    for variable in $(compgen -e HOPX_); do
        case $variable in HOPX_TEST_* | HOPX_ROOT) ;; *) unset "$variable" ;; esac
    done

    find "$HOPX_ROOT" -path '*/target/surefire-reports' -prune -exec rm -rf {} +
    BEFORE=$(test_instances)
    trap remove_test_leftovers EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    local status=0
    # Failing tests do not stop the modules behind them; the summary judges.
    # shellcheck disable=SC2016 # expanded by the inner shell
    (cd "$HOPX_ROOT" && JAVA_HOME=$JDK unshare --mount --propagation private sh -c '
        if mountpoint -q "$1"; then umount "$1"; fi
        shift
        exec "$@"' hopx-test "$HYBRID_MOUNT" \
        mvn -B --no-transfer-progress -Dmaven.test.failure.ignore=true verify </dev/null) || status=$?
    remove_test_leftovers
    trap - EXIT
    summary "$status"
}

# Libraries have no command to be recognised by.
ensure_test_libraries() {
    local missing=
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
    echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { (void)d; (void)n; return 0; }' |
        clang -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null ||
        missing="$missing libclang-rt-$(clang -dumpversion | cut -d . -f 1)-dev"
    [ -n "$missing" ] || return 0
    say "installing with apt:$missing"
    # shellcheck disable=SC2086 # a list of words
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing </dev/null >&2 ||
        say "apt-get could not install:$missing; the tests that need it are skipped"
}

# Names of test instances that have something in the kernel or in /run.
test_instances() {
    {
        awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/self/mounts |
            while read -r mount; do find "$mount" -maxdepth 1 -type d -name "$TEST_INSTANCE*" -printf '%f\n'; done
        find /run -maxdepth 1 -type d -name "$TEST_INSTANCE*" -printf '%f\n'
        nft list tables 2>/dev/null | sed -n "s/^table inet \(${TEST_INSTANCE}[a-z0-9]*\)$/\1/p"
        ip -o link show 2>/dev/null | sed -n "s/^[0-9]*: \(${TEST_INSTANCE}[a-z0-9]*\)-.*/\1/p"
    } | sort -u
}

# run_processes: pids of this run, whoever is their parent now.
run_processes() {
    local environ pid
    while read -r environ; do
        pid=${environ#/proc/}
        pid=${pid%/environ}
        # Not this script nor its own helpers.
        if [ "$pid" != $$ ] && [ "$(ps -o ppid= -p "$pid" 2>/dev/null | tr -d ' ')" != $$ ]; then
            printf '%s\n' "$pid"
        fi
    done < <(grep -lsza -F -x "HOPX_TEST_RUN=$HOPX_TEST_RUN" /proc/[0-9]*/environ)
}

# Whether Maven or a test's JVM runs that is not of this run.
other_test_run() {
    local pid
    for pid in $(pgrep -f 'org\.codehaus\.plexus\.classworlds\.launcher|surefire'); do
        if [ -r "/proc/$pid/environ" ] &&
            ! grep -qsza -F -x "HOPX_TEST_RUN=$HOPX_TEST_RUN" "/proc/$pid/environ"; then
            return 0
        fi
    done
    return 1
}

remove_test_leftovers() {
    local name pid
    for pid in $(run_processes); do
        kill -KILL "$pid" 2>/dev/null || true
    done
    local names=()
    for name in $(test_instances); do
        printf '%s\n' "$BEFORE" | grep -qx "$name" || names+=("$name")
    done
    [ ${#names[@]} -gt 0 ] || return 0
    # A test that runs its node in its own process leaves no mark on what it makes: beside another
    # run nobody can tell whose an instance is, and removing one kills its sandboxes.
    if other_test_run; then
        say "left alone, because another test run is at work: ${names[*]}"
        return 0
    fi
    for name in "${names[@]}"; do
        say "removing what a test left of instance $name"
        (
            INSTANCE=$name
            RUN_DIR=/run/$name
            DATA_DIR=$(mktemp -d)
            PIN=$RUN_DIR/mount-namespace
            remove_instance
            rm -rf "$DATA_DIR"
        ) || true
    done
}

# summary MAVEN-STATUS
summary() {
    local reports all failed skipped
    mapfile -t reports < <(find "$HOPX_ROOT" -path '*/target/surefire-reports/TEST-*.xml' | sort)
    [ ${#reports[@]} -gt 0 ] || die "no test ran"
    read -r all failed skipped < <(
        grep -ho '<testsuite [^>]*' "${reports[@]}" | awk '
            function attribute(name) {
                return match($0, " " name "=\"[0-9]+\"") ? substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4) : 0
            }
            { tests += attribute("tests"); failed += attribute("failures") + attribute("errors"); skipped += attribute("skipped") }
            END { print tests + 0, failed + 0, skipped + 0 }'
    )
    echo
    if [ "$skipped" -gt 0 ]; then
        echo "Skipped:"
        awk '
            /<testcase / { match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8)
                           match($0, /classname="[^"]*"/); class = substr($0, RSTART + 11, RLENGTH - 12) }
            # The reason of a failed assumption stands in the body, not in the attribute.
            /<skipped/ {
                if (match($0, /message="[^"]*"/)) reason = substr($0, RSTART + 9, RLENGTH - 10)
                else if (match($0, /Assumption failed: .*/)) reason = substr($0, RSTART + 19)
                else reason = "no reason given"
                print "  " class "." name ": " reason
            }' \
            "${reports[@]}" | unescape
    fi
    if [ "$failed" -gt 0 ]; then
        echo "Failed:"
        awk '
            /<testcase / { match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8)
                           match($0, /classname="[^"]*"/); class = substr($0, RSTART + 11, RLENGTH - 12) }
            /<(failure|error)[ >]/ { match($0, /message="[^"]*"/); print "  " class "." name ": " substr($0, RSTART + 9, RLENGTH - 10) }' \
            "${reports[@]}" | unescape
    fi
    [ "$1" = 0 ] || echo "The build itself failed (see above)."
    echo "$((all - failed - skipped)) passed, $failed failed, $skipped skipped"
    [ "$1" = 0 ] && [ "$failed" = 0 ] && [ "$((all - skipped))" -gt 0 ]
}

unescape() { sed 's/&#10;/ /g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&apos;/'\''/g; s/&amp;/\&/g' | cut -c 1-400; }
