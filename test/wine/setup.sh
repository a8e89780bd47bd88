#!/bin/bash
# Make Debian 13's Wine 10 usable on Debian 12 (or any glibc x86-64 Linux with
# apt) for running Go's windows/amd64 programs and tests, without a chroot,
# root, X or mingw. Its own copy of libc6 is used through its own ld.so.
#   setup.sh [DIR]      default ${XDG_CACHE_HOME:-~/.cache}/evenkeel/wine;
#                       about 125 MB are downloaded; prints DIR
# Afterwards: DIR/runwin PROG.EXE ARGS...    or: go test -exec DIR/runwin
#             DIR/startwin                   optional: keeps Wine warm
#             DIR/stopwin                    ends every Wine process of DIR
# Safe to run twice at once: the second waits for the first.
set -euo pipefail
D=$(realpath -m "${1:-${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/wine}")
echo "$D"
[ -f "$D/.ready" ] && exit 0
mkdir -p "$D"
exec 9>"$D/.lock" 1>&2
flock 9
[ -f "$D/.ready" ] && exit 0
mkdir -p "$D/apt/lists/partial" "$D/apt/archives/partial"
L=$D/root/usr/lib/x86_64-linux-gnu
mirror=$(sed -n 's/^URIs: *\(.*\/debian\)\/*$/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -1)

if [ ! -f "$D/.unpacked" ]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:?no Debian mirror in the apt sources} trixie main" >"$D/apt/sources.list"
    opt=(-q -o Dir::Etc::SourceList="$D/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$D/apt/lists"
         -o Dir::Cache="$D/apt" -o Dir::State::Status=/dev/null -o APT::Architecture=amd64 -o APT::Sandbox::User=
         -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
         -o Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=false)
    apt-get "${opt[@]}" update
    (cd "$D/apt/archives" && apt-get "${opt[@]}" download libwine wine64 libc6 libunwind8 liblzma5 libz-mingw-w64)
    rm -rf "$D/root"; mkdir -p "$D/root"
    for f in "$D"/apt/archives/*.deb; do dpkg-deb -x "$f" "$D/root"; done
    # As libwine's postinst does: zlib1.dll, marked as one of Wine's own.
    z=$D/root/usr/x86_64-w64-mingw32/lib/zlib1.dll
    { head -c 64 "$z"; printf 'Wine builtin DLL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'; tail -c +97 "$z"; } >"$L/wine/x86_64-windows/zlib1.dll"
    rm -rf "$D"/root/usr/*-mingw32* "$D"/root/usr/share/{doc,man,lintian,bug}
    rm -rf "$D/apt"
    touch "$D/.unpacked"
fi

# Wine looks for its loader and server in the folder above its DLLs' folder.
cat >"$L/wine64" <<E2
#!/bin/sh
export WINESERVER=$L/wineserver WINEDLLPATH=$L/wine
exec $L/ld-linux-x86-64.so.2 --library-path $L --argv0 wine64 $D/root/usr/lib/wine/wine64 "\$@"
E2
cat >"$L/wineserver" <<E2
#!/bin/sh
exec $L/ld-linux-x86-64.so.2 --library-path $L $D/root/usr/lib/wine/wineserver64 "\$@"
E2
cat >"$D/runwin" <<E2
#!/bin/sh
# Runs a Windows program: go test -exec $D/runwin ./...
unset DISPLAY
export WINEPREFIX=$D/prefix WINEDEBUG="\${WINEDEBUG:--all}" WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
exec $L/wine64 "\$@"
E2
cat >"$D/stopwin" <<E2
#!/bin/sh
WINEPREFIX=$D/prefix exec $L/wineserver -k
E2
cat >"$D/startwin" <<E2
#!/bin/sh
# Keeps Wine's server and services up until stopwin, so each start is quick.
exec </dev/null >/dev/null 2>&1   # what outlives this holds no pipe open
WINEPREFIX=$D/prefix $L/wineserver -p
exec $D/runwin cmd /c exit
E2
chmod +x "$L/wine64" "$L/wineserver" "$D/runwin" "$D/stopwin" "$D/startwin"

# The prefix: made in memory where there is room, since Wine copies 700 MB of
# DLLs into it, which are then replaced by links.
T=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo "$D")/pfx.XXXXXX")
trap 'rm -rf "$T"' EXIT
export WINEPREFIX=$T/prefix WINEDEBUG=-all WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
unset DISPLAY
mkdir "$WINEPREFIX"
"$L/wine64" wineboot -i >/dev/null 2>&1 || true
"$L/wineserver" -k; "$L/wineserver" -w
python3 - "$WINEPREFIX/drive_c/windows" "$L/wine/x86_64-windows" <<'P'
import os, shutil, sys
win, dlls = sys.argv[1:]
shutil.rmtree(win + "/winsxs", ignore_errors=True)
for d, _, fs in os.walk(win):
    for f in fs:
        p, b = os.path.join(d, f), os.path.join(dlls, f)
        if os.path.isfile(b) and not os.path.islink(p) and os.path.getsize(b) == os.path.getsize(p):
            os.unlink(p); os.symlink(b, p)
P
rm -rf "$D/prefix"; cp -a "$WINEPREFIX" "$D/prefix"
touch "$D/.ready"
