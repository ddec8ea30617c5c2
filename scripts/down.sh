# shellcheck shell=bash
# ./hopx down

# shellcheck source=scripts/stop.sh
. "$HOPX_ROOT/scripts/stop.sh"
# shellcheck source=scripts/namespace.sh
. "$HOPX_ROOT/scripts/namespace.sh"
# shellcheck source=scripts/remove.sh
. "$HOPX_ROOT/scripts/remove.sh"

down() {
    local all=
    while [ $# -gt 0 ]; do
        case $1 in
            --all) all=1 ;;
            *) say "down knows --all, not $1"; exit 2 ;;
        esac
        shift
    done
    require_root down
    local pid
    if pid=$(server_pid); then
        [ -z "$all" ] || delete_sandboxes
        stop_server "$pid"
        say "the server has stopped"
    else
        say "no server is running"
    fi
    if [ -n "$all" ]; then
        remove_instance
        say "sandboxes, network rules and mounts of instance $INSTANCE are removed;" \
            "data stays in $DATA_DIR"
    elif [ -n "$(sandbox_directories)" ]; then
        say "$(sandbox_directories | wc -l) sandboxes go on; the next ./hopx up finds them again" \
            "(./hopx down --all ends them)"
    fi
}

sandbox_directories() {
    find "$DATA_DIR/sandboxes" -mindepth 1 -maxdepth 1 -type d 2>/dev/null || true
}

# Through the API, so that the records say that they are gone.
delete_sandboxes() {
    local ids id
    ids=$(api GET '/v1/sandboxes?limit=1000' | grep -o '"id":"[^"]*"' | cut -d '"' -f 4) || return 0
    for id in $ids; do
        api DELETE "/v1/sandboxes/$id" >/dev/null || say "sandbox $id could not be deleted in order"
    done
}
