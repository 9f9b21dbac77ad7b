// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#include "task_graph.h"

#include <stdlib.h>

#include "dot_cost.h"
#include "progress.h"
#include "task_kernel.h"
#include "task_region.h"

struct task_graph {
    const struct dot_file *file;
    braid_graph *graph;
    task_graph_add *add;
    void *user;
    braid_resource *resources; // the file's
    braid_access *accesses;    // the file's
    braid_parameter *parameters;
    void *const *memory;       // by resource; NULL: none has any
    uintptr_t next_address;    // where there is none
    braid_resource *addresses; // for the node at hand
    struct task_region at;
};

const char *task_graph_name(const struct dot_node *node)
{
    return node->label && *node->label ? node->label : node->id;
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

// As the file says, to the argument.
static braid_status add_given(braid_graph *graph, const struct dot_node *node,
                              const braid_node_options *options,
                              const struct task_addresses *addresses)
{
    static const unsigned char nothing[DOT_MOST_ARG_BYTES];
    static const uint32_t one_block[3] = { 1, 1, 1 };
    braid_arg args[DOT_MOST_ARGS];
    const uint32_t num = node->has_args ? node->num_args : 0;
    const struct dot_arg *given = num ? addresses->file->args + node->first_arg : NULL;
    for (uint32_t i = 0; i < num; i++) {
        args[i] = (braid_arg){ nothing, given[i].bytes };
        if (given[i].resource != DOT_NONE)
            args[i] = braid_resource_address(&addresses->all[given[i].resource]);
    }
    braid_kernel_node launch = {
        .node = *options,
        .kernel = task_kernel(given, num, node->may_be_inside, node->reads_grid),
        .grid = node->grid,
        .may_be_empty = true,
        .block = node->block,
        .args = args,
        .num_args = num,
    };
    if (node->grid_from != DOT_NONE)
        launch.grid_from_resource = addresses->all[node->grid_from];
    else if (node->reads_grid)
        launch.grid_from = one_block;
    return launch.kernel ? braid_graph_add_kernel(graph, &launch, NULL) : BRAID_NO_MEMORY;
}

// The addresses of what it may have elsewhere, then as many arguments as the file says it has.
static braid_status add_kernel(braid_graph *graph, const struct dot_node *node,
                               const braid_node_options *options,
                               const struct task_addresses *addresses)
{
    static const uint64_t nothing;
    braid_arg args[DOT_MOST_ARGS];
    struct dot_arg sizes[DOT_MOST_ARGS];
    uint32_t num = addresses->num, most = node->num_args;
    for (uint32_t i = 0; i < num; i++)
        args[i] = braid_resource_address(&addresses->resources[i]);
    if (node->is_undeclared && most == 0)
        most = 1;
    for (; num < most; num++)
        args[num] = (braid_arg){ &nothing, sizeof(nothing) };
    for (uint32_t i = 0; i < num; i++)
        sizes[i] = (struct dot_arg){ sizeof(nothing), DOT_NONE };
    const braid_kernel_node launch = {
        .node = *options,
        .kernel = task_kernel(sizes, num, node->may_be_inside, false),
        .grid = node->grid,
        .may_be_empty = true,
        .block = node->block,
        .args = args,
        .num_args = num,
    };
    return launch.kernel ? braid_graph_add_kernel(graph, &launch, NULL) : BRAID_NO_MEMORY;
}

// The resource that an end of the node is, by the file; { 0 }: none.
static braid_resource end_of(const struct task_addresses *addresses, uint32_t resource)
{
    return resource == DOT_NONE ? (braid_resource){ 0 } : addresses->all[resource];
}

// Where the file does not say, between the last and the first of what it is given.
static braid_status add_copy(braid_graph *graph, const struct dot_node *node,
                             const braid_node_options *options,
                             const struct task_addresses *addresses)
{
    static char bytes[2]; // that no copy is ever made between
    braid_copy copy = { .node = *options,
                        .to_resource = end_of(addresses, node->to),
                        .from_resource = end_of(addresses, node->from),
                        .bytes = 1 };
    uint32_t num = addresses->num;
    bool only_reads = options->num_accesses && options->accesses[0].mode == BRAID_READ;
    if (num > 1 || (num == 1 && !only_reads))
        copy.to_resource = addresses->resources[num - 1];
    if (num > 1 || (num == 1 && only_reads))
        copy.from_resource = addresses->resources[0];
    copy.to = copy.to_resource.graph ? NULL : bytes;
    copy.from = copy.from_resource.graph ? NULL : bytes + 1;
    return braid_graph_add_copy(graph, &copy, NULL);
}

static braid_status add_fill(braid_graph *graph, const struct dot_node *node,
                             const braid_node_options *options,
                             const struct task_addresses *addresses)
{
    static uint32_t word;
    braid_fill fill = { .node = *options,
                        .to_resource = end_of(addresses, node->to),
                        .value_bytes = node->value_bytes,
                        .num_values = 1 };
    if (addresses->num)
        fill.to_resource = addresses->resources[0];
    fill.to = fill.to_resource.graph ? NULL : &word;
    return braid_graph_add_fill(graph, &fill, NULL);
}

braid_status task_graph_add_to_plan(braid_graph *graph, const struct dot_node *node,
                                    const braid_node_options *options,
                                    const struct task_addresses *addresses, uint32_t index,
                                    void *user)
{
    braid_resource first = end_of(addresses, node->user);
    (void)index;
    (void)user;
    if (addresses->num)
        first = addresses->resources[0];
    switch (node->kind) {
    case DOT_COPY:
        return add_copy(graph, node, options, addresses);
    case DOT_FILL:
        return add_fill(graph, node, options, addresses);
    case DOT_HOST:
        return braid_graph_add_host_call(graph,
                                         &(braid_host_call){ .node = *options,
                                                             .call = call_nothing,
                                                             .user_resource = first,
                                                             .blocking = node->blocking },
                                         NULL);
    case DOT_QUEUE:
        return braid_graph_add_queue_call(
            graph,
            &(braid_queue_call){ .node = *options, .call = queue_nothing, .user_resource = first },
            NULL);
    case DOT_EMPTY:
        return braid_graph_add_empty(graph, &(braid_empty){ .node = *options }, NULL);
    case DOT_KERNEL:
    case DOT_LOOP:
    case DOT_BRANCH:
        break;
    }
    return node->has_values ? add_given(graph, node, options, addresses)
                            : add_kernel(graph, node, options, addresses);
}

// Buffers lie apart; nobody goes there.
static void *find_memory(struct task_graph *making, uint32_t index)
{
    if (making->memory)
        return making->memory[index];
    uintptr_t address = making->next_address;
    making->next_address += (making->file->resources[index].bytes + 15) / 16 * 16;
    return (void *)address;
}

static braid_status add_resource(struct task_graph *making, uint32_t index)
{
    const struct dot_resource *resource = &making->file->resources[index];
    braid_resource *out = &making->resources[index];
    if (resource->frames_before)
        return braid_graph_add_earlier_version(making->graph, making->resources[resource->buffer],
                                               resource->frames_before, out);
    if (!resource->name)
        return braid_graph_add_range(making->graph, making->resources[resource->buffer],
                                     resource->offset, resource->bytes, out);
    if (resource->is_scratch)
        return braid_graph_add_scratch(making->graph, resource->name, resource->bytes,
                                       resource->alignment, out);
    if (resource->is_transient)
        return braid_graph_add_transient(making->graph, resource->name, resource->bytes,
                                         resource->alignment, out);
    braid_status status = BRAID_OK;
    if (resource->num_versions)
        status = braid_graph_add_versioned_buffer(making->graph, resource->name, NULL,
                                                  resource->num_versions, resource->bytes, out);
    else if (resource->bytes > 0)
        status = braid_graph_add_buffer(making->graph, resource->name, find_memory(making, index),
                                        resource->bytes, out);
    else
        status = braid_graph_add_resource(making->graph, resource->name, out);
    if (!status && resource->home)
        status = braid_graph_set_home(making->graph, *out, resource->home);
    return status;
}

// Each buffer once. Where there is no memory for a buffer, nobody is given its address.
static struct task_addresses find_addresses(struct task_graph *making, const struct dot_node *node)
{
    struct task_addresses found = { .resources = making->addresses,
                                    .file = making->file,
                                    .all = making->resources };
    bool is_told = node->has_values && making->add == task_graph_add_to_plan;
    for (uint32_t i = 0; i < node->num_accesses && found.num < DOT_MOST_ARGS && !is_told; i++) {
        const struct dot_access *access = &making->file->accesses[node->first_access + i];
        const struct dot_resource *resource = &making->file->resources[access->resource];
        bool is_whole = resource->name || resource->frames_before;
        uint32_t buffer = is_whole ? access->resource : resource->buffer, known = 0;
        const struct dot_resource *whole = &making->file->resources[buffer];
        bool is_chosen = making->add == task_graph_add_to_plan
                             ? whole->is_transient
                             : dot_is_chosen(making->file, buffer);
        if (!(whole->bytes || whole->frames_before) || access->by_pointer || is_chosen)
            continue;
        while (known < found.num && making->addresses[known].index != buffer)
            known++;
        if (known == found.num)
            making->addresses[found.num++] = making->resources[buffer];
    }
    return found;
}

// Kernels that stand for the file's nodes have none of what most parameters go to.
static braid_status use_parameters(struct task_graph *making, uint32_t index)
{
    const struct dot_node *node = &making->file->nodes[index];
    const struct dot_use *uses = node->num_uses ? &making->file->uses[node->first_use] : NULL;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < node->num_uses && !status; i++) {
        const braid_parameter_use use = { .node = braid_graph_get_node(making->graph, index),
                                          .target = uses[i].target,
                                          .argument = uses[i].argument,
                                          .argument_offset = uses[i].argument_offset,
                                          .offset = uses[i].offset,
                                          .bytes = uses[i].bytes };
        if (making->add == task_graph_add_to_plan || use.target == BRAID_TARGET_ENABLED)
            status = braid_graph_use_parameter(making->graph, making->parameters[uses[i].parameter],
                                               &use);
    }
    return status;
}

