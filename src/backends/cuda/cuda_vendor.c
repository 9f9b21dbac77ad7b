// SPDX-License-Identifier: Apache-2.0
// CUDA: library names, contexts, attribute numbers, graph nodes, costs, and the driver's row in the
// table of backends.
#include <stdio.h>

#include "backends/cuda/cuda_layouts.h"
#include "backends/gpu/gpu_backend.h"
#include "base/error.h"

// ---- costs of launches, waits and islands, for the planner ----

// bench_gpu_launch measured the numbers on an H200 with driver 580; docs/measured/cuda.md has the
// tables.
//
// Inside a driver graph: a chain of empty kernels takes 505 ns a node, of 2 us kernels 2494 ns.
// However many lanes there are, about 1000 empty kernels take 177 us and more with waits. The other
// numbers are those whose choice of lanes was nearest to the best over a sweep of 1 to 128 lanes.
// bench_gpu_islands and bench_gpu_island_lanes measured the numbers for islands, and
// bench_gpu_loops measured the one for loops.
static const braid_cost_model graph_model = {
    .default_cost_ns = 5000,
    .node_ns = 500,
    .wait_ns = 800,
    .root_ns = 100,
    .max_concurrent = 128,
    .issue_ns = 160,
    .issue_wait_ns = 8,
    .early_ns = 220,
    .island_call_ns = 50,
    .island_start_ns = 700,
    .island_round_ns = 600,
    .iteration_ns = 4500,
};

// A kernel launched early starts 220 ns sooner behind one of 0.5 to 10 us.
//
// On streams the host queues. A launch takes 2.5 to 3.3 us in the cells of the table, and 2.6 to
// 4.3 in six processes of sparse_mpm. A wait with its share of a record takes 0.1 to 1.6 us. Frames
// took the larger of the host's time and the lanes' time. A kernel begins 1.4 us after its
// predecessor in the stream has ended, or 0.6 us sooner with an early start. Nearly all kernels
// start early, since those behind a wait are the exception. So plans count on it: otherwise one
// lane would look slower than it is.
static const braid_cost_model stream_model = {
    .default_cost_ns = 5000,
    .node_ns = 1440,
    .wait_ns = 2500,
    .root_ns = 500,
    .max_concurrent = 32,
    .host_issues = 1,
    .issue_ns = 3500,
    .issue_wait_ns = 1000,
    .early_ns = 600,
    .iteration_ns = 4500,
};

// `starts_early`: the driver has the call that launches a kernel early.
static void copy_model(const struct gpu_backend *gpu, const braid_cost_model *model,
                       bool starts_early, braid_cost_model *out_model)
{
    *out_model = *model;
    if (!starts_early || gpu->attributes[GPU_MAJOR] < 9)
        out_model->early_ns = 0;
    out_model->max_threads =
        (uint64_t)gpu->attributes[GPU_NUM_UNITS] * (uint64_t)gpu->attributes[GPU_UNIT_THREADS];
}

static void get_stream_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    copy_model(gpu, &stream_model, gpu->api->launch_config, out_model);
    out_model->node_ns -= out_model->early_ns;
}

static void get_graph_model(const struct gpu_backend *gpu, braid_cost_model *out_model)
{
    copy_model(gpu, &graph_model, gpu->api->graph_add_edges, out_model);
}

// ---- graph nodes: kernels with their attributes, copies and fills ----

static struct cuda_kernel_parameters kernel_parameters(const struct backend_launch *launch)
{
    return (struct cuda_kernel_parameters){
        .function = gpu_kernel_from(launch->kernel)->function,
        .grid = { launch->grid.x, launch->grid.y, launch->grid.z },
        .block = { launch->block.x, launch->block.y, launch->block.z },
        .shared_bytes = launch->shared_bytes,
        .args = (void **)(uintptr_t)launch->args,
    };
}

// An early start is an edge, and a priority is a hint.
static gpu_result set_attributes(const struct gpu_backend *gpu, gpu_node node,
                                 const struct backend_launch *launch)
{
    struct gpu_attribute attributes[GPU_MOST_ATTRIBUTES];
    uint32_t num = braid_gpu_list_attributes(gpu, launch, attributes);
    gpu_result result = GPU_SUCCESS;
    for (uint32_t i = 0; i < num && !result; i++) {
        const struct gpu_attribute *attribute = &attributes[i];
        if (attribute->id == GPU_LAUNCH_PROGRAMMATIC)
            continue;
        if (gpu->api->node_set_attribute)
            result = gpu->api->node_set_attribute(node, attribute->id, &attribute->value);
        else if (attribute->id != GPU_LAUNCH_PRIORITY)
            result = GPU_NOT_SUPPORTED;
    }
    return result;
}

