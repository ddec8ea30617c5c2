/*
 * Links, addresses and routes by rtnetlink. Not by a long-lived ip(8): that one does not
 * acknowledge a step, the kernel does, so nothing has to be read back.
 */
#include "hopx-host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MAX_REQUEST = 1024, /* bytes; the largest request (a veth pair) takes about 200 */
    MAX_ANSWER = 8192,
    LOOPBACK_INDEX = 1
};

static const char guest_link[] = "eth0";

struct request {
    struct nlmsghdr header;
    char body[MAX_REQUEST];
};

static void begin(struct request *request, uint16_t type, uint16_t flags, const void *body,
                  size_t size) {
    static uint32_t sequence;
    memset(request, 0, sizeof *request);
    request->header.nlmsg_type = type;
    request->header.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    request->header.nlmsg_seq = ++sequence;
    memcpy(request->body, body, size); /* safe: bodies are kernel structs of at most 16 bytes */
    request->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
}

/*
 * Appends raw bytes, padded. Safe: names are checked to be at most 15 bytes before, all else has a
 * fixed size, and the sum is far below MAX_REQUEST.
 */
static void *append(struct request *request, const void *bytes, size_t size) {
    char *at = (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);
    memcpy(at, bytes, size);
    request->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(request->header.nlmsg_len) + size);
    return at;
}

static struct rtattr *attribute(struct request *request, uint16_t type, const void *value,
                                size_t size) {
    struct rtattr head = {(uint16_t)RTA_LENGTH(size), type};
    struct rtattr *at = append(request, &head, sizeof head);
    if (size > 0) {
        append(request, value, size);
    }
    return at;
}

/* Ends a nested attribute that began with attribute(…, NULL, 0). */
static void close_nest(struct request *request, struct rtattr *nest) {
    char *end = (char *)request + NLMSG_ALIGN(request->header.nlmsg_len);
    nest->rta_len = (uint16_t)(end - (char *)nest);
}

/* Sends and waits for the acknowledgement; on failure errno is the kernel's answer. */
static int transact(int netlink, struct request *request) {
    char answer[MAX_ANSWER] __attribute__((aligned(NLMSG_ALIGNTO)));
    if (send(netlink, request, request->header.nlmsg_len, 0) < 0) {
        return -1;
    }
    for (;;) {
        ssize_t got = recv(netlink, answer, sizeof answer, 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return -1;
        }
        unsigned int left = (unsigned int)got;
        for (struct nlmsghdr *m = (struct nlmsghdr *)answer; NLMSG_OK(m, left);
             m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_type != NLMSG_ERROR || m->nlmsg_seq != request->header.nlmsg_seq) {
                continue;
            }
            const struct nlmsgerr *error = NLMSG_DATA(m);
            errno = -error->error;
            return error->error == 0 ? 0 : -1;
        }
    }
}

