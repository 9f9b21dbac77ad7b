// SPDX-License-Identifier: Apache-2.0
// Opening a shared library: only by names that mean the same file in every working folder.
#include "base/library.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/append.h"

static void append(char *tried, size_t size, const char *name, const char *reason)
{
    braid_append(tried, size, "%s%s%s%s", size && *tried ? "; " : "", name, *name ? ": " : "",
                 reason);
}

void *braid_library_open(const char *name, int flags, char *tried, size_t size)
{
    bool is_relative = name[0] != '/' && strchr(name, '/');
    void *library = is_relative ? NULL : dlopen(name, flags);
    if (is_relative) {
        append(tried, size, name, "a path must be absolute");
    } else if (!library) {
        const char *reason = dlerror(); // begins with the name
        append(tried, size, reason ? "" : name, reason ? reason : "unknown error");
    }
    return library;
}
