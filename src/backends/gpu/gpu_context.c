// SPDX-License-Identifier: Apache-2.0
// Calls of the driver: the state of a thread that Braid changes for them, and their results.
//
// The state is the current context, the mode for captures, and HIP's last error.
//
// While the program captures a stream in a mode other than the relaxed one, the driver refuses
// calls that may wait, and spoils the capture. In relaxed mode this thread makes them nevertheless.
// Scopes lie within each other. One within another of the same device costs nothing.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>

#include "base/error.h"
#include "base/failure.h"
#include "base/node_text.h"

// ---- turning driver results into statuses and messages ----

static braid_status status_of(gpu_result result)
{
    switch (result) {
    case GPU_SUCCESS:
        return BRAID_OK;
    case GPU_NOT_READY:
        return BRAID_NOT_READY;
    case GPU_OUT_OF_MEMORY:
        return BRAID_NO_MEMORY;
    case GPU_NOT_SUPPORTED:
    case GPU_NO_BINARY:
        return BRAID_UNSUPPORTED;
    default:
        return BRAID_DEVICE_ERROR;
    }
}

// The first name of the called slot: `slot` points into gpu->api.
static const char *call_name(const struct gpu_backend *gpu, const void *slot)
{
    size_t offset = (size_t)((const char *)slot - (const char *)gpu->api);
    return braid_gpu_symbol_name(&braid_gpu_symbols, gpu->vendor->index, offset);
}

// Whether the driver fails every call on the device after this error. CUDA and HIP number them
// alike.
static bool stays(gpu_result result)
{
    enum {
        ECC = 214,
        NVLINK = 220,
        ILLEGAL_ADDRESS = 700,
        LAUNCH_TIMEOUT = 702,
        CONTEXT_IS_DESTROYED = 709,
        ASSERT = 710,
        HARDWARE_STACK = 714,
        LAUNCH_FAILED = 719
    };
    return result == ECC || result == NVLINK || result == ILLEGAL_ADDRESS ||
           result == LAUNCH_TIMEOUT || result == CONTEXT_IS_DESTROYED || result == ASSERT ||
           (result >= HARDWARE_STACK && result <= LAUNCH_FAILED);
}

static void note(const struct gpu_backend *gpu)
{
    if (gpu->base.failure)
        braid_failure_note(gpu->base.failure);
}

static braid_status report(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                           const char *what, const char *where, const char *detail)
{
    const char *name = NULL, *text = NULL;
    gpu->vendor->describe(gpu->api, result, &name, &text);
    if (detail && *detail)
        text = detail;
    braid_status status = braid_error(status_of(result), "%s (%s) failed: %s (%d) from %s%s%s",
                                      what, where, name ? name : "unknown error", result,
                                      call_name(gpu, slot), text ? ": " : "", text ? text : "");
    if (stays(result))
        note(gpu);
    return status;
}

// The error that the device could not be made current; `what` is for the message.
static braid_status refuse_entry(const struct gpu_backend *gpu, gpu_result result, const char *what)
{
    const char *name = NULL, *text = NULL;
    gpu->vendor->describe(gpu->api, result, &name, &text);
    braid_status status =
        braid_error(BRAID_DEVICE_ERROR, "%s (%s) failed: %s (%d) when the device was made current",
                    what, gpu->label, name ? name : "unknown error", result);
    if (stays(result))
        note(gpu);
    return status;
}

braid_status braid_gpu_check(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                             const char *what)
{
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    if (result == GPU_NOT_READY)
        return BRAID_NOT_READY; // an answer, not a failure
    return report(gpu, result, slot, what, gpu->label, NULL);
}

// "launch of node 2 'p2g'".
static void name_task(const struct backend_task *task, char *text, size_t size)
{
    snprintf(text, size, "%s %s%s", braid_work_words[task->kind].action,
             task->node == BACKEND_NO_NODE ? "" : "node ",
             braid_node_text(task->node, task->name).text);
}

braid_status braid_gpu_enter_task(const struct gpu_backend *gpu, struct gpu_scope *scope,
                                  const struct backend_task *task)
{
    braid_status status = braid_gpu_enter(gpu, scope, "queueing work");
    if (status == BRAID_OK)
        return BRAID_OK;
    char what[256];
    name_task(task, what, sizeof(what));
    return braid_error(status, "%s (%s, lane %u) failed: %s", what, gpu->label, task->lane,
                       braid_error_get_message());
}

