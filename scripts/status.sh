# shellcheck shell=bash
# ./hopx status and ./hopx env

# shellcheck source=scripts/store.sh
. "$HOPX_ROOT/scripts/store.sh"

NOT_RUNNING=3

json_string() {
    if [ -z "$1" ]; then
        printf 'null'
    else
        printf '"%s"' "$(printf '%s' "$1" | sed 's/\\/\\\\/g; s/"/\\"/g')"
    fi
}

# "NAME STATUS" lines out of the API's list; the server writes each object's fields in this order.
listed_templates() {
    sed 's/{"object":"template"/\n&/g' |
        sed -n 's/^{"object":"template".*"name":"\([^"]*\)","display_name".*"status":"\([^"]*\)","is_active".*/\1 \2/p' |
        sed 's/ active$/ ready/'
}

print_status() {
    local json=
    case "${1:-}" in
        '') ;;
        --json) json=1 ;;
        *) say "status knows --json, not $1"; exit 2 ;;
    esac
    local pid='' state=stopped version isolation='' health='' templates
    if pid=$(server_pid); then
        if health=$(healthy); then state=running; else state='not answering'; fi
    fi
    version=$(printf '%s' "$health" | sed -n 's/.*"version":"\([^"]*\)".*/\1/p')
    isolation=$(printf '%s' "$health" | sed -n 's/.*"isolation":"\([^"]*\)".*/\1/p')
    [ -n "$version" ] ||
        version=$(sed -n 's:^  <version>\(.*\)</version>:\1:p' "$HOPX_ROOT/pom.xml" | head -n 1)
    if [ "$state" = running ] && [ -r "$KEY_FILE" ]; then
        templates=$(api GET /v1/templates | listed_templates)
    else
        templates=$(stored_templates "$TEMPLATE_STORE")
    fi
    if [ -n "$json" ]; then
        status_json
    else
        status_text
    fi
    [ "$state" = running ] || return $NOT_RUNNING
}

status_json() {
    local name status separator=
    printf '{\n  "state": %s,\n' "$(json_string "$state")"
    printf '  "url": %s,\n' "$(json_string "$URL")"
    printf '  "version": %s,\n' "$(json_string "$version")"
    printf '  "pid": %s,\n' "${pid:-null}"
    printf '  "isolation": %s,\n' "$(json_string "$isolation")"
    printf '  "templates": ['
    while read -r name status; do
        [ -n "$name" ] || continue
        printf '%s\n    {"name": %s, "status": %s}' "$separator" "$(json_string "$name")" "$(json_string "$status")"
        separator=,
    done <<<"$templates"
    printf '%s],\n' "${separator:+$'\n  '}"
    printf '  "template_store": %s,\n' "$(json_string "$TEMPLATE_STORE")"
    printf '  "data_directory": %s,\n' "$(json_string "$DATA_DIR")"
    printf '  "run_directory": %s\n}\n' "$(json_string "$RUN_DIR")"
}

status_text() {
    local name status
    printf 'state:      %s%s\n' "$state" "${pid:+ (process $pid)}"
    printf 'url:        %s\n' "$URL"
    printf 'version:    %s\n' "$version"
    printf 'isolation:  %s\n' "${isolation:-unknown while the server is down}"
    printf 'data:       %s\n' "$DATA_DIR"
    printf 'log:        %s\n' "$LOG_FILE"
    while read -r name status; do
        [ -z "$name" ] || printf 'template:   %s (%s)\n' "$name" "$status"
    done <<<"$templates"
    [ -n "$templates" ] || printf 'template:   none is built\n'
}

print_env() {
    [ -r "$KEY_FILE" ] || die "no key in $KEY_FILE: run ./hopx up -d first (as root)"
    printf 'export HOPX_BASE_URL=%q HOPX_API_KEY=%q\n' "$URL" "$(cat "$KEY_FILE")"
}
