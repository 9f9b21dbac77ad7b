// SPDX-License-Identifier: Apache-2.0
// One piece of device work: copying it, checking it, and giving back what it holds.
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "graph.h"
#include "launch.h"
#include "memory.h"
#include "module.h"
#include "semaphore.h"

unsigned work_num_bodies(const struct work *work)
{
    return work->kind == WORK_CONDITIONAL ? work->conditional.num_bodies : 0;
}

bool work_is_of_memory(const struct work *work)
{
    return work->kind == WORK_RESERVED_ARRIVE || work->kind == WORK_RESERVED_BURY;
}

static bool clone_accesses(const struct graph_memory *memory, struct graph_memory *clone)
{
    if (memory->num_accesses == 0)
        return true;
    clone->accesses = calloc(memory->num_accesses, sizeof(*clone->accesses));
    if (clone->accesses != NULL)
        memcpy(clone->accesses, memory->accesses, memory->num_accesses * sizeof(*clone->accesses));
    return clone->accesses != NULL;
}

static bool clone_bodies(const struct work *work, struct work *clone)
{
    for (unsigned i = 0; i < work_num_bodies(work); i++) {
        clone->conditional.bodies[i] = graph_clone(work->conditional.bodies[i], false);
        if (clone->conditional.bodies[i] != NULL)
            continue;
        while (i-- > 0)
            graph_drop(clone->conditional.bodies[i]);
        return false;
    }
    return true;
}

bool work_clone(const struct work *work, bool public, struct work *out_clone)
{
    struct work clone = *work;
    if (work->kind == WORK_KERNEL) {
        clone.kernel.arguments = launch_new_arguments(work->kernel.function);
        if (clone.kernel.arguments == NULL)
            return false;
        memcpy(clone.kernel.arguments, work->kernel.arguments,
               work->kernel.function->argument_bytes);
        module_hold(work->kernel.function->module);
    } else if (work->kind == WORK_CHILD) {
        clone.child = graph_clone(work->child, public);
        if (clone.child == NULL)
            return false;
        clone.child->is_child = true;
    } else if (work->kind == WORK_CONDITIONAL) {
        if (!clone_bodies(work, &clone))
            return false;
        condition_hold(clone.conditional.condition);
    } else if (work->kind == WORK_SEMAPHORE) {
        semaphore_hold(work->semaphore.semaphore);
    } else if (work_is_of_memory(work)) {
        if (!clone_accesses(&work->reserved, &clone.reserved))
            return false;
        memory_reservation(work->reserved.memory)->holders++;
    }
    *out_clone = clone;
    return true;
}

static void finish_launch(struct launch *launch)
{
    if (launch->tickets != NULL)
        for (size_t i = 0; i < launch->plan->num_nodes; i++)
            ticket_drop(launch->tickets[i]);
    free(launch->tickets);
    graph_drop(launch->plan);
}

void work_finish(struct work *work)
{
    switch (work->kind) {
    case WORK_KERNEL:
        free(work->kernel.arguments);
        module_drop(work->kernel.function->module);
        break;
    case WORK_COPY:
        free(work->copy.snapshot);
        break;
    case WORK_CHILD:
        graph_drop(work->child);
        break;
    case WORK_CONDITIONAL:
        for (unsigned i = 0; i < work->conditional.num_bodies; i++)
            graph_drop(work->conditional.bodies[i]);
        condition_drop(work->conditional.condition);
        break;
    case WORK_LAUNCH:
        finish_launch(&work->launch);
        break;
    case WORK_WAIT:
        ticket_drop(work->ticket);
        break;
    case WORK_SEMAPHORE:
        semaphore_drop(work->semaphore.semaphore);
        break;
    case WORK_RESERVED_ARRIVE:
    case WORK_RESERVED_BURY:
        free(work->reserved.accesses);
        memory_let_go(work->reserved.memory);
        break;
    default:
        break;
    }
    *work = (struct work){ .kind = WORK_EMPTY };
}

// The bytes from the first to the last that a strided access touches.
static size_t span(size_t width, size_t height, size_t depth, size_t pitch, size_t slice)
{
    if (width == 0 || height == 0 || depth == 0)
        return 0;
    return (depth - 1) * slice + (height - 1) * pitch + width;
}

static CUresult check_copy(const struct copy *copy)
{
    CUresult result = memory_check_argument(
        copy->to, span(copy->width, copy->height, copy->depth, copy->to_pitch, copy->to_slice),
        false);
    if (result != CUDA_SUCCESS)
        return result;
    return memory_check_argument(
        copy->from,
        span(copy->width, copy->height, copy->depth, copy->from_pitch, copy->from_slice), false);
}

static CUresult check_fill(const struct fill *fill)
{
    if (fill->element_bytes != 1 && fill->element_bytes != 2 && fill->element_bytes != 4)
        return CUDA_ERROR_INVALID_VALUE;
    return memory_check_argument(
        fill->to, span(fill->width * fill->element_bytes, fill->height, 1, fill->pitch, 0), true);
}

CUresult work_check(const struct work *work)
{
    switch (work->kind) {
    case WORK_COPY:
        return check_copy(&work->copy);
    case WORK_FILL:
        return check_fill(&work->fill);
    case WORK_HOST:
        return work->host.call == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case WORK_CALLBACK:
        return work->callback.call == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case WORK_WRITE_VALUE:
    case WORK_WAIT_VALUE:
        return memory_check_argument(work->value.at, sizeof(cuuint32_t), false);
    default:
        return CUDA_SUCCESS;
    }
}
