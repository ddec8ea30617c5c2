/* Mounts: idmapped clones, overlays, binds, and taking them away again. */
#include "hopx-host.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MAX_STACKED = 64, /* mounts on top of each other that one unmount takes away */
    MAX_OPTIONS = 4096 - 1 /* bytes; the kernel takes one page */
};

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef MOUNT_ATTR_IDMAP
#define MOUNT_ATTR_IDMAP 0x00100000
#endif

/* A detached clone of SOURCE: it is attached only when all its attributes are set. */
static int clone_mount(const char *source) {
    int tree =
        (int)syscall(SYS_open_tree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0) {
        return errno == ENOSYS ? unsupported("clone mount", source)
                               : failed("clone mount", source);
    }
    return tree;
}

static int attach(int tree, const char *target) {
    if (syscall(SYS_move_mount, tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) < 0) {
        return failed("attach mount", target);
    }
    return 0;
}

int mount_idmapped(const char *source, const char *target, const char *user_pin) {
    int user = open(user_pin, O_RDONLY | O_CLOEXEC);
    if (user < 0) {
        return failed("open user namespace", user_pin);
    }
    int tree = clone_mount(source);
    if (tree < 0) {
        return -1;
    }
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY |
                                                MOUNT_ATTR_NODEV,
                                    .propagation = MS_PRIVATE,
                                    .userns_fd = (uint64_t)user};
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) {
        /* EINVAL is what a file system without idmapped mounts answers. */
        return errno == ENOSYS || errno == EINVAL || errno == EOPNOTSUPP
                   ? unsupported("map ids of mount", source)
                   : failed("map ids of mount", source);
    }
    return attach(tree, target);
}

/* Names in mount options must not be able to add another option or layer. */
static bool is_plain_name(const char *name, bool layers) {
    return *name != 0 && strpbrk(name, ",\\\"") == NULL && (layers || strchr(name, ':') == NULL);
}

/*
 * All names are relative to DIRECTORY: they are shown to the guest in its /proc/mounts, where no
 * path of the host belongs.
 */
int mount_overlay(const char *directory, const char *lower, const char *upper, const char *work,
                  const char *target) {
    char options[MAX_OPTIONS + 1];
    if (!is_plain_name(lower, true) || !is_plain_name(upper, false) ||
        !is_plain_name(work, false)) {
        return failed_with(EINVAL, "accept overlay names", directory);
    }
    if (snprintf(options, sizeof options, "lowerdir=%s,upperdir=%s,workdir=%s", lower, upper,
                 work) > MAX_OPTIONS) {
        return failed_with(ENAMETOOLONG, "accept overlay names", directory);
    }
    if (chdir(directory) < 0) {
        return failed("enter directory", directory);
    }
    if (mount("overlay", target, "overlay", MS_NODEV, options) < 0) {
        return failed("mount overlay", directory);
    }
    return 0;
}

int mount_bind(const char *source, const char *target, bool read_only) {
    int tree = clone_mount(source);
    if (tree < 0) {
        return -1;
    }
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                                (read_only ? MOUNT_ATTR_RDONLY : 0),
                                    .propagation = MS_PRIVATE};
    if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0) {
        return errno == ENOSYS ? unsupported("set mount attributes", source)
                               : failed("set mount attributes", source);
    }
    return attach(tree, target);
}

/*
 * Detaches, so that a busy mount goes with its last user; takes away all that are stacked there.
 * Nothing mounted (EINVAL) or nothing there is success.
 */
int unmount(const char *target) {
    for (int i = 0; i < MAX_STACKED; i++) {
        if (umount2(target, MNT_DETACH | UMOUNT_NOFOLLOW) < 0) {
            return errno == EINVAL || errno == ENOENT ? 0 : failed("unmount", target);
        }
    }
    return failed_with(ELOOP, "unmount", target);
}

int unpin(const char *pin) {
    if (unmount(pin) < 0) {
        return -1;
    }
    return unlink(pin) < 0 && errno != ENOENT ? failed("remove pin", pin) : 0;
}
