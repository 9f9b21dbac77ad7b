// SPDX-License-Identifier: Apache-2.0
// An island: many kernels' calls inside one kernel, loaded on a device.
#include "backends/gpu/gpu_island.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/gpu/gpu_island_code.h"
#include "backends/gpu/gpu_island_text.h"
#include "base/error.h"
#include "base/node_text.h"

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    MOST_GROUPS = 14,      // of more than a warp: each has a barrier of its own, of 16
    LEAST_THREADS = 128,   // that load the lists and arguments
    PROGRESS_STRIDE = 128, // bytes: a line of its own for each lane
    OTHER_PARAMETERS = 64, // bytes that the kernel's other parameters take at most
    MOST_ARGUMENTS = 32764,
    MOST_ARGUMENTS_BEFORE_12_1 = 4096,
    NUM_PARAMETERS = 6,
};

struct gpu_island {
    struct gpu_island_code *code;
    struct backend_kernel kernel;
    struct island_lists lists;
    struct island_layout layout;
    uint32_t *args_of; // by call: where its arguments begin
    unsigned char *args;
    void *words, *progress; // on the device
    uint32_t num_frames, row_bytes;
    struct backend_launch launch;
    void *parameters[NUM_PARAMETERS];
};

// While an island is made.
struct maker {
    struct gpu_backend *gpu;
    struct gpu_island *island;
    struct island_source *sources;
    const char **source_texts; // what each was read from
    uint32_t num_sources;
    struct island_kernel *kernels;
    const struct backend_kernel **loaded; // whose code each kernel is
    uint32_t num_kernels;
    uint32_t *entry_of; // by call
    struct island_facts facts;
    uint32_t most_threads, least_threads, most_blocks;
};

static uint64_t volume(braid_dim3 size)
{
    return (uint64_t)size.x * size.y * size.z;
}

static const char *find_refusal(const struct gpu_backend *gpu, const struct backend_task *task)
{
    if (gpu->vendor->index != GPU_CUDA)
        return "islands are for CUDA so far";
    if (task->kind != BACKEND_TASK_KERNEL)
        return "it is not a kernel";
    if (!task->launch.kernel->source)
        return "it has no source";
    if (task->launch.cluster.x)
        return "it has a cluster";
    if (task->launch.shared_bytes)
        return "it uses dynamic shared memory";
    if (volume(task->launch.block) > MOST_THREADS)
        return "its blocks are too large";
    return NULL;
}

static braid_status refuse(const struct backend_task *task, const char *reason)
{
    return braid_error(BRAID_UNSUPPORTED, "node %s cannot be in an island: %s",
                       braid_node_text(task->node, task->name).text, reason);
}

braid_status braid_gpu_island_check(const struct gpu_backend *gpu, const struct backend_task *task)
{
    const char *reason = find_refusal(gpu, task);
    return reason ? refuse(task, reason) : BRAID_OK;
}

static braid_status find_source(struct maker *maker, const struct backend_task *task,
                                uint32_t *out_source)
{
    const char *text = task->launch.kernel->source, *reason = NULL;
    for (uint32_t i = 0; i < maker->num_sources; i++) {
        *out_source = i;
        if (maker->source_texts[i] == text)
            return BRAID_OK;
    }
    if (!braid_island_source_read(text, &maker->sources[maker->num_sources], &reason))
        return reason ? refuse(task, reason) : braid_error_no_memory("an island");
    maker->source_texts[maker->num_sources] = text;
    *out_source = maker->num_sources++;
    return BRAID_OK;
}

static braid_status find_kernel(struct maker *maker, const struct backend_task *task,
                                uint32_t *out_kernel)
{
    for (uint32_t i = 0; i < maker->num_kernels; i++) {
        *out_kernel = i;
        if (maker->loaded[i] == task->launch.kernel)
            return BRAID_OK;
    }
    uint32_t source = 0;
    braid_status status = find_source(maker, task, &source);
    if (status)
        return status;
    maker->kernels[maker->num_kernels] = (struct island_kernel){
        .source = source,
        .name = task->launch.kernel->entry,
        .arg_bytes = task->launch.arg_bytes,
        .num_args = task->launch.num_args,
    };
    maker->loaded[maker->num_kernels] = task->launch.kernel;
    *out_kernel = maker->num_kernels++;
    return BRAID_OK;
}

