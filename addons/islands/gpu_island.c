// SPDX-License-Identifier: Apache-2.0
// An island: many kernels' calls inside one kernel, loaded on a device.
#include "islands/gpu_island.h"

#include <stdlib.h>
#include <string.h>

#include "backends/driver_graph/driver_graph_islands.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/error.h"
#include "islands/gpu_island_code.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_maker.h"
#include "islands/gpu_island_move.h"

const char *braid_gpu_island_grid_refusal(braid_dim3 grid)
{
    bool fits =
        (uint64_t)grid.x * grid.y <= INT32_MAX && (uint64_t)grid.x * grid.y * grid.z <= INT32_MAX;
    return fits ? NULL : "its grid is too large";
}

static braid_status find_kernel_reason(struct gpu_backend *gpu, const struct backend_task *task,
                                       const char **out_reason)
{
    const struct backend_launch *launch = &task->launch;
    braid_dim3 block = launch->block;
    const struct gpu_callable *callable;
    *out_reason = NULL;
    if (launch->cluster.x)
        *out_reason = "it has a cluster";
    else if (launch->grid_from)
        *out_reason = "its grid is read from memory";
    else if ((uint64_t)block.x * block.y * block.z > ISLAND_MOST_THREADS)
        *out_reason = "its blocks are too large";
    else
        *out_reason = braid_gpu_island_grid_refusal(launch->grid);
    if (*out_reason)
        return BRAID_OK;
    braid_status status = braid_gpu_find_callable(gpu, gpu_kernel_from(launch->kernel), &callable);
    if (!status)
        *out_reason = braid_gpu_callable_refuse(callable, launch);
    return status;
}

braid_status braid_gpu_island_refuse_task(struct gpu_backend *gpu, const struct backend_task *task,
                                          const char **out_reason)
{
    *out_reason = NULL;
    if (task->kind == WORK_COPY || task->kind == WORK_FILL)
        return braid_island_move_refuse(gpu, task, out_reason);
    if (task->kind == WORK_KERNEL)
        return find_kernel_reason(gpu, task, out_reason);
    *out_reason = "it is not a kernel";
    return BRAID_OK;
}

static braid_status check_task(struct gpu_backend *gpu, const struct backend_task *task)
{
    const char *reason;
    braid_status status = braid_gpu_island_refuse_task(gpu, task, &reason);
    return status || !reason ? status : braid_gpu_island_refuse(task, reason);
}

enum { PROGRESS_STRIDE = 128 }; // bytes: a line of its own for each lane

static braid_status load(struct gpu_island_maker *maker)
{
    struct gpu_island *island = maker->island;
    struct island_parts parts = { 0 };
    braid_status status =
        braid_island_parts_create(&island->layout, maker->modules, maker->num_modules,
                                  maker->kernels, maker->num_kernels, &parts);
    if (!status)
        status = braid_gpu_island_code_acquire(maker->gpu, &parts, &island->code);
    braid_island_parts_finish(&parts);
    if (!status)
        island->kernel.function = island->code->function;
    island->kernel.base.waits_first = island->layout.early;
    return status;
}

static braid_status upload_words(struct gpu_island_maker *maker)
{
    struct gpu_backend *gpu = maker->gpu;
    struct gpu_island *island = maker->island;
    struct island_words words;
    braid_status status = braid_island_words_create(&island->lists, maker->entry_of,
                                                    island->args_of, &island->layout, &words);
    if (status)
        return status;
    size_t lanes = (size_t)island->layout.num_blocks * island->layout.num_groups;
    void *zeros = calloc(lanes, PROGRESS_STRIDE);
    if (!zeros)
        status = braid_error_no_memory("an island");
    if (!status)
        status = braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_DEVICE, words.num_units * 16,
                                            &island->words);
    if (!status)
        status = braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_DEVICE, lanes * PROGRESS_STRIDE,
                                            &island->progress);
    if (!status)
        status = braid_gpu_copy_now(gpu, island->words, words.words, words.num_units * 16,
                                    "loading an island");
    if (!status)
        status = braid_gpu_copy_now(gpu, island->progress, zeros, lanes * PROGRESS_STRIDE,
                                    "loading an island");
    free(words.words);
    free(zeros);
    return status;
}

static void describe_launch(struct gpu_island *island)
{
    const struct island_layout *layout = &island->layout;
    island->num_frames = 1;
    island->times_room = island->counts_of_frame = 1;
    void *const parameters[ISLAND_PARAMETERS] = {
        &island->words,           &island->progress,         &island->layout.span,
        &island->num_frames,      &island->rows_now,         island->args,
        &island->notes,           &island->cancelled,        &island->times,
        &island->times_first,     &island->times_room,       &island->times_of_lane,
        &island->scopes_at,       &island->lists.num_scopes, &island->counter,
        &island->counts_of_frame, &island->num_tallies,
    };
    memcpy(island->parameters, parameters, sizeof(parameters));
    island->launch = (struct backend_launch){
        .kernel = &island->kernel.base,
        .grid = { layout->num_blocks, 1, 1 },
        .block = { layout->num_threads, 1, 1 },
        .shared_bytes =
            layout->num_groups * layout->lane_shared + (layout->num_args + layout->most_units) * 16,
        .cooperative = layout->num_blocks > 1,
        .num_args = ISLAND_PARAMETERS,
        .args = island->parameters,
    };
}

