#!/bin/sh
# Builds the native programs: build.sh OUT WORK. Exists beside the Makefile to turn a missing tool
# into one line that names the Debian package.
set -eu
missing=""
command -v make >/dev/null 2>&1 || missing="$missing make"
command -v musl-gcc >/dev/null 2>&1 || missing="$missing musl-tools"
command -v gcc >/dev/null 2>&1 || missing="$missing gcc"
[ -e /usr/include/linux/types.h ] || missing="$missing linux-libc-dev"
if [ -n "$missing" ]; then
  echo "hopx-init cannot be built: install the missing Debian packages: apt-get install$missing" >&2
  exit 1
fi
exec make --no-print-directory --silent -C "$(dirname "$0")" OUT="$1" WORK="$2" all
