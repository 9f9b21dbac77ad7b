// SPDX-License-Identifier: Apache-2.0
// An island: many kernels' calls inside one kernel, loaded on a device.
#include "islands/gpu_island.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/driver_graph/driver_graph_islands.h"
#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/error_details.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "islands/gpu_island_code.h"
#include "islands/gpu_island_kernel.h"
#include "islands/gpu_island_move.h"

// ---- its tasks: the kernels they call, how lanes lie in blocks, and where arguments lie ----

enum {
    MOST_BARRIERS = 15, // for teams, and for groups of more than a warp; all threads have another
    MOST_WARPS = 32,
    MOST_SMALL = 30000,     // bytes of all such arguments
    LEAST_THREADS = 128,    // that load the lists and arguments
    LISTS_BYTES = 64 << 10, // shared memory that lists and arguments may have
    OTHER_PARAMETERS = 96,  // bytes that the kernel's other parameters take
    MOST_ARGUMENTS = 32764,
    MOST_ARGUMENTS_BEFORE_12_1 = 4096,
    MOST_AWAY = 192 << 10, // bytes of a block's, which it loads into shared memory
    WARP = 32,
};

// An island while it is made: facts from its tasks, and the steps from these to the island.
struct gpu_island_maker {
    struct gpu_backend *gpu;
    struct gpu_island *island;
    const char **modules; // texts
    uint32_t num_modules;
    struct island_kernel *kernels;
    const struct gpu_kernel **loaded; // whose code each kernel is
    uint32_t num_kernels;
    uint32_t *entry_of; // by call
    struct island_words words;
    bool barriers, is_partial, is_plain; // some kernel has, some, all are: see ptx_callable
    uint32_t most_threads, least_threads, most_blocks, most_arg_bytes;
};

static uint64_t volume(braid_dim3 size)
{
    return (uint64_t)size.x * size.y * size.z;
}

// Writes why a task cannot be inside; BRAID_UNSUPPORTED.
static braid_status refuse(const struct backend_task *task, const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s cannot be in an island: %s",
                       braid_node_text(task->node, task->name).text, reason);
}

static uint32_t find_module(struct gpu_island_maker *maker, const char *text)
{
    for (uint32_t i = 0; i < maker->num_modules; i++) {
        if (maker->modules[i] == text)
            return i;
    }
    maker->modules[maker->num_modules] = text;
    return maker->num_modules++;
}

