// SPDX-License-Identifier: Apache-2.0
// Finding the library that is the engine over MPI.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank/ranks.h"

#define LIBRARY "libbraid_mpi.so"

// Parts of MPI's own libraries look for its symbols in the whole process.
static void *open_library(const char *path, char *tried, size_t size)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    size_t used = strlen(tried);
    if (!library && used < size) {
        const char *reason = dlerror();
        snprintf(tried + used, size - used, "%s%s", used ? "; " : "", reason ? reason : path);
    }
    return library;
}

static void *open_beside(char *tried, size_t size)
{
    Dl_info here;
    char path[512];
    if (!dladdr((const void *)(uintptr_t)&braid_rank_library_open, &here) || !here.dli_fname)
        return NULL;
    const char *slash = strrchr(here.dli_fname, '/');
    int length = slash ? (int)(slash - here.dli_fname) + 1 : 0;
    if (!length || length > 400)
        return NULL;
    snprintf(path, sizeof(path), "%.*s" LIBRARY, length, here.dli_fname);
    return open_library(path, tried, size);
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
    const char *given = getenv("BRAID_MPI");
    char tried[600] = "";
    void *library = NULL;
    if (given && *given) {
        library = open_library(given, tried, sizeof(tried));
    } else {
        library = open_beside(tried, sizeof(tried));
        library = library ? library : open_library(LIBRARY, tried, sizeof(tried));
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