braid_status braid_gpu_check_task(const struct gpu_backend *gpu, gpu_result result,
                                  const void *slot, const struct backend_task *task,
                                  const char *detail)
{
    if (result == GPU_SUCCESS)
        return BRAID_OK;
    char what[256], where[64];
    name_task(task, what, sizeof(what));
    snprintf(where, sizeof(where), "%s, lane %u", gpu->label, task->lane);
    return report(gpu, result, slot, what, where, detail);
}

static bool has_failed(const struct gpu_backend *gpu)
{
    return gpu->base.failure && failure_is_noted(gpu->base.failure);
}

static void tell_freed(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                       const char *what, bool fails_device)
{
    struct error_attempt attempt;
    if (result == GPU_SUCCESS || has_failed(gpu))
        return;
    braid_error_begin_attempt(&attempt);
    braid_status status = report(gpu, result, slot, what, gpu->label, NULL);
    if (fails_device)
        note(gpu);
    braid_error_end_noted(&attempt, status);
}

void braid_gpu_check_freed(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                           const char *what)
{
    tell_freed(gpu, result, slot, what, false);
}

void braid_gpu_check_awaited(const struct gpu_backend *gpu, gpu_result result, const void *slot,
                             const char *what)
{
    tell_freed(gpu, result, slot, what, true);
}

// ---- the state of a thread ----

struct gpu_thread {
    struct gpu_scope *innermost; // NULL: the thread has what the program gave it
    struct gpu_scope held;       // between the backend's enter and leave, the outermost ones
    uint32_t num_held;
    bool is_held; // it could be entered
};

static _Thread_local struct gpu_thread thread;

int braid_gpu_keep_error(const struct gpu_api *api)
{
    return api->hip_peek_error ? api->hip_peek_error() : GPU_SUCCESS;
}

// If there was one before, the thread keeps that, or the one in its place: nobody can set it again.
void braid_gpu_restore_error(const struct gpu_api *api, int before)
{
    if (api->hip_take_error && !before)
        (void)api->hip_take_error();
}

static gpu_result exchange_mode(const struct gpu_backend *gpu, int *mode)
{
    const int wanted = *mode;
    gpu_result result = gpu->api->exchange_capture_mode(mode);
    if (result) {
        *mode = wanted;
        result = gpu->api->exchange_capture_mode(mode);
    }
    return result;
}

// A device that has failed may answer every call with its error. The calls that follow tell it.
static gpu_result relax_mode(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    if (!gpu->api->exchange_capture_mode)
        return GPU_SUCCESS;
    scope->mode = GPU_CAPTURE_RELAXED;
    gpu_result result = exchange_mode(gpu, &scope->mode);
    scope->is_relaxed = result == GPU_SUCCESS;
    return stays(result) ? GPU_SUCCESS : result;
}

static void restore_mode(const struct gpu_backend *gpu, const struct gpu_scope *scope)
{
    int mode = scope->mode;
    if (scope->is_relaxed)
        braid_gpu_check_freed(gpu, exchange_mode(gpu, &mode), &gpu->api->exchange_capture_mode,
                              "going back to the thread's mode for captures");
}

static void restore_device(const struct gpu_backend *gpu, const struct gpu_scope *scope)
{
    if (!scope->changed)
        return;
    const void *slot = NULL;
    if (gpu->vendor->leave(gpu, scope, &slot))
        braid_gpu_check_freed(gpu, gpu->vendor->leave(gpu, scope, &slot), slot,
                              "making current again what was current before");
}

static gpu_result enter_first(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    scope->error = braid_gpu_keep_error(gpu->api);
    gpu_result result = gpu->vendor->enter(gpu, scope);
    if (!result) {
        result = relax_mode(gpu, scope);
        if (result)
            restore_device(gpu, scope);
    }
    if (result)
        braid_gpu_restore_error(gpu->api, scope->error);
    return result;
}

static gpu_result enter(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    gpu_result result = GPU_SUCCESS;
    *scope = (struct gpu_scope){ .outer = thread.innermost, .gpu = gpu };
    if (!scope->outer)
        result = enter_first(gpu, scope);
    else if (scope->outer->gpu != gpu)
        result = gpu->vendor->enter(gpu, scope);
    if (!result)
        thread.innermost = scope;
    return result;
}

