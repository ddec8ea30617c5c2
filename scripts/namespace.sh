# shellcheck shell=bash
# The mount namespace the server lives in. It is pinned by a file, so that a restarted server finds
# the mounts of its sandboxes again; in a fresh one it would be blind to them.

# In the hybrid control group layout crun refuses to start while this mount is visible.
HYBRID_MOUNT=/sys/fs/cgroup/unified

ensure_namespace() {
    install -d -m 0700 "$RUN_DIR"
    ! pinned || return 0
    # A namespace can be pinned only on a mount that is not shared with the namespace itself.
    if ! mountpoint -q "$RUN_DIR"; then
        mount --bind "$RUN_DIR" "$RUN_DIR"
    fi
    mount --make-private "$RUN_DIR"
    touch "$PIN"
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount="$PIN" --propagation private sh -c '
        if mountpoint -q "$1"; then umount "$1"; fi' hopx-namespace "$HYBRID_MOUNT" ||
        die "cannot make a mount namespace pinned at $PIN"
    pinned || die "cannot pin a mount namespace at $PIN"
}

remove_namespace() {
    if pinned; then umount "$PIN" 2>/dev/null || umount --lazy "$PIN"; fi
    rm -f "$PIN"
    if mountpoint -q "$RUN_DIR"; then umount "$RUN_DIR" 2>/dev/null || umount --lazy "$RUN_DIR"; fi
}
