// SPDX-License-Identifier: Apache-2.0
// Makes the graph of a capture anew.
#include "replay_graph.h"

#include <stdlib.h>
#include <string.h>

#include <braid/region.h>

struct building {
    const struct replay_graph *replay;
    const struct capture_file *file;
    braid_graph *graph;
    braid_resource *resources;
    braid_node *nodes;
    braid_access *accesses; // for the node at hand, as are the next ones
    braid_arg *args;
    uint32_t room_accesses, room_args;
};

bool replay_graph_rests(const struct replay_graph *replay, uint32_t node)
{
    const struct capture_node *it = &replay->file->nodes[node];
    return !it->is_enabled || it->kind == CAPTURE_EMPTY || capture_is_region(it) ||
           (it->kind == CAPTURE_HOST && !replay->host_calls[node]);
}

bool replay_access_writes(const struct capture_access *access)
{
    return access->mode != BRAID_READ && access->mode != BRAID_EXCLUSIVE;
}

bool replay_graph_writes(const struct replay_graph *replay, uint32_t node, uint32_t buffer,
                         uint64_t at)
{
    const struct capture_file *file = replay->file;
    const struct capture_node *it = &file->nodes[node];
    const struct capture_access *accesses = file->accesses.items;
    for (uint32_t i = 0; i < it->num_accesses && !replay_graph_rests(replay, node); i++) {
        const struct capture_access *access = &accesses[it->first_access + i];
        uint64_t begin;
        if (replay_access_writes(access) &&
            capture_buffer_of(file, access->resource, &begin) == buffer && at >= begin &&
            at - begin < file->resources[access->resource].bytes)
            return true;
    }
    return false;
}

static braid_status add_resource(struct building *building, uint32_t index)
{
    const struct capture_resource *it = &building->file->resources[index];
    braid_resource *out = &building->resources[index];
    switch (it->kind) {
    case CAPTURE_BUFFER:
        return braid_graph_add_buffer(building->graph, it->name, building->replay->memory[index],
                                      it->bytes, out);
    case CAPTURE_TRANSIENT:
        return braid_graph_add_transient(building->graph, it->name, it->bytes, it->alignment, out);
    case CAPTURE_RANGE:
        return braid_graph_add_range(building->graph, building->resources[it->buffer], it->offset,
                                     it->bytes, out);
    default:
        return braid_graph_add_resource(building->graph, it->name, out);
    }
}

// An address that the plan chooses is the resource's; others are written into the value.
static braid_arg resolve(const struct building *building, const struct capture_argument *argument)
{
    const struct capture_file *file = building->file;
    const struct capture_word *words = file->words.items;
    unsigned char *values = file->values.items;
    for (uint32_t i = 0; i < argument->num_words; i++) {
        const struct capture_word *word = &words[argument->first_word + i];
        uint64_t offset;
        if (word->is_trap)
            return BRAID_TRAP();
        uint32_t buffer = capture_buffer_of(file, word->resource, &offset);
        if (building->replay->is_planned && file->resources[buffer].kind == CAPTURE_TRANSIENT)
            return braid_resource_address(&building->resources[word->resource]);
        const unsigned char *address = building->replay->memory[buffer] + offset + word->offset;
        memcpy(values + word->place, &address, sizeof(address));
    }
    bool is_pointer = argument->is_unchecked && argument->bytes == sizeof(void *);
    return (braid_arg){ values + argument->place, argument->bytes,
                        is_pointer ? BRAID_ARG_UNCHECKED_POINTER : BRAID_ARG_VALUE };
}

// The node's argument as a pointer or a resource, of which one is none.
static void *pointer_of(const struct building *building, const struct capture_node *node,
                        uint32_t index, braid_resource *out_resource)
{
    const struct capture_argument *arguments = building->file->arguments.items;
    const braid_arg arg = resolve(building, &arguments[node->first_argument + index]);
    void *pointer = NULL;
    if (arg.kind == BRAID_ARG_RESOURCE)
        memcpy(out_resource, arg.data, sizeof(*out_resource));
    else
        memcpy(&pointer, arg.data, sizeof(pointer));
    return pointer;
}