// The call in between is done by now, so it cannot be the one that fails.
void braid_gpu_leave(const struct gpu_backend *gpu, const struct gpu_scope *scope)
{
    thread.innermost = scope->outer;
    restore_mode(gpu, scope);
    restore_device(gpu, scope);
    if (!scope->outer)
        braid_gpu_restore_error(gpu->api, scope->error);
}

braid_status braid_gpu_enter(const struct gpu_backend *gpu, struct gpu_scope *scope,
                             const char *what)
{
    gpu_result result = enter(gpu, scope);
    return result ? refuse_entry(gpu, result, what) : BRAID_OK;
}

// Both calls have failed: the device has, too.
static void tell_entry(const struct gpu_backend *gpu, gpu_result result, const char *what)
{
    struct error_attempt attempt;
    bool told = has_failed(gpu);
    braid_error_begin_attempt(&attempt);
    braid_status status = refuse_entry(gpu, result, what);
    note(gpu);
    braid_error_end_noted(&attempt, told ? BRAID_OK : status);
}

bool braid_gpu_enter_to_free(struct gpu_backend *gpu, struct gpu_scope *scope, const char *what)
{
    gpu_result result = enter(gpu, scope);
    if (result)
        result = enter(gpu, scope);
    if (result)
        tell_entry(gpu, result, what);
    return result == GPU_SUCCESS;
}

braid_status braid_gpu_begin(struct gpu_call *call, struct backend *backend, const char *what)
{
    struct gpu_backend *gpu = gpu_from(backend);
    *call = (struct gpu_call){ .gpu = gpu, .api = gpu->api, .what = what };
    return braid_gpu_enter(gpu, &call->scope, what);
}

braid_status braid_gpu_end(const struct gpu_call *call, gpu_result result, const void *slot)
{
    braid_gpu_leave(call->gpu, &call->scope);
    return braid_gpu_check(call->gpu, result, slot, call->what);
}

// If this fails, each scope within makes the device current by itself, and tells its failure.
void braid_gpu_hold(struct backend *backend)
{
    if (thread.num_held++ == 0)
        thread.is_held = enter(gpu_from(backend), &thread.held) == GPU_SUCCESS;
}

void braid_gpu_let_go(struct backend *backend)
{
    (void)backend;
    if (--thread.num_held > 0 || !thread.is_held)
        return;
    thread.is_held = false;
    braid_gpu_leave(thread.held.gpu, &thread.held);
}

braid_status braid_gpu_call_current(struct backend *backend, braid_status (*call)(void *user),
                                    void *user)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "making the device current");
    if (status)
        return status;
    status = call(user);
    braid_gpu_leave(gpu, &scope);
    return status;
}

// The program's call may have made another device current.
static void return_from_program(const struct gpu_backend *gpu, struct gpu_scope *outermost)
{
    static const char what[] = "going on behind a queue call";
    struct gpu_scope ignored = { 0 };
    outermost->error = braid_gpu_keep_error(gpu->api);
    gpu_result result = gpu->vendor->enter(gpu, &ignored);
    if (result)
        result = gpu->vendor->enter(gpu, &ignored);
    if (!result)
        result = relax_mode(gpu, outermost);
    if (result)
        tell_entry(gpu, result, what);
}

static struct gpu_scope *find_outermost(struct gpu_scope *scope)
{
    while (scope->outer)
        scope = scope->outer;
    return scope;
}

// Scopes that calls of Braid make within the program's call are the first ones there.
static braid_status call_program(const struct gpu_backend *gpu, struct gpu_scope *innermost,
                                 braid_status (*call)(void *user), void *user)
{
    struct gpu_scope *outermost = find_outermost(innermost);
    const struct gpu_thread before = thread;
    restore_mode(gpu, outermost);
    braid_gpu_restore_error(gpu->api, outermost->error);
    thread = (struct gpu_thread){ 0 };
    braid_status status = call(user);
    thread = before;
    return_from_program(gpu, outermost);
    return status;
}

braid_status braid_gpu_call_program(struct backend *backend, braid_status (*call)(void *user),
                                    void *user)
{
    struct gpu_backend *gpu = gpu_from(backend);
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, "making the device current");
    if (status)
        return status;
    status = call_program(gpu, &scope, call, user);
    braid_gpu_leave(gpu, &scope);
    return status;
}
