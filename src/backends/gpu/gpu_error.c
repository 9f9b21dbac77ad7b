// SPDX-License-Identifier: Apache-2.0
// Turning driver results into statuses and messages.
#include "backends/gpu/gpu_backend.h"

#include <stdio.h>

#include "base/error.h"
#include "base/failure.h"
#include "base/node_text.h"

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

// CUDA and HIP number them alike.
bool braid_gpu_stays(gpu_result result)
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
    if (braid_gpu_stays(result))
        note(gpu);
    return status;
}

braid_status braid_gpu_refuse_entry(const struct gpu_backend *gpu, gpu_result result,
                                    const char *what)
{
    const char *name = NULL, *text = NULL;
    gpu->vendor->describe(gpu->api, result, &name, &text);
    braid_status status =
        braid_error(BRAID_DEVICE_ERROR, "%s (%s) failed: %s (%d) when the device was made current",
                    what, gpu->label, name ? name : "unknown error", result);
    if (braid_gpu_stays(result))
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
                       braid_error_message());
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