static uint32_t find_kernel(struct gpu_island_maker *maker, const struct backend_launch *launch,
                            const struct gpu_callable *callable)
{
    for (uint32_t i = 0; i < maker->num_kernels; i++) {
        if (maker->loaded[i] == gpu_kernel_from(launch->kernel))
            return i;
    }
    maker->kernels[maker->num_kernels] =
        (struct island_kernel){ .module = find_module(maker, callable->text),
                                .entry = callable->entry,
                                .needs = &callable->needs };
    maker->loaded[maker->num_kernels] = gpu_kernel_from(launch->kernel);
    return maker->num_kernels++;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void note_call(struct gpu_island_maker *maker, const struct backend_launch *launch,
                      const struct gpu_callable *callable)
{
    const struct ptx_callable *needs = &callable->needs;
    struct island_layout *layout = &maker->island->layout;
    uint32_t threads = (uint32_t)volume(launch->block);
    maker->barriers |= needs->barriers;
    maker->is_partial |= needs->is_partial;
    maker->is_plain &= needs->is_plain;
    maker->most_threads = larger(maker->most_threads, threads);
    maker->most_arg_bytes = larger(maker->most_arg_bytes, braid_island_arg_bytes(launch));
    layout->flat &= launch->block.y == 1 && launch->block.z == 1;
    layout->numbers |= needs->numbers;
    layout->lane_shared = larger(layout->lane_shared, braid_gpu_callable_shared(callable, launch));
}

static braid_status read_call(struct gpu_island_maker *maker, uint32_t index)
{
    struct island_call *call = &maker->island->lists.calls[index];
    if (!call->task) { // a call that runs nothing
        maker->least_threads = 0;
        return BRAID_OK;
    }
    struct island_move move;
    const struct gpu_callable *callable;
    const struct backend_launch *launch =
        braid_island_launch_of(call->task, ISLAND_LEAST_GROUP, &move);
    maker->island->cancelled = call->task->cancelled_there; // the same for all tasks
    braid_status status =
        braid_gpu_find_callable(maker->gpu, gpu_kernel_from(launch->kernel), &callable);
    const char *reason = status ? NULL : braid_gpu_callable_refuse(callable, launch);
    if (reason)
        status = refuse(call->task, reason);
    if (status)
        return status;
    maker->entry_of[index] = find_kernel(maker, launch, callable);
    call->fences = callable->needs.fences;
    note_call(maker, launch, callable);
    if (call->task->kind == WORK_KERNEL) // others take all threads of their group
        maker->least_threads =
            smaller(maker->least_threads, (uint32_t)volume(call->task->launch.block));
    return BRAID_OK;
}

// Reads and checks the tasks: finds the kernels of the calls and their needs. Errors:
// BRAID_UNSUPPORTED, a task cannot be inside, and why; BRAID_NO_MEMORY.
static braid_status read_calls(struct gpu_island_maker *maker)
{
    braid_status status = BRAID_OK;
    maker->island->layout.flat = true;
    for (uint32_t i = 0; i < maker->island->lists.num_calls && !status; i++)
        status = read_call(maker, i);
    return status;
}

// How many bytes each call's arguments take so that they can be loaded at once.
static uint32_t small_args(const struct gpu_island_maker *maker)
{
    uint32_t most = maker->most_arg_bytes, bytes = most <= 4 ? 4 : most <= 8 ? 8 : 16;
    bool has_room = (uint64_t)maker->island->lists.num_calls * bytes <= MOST_SMALL;
    bool narrow = maker->most_blocks <= 1 && !maker->island->layout.grids_vary;
    return most <= 16 && narrow && has_room && maker->is_plain ? bytes : 0;
}

// Each number of kernels' barriers is one for each group, behind those where groups meet
// themselves.
static uint32_t most_by_barriers(const struct island_layout *layout, uint32_t num_others)
{
    uint32_t num = 1;
    for (uint32_t bits = layout->apart ? layout->numbers : 0; bits; bits &= bits - 1)
        num++;
    return (MOST_BARRIERS - num_others) / num;
}

// So many lanes of a block have their shared memory beside lists and arguments.
static uint32_t most_by_memory(const struct gpu_island_maker *maker)
{
    uint32_t each = maker->island->layout.lane_shared;
    int most = maker->gpu->attributes[GPU_MAX_SHARED_OPTIN];
    if (most <= 0)
        most = maker->gpu->attributes[GPU_MAX_SHARED];
    if (each > ISLAND_MOST_SHARED || most < LISTS_BYTES)
        return 1;
    return each ? larger((uint32_t)(most - LISTS_BYTES) / each, 1) : ISLAND_MOST_THREADS;
}

// So many groups have room in a block, beside so many barriers of others.
static uint32_t most_groups(const struct gpu_island_maker *maker, uint32_t num_others)
{
    const struct island_layout *layout = &maker->island->layout;
    const uint32_t group = layout->group_threads;
    if (num_others > MOST_BARRIERS)
        return 0;
    uint32_t by_barriers = group == WARP ? MOST_WARPS : most_by_barriers(layout, num_others);
    return smaller(smaller(ISLAND_MOST_THREADS / group, by_barriers), most_by_memory(maker));
}

// Gives each lane its groups, and each block its lanes. Where calls have several blocks, a lane is
// a team. Teams share a block if they have room there, or if the plan does not spread them.
static void share_out(const struct gpu_island_maker *maker, struct island_layout *layout,
                      uint32_t most)
{
    const struct island_lists *lists = &maker->island->lists;
    const uint32_t lanes = lists->num_lanes, wanted = smaller(most, larger(maker->most_blocks, 1));
    const uint32_t units = (uint32_t)maker->gpu->attributes[GPU_NUM_UNITS];
    const uint32_t room = lanes == 1 ? most : most_groups(maker, lanes) / larger(lanes, 1);
    const bool spreads = lists->spread && room < wanted && lanes <= units;
    layout->num_blocks = 1;
    layout->team = spreads ? wanted : larger(smaller(room, wanted), 1);
    if (spreads) {
        layout->num_groups = layout->team;
        layout->num_blocks = lanes;
    } else if (lanes * layout->team <= most) {
        layout->num_groups = lanes * layout->team;
    } else {
        layout->num_groups = smaller(most, (lanes + units - 1) / units);
        layout->num_blocks = (lanes + layout->num_groups - 1) / layout->num_groups;
    }
    layout->num_at_once = (layout->num_blocks + units - 1) / units;
}

// The blocks of copies and fills depend on the groups.
static void find_grids(struct gpu_island_maker *maker)
{
    const struct island_lists *lists = &maker->island->lists;
    const uint32_t threads = maker->island->layout.group_threads;
    struct island_move move;
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        struct island_call *call = &lists->calls[i];
        if (!call->task)
            continue;
        call->grid = braid_island_launch_of(call->task, threads, &move)->grid;
        maker->most_blocks = larger(maker->most_blocks, (uint32_t)volume(call->grid));
    }
}

