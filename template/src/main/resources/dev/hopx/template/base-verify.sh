# Prints one "name=version" line for each promise it found kept; any other end than 0 fails the build.
set -eu
test -d /workspace
test -d /.hopx
python3 -c 'import sys; assert sys.version_info >= (3, 11), "Python is older than 3.11"; print("python=%d.%d.%d" % sys.version_info[:3])'
echo "bash=$BASH_VERSION"
echo "curl=$(curl --version | head -n 1 | cut -d ' ' -f 2)"
test -s /etc/ssl/certs/ca-certificates.crt
