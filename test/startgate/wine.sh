#!/usr/bin/env bash
# wine.sh [GO TEST FLAGS…]   runs the tests of the agent and the installer as Windows programs under Wine: real .exe files,
# real named pipes, real renames of running files. No times are meaningful there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
wine=$(../wine/build.sh)
programs=$(mktemp -d); trap 'rm -rf "$programs"' EXIT
export CGO_ENABLED=0 GOOS=windows GOARCH=amd64
go build -o "$programs/" evenkeel.dev/evenkeel/cmd/evenkeel-agent evenkeel.dev/evenkeel/cmd/evenkeel-cni
"$wine/startwin"
EVENKEEL_TEST_PROGRAMS=$(sed 's|/|\\|g; s|^|Z:|' <<<"$programs") \
  go test -p 1 -parallel 4 -exec "$wine/runwin" "$@" evenkeel.dev/evenkeel/internal/{install,agent/...,agentconfig} evenkeel.dev/evenkeel/cmd/evenkeel-agent
