// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: from a plain name and a CUDA version to the entry point of that version.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "entry.h"
#include "settings.h"

// Entry points whose shape changed: the exported name for each version of CUDA that changed it.
// Names not listed have one shape since before CUDA 11, under name_v2 if exported, else the name.
static const struct {
    const char *name, *exported;
    int since;
} changed[] = {
    { "cuCtxCreate", "cuCtxCreate_v4", 12050 },
    { "cuCtxCreate", "cuCtxCreate_v2", 3020 },
    { "cuCtxGetDevice", "cuCtxGetDevice_v2", 13000 },
    { "cuCtxGetDevice", "cuCtxGetDevice", 2000 },
    { "cuCtxSynchronize", "cuCtxSynchronize_v2", 13000 },
    { "cuCtxSynchronize", "cuCtxSynchronize", 2000 },
    { "cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040 },
    { "cuDeviceGetUuid", "cuDeviceGetUuid", 9020 },
    { "cuEventElapsedTime", "cuEventElapsedTime_v2", 12080 },
    { "cuEventElapsedTime", "cuEventElapsedTime", 2000 },
    { "cuGetProcAddress", "cuGetProcAddress_v2", 12000 },
    { "cuGetProcAddress", "cuGetProcAddress", 11030 },
    { "cuGraphAddDependencies", "cuGraphAddDependencies_v2", 12030 },
    { "cuGraphAddDependencies", "cuGraphAddDependencies", 10000 },
    { "cuGraphAddKernelNode", "cuGraphAddKernelNode_v2", 12000 },
    { "cuGraphAddKernelNode", "cuGraphAddKernelNode", 10000 },
    { "cuGraphAddNode", "cuGraphAddNode_v2", 12030 },
    { "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2", 12000 },
    { "cuGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams", 10010 },
    { "cuGraphExecUpdate", "cuGraphExecUpdate_v2", 12000 },
    { "cuGraphExecUpdate", "cuGraphExecUpdate", 10020 },
    { "cuGraphGetEdges", "cuGraphGetEdges_v2", 12030 },
    { "cuGraphGetEdges", "cuGraphGetEdges", 10000 },
    { "cuGraphInstantiate", "cuGraphInstantiateWithFlags", 12000 },
    { "cuGraphInstantiate", "cuGraphInstantiate_v2", 11000 },
    { "cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams_v2", 12000 },
    { "cuGraphKernelNodeGetParams", "cuGraphKernelNodeGetParams", 10000 },
    { "cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2", 12000 },
    { "cuGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams", 10000 },
    { "cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies_v2", 12030 },
    { "cuGraphNodeGetDependencies", "cuGraphNodeGetDependencies", 10000 },
    { "cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes_v2", 12030 },
    { "cuGraphNodeGetDependentNodes", "cuGraphNodeGetDependentNodes", 10000 },
    { "cuGraphNodeGetParams", "cuGraphNodeGetParams", 13020 },
    { "cuGraphRemoveDependencies", "cuGraphRemoveDependencies_v2", 12030 },
    { "cuGraphRemoveDependencies", "cuGraphRemoveDependencies", 10000 },
    { "cuStreamBeginCapture", "cuStreamBeginCapture_v2", 10010 },
    { "cuStreamBeginCapture", "cuStreamBeginCapture", 10000 },
    { "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v3", 12030 },
    { "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo_v2", 11030 },
    { "cuStreamGetCaptureInfo", "cuStreamGetCaptureInfo", 10010 },
    { "cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies_v2", 12030 },
    { "cuStreamUpdateCaptureDependencies", "cuStreamUpdateCaptureDependencies", 11030 },
};

// The exported name; "" when the version is too old for every shape.
static void exported_name(const char *symbol, int version, char *name, size_t bytes)
{
    bool listed = false;
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
        if (strcmp(changed[i].name, symbol) != 0)
            continue;
        listed = true;
        if (version >= changed[i].since && setting(SETTING_VERSION) >= (uint64_t)changed[i].since) {
            snprintf(name, bytes, "%s", changed[i].exported);
            return;
        }
    }
    snprintf(name, bytes, "%s", listed ? "" : symbol);
}

// A handle to this very library, however it was loaded.
static void *own_library(void)
{
    Dl_info info;
    static const char anchor;
    if (dladdr(&anchor, &info) == 0)
        return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void *find(const char *symbol, int version, CUdriverProcAddressQueryResult *out_status)
{
    char name[128], second[136];
    void *library = own_library(), *found = NULL;
    exported_name(symbol, version, name, sizeof(name));
    *out_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (library == NULL || name[0] == '\0')
        return NULL;
    snprintf(second, sizeof(second), "%s_v2", name);
    if (strcmp(name, symbol) == 0 && strncmp(symbol, "cu", 2) == 0)
        found = dlsym(library, second);
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
        if (strcmp(changed[i].name, symbol) == 0)
            found = NULL; // its shapes are all listed: name_v2 is another version's
    if (found == NULL)
        found = strncmp(name, "cu", 2) == 0 ? dlsym(library, name) : NULL;
    dlclose(library);
    *out_status =
        found == NULL ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_SUCCESS;
    return found;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **out_function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *out_status)
{
    (void)flags; // per-thread default streams are not offered
    if (symbol == NULL || out_function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    settings_load(); // it may be a program's first call
    CUdriverProcAddressQueryResult status;
    *out_function = find(symbol, version, &status);
    if (out_status != NULL)
        *out_status = status;
    return status == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **out_function, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, out_function, version, flags, NULL);
}
