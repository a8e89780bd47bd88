#!/bin/sh
# The former name of build.sh.
exec "$(dirname "$0")/build.sh"
