#!/usr/bin/env bash
# build.sh [--find]   prints the folder with what a node needs, building it first if needed (--find: fails instead):
#   bin/     containerd, its shim, ctr (from the module beside this script), runc (Debian's), hold (PID 1 of the node)
#   cni/     Debian's CNI plugins
#   images/  pause.tar and app.tar, two images with one static program each
# The kubelet is in the control plane's folder. Nothing is installed. Cold: about 440 CPU seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../components/cache.sh

fill() {
  local out=$1 c f
  mkdir "$out"/{bin,cni,images,deb}
  export CGO_ENABLED=0
  for c in containerd containerd-shim-runc-v2 ctr; do
    (cd containerd && go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$out/bin/$c" "github.com/containerd/containerd/v2/cmd/$c")
  done
  go build -trimpath -buildvcs=false -ldflags '-s -w' -o "$out/bin/" ./programs/{hold,pause,app,mkimage}
  (cd "$out/deb" && apt-get -q download runc containernetworking-plugins && for f in *.deb; do dpkg-deb -x "$f" .; done)
  cp "$out/deb/usr/sbin/runc" "$out/bin/"
  cp "$out"/deb/usr/lib/cni/* "$out/cni/"
  rm -rf "$out/deb"
  "$out/bin/mkimage" "$out/images/pause.tar" test.local/pause:1 "$out/bin/pause"
  "$out/bin/mkimage" "$out/images/app.tar" test.local/app:1 "$out/bin/app"
}

dir=$(component_dir node build.sh containerd programs)
if [ "${1:-}" = --find ]; then
  [ -d "$dir" ] || { echo "the node is not built yet: run 'make components' (once, five minutes or more)" >&2; exit 1; }
else
  component_build "$dir" fill
fi
echo "$dir"