static gpu_result add_kernel(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                             const struct backend_launch *launch, gpu_node *out_node,
                             const void **out_slot)
{
    struct cuda_kernel_parameters parameters = kernel_parameters(launch);
    *out_slot = &gpu->api->graph_add_kernel;
    gpu_result result = gpu->api->graph_add_kernel(out_node, behind->graph, behind->after,
                                                   behind->num_after, &parameters);
    if (result)
        return result;
    struct backend_launch made = *launch;
    made.priority = launch->priority ? launch->priority : behind->priority;
    *out_slot = &gpu->api->node_set_attribute;
    return set_attributes(gpu, *out_node, &made);
}

static gpu_result set_kernel(const struct gpu_backend *gpu, gpu_executable executable,
                             gpu_node node, const struct backend_launch *launch)
{
    struct cuda_kernel_parameters parameters = kernel_parameters(launch);
    return gpu->api->executable_set_kernel(executable, node, &parameters);
}

// Pageable memory never comes here: see gpu_detour.c.
static struct cuda_copy_side copy_side(const void *memory, uint32_t pitch, uint32_t height)
{
    return (struct cuda_copy_side){ .memory_type = GPU_MEMORY_UNIFIED,
                                    .device = (uint64_t)(uintptr_t)memory,
                                    .pitch = pitch,
                                    .height = height };
}

static struct cuda_copy_parameters copy_parameters(const struct work_copy *copy)
{
    const braid_rows *rows = &copy->rows;
    return (struct cuda_copy_parameters){
        .from = copy_side(copy->from, rows->from_pitch, rows->from_height),
        .to = copy_side(copy->to, rows->to_pitch, rows->to_height),
        .width = copy->bytes,
        .height = rows->num ? rows->num : 1,
        .depth = rows->num ? rows->layers : 1,
    };
}

