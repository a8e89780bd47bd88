#!/usr/bin/env bash
# up.sh STATE NAME BIN   boots a test node: makes its namespaces and cgroups, says "ready", and lives until standard input ends.
# Then every process of the node is dead, its cgroups are gone, and so is STATE unless STATE/keep exists. test/harness starts
# containerd and the kubelet in it. Root only.
#
# The node is as old as its boot: a time namespace makes its uptime start near zero, and it has a boot id of its own.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
S=$1 NAME=$2 BIN=$3
group=/evenkeel-node-$NAME

cgroups() { # the folders of the node's control groups, one for each hierarchy
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then echo "/sys/fs/cgroup$group"; return; fi
  local c
  for c in cpu cpuacct cpuset memory devices freezer blkio pids systemd unified; do
    if [ -d "/sys/fs/cgroup/$c" ]; then echo "/sys/fs/cgroup/$c$group"; fi
  done
}
make_cgroups() {
  local dir
  cgroups | while read -r dir; do mkdir -p "$dir"; done
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo '+cpu +cpuset +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
  else
    cat /sys/fs/cgroup/cpuset/cpuset.cpus >"/sys/fs/cgroup/cpuset$group/cpuset.cpus"
    cat /sys/fs/cgroup/cpuset/cpuset.mems >"/sys/fs/cgroup/cpuset$group/cpuset.mems"
  fi
}
remove() {
  exec >/dev/null 2>&1 # the reader may be gone, and writing to it would end us before the work is done
  local dir i
  for i in $(seq 100); do # a killed process keeps its group for a moment
    cgroups | while read -r dir; do if [ -d "$dir" ]; then find "$dir" -depth -type d -exec rmdir {} \; || true; fi; done
    if [ -z "$(cgroups | while read -r dir; do if [ -d "$dir" ]; then echo left; fi; done)" ]; then break; fi
    sleep 0.1
  done
  if [ ! -e "$S/keep" ]; then rm -rf "$S"; fi
}

mkdir -p "$S"
trap remove EXIT
trap 'exit 1' INT TERM HUP
make_cgroups
age=$(cut -d. -f1 /proc/uptime)
unshare --mount --net --pid --ipc --uts --time --boottime "-$((age - 1))" --monotonic "-$((age - 1))" \
  --fork --kill-child --propagation private bash "$here/node-init.sh" "$S" "$NAME" "$BIN/hold"
