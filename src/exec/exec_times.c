// SPDX-License-Identifier: Apache-2.0
// Room for the times of an exec's frames, and which operation has those of a node.
#include "exec/exec_times.h"

#include "base/array.h"
#include "base/error.h"

// The last operation before `op` on the lane that has times; SIZE_MAX: there is none.
static size_t find_timed_before(const struct program *program, uint32_t lane, size_t op)
{
    size_t first = program->lanes[lane].first_op;
    while (op > first && program->ops[op - 1].kind == PROGRAM_PUBLISH)
        op--;
    return op > first ? op - 1 : SIZE_MAX;
}

static void find_ops(const struct program *program, size_t *op_of_node)
{
    for (size_t i = 0; i < program->num_ops; i++)
        if (program->ops[i].kind == PROGRAM_RUN)
            op_of_node[program->ops[i].index] = i;
    for (uint32_t i = 0; i < program->num_empties; i++) {
        const struct program_empty *empty = &program->empties[i];
        op_of_node[empty->task] = find_timed_before(program, empty->lane, empty->op);
    }
}

braid_status braid_exec_times_create(const struct program *program, uint32_t num_frames,
                                     uint32_t num_slots, struct exec_times *out_times)
{
    uint64_t num_read = (uint64_t)exec_times_of_slot(num_frames, num_slots) * num_slots;
    struct exec_times times = {
        .room = num_frames,
        .order = braid_allocate_zeroed(num_frames, sizeof(uint32_t)),
        .numbers = braid_allocate_zeroed(num_frames, sizeof(uint64_t)),
        .launches = braid_allocate_zeroed(num_frames, sizeof(struct profile_span)),
        .op_of_node = braid_allocate_zeroed(program->tasks->num, sizeof(size_t)),
        .scratch = braid_allocate_zeroed(num_frames, sizeof(uint64_t)),
    };
    braid_status status = BRAID_OK;
    if (!times.order || !times.numbers || !times.launches || !times.op_of_node || !times.scratch ||
        num_read > UINT32_MAX)
        status = braid_error_no_memory("the times of frames");
    if (!status)
        status = braid_profile_create((uint32_t)num_read, program->num_ops, &times.profile);
    if (status) {
        braid_exec_times_finish(&times);
        return status;
    }
    find_ops(program, times.op_of_node);
    *out_times = times;
    return BRAID_OK;
}

void braid_exec_times_finish(struct exec_times *times)
{
    braid_profile_finish(&times->profile);
    free(times->order);
    free(times->numbers);
    free(times->launches);
    free(times->op_of_node);
    free(times->scratch);
    *times = (struct exec_times){ 0 };
}

void braid_exec_times_note_launch(struct exec_times *times, uint64_t first, uint64_t end,
                                  uint64_t begun_ns)
{
    const struct profile_span launch = { begun_ns, clock_now_ns() };
    if (end - first > times->room)
        first = end - times->room;
    for (uint64_t frame = first; frame < end; frame++)
        times->launches[frame % times->room] = launch;
}
