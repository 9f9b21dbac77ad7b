#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A C program that gives BRAID_ARG an array does not compile, and is told why; all else does.
# Speaks TAP. arrays_are_no_arguments.sh INCLUDE_DIR COMPILER...
set -u
include=$1
shift
number=0 status=0

# compile VARIABLE: as an argument, with messages on standard output.
compile() {
    variable=$1
    shift
    printf '%s\n' '#include <braid/braid.h>' \
        'struct cell { int x; int parts[4]; };' \
        'braid_arg give(const struct cell *cell, struct cell copy, char letter);' \
        'braid_arg give(const struct cell *cell, struct cell copy, char letter)' \
        '{ static int array[64], *pointer = array; _Atomic int atom = 1; const float number = 2;' \
        'char text[8] = ""; (void)pointer, (void)atom, (void)number, (void)text;' \
        "(void)cell, (void)copy, (void)letter; return BRAID_ARG($variable); }" |
        "$@" 2>&1
}

check() {
    number=$((number + 1))
    if [ "$1" = 0 ]; then echo "ok $number - $2"; else echo "not ok $number - $2"; status=1; fi
}

for variable in array text copy.parts 'cell->parts'; do
    output=$(compile "$variable" "$@" -x c -std=c11 -fsyntax-only -I "$include" -)
    [ $? -ne 0 ] && echo "$output" | grep 'BRAID_ARG takes no array' >/dev/null
    check $? "$variable is refused"
done
for variable in pointer atom number letter copy copy.x 'copy.parts[1]' '*cell' 'cell->x'; do
    compile "$variable" "$@" -x c -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include" -
    check $? "$variable is taken"
done
echo "1..$number"
exit $status