// A cooperative launch that does not fit is refused by the driver; here it is said before.
static braid_status check_room(struct gpu_island_maker *maker)
{
    struct gpu_backend *gpu = maker->gpu;
    struct gpu_island *island = maker->island;
    const struct backend_launch *launch = &island->launch;
    atomic_init(&island->kernel.max_dynamic_shared, 0);
    const void *slot = NULL;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, &slot);
    if (result == GPU_INVALID_VALUE)
        return braid_error(BRAID_UNSUPPORTED,
                           "the lists of an island take %u bytes of shared memory",
                           launch->shared_bytes);
    if (result)
        return braid_gpu_check(gpu, result, slot, "loading an island");
    if (!launch->cooperative)
        return BRAID_OK;
    if (!braid_gpu_has_cooperative(gpu))
        return braid_error(BRAID_UNSUPPORTED, "%s has no cooperative launches", gpu->label);
    int fit = 0;
    result = gpu->api->function_occupancy(&fit, island->kernel.function, (int)launch->block.x,
                                          launch->shared_bytes);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->function_occupancy, "loading an island");
    long long room = (long long)fit * gpu->attributes[GPU_NUM_UNITS];
    if (room < (long long)launch->grid.x)
        return braid_error(BRAID_UNSUPPORTED,
                           "an island needs %u blocks at once, and %s runs %lld of them",
                           launch->grid.x, gpu->label, room);
    return BRAID_OK;
}

void braid_gpu_island_put_call(struct gpu_island *island, uint32_t call,
                               const struct backend_task *task)
{
    unsigned char *args = island->args + island->args_of[call];
    struct island_move move;
    if (island->layout.grids_vary)
        braid_island_put_grid(&island->lists.calls[call], task, args - ISLAND_GRID_BYTES);
    if (task)
        braid_island_put_args(braid_island_launch_of(task, &move), args);
}

static braid_status make(struct gpu_island_maker *maker, bool chain)
{
    struct gpu_island *island = maker->island;
    braid_status status = braid_island_lists_check(&island->lists);
    for (uint32_t i = 0; i < island->lists.num_calls && !status; i++) {
        if (island->lists.calls[i].task)
            status = check_task(maker->gpu, island->lists.calls[i].task);
    }
    if (!status)
        status = braid_gpu_island_read_calls(maker);
    if (!status)
        status = braid_gpu_island_order(maker);
    if (!status)
        status = braid_gpu_island_lay_out(maker, chain);
    if (!status)
        status = braid_gpu_island_lay_out_args(maker);
    if (!status)
        status = load(maker);
    if (!status)
        status = upload_words(maker);
    if (status)
        return status;
    describe_launch(island);
    for (uint32_t i = 0; i < island->lists.num_calls; i++)
        braid_gpu_island_put_call(island, i, island->lists.calls[i].task);
    return check_room(maker);
}

static void finish_maker(struct gpu_island_maker *maker)
{
    free(maker->modules);
    free(maker->kernels);
    free(maker->loaded);
    free(maker->entry_of);
}

static bool allocate_maker(struct gpu_island_maker *maker)
{
    size_t num = (size_t)maker->island->lists.num_calls + 1;
    maker->modules = calloc(num, sizeof(*maker->modules));
    maker->kernels = calloc(num, sizeof(*maker->kernels));
    maker->loaded = calloc(num, sizeof(*maker->loaded));
    maker->entry_of = calloc(num, sizeof(*maker->entry_of));
    maker->island->args_of = calloc(num, sizeof(*maker->island->args_of));
    return maker->modules && maker->kernels && maker->loaded && maker->entry_of &&
           maker->island->args_of;
}

braid_status braid_gpu_island_make(struct gpu_backend *gpu, struct island_lists *lists, bool chain,
                                   bool grids_vary, struct gpu_island **out_island)
{
    struct gpu_island *island = calloc(1, sizeof(*island));
    if (!island) {
        braid_island_lists_finish(lists);
        return braid_error_no_memory("an island");
    }
    island->lists = *lists;
    island->layout.grids_vary = grids_vary;
    *lists = (struct island_lists){ 0 };
    struct gpu_island_maker maker = {
        .gpu = gpu, .island = island, .least_threads = UINT32_MAX, .is_plain = true
    };
    braid_status status =
        allocate_maker(&maker) ? make(&maker, chain) : braid_error_no_memory("an island");
    finish_maker(&maker);
    if (status)
        braid_gpu_island_destroy(gpu, island);
    else
        *out_island = island;
    return status;
}

braid_status braid_gpu_island_create(struct gpu_backend *gpu, struct island_lists *lists,
                                     bool chain, struct gpu_island **out_island)
{
    bool vary = false;
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        const struct backend_task *task = lists->calls[i].task;
        vary = vary || (task && (task->may_idle || task->varies & ISLAND_SHAPE_TARGETS));
    }
    return braid_gpu_island_make(gpu, lists, chain, vary, out_island);
}

void braid_gpu_island_destroy(struct gpu_backend *gpu, struct gpu_island *island)
{
    if (!island)
        return;
    braid_gpu_island_destroy(gpu, island->replaced);
    braid_gpu_kept_memory_leave(gpu, island->words);
    braid_gpu_kept_memory_leave(gpu, island->progress);
    braid_gpu_kept_memory_leave(gpu, island->rows);
    braid_gpu_kept_memory_leave(gpu, island->own_notes);
    braid_gpu_island_code_release(gpu, island->code);
    braid_island_lists_finish(&island->lists);
    free(island->args_of);
    free(island->args);
    free(island->host_rows);
    free(island);
}

const struct backend_launch *braid_gpu_island_launch(const struct gpu_island *island)
{
    return &island->launch;
}

void braid_gpu_island_set_scope(struct gpu_island *island, uint32_t index,
                                const struct island_scope *scope)
{
    memcpy(island->args + island->scopes_at + index * sizeof(*scope), scope, sizeof(*scope));
}
