// SPDX-License-Identifier: Apache-2.0
// Loops and branches as nodes of the driver's graph, and the kernels that set their conditions.
#include "backends/driver_graph/driver_graph_loops.h"

#include <stdatomic.h>
#include <string.h>

#include "backends/gpu/gpu_kept_memory.h"
#include "base/array.h"
#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"

static const char what_loops[] = "the loops of a graph";

enum {
    FIRST_VERSION = 12040, // the first CUDA with loops inside loops
    ELSE_VERSION = 12080,  // one node has both arms; before it each arm has one of its own
};

// Numbers on the device, of each loop and branch.
struct graph_counters {
    uint64_t num;   // iterations since it was entered
    uint64_t total; // in the frame
};

struct graph_loop {
    uint64_t conditions[2]; // the driver's; the second is of a second arm's own node, or 0
    gpu_node begin, next;   // kernels: before it, and behind a loop's body
    uint32_t num_cleared;   // counters that it clears: with those of loops inside; 0: the outer's
};

// An iteration ends with CANCEL if the host may cancel the frame, else with NEXT.
enum { BEGIN, NEXT, CANCEL, CHOOSE, NUM_KERNELS };

static const struct {
    enum gpu_graph_kernel_index index,
        otherwise; // the second if the device does not start kernels early
} own_kernels[NUM_KERNELS] = {
    [BEGIN] = { GPU_OWN_LOOP_BEGIN, GPU_OWN_LOOP_BEGIN },
    [NEXT] = { GPU_OWN_LOOP_NEXT_EARLY, GPU_OWN_LOOP_NEXT },
    [CANCEL] = { GPU_OWN_LOOP_CANCEL_EARLY, GPU_OWN_LOOP_CANCEL },
    [CHOOSE] = { GPU_OWN_BRANCH, GPU_OWN_BRANCH },
};

struct graph_loops {
    struct gpu_backend *gpu;
    struct graph_loop *items;               // by number, like the next two
    struct graph_counters *counters;        // on the device
    uint64_t (*iterations)[NUM_ITERATIONS]; // in host memory
    struct gpu_kernel kernels[NUM_KERNELS];
};

// The arguments of one of the kernels.
struct loop_launch {
    struct backend_launch launch;
    struct graph_counters *counters;
    uint64_t *iterations;
    uint64_t condition, otherwise;
    const uint32_t *word;
    const uint32_t *cancelled;
    uint32_t num;
    uint64_t most;
    void *args[6];
};

// The word that decides. Before the first iteration of none that is the count, which is 0 then.
static const uint32_t *find_word(const struct graph_loops *loops, const struct work_loop *how,
                                 int kernel)
{
    if (kernel == BEGIN && !how->most)
        return (const uint32_t *)(const void *)(loops->counters + how->number);
    return kernel == BEGIN && !how->tests_first ? NULL : how->condition;
}

static void fill_in(const struct graph_loops *loops, const struct backend_task *task, int kernel,
                    struct loop_launch *out_launch)
{
    const struct work_loop *how = &task->work.loop;
    const struct graph_loop *loop = &loops->items[how->number];
    struct loop_launch *launch = out_launch;
    *launch = (struct loop_launch){
        .counters = loops->counters + how->number,
        .iterations = loops->iterations[how->number],
        .condition = loop->conditions[0],
        .otherwise = loop->conditions[1],
        .word = find_word(loops, how, kernel),
        .cancelled = task->cancelled,
        .num = loop->num_cleared,
        .most = how->most,
    };
    void *const args[] = {
        &launch->counters,
        &launch->iterations,
        &launch->condition,
        &launch->word,
        kernel == BEGIN || kernel == CHOOSE ? (void *)&launch->num : (void *)&launch->most,
        kernel == CHOOSE ? (void *)&launch->otherwise : (void *)&launch->cancelled
    };
    memcpy(launch->args, args, sizeof(args));
    launch->launch = (struct backend_launch){
        .kernel = (struct backend_kernel *)(uintptr_t)&loops->kernels[kernel].base,
        .grid = { 1, 1, 1 },
        .block = { 1, 1, 1 },
        .num_args = 6,
        .args = launch->args,
    };
}