static braid_status read_call(struct maker *maker, uint32_t call)
{
    const struct backend_task *task = maker->island->lists.calls[call].task;
    if (!task) { // a call that runs nothing
        maker->least_threads = 0;
        return BRAID_OK;
    }
    const char *reason = NULL;
    braid_status status = braid_gpu_island_check(maker->gpu, task);
    if (!status)
        status = find_kernel(maker, task, &maker->entry_of[call]);
    if (status)
        return status;
    const struct island_kernel *kernel = &maker->kernels[maker->entry_of[call]];
    uint64_t threads = volume(task->launch.block), blocks = volume(task->launch.grid);
    struct island_facts facts;
    if (!braid_island_entry_fits(&maker->sources[kernel->source], kernel->name, threads, blocks,
                                 &facts, &reason))
        return refuse(task, reason);
    maker->facts.shared |= facts.shared;
    maker->most_threads = threads > maker->most_threads ? (uint32_t)threads : maker->most_threads;
    maker->least_threads =
        threads < maker->least_threads ? (uint32_t)threads : maker->least_threads;
    maker->most_blocks = blocks > maker->most_blocks ? (uint32_t)blocks : maker->most_blocks;
    maker->island->layout.flat &= task->launch.block.y == 1 && task->launch.block.z == 1;
    return BRAID_OK;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

// Static shared memory is one for the whole block, so kernels that use it run one at a time there.
static braid_status lay_out(struct maker *maker, bool chain)
{
    struct island_layout *layout = &maker->island->layout;
    uint32_t lanes = maker->island->lists.num_lanes;
    uint32_t group = (maker->most_threads + WARP - 1) / WARP * WARP;
    group = group ? group : WARP;
    uint32_t most = smaller(MOST_THREADS / group, group == WARP ? WARP : MOST_GROUPS);
    if (maker->facts.shared)
        most = 1;
    uint32_t units = (uint32_t)maker->gpu->attributes[GPU_NUM_UNITS];
    layout->group_threads = group;
    layout->chain = chain;
    layout->num_blocks = 1;
    layout->wide = maker->most_blocks > 1;
    layout->whole = maker->least_threads == group;
    if (chain) {
        layout->num_groups = smaller(most, maker->most_blocks ? maker->most_blocks : 1);
    } else if (lanes <= most) {
        layout->num_groups = lanes;
    } else {
        layout->num_groups = smaller(most, (lanes + units - 1) / units);
        layout->num_blocks = (lanes + layout->num_groups - 1) / layout->num_groups;
    }
    layout->num_threads = layout->num_groups * group;
    if (layout->num_threads < LEAST_THREADS && !(chain && layout->num_groups > 1))
        layout->num_threads = LEAST_THREADS;
    if (lanes > 4096)
        return braid_error(BRAID_UNSUPPORTED, "an island has at most 4096 lanes, not %u", lanes);
    return BRAID_OK;
}

static uint32_t longest_lane(const struct island_lists *lists)
{
    uint32_t most = 0;
    for (uint32_t lane = 0; lane < lists->num_lanes; lane++) {
        uint32_t num = 0;
        for (uint32_t i = lists->lane_first[lane]; i < lists->lane_first[lane + 1]; i++)
            num += lists->calls[i].publishes;
        most = num > most ? num : most;
    }
    return most;
}

static braid_status place_args(struct maker *maker)
{
    struct gpu_island *island = maker->island;
    uint64_t at = 0;
    for (uint32_t i = 0; i < island->lists.num_calls; i++) {
        const struct backend_task *task = island->lists.calls[i].task;
        island->args_of[i] = (uint32_t)at;
        if (!task)
            continue;
        uint32_t bytes = braid_island_arg_bytes(&task->launch);
        uint32_t align = bytes <= 4 ? 4 : bytes <= 8 ? 8 : 16;
        at = (at + align - 1) / align * align;
        island->args_of[i] = (uint32_t)at;
        at += bytes;
        if (at > UINT32_MAX / 2)
            break;
    }
    uint64_t units = at / 16 + 1;
    int limit = maker->gpu->version >= 12010 ? MOST_ARGUMENTS : MOST_ARGUMENTS_BEFORE_12_1;
    if (16 * units + OTHER_PARAMETERS > (uint64_t)limit)
        return braid_error(BRAID_UNSUPPORTED,
                           "the arguments of an island take %llu bytes, and a kernel has room for "
                           "%d",
                           (unsigned long long)(16 * units), limit - OTHER_PARAMETERS);
    island->layout.num_args = (uint32_t)units;
    island->layout.span = longest_lane(&island->lists) + 1;
    island->args = calloc(units, 16);
    return island->args ? BRAID_OK : braid_error_no_memory("an island");
}

static braid_status load(struct maker *maker)
{
    struct gpu_island *island = maker->island;
    char *text = braid_island_text(&island->layout, maker->sources, maker->num_sources,
                                   maker->kernels, maker->num_kernels);
    if (!text)
        return braid_error_no_memory("the code of an island");
    braid_status status = braid_gpu_island_code_acquire(maker->gpu, text, &island->code);
    if (!status)
        island->kernel.function = island->code->function;
    return status;
}

// On a stream of its own, since the null stream would wait for the program's.
static gpu_result upload(const struct gpu_backend *gpu, void *to, const void *from, size_t bytes)
{
    gpu_stream stream;
    gpu_result result = gpu->api->stream_create(&stream, GPU_STREAM_NON_BLOCKING, 0);
    if (result)
        return result;
    result = gpu->api->copy(to, from, bytes, stream);
    if (!result)
        result = gpu->api->stream_synchronize(stream);
    gpu->api->stream_destroy(stream);
    return result;
}

static braid_status upload_words(struct maker *maker)
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
        status = braid_gpu_allocate(&gpu->base, BRAID_MEMORY_DEVICE, words.num_units * 16,
                                    &island->words);
    if (!status)
        status = braid_gpu_allocate(&gpu->base, BRAID_MEMORY_DEVICE, lanes * PROGRESS_STRIDE,
                                    &island->progress);
    gpu_result result = GPU_SUCCESS;
    if (!status)
        result = upload(gpu, island->words, words.words, words.num_units * 16);
    if (!status && !result)
        result = upload(gpu, island->progress, zeros, lanes * PROGRESS_STRIDE);
    free(words.words);
    free(zeros);
    return status ? status : braid_gpu_check(gpu, result, &gpu->api->copy, "loading an island");
}

