// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#include "task_graph.h"

#include <stdlib.h>

#include "dot_cost.h"
#include "progress.h"

struct task_graph {
    const struct dot_file *file;
    braid_graph *graph;
    task_graph_add *add;
    void *user;
    braid_resource *resources; // of the file
    braid_access *accesses;    // likewise
};

const char *task_graph_name(const struct dot_node *node)
{
    return node->label ? node->label : node->id;
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

static void call_nothing(void *user)
{
    (void)user;
}

static braid_status queue_nothing(braid_device *device, braid_stream *stream, void *user)
{
    (void)device;
    (void)stream;
    (void)user;
    return BRAID_OK;
}

// All nodes of one kernel take as many arguments, so there is one for each number.
static const braid_kernel *task_inside(uint32_t num_args)
{
    static braid_kernel tasks[DOT_MOST_ARGS + 1];
    tasks[num_args] = (braid_kernel){ .name = "task", .cpu = do_nothing, .source = "task" };
    return &tasks[num_args];
}

static braid_status add_kernel(braid_graph *graph, const struct dot_node *node,
                               const braid_node_options *options)
{
    static const braid_kernel task = { .name = "task", .cpu = do_nothing };
    static const uint64_t nothing;
    braid_arg args[DOT_MOST_ARGS];
    for (uint32_t i = 0; i < node->num_args; i++)
        args[i] = (braid_arg){ &nothing, sizeof(nothing) };
    const braid_launch launch = {
        .node = *options,
        .kernel = node->may_be_inside ? task_inside(node->num_args) : &task,
        .grid = node->grid,
        .block = node->block,
        .args = args,
        .num_args = node->num_args,
    };
    return braid_graph_add_kernel(graph, &launch, NULL);
}

braid_status task_graph_add_to_plan(braid_graph *graph, const struct dot_node *node,
                                    const braid_node_options *options, uint32_t index, void *user)
{
    static char bytes[2]; // that no copy is ever made between
    (void)index;
    (void)user;
    switch (node->kind) {
    case DOT_COPY:
        return braid_graph_add_copy(
            graph, &(braid_copy){ .node = *options, .to = bytes, .from = bytes + 1, .bytes = 1 },
            NULL);
    case DOT_FILL:
        return braid_graph_add_fill(
            graph, &(braid_fill){ .node = *options, .to = bytes, .num_values = 1 }, NULL);
    case DOT_HOST:
        return braid_graph_add_host_call(graph,
                                         &(braid_host_call){ .node = *options,
                                                             .call = call_nothing,
                                                             .blocking = node->blocking },
                                         NULL);
    case DOT_NATIVE:
        return braid_graph_add_native(
            graph, &(braid_native){ .node = *options, .call = queue_nothing }, NULL);
    case DOT_EMPTY:
        return braid_graph_add_empty(graph, &(braid_empty){ .node = *options }, NULL);
    case DOT_KERNEL:
        break;
    }
    return add_kernel(graph, node, options);
}

static braid_status add_resource(struct task_graph *making, uint32_t index)
{
    const struct dot_resource *resource = &making->file->resources[index];
    braid_resource *out = &making->resources[index];
    if (!resource->name)
        return braid_graph_add_range(making->graph, making->resources[resource->buffer],
                                     resource->offset, resource->bytes, out);
    if (resource->bytes > 0)
        return braid_graph_add_buffer(making->graph, resource->name, NULL, resource->bytes, out);
    return braid_graph_add_resource(making->graph, resource->name, out);
}

static braid_status add_node(struct task_graph *making, uint32_t index)
{
    const struct dot_file *file = making->file;
    const struct dot_node *node = &file->nodes[index];
    braid_node_options options = { .name = task_graph_name(node),
                                   .accesses = making->accesses + node->first_access,
                                   .num_accesses = node->num_accesses,
                                   .lane_hint = node->lane_hint };
    if (node->cost.is_given)
        options.cost_ns = dot_cost_ns(file, index);
    if (node->role == DOT_PRELUDE)
        options.prelude_of = braid_graph_node(making->graph, node->main);
    if (node->role == DOT_EPILOGUE)
        options.epilogue_of = braid_graph_node(making->graph, node->main);
    return making->add(making->graph, node, &options, index, making->user);
}

static braid_status fill(struct task_graph *making)
{
    const struct dot_file *file = making->file;
    braid_status status =
        braid_graph_reserve(making->graph, file->num_nodes, file->num_edges, file->num_accesses);
    for (uint32_t i = 0; i < file->num_resources && status == BRAID_OK; i++)
        status = add_resource(making, i);
    for (uint32_t i = 0; i < file->num_accesses; i++)
        making->accesses[i] =
            (braid_access){ making->resources[file->accesses[i].resource], file->accesses[i].mode };
    for (uint32_t i = 0; i < file->num_nodes && status == BRAID_OK; i++)
        status = add_node(making, i);
    for (uint32_t i = 0; i < file->num_edges && status == BRAID_OK; i++) {
        const struct dot_edge *edge = &file->edges[i];
        status = braid_graph_add_edge(making->graph, braid_graph_node(making->graph, edge->from),
                                      braid_graph_node(making->graph, edge->to));
        progress_show("building the graph", i, file->num_edges);
    }
    return status;
}

enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph)
{
    struct task_graph making = { .file = file, .add = add, .user = user };
    making.resources = calloc((size_t)file->num_resources + 1, sizeof(*making.resources));
    making.accesses = calloc((size_t)file->num_accesses + 1, sizeof(*making.accesses));
    enum exit_status status = EXIT_DONE;
    if (!making.resources || !making.accesses)
        status = fail(EXIT_FAILED, "out of memory for the graph of %s", file->text.path);
    if (status == EXIT_DONE && braid_graph_create(&making.graph) != BRAID_OK)
        status = fail_in_library();
    if (status == EXIT_DONE) {
        braid_status filled = fill(&making);
        if (filled != BRAID_OK)
            status = task_graph_fail(file, filled);
    }
    free(making.resources);
    free(making.accesses);
    if (status == EXIT_DONE)
        *out_graph = making.graph;
    else
        braid_graph_destroy(making.graph);
    return status;
}

enum exit_status task_graph_fail(const struct dot_file *file, braid_status status)
{
    if (status == BRAID_CYCLE || status == BRAID_INVALID_ARGUMENT)
        return fail_in_file(file->text.path, 1, "%s", braid_error_message());
    return fail_in_library();
}
