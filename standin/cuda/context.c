// SPDX-License-Identifier: Apache-2.0
// Contexts: what streams, memory and modules belong to, and what a device fault poisons.
#include "context.h"

#include <stdlib.h>

#include "../standin_control.h"
#include "entry.h"
#include "event.h"
#include "handles.h"
#include "module.h"
#include "settings.h"
#include "stream.h"
#include "world.h"

enum { MAX_STACK = 64 };

static struct CUctx_st primaries[MAX_DEVICES];
static struct CUctx_st *created; // list through next; records are never freed
static unsigned long long last_id;

// The thread's stack of contexts; the top one is current. Entry zero may be NULL (set, not pushed).
static _Thread_local CUcontext stack[MAX_STACK];
static _Thread_local int depth;

CUcontext context_current(void)
{
    return depth == 0 ? NULL : stack[depth - 1];
}

CUcontext context_of_device(CUdevice device)
{
    if (device < 0 || (uint64_t)device >= setting(SETTING_DEVICES))
        return NULL;
    return &primaries[device];
}

CUresult context_check(CUcontext context)
{
    if (context == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!handles_known(HANDLE_CONTEXT, context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return context->fault;
}

void context_poison(CUcontext context, CUresult fault)
{
    if (context->fault == CUDA_SUCCESS)
        context->fault = fault;
}

void standin_forget_faults(void)
{
    world_lock();
    for (int i = 0; i < MAX_DEVICES; i++)
        primaries[i].fault = CUDA_SUCCESS;
    for (CUcontext context = created; context != NULL; context = context->next)
        context->fault = CUDA_SUCCESS;
    world_unlock();
}

long context_live(void)
{
    long count = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        count += (long)primaries[i].retains;
    for (CUcontext context = created; context != NULL; context = context->next)
        count += context->alive;
    return count;
}

CUresult context_revive(CUcontext context, CUdevice device)
{
    if (context->alive)
        return CUDA_SUCCESS;
    if (!handles_known(HANDLE_CONTEXT, context) && !handles_add(HANDLE_CONTEXT, context))
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->alive = true;
    context->peers = 0;
    context->id = ++last_id;
    return CUDA_SUCCESS;
}

static void end_module(void *module, void *context)
{
    if (((CUmodule)module)->context == context)
        module_unload(module);
}

static void end_event(void *event, void *context)
{
    if (((CUevent)event)->context == context)
        event_end(event);
}

void context_end(CUcontext context)
{
    stream_wait_all(context);
    stream_close_null(context);
    if (setting(SETTING_REUSE)) {
        handles_each(HANDLE_MODULE, end_module, context);
        handles_each(HANDLE_EVENT, end_event, context);
    }
    context->alive = false;
    context->retains = 0;
}

static CUresult push(CUcontext context)
{
    if (depth == MAX_STACK)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack[depth++] = context;
    return CUDA_SUCCESS;
}

static CUresult create_context(CUcontext *out_context, unsigned flags, CUdevice device)
{
    if (out_context == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    if (context_of_device(device) == NULL)
        return CUDA_ERROR_INVALID_DEVICE;
    world_lock();
    CUcontext context = setting(SETTING_REUSE) ? created : NULL;
    while (context != NULL && context->alive)
        context = context->next;
    const bool is_new = context == NULL;
    if (is_new)
        context = calloc(1, sizeof(*context));
    CUresult result = context == NULL ? CUDA_ERROR_OUT_OF_MEMORY : context_revive(context, device);
    if (result == CUDA_SUCCESS && is_new) {
        context->next = created;
        created = context;
    }
    if (result == CUDA_SUCCESS)
        context->flags = flags;
    else if (is_new)
        free(context);
    world_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    *out_context = context;
    return push(context);
}

CUresult cuCtxCreate_v2(CUcontext *out_context, unsigned flags, CUdevice device)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : create_context(out_context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *out_context, CUctxCreateParams *params, unsigned flags,
                        CUdevice device)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return params != NULL ? CUDA_ERROR_NOT_SUPPORTED : create_context(out_context, flags, device);
}

static CUresult destroy_context(CUcontext context)
{
    world_lock();
    CUresult result = context_check(context);
    bool known = context != NULL && handles_known(HANDLE_CONTEXT, context) && context->alive;
    if (known && context->primary)
        result = CUDA_ERROR_INVALID_CONTEXT;
    else if (known)
        context_end(context);
    world_unlock();
    if (context_current() == context && depth > 0)
        depth--;
    return result;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : destroy_context(context);
}

CUresult cuCtxDestroy(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : destroy_context(context);
}

// Nobody attaches to a context.
CUresult cuCtxDetach(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : destroy_context(context);
}

// A destroyed context is accepted, as by the driver: the calls that follow return
// CUDA_ERROR_CONTEXT_IS_DESTROYED.
static CUresult push_checked(CUcontext context)
{
    world_lock();
    bool known = context != NULL && handles_known(HANDLE_CONTEXT, context);
    world_unlock();
    return known ? push(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : push_checked(context);
}

CUresult cuCtxPushCurrent(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : push_checked(context);
}

static CUresult pop(CUcontext *out_context)
{
    if (context_current() == NULL)
        return CUDA_ERROR_INVALID_CONTEXT;
    depth--;
    if (out_context != NULL)
        *out_context = stack[depth];
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out_context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : pop(out_context);
}

CUresult cuCtxPopCurrent(CUcontext *out_context)
{
    CUresult result = entry_begin(__func__);
    return result != CUDA_SUCCESS ? result : pop(out_context);
}

// Replaces the top of the stack; NULL pops it.
CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult result = entry_begin(__func__);
    CUcontext before = context_current();
    if (result != CUDA_SUCCESS)
        return result;
    if (depth > 0)
        depth--;
    result = context == NULL ? CUDA_SUCCESS : push_checked(context);
    if (result != CUDA_SUCCESS && before != NULL)
        depth++; // the stack still holds what was current
    return result;
}

CUresult cuCtxGetCurrent(CUcontext *out_context)
{
    CUresult result = entry_begin(__func__);
    if (result == CUDA_SUCCESS)
        *out_context = context_current();
    return result;
}

static CUresult get_device(CUdevice *out_device, CUcontext context)
{
    world_lock();
    CUresult result = context_check(context);
    if (result == CUDA_SUCCESS)
        *out_device = context->device;
    world_unlock();
    return result;
}

CUresult cuCtxGetDevice(CUdevice *out_device)
{
    CUresult result = entry_begin_in_context(__func__);
    return result != CUDA_SUCCESS ? result : get_device(out_device, context_current());
}

CUresult cuCtxGetDevice_v2(CUdevice *out_device, CUcontext context)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return get_device(out_device, context == NULL ? context_current() : context);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *out_version)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    CUdevice ignored;
    result = get_device(&ignored, context == NULL ? context_current() : context);
    if (result == CUDA_SUCCESS)
        *out_version = (unsigned)setting(SETTING_VERSION);
    return result;
}

