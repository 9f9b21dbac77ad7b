// SPDX-License-Identifier: Apache-2.0
// External semaphores: a descriptor here is of a file whose first eight bytes are the value, which
// a test maps as well. Vulkan is nowhere.
#include "semaphore.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "entry.h"
#include "handles.h"
#include "stream.h"

struct CUextSemaphore_st {
    int references;
    bool is_timeline;
    uint64_t *value;
};

CUexternalSemaphore semaphore_hold(CUexternalSemaphore semaphore)
{
    semaphore->references++;
    return semaphore;
}

void semaphore_drop(CUexternalSemaphore semaphore)
{
    if (--semaphore->references > 0)
        return;
    munmap(semaphore->value, sizeof(*semaphore->value));
    free(semaphore);
}

bool semaphore_step(CUexternalSemaphore semaphore, uint64_t value, bool signals)
{
    if (signals) {
        __atomic_store_n(semaphore->value, semaphore->is_timeline ? value : 1, __ATOMIC_RELEASE);
        return true;
    }
    uint64_t now = __atomic_load_n(semaphore->value, __ATOMIC_ACQUIRE);
    if (semaphore->is_timeline)
        return now >= value;
    return now && __atomic_compare_exchange_n(semaphore->value, &now, 0, false, __ATOMIC_ACQ_REL,
                                              __ATOMIC_ACQUIRE);
}

CUresult cuImportExternalSemaphore(CUexternalSemaphore *out_semaphore,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *desc)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_semaphore == NULL || desc == NULL || desc->flags)
        return CUDA_ERROR_INVALID_VALUE;
    const bool is_timeline = desc->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    if (!is_timeline && desc->type != CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD)
        return CUDA_ERROR_NOT_SUPPORTED;
    void *value =
        mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, desc->handle.fd, 0);
    CUexternalSemaphore semaphore = calloc(1, sizeof(*semaphore));
    world_lock();
    const bool added =
        value != MAP_FAILED && semaphore != NULL && handles_add(HANDLE_SEMAPHORE, semaphore);
    world_unlock();
    if (!added) {
        free(semaphore);
        if (value != MAP_FAILED)
            munmap(value, sizeof(uint64_t));
        return value == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *semaphore = (struct CUextSemaphore_st){ 1, is_timeline, value };
    close(desc->handle.fd);
    *out_semaphore = semaphore;
    return CUDA_SUCCESS;
}

CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore)
{
    CUresult sticky;
    CUresult result = entry_begin_release(__func__, &sticky);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    if (handles_known(HANDLE_SEMAPHORE, semaphore)) {
        handles_remove(semaphore);
        semaphore_drop(semaphore);
    } else {
        sticky = CUDA_ERROR_INVALID_HANDLE;
    }
    world_unlock();
    return sticky;
}

static CUresult queue(const char *function, CUexternalSemaphore semaphore, uint64_t value,
                      bool signals, CUstream stream)
{
    CUresult result = entry_begin_in_context(function);
    if (result != CUDA_SUCCESS)
        return result;
    struct work work = { .kind = WORK_SEMAPHORE };
    work.semaphore.value = value;
    work.semaphore.signals = signals;
    world_lock();
    const bool is_known = handles_known(HANDLE_SEMAPHORE, semaphore);
    work.semaphore.semaphore = is_known ? semaphore_hold(semaphore) : NULL;
    world_unlock();
    return is_known ? stream_queue(stream, &work) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                         unsigned num, CUstream stream)
{
    if (num != 1 || semaphores == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return queue(__func__, *semaphores, params->params.fence.value, true, stream);
}

CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                       unsigned num, CUstream stream)
{
    if (num != 1 || semaphores == NULL || params == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    return queue(__func__, *semaphores, params->params.fence.value, false, stream);
}
