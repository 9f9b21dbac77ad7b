// SPDX-License-Identifier: Apache-2.0
// The part that keeps times of an exec's frames: room for them, and which operation has those of a
// node.
#include "exec/exec_times.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "exec/exec.h"

// A node without work has the times of the last operation before it on its lane that has some.
// SIZE_MAX: there is none, or no lane has the node.
static void find_ops(const struct program *program, size_t *op_of_node)
{
    for (uint32_t i = 0; i < program->num_nodes; i++)
        op_of_node[i] = program->num_bodies ? EXEC_TIMES_TALLIED : SIZE_MAX;
    for (uint32_t lane = 0; lane < program->num_lanes; lane++) {
        size_t timed = SIZE_MAX;
        for (size_t i = 0; i < program->lanes[lane].num_ops; i++) {
            const braid_step *op = program_lane_op(program, lane, i);
            if (program_is_timed(program, op))
                timed = (size_t)(op - program->ops);
            if (program_has_node(op))
                op_of_node[op->node] = timed;
        }
    }
}

static size_t num_words(const braid_exec *exec)
{
    return exec->tasks.num / 64 + 1;
}

static bool is_disabled(const braid_exec *exec, uint32_t node)
{
    const struct task_control *control = tasks_control(&exec->tasks, node);
    return !control->enabled || control->rests ||
           task_is_empty(exec->tasks.items[node].kind, control);
}

static void find_disabled(const braid_exec *exec, struct exec_times *times)
{
    if (times->seen == exec->values.num_controls)
        return;
    memset(times->disabled_now, 0, num_words(exec) * sizeof(uint64_t));
    for (uint32_t i = 0; i < exec->tasks.num; i++)
        times->disabled_now[i / 64] |= (uint64_t)is_disabled(exec, i) << i % 64;
    times->seen = exec->values.num_controls;
}

void braid_exec_note_disabled(const braid_exec *exec, uint64_t first, uint32_t num_frames)
{
    struct exec_times *times = braid_exec_get_times(exec);
    size_t num = num_words(exec);
    if (!times)
        return;
    find_disabled(exec, times);
    for (uint32_t i = 0; i < num_frames && i < times->room; i++)
        memcpy(times->disabled + (first + num_frames - 1 - i) % times->room * num,
               times->disabled_now, num * sizeof(uint64_t));
}

bool braid_exec_was_disabled(const braid_exec *exec, uint32_t index, uint32_t node)
{
    const struct exec_times *times = braid_exec_get_times(exec);
    size_t row = times->numbers[index] % times->room;
    return times->disabled[row * num_words(exec) + node / 64] >> node % 64 & 1;
}

static void finish(struct exec_part *part, braid_exec *exec)
{
    struct exec_times *times = (struct exec_times *)part;
    (void)exec;
    braid_store_finish(&times->told.store);
    braid_profile_finish(&times->profile);
    braid_store_finish(&times->store);
    braid_free(times);
}

static braid_status before_launch(struct exec_part *part, braid_exec *exec,
                                  const struct exec_launch *launch)
{
    struct exec_times *times = (struct exec_times *)part;
    if (launch->num_frames == 1) // otherwise they are noted with their rows
        braid_exec_note_disabled(exec, launch->first, 1);
    times->num_launches += launch->num_frames;
    times->begun_ns = clock_now_ns();
    return BRAID_OK;
}

static braid_status after_launch(struct exec_part *part, braid_exec *exec,
                                 const struct exec_launch *launch)
{
    struct exec_times *times = (struct exec_times *)part;
    (void)exec;
    const struct profile_span span = { times->begun_ns, clock_now_ns() };
    uint64_t first = launch->first, end = first + launch->num_launched;
    if (end - first > times->room)
        first = end - times->room;
    for (uint64_t frame = first; frame < end; frame++)
        times->launches[frame % times->room] = span;
    return BRAID_OK;
}

static const struct exec_part_ops ops = {
    .before_launch = before_launch,
    .after_launch = after_launch,
    .finish = finish,
};

static braid_status fill(const braid_exec *exec, uint32_t num_frames, struct exec_times *times)
{
    const struct program *program = &exec->program;
    uint64_t num_read =
        (uint64_t)exec_times_of_slot(num_frames, exec->frames.num) * exec->frames.num;
    times->order = braid_store_take(&times->store, num_frames, sizeof(uint32_t));
    times->numbers = braid_store_take(&times->store, num_frames, sizeof(uint64_t));
    times->launches = braid_store_take(&times->store, num_frames, sizeof(struct profile_span));
    times->op_of_node = braid_store_take(&times->store, program->tasks->num, sizeof(size_t));
    times->scratch = braid_store_take(&times->store, num_frames, sizeof(uint64_t));
    times->disabled_now = braid_store_take(&times->store, num_words(exec), sizeof(uint64_t));
    times->disabled =
        braid_store_take(&times->store, num_frames * num_words(exec), sizeof(uint64_t));
    times->seen = UINT64_MAX;
    if (times->store.failed || num_read > UINT32_MAX)
        return braid_error_no_memory("the times of frames");
    find_ops(program, times->op_of_node);
    return braid_profile_create(program, (uint32_t)num_read, &times->profile);
}

braid_status braid_exec_add_times(braid_exec *exec, uint32_t num_frames)
{
    if (!num_frames)
        return BRAID_OK;
    struct exec_times *times = braid_allocate_zeroed(1, sizeof(*times));
    if (!times)
        return braid_error_no_memory("the times of frames");
    *times = (struct exec_times){ .part.ops = &ops, .room = num_frames };
    braid_exec_add_part(&exec->parts, &times->part);
    return fill(exec, num_frames, times);
}

void braid_exec_drop_times(braid_exec *exec)
{
    braid_exec_drop_part(&exec->parts, exec, &ops);
}

struct exec_times *braid_exec_get_times(const braid_exec *exec)
{
    return (struct exec_times *)braid_exec_find_part(exec->parts, &ops);
}
