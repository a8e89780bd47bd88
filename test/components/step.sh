#!/usr/bin/env bash
# step.sh NAME COMMAND...   runs one step of the test run: says when it starts, how long it took, and which step failed.
set -uo pipefail
name=$1; shift
echo "==> $(date -u +%H:%M:%S) $name"
start=$SECONDS
"$@"; rc=$?
took=$((SECONDS - start))
if [ $rc = 0 ]; then
  echo "<== $(date -u +%H:%M:%S) $name: ok, ${took} s"
else
  echo "<== $(date -u +%H:%M:%S) $name: FAILED with exit code $rc after ${took} s" >&2
fi
exit $rc
