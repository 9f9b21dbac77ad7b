// SPDX-License-Identifier: Apache-2.0
// Replays an exec frame by frame, measures each frame and checks the order of every edge.
#include "frames.h"

#include <inttypes.h>
#include <stdlib.h>

#include <braid/device.h>
#include <braid/stream.h>

#include "clock.h"
#include "task_graph.h"

enum exit_status frame_memory_create(braid_device *device, uint32_t num_nodes,
                                     struct frame_memory *out_memory)
{
    struct frame_memory memory = { .device = device, .bytes = num_nodes * sizeof(braid_interval) };
    void *on_device, *on_host;
    if (braid_memory_allocate(device, BRAID_MEMORY_DEVICE, memory.bytes, &on_device) != BRAID_OK)
        return fail_in_library();
    if (braid_memory_allocate(device, BRAID_MEMORY_HOST, memory.bytes, &on_host) != BRAID_OK) {
        braid_memory_free(device, on_device);
        return fail_in_library();
    }
    memory.on_device = on_device;
    memory.on_host = on_host;
    *out_memory = memory;
    return EXIT_DONE;
}

enum exit_status frame_memory_add_buffers(struct frame_memory *memory, const struct dot_file *file)
{
    memory->buffers = calloc((size_t)file->num_resources + 1, sizeof(*memory->buffers));
    if (!memory->buffers)
        return fail(EXIT_FAILED, "out of memory for the buffers of %s", file->text.path);
    memory->num_buffers = file->num_resources;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        const struct dot_resource *resource = &file->resources[i];
        if (!resource->name || !resource->bytes || dot_is_chosen(file, i))
            continue;
        if (braid_memory_allocate(memory->device, BRAID_MEMORY_DEVICE, resource->bytes,
                                  &memory->buffers[i]) != BRAID_OK) {
            memory->buffers[i] = NULL;
            return fail_in_library();
        }
    }
    return EXIT_DONE;
}

void frame_memory_destroy(struct frame_memory *memory)
{
    for (uint32_t i = 0; i < memory->num_buffers; i++)
        braid_memory_free(memory->device, memory->buffers[i]);
    free(memory->buffers);
    braid_memory_free(memory->device, memory->on_device);
    braid_memory_free(memory->device, memory->on_host);
}

braid_status frame_add_node(braid_graph *graph, const struct dot_node *node,
                            const braid_node_options *options,
                            const struct task_addresses *addresses, uint32_t index, void *user)
{
    const struct frame_memory *memory = user;
    braid_interval *intervals = memory->on_device;
    uint64_t number = index, busy_ns = node->cost.whole;
    uint32_t num_more = memory->buffers ? addresses->num : 0;
    // A number may look like the address of a buffer for which there is no memory.
    braid_arg args[3 + DOT_MOST_ARGS] = {
        { &intervals, sizeof(intervals), BRAID_ARG_UNCHECKED_POINTER },
        { &number, sizeof(number), BRAID_ARG_UNCHECKED_POINTER },
        { &busy_ns, sizeof(busy_ns), BRAID_ARG_UNCHECKED_POINTER }
    };
    for (uint32_t i = 0; i < num_more; i++)
        args[3 + i] = braid_resource_address(&addresses->resources[i]);
    braid_kernel_node launch = {
        .kernel = busy_kernel(num_more), .node = *options, .args = args, .num_args = 3 + num_more
    };
    if (!launch.kernel)
        return BRAID_NO_MEMORY;
    launch.node.cost_ns = busy_ns;
    return braid_graph_add_kernel(graph, &launch, NULL);
}

// Queues a whole frame on the default stream: clear, run, fetch.
static braid_status queue_frame(braid_exec *exec, const struct frame_memory *memory,
                                uint64_t *out_launch_ns)
{
    braid_status status =
        braid_stream_fill(braid_device_get_default_stream(memory->device), memory->on_device, 0, 4,
                          memory->bytes / sizeof(uint32_t));
    if (status != BRAID_OK)
        return status;
    uint64_t start = clock_now_ns();
    status = braid_exec_launch(exec, NULL);
    *out_launch_ns = clock_now_ns() - start;
    if (status != BRAID_OK)
        return status;
    return braid_stream_copy(braid_device_get_default_stream(memory->device), memory->on_host,
                             memory->on_device, memory->bytes);
}

static enum exit_status check_order(const braid_exec *exec, const braid_graph *graph,
                                    const braid_interval *intervals, const struct dot_file *file,
                                    uint64_t number)
{
    const braid_schedule *schedule = braid_exec_get_schedule(exec);
    for (uint32_t i = 0; i < file->num_nodes; i++) {
        if (intervals[i].start_ns == 0 && file->nodes[i].kind != DOT_LOOP &&
            !task_graph_is_left_out(schedule, graph, i))
            return fail(EXIT_FAILED, "frame %" PRIu64 ": node '%s' did not run", number,
                        file->nodes[i].id);
    }
    for (uint32_t i = 0; i < file->num_edges + file->num_implied_edges; i++) {
        const struct dot_edge *edge = &file->edges[i];
        uint64_t end = intervals[edge->from].end_ns, start = intervals[edge->to].start_ns;
        if (start < end && file->nodes[edge->to].kind != DOT_LOOP &&
            !task_graph_is_left_out(schedule, graph, edge->to))
            return fail(EXIT_FAILED,
                        "frame %" PRIu64 ": '%s' started %" PRIu64
                        " ns before '%s' ended: their edge was not kept",
                        number, file->nodes[edge->to].id, end - start, file->nodes[edge->from].id);
    }
    return EXIT_DONE;
}

static uint64_t measure_makespan(const braid_interval *intervals, uint32_t num_nodes)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < num_nodes; i++) {
        if (intervals[i].start_ns == 0)
            continue; // a loop
        first = intervals[i].start_ns < first ? intervals[i].start_ns : first;
        last = intervals[i].end_ns > last ? intervals[i].end_ns : last;
    }
    return last - first;
}

enum exit_status frame_run(braid_exec *exec, const braid_graph *graph,
                           const struct frame_memory *memory, const struct dot_file *file,
                           uint64_t number, struct frame *out_frame)
{
    struct frame frame = { 0 };
    if (queue_frame(exec, memory, &frame.launch_ns) != BRAID_OK ||
        braid_exec_wait(exec) != BRAID_OK ||
        braid_stream_wait(braid_device_get_default_stream(memory->device)) != BRAID_OK)
        return fail_in_library();
    enum exit_status status = check_order(exec, graph, memory->on_host, file, number);
    if (status != EXIT_DONE)
        return status;
    frame.makespan_ns = measure_makespan(memory->on_host, file->num_nodes);
    *out_frame = frame;
    return EXIT_DONE;
}