static bool is_link_name(const char *name) {
    size_t length = strlen(name);
    return length >= 1 && length < IF_NAMESIZE && strchr(name, '/') == NULL &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int open_netlink(void) {
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    return netlink < 0 ? failed("open netlink", "route") : netlink;
}

static int raise_link(int netlink, int index, const char *name) {
    struct ifinfomsg link = {.ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    struct request request;
    begin(&request, RTM_NEWLINK, 0, &link, sizeof link);
    return transact(netlink, &request) < 0 ? failed("raise link", name) : 0;
}

int raise_loopback(int netlink) {
    return raise_link(netlink, LOOPBACK_INDEX, "lo");
}

static int add_address(int netlink, int index, const char *address) {
    struct in_addr parsed;
    if (inet_pton(AF_INET, address, &parsed) != 1) {
        return failed_with(EINVAL, "add address", address);
    }
    struct ifaddrmsg message = {
        .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = (uint32_t)index};
    struct request request;
    begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof message);
    attribute(&request, IFA_LOCAL, &parsed, sizeof parsed);
    attribute(&request, IFA_ADDRESS, &parsed, sizeof parsed);
    return transact(netlink, &request) < 0 ? failed("add address", address) : 0;
}

/* To one address, directly behind the link; with a NULL address the default one by the gateway. */
static int add_route(int netlink, int index, const char *address, const char *gateway) {
    struct rtmsg message = {.rtm_family = AF_INET,
                            .rtm_dst_len = address != NULL ? 32 : 0,
                            .rtm_table = RT_TABLE_MAIN,
                            .rtm_protocol = RTPROT_STATIC,
                            .rtm_scope = gateway != NULL ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK,
                            .rtm_type = RTN_UNICAST};
    const char *shown = address != NULL ? address : gateway;
    struct in_addr parsed;
    struct request request;
    begin(&request, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, &message, sizeof message);
    if (inet_pton(AF_INET, shown, &parsed) != 1) {
        return failed_with(EINVAL, "add route", shown);
    }
    attribute(&request, address != NULL ? RTA_DST : RTA_GATEWAY, &parsed, sizeof parsed);
    attribute(&request, RTA_OIF, &index, sizeof index);
    return transact(netlink, &request) < 0 ? failed("add route", shown) : 0;
}

int create_veth(int host_netlink, int network_namespace, const struct veth *veth) {
    if (!is_link_name(veth->host_name)) {
        return failed_with(EINVAL, "accept link name", veth->host_name);
    }
    struct ifinfomsg link = {0};
    struct request request;
    begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof link);
    attribute(&request, IFLA_IFNAME, veth->host_name, strlen(veth->host_name) + 1);
    attribute(&request, IFLA_MTU, &veth->mtu, sizeof veth->mtu);
    struct rtattr *information = attribute(&request, IFLA_LINKINFO, NULL, 0);
    attribute(&request, IFLA_INFO_KIND, "veth", sizeof "veth");
    struct rtattr *data = attribute(&request, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = attribute(&request, VETH_INFO_PEER, NULL, 0);
    append(&request, &link, sizeof link);
    attribute(&request, IFLA_IFNAME, guest_link, sizeof guest_link);
    attribute(&request, IFLA_MTU, &veth->mtu, sizeof veth->mtu);
    attribute(&request, IFLA_NET_NS_FD, &network_namespace, sizeof network_namespace);
    close_nest(&request, peer);
    close_nest(&request, data);
    close_nest(&request, information);
    return transact(host_netlink, &request) < 0 ? failed("create veth", veth->host_name) : 0;
}

static int link_sysctl(const char *family, const char *link, const char *key, const char *value,
                       bool may_be_missing) {
    char name[128];
    snprintf(name, sizeof name, "net/%s/conf/%s/%s", family, link, key);
    return write_sysctl(name, value, may_be_missing);
}

/* Runs in the host's network namespace. */
int configure_host_end(int host_netlink, const struct veth *veth) {
    const char *name = veth->host_name;
    int index = (int)if_nametoindex(name);
    if (index == 0) {
        return failed("find link", name);
    }
    /* Before the link is up, so that it never has an IPv6 address or takes a forged packet. */
    if (link_sysctl("ipv6", name, "disable_ipv6", "1", true) < 0 ||
        link_sysctl("ipv4", name, "rp_filter", "1", false) < 0 ||
        link_sysctl("ipv4", name, "proxy_arp", "0", false) < 0 ||
        /* Only the gateway's address is told, none of the host's others. */
        link_sysctl("ipv4", name, "arp_ignore", "1", false) < 0 ||
        link_sysctl("ipv4", name, "accept_redirects", "0", false) < 0 ||
        link_sysctl("ipv4", name, "send_redirects", "0", false) < 0 ||
        link_sysctl("ipv4", name, "accept_source_route", "0", false) < 0) {
        return -1;
    }
    if (add_address(host_netlink, index, veth->gateway) < 0 ||
        raise_link(host_netlink, index, name) < 0) {
        return -1;
    }
    return add_route(host_netlink, index, veth->guest_address, NULL);
}

/* Runs inside the sandbox's network namespace. */
int configure_guest_end(int guest_netlink, const struct veth *veth) {
    int index = (int)if_nametoindex(guest_link);
    if (index == 0) {
        return failed("find link", guest_link);
    }
    if (add_address(guest_netlink, index, veth->guest_address) < 0 ||
        raise_link(guest_netlink, index, guest_link) < 0 ||
        add_route(guest_netlink, index, veth->gateway, NULL) < 0) {
        return -1;
    }
    return add_route(guest_netlink, index, NULL, veth->gateway);
}

/* A link that does not exist is no failure. */
int remove_link(int netlink, const char *name) {
    if (!is_link_name(name)) {
        return failed_with(EINVAL, "accept link name", name);
    }
    struct ifinfomsg link = {0};
    struct request request;
    begin(&request, RTM_DELLINK, 0, &link, sizeof link);
    attribute(&request, IFLA_IFNAME, name, strlen(name) + 1);
    return transact(netlink, &request) < 0 && errno != ENODEV ? failed("remove link", name) : 0;
}
