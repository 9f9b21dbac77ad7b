// SPDX-License-Identifier: Apache-2.0
// Libraries: modules that are loaded into each context when a kernel of theirs is needed there.
#include "library.h"

#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "entry.h"
#include "function.h"
#include "handles.h"
#include "module.h"
#include "settings.h"
#include "stream.h"
#include "world.h"

// A library in one context.
struct instance {
    struct instance *next;
    CUmodule module;
};

// Guarded by the world's lock; image and kernels are fixed from the start.
struct CUlib_st {
    char *image;
    struct instance *instances; // the first one made is the last one here
    struct CUkern_st *kernels;
    unsigned num_kernels;
};

struct CUkern_st {
    CUlibrary library;
    size_t index; // among the functions of each of its modules
};

static CUmodule find_module(CUlibrary library, CUcontext context)
{
    struct instance *instance = library->instances;
    while (instance != NULL && instance->module->context != context)
        instance = instance->next;
    return instance == NULL ? NULL : instance->module;
}

// Expects the world's lock.
static CUresult keep_module(CUlibrary library, CUmodule module)
{
    struct instance *instance = calloc(1, sizeof(*instance));
    if (instance == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *instance = (struct instance){ library->instances, module };
    library->instances = instance;
    return CUDA_SUCCESS;
}

// The library's module in a context. Expects the world's lock, and lets go of it while it loads.
static CUresult enter(CUlibrary library, CUcontext context, CUmodule *out_module)
{
    const char *error;
    CUmodule loaded = NULL;
    *out_module = find_module(library, context);
    if (*out_module != NULL)
        return CUDA_SUCCESS;
    world_unlock();
    CUresult result = module_load(context, library->image, &loaded, &error);
    world_lock();
    if (result == CUDA_SUCCESS && !handles_known(HANDLE_LIBRARY, library))
        result = CUDA_ERROR_INVALID_HANDLE; // unloaded meanwhile
    if (result == CUDA_SUCCESS)
        *out_module = find_module(library, context); // another thread may have been here
    if (result == CUDA_SUCCESS && *out_module == NULL) {
        result = keep_module(library, loaded);
        if (result == CUDA_SUCCESS) {
            *out_module = loaded;
            return CUDA_SUCCESS;
        }
    }
    if (loaded != NULL)
        module_unload(loaded);
    return result;
}

CUresult library_resolve(CUfunction handle, CUcontext context, CUfunction *out_function,
                         CUkernel *out_kernel)
{
    CUmodule module;
    CUkernel kernel = (CUkernel)(void *)handle;
    *out_function = handle;
    *out_kernel = NULL;
    if (!handles_known(HANDLE_KERNEL, kernel))
        return handles_known(HANDLE_FUNCTION, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
    size_t index = kernel->index;
    CUresult result = context_check(context);
    if (result == CUDA_SUCCESS)
        result = enter(kernel->library, context, &module);
    if (result != CUDA_SUCCESS)
        return result;
    *out_function = &module->functions[index];
    *out_kernel = kernel;
    return CUDA_SUCCESS;
}

static void free_library(CUlibrary library)
{
    free(library->image);
    free(library->kernels);
    free(library);
}

// The kernels that can run are the same in each of its modules. Expects the world's lock.
static CUresult publish(CUlibrary library, CUmodule module)
{
    library->kernels = calloc(module->num_functions + 1, sizeof(*library->kernels));
    bool added = library->kernels != NULL && handles_add(HANDLE_LIBRARY, library);
    for (size_t i = 0; added && i < module->num_functions; i++) {
        if (!module_can_run(&module->functions[i]))
            continue;
        CUkernel kernel = &library->kernels[library->num_kernels++];
        kernel->library = library;
        kernel->index = i;
        added = handles_add(HANDLE_KERNEL, kernel);
    }
    return added ? keep_module(library, module) : CUDA_ERROR_OUT_OF_MEMORY;
}

static void unpublish(CUlibrary library)
{
    handles_remove(library);
    for (unsigned i = 0; i < library->num_kernels; i++)
        handles_remove(&library->kernels[i]);
}

// Loads it into the current context, or that of the first device, to know its kernels.
static CUresult load(CUlibrary *out_library, const char *image)
{
    const char *error;
    CUmodule module;
    CUcontext context = context_current() != NULL ? context_current() : context_of_device(0);
    if (out_library == NULL || image == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (context == NULL)
        return CUDA_ERROR_NO_DEVICE;
    CUresult result = module_load(context, image, &module, &error);
    if (result != CUDA_SUCCESS)
        return result;
    CUlibrary library = calloc(1, sizeof(*library));
    char *copy = library == NULL ? NULL : strdup(image);
    world_lock();
    result = CUDA_ERROR_OUT_OF_MEMORY;
    if (copy != NULL) {
        library->image = copy;
        result = publish(library, module);
        if (result != CUDA_SUCCESS)
            unpublish(library);
    }
    if (result != CUDA_SUCCESS)
        module_unload(module);
    world_unlock();
    if (result == CUDA_SUCCESS)
        *out_library = library;
    else if (copy != NULL)
        free_library(library);
    else
        free(library);
    return result;
}

// Options are not looked at.
CUresult cuLibraryLoadData(CUlibrary *out_library, const void *image, CUjit_option *jit_options,
                           void **jit_values, unsigned num_jit_options, CUlibraryOption *options,
                           void **values, unsigned num_options)
{
    CUresult result = entry_begin(__func__);
    (void)jit_options, (void)jit_values, (void)num_jit_options;
    (void)options, (void)values, (void)num_options;
    return result != CUDA_SUCCESS ? result : load(out_library, image);
}

// Waits for the work of each context that has it, as for modules.
CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (!handles_known(HANDLE_LIBRARY, library)) {
        world_unlock();
        return CUDA_ERROR_INVALID_HANDLE;
    }
    unpublish(library);
    while (library->instances != NULL) {
        struct instance *instance = library->instances;
        library->instances = instance->next;
        stream_wait_all(instance->module->context);
        module_unload(instance->module);
        free(instance);
    }
    world_unlock();
    free_library(library);
    return sticky;
}

// Any of its modules: names and parameters are the same in each.
static CUfunction any_function(CUkernel kernel)
{
    return &kernel->library->instances->module->functions[kernel->index];
}

static CUresult get_kernel(CUkernel *out_kernel, CUlibrary library, const char *name)
{
    if (!handles_known(HANDLE_LIBRARY, library))
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < library->num_kernels; i++)
        if (strcmp(any_function(&library->kernels[i])->name, name) == 0) {
            *out_kernel = &library->kernels[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetKernel(CUkernel *out_kernel, CUlibrary library, const char *name)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_kernel == NULL || name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = get_kernel(out_kernel, library, name);
    world_unlock();
    return result;
}

CUresult cuLibraryGetKernelCount(unsigned *out_count, CUlibrary library)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_count == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (handles_known(HANDLE_LIBRARY, library))
        *out_count = library->num_kernels;
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned num_kernels, CUlibrary library)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (kernels == NULL || num_kernels == 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (!handles_known(HANDLE_LIBRARY, library))
        result = CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; result == CUDA_SUCCESS && i < num_kernels && i < library->num_kernels; i++)
        kernels[i] = &library->kernels[i];
    world_unlock();
    return result;
}

CUresult cuLibraryGetModule(CUmodule *out_module, CUlibrary library)
{
    CUmodule module;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = handles_known(HANDLE_LIBRARY, library) ? enter(library, context_current(), &module)
                                                    : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        *out_module = module;
    world_unlock();
    return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *out_memory, size_t *out_bytes, CUlibrary library,
                            const char *name)
{
    CUmodule module;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (name == NULL || (out_memory == NULL && out_bytes == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = handles_known(HANDLE_LIBRARY, library) ? enter(library, context_current(), &module)
                                                    : CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = module_find_variable(module, name, out_memory, out_bytes);
    world_unlock();
    return result;
}

// The function of a known kernel in a context. Expects the world's lock.
static CUresult find_function(CUkernel kernel, CUcontext context, CUfunction *out_function)
{
    CUkernel told;
    if (!handles_known(HANDLE_KERNEL, kernel))
        return CUDA_ERROR_INVALID_HANDLE;
    return library_resolve((CUfunction)(void *)kernel, context, out_function, &told);
}

CUresult cuKernelGetFunction(CUfunction *out_function, CUkernel kernel)
{
    CUfunction function;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_function == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = find_function(kernel, context_current(), &function);
    world_unlock();
    if (result == CUDA_SUCCESS)
        *out_function = function;
    return result;
}

CUresult cuKernelGetLibrary(CUlibrary *out_library, CUkernel kernel)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_library == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (handles_known(HANDLE_KERNEL, kernel))
        *out_library = kernel->library;
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

CUresult cuKernelGetName(const char **out_name, CUkernel kernel)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_name == NULL || kernel == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    if (handles_known(HANDLE_KERNEL, kernel))
        *out_name = any_function(kernel)->name;
    else
        result = CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *out_offset, size_t *out_bytes)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = handles_known(HANDLE_KERNEL, kernel)
                 ? function_get_parameter(any_function(kernel), index, out_offset, out_bytes)
                 : CUDA_ERROR_INVALID_HANDLE;
    world_unlock();
    return result;
}

// A device stands for its primary context. Expects the world's lock.
static CUresult find_on_device(CUkernel kernel, CUdevice device, CUfunction *out_function)
{
    CUcontext context = context_of_device(device);
    if (context == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    return find_function(kernel, context, out_function);
}

CUresult cuKernelGetAttribute(int *out_value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device)
{
    CUfunction function;
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = find_on_device(kernel, device, &function);
    if (result == CUDA_SUCCESS)
        result = function_get_attribute(function, attribute, out_value);
    world_unlock();
    return result;
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device)
{
    CUfunction function;
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = find_on_device(kernel, device, &function);
    if (result == CUDA_SUCCESS)
        result = function_set_attribute(function, attribute, value);
    world_unlock();
    return result;
}