// Errors: BRAID_UNSUPPORTED.
static braid_status lay_out(struct gpu_island_maker *maker)
{
    struct island_layout *layout = &maker->island->layout;
    uint32_t lanes = maker->island->lists.num_lanes;
    uint32_t group = (maker->most_threads + WARP - 1) / WARP * WARP;
    group = group ? group : WARP;
    layout->whole = maker->least_threads == group;
    bool is_alike = layout->whole && layout->numbers == 1 && !maker->is_partial;
    layout->apart = maker->barriers && !is_alike && group != WARP;
    layout->group_threads = group;
    find_grids(maker);
    uint32_t most = most_groups(maker, 1);
    if (most == 0)
        return braid_error(BRAID_UNSUPPORTED,
                           "the kernels of an island have more barriers than it has");
    layout->chain = lanes == 1;
    layout->timed = maker->island->lists.timed;
    layout->loops = maker->island->lists.num_scopes > 0;
    layout->cancels = maker->island->cancelled;
    layout->early = maker->gpu->attributes[GPU_MAJOR] >= 9;
    layout->wide = maker->most_blocks > 1 || layout->grids_vary;
    layout->small = small_args(maker);
    share_out(maker, layout, most);
    layout->num_threads = layout->num_groups * group;
    if (layout->num_threads < LEAST_THREADS && layout->team == 1)
        layout->num_threads = LEAST_THREADS;
    if (lanes > 4096)
        return braid_error(BRAID_UNSUPPORTED, "an island has at most 4096 lanes, not %u", lanes);
    return BRAID_OK;
}

// In one step.
static uint32_t longest_lane(const struct island_lists *lists)
{
    uint32_t most = 0;
    for (uint32_t k = 0; k < lists->num_lanes * braid_island_count_steps(lists); k++) {
        struct island_range range =
            braid_island_range(lists, k / lists->num_lanes, k % lists->num_lanes);
        uint32_t num = 0;
        for (uint32_t i = range.first; i < range.end; i++)
            num += lists->calls[i].publishes;
        most = larger(most, num);
    }
    return most;
}

// Graphs of about the same size get the same code so; by a quarter at most.
static uint64_t round_units(uint64_t units, uint64_t most)
{
    uint64_t step = 1;
    while (units > 8 * step)
        step *= 2;
    uint64_t rounded = (units + step - 1) / step * step;
    return rounded < most ? rounded : most;
}

