package dev.hopx.node;

import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The nftables table of this node. It knows the sandboxes' links by the common prefix of their
 * names and has no rule that differs from sandbox to sandbox, so creating one costs no rule and a
 * restart forgets none. It judges only what comes from or goes to such a link; the verdict {@code
 * accept} leaves all other tables of the host their say.
 *
 * <p>A sandbox reaches: the internet, and port 53 of the host's resolvers. It does not reach: the
 * host, other sandboxes, private and other special ranges (RFC 6890), anything with a source
 * address that is not its own, anything over IPv6, and more than its share of the table of
 * connections. Nobody outside the host reaches a sandbox.
 */
final class Firewall {
  /** Not the internet, or not meant for others (IANA's special-purpose registry, multicast). */
  static final List<String> REFUSED_RANGES =
      List.of(
          "0.0.0.0/8",
          "10.0.0.0/8",
          "100.64.0.0/10",
          "127.0.0.0/8",
          "169.254.0.0/16",
          "172.16.0.0/12",
          "192.168.0.0/16",
          "224.0.0.0/4",
          "240.0.0.0/4");

  private static final List<String> NFT = List.of("nft", "-f", "-");

  private final String instance;
  private final int connections;
  private final ReentrantLock lock = new ReentrantLock();
  private List<String> resolvers = List.of();

  /**
   * @param connections that one sandbox may have in the host's table at a time, which all share
   */
  Firewall(String instance, int connections) {
    this.instance = instance;
    this.connections = connections;
  }

  static String linkPrefix(String instance) {
    return instance + "-";
  }

  /** Puts the whole table in place, atomically, whatever was there. */
  void install(List<String> resolverAddresses) {
    lock.lock();
    try {
      ExternalCommand.run("Setting up the firewall", NFT, ruleset(resolverAddresses));
      resolvers = List.copyOf(resolverAddresses);
    } finally {
      lock.unlock();
    }
  }

  /** Follows a change of the host's resolvers (DHCP, a VPN). */
  void ensureResolvers(List<String> resolverAddresses) {
    lock.lock();
    try {
      if (!resolvers.equals(resolverAddresses)) {
        install(resolverAddresses);
      }
    } finally {
      lock.unlock();
    }
  }

  void remove() {
    ExternalCommand.run(
        "Removing the firewall",
        NFT,
        "add table inet %1$s\ndelete table inet %1$s\n".formatted(instance));
  }

  private String ruleset(List<String> resolverAddresses) {
    String dns =
        resolverAddresses.isEmpty()
            ? "# the host has no resolver that sandboxes could use"
            : "ip daddr { %s } meta l4proto { tcp, udp } th dport 53 accept"
                .formatted(String.join(", ", resolverAddresses));
    return RULESET
        .replace("$TABLE", instance)
        .replace("$LINKS", "\"" + linkPrefix(instance) + "*\"")
        .replace("$CONNECTIONS", Integer.toString(connections))
        .replace("$DNS", dns)
        .replace("$REFUSED", String.join(", ", REFUSED_RANGES));
  }

  /**
   * "add, delete, add" is how nft replaces a table in one transaction. The reverse path check
   * refuses every source address that is not routed to the link the packet came from, that is every
   * one but the sandbox's own. Refusals answer at once where somebody waits for an answer.
   */
  private static final String RULESET =
      """
      add table inet $TABLE
      delete table inet $TABLE
      table inet $TABLE {
        # What is in it goes when the last connection of the address does.
        set connections {
          type ipv4_addr; size 65535; flags dynamic;
        }
        chain prerouting {
          type filter hook prerouting priority raw; policy accept;
          iifname != $LINKS accept
          meta nfproto != ipv4 drop
          fib saddr . iif oif missing drop
        }
        chain refuse {
          meta l4proto tcp reject with tcp reset
          meta l4proto udp reject with icmp port-unreachable
          drop
        }
        chain input {
          type filter hook input priority filter - 10; policy accept;
          iifname != $LINKS accept
          ct state established,related accept
          ct state new add @connections { ip saddr ct count over $CONNECTIONS } goto refuse
          $DNS
          goto refuse
        }
        chain forward {
          type filter hook forward priority filter - 10; policy accept;
          iifname $LINKS goto outgoing
          oifname $LINKS goto incoming
        }
        chain outgoing {
          oifname $LINKS goto refuse
          ct state established,related accept
          ct state new add @connections { ip saddr ct count over $CONNECTIONS } goto refuse
          $DNS
          ip daddr { $REFUSED } goto refuse
          accept
        }
        chain incoming {
          ct state established,related accept
          drop
        }
        chain postrouting {
          type nat hook postrouting priority srcnat; policy accept;
          iifname $LINKS oifname != $LINKS masquerade
        }
      }
      """;
}
