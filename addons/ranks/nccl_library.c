// SPDX-License-Identifier: Apache-2.0
// Opening NCCL or RCCL.
#include "ranks/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <braid/rank.h>

#include "base/error.h"
#include "base/library.h"

static const char *const names[] = {
    "ncclGetVersion", "ncclGetUniqueId",       "ncclCommInitRank",   "ncclCommDestroy",
    "ncclCommAbort",  "ncclCommGetAsyncError", "ncclGetErrorString", "ncclGetLastError",
    "ncclGroupStart", "ncclGroupEnd",          "ncclSend",           "ncclRecv",
    "ncclBroadcast",  "ncclAllReduce",         "ncclAllGather",      "ncclReduceScatter",
};

enum { NUM_NAMES = sizeof(names) / sizeof(*names) };

_Static_assert(offsetof(struct nccl_api, name) == NUM_NAMES * sizeof(void *),
               "every slot has a name");

struct vendor {
    const char *name, *variable;
    const char *libraries[3];
};

static const struct vendor vendors[] = {
    [RANK_ENGINE_NCCL] = { "nccl", "BRAID_NCCL", { "libnccl.so.2", "libnccl.so", NULL } },
    [RANK_ENGINE_RCCL] = { "rccl", "BRAID_RCCL", { "librccl.so.1", "librccl.so", NULL } },
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct nccl_api opened[sizeof(vendors) / sizeof(*vendors)]; // lock; no name: not yet

static void *load(const struct vendor *vendor, char *tried, size_t size)
{
    const char *given = secure_getenv(vendor->variable);
    const char *only[] = { given, NULL };
    for (const char *const *name = given && *given ? only : vendor->libraries; *name; name++) {
        void *library = braid_library_open(*name, RTLD_NOW | RTLD_LOCAL, tried, size);
        if (library)
            return library;
    }
    return NULL;
}

static braid_status fill(const struct vendor *vendor, void *library, struct nccl_api *api)
{
    for (size_t i = 0; i < NUM_NAMES; i++) {
        void *symbol = dlsym(library, names[i]);
        if (!symbol)
            return braid_error(BRAID_UNAVAILABLE, "%s: the library has no symbol %s", vendor->name,
                               names[i]);
        memcpy((char *)api + i * sizeof(symbol), &symbol, sizeof(symbol));
    }
    int version = 0;
    nccl_result result = api->get_version(&version);
    if (result != NCCL_SUCCESS)
        return braid_error(BRAID_UNAVAILABLE, "%s: ncclGetVersion: %s", vendor->name,
                           api->get_error_string(result));
    if (version < NCCL_OLDEST || version >= NCCL_TOO_NEW)
        return braid_error(
            BRAID_UNAVAILABLE,
            "%s: the library has version code %d, but Braid needs 2.13 to 2.99 (%d to %d)",
            vendor->name, version, NCCL_OLDEST, NCCL_TOO_NEW - 1);
    return BRAID_OK;
}

static braid_status open_vendor(const struct vendor *vendor, struct nccl_api *out_api)
{
    char tried[600] = "";
    struct nccl_api api = { 0 };
    void *library = load(vendor, tried, sizeof(tried));
    if (!library)
        return braid_error(BRAID_UNAVAILABLE, "%s: %s (%s names another file)", vendor->name, tried,
                           vendor->variable);
    braid_status status = fill(vendor, library, &api);
    if (status) {
        dlclose(library);
        return status;
    }
    api.name = vendor->name;
    *out_api = api;
    return BRAID_OK;
}

braid_status braid_nccl_open(enum rank_engine_kind kind, const struct nccl_api **out_api)
{
    braid_status status = BRAID_OK;
    pthread_mutex_lock(&lock);
    if (!opened[kind].name)
        status = open_vendor(&vendors[kind], &opened[kind]);
    pthread_mutex_unlock(&lock);
    if (!status)
        *out_api = &opened[kind];
    return status;
}

int braid_nccl_type(uint32_t element)
{
    static const int types[] = {
        [BRAID_ELEMENT_BYTE] = 1,   [BRAID_ELEMENT_INT32] = 2,  [BRAID_ELEMENT_UINT32] = 3,
        [BRAID_ELEMENT_INT64] = 4,  [BRAID_ELEMENT_UINT64] = 5, [BRAID_ELEMENT_FLOAT] = 7,
        [BRAID_ELEMENT_DOUBLE] = 8,
    };
    return types[element];
}

int braid_nccl_reduction(uint32_t reduction)
{
    static const int reductions[] = {
        [BRAID_REDUCTION_SUM] = 0,
        [BRAID_REDUCTION_PRODUCT] = 1,
        [BRAID_REDUCTION_MAX] = 2,
        [BRAID_REDUCTION_MIN] = 3,
    };
    return reductions[reduction];
}