static braid_status add_node(struct task_graph *making, uint32_t index)
{
    const struct dot_file *file = making->file;
    const struct dot_node *node = &file->nodes[index];
    const char *name = task_graph_name(node);
    braid_node_options options = { .name = *name ? name : NULL,
                                   .accesses = making->accesses + node->first_access,
                                   .num_accesses = node->num_accesses,
                                   .lane_hint = node->lane_hint,
                                   .place = node->on };
    if (node->cost.is_given)
        options.cost_ns = dot_cost_ns(file, index);
    if (node->role == DOT_PRELUDE)
        options.prelude_of = braid_graph_get_node(making->graph, node->main);
    if (node->role == DOT_EPILOGUE)
        options.epilogue_of = braid_graph_get_node(making->graph, node->main);
    struct task_addresses addresses = find_addresses(making, node);
    braid_status status =
        task_region_reach(making->graph, file, &making->at, node->around, node->is_else);
    if (!status && (node->kind == DOT_LOOP || node->kind == DOT_BRANCH))
        status = task_region_begin(making->graph, file, index, &options, making->resources,
                                   making->add != task_graph_add_to_plan, &making->at);
    else if (!status)
        status = making->add(making->graph, node, &options, &addresses, index, making->user);
    return status ? status : use_parameters(making, index);
}

