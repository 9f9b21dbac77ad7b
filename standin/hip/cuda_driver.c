// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA driver and keeps one primary context a device.
#include "cuda_driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

struct cuda_driver cuda;

static pthread_once_t open_once = PTHREAD_ONCE_INIT;
static CUresult open_result = CUDA_ERROR_NOT_INITIALIZED; // constant after open_once
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[MAX_DEVICES]; // guarded by contexts_lock
static _Thread_local int current_device;

struct row {
    const char *name;
    size_t offset;
};

#define ROW(name) { #name, offsetof(struct cuda_driver, name) },
static const struct row rows[] = { CUDA_DRIVER_FUNCTIONS(ROW) };
#undef ROW

static void explain(const char *what, const char *detail)
{
    if (getenv("BRAID_STANDIN_HIP_TRACE"))
        fprintf(stderr, "standin hip: %s: %s\n", what, detail);
}

// Fills the table from an open library. A function pointer is copied from dlsym's object pointer,
// as POSIX allows and ISO C's casts do not.
static bool load_functions(void *library)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *address = dlsym(library, rows[i].name);
        if (!address) {
            explain("libcuda.so.1 has no function", rows[i].name);
            return false;
        }
        memcpy((char *)&cuda + rows[i].offset, &address, sizeof(address));
    }
    return true;
}

static void open_driver(void)
{
    open_result = CUDA_ERROR_NO_DEVICE;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        explain("libcuda.so.1 was not opened", dlerror());
        return;
    }
    // Never closed: the driver does not survive that.
    if (!load_functions(library))
        return;
    CUresult result = cuda.cuInit(0);
    int num_devices = 0;
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetCount(&num_devices);
    if (result == CUDA_SUCCESS && num_devices > 0)
        open_result = CUDA_SUCCESS;
    else
        explain("libcuda.so.1 was opened", "but it has no device");
}

CUresult cuda_open(void)
{
    pthread_once(&open_once, open_driver);
    return open_result;
}

CUresult cuda_context_of(int device, CUcontext *out_context)
{
    int num_devices = 0;
    CUresult result = cuda_open();
    if (result == CUDA_SUCCESS)
        result = cuda.cuDeviceGetCount(&num_devices);
    if (result != CUDA_SUCCESS)
        return result;
    if (device < 0 || device >= num_devices || device >= MAX_DEVICES)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&contexts_lock);
    if (!contexts[device]) {
        CUdevice handle;
        result = cuda.cuDeviceGet(&handle, device);
        if (result == CUDA_SUCCESS)
            result = cuda.cuDevicePrimaryCtxRetain(&contexts[device], handle);
    }
    if (result == CUDA_SUCCESS)
        *out_context = contexts[device];
    pthread_mutex_unlock(&contexts_lock);
    return result;
}

CUresult cuda_enter(void)
{
    CUcontext wanted;
    CUcontext current = NULL;
    CUresult result = cuda_context_of(current_device, &wanted);
    if (result == CUDA_SUCCESS)
        result = cuda.cuCtxGetCurrent(&current);
    if (result != CUDA_SUCCESS || current == wanted)
        return result;
    return cuda.cuCtxSetCurrent(wanted);
}

int cuda_current_device(void)
{
    return current_device;
}

CUresult cuda_set_current_device(int device)
{
    CUcontext context;
    CUresult result = cuda_context_of(device, &context);
    if (result != CUDA_SUCCESS)
        return result;
    current_device = device;
    return cuda.cuCtxSetCurrent(context);
}
