#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, included twice over. Speaks TAP.
# compile_headers.sh LANGUAGE STANDARD INCLUDE_DIR COMPILER...
set -u
language=$1 standard=$2 include=$3
shift 3
number=0 status=0
headers=$(cd "$include" && ls braid/*.h)
[ "$language" = c ] || headers="$headers $(cd "$include" && ls braid/*.hpp braid/cpp/*.hpp)"
for header in $headers; do
    number=$((number + 1))
    if printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
        "$@" -x "$language" "-std=$standard" -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
            -I "$include" -; then
        echo "ok $number - $header"
    else
        echo "not ok $number - $header"
        status=1
    fi
done
echo "1..$number"
exit $status
