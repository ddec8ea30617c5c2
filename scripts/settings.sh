# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are read by the other scripts
# What every command knows: settings, directories, the running server.

say() { printf 'hopx: %s\n' "$*" >&2; }

die() {
    say "$@"
    exit 1
}

# --key=value becomes HOPX_KEY in the environment, which the server reads; everything else is left
# in REST.
take_flags() {
    REST=()
    local word name
    for word in "$@"; do
        case $word in
            --[a-z]*=*)
                name=${word%%=*}
                name=HOPX_$(printf '%s' "${name#--}" | tr 'a-z-' 'A-Z_')
                export "$name=${word#*=}"
                ;;
            *) REST+=("$word") ;;
        esac
    done
}

# setting KEY DEFAULT: from the environment, else from hopx.conf, else the default.
setting() {
    local variable line
    variable=HOPX_$(printf '%s' "$1" | tr 'a-z-' 'A-Z_')
    if [ -n "${!variable:-}" ]; then
        printf '%s' "${!variable}"
        return
    fi
    if [ -r "$DATA_DIR/hopx.conf" ]; then
        line=$(sed -n "s/^[[:space:]]*$1[[:space:]]*[=:][[:space:]]*//p" "$DATA_DIR/hopx.conf" | tail -n 1)
        if [ -n "$line" ]; then
            printf '%s' "$line"
            return
        fi
    fi
    printf '%s' "$2"
}

load_settings() {
    DATA_DIR=${HOPX_DATA_DIR:-/var/lib/hopx}
    RUN_DIR=$(setting run-dir /run/hopx)
    TEMPLATE_STORE=$(setting template-store "$DATA_DIR/templates")
    INSTANCE=$(setting instance hopx)
    PORT=$(setting port 8080)
    HOST=$(setting host 127.0.0.1)
    case $HOST in
        0.0.0.0 | '') CLIENT_HOST=127.0.0.1 ;;
        ::) CLIENT_HOST='[::1]' ;;
        *:*) CLIENT_HOST="[$HOST]" ;;
        *) CLIENT_HOST=$HOST ;;
    esac
    URL=http://$CLIENT_HOST:$PORT
    PID_FILE=$RUN_DIR/server.pid
    PIN=$RUN_DIR/mount-namespace
    KEY_FILE=$DATA_DIR/admin.key
    LOG_FILE=$DATA_DIR/logs/server.log
    # Names end up in paths that are removed and in patterns.
    case $INSTANCE in
        '' | *[!a-z0-9]*) die "instance must be lower-case letters and digits: $INSTANCE" ;;
    esac
    local directory
    for directory in "$DATA_DIR" "$RUN_DIR" "$TEMPLATE_STORE"; do
        case $directory in
            /?*) ;;
            *) die "not an absolute path: $directory" ;;
        esac
    done
}

require_root() {
    [ "$(id -u)" = 0 ] || die "this needs root: sudo ./hopx $1"
}

# has_argument PID WORD: whether the process was started with this word.
has_argument() { { tr '\0' '\n' <"/proc/$1/cmdline"; } 2>/dev/null | grep -qxF -e "$2"; }

# The pid of the server that owns our run directory; fails if there is none.
server_pid() {
    local pid
    pid=$(cat "$PID_FILE" 2>/dev/null) || return 1
    case $pid in '' | *[!0-9]*) return 1 ;; esac
    # A pid file that survived a kill -9 may name somebody else by now.
    has_argument "$pid" dev.hopx.server.Main && has_argument "$pid" "-Dhopx.run-dir=$RUN_DIR" || return 1
    printf '%s' "$pid"
}

healthy() {
    curl --silent --fail --noproxy '*' --max-time 2 "$URL/health" 2>/dev/null
}

# api METHOD PATH: as the administrator. The key goes through a pipe, not through the process list.
api() {
    printf 'header = "X-API-Key: %s"\n' "$(cat "$KEY_FILE")" |
        curl --silent --fail --noproxy '*' --max-time 60 --config - --request "$1" "$URL$2"
}

# Whether the pinned mount namespace exists.
pinned() {
    [ "$(stat --file-system --format=%T "$PIN" 2>/dev/null)" = nsfs ]
}

# The newest JDK of version 25 or above: JAVA_HOME, else below /usr/lib/jvm.
MIN_JDK=25
find_jdk() {
    local candidate version best=0 found=
    for candidate in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
        if [ -n "$candidate" ] && [ -x "$candidate/bin/javac" ] && [ -r "$candidate/release" ]; then
            version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$candidate/release")
            if [ "${version:-0}" -ge "$MIN_JDK" ]; then
                # JAVA_HOME is a choice; it wins whatever else there is.
                if [ "$candidate" = "${JAVA_HOME:-}" ]; then
                    printf '%s' "$candidate"
                    return
                fi
                if [ "$version" -gt "$best" ]; then
                    best=$version
                    found=$candidate
                fi
            fi
        fi
    done
    [ -n "$found" ] || return 1
    printf '%s' "$found"
}