static gpu_result put_copy(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_copy *copy, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    const struct cuda_copy_parameters parameters = copy_parameters(copy);
    *out_slot = &gpu->api->executable_set_copy;
    if (site->executable)
        return gpu->api->executable_set_copy(site->executable, *site->node, &parameters,
                                             gpu->context);
    *out_slot = &gpu->api->graph_add_copy;
    return gpu->api->graph_add_copy(site->node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
}

static const void *address_of(const struct cuda_copy_side *side)
{
    if (side->memory_type == GPU_MEMORY_HOST)
        return side->host;
    return side->array ? NULL : (const void *)(uintptr_t)side->device;
}

static gpu_result read_copy(const struct gpu_backend *gpu, gpu_node node, const void **out_to,
                            const void **out_from, const void **out_slot)
{
    struct cuda_copy_parameters parameters = { 0 };
    int type = 0;
    *out_to = *out_from = NULL;
    *out_slot = &gpu->api->node_type;
    gpu_result result = gpu->api->node_type(node, &type);
    if (result || type != GPU_NODE_COPY)
        return result;
    *out_slot = &gpu->api->node_copy;
    result = gpu->api->node_copy(node, &parameters);
    if (result)
        return result;
    *out_to = address_of(&parameters.to);
    *out_from = address_of(&parameters.from);
    return GPU_SUCCESS;
}

static gpu_result put_fill(const struct gpu_backend *gpu, const struct gpu_site *site,
                           const struct work_fill *fill, const void **out_slot)
{
    const struct gpu_behind *behind = &site->behind;
    const struct cuda_fill_parameters parameters = {
        .to = (uint64_t)(uintptr_t)fill->to,
        .pitch = fill->rows.to_pitch,
        .value = fill->value,
        .value_bytes = fill->value_bytes,
        .width = fill->num_values,
        .height = work_num_rows(&fill->rows),
    };
    *out_slot = &gpu->api->executable_set_fill;
    if (site->executable)
        return gpu->api->executable_set_fill(site->executable, *site->node, &parameters,
                                             gpu->context);
    *out_slot = &gpu->api->graph_add_fill;
    return gpu->api->graph_add_fill(site->node, behind->graph, behind->after, behind->num_after,
                                    &parameters, gpu->context);
}

static gpu_result add_wait_value(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                 void *word, uint32_t value, gpu_node *out_node,
                                 const void **out_slot)
{
    struct cuda_wait_value wait = { .operation = CUDA_WAIT_VALUE_32,
                                    .word = (uint64_t)(uintptr_t)word,
                                    .value = value,
                                    .flags = GPU_WAIT_FOR_AT_LEAST };
    const struct cuda_operation_parameters parameters = { .context = gpu->context,
                                                          .num = 1,
                                                          .operations = &wait };
    *out_slot = &gpu->api->graph_add_memory_operations;
    return gpu->api->graph_add_memory_operations(out_node, behind->graph, behind->after,
                                                 behind->num_after, &parameters);
}

static gpu_result add_conditional(const struct gpu_backend *gpu, const struct gpu_behind *behind,
                                  const struct gpu_conditional *conditional, gpu_node *out_node,
                                  gpu_graph *out_bodies, const void **out_slot)
{
    struct cuda_loop_parameters parameters = {
        .type = GPU_NODE_CONDITIONAL,
        .condition = conditional->condition,
        .condition_type = conditional->is_loop ? GPU_CONDITION_WHILE : GPU_CONDITION_IF,
        .num_bodies = conditional->num_bodies,
        .context = gpu->context,
    };
    *out_slot = &gpu->api->graph_add_node;
    gpu_result result = gpu->api->graph_add_node(out_node, behind->graph, behind->after, NULL,
                                                 behind->num_after, &parameters);
    for (uint32_t i = 0; i < conditional->num_bodies && result == GPU_SUCCESS; i++)
        out_bodies[i] = parameters.bodies[i];
    return result;
}

static const struct gpu_vendor_nodes nodes = {
    .add_kernel = add_kernel,
    .set_kernel = set_kernel,
    .put_copy = put_copy,
    .put_fill = put_fill,
    .read_copy = read_copy,
    .add_wait_value = add_wait_value,
    .add_conditional = add_conditional,
};

// ---- the vendor ----

static const char *const libraries[] = { "libcuda.so.1", "libcuda.so", NULL };

static const char *const assembler_libraries[] = {
    "libnvJitLink.so.13",
    "libnvJitLink.so.12",
    "libnvJitLink.so",
    "/usr/local/cuda/lib64/libnvJitLink.so",
    NULL,
};

static const char *const compiler_libraries[] = {
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
    "libnvrtc.so",
    "/usr/local/cuda/lib64/libnvrtc.so",
    NULL,
};

static gpu_result enter(const struct gpu_backend *gpu, struct gpu_scope *scope)
{
    gpu_context before = NULL;
    gpu_result result = gpu->api->context_get_current(&before);
    if (result || before == gpu->context)
        return result;
    scope->context = before;
    result = gpu->api->context_set_current(gpu->context);
    scope->changed = result == GPU_SUCCESS;
    return result;
}

static gpu_result leave(const struct gpu_backend *gpu, const struct gpu_scope *scope,
                        const void **out_slot)
{
    *out_slot = &gpu->api->context_set_current;
    return gpu->api->context_set_current(scope->context);
}

static void describe(const struct gpu_api *api, gpu_result result, const char **out_name,
                     const char **out_text)
{
    if (api->error_name(result, out_name))
        *out_name = NULL;
    if (api->error_string(result, out_text))
        *out_text = NULL;
}

// The program's context, and the device it is on.
static braid_status open_adopted(struct gpu_backend *gpu)
{
    static const char what[] = "adopting a context";
    const struct gpu_api *api = gpu->api;
    gpu_result result = gpu->context ? GPU_SUCCESS : api->context_get_current(&gpu->context);
    if (result)
        return braid_gpu_check(gpu, result, &api->context_get_current, what);
    if (!gpu->context)
        return braid_error(BRAID_WRONG_STATE,
                           "there is no context to adopt: none is current on this thread");
    struct gpu_scope scope;
    braid_status status = braid_gpu_enter(gpu, &scope, what);
    if (status)
        return status;
    result = api->context_device(&gpu->device);
    braid_gpu_leave(gpu, &scope);
    if (result)
        return braid_gpu_check(gpu, result, &api->context_device, what);
    gpu->info.ordinal = (uint32_t)gpu->device; // a CUdevice is its ordinal
    snprintf(gpu->label, sizeof(gpu->label), "cuda:%u", gpu->info.ordinal);
    return BRAID_OK;
}

static braid_status open_device(struct gpu_backend *gpu)
{
    static const char what[] = "opening the device";
    gpu_result result = gpu->api->driver_version(&gpu->version);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->driver_version, what);
    if (gpu->adopted)
        return open_adopted(gpu);
    result = gpu->api->device_get(&gpu->device, (int)gpu->info.ordinal);
    if (result)
        return braid_gpu_check(gpu, result, &gpu->api->device_get, what);
    result = gpu->api->context_retain(&gpu->context, gpu->device);
    return braid_gpu_check(gpu, result, &gpu->api->context_retain, what);
}

