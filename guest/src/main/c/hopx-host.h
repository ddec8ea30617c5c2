/* hopx-host: what its parts share. See hopx-host.c for what the program is. */
#ifndef HOPX_HOST_H
#define HOPX_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Every request runs in a process of its own, so a failure is kept in one global record and the
 * process ends after reporting it. All functions answer 0, or -1 after recording the failure.
 */

/* Records errno as the reason why STEP failed on SUBJECT; answers -1. */
int failed(const char *step, const char *subject);

/* Like failed, for a reason that is not in errno. */
int failed_with(int error, const char *step, const char *subject);

/* Like failed, for something that this kernel or file system cannot do at all. */
int unsupported(const char *step, const char *subject);

/* hopx-host-namespaces.c */
struct veth {
    const char *host_name;     /* 1 to 15 bytes */
    const char *guest_address; /* IPv4, becomes ADDRESS/32 on eth0 */
    const char *gateway;       /* IPv4, becomes GATEWAY/32 on the host end */
    uint32_t mtu;              /* 68 to 65535 */
};
int make_namespaces(const char *user_pin, const char *network_pin, uint64_t id_base,
                    uint64_t id_count, const struct veth *veth);
int write_sysctl(const char *name, const char *value, bool may_be_missing);
int set_sysctl(const char *name, const char *value);

/* hopx-host-network.c; each step waits for the kernel's acknowledgement. */
int open_netlink(void);
int raise_loopback(int netlink);
int create_veth(int host_netlink, int network_namespace, const struct veth *veth);
int configure_host_end(int host_netlink, const struct veth *veth);
int configure_guest_end(int guest_netlink, const struct veth *veth);
int remove_link(int netlink, const char *name);

/* hopx-host-mounts.c */
int mount_idmapped(const char *source, const char *target, const char *user_pin);
int mount_overlay(const char *directory, const char *lower, const char *upper, const char *work,
                  const char *target);
int mount_bind(const char *source, const char *target, bool read_only);
int unmount(const char *target);
int unpin(const char *pin);

/* hopx-host-disks.c */
int copy_image(const char *source, const char *target);
int trim_disk(const char *image, const char *target, uint64_t at_least);
int mount_disk(const char *image_path, const char *target);
int settle_disk(const char *image_path);

/* hopx-host-files.c */
int make_directory(const char *path, uint64_t mode, uint64_t uid, uint64_t gid);
int change_owner(const char *path, uint64_t uid, uint64_t gid);
int remove_tree(const char *path);

#endif
