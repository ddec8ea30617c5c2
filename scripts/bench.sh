# shellcheck shell=bash
# ./hopx bench

# shellcheck source=scripts/packages.sh
. "$HOPX_ROOT/scripts/packages.sh"
# shellcheck source=scripts/namespace.sh
. "$HOPX_ROOT/scripts/namespace.sh"
# shellcheck source=scripts/store.sh
. "$HOPX_ROOT/scripts/store.sh"

bench() {
    require_root bench
    server_pid >/dev/null || die "no server is running: ./hopx up -d"
    ensure_packages "$BUILD_PACKAGES"
    say "building the benchmark"
    (cd "$HOPX_ROOT" && JAVA_HOME=$JDK mvn -q -B -Dmaven.test.skip=true -Dspotless.check.skip=true \
        -pl bench package </dev/null >&2) || die "the build failed, see above"
    local root jars
    root=$(template_root "$TEMPLATE_STORE" base) || die "template base is not built: ./hopx up -d"
    jars=("$HOPX_ROOT/bench/target/hopx-bench.jar" "$HOPX_ROOT"/bench/target/lib/*.jar)
    # In the server's mount namespace, where crun can run and the sandboxes' mounts are seen.
    HOPX_BASE_URL=$URL HOPX_API_KEY=$(cat "$KEY_FILE") HOPX_DATA_DIR=$DATA_DIR \
        HOPX_INSTANCE=$INSTANCE HOPX_BENCH_ROOTFS=$root \
        nsenter --mount="$PIN" "$JDK/bin/java" -cp "$(IFS=:; printf '%s' "${jars[*]}")" \
        dev.hopx.bench.Main "$@"
}