static braid_status add_kernel(struct building *building, const struct capture_node *node,
                               const braid_node_options *options, braid_node *out_node)
{
    const struct capture_argument *arguments = building->file->arguments.items;
    braid_kernel_node launch = { .node = *options,
                                 .kernel = &building->file->kernels[node->kernel],
                                 .grid = node->grid,
                                 .block = node->block,
                                 .cluster = node->cluster,
                                 .shared_bytes = node->shared_bytes,
                                 .priority = node->priority,
                                 .cooperative = node->is_cooperative,
                                 .args = building->args,
                                 .num_args = node->num_arguments - node->has_grid_from,
                                 .code_use = BRAID_CODE_UNREAD }; // it ran so
    for (uint32_t i = 0; i < launch.num_args; i++)
        building->args[i] = resolve(building, &arguments[node->first_argument + i]);
    if (node->has_grid_from)
        launch.grid_from =
            pointer_of(building, node, node->num_arguments - 1, &launch.grid_from_resource);
    return braid_graph_add_kernel(building->graph, &launch, out_node);
}

static braid_status add_work(struct building *building, uint32_t index,
                             const braid_node_options *options, braid_node *out_node)
{
    const struct capture_node *node = &building->file->nodes[index];
    if (replay_graph_rests(building->replay, index))
        return braid_graph_add_empty(building->graph, &(braid_empty){ *options }, out_node);
    if (node->kind == CAPTURE_KERNEL)
        return add_kernel(building, node, options, out_node);
    if (node->kind == CAPTURE_COPY) {
        braid_copy copy = { .node = *options, .bytes = node->num };
        copy.to = pointer_of(building, node, 0, &copy.to_resource);
        copy.from = pointer_of(building, node, 1, &copy.from_resource);
        return braid_graph_add_copy(building->graph, &copy, out_node);
    }
    if (node->kind == CAPTURE_FILL) {
        braid_fill fill = { .node = *options,
                            .value = node->value,
                            .value_bytes = node->value_bytes,
                            .num_values = node->num };
        fill.to = pointer_of(building, node, 0, &fill.to_resource);
        return braid_graph_add_fill(building->graph, &fill, out_node);
    }
    braid_host_call call = { .node = *options, .call = building->replay->host_calls[index] };
    call.user = pointer_of(building, node, 0, &call.user_resource);
    if (!call.user && !call.user_resource.graph && building->replay->declared)
        call.user = (void *)(uintptr_t)&building->replay->declared[node->first_access];
    return braid_graph_add_host_call(building->graph, &call, out_node);
}

// Its node has the accesses of its bodies.
static braid_status begin_region(struct building *building, uint32_t index)
{
    const struct capture_node *node = &building->file->nodes[index];
    braid_node_options options = { .name = node->name, .lane_hint = node->lane_hint };
    braid_loop loop = { .node = options, .expected = node->expected };
    braid_resource condition = { 0 };
    if (node->condition != CAPTURE_NONE)
        condition = building->resources[node->condition];
    if (node->kind == CAPTURE_BRANCH)
        return braid_graph_begin_if(building->graph,
                                    &(braid_if){ .node = options, .condition = condition },
                                    &building->nodes[index]);
    loop.condition = condition;
    loop.unbounded = node->most == UINT64_MAX;
    loop.tests_first = node->tests_first;
    if (!loop.unbounded)
        *(condition.graph ? &loop.most : &loop.times) = node->most;
    return braid_graph_begin_loop(building->graph, &loop, &building->nodes[index]);
}

