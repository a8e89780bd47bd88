#!/usr/bin/env bash
# resource.sh [VERSION]   makes the Windows version resource that go build links into evenkeel-cni.exe by itself when the file is
# here. It is built, not committed. VERSION is as of git describe: v1.2.3 and more; anything else counts as 0.0.0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
version=${1:-v0.0.0}
numbers=$(sed -nE 's/^v?([0-9]+\.[0-9]+\.[0-9]+).*/\1/p' <<<"$version")
numbers=${numbers:-0.0.0}.0
# GOOS, GOARCH: for this machine, whatever is being cross-compiled
GOOS='' GOARCH='' go run github.com/josephspurrier/goversioninfo/cmd/goversioninfo@v1.7.0 -64 -propagate-ver-strings \
  -file-version "$numbers" -product-version "$numbers" -comment "$version" -o resource_windows_amd64.syso versioninfo.json