static void close_device(struct gpu_backend *gpu)
{
    if (!gpu->adopted)
        braid_gpu_check_freed(gpu, gpu->api->context_release(gpu->device),
                              &gpu->api->context_release, "closing the device");
}

static braid_status read_architecture(struct gpu_backend *gpu)
{
    snprintf(gpu->architecture, sizeof(gpu->architecture), "%d%d", gpu->attributes[GPU_MAJOR],
             gpu->attributes[GPU_MINOR]);
    return BRAID_OK;
}

static gpu_result copy(const struct gpu_backend *gpu, const struct work_copy *copy,
                       gpu_stream stream, const void **out_slot)
{
    *out_slot = &gpu->api->copy_rows;
    if (copy->rows.num) {
        const struct cuda_copy_parameters parameters = copy_parameters(copy);
        return gpu->api->copy_rows(&parameters, stream);
    }
    *out_slot = &gpu->api->copy;
    return gpu->api->copy(copy->to, copy->from, copy->bytes, stream);
}

static gpu_result host_call(struct gpu_backend *gpu, gpu_stream stream, gpu_host_function *call,
                            void *user, const void **out_slot)
{
    *out_slot = &gpu->api->host_call;
    return gpu->api->host_call(stream, call, user);
}

// The driver refuses addresses that it does not know. Every other error says nothing of the memory.
static gpu_result find_memory(const struct gpu_backend *gpu, const void *memory,
                              enum gpu_memory_kind *out_kind, const void **out_slot)
{
    unsigned type = 0;
    *out_slot = &gpu->api->pointer_attribute;
    gpu_result result =
        gpu->api->pointer_attribute(&type, GPU_POINTER_MEMORY_TYPE, (void *)(uintptr_t)memory);
    if (result && result != GPU_INVALID_VALUE)
        return result;
    if (result == GPU_INVALID_VALUE || type == 0)
        *out_kind = GPU_PAGEABLE;
    else
        *out_kind = type == GPU_MEMORY_HOST ? GPU_PINNED : GPU_ELSEWHERE;
    return GPU_SUCCESS;
}

const struct gpu_vendor braid_gpu_cuda = {
    .index = GPU_CUDA,
    .name = "cuda",
    .libraries = libraries,
    .compiler_libraries = compiler_libraries,
    .assembler_libraries = assembler_libraries,
    // CUdevice_attribute
    .attributes = {
        [GPU_MAX_THREADS] = 1,
        [GPU_MAX_BLOCK_X] = 2,
        [GPU_MAX_BLOCK_Y] = 3,
        [GPU_MAX_BLOCK_Z] = 4,
        [GPU_MAX_GRID_X] = 5,
        [GPU_MAX_GRID_Y] = 6,
        [GPU_MAX_GRID_Z] = 7,
        [GPU_MAX_SHARED] = 8,
        [GPU_NUM_UNITS] = 16,
        [GPU_UNIT_THREADS] = 39,
        [GPU_MAJOR] = 75,
        [GPU_MINOR] = 76,
        [GPU_MAX_SHARED_OPTIN] = 97,
        [GPU_CLUSTERS] = 120,
        [GPU_STREAM_WAITS] = GPU_NO_ATTRIBUTE,
        [GPU_COOPERATIVE] = 95,
    },
    .players = braid_cuda_players,
    .enter = enter,
    .leave = leave,
    .describe = describe,
    .open_device = open_device,
    .read_architecture = read_architecture,
    .close_device = close_device,
    .find_memory = find_memory,
    .copy = copy,
    .host_call = host_call,
    .nodes = &nodes,
    .stream_cost_model = get_stream_model,
    .graph_cost_model = get_graph_model,
};

const struct backend_driver braid_cuda_driver = {
    .name = "cuda",
    .own = &braid_gpu_cuda,
    .query = braid_gpu_query,
    .find = braid_gpu_find,
    .open = braid_gpu_open,
};
