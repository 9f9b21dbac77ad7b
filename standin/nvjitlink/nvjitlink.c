// SPDX-License-Identifier: Apache-2.0
// A stand-in for nvJitLink: its "machine code" is a mark, and the PTX behind it.
#include "nvjitlink_abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../standin_code.h"

struct nvJitLink {
    int device; // 90 of -arch=sm_90
    char *text; // NULL: none was added
    char log[128];
    int is_complete;
};

// The program may watch each call, and hold it: it exports braid_standin_nvjitlink, which gets the
// text, or NULL where none was added.
// BRAID_STANDIN_NVJITLINK_FAIL=function=code: every call of the function fails and does nothing.
static nvJitLinkResult failure_of(const char *function, const char *text)
{
    void (*watch)(const char *function, const char *text) = NULL;
    void *found = dlsym(RTLD_DEFAULT, "braid_standin_nvjitlink");
    const char *rule = getenv("BRAID_STANDIN_NVJITLINK_FAIL");
    const size_t length = strlen(function);
    memcpy(&watch, &found, sizeof(watch)); // ISO C has no cast from an object pointer
    if (watch)
        watch(function, text);
    if (rule == NULL || strncmp(rule, function, length) != 0 || rule[length] != '=')
        return NVJITLINK_SUCCESS;
    return (nvJitLinkResult)atoi(rule + length + 1);
}

nvJitLinkResult nvJitLinkVersion(unsigned *out_major, unsigned *out_minor)
{
    nvJitLinkResult failure = failure_of(__func__, NULL);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    *out_major = 13;
    *out_minor = 0;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *out_handle, uint32_t num_options,
                                const char **options)
{
    int device = 0;
    nvJitLinkResult failure = failure_of(__func__, NULL);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    for (uint32_t i = 0; i < num_options; i++)
        sscanf(options[i], "-arch=sm_%d", &device);
    if (device == 0)
        return NVJITLINK_ERROR_MISSING_ARCH;
    nvJitLinkHandle handle = calloc(1, sizeof(*handle));
    if (handle == NULL)
        return NVJITLINK_ERROR_INTERNAL;
    handle->device = device;
    *out_handle = handle;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle)
{
    nvJitLinkResult failure = failure_of(__func__, (*handle)->text);
    free((*handle)->text);
    free(*handle);
    *handle = NULL;
    return failure;
}

nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, int type, const void *data, size_t size,
                                 const char *name)
{
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    if (type != NVJITLINK_ABI_INPUT_PTX || handle->text != NULL || name == NULL || size == 0 ||
        ((const char *)data)[size - 1] != '\0')
        return NVJITLINK_ERROR_INVALID_INPUT;
    handle->text = strdup(data);
    return handle->text ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle)
{
    int target = 0;
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    const char *at = handle->text ? strstr(handle->text, ".target") : NULL;
    if (at != NULL)
        sscanf(at, ".target sm_%d", &target);
    if (failure == NVJITLINK_SUCCESS && (target == 0 || target > handle->device))
        failure = NVJITLINK_ERROR_PTX_COMPILE;
    if (failure != NVJITLINK_SUCCESS)
        snprintf(handle->log, sizeof(handle->log), "ptxas of the stand-in: sm_%d on sm_%d", target,
                 handle->device);
    handle->is_complete = failure == NVJITLINK_SUCCESS;
    return failure;
}

nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *out_size)
{
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    if (!handle->is_complete)
        return NVJITLINK_ERROR_INTERNAL;
    *out_size = sizeof(STANDIN_CODE_MARK) + strlen(handle->text);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin)
{
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    if (!handle->is_complete)
        return NVJITLINK_ERROR_INTERNAL;
    memcpy(cubin, STANDIN_CODE_MARK, sizeof(STANDIN_CODE_MARK) - 1);
    strcpy((char *)cubin + sizeof(STANDIN_CODE_MARK) - 1, handle->text);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *out_size)
{
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    *out_size = strlen(handle->log) + 1;
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log)
{
    nvJitLinkResult failure = failure_of(__func__, handle->text);
    if (failure != NVJITLINK_SUCCESS)
        return failure;
    strcpy(log, handle->log);
    return NVJITLINK_SUCCESS;
}
