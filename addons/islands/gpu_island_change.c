// SPDX-License-Identifier: Apache-2.0
// Changing calls of an island beyond their arguments: their grid, and whether they run.
//
// If grids may vary, each call's grid stands before its arguments, among the launch's parameters of
// a frame. A grid without blocks skips the call. That costs each call a little. So islands are made
// so if a parameter may change a call, and made again when a program changes a call directly.
#include <string.h>

#include "backends/driver_graph/driver_graph_islands.h"
#include "base/array.h"
#include "base/error.h"
#include "islands/gpu_island.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_maker.h"

bool braid_gpu_island_must_change(const struct gpu_island *island, uint32_t call,
                                  const struct backend_task *task)
{
    const braid_dim3 made = island->lists.calls[call].grid;
    const braid_dim3 grid = task->kind == WORK_KERNEL ? task->launch.grid : made;
    bool same = grid.x == made.x && grid.y == made.y && grid.z == made.z;
    return !island->layout.grids_vary && (task->disabled || !same);
}

static const char *find_reason(const struct island_call *call, const struct backend_task *task)
{
    const braid_dim3 grid = task->launch.grid;
    const char *reason = braid_gpu_island_grid_refusal(grid);
    if (!reason)
        reason = braid_gpu_blocks_refuse(call->fences, (uint64_t)grid.x * grid.y * grid.z);
    return reason;
}

braid_status braid_gpu_island_check_call(const struct gpu_island *island, uint32_t call,
                                         const struct backend_task *task)
{
    const char *reason = task->disabled ? NULL : find_reason(&island->lists.calls[call], task);
    return reason ? braid_gpu_island_refuse(task, reason) : BRAID_OK;
}

braid_status braid_gpu_island_set(struct gpu_backend *gpu, struct gpu_island *island, uint32_t call,
                                  const struct backend_task *task)
{
    const char *reason = NULL;
    braid_status status = BRAID_OK;
    if (task->kind == WORK_KERNEL)
        status = braid_gpu_island_check_call(island, call, task);
    else
        status = braid_gpu_island_refuse_task(gpu, task, &reason);
    if (!status && reason && !task->disabled)
        status = braid_gpu_island_refuse(task, reason);
    if (!status)
        braid_gpu_island_put_call(island, call, task);
    return status;
}

static void *copy_of(const void *items, size_t num, size_t bytes)
{
    void *copy = braid_allocate_zeroed(num, bytes);
    if (copy && num)
        memcpy(copy, items, num * bytes);
    return copy;
}

static braid_status copy_lists(const struct island_lists *lists, struct island_lists *out_lists)
{
    struct island_lists copy = *lists;
    size_t num_firsts = (size_t)lists->num_lanes + 1;
    copy.calls = copy_of(lists->calls, lists->num_calls, sizeof(*copy.calls));
    copy.lane_first = copy_of(lists->lane_first, num_firsts, sizeof(*copy.lane_first));
    copy.waits = copy_of(lists->waits, lists->num_waits, sizeof(*copy.waits));
    copy.steps = copy_of(lists->steps, lists->num_steps, sizeof(*copy.steps));
    copy.step_ends = copy_of(lists->step_ends, (size_t)lists->num_steps * lists->num_lanes,
                             sizeof(*copy.step_ends));
    if (!copy.calls || !copy.lane_first || !copy.waits || !copy.steps || !copy.step_ends) {
        braid_island_lists_finish(&copy);
        return braid_error_no_memory("an island");
    }
    *out_lists = copy;
    return BRAID_OK;
}

static void take_over(struct gpu_island *island, struct gpu_island *old)
{
    island->notes = old->notes;
    island->own_notes = old->own_notes;
    island->times = old->times;
    island->times_of_lane = old->times_of_lane;
    island->times_room = old->times_room;
    island->counter = old->counter;
    island->counts_of_frame = old->counts_of_frame;
    island->num_tallies = old->num_tallies;
    memcpy(island->args + island->scopes_at, old->args + old->scopes_at,
           old->lists.num_scopes * sizeof(struct island_scope));
    old->notes = old->own_notes = NULL; // a frame in flight writes to its own
    island->replaced = old;
}

braid_status braid_gpu_island_let_grids_vary(struct gpu_backend *gpu, struct gpu_island **island)
{
    struct gpu_island *old = *island, *made = NULL;
    struct island_lists lists;
    braid_status status = copy_lists(&old->lists, &lists);
    if (!status)
        status = braid_gpu_island_make(gpu, &lists, old->layout.chain, true, &made);
    if (!status && old->rows)
        status = braid_gpu_island_reserve_rows(gpu, made);
    if (status) {
        braid_gpu_island_destroy(gpu, made);
        return status;
    }
    take_over(made, old);
    *island = made;
    return BRAID_OK;
}