static uint64_t place_call(struct gpu_island *island, uint32_t call, uint64_t at)
{
    const struct backend_task *task = island->lists.calls[call].task;
    struct island_move move;
    if (island->layout.grids_vary)
        at = (at + 15) / 16 * 16 + ISLAND_GRID_BYTES;
    island->args_of[call] = (uint32_t)at;
    if (!task)
        return at;
    uint32_t bytes =
        braid_island_arg_bytes(braid_island_launch_of(task, ISLAND_LEAST_GROUP, &move));
    uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
    align = island->layout.small ? island->layout.small : align;
    at = (at + align - 1) / align * align;
    island->args_of[call] = (uint32_t)at;
    return at + bytes;
}

// Returns the bytes of all calls; or, where arguments are away, the most of a block's.
static uint64_t place_calls(struct gpu_island *island)
{
    const struct island_lists *lists = &island->lists;
    const uint32_t per_block = island_lanes_of_a_block(&island->layout);
    uint64_t at = 0, most = 0;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        if (island->layout.is_away && lane % per_block == 0)
            at = 0;
        for (uint32_t i = lists->lane_first[lane]; i < lists->lane_first[lane + 1]; i++)
            at = at < UINT32_MAX / 2 ? place_call(island, i, at) : at;
        most = at > most ? at : most;
    }
    return (most + 15) / 16 * 16;
}

// Finds a place for the arguments of each call. Errors: BRAID_UNSUPPORTED, they are too many;
// BRAID_NO_MEMORY.
static braid_status lay_out_args(struct gpu_island_maker *maker)
{
    struct gpu_island *island = maker->island;
    struct island_layout *layout = &island->layout;
    uint64_t at = place_calls(island);
    island->scopes_at = (uint32_t)at;
    uint64_t units = at / 16 + 1 + island->lists.num_scopes * sizeof(struct island_scope) / 16;
    bool many = maker->gpu->version >= 12010;
    int limit = many ? MOST_ARGUMENTS : MOST_ARGUMENTS_BEFORE_12_1;
    uint64_t most = (uint64_t)(limit - OTHER_PARAMETERS) / 16;
    if (units > most && island->lists.whole) {
        layout->is_away = true;
        most = MOST_AWAY / 16;
        units = place_calls(island) / 16 + 1;
    }
    if (units > most)
        return braid_error(BRAID_UNSUPPORTED,
                           "the arguments of an island take %llu bytes, and a kernel has room for "
                           "%llu",
                           (unsigned long long)(16 * units), (unsigned long long)(16 * most));
    units = round_units(units, most);
    layout->num_args = (uint32_t)units;
    layout->span = longest_lane(&island->lists) + 1;
    island->away = layout->is_away ? layout->num_args : 0;
    island->args_wait = layout->is_away;
    island->args = braid_allocate_zeroed(1, braid_gpu_island_args_bytes(island));
    return island->args ? BRAID_OK : braid_error_no_memory("an island");
}

size_t braid_gpu_island_args_bytes(const struct gpu_island *island)
{
    const struct island_layout *layout = &island->layout;
    return (size_t)16 * layout->num_args * (layout->is_away ? layout->num_blocks : 1);
}

// ---- the order of modules and kernels in its text: by their text, not by the order of calls ----

// Code is found again by its text, in the process and on disk, so graphs that differ in the order
// of their calls share it.

struct entry {
    const char *text, *name;
    uint32_t was;
};

static int compare(const void *a, const void *b)
{
    const struct entry *first = a, *second = b;
    int order = first->text == second->text ? 0 : strcmp(first->text, second->text);
    if (!order)
        order = strcmp(first->name, second->name);
    return order ? order : (first->was > second->was) - (first->was < second->was);
}

struct ordering {
    struct entry *entries; // as they shall stand
    uint32_t *now_at;      // by where they stood
    unsigned char *room;
    uint32_t num;
};

static void sort(struct ordering *ordering, uint32_t num)
{
    ordering->num = num;
    qsort(ordering->entries, num, sizeof(*ordering->entries), compare);
    for (uint32_t i = 0; i < num; i++)
        ordering->now_at[ordering->entries[i].was] = i;
}

