// SPDX-License-Identifier: Apache-2.0
// What a function tells of itself: attributes, parameters, occupancy.
#include "function.h"

#include "entry.h"
#include "handles.h"
#include "launch.h"
#include "module.h"
#include "world.h"

static CUresult begin(const char *function, CUfunction handle)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    bool known = handles_known(HANDLE_FUNCTION, handle);
    world_unlock();
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult function_get_attribute(CUfunction function, CUfunction_attribute attribute, int *out_value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *out_value = function->most_threads ? function->most_threads : MAX_BLOCK_THREADS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *out_value = 32;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *out_value = function->module->target;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *out_value = 90;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *out_value = launch_shared_limit(function);
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *out_value = function->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *out_value = function->non_portable_cluster;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *out_value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncGetAttribute(int *out_value, CUfunction_attribute attribute, CUfunction function)
{
    CUresult result = begin(__func__, function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_value == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = function_get_attribute(function, attribute, out_value);
    world_unlock();
    return result;
}

CUresult function_set_attribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
        if (value < 0 || value > MAX_SHARED_OPT_IN)
            return CUDA_ERROR_INVALID_VALUE;
        function->max_dynamic_shared = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    }
    if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
        function->non_portable_cluster = value != 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    CUresult result = begin(__func__, function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = function_set_attribute(function, attribute, value);
    world_unlock();
    return result;
}

CUresult cuFuncGetModule(CUmodule *out_module, CUfunction function)
{
    CUresult result = begin(__func__, function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_module == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_module = function->module;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char **out_name, CUfunction function)
{
    CUresult result = begin(__func__, function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_name == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_name = function->name;
    return CUDA_SUCCESS;
}

CUresult function_get_parameter(CUfunction function, size_t index, size_t *out_offset,
                                size_t *out_bytes)
{
    if (index >= function->num_parameters || out_offset == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    *out_offset = function->parameters[index].told;
    if (out_bytes != NULL)
        *out_bytes = function->parameters[index].bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *out_offset,
                            size_t *out_bytes)
{
    CUresult result = begin(__func__, function);
    return result == CUDA_SUCCESS ? function_get_parameter(function, index, out_offset, out_bytes)
                                  : result;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *out_blocks, CUfunction function,
                                                     int block_size, size_t shared_bytes)
{
    CUresult result = begin(__func__, function);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_blocks == NULL || block_size < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *out_blocks = launch_blocks_at_once(block_size, shared_bytes);
    return CUDA_SUCCESS;
}
