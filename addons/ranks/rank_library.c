// SPDX-License-Identifier: Apache-2.0
// Finding the library that is the engine over MPI.
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "ranks/ranks.h"

#define LIBRARY "libbraid_mpi.so"

// Parts of MPI's own libraries look for its symbols in the whole process.
enum { FLAGS = RTLD_NOW | RTLD_GLOBAL };

// The loader's name of the shared library that contains Braid, "" if the program itself contains
// it. dladdr alone would tell argv[0] for a program, and the caller of a program chooses that.
static const char *find_own_path(void)
{
    Dl_info here;
    struct link_map *map = NULL;
    if (!dladdr1((const void *)(uintptr_t)&braid_rank_library_open, &here, (void **)&map,
                 RTLD_DL_LINKMAP))
        return "";
    return map && map->l_name ? map->l_name : "";
}

// If the loader's name is relative, the program may have left the folder that it is relative to.
static void *open_beside(char *tried, size_t size)
{
    char path[512];
    const char *own = find_own_path(), *slash = strrchr(own, '/');
    int length = own[0] == '/' ? (int)(slash - own) + 1 : 0;
    if (!length || length > 400)
        return NULL;
    snprintf(path, sizeof(path), "%.*s" LIBRARY, length, own);
    return braid_library_open(path, FLAGS, tried, size);
}

static const struct rank_engine *find_engine(void *library)
{
    void *symbol = dlsym(library, RANK_ENGINE_SYMBOL);
    rank_engine_function *function;
    _Static_assert(sizeof(function) == sizeof(symbol), "POSIX: dlsym finds functions, too");
    memcpy(&function, &symbol, sizeof(function));
    const struct rank_engine *engine = symbol ? function() : NULL;
    return engine && engine->abi == RANK_ENGINE_ABI ? engine : NULL;
}

braid_status braid_rank_library_open(void **out_library, const struct rank_engine **out_engine)
{
    const char *given = secure_getenv("BRAID_MPI");
    char tried[600] = "";
    void *library = NULL;
    if (given && *given) {
        library = braid_library_open(given, FLAGS, tried, sizeof(tried));
    } else {
        library = open_beside(tried, sizeof(tried));
        if (!library)
            library = braid_library_open(LIBRARY, FLAGS, tried, sizeof(tried));
    }
    if (!library)
        return braid_error(BRAID_UNAVAILABLE, "mpi: %s", tried);
    const struct rank_engine *engine = find_engine(library);
    if (!engine) {
        dlclose(library);
        return braid_error(BRAID_UNAVAILABLE, "mpi: the library has no %s of version %d",
                           RANK_ENGINE_SYMBOL, RANK_ENGINE_ABI);
    }
    *out_library = library;
    *out_engine = engine;
    return BRAID_OK;
}
