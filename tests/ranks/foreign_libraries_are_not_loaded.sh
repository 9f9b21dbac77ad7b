#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# foreign_libraries_are_not_loaded.sh STATIC FOREIGN [SHARED LIBRARY LIBBRAID]: a program loads no libbraid_mpi.so from a
# folder that it goes to, or that argv[0] names, and a setuid program loads none that its user names. STATIC and SHARED
# are open_ranks with libbraid_ranks.a and with LIBRARY. Speaks TAP.
set -eu
static=$(realpath "$1") foreign=$(realpath "$2")
shared=${3:+$(realpath "$3")} library=${4:+$(realpath "$4")} libbraid=${5:+$(realpath "$5")}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
mkdir "$place/data" "$place/bin"
cp "$foreign" "$place/data/libbraid_mpi.so"
cp "$static" "$place/bin/program"
data=$place/data program=$place/bin/program number=0 failed=0
unset BRAID_MPI LD_LIBRARY_PATH LD_PRELOAD
cd "$place/bin"

# check NAME WORDS OUTPUT: whether OUTPUT has the WORDS; "!WORDS" must not stand there.
check() {
    local has=no wanted=yes words=$2
    [ "${words#!}" = "$words" ] || wanted=no
    case $3 in *"${words#!}"*) has=yes ;; esac
    number=$((number + 1))
    if [ $has = $wanted ]; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        echo "$3" | sed 's/^/# /'
        failed=1
    fi
}

skip() {
    number=$((number + 1))
    echo "$2"
    echo "ok $number - $1 # SKIP"
}

# check_borrowed NAME COMMAND: a user without rights starts a program that has root's.
check_borrowed() {
    local name=$1 output
    shift
    [ "$(id -u)" = 0 ] || { skip "$name" "only root can make a program with root's rights"; return; }
    command -v setpriv >/dev/null || { skip "$name" "there is no setpriv"; return; }
    output=$(setpriv --reuid 65534 --regid 65534 --clear-groups "$@" 2>&1) || true
    case $output in
    *"more rights than its user"*) check "$name" "!was loaded" "$output" ;;
    *) skip "$name" "the file system of $place gives programs no rights" ;;
    esac
}

loaded="the foreign library was loaded"
check "BRAID_MPI names a library" "$loaded" "$(BRAID_MPI=$data/libbraid_mpi.so ./program 2>&1)"
check "BRAID_MPI names no relative path" "./libbraid_mpi.so: a path must be absolute" \
    "$(BRAID_MPI=./libbraid_mpi.so ./program "$data" 2>&1)"
check "nothing is loaded from a folder that a program goes to" "!$loaded" "$(./program "$data" 2>&1)"
check "argv[0] chooses no folder" "!$loaded" "$( (exec -a "$data/program" "$program") 2>&1)"

cp "$program" borrowed
chmod 4755 borrowed
check_borrowed "BRAID_MPI means nothing to a program with more rights" env "BRAID_MPI=$data/libbraid_mpi.so" ./borrowed
check_borrowed "argv[0] means nothing to a program with more rights" \
    bash -c "exec -a '$data/program' '$place/bin/borrowed'"

if [ -n "$library" ]; then
    cp "$shared" program
    cp "$library" .
    name=$(basename "$library")
    check "nothing is loaded from there beside a library of a relative path" "!$loaded" \
        "$(LD_PRELOAD="$libbraid ./$name" ./program "$data" 2>&1)"
    cp "$library" "$data"
    check "the one beside the library is loaded" "$loaded" "$(LD_PRELOAD="$libbraid $data/$name" ./program 2>&1)"
else
    skip "libraries of a relative path" "there is no shared library in this build"
fi
echo "1..$number"
exit $failed
