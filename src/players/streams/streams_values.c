// SPDX-License-Identifier: Apache-2.0
// Copies of the values of a frame's tasks.
#include <string.h>

#include "base/array.h"
#include "players/streams/streams_loops.h"

static struct streams_values *allocate(const struct streams_loops *loops)
{
    struct streams_values *values = calloc(1, sizeof(*values));
    if (!values)
        return NULL;
    values->tasks = braid_allocate_zeroed(loops->tasks->num, sizeof(*values->tasks));
    values->args = braid_allocate_zeroed(loops->tasks->num_args, sizeof(*values->args));
    values->arguments = braid_allocate_zeroed(loops->tasks->num_slot_bytes[TASK_SLOT_ARGUMENTS], 1);
    if (values->tasks && values->args && values->arguments)
        return values;
    braid_streams_values_free(values);
    return NULL;
}

// Arguments stand in the copy where they stand in the frame.
static void copy(const struct streams_loops *loops, struct streams_values *values)
{
    const struct frame *frame = loops->frame;
    size_t bytes = loops->tasks->num_slot_bytes[TASK_SLOT_ARGUMENTS];
    memcpy(values->tasks, frame->tasks, loops->tasks->num * sizeof(*values->tasks));
    if (bytes)
        memcpy(values->arguments, frame->arguments, bytes);
    for (uint32_t i = 0; i < loops->tasks->num_args; i++)
        values->args[i] = values->arguments + ((unsigned char *)frame->args[i] - frame->arguments);
    for (uint32_t i = 0; i < loops->tasks->num; i++) {
        struct backend_task *task = &values->tasks[i];
        if (task->kind == WORK_KERNEL)
            task->launch.args = values->args + (task->launch.args - (void *const *)frame->args);
    }
}

braid_status braid_streams_values_take(struct streams_loops *loops,
                                       struct streams_values **out_values)
{
    pthread_mutex_lock(&loops->lock);
    struct streams_values *values = loops->spare;
    if (values)
        loops->spare = values->next;
    pthread_mutex_unlock(&loops->lock);
    if (!values)
        values = allocate(loops);
    if (!values)
        return braid_error_no_memory("the values of a loop");
    copy(loops, values);
    values->next = NULL;
    values->num_users = 1;
    *out_values = values;
    return BRAID_OK;
}

void braid_streams_values_leave(struct streams_loops *loops, struct streams_values *values)
{
    pthread_mutex_lock(&loops->lock);
    if (--values->num_users == 0) {
        values->next = loops->spare;
        loops->spare = values;
    }
    pthread_mutex_unlock(&loops->lock);
}

void braid_streams_values_free(struct streams_values *values)
{
    while (values) {
        struct streams_values *next = values->next;
        free(values->tasks);
        free(values->args);
        free(values->arguments);
        free(values);
        values = next;
    }
}
