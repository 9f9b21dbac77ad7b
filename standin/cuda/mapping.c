// SPDX-License-Identifier: Apache-2.0
// Virtual addresses that the program chooses, and memory that it maps there.
//
// A reservation is a mapping of the host that nobody may touch. Memory that is mapped there counts
// as a block of the device, one for each call.
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context.h"
#include "entry.h"
#include "memory.h"
#include "settings.h"
#include "world.h"

enum { GRANULARITY = 4096, MAX_AREAS = 16 };

struct handle {
    size_t bytes;
};

CUresult cuMemGetAllocationGranularity(size_t *out_bytes, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_bytes == NULL || properties == NULL || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *out_bytes = GRANULARITY;
    return CUDA_SUCCESS;
}

// A file may hold as many bytes as wishes are not granted, in whatever process. Each takes one off.
static bool is_refused(CUdeviceptr wish)
{
    const char *path = getenv("BRAID_STANDIN_TAKEN");
    struct stat file;
    return wish != 0 && path != NULL && stat(path, &file) == 0 && file.st_size > 0 &&
           truncate(path, file.st_size - 1) == 0;
}

// ---- areas ----

// With BRAID_STANDIN_AREA, addresses of the host around a granted wish. It lasts as long as some
// reservation in it.
static struct area {
    CUdeviceptr begin;
    size_t bytes, num_reservations;
} areas[MAX_AREAS];

static struct area *find_area(CUdeviceptr at)
{
    for (int i = 0; i < MAX_AREAS; i++)
        if (areas[i].num_reservations > 0 && at - areas[i].begin < areas[i].bytes)
            return &areas[i];
    return NULL;
}

static struct area *make_area(CUdeviceptr wish, size_t bytes)
{
    const size_t unit = setting(SETTING_AREA);
    const CUdeviceptr begin = wish / unit * unit;
    const size_t all = (size_t)(wish - begin + bytes + unit - 1) / unit * unit;
    for (int i = 0; i < MAX_AREAS; i++) {
        if (areas[i].num_reservations > 0)
            continue;
        void *got = mmap((void *)(uintptr_t)begin, all, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == MAP_FAILED)
            return NULL;
        areas[i] = (struct area){ .begin = begin, .bytes = all };
        return &areas[i];
    }
    return NULL;
}

static bool reserve_in_area(CUdeviceptr wish, size_t bytes)
{
    world_lock();
    struct area *area = find_area(wish);
    if (area == NULL)
        area = make_area(wish, bytes);
    const bool has_room = area != NULL && bytes <= area->bytes - (wish - area->begin);
    if (has_room)
        area->num_reservations++;
    world_unlock();
    return has_room;
}

static int give_back(CUdeviceptr memory, size_t bytes)
{
    world_lock();
    struct area *area = find_area(memory);
    if (area == NULL) {
        world_unlock();
        return munmap((void *)(uintptr_t)memory, bytes);
    }
    int result = mprotect((void *)(uintptr_t)memory, bytes, PROT_NONE);
    if (--area->num_reservations == 0)
        result = munmap((void *)(uintptr_t)area->begin, area->bytes);
    world_unlock();
    return result;
}

// ---- reservations ----

// The address is a wish: another is given where it is taken.
CUresult cuMemAddressReserve(CUdeviceptr *out_memory, size_t bytes, size_t alignment,
                             CUdeviceptr wish, unsigned long long flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_memory == NULL || bytes == 0 || bytes % GRANULARITY != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    (void)alignment;
    if (is_refused(wish))
        wish = 0;
    if (wish != 0 && setting(SETTING_AREA) != 0 && reserve_in_area(wish, bytes)) {
        *out_memory = wish;
        return CUDA_SUCCESS;
    }
    void *memory =
        mmap((void *)(uintptr_t)wish, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out_memory = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr memory, size_t bytes)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    return give_back(memory, bytes) == 0 ? sticky : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out_handle, size_t bytes,
                     const CUmemAllocationProp *properties, unsigned long long flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_handle == NULL || bytes == 0 || bytes % GRANULARITY != 0 || properties == NULL ||
        flags != 0 || properties->location.id != context_current()->device)
        return CUDA_ERROR_INVALID_VALUE;
    struct handle *handle = malloc(sizeof(*handle));
    if (handle == NULL)
        return CUDA_ERROR_OUT_OF_MEMORY;
    handle->bytes = bytes;
    *out_handle = (uintptr_t)handle;
    return CUDA_SUCCESS;
}

void mapping_release_handle(CUmemGenericAllocationHandle handle)
{
    free((void *)(uintptr_t)handle); // NOLINT
}

CUresult cuMemMap(CUdeviceptr memory, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    const struct handle *of = (const struct handle *)(uintptr_t)handle; // NOLINT
    if (of == NULL || bytes != of->bytes || offset != 0 || flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    world_lock();
    result = memory_map(context_current(), (void *)(uintptr_t)memory, bytes);
    world_unlock();
    return result;
}

CUresult cuMemSetAccess(CUdeviceptr memory, size_t bytes, const CUmemAccessDesc *access, size_t num)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (access == NULL || num != 1 || access->location.id != context_current()->device)
        return CUDA_ERROR_INVALID_VALUE;
    return mprotect((void *)(uintptr_t)memory, bytes, PROT_READ | PROT_WRITE) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemUnmap(CUdeviceptr memory, size_t bytes)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = memory_unmap((void *)(uintptr_t)memory, bytes);
    world_unlock();
    return result == CUDA_SUCCESS ? sticky : result;
}
