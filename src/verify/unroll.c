// SPDX-License-Identifier: Apache-2.0
// A graph of several frames, made as a user's program would make it.
#include "verify/unroll.h"

#include "base/error.h"
#include "base/store.h"

struct unroll {
    const braid_graph *graph;
    braid_graph *to;
    braid_resource *resources; // the frame's at hand
    braid_resource *versions;  // by versioned buffer, as in the graph
    braid_access *accesses;    // as many as any node has
    uint32_t frame;
};

// A buffer for each version, all made with the first frame.
static braid_status find_version(struct unroll *unroll, const struct graph_resource *resource,
                                 const char *name, braid_resource *out)
{
    uint32_t num = resource->num_versions;
    braid_resource *versions = unroll->versions + resource->first_version;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num && unroll->frame == 0 && !resource->frames_before && !status; i++)
        status = braid_graph_add_buffer(unroll->to, name, NULL, resource->bytes, &versions[i]);
    if (!status)
        *out = versions[(unroll->frame + num - resource->frames_before) % num];
    return status;
}

static braid_status add_resource(struct unroll *unroll, uint32_t index)
{
    const struct graph_resource *resource = graph_resource_at(unroll->graph, index);
    braid_resource *out = &unroll->resources[index];
    const char *name = braid_names_at(&unroll->graph->names, resource->name);
    if (resource->num_versions > 1)
        return find_version(unroll, resource, name, out);
    if (unroll->frame && !resource->alignment)
        return BRAID_OK; // shared with the frame before
    if (resource->buffer != index)
        return braid_graph_add_range(unroll->to, unroll->resources[resource->buffer],
                                     resource->offset, resource->bytes, out);
    if (resource->bytes)
        return braid_graph_add_buffer(unroll->to, name, NULL, resource->bytes, out);
    return braid_graph_add_resource(unroll->to, name, out);
}

static braid_node handle(const struct unroll *unroll, uint32_t node)
{
    uint32_t index = node + unroll->frame * graph_num_nodes(unroll->graph);
    return (braid_node){ .index = index, .graph = unroll->to->id };
}

static braid_status add_node(struct unroll *unroll, uint32_t index)
{
    const braid_graph *graph = unroll->graph;
    const struct graph_node *node = &graph_nodes(graph)[index];
    const struct graph_access *accesses = graph->accesses.items;
    uint32_t num_accesses = node->kind == WORK_EMPTY ? 0 : node->num_accesses;
    for (uint32_t i = 0; i < num_accesses; i++) {
        const struct graph_access *access = &accesses[node->first_access + i];
        unroll->accesses[i] =
            (braid_access){ unroll->resources[access->resource], (braid_access_mode)access->mode };
    }
    braid_node_options options = {
        .name = braid_graph_name(graph, index),
        .accesses = unroll->accesses,
        .num_accesses = num_accesses,
    };
    if (node->role == GRAPH_PRELUDE)
        options.prelude_of = handle(unroll, node->main);
    if (node->role == GRAPH_EPILOGUE)
        options.epilogue_of = handle(unroll, node->main);
    braid_status status = braid_graph_add_empty(unroll->to, &(braid_empty){ options }, NULL);
    if (!status) {
        struct graph_node *nodes = unroll->to->nodes.items;
        nodes[unroll->to->nodes.num - 1].is_left_out = node->is_left_out;
        unroll->to->num_left_out += node->is_left_out;
    }
    return status;
}

static braid_status follow_sequence(struct unroll *unroll)
{
    const uint32_t *sequence = unroll->graph->sequence.items;
    size_t num = unroll->graph->sequence.num;
    uint32_t *next = num ? braid_array_append(&unroll->to->sequence, num, sizeof(*next)) : NULL;
    if (num && !next)
        return braid_error_no_memory("the proof of frames");
    for (size_t i = 0; i < num; i++)
        next[i] = handle(unroll, sequence[i]).index;
    return BRAID_OK;
}

static braid_status add_frame(struct unroll *unroll)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < unroll->graph->resources.num && !status; i++)
        status = add_resource(unroll, i);
    for (uint32_t i = 0; i < graph_num_nodes(unroll->graph) && !status; i++)
        status = add_node(unroll, i);
    return status ? status : follow_sequence(unroll);
}

static size_t most_accesses(const braid_graph *graph)
{
    size_t most = 0;
    for (uint32_t i = 0; i < graph_num_nodes(graph); i++) {
        if (graph_nodes(graph)[i].num_accesses > most)
            most = graph_nodes(graph)[i].num_accesses;
    }
    return most;
}

braid_status braid_unroll_frames(const braid_graph *graph, uint32_t num_frames,
                                 braid_graph **out_unrolled)
{
    struct store store = { 0 };
    struct unroll unroll = {
        .graph = graph,
        .resources = braid_store_take(&store, graph->resources.num, sizeof(braid_resource)),
        .accesses = braid_store_take(&store, most_accesses(graph), sizeof(braid_access)),
        .versions = braid_store_take(&store, graph->versions.num, sizeof(braid_resource)),
    };
    braid_status status = store.failed ? braid_error_no_memory("the proof of frames") : BRAID_OK;
    if (!status)
        status = braid_graph_create(&unroll.to);
    for (; unroll.frame < num_frames && !status; unroll.frame++)
        status = add_frame(&unroll);
    braid_store_finish(&store);
    if (status)
        braid_graph_destroy(unroll.to);
    else
        *out_unrolled = unroll.to;
    return status;
}