static braid_status fill(struct task_graph *making)
{
    static const char step[] = "building the graph";
    const struct dot_file *file = making->file;
    braid_status status = BRAID_OK;
    progress_show(step, 0, file->num_edges);
    for (uint32_t i = 0; i < file->num_resources && status == BRAID_OK; i++)
        status = add_resource(making, i);
    for (uint32_t i = 0; i < file->num_resources && status == BRAID_OK; i++)
        if (file->resources[i].is_output)
            status = braid_graph_set_output(making->graph, making->resources[i]);
    for (uint32_t i = 0; i < file->num_parameters && status == BRAID_OK; i++)
        status = braid_graph_add_parameter(making->graph, file->parameters[i].name,
                                           file->parameters[i].bytes, &making->parameters[i]);
    for (uint32_t i = 0; i < file->num_accesses; i++)
        making->accesses[i] =
            (braid_access){ making->resources[file->accesses[i].resource], file->accesses[i].mode };
    for (uint32_t i = 0; i < file->num_nodes && status == BRAID_OK; i++)
        status = add_node(making, i);
    if (status == BRAID_OK)
        status = task_region_reach(making->graph, file, &making->at, DOT_NONE, false);
    for (uint32_t i = 0; i < file->num_edges && status == BRAID_OK; i++) {
        const struct dot_edge *edge = &file->edges[i];
        status =
            braid_graph_add_edge(making->graph, braid_graph_get_node(making->graph, edge->from),
                                 braid_graph_get_node(making->graph, edge->to));
        progress_show(step, i, file->num_edges);
    }
    return status;
}