CUresult cuCtxGetFlags(unsigned *out_flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result == CUDA_SUCCESS)
        *out_flags = context_current()->flags;
    return result;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *out_id)
{
    CUresult result = entry_begin(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    context = context == NULL ? context_current() : context;
    world_lock();
    result = context_check(context);
    if (result == CUDA_SUCCESS)
        *out_id = context->id;
    world_unlock();
    return result;
}

CUresult cuCtxGetStreamPriorityRange(int *out_least, int *out_greatest)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    if (out_least != NULL)
        *out_least = LEAST_PRIORITY;
    if (out_greatest != NULL)
        *out_greatest = GREATEST_PRIORITY;
    return CUDA_SUCCESS;
}

static CUresult change_peer(CUcontext peer, bool enable)
{
    CUcontext context = context_current();
    world_lock();
    CUresult result = context_check(peer);
    if (result == CUDA_SUCCESS && peer == context)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && (setting(SETTING_PEERS) == 0 || peer->device == context->device))
        result = CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (result == CUDA_SUCCESS) {
        unsigned bit = 1u << peer->device;
        bool enabled = (context->peers & bit) != 0;
        if (enabled == enable)
            result = enable ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                            : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        else
            context->peers ^= bit;
    }
    world_unlock();
    return result;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    CUresult result = entry_begin_in_context(__func__);
    if (result != CUDA_SUCCESS)
        return result;
    return flags != 0 ? CUDA_ERROR_INVALID_VALUE : change_peer(peer, true);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    CUresult result = entry_begin_in_context(__func__);
    return result != CUDA_SUCCESS ? result : change_peer(peer, false);
}