static braid_status add_node(struct building *building, uint32_t index)
{
    const struct capture_node *node = &building->file->nodes[index];
    const struct capture_access *accesses = building->file->accesses.items;
    braid_node_options options = { .name = node->name };
    if (building->replay->is_planned) {
        options.cost_ns = node->cost_ns;
        options.lane_hint = node->lane_hint;
        options.accesses = building->accesses;
        options.num_accesses = node->num_accesses;
        if (node->role)
            *(node->role == 1 ? &options.prelude_of : &options.epilogue_of) =
                building->nodes[node->main];
    }
    for (size_t i = 0; i < options.num_accesses; i++) {
        const struct capture_access *access = &accesses[node->first_access + i];
        building->accesses[i] = (braid_access){ building->resources[access->resource],
                                                (braid_access_mode)access->mode };
    }
    return add_work(building, index, &options, &building->nodes[index]);
}

static braid_status add_nodes(struct building *building, uint32_t first, uint32_t num);

static braid_status add_region(struct building *building, uint32_t index)
{
    const struct capture_node *node = &building->file->nodes[index];
    braid_status status = begin_region(building, index);
    if (!status)
        status = add_nodes(building, index + 1, node->num_nodes);
    if (!status && node->num_else)
        status = braid_graph_else(building->graph);
    if (!status)
        status = add_nodes(building, index + 1 + node->num_nodes, node->num_else);
    return status ? status : braid_graph_end(building->graph);
}

static braid_status add_nodes(struct building *building, uint32_t first, uint32_t num)
{
    braid_status status = BRAID_OK;
    uint32_t step = 1;
    for (uint32_t i = first; i < first + num && !status; i += step) {
        const struct capture_node *node = &building->file->nodes[i];
        bool is_entered =
            building->replay->is_planned && node->is_enabled && capture_is_region(node);
        status = is_entered ? add_region(building, i) : add_node(building, i);
        step = is_entered ? capture_num_with(node) : 1;
    }
    return status;
}

static braid_status add_all(struct building *building)
{
    const struct capture_file *file = building->file;
    bool is_planned = building->replay->is_planned;
    braid_status status = braid_graph_create(&building->graph);
    for (uint32_t i = 0; is_planned && i < file->num_resources && !status; i++)
        status = add_resource(building, i);
    if (!status)
        status = add_nodes(building, 0, file->num_nodes);
    for (uint32_t i = 0; is_planned && i < file->num_edges && !status; i++)
        status = braid_graph_add_edge(building->graph, building->nodes[file->edges[i].from],
                                      building->nodes[file->edges[i].to]);
    return status;
}

static void find_room(struct building *building)
{
    for (uint32_t i = 0; i < building->file->num_nodes; i++) {
        const struct capture_node *node = &building->file->nodes[i];
        if (node->num_accesses > building->room_accesses)
            building->room_accesses = node->num_accesses;
        if (node->num_arguments > building->room_args)
            building->room_args = node->num_arguments;
    }
}

enum exit_status replay_graph_create(const struct replay_graph *replay, braid_graph **out_graph)
{
    struct building building = { .replay = replay, .file = replay->file };
    find_room(&building);
    building.resources =
        calloc((size_t)replay->file->num_resources + 1, sizeof(*building.resources));
    building.nodes = calloc((size_t)replay->file->num_nodes + 1, sizeof(*building.nodes));
    building.accesses = calloc((size_t)building.room_accesses + 1, sizeof(*building.accesses));
    building.args = calloc((size_t)building.room_args + 1, sizeof(*building.args));
    enum exit_status status = EXIT_DONE;
    if (!building.resources || !building.nodes || !building.accesses || !building.args)
        status = fail(EXIT_FAILED, "out of memory for the graph of %s", replay->file->path);
    else if (add_all(&building))
        status = fail_in_library();
    if (status == EXIT_DONE)
        *out_graph = building.graph;
    else
        braid_graph_destroy(building.graph);
    free(building.resources);
    free(building.nodes);
    free(building.accesses);
    free(building.args);
    return status;
}
