#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles each public header alone, included twice over. Two C++ libraries of a process may have been
# compiled with other headers, so neither exports a function that passes sizes. Speaks TAP.
# compile_headers.sh LANGUAGE STANDARD INCLUDE_DIR COMPILER...
set -u
language=$1 standard=$2 include=$3
shift 3
number=0 status=0 parts=
headers=$(cd "$include" && ls braid/*.h)
warnings="-Wall -Wextra -Wpedantic"
[ "$language" = c ] || warnings="$warnings -Wold-style-cast"
# A part of braid.hpp misses the same includes under each compiler, so one compiler is enough to show it.
case $1 in
*clang*) command -v g++ >/dev/null || parts='braid/cpp/*.hpp' ;;
*) parts='braid/cpp/*.hpp' ;;
esac
[ "$language" = c ] || headers="$headers $(cd "$include" && ls braid/*.hpp $parts)"
for header in $headers; do
    number=$((number + 1))
    if printf '#include <%s>\n#include <%s>\n' "$header" "$header" |
        "$@" -x "$language" "-std=$standard" -fsyntax-only $warnings -Werror \
            -I "$include" -; then
        echo "ok $number - $header"
    else
        echo "not ok $number - $header"
        status=1
    fi
done
if [ "$language" = c++ ]; then
    number=$((number + 1))
    library=$(mktemp)
    {
        echo '#include <braid/braid.h>'
        echo 'extern void *const all[] = {'
        (cd "$include" && grep -ohE '\bbraid_[a-z_]+_sized\b' braid/*.h) | sort -u | sed 's/\(.*\)_sized/(void *)\&\1,/'
        echo '};'
    } | "$@" -x "$language" "-std=$standard" -O0 -fPIC -shared -o "$library" -I "$include" -
    if [ "$(nm -D --defined-only -j "$library" | grep -E '^(all|braid_)')" = all ]; then
        echo "ok $number - functions of headers stay inside a library"
    else
        echo "not ok $number - functions of headers stay inside a library"
        status=1
    fi
    rm -f "$library"
fi
echo "1..$number"
exit $status
