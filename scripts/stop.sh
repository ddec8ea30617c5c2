# shellcheck shell=bash
STOP_SECONDS=20

# stop_server PID: orderly, then by force.
stop_server() {
    kill -TERM "$1" 2>/dev/null || return 0
    local end=$((SECONDS + STOP_SECONDS))
    while kill -0 "$1" 2>/dev/null; do
        # A child of ours that ended stays a zombie until it is waited for.
        case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in Z*) break ;; esac
        if [ $SECONDS -ge $end ]; then
            say "the server did not stop within $STOP_SECONDS s; killing it"
            kill -KILL "$1" 2>/dev/null || true
            break
        fi
        sleep 0.05
    done
}
