// SPDX-License-Identifier: Apache-2.0
// Entry points that tell what an address belongs to.
#include <string.h>

#include "entry.h"
#include "memory.h"
#include "settings.h"
#include "world.h"

static _Atomic unsigned num_retained; // handles of mappings

enum { NO_DEVICE = -2 }; // what the driver tells of pageable memory

static const void *at(CUdeviceptr memory)
{
    return (const void *)(uintptr_t)memory;
}

static bool on_host(const struct memory_facts *facts)
{
    return facts->kind == MEMORY_HOST || facts->kind == MEMORY_REGISTERED;
}

static void put(void *to, const void *value, size_t bytes)
{
    memcpy(to, value, bytes);
}

static void put_bool(void *to, bool value)
{
    put(to, &(unsigned){ value }, sizeof(unsigned));
}

static void put_word(void *to, uint64_t value)
{
    put(to, &value, sizeof(value));
}

// Numbers are of 4 bytes, addresses, sizes and ids of 8. Facts that are all zero are of memory that
// the driver does not know.
static CUresult tell(const struct memory_facts *facts, CUdeviceptr memory,
                     CUpointer_attribute attribute, void *to)
{
    bool known = facts->bytes > 0, host = known && on_host(facts);
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: // memory of a pool belongs to no context
        put_word(to, facts->in_stream_order ? 0 : (uint64_t)(uintptr_t)facts->context);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put(to,
            &(unsigned){ !known ? 0
                         : host ? CU_MEMORYTYPE_HOST
                                : CU_MEMORYTYPE_DEVICE },
            sizeof(unsigned));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        put_word(to, known ? memory + (host ? setting(SETTING_HOST_OFFSET) : 0) : 0);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (known && facts->kind == MEMORY_DEVICE)
            return CUDA_ERROR_INVALID_VALUE;
        put_word(to, memory); // driver 580 tells an unknown address itself: the host may know it
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        put_word(to, facts->id);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        put_bool(to, known && facts->kind == MEMORY_MANAGED);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        put(to, &(int){ known ? facts->device : NO_DEVICE }, sizeof(int));
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        put_bool(to, known && facts->kind == MEMORY_DEVICE && !facts->in_stream_order);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        put_word(to, (uint64_t)(uintptr_t)facts->start);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        put_word(to, facts->bytes);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put_bool(to, known);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        put_word(to, 0);
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static bool describe(CUdeviceptr memory, struct memory_facts *out_facts)
{
    *out_facts = (struct memory_facts){ .kind = MEMORY_HOST };
    world_lock();
    bool known = memory_describe(at(memory), out_facts);
    world_unlock();
    return known;
}

CUresult cuPointerGetAttribute(void *out_value, CUpointer_attribute attribute, CUdeviceptr memory)
{
    struct memory_facts facts;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_value == NULL || !describe(memory, &facts))
        return CUDA_ERROR_INVALID_VALUE;
    return tell(&facts, memory, attribute, out_value);
}

// An address that belongs to nothing is no error: the values say so.
CUresult cuPointerGetAttributes(unsigned num_attributes, CUpointer_attribute *attributes,
                                void **values, CUdeviceptr memory)
{
    struct memory_facts facts;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (num_attributes == 0 || attributes == NULL || values == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    describe(memory, &facts);
    for (unsigned i = 0; i < num_attributes && result == CUDA_SUCCESS; i++) {
        if (values[i] == NULL)
            return CUDA_ERROR_INVALID_VALUE;
        result = tell(&facts, memory, attributes[i], values[i]);
        if (result != CUDA_SUCCESS && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER) {
            put_word(values[i], 0); // device memory has none
            result = CUDA_SUCCESS;
        }
    }
    return result;
}

// As the driver tells memory of cuMemMap: what is mapped at once, though the whole is reserved.
static void tell_piece(struct memory_facts *facts, CUdeviceptr memory)
{
    const uint64_t piece = setting(SETTING_PIECES), start = (uintptr_t)facts->start;
    if (!piece)
        return;
    const uint64_t before = (memory - start) / piece * piece;
    facts->start = (char *)facts->start + before;
    facts->bytes = facts->bytes - before < piece ? facts->bytes - before : piece;
}

// Memory counts as that of cuMemMap where it has pieces. Each handle is 1.
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out_handle, void *memory)
{
    struct memory_facts facts;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_handle == NULL || !setting(SETTING_PIECES) ||
        !describe((CUdeviceptr)(uintptr_t)memory, &facts))
        return CUDA_ERROR_INVALID_VALUE;
    num_retained++;
    *out_handle = 1;
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (handle > 1) {
        mapping_release_handle(handle);
        return CUDA_SUCCESS;
    }
    if (handle != 1 || num_retained-- == 0)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *out_start, size_t *out_bytes, CUdeviceptr memory)
{
    struct memory_facts facts;
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (!describe(memory, &facts))
        return CUDA_ERROR_NOT_FOUND;
    tell_piece(&facts, memory);
    if (out_start != NULL)
        *out_start = (CUdeviceptr)(uintptr_t)facts.start;
    if (out_bytes != NULL)
        *out_bytes = facts.bytes;
    return CUDA_SUCCESS;
}
