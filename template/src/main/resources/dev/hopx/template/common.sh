# Runs as root in the new root file system: no network, /proc mounted, stops at the first error.
set -eu

mkdir -p /workspace /.hopx
chmod 0755 /workspace /.hopx

# Inside a user namespace apt's own unprivileged user buys nothing and can fail to read what root made.
# Documentation stays excluded (mmdebstrap wrote dpkg's path-exclude lines), recommendations are as in
# every Debian: what the build passed to apt does not stay behind, for it may name proxies and credentials.
rm -f /etc/apt/apt.conf.d/99mmdebstrap
cat > /etc/apt/apt.conf.d/90hopx <<'CONF'
APT::Sandbox::User "root";
Acquire::Languages "none";
CONF

# There is no service manager: a package that starts its service would fail to install.
cat > /usr/sbin/policy-rc.d <<'CONF'
#!/bin/sh
exit 101
CONF
chmod 0755 /usr/sbin/policy-rc.d

# Each sandbox gets its own.
rm -f /etc/resolv.conf /etc/hostname /etc/machine-id /var/lib/dbus/machine-id
rm -f /var/log/*.log /var/log/apt/* /var/log/btmp /var/log/wtmp /var/log/lastlog
