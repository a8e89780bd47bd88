#!/usr/bin/env bash
# node-init.sh STATE NAME HOLD   runs as PID 1 of fresh mount, network, PID, IPC, UTS and time namespaces and makes them a node:
# its own /run, /var/lib and /var/log, a boot identity of its own, a bridge with the node's address. Then it becomes HOLD.
set -euo pipefail
S=$1 NAME=$2 HOLD=$3
mount --make-rprivate /
mkdir -p "$S"/{var-lib,var-log,proc,cgroup}
mount --rbind /sys/fs/cgroup "$S/cgroup"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount --rbind "$S/cgroup" /sys/fs/cgroup
umount -R "$S/cgroup"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock
mount --bind "$S/var-lib" /var/lib
mount --bind "$S/var-log" /var/log
# what the kubelet would write into the machine's own kernel settings goes to files of the node
private() { echo "$2" >"$S/proc/${1##*/}"; mount --bind "$S/proc/${1##*/}" "/proc/sys/$1"; }
private vm/overcommit_memory 1
private kernel/panic 10
private kernel/panic_on_oops 1
private kernel/random/boot_id "$(cat /proc/sys/kernel/random/uuid)"
mount --make-rshared /
hostname "$NAME"
ip link set lo up
sysctl -qw net.ipv4.ip_forward=1
# the kubelet wants an address and a default route
ip link add node0 type bridge
ip address add 10.89.0.1/24 dev node0
ip link set node0 up
ip route add default via 10.89.0.254 dev node0
exec "$HOLD"
