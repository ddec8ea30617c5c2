# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables it sets are read by others
# Builds the server when its sources changed.

SERVER_MODULES="guest api http channel node template agent control server"

# One digest over everything the server is built from.
source_stamp() {
    (
        cd "$HOPX_ROOT" || exit
        local module
        {
            printf '%s\0' pom.xml .mvn/*
            for module in $SERVER_MODULES; do
                find "$module/pom.xml" "$module/src/main" -type f -print0
            done
        } | sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16
    )
}

# ensure_built: sets STAMP; builds unless this very source was built before.
ensure_built() {
    STAMP=$(source_stamp)
    local done_file=$HOPX_ROOT/server/target/hopx-stamp
    if [ "$(cat "$done_file" 2>/dev/null)" = "$STAMP" ] && [ -e "$HOPX_ROOT/server/target/hopx-server.jar" ]; then
        return 0
    fi
    say "building (a first build downloads libraries)"
    rm -rf "$done_file" "$HOPX_ROOT/server/target/lib"
    (cd "$HOPX_ROOT" && JAVA_HOME=$JDK mvn -q -B -Dmaven.test.skip=true -Dspotless.check.skip=true \
        -pl server -am package </dev/null >&2) || die "the build failed, see above"
    printf '%s\n' "$STAMP" >"$done_file"
}

# stage: copies the build to where the server runs from, so that building again under a running
# server cannot pull its classes away. Sets APP.
stage() {
    APP=$DATA_DIR/app/$STAMP
    [ ! -e "$APP/complete" ] || return 0
    rm -rf "$APP"
    install -d -m 0700 "$DATA_DIR" "$DATA_DIR/app" "$APP"
    cp -r "$HOPX_ROOT/server/target/hopx-server.jar" "$HOPX_ROOT/server/target/lib" "$APP/"
    touch "$APP/complete"
}

# java_command COMMAND…: sets JAVA_COMMAND to run Main from APP. No secret is on this line.
java_command() {
    local jars=("$APP/hopx-server.jar" "$APP"/lib/*.jar)
    local class_path
    class_path=$(IFS=:; printf '%s' "${jars[*]}")
    JAVA_COMMAND=(
        "$JDK/bin/java"
        "-Dhopx.run-dir=$RUN_DIR"
        "-Dhopx.stamp=$STAMP"
        --enable-native-access=ALL-UNNAMED
        --add-exports=java.base/sun.nio.ch=ALL-UNNAMED
        -XX:+UseSerialGC
        # Classes of the last run, already parsed: halves the start.
        -XX:+AutoCreateSharedArchive "-XX:SharedArchiveFile=$APP/server.jsa"
        '-Xlog:cds*=off' '-Xlog:aot*=off'
        -cp "$class_path"
        dev.hopx.server.Main "$@"
    )
}