static void apply(const struct ordering *ordering, void *items, size_t bytes)
{
    for (uint32_t i = 0; i < ordering->num; i++)
        memcpy(ordering->room + i * bytes,
               (const unsigned char *)items + ordering->entries[i].was * bytes, bytes);
    memcpy(items, ordering->room, ordering->num * bytes);
}

static void order_modules(struct ordering *ordering, struct gpu_island_maker *maker)
{
    for (uint32_t i = 0; i < maker->num_modules; i++)
        ordering->entries[i] = (struct entry){ maker->modules[i], "", i };
    sort(ordering, maker->num_modules);
    apply(ordering, maker->modules, sizeof(*maker->modules));
    for (uint32_t i = 0; i < maker->num_kernels; i++)
        maker->kernels[i].module = ordering->now_at[maker->kernels[i].module];
}

static void order_kernels(struct ordering *ordering, struct gpu_island_maker *maker)
{
    const struct island_lists *lists = &maker->island->lists;
    for (uint32_t i = 0; i < maker->num_kernels; i++)
        ordering->entries[i] =
            (struct entry){ maker->modules[maker->kernels[i].module], maker->kernels[i].entry, i };
    sort(ordering, maker->num_kernels);
    apply(ordering, maker->kernels, sizeof(*maker->kernels));
    apply(ordering, maker->loaded, sizeof(*maker->loaded));
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        if (lists->calls[i].task)
            maker->entry_of[i] = ordering->now_at[maker->entry_of[i]];
    }
}

// Sorts modules and kernels, so that the text does not depend on the order of calls. Islands of the
// same kernels share one text. Errors: BRAID_NO_MEMORY.
// There are at least as many kernels as modules.
static braid_status order(struct gpu_island_maker *maker)
{
    struct ordering ordering = {
        .entries = braid_allocate_zeroed(maker->num_kernels, sizeof(*ordering.entries)),
        .now_at = braid_allocate_zeroed(maker->num_kernels, sizeof(*ordering.now_at)),
        .room = braid_allocate_zeroed(maker->num_kernels, sizeof(*maker->kernels)),
    };
    bool has_room = ordering.entries && ordering.now_at && ordering.room;
    if (has_room) {
        order_modules(&ordering, maker);
        order_kernels(&ordering, maker);
    }
    braid_free(ordering.entries);
    braid_free(ordering.now_at);
    braid_free(ordering.room);
    return has_room ? BRAID_OK : braid_error_no_memory("an island");
}

// ---- making it ----

// Why a call cannot have the grid: a constant, or NULL.
static const char *grid_refusal(braid_dim3 grid)
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
    else if (launch->cooperative)
        *out_reason = "its launch is cooperative";
    else if (launch->grid_from)
        *out_reason = "its grid is read from memory";
    else if (volume(block) > ISLAND_MOST_THREADS)
        *out_reason = "its blocks are too large";
    else
        *out_reason = grid_refusal(launch->grid);
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

// Adds a task that cannot be inside to the text of all.
static braid_status check_task(struct gpu_backend *gpu, const struct backend_task *task, FILE *to,
                               uint32_t *num)
{
    const char *reason = NULL;
    braid_status status = task ? braid_gpu_island_refuse_task(gpu, task, &reason) : BRAID_OK;
    if (reason)
        fprintf(to, (*num)++ ? "; nor can node %s: %s" : "node %s cannot be in an island: %s",
                braid_node_text(task->node, task->name).text, reason);
    return status;
}

