#!/usr/bin/env bash
# wine.sh [GO TEST FLAGS…]   runs the tests of this folder, and those of sock, paceapi, standin and cni, as Windows programs under Wine:
# real .exe files over real named pipes. No process-start times are meaningful there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
wine=$(../wine/build.sh)
programs=$(mktemp -d); trap 'rm -rf "$programs"; rm -f ../../cmd/evenkeel-cni/*.syso' EXIT
../../cmd/evenkeel-cni/resource.sh v1.2.3-test
export CGO_ENABLED=0 GOOS=windows GOARCH=amd64
go build -trimpath -ldflags '-s -w' -o "$programs/" evenkeel.dev/evenkeel/cmd/evenkeel-cni ./stubplugin ./noop
"$wine/startwin"
EVENKEEL_CNIEXE_PROGRAMS=$(sed 's|/|\\|g; s|^|Z:|' <<<"$programs") \
  go test -p 1 -exec "$wine/runwin" "$@" evenkeel.dev/evenkeel/internal/{sock,paceapi,standin,cni} .
