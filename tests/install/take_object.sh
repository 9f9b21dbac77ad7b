#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A compiler launcher for CMake: take_object.sh COMPILER OPTION... -o OBJECT -c SOURCE. It compiles the files of src/graph. Of each
# other file it takes the object that Meson compiled into the folder BRAID_OBJECTS, if there is one.
for word; do
    case $previous in -o) object=$word ;; -c) source=$word ;; esac
    previous=$word
done
case $source in
    */addons/*) name=$(printf '../addons/%s' "${source##*/addons/}" | tr / _) ;;
    *) name=$(printf '%s' "${source##*/src/}" | tr / _) ;;
esac
case $name in graph_*) exec "$@" ;; esac
cp "$BRAID_OBJECTS/$name.o" "$object" 2>/dev/null || exec "$@"
