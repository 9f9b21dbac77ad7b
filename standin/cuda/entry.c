// SPDX-License-Identifier: Apache-2.0
// What every entry point does first: count the call, fail it if told to, check the thread's state.
#include "entry.h"

#include <stdatomic.h>
#include <string.h>

#include "context.h"
#include "faults.h"
#include "report.h"
#include "settings.h"
#include "world.h"

static atomic_bool initialised;
static _Thread_local bool calls_forbidden;

void entry_set_initialised(void)
{
    atomic_store_explicit(&initialised, true, memory_order_release);
}

bool entry_forbid_calls(bool forbid)
{
    bool before = calls_forbidden;
    calls_forbidden = forbid;
    return before;
}

CUresult entry_begin(const char *function)
{
    settings_load();
    CUresult injected = faults_count_call(function);
    if (injected != CUDA_SUCCESS)
        return injected;
    if (calls_forbidden) {
        complain("%s called from a host function or callback", function);
        return CUDA_ERROR_NOT_PERMITTED;
    }
    bool needs_nothing =
        strcmp(function, "cuInit") == 0 || strcmp(function, "cuDriverGetVersion") == 0;
    if (!needs_nothing && !atomic_load_explicit(&initialised, memory_order_acquire))
        return CUDA_ERROR_NOT_INITIALIZED;
    return CUDA_SUCCESS;
}

CUresult entry_begin_in_context(const char *function)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    result = context_check(context_current());
    world_unlock();
    return result;
}

CUresult entry_begin_release(const char *function, CUresult *out_sticky)
{
    CUresult result = entry_begin(function);
    if (result != CUDA_SUCCESS)
        return result;
    world_lock();
    CUcontext context = context_current();
    *out_sticky = context == NULL || !context->alive ? CUDA_SUCCESS : context->fault;
    world_unlock();
    return CUDA_SUCCESS;
}