static void describe_launch(struct gpu_island *island)
{
    const struct island_layout *layout = &island->layout;
    island->num_frames = 1;
    island->parameters[0] = &island->words;
    island->parameters[1] = &island->progress;
    island->parameters[2] = &island->layout.span;
    island->parameters[3] = &island->num_frames;
    island->parameters[4] = &island->row_bytes;
    island->parameters[5] = island->args;
    island->launch = (struct backend_launch){
        .kernel = &island->kernel,
        .grid = { layout->num_blocks, 1, 1 },
        .block = { layout->num_threads, 1, 1 },
        .shared_bytes = (layout->num_args + layout->most_units) * 16,
        .cooperative = layout->num_blocks > 1,
        .num_args = NUM_PARAMETERS,
        .args = island->parameters,
    };
}

// A cooperative launch that does not fit is refused by the driver; here it is said before.
static braid_status check_room(struct maker *maker)
{
    struct gpu_backend *gpu = maker->gpu;
    struct gpu_island *island = maker->island;
    const struct backend_launch *launch = &island->launch;
    atomic_init(&island->kernel.max_dynamic_shared, 0);
    const void *slot = NULL;
    gpu_result result = braid_gpu_allow_shared(gpu, launch, &slot);
    if (result)
        return braid_error(BRAID_UNSUPPORTED,
                           "the lists of an island take %u bytes of shared memory",
                           launch->shared_bytes);
    if (!launch->cooperative)
        return BRAID_OK;
    if (!gpu->api->function_occupancy || !gpu->api->launch_config || !gpu->api->node_set_attribute)
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

static braid_status make(struct maker *maker, bool chain)
{
    struct gpu_island *island = maker->island;
    braid_status status = braid_island_lists_check(&island->lists);
    island->layout.flat = true;
    for (uint32_t i = 0; i < island->lists.num_calls && !status; i++)
        status = read_call(maker, i);
    if (!status)
        status = lay_out(maker, chain);
    if (!status)
        status = place_args(maker);
    if (!status)
        status = load(maker);
    if (!status)
        status = upload_words(maker);
    if (status)
        return status;
    describe_launch(island);
    for (uint32_t i = 0; i < island->lists.num_calls; i++) {
        if (island->lists.calls[i].task)
            braid_gpu_island_set_args(island, i, &island->lists.calls[i].task->launch);
    }
    return check_room(maker);
}

static void finish_maker(struct maker *maker)
{
    for (uint32_t i = 0; maker->sources && i < maker->num_sources; i++)
        braid_island_source_finish(&maker->sources[i]);
    free(maker->sources);
    free(maker->source_texts);
    free(maker->kernels);
    free(maker->loaded);
    free(maker->entry_of);
}

static bool allocate_maker(struct maker *maker)
{
    size_t num = (size_t)maker->island->lists.num_calls + 1;
    maker->sources = calloc(num, sizeof(*maker->sources));
    maker->source_texts = calloc(num, sizeof(*maker->source_texts));
    maker->kernels = calloc(num, sizeof(*maker->kernels));
    maker->loaded = calloc(num, sizeof(*maker->loaded));
    maker->entry_of = calloc(num, sizeof(*maker->entry_of));
    maker->island->args_of = calloc(num, sizeof(*maker->island->args_of));
    return maker->sources && maker->source_texts && maker->kernels && maker->loaded &&
           maker->entry_of && maker->island->args_of;
}

braid_status braid_gpu_island_create(struct gpu_backend *gpu, struct island_lists *lists,
                                     bool chain, struct gpu_island **out_island)
{
    struct gpu_island *island = calloc(1, sizeof(*island));
    if (!island) {
        braid_island_lists_finish(lists);
        return braid_error_no_memory("an island");
    }
    island->lists = *lists;
    *lists = (struct island_lists){ 0 };
    struct maker maker = { .gpu = gpu, .island = island, .least_threads = UINT32_MAX };
    braid_status status =
        allocate_maker(&maker) ? make(&maker, chain) : braid_error_no_memory("an island");
    finish_maker(&maker);
    if (status)
        braid_gpu_island_destroy(gpu, island);
    else
        *out_island = island;
    return status;
}

void braid_gpu_island_destroy(struct gpu_backend *gpu, struct gpu_island *island)
{
    if (!island)
        return;
    braid_gpu_island_memory_leave(gpu, island->words);
    braid_gpu_island_memory_leave(gpu, island->progress);
    braid_gpu_island_code_release(gpu, island->code);
    braid_island_lists_finish(&island->lists);
    free(island->args_of);
    free(island->args);
    free(island);
}

void braid_gpu_island_set_args(struct gpu_island *island, uint32_t call,
                               const struct backend_launch *launch)
{
    braid_island_put_args(launch, island->args + island->args_of[call]);
}

const struct backend_launch *braid_gpu_island_launch(struct gpu_island *island, uint32_t num_frames)
{
    island->num_frames = num_frames;
    return &island->launch;
}
