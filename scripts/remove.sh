# shellcheck shell=bash
# Removes what an instance has in the kernel, without its server: for "down --all", and after tests
# that crashed.

# The place of the instance in every control group hierarchy, one a line.
instance_groups() {
    local mount
    while read -r mount; do
        [ ! -d "$mount/$INSTANCE" ] || printf '%s\n' "$mount/$INSTANCE"
    done < <(awk '$3 == "cgroup" || $3 == "cgroup2" {print $2}' /proc/self/mounts)
}

kill_groups() {
    local group file pid round
    for round in $(seq 100); do
        local alive=
        for group in $(instance_groups); do
            # A frozen process takes its SIGKILL only when it is thawed.
            while read -r file; do
                case $file in
                    */cgroup.kill) echo 1 >"$file" 2>/dev/null || true ;;
                    */freezer.state) echo THAWED >"$file" 2>/dev/null || true ;;
                    */cgroup.procs)
                        while read -r pid; do
                            alive=1
                            [ "$pid" = 0 ] || kill -KILL "$pid" 2>/dev/null || true
                        done <"$file"
                        ;;
                esac
            done < <(find "$group" -name cgroup.kill -o -name freezer.state -o -name cgroup.procs 2>/dev/null)
        done
        [ -n "$alive" ] || return 0
        sleep 0.1
    done
    say "processes of instance $INSTANCE do not end (after $round rounds of SIGKILL)"
    return 1
}

remove_groups() {
    local group
    for group in $(instance_groups); do
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
}

remove_links() {
    local link
    for link in $(ip -o link show 2>/dev/null | sed -n "s/^[0-9]*: \($INSTANCE-[^:@]*\)[:@].*/\1/p"); do
        ip link delete "$link" 2>/dev/null || true
    done
}

remove_instance() {
    kill_groups || true
    remove_groups
    # What crun left beside a hidden hierarchy is seen in the server's mount namespace only.
    if pinned; then
        # shellcheck disable=SC2016 # expanded by the inner shell
        nsenter --mount="$PIN" sh -c '
            mountpoint -q "$1" || find "$1/$2" -depth -type d -exec rmdir {} + 2>/dev/null' \
            hopx-remove "$HYBRID_MOUNT" "$INSTANCE" || true
    fi
    remove_links
    if has_table; then nft delete table inet "$INSTANCE"; fi
    remove_namespace
    rm -rf --one-file-system "$DATA_DIR/sandboxes" "$DATA_DIR/discarded"
    find "$RUN_DIR" -mindepth 1 -maxdepth 1 -xdev ! -name up.lock \
        -exec rm -rf --one-file-system {} + 2>/dev/null || true
    rm -f "$RUN_DIR/up.lock"
    rmdir "$RUN_DIR" 2>/dev/null || true
}

has_table() { nft list table inet "$INSTANCE" >/dev/null 2>&1; }
