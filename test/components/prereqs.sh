#!/usr/bin/env bash
# prereqs.sh   checks for the commands that the tests call, and installs the missing ones from Debian's packages.
# Go, git and kubectl must be there already.
set -euo pipefail

missing=()
need() { # package command...
  local package=$1 c; shift
  for c in "$@"; do command -v "$c" >/dev/null || { missing+=("$package"); return; }; done
}
for c in go git kubectl apt-get; do
  command -v "$c" >/dev/null || { echo "prereqs: $c is needed and not found" >&2; exit 1; }
done
need gcc gcc
need openssl openssl
need curl curl
need iproute2 ip
need procps ps sysctl
need util-linux unshare nsenter flock setsid
[ ${#missing[@]} = 0 ] && exit 0
echo "installing ${missing[*]}"
if [ "$(id -u)" != 0 ]; then echo "prereqs: as root: apt-get install ${missing[*]}" >&2; exit 1; fi
apt-get -q update
DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends "${missing[@]}"
