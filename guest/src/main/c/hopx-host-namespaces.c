/* The pinned pair of a sandbox: its user namespace and, inside it, its network namespace. */
#include "hopx-host.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_HOST_ID = 0x7FFFFFFF, MAX_SYSCTL_PATH = 256 };

/* What the maker tells its parent; one message a stage. */
struct progress {
    int error; /* 0 = the stage succeeded */
    char step[32];
};

static _Noreturn void stop_maker(int channel, const char *step) {
    struct progress progress = {.error = errno};
    snprintf(progress.step, sizeof progress.step, "%s", step);
    (void)!write(channel, &progress, sizeof progress);
    _exit(1);
}

/* Waits for the parent; an end of file means that it is gone or has what it wants. */
static void next_stage(int channel) {
    struct progress progress = {0};
    char byte;
    if (write(channel, &progress, sizeof progress) != sizeof progress ||
        read(channel, &byte, 1) != 1) {
        _exit(0);
    }
}

/*
 * The child that makes the namespaces. It takes the sandbox's own host id first: the kernel counts
 * its limits per user (inotify instances, namespaces, pending signals, ...) against the creator of
 * the user namespace, and sandboxes must not share them with each other or with host root.
 * CAP_SYS_ADMIN is kept over the change, so that hosts which forbid user namespaces to ordinary
 * users (kernel.unprivileged_userns_clone, AppArmor) still let the node make them.
 */
static _Noreturn void make(int channel, uint32_t id) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    data[0].effective = data[0].permitted = 1u << CAP_SYS_ADMIN;
    if (setgroups(0, NULL) < 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 ||
        setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0 ||
        syscall(SYS_capset, &header, data) < 0) {
        stop_maker(channel, "take the sandbox's user id");
    }
    if (unshare(CLONE_NEWUSER) < 0) {
        stop_maker(channel, "make a user namespace");
    }
    next_stage(channel);
    if (unshare(CLONE_NEWNET) < 0) {
        stop_maker(channel, "make a network namespace");
    }
    next_stage(channel);
    _exit(0);
}

static int await(int channel, const char *subject) {
    struct progress progress;
    ssize_t got = read(channel, &progress, sizeof progress);
    if (got != sizeof progress) {
        return failed_with(ECHILD, "make namespaces", subject);
    }
    progress.step[sizeof progress.step - 1] = 0;
    return progress.error == 0 ? 0 : failed_with(progress.error, progress.step, subject);
}

static int write_map(pid_t pid, const char *file, uint64_t base, uint64_t count) {
    char path[64], map[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    int length = snprintf(map, sizeof map, "0 %llu %llu\n", (unsigned long long)base,
                          (unsigned long long)count);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return failed("write id map", path);
    }
    int result = write(fd, map, (size_t)length) == length ? 0 : failed("write id map", path);
    close(fd);
    return result;
}

/* An existing pin is never taken over: it may hold another sandbox's namespace. */
static int pin(pid_t pid, const char *kind, const char *path) {
    char source[64];
    snprintf(source, sizeof source, "/proc/%d/ns/%s", pid, kind);
    int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return failed("create pin", path);
    }
    close(fd);
    if (mount(source, path, NULL, MS_BIND, NULL) < 0) {
        int error = errno;
        unlink(path);
        return failed_with(error, "pin namespace", path);
    }
    return 0;
}

/* NAME uses slashes below /proc/sys. */
int write_sysctl(const char *name, const char *value, bool may_be_missing) {
    char path[MAX_SYSCTL_PATH];
    if ((size_t)snprintf(path, sizeof path, "/proc/sys/%s", name) >= sizeof path) {
        return failed_with(ENAMETOOLONG, "set sysctl", name);
    }
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT && may_be_missing ? 0 : failed("set sysctl", name);
    }
    ssize_t length = (ssize_t)strlen(value);
    int result = write(fd, value, (size_t)length) == length ? 0 : failed("set sysctl", name);
    close(fd);
    return result;
}

/* The node's own settings of the host, and no others. */
int set_sysctl(const char *name, const char *value) {
    static const char *const settings[] = {
        "net/ipv4/ip_forward",
        "net/ipv4/conf/all/rp_filter",
        "net/ipv4/conf/default/rp_filter",
        "net/ipv4/neigh/default/gc_thresh1",
        "net/ipv4/neigh/default/gc_thresh2",
        "net/ipv4/neigh/default/gc_thresh3",
        "net/netfilter/nf_conntrack_max",
        "kernel/pid_max",
        "kernel/pty/max",
        "user/max_user_namespaces",
        "user/max_net_namespaces",
        "fs/inotify/max_user_instances",
        "fs/inotify/max_user_watches",
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(settings[i], name) == 0) {
            return write_sysctl(name, value, false);
        }
    }
    return failed_with(EPERM, "set sysctl, not one of the node's", name);
}