static int last_kernel(const struct backend_task *task)
{
    return task->cancelled ? CANCEL : NEXT;
}

static int first_kernel(const struct backend_task *task)
{
    return task->kind == WORK_LOOP ? BEGIN : CHOOSE;
}

// ---- checks ----

static braid_status refuse(const struct stage *stage, uint32_t node, uint32_t loop,
                           const char *what)
{
    const struct backend_task *tasks = stage->frame->tasks;
    return braid_error(
        BRAID_UNSUPPORTED, "node %s is %s inside %s %s, which the device plays without the host",
        braid_node_text(node, tasks[node].name).text, what, braid_work_words[tasks[loop].kind].kind,
        braid_node_text(loop, tasks[loop].name).text);
}

// A kind of node that a device does not do by itself; NULL: it does this one.
static const char *find_guest(const struct backend_task *task)
{
    if (task->kind == WORK_QUEUE || task->kind == WORK_HOST)
        return task->kind == WORK_QUEUE ? "a queue call" : "a host call";
    return task->detour ? "a copy or fill of host memory that the driver does not know" : NULL;
}

static braid_status check_bodies(const struct stage *stage, const struct program *program)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < program->num_bodies && !status; i++) {
        const struct program *body = &program->bodies[i];
        for (size_t k = 0; k < body->num_ops && !status; k++) {
            uint32_t node = body->ops[k].node;
            const char *what =
                program_runs(body, &body->ops[k]) ? find_guest(&stage->frame->tasks[node]) : NULL;
            if (what)
                status = refuse(stage, node, body->node, what);
        }
        status = status ? status : check_bodies(stage, body);
    }
    return status;
}

static braid_status refuse_driver(const struct stage *stage)
{
    uint32_t node = stage->program->bodies[0].node;
    const struct backend_task *task = &stage->frame->tasks[node];
    return braid_error(
        BRAID_UNSUPPORTED,
        "%s: %s %s needs graphs with conditions, which drivers have from CUDA 12.4 on",
        stage->device->label, braid_work_words[task->kind].kind,
        braid_node_text(node, task->name).text);
}

// Graphs with conditions take turns on the device that they are launched on
// (gpu_conditional_launch.c).
static braid_status check_devices(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->program->num_bodies; i++) {
        const struct program *body = &stage->program->bodies[i];
        const struct backend_task *task = &stage->frame->tasks[body->node];
        braid_device *device = places_device(stage->places, stage->device, program_place(body));
        if (device != stage->device)
            return braid_error(
                BRAID_UNSUPPORTED,
                "%s %s runs on %s, and a driver graph has those of its first device only, %s",
                braid_work_words[task->kind].kind, braid_node_text(body->node, task->name).text,
                device->label, stage->device->label);
    }
    return BRAID_OK;
}

braid_status braid_driver_graph_loops_check(const struct stage *stage)
{
    const struct gpu_backend *gpu = gpu_from(stage->device->backend);
    if (!stage->program->num_bodies)
        return BRAID_OK;
    if (!gpu->api->graph_add_node || !gpu->api->graph_create_condition ||
        gpu->version < FIRST_VERSION)
        return refuse_driver(stage);
    braid_status status = check_devices(stage);
    return status ? status : check_bodies(stage, stage->program);
}

// ---- making ----

static braid_status find_kernels(const struct stage *stage, struct graph_loops *loops)
{
    for (int i = 0; i < NUM_KERNELS; i++) {
        gpu_function *function = &loops->kernels[i].function;
        braid_status status =
            braid_gpu_find_graph_kernel(loops->gpu, own_kernels[i].index, function);
        loops->kernels[i].base.waits_first =
            *function && own_kernels[i].index != own_kernels[i].otherwise;
        if (!status && !*function)
            status = braid_gpu_find_graph_kernel(loops->gpu, own_kernels[i].otherwise, function);
        if (status || !*function)
            return status ? status : refuse_driver(stage);
    }
    return BRAID_OK;
}