// Where what is not memory would fill the address space, there is no plan.
static enum exit_status check_sizes(const struct dot_file *file)
{
    uint64_t sum = 0, most = (uint64_t)1 << 60;
    for (uint32_t i = 0; i < file->num_resources; i++) {
        if (!file->resources[i].name)
            continue;
        if (file->resources[i].bytes > most - sum)
            return fail_in_file(file->text.path, 1, "buffers of more than 2^60 bytes");
        sum += file->resources[i].bytes;
    }
    return EXIT_DONE;
}

// No busy kernel writes a condition.
static enum exit_status refuse_branches(const struct dot_file *file)
{
    for (uint32_t i = 0; i < file->num_nodes; i++)
        if (file->nodes[i].kind == DOT_BRANCH)
            return fail_in_file(file->text.path, 1,
                                "node '%s' is a branch: it can be planned, and not run",
                                file->nodes[i].id);
    return EXIT_DONE;
}

enum exit_status task_graph_create_with(const struct dot_file *file, task_graph_add *add,
                                        void *user, void *const *memory, braid_graph **out_graph)
{
    struct task_graph making = { .file = file,
                                 .add = add,
                                 .user = user,
                                 .memory = memory,
                                 .next_address = 4096,
                                 .at.node = DOT_NONE };
    making.resources = calloc((size_t)file->num_resources + 1, sizeof(*making.resources));
    making.accesses = calloc((size_t)file->num_accesses + 1, sizeof(*making.accesses));
    making.parameters = calloc((size_t)file->num_parameters + 1, sizeof(*making.parameters));
    making.addresses = calloc(DOT_MOST_ARGS, sizeof(*making.addresses));
    enum exit_status status = check_sizes(file);
    if (status == EXIT_DONE && add != task_graph_add_to_plan)
        status = refuse_branches(file);
    if (!making.resources || !making.accesses || !making.parameters || !making.addresses)
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
    free(making.parameters);
    free(making.addresses);
    if (status == EXIT_DONE)
        *out_graph = making.graph;
    else
        braid_graph_destroy(making.graph);
    return status;
}

enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph)
{
    return task_graph_create_with(file, add, user, NULL, out_graph);
}

enum exit_status task_graph_fail(const struct dot_file *file, braid_status status)
{
    // BRAID_WRONG_STATE: a loop of the file has no node.
    if (status == BRAID_CYCLE || status == BRAID_INVALID_ARGUMENT || status == BRAID_WRONG_STATE)
        return fail_in_file(file->text.path, 1, "%s", braid_error_get_message());
    return fail_in_library();
}
