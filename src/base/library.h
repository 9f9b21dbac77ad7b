// SPDX-License-Identifier: Apache-2.0
// Opening a shared library that the environment may name.
#ifndef BRAID_BASE_LIBRARY_H
#define BRAID_BASE_LIBRARY_H

#include <stddef.h>

// dlopen of an absolute path, or of a name without '/', which the loader seeks in its own folders.
// A relative path is refused: the program may have gone to a folder that others can write to.
// If this returns NULL, it has appended the reason to the text `tried` of `size` bytes, which may
// be 0.
void *braid_library_open(const char *name, int flags, char *tried, size_t size);

#endif
