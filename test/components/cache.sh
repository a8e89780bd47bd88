#!/usr/bin/env bash
# cache.sh – sourced by the build scripts beside it: where built test components are kept, and how they get there.
#
#   component_dir NAME FILE...   prints ${EVENKEEL_CACHE:-${XDG_CACHE_HOME:-~/.cache}/evenkeel}/NAME-<hash>; the hash covers
#                                the Go version, the machine's architecture and the content of the files (directories: all in them)
#   component_build DIR FUNC     calls FUNC TMP to fill a new folder and renames it to DIR; only one process builds, the others wait.
#                                Nothing half-built is ever found under DIR. Progress goes to stderr.
# shellcheck shell=bash

component_dir() {
  local name=$1 hash; shift
  hash=$( { go env GOVERSION GOARCH
            find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0 cat; } | sha256sum | cut -c1-16 )
  echo "${EVENKEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel}/$name-$hash"
}

component_build() {
  local dir=$1 fill=$2 tmp start
  [ -d "$dir" ] && return 0
  mkdir -p "$(dirname "$dir")"
  exec 9>"$dir.lock"
  flock 9
  [ -d "$dir" ] && return 0 # another process built it while we waited
  tmp=$dir.tmp; rm -rf "$tmp"; mkdir "$tmp"
  start=$SECONDS
  echo "building $(basename "$dir") …" >&2
  "$fill" "$tmp" >&2
  mv "$tmp" "$dir"
  exec 9>&-; rm -f "$dir.lock"
  echo "built $(basename "$dir") in $((SECONDS - start)) s" >&2
}