static braid_status fill(const struct stage *stage, struct graph_loops *loops)
{
    uint32_t num = stage->program->tasks->num_regions;
    void *counters = NULL, *iterations = NULL;
    loops->items = braid_allocate_zeroed(num, sizeof(*loops->items));
    if (!loops->items)
        return braid_error_no_memory(what_loops);
    braid_status status = find_kernels(stage, loops);
    if (!status)
        status = braid_gpu_kept_memory_take(loops->gpu, BRAID_MEMORY_DEVICE,
                                            num * sizeof(*loops->counters), &counters);
    loops->counters = counters;
    if (!status)
        status = braid_gpu_kept_memory_take(loops->gpu, BRAID_MEMORY_HOST,
                                            num * sizeof(*loops->iterations), &iterations);
    loops->iterations = iterations;
    if (!status)
        memset(iterations, 0, num * sizeof(*loops->iterations));
    return status;
}

braid_status braid_driver_graph_loops_create(const struct stage *stage,
                                             struct graph_loops **out_loops)
{
    if (!stage->program->num_bodies)
        return BRAID_OK;
    struct graph_loops *loops = braid_allocate_zeroed(1, sizeof(*loops));
    if (!loops)
        return braid_error_no_memory(what_loops);
    loops->gpu = gpu_from(stage->device->backend);
    braid_status status = fill(stage, loops);
    if (status)
        braid_driver_graph_loops_destroy(loops);
    else
        *out_loops = loops;
    return status;
}

void braid_driver_graph_loops_destroy(struct graph_loops *loops)
{
    if (!loops)
        return;
    braid_gpu_kept_memory_leave(loops->gpu, loops->counters);
    braid_gpu_kept_memory_leave(loops->gpu, loops->iterations);
    braid_free(loops->items);
    braid_free(loops);
}

// ---- nodes ----

// With those inside; of a branch, of both arms.
static uint32_t count_bodies(const struct program *body)
{
    uint32_t num = 1 + body->has_else;
    for (uint32_t arm = 0; arm <= body->has_else; arm++) {
        const struct program *inside = body[arm].bodies;
        for (uint32_t i = 0; i < body[arm].num_bodies; i += 1 + inside[i].has_else)
            num += count_bodies(&inside[i]);
    }
    return num;
}

static braid_status add_kernel(struct graph_loops *loops, const struct gpu_behind *behind,
                               const struct backend_task *task, int kernel, gpu_node *out_node)
{
    struct loop_launch launch;
    const void *slot = NULL;
    fill_in(loops, task, kernel, &launch);
    gpu_result result =
        loops->gpu->vendor->nodes->add_kernel(loops->gpu, behind, &launch.launch, out_node, &slot);
    return braid_gpu_check_task(loops->gpu, result, slot, task, NULL);
}

// The device reads it.
static braid_status check_condition(const struct graph_loops *loops,
                                    const struct backend_task *task)
{
    const struct gpu_backend *gpu = loops->gpu;
    enum gpu_memory_kind kind = GPU_ELSEWHERE;
    const void *slot = NULL;
    if (!task->work.loop.condition)
        return BRAID_OK;
    gpu_result result = gpu->vendor->find_memory(gpu, task->work.loop.condition, &kind, &slot);
    if (result || kind != GPU_PAGEABLE)
        return braid_gpu_check_task(gpu, result, slot, task, NULL);
    return braid_error(BRAID_UNSUPPORTED,
                       "%s %s: the device reads its condition, which lies in host memory that the "
                       "driver does not know",
                       braid_work_words[task->kind].kind,
                       braid_node_text(task->node, task->name).text);
}

braid_status braid_driver_graph_loops_describe(const struct graph_loops *loops,
                                               const struct backend_task *task,
                                               struct island_scope *out_scope)
{
    const struct work_loop *how = &task->work.loop;
    *out_scope = (struct island_scope){
        .condition = how->condition,
        .most = how->most,
        .kind = how->tests_first ? ISLAND_SCOPE_TESTS_FIRST : 0,
        .total = &loops->counters[how->number].total,
        .counter = loops->iterations[how->number],
    };
    return check_condition(loops, task);
}

static braid_status add_conditions(struct graph_loops *loops, gpu_graph graph,
                                   const struct backend_task *task, uint32_t num)
{
    struct gpu_backend *gpu = loops->gpu;
    uint64_t *conditions = loops->items[task->work.loop.number].conditions;
    gpu_result result = GPU_SUCCESS;
    for (uint32_t i = 0; i < num && !result; i++)
        result = gpu->api->graph_create_condition(&conditions[i], graph, gpu->context, 0, 0);
    return braid_gpu_check_task(gpu, result, &gpu->api->graph_create_condition, task, NULL);
}

