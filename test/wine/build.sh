#!/usr/bin/env bash
# build.sh [--find]   prints a folder with Wine 10 in it, making it first if needed (--find: fails instead). Afterwards
#   GOOS=windows go test -exec "$(test/wine/build.sh)/runwin" ./internal/sock
#   DIR/runwin PROG.EXE ARGS…    runs a Windows program
#   DIR/startwin                 keeps Wine's services up, so that each start is quick;   DIR/stopwin  ends every Wine process of DIR
#
# Debian 13's packages are unpacked with their own libc, which is used through its own loader: no root, chroot or X, and any
# glibc x86-64 Linux with apt will do. About 125 MB are downloaded; two minutes. (Debian 12's Wine 8 lacks
# bcryptprimitives.dll, which Go needs.)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. ../components/cache.sh
D=$(component_dir wine build.sh)
if [ "${1:-}" = --find ]; then
  [ -f "$D/.ready" ] || { echo "Wine is not set up yet: run 'make components'" >&2; exit 1; }
  echo "$D"; exit
fi
mkdir -p "$D/apt/lists/partial" "$D/apt/archives/partial"
exec 9>"$D/lock"; flock 9 # the folder's own paths go into its scripts, so it is made in place, by one process
if [ -f "$D/.ready" ]; then echo "$D"; exit; fi
echo "setting up $(basename "$D") …" >&2; start=$SECONDS
U=$D/root/usr L=$U/lib/x86_64-linux-gnu

unpack() {
  local mirror opt f z
  mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
    sed -n -e 's/^URIs: *\(.*\/debian\)\/*$/\1/p' -e 's/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\)\/* .*/\2/p' | head -1) || true
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?no Debian mirror in the apt sources} trixie main" >"$D/apt/sources.list"
  opt=(-q -o Dir::Etc::SourceList="$D/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$D/apt/lists"
       -o Dir::Cache="$D/apt" -o Dir::State::Status=/dev/null -o APT::Architecture=amd64 -o APT::Sandbox::User=
       -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
       -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false)
  apt-get "${opt[@]}" update
  (cd "$D/apt/archives" && apt-get "${opt[@]}" download libwine wine64 libc6 libunwind8 liblzma5 libz-mingw-w64)
  rm -rf "$D/root"; mkdir -p "$D/root"
  for f in "$D"/apt/archives/*.deb; do dpkg-deb -x "$f" "$D/root"; done
  # as libwine's own installation does: zlib1.dll, marked as one of Wine's
  z=$U/x86_64-w64-mingw32/lib/zlib1.dll
  { head -c 64 "$z"; printf 'Wine builtin DLL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; tail -c +97 "$z"; } >"$L/wine/x86_64-windows/zlib1.dll"
  # the server looks for its tables in share/wine/wine, the package has them in share/wine
  [ -e "$U/share/wine/wine" ] || ln -s . "$U/share/wine/wine"
  rm -rf "$U"/*-mingw32* "$U"/share/{doc,man,lintian,bug} "$D/apt"
}

# Wine looks for its loader and server in the folder above its DLLs' folder.
scripts() {
  cat >"$L/wine64" <<S
#!/bin/sh
export WINESERVER=$L/wineserver WINEDLLPATH=$L/wine
exec $L/ld-linux-x86-64.so.2 --library-path $L --argv0 wine64 $U/lib/wine/wine64 "\$@"
S
  cat >"$L/wineserver" <<S
#!/bin/sh
exec $L/ld-linux-x86-64.so.2 --library-path $L $U/lib/wine/wineserver64 "\$@"
S
  cat >"$D/runwin" <<S
#!/bin/sh
unset DISPLAY
export WINEPREFIX=$D/prefix WINEDEBUG="\${WINEDEBUG:--all}" WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
exec $L/wine64 "\$@"
S
  cat >"$D/stopwin" <<S
#!/bin/sh
WINEPREFIX=$D/prefix exec $L/wineserver -k
S
  cat >"$D/startwin" <<S
#!/bin/sh
exec </dev/null >/dev/null 2>&1   # what outlives this holds no pipe open
WINEPREFIX=$D/prefix $L/wineserver -p
exec $D/runwin cmd /c exit
S
  chmod +x "$L/wine64" "$L/wineserver" "$D/runwin" "$D/stopwin" "$D/startwin"
}

# The prefix is made in memory where there is room: Wine copies 700 MB of DLLs into it, which are then replaced by links.
prefix() {
  local tmp file own
  tmp=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo "$D")/pfx.XXXXXX")
  ( export WINEPREFIX=$tmp/prefix WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
    unset DISPLAY
    mkdir "$WINEPREFIX"
    "$L/wine64" wineboot -i >/dev/null 2>&1 || true
    "$L/wineserver" -k; "$L/wineserver" -w ) 9>&-
  rm -rf "$tmp/prefix/drive_c/windows/winsxs"
  while IFS= read -r -d '' file; do
    own=$L/wine/x86_64-windows/${file##*/}
    if [ -f "$own" ] && [ "$(stat -c %s "$own")" = "$(stat -c %s "$file")" ]; then ln -sf "$own" "$file"; fi
  done < <(find "$tmp/prefix/drive_c/windows" -type f -print0)
  rm -rf "$D/prefix"; cp -a "$tmp/prefix" "$D/prefix"; rm -rf "$tmp"
}

unpack >&2; scripts; prefix >&2
touch "$D/.ready"
echo "set up $(basename "$D") in $((SECONDS - start)) s" >&2
echo "$D"