// Errors: BRAID_UNSUPPORTED, some tasks cannot be inside, and why; BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR. If the message has no room for all of them, the details name them.
static braid_status check_tasks(const struct gpu_island_maker *maker)
{
    const struct island_lists *lists = &maker->island->lists;
    char *text = NULL;
    size_t bytes = 0;
    uint32_t num = 0;
    FILE *file = braid_open_text(&text, &bytes);
    braid_status status = file ? BRAID_OK : braid_error_no_memory("an island");
    for (uint32_t i = 0; i < lists->num_calls && !status; i++)
        status = check_task(maker->gpu, lists->calls[i].task, file, &num);
    bool failed = !file || ferror(file);
    failed |= file && fclose(file) != 0;
    if (!status && failed)
        status = braid_error_no_memory("an island");
    if (!status && num) {
        status = braid_error(BRAID_UNSUPPORTED, "%s", text);
        if (bytes >= ERROR_MESSAGE_BYTES)
            braid_error_set_details("\n", text);
    }
    braid_free(text);
    return status;
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

// Dynamic shared memory of a block.
static uint32_t shared_bytes_of(const struct island_layout *layout)
{
    return layout->num_groups * layout->lane_shared + (layout->num_args + layout->most_units) * 16;
}

static braid_status refuse_shared(uint32_t bytes)
{
    return braid_error(BRAID_UNSUPPORTED, "the lists of an island take %u bytes of shared memory",
                       bytes);
}

// Lists that no block has room for are refused before anything is compiled.
static braid_status write_words(struct gpu_island_maker *maker)
{
    struct gpu_island *island = maker->island;
    const int most = maker->gpu->attributes[GPU_MAX_SHARED_OPTIN];
    braid_status status = braid_island_words_create(
        &island->lists, maker->entry_of, island->args_of, &island->layout, &maker->words);
    if (status)
        return status;
    const uint32_t bytes = shared_bytes_of(&island->layout);
    return most > 0 && bytes > (uint32_t)most ? refuse_shared(bytes) : BRAID_OK;
}

static braid_status upload_words(struct gpu_island_maker *maker)
{
    struct gpu_backend *gpu = maker->gpu;
    struct gpu_island *island = maker->island;
    const struct island_words words = maker->words;
    braid_status status = BRAID_OK;
    size_t lanes = (size_t)island->layout.num_blocks * island->layout.num_groups;
    void *zeros = braid_allocate_zeroed(lanes, PROGRESS_STRIDE);
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
    if (!status && island->away)
        status = braid_gpu_kept_memory_take(gpu, BRAID_MEMORY_DEVICE,
                                            braid_gpu_island_args_bytes(island), &island->rows);
    island->rows_now = island->away ? island->rows : NULL;
    braid_free(zeros);
    return status;
}

static void describe_launch(struct gpu_island *island)
{
    const struct island_layout *layout = &island->layout;
    island->num_frames = 1;
    island->times_room = island->counts_of_frame = 1;
    void *const parameters[ISLAND_PARAMETERS] = {
        &island->words,       &island->progress,         &island->layout.span,
        &island->num_frames,  &island->rows_now,         island->args,
        &island->notes,       &island->cancelled,        &island->times,
        &island->times_first, &island->times_room,       &island->times_of_lane,
        &island->scopes_at,   &island->lists.num_scopes, &island->away,
        &island->counter,     &island->counts_of_frame,  &island->num_tallies,
    };
    memcpy(island->parameters, parameters, sizeof(parameters));
    island->launch = (struct backend_launch){
        .kernel = &island->kernel.base,
        .grid = { layout->num_blocks, 1, 1 },
        .block = { layout->num_threads, 1, 1 },
        .shared_bytes = shared_bytes_of(layout),
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
        return refuse_shared(launch->shared_bytes);
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

// Takes the task's present values for a call; NULL: the call runs nothing.
static void put_call(struct gpu_island *island, uint32_t call, const struct backend_task *task)
{
    unsigned char *args = island->args + island->args_of[call];
    struct island_move move;
    uint32_t lane = 0;
    while (island->away && call >= island->lists.lane_first[lane + 1])
        lane++;
    args += (size_t)16 * island->away * (lane / island_lanes_of_a_block(&island->layout));
    island->args_wait = island->away;
    if (island->layout.grids_vary)
        braid_island_put_grid(&island->lists.calls[call], task, args - ISLAND_GRID_BYTES);
    if (task)
        braid_island_put_args(braid_island_launch_of(task, ISLAND_LEAST_GROUP, &move), args);
}

static braid_status make(struct gpu_island_maker *maker)
{
    struct gpu_island *island = maker->island;
    braid_status status = braid_island_lists_check(&island->lists);
    if (!status)
        status = check_tasks(maker);
    if (!status)
        status = read_calls(maker);
    if (!status)
        status = order(maker);
    if (!status)
        status = lay_out(maker);
    if (!status)
        status = lay_out_args(maker);
    if (!status)
        status = write_words(maker);
    if (!status)
        status = load(maker);
    if (!status)
        status = upload_words(maker);
    if (status)
        return status;
    describe_launch(island);
    for (uint32_t i = 0; i < island->lists.num_calls; i++)
        put_call(island, i, island->lists.calls[i].task);
    return check_room(maker);
}

static void finish_maker(struct gpu_island_maker *maker)
{
    braid_free(maker->modules);
    braid_free(maker->kernels);
    braid_free(maker->loaded);
    braid_free(maker->entry_of);
    braid_free(maker->words.words);
}

static bool allocate_maker(struct gpu_island_maker *maker)
{
    size_t num = (size_t)maker->island->lists.num_calls + 1;
    maker->modules = braid_allocate_zeroed(num, sizeof(*maker->modules));
    maker->kernels = braid_allocate_zeroed(num, sizeof(*maker->kernels));
    maker->loaded = braid_allocate_zeroed(num, sizeof(*maker->loaded));
    maker->entry_of = braid_allocate_zeroed(num, sizeof(*maker->entry_of));
    maker->island->args_of = braid_allocate_zeroed(num, sizeof(*maker->island->args_of));
    return maker->modules && maker->kernels && maker->loaded && maker->entry_of &&
           maker->island->args_of;
}

// As braid_gpu_island_create; `grids_vary`: see island_layout.
static braid_status make_island(struct gpu_backend *gpu, struct island_lists *lists,
                                bool grids_vary, struct gpu_island **out_island)
{
    struct gpu_island *island = braid_allocate_zeroed(1, sizeof(*island));
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
        allocate_maker(&maker) ? make(&maker) : braid_error_no_memory("an island");
    finish_maker(&maker);
    if (status)
        braid_gpu_island_destroy(gpu, island);
    else
        *out_island = island;
    return status;
}

braid_status braid_gpu_island_create(struct gpu_backend *gpu, struct island_lists *lists,
                                     struct gpu_island **out_island)
{
    bool vary = false;
    for (uint32_t i = 0; i < lists->num_calls; i++) {
        const struct backend_task *task = lists->calls[i].task;
        vary = vary ||
               (task && (task->disabled || task->may_idle || task->varies & ISLAND_SHAPE_TARGETS));
    }
    return make_island(gpu, lists, vary, out_island);
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
    braid_free(island->args_of);
    braid_free(island->args);
    braid_free(island->host_rows);
    braid_free(island);
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

// ---- changing calls beyond their arguments: their grid, and whether they run ----

// If grids may vary, each call's grid stands before its arguments, among the launch's parameters of
// a frame. A grid without blocks skips the call. That costs each call a little. So islands are made
// so if a parameter may change a call, and made again when a program changes a call directly.

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
    const char *reason = grid_refusal(grid);
    if (!reason)
        reason = braid_gpu_blocks_refuse(call->fences, volume(grid));
    return reason;
}

braid_status braid_gpu_island_check_call(const struct gpu_island *island, uint32_t call,
                                         const struct backend_task *task)
{
    const char *reason = task->disabled ? NULL : find_reason(&island->lists.calls[call], task);
    return reason ? refuse(task, reason) : BRAID_OK;
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
        status = refuse(task, reason);
    if (!status)
        put_call(island, call, task);
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
        status = make_island(gpu, &lists, true, &made);
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