braid_status braid_driver_graph_loops_add(struct graph_loops *loops,
                                          const struct gpu_behind *behind,
                                          const struct program *program, const struct program *body,
                                          const struct backend_task *task, gpu_node *out_node,
                                          gpu_graph *out_bodies)
{
    struct gpu_backend *gpu = loops->gpu;
    struct graph_loop *loop = &loops->items[task->work.loop.number];
    uint32_t num_nodes = body->has_else && gpu->version < ELSE_VERSION ? 2 : 1;
    uint32_t num_bodies = (1u + body->has_else) / num_nodes;
    braid_status status = check_condition(loops, task);
    if (!status)
        status = add_conditions(loops, behind->graph, task, num_nodes);
    loop->num_cleared = program->region == PLAN_NONE ? count_bodies(body) : 0;
    if (!status)
        status = add_kernel(loops, behind, task, first_kernel(task), &loop->begin);
    for (uint32_t i = 0; i < num_nodes && !status; i++) {
        const struct gpu_conditional conditional = { .condition = loop->conditions[i],
                                                     .is_loop = task->kind == WORK_LOOP,
                                                     .num_bodies = num_bodies };
        const gpu_node before = i ? *out_node : loop->begin;
        const struct gpu_behind first = { behind->graph, &before, 1, behind->priority };
        const void *slot = NULL;
        gpu_result result = gpu->vendor->nodes->add_conditional(gpu, &first, &conditional, out_node,
                                                                out_bodies + i, &slot);
        status = braid_gpu_check_task(gpu, result, slot, task, NULL);
    }
    return status;
}

braid_status braid_driver_graph_loops_add_next(struct graph_loops *loops,
                                               const struct gpu_behind *behind,
                                               const struct backend_task *task, bool *starts_early)
{
    static const struct gpu_edge_data early = { .from_port = GPU_EDGE_PORT_PROGRAMMATIC,
                                                .type = GPU_EDGE_PROGRAMMATIC };
    const struct gpu_api *api = loops->gpu->api;
    struct gpu_behind at = *behind;
    gpu_node *next = &loops->items[task->work.loop.number].next;
    int kernel = last_kernel(task);
    *starts_early =
        *starts_early && loops->kernels[kernel].base.waits_first && api->graph_add_edges;
    if (*starts_early)
        at.num_after = 0;
    braid_status status = add_kernel(loops, &at, task, kernel, next);
    if (status || !*starts_early)
        return status;
    gpu_result result = api->graph_add_edges(behind->graph, behind->after, next, &early, 1);
    return braid_gpu_check_task(loops->gpu, result, &api->graph_add_edges, task, NULL);
}

static gpu_result set_kernel(const struct graph_loops *loops, gpu_executable executable,
                             const struct backend_task *task, int kernel)
{
    const struct graph_loop *loop = &loops->items[task->work.loop.number];
    struct loop_launch launch;
    fill_in(loops, task, kernel, &launch);
    return loops->gpu->vendor->nodes->set_kernel(
        loops->gpu, executable, kernel == last_kernel(task) ? loop->next : loop->begin,
        &launch.launch);
}

braid_status braid_driver_graph_loops_set(const struct graph_loops *loops,
                                          gpu_executable executable,
                                          const struct backend_task *task)
{
    const struct gpu_backend *gpu = loops->gpu;
    gpu_result result = set_kernel(loops, executable, task, first_kernel(task));
    if (!result && task->kind == WORK_LOOP)
        result = set_kernel(loops, executable, task, last_kernel(task));
    return braid_gpu_check_task(gpu, result, &gpu->api->executable_set_kernel, task, NULL);
}

uint64_t braid_driver_graph_loops_num_iterations(const struct graph_loops *loops, uint32_t loop,
                                                 enum iterations which)
{
    // The device may write it now.
    return atomic_load_explicit((const _Atomic uint64_t *)&loops->iterations[loop][which],
                                memory_order_relaxed);
}
