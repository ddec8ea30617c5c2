# shellcheck shell=bash
# ./hopx up

# shellcheck source=scripts/packages.sh
. "$HOPX_ROOT/scripts/packages.sh"
# shellcheck source=scripts/build.sh
. "$HOPX_ROOT/scripts/build.sh"
# shellcheck source=scripts/namespace.sh
. "$HOPX_ROOT/scripts/namespace.sh"
# shellcheck source=scripts/stop.sh
. "$HOPX_ROOT/scripts/stop.sh"

START_SECONDS=60
# Where the log of a server in the foreground is; empty for one in the background.
FOREGROUND=

up() {
    local background=
    while [ $# -gt 0 ]; do
        case $1 in
            -d | --detach) background=1 ;;
            *) say "up knows -d and --key=value, not $1"; exit 2 ;;
        esac
        shift
    done
    require_root up
    install -d -m 0700 "$DATA_DIR" "$DATA_DIR/logs" "$RUN_DIR"
    # Two at the same time would build, prepare and pin twice.
    exec 9>"$RUN_DIR/up.lock"
    flock --wait 600 9 || die "another ./hopx up is still at work after 10 minutes"

    ensure_packages "$RUN_PACKAGES$BUILD_PACKAGES"
    ensure_built
    stage
    local pid
    if pid=$(server_pid); then
        if has_argument "$pid" "-Dhopx.stamp=$STAMP"; then
            wait_healthy "$pid"
            say "already running (process $pid)"
            introduce
            return 0
        fi
        say "restarting with the new build; sandboxes go on"
        stop_server "$pid"
    fi
    require_free_port
    prepare_templates
    ensure_namespace
    enable_forwarding
    java_command serve
    if [ -n "$background" ]; then
        start_background
    else
        start_foreground
    fi
}

require_free_port() {
    if (exec 3<>"/dev/tcp/${CLIENT_HOST//[\[\]]/}/$PORT") 2>/dev/null; then
        local user
        user=$(ss -Hltnp "sport = :$PORT" 2>/dev/null | sed -n 's/.*users:((\(.*\)))$/\1/p' | head -n 1)
        die "port $PORT is used by another program${user:+ ($user)}: stop it, or choose another" \
            "port: ./hopx up --port=8081"
    fi
}

# Starting Java only to hear that nothing is to do would cost half of a second start.
prepare_templates() {
    local note=$DATA_DIR/templates-ready directory
    if [ "$(head -n 1 "$note" 2>/dev/null)" = "$STAMP $TEMPLATE_STORE" ]; then
        local all=1
        while read -r directory; do
            [ -e "$directory/complete" ] || all=
        done < <(tail -n +2 "$note")
        [ -z "$all" ] || return 0
    fi
    java_command templates prepare
    clean_environment "${JAVA_COMMAND[@]}" 9>&- ||
        die "a template could not be prepared; ./hopx up goes on where it stopped"
    {
        printf '%s %s\n' "$STAMP" "$TEMPLATE_STORE"
        find "$TEMPLATE_STORE" -maxdepth 1 -name 'sha256-*' -type d ! -name '*.building-*'
    } >"$note"
}

# What "./hopx env" exports is for clients; the key has no business in the server's environment.
clean_environment() { env -u HOPX_API_KEY -u HOPX_BASE_URL "$@"; }

enable_forwarding() {
    local file=/proc/sys/net/ipv4/ip_forward
    if [ "$(cat $file)" != 1 ]; then
        say "switching on net.ipv4.ip_forward: sandboxes reach the network through this host"
        echo 1 >$file || die "cannot write $file"
    fi
}

old_apps() {
    find "$DATA_DIR/app" -mindepth 1 -maxdepth 1 ! -name "$STAMP" -exec rm -rf {} +
}

start_background() {
    (
        cd /
        clean_environment setsid nsenter --mount="$PIN" "${JAVA_COMMAND[@]}" \
            </dev/null >>"$LOG_FILE" 2>&1 9>&- &
        echo $! >"$RUN_DIR/starting.pid"
    )
    local pid
    pid=$(cat "$RUN_DIR/starting.pid")
    rm -f "$RUN_DIR/starting.pid"
    wait_healthy "$pid"
    old_apps
    introduce
}

start_foreground() {
    local pid status=0
    FOREGROUND=above
    cd /
    clean_environment nsenter --mount="$PIN" "${JAVA_COMMAND[@]}" </dev/null 9>&- &
    pid=$!
    trap 'kill -TERM $pid 2>/dev/null || true' INT TERM HUP
    wait_healthy "$pid"
    old_apps
    introduce
    exec 9>&-
    say "stop with Ctrl-C; sandboxes go on"
    # A trapped signal ends the first wait before the server has ended.
    while kill -0 "$pid" 2>/dev/null; do
        status=0
        wait "$pid" || status=$?
    done
    [ "$status" = 143 ] || [ "$status" = 130 ] || return "$status"
}

# wait_healthy PID: until it answers, or has ended.
wait_healthy() {
    local end=$((SECONDS + START_SECONDS))
    until healthy >/dev/null; do
        if ! kill -0 "$1" 2>/dev/null; then
            [ -n "$FOREGROUND" ] || tail -n 20 "$LOG_FILE" >&2
            die "the server ended at once, see above"
        fi
        [ $SECONDS -lt $end ] ||
            die "the server does not answer on $URL after $START_SECONDS s; see its log" \
                "(${FOREGROUND:-$LOG_FILE})"
        sleep 0.05
    done
}

introduce() {
    local key
    key=$(cat "$KEY_FILE")
    cat <<TEXT

hopx is running:  $URL
admin key:        $key
                  (kept in $KEY_FILE)

Try:
  eval "\$(./hopx env)"
  curl -s "\$HOPX_BASE_URL/v1/sandboxes" -H "X-API-Key: \$HOPX_API_KEY" -d '{"template_name":"code-interpreter"}'
  pip install hopx-ai && python3 -c 'import os; from hopx_ai import Sandbox; s = Sandbox.create(template="code-interpreter", base_url=os.environ["HOPX_BASE_URL"]); print(s.run_code("print(6 * 7)").stdout); s.kill()'

TEXT
}
