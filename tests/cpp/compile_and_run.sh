#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles a program without a warning and runs it.
# BRAID_RUNNER in the environment is what runs it. BRAID_RANKS_LIBRARY is a library that it needs besides.
# compile_and_run.sh SOURCE INCLUDE_DIR LIBRARY COMPILER OPTION...
set -eu
source=$1 include=$2 library=$(realpath "$3")
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sanitize=
if nm -D "$library" | grep -q __asan; then
    sanitize=-fsanitize=address
elif nm -D "$library" | grep -q __tsan; then
    sanitize=-fsanitize=thread
fi
if [ -n "$sanitize" ]; then
    case $1 in
    *clang*) echo "a library for gcc's sanitizers does not go with clang's" && exit 77 ;;
    esac
fi
"$@" $sanitize -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I "$include" -o "$folder/program" \
    "$source" ${BRAID_RANKS_LIBRARY:-} "$library" -Wl,-rpath,"$(dirname "$library")" -pthread
${BRAID_RUNNER:-} "$folder/program"