/* Runs inside the network namespace. Ids are the host's: the kernel reads them as the writer's. */
static int prepare_inside(int netlink, uint64_t base, uint64_t count) {
    char range[64];
    snprintf(range, sizeof range, "%llu %llu", (unsigned long long)base,
             (unsigned long long)(base + count - 1));
    /* Lets every group inside use ping without raw sockets. */
    if (write_sysctl("net/ipv4/ping_group_range", range, false) < 0) {
        return -1;
    }
    if (write_sysctl("net/ipv6/conf/all/disable_ipv6", "1", true) < 0 ||
        write_sysctl("net/ipv6/conf/default/disable_ipv6", "1", true) < 0) {
        return -1;
    }
    return raise_loopback(netlink);
}

static int enter(int namespace, const char *subject) {
    return setns(namespace, CLONE_NEWNET) < 0 ? failed("enter network namespace", subject) : 0;
}

/* Loopback, settings and, when wanted, the link to the host. LINK_MADE tells what to undo. */
static int set_up_network(const char *network_pin, uint64_t base, uint64_t count,
                          const struct veth *veth, int host_netlink, bool *link_made) {
    int host = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int inside = open(network_pin, O_RDONLY | O_CLOEXEC);
    if (host < 0 || inside < 0) {
        return failed("open network namespace", network_pin);
    }
    if (enter(inside, network_pin) < 0) {
        return -1;
    }
    int guest_netlink = open_netlink();
    if (guest_netlink < 0 || prepare_inside(guest_netlink, base, count) < 0) {
        return -1;
    }
    if (enter(host, "host") < 0) {
        return -1;
    }
    if (veth == NULL) {
        return 0;
    }
    if (create_veth(host_netlink, inside, veth) < 0) {
        return -1;
    }
    *link_made = true;
    if (configure_host_end(host_netlink, veth) < 0) {
        return -1;
    }
    return enter(inside, network_pin) < 0 ? -1 : configure_guest_end(guest_netlink, veth);
}

/* Everything after the maker was started; what it made before a failure is undone here. */
static int pin_and_set_up(int channel, pid_t maker, const char *user_pin, const char *network_pin,
                          uint64_t base, uint64_t count, const struct veth *veth) {
    int host_netlink = open_netlink();
    if (host_netlink < 0) {
        return -1;
    }
    if (await(channel, user_pin) < 0 || write_map(maker, "gid_map", base, count) < 0 ||
        write_map(maker, "uid_map", base, count) < 0 || pin(maker, "user", user_pin) < 0) {
        return -1;
    }
    bool network_pinned = false;
    bool link_made = false;
    if (write(channel, "n", 1) != 1) {
        failed("make namespaces", network_pin);
    } else if (await(channel, network_pin) == 0 && pin(maker, "net", network_pin) == 0) {
        network_pinned = true;
        if (set_up_network(network_pin, base, count, veth, host_netlink, &link_made) == 0) {
            return 0;
        }
    }
    /* The first failure is the one to report: undoing goes by plain calls that record nothing. */
    if (link_made) {
        pid_t undo = fork();
        if (undo == 0) {
            _exit(remove_link(host_netlink, veth->host_name) == 0 ? 0 : 1);
        }
        if (undo > 0) {
            waitpid(undo, NULL, 0);
        }
    }
    if (network_pinned) {
        umount2(network_pin, MNT_DETACH);
        unlink(network_pin);
    }
    umount2(user_pin, MNT_DETACH);
    unlink(user_pin);
    return -1;
}

int make_namespaces(const char *user_pin, const char *network_pin, uint64_t base, uint64_t count,
                    const struct veth *veth) {
    /* Host root is never mapped, and ids stay in the half that all tools understand. */
    if (base < 1 || count < 1 || base > MAX_HOST_ID || count > MAX_HOST_ID - base + 1) {
        return failed_with(EINVAL, "accept id range", user_pin);
    }
    int channel[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0) {
        return failed("socketpair", user_pin);
    }
    pid_t maker = fork();
    if (maker < 0) {
        return failed("fork", user_pin);
    }
    if (maker == 0) {
        close(channel[0]);
        make(channel[1], (uint32_t)base);
    }
    close(channel[1]);
    int result = pin_and_set_up(channel[0], maker, user_pin, network_pin, base, count, veth);
    close(channel[0]);
    waitpid(maker, NULL, 0);
    return result;
}
