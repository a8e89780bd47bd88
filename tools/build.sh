#!/usr/bin/env bash
# build.sh   prints the folder that holds golangci-lint and gofumpt, building them from this module first if needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../test/components/cache.sh

fill() {
  CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$1/" \
    github.com/golangci/golangci-lint/v2/cmd/golangci-lint mvdan.cc/gofumpt
}

dir=$(component_dir tools go.mod go.sum)
component_build "$dir" fill
echo "$dir"
