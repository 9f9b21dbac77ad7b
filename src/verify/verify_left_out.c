// SPDX-License-Identifier: Apache-2.0
// Proves that no node which stays, and no output, sees that others are left out. It goes forward
// through two frames, in the order in which accesses count. For each segment it keeps the node
// whose change is missing. The planner goes back from the outputs.
#include "verify/verify.h"

#include "base/error.h"
#include "base/host_memory.h"
#include "base/node_text.h"
#include "graph/links.h"
#include "graph/regions.h"
#include "graph/segments.h"

struct proof {
    const braid_graph *graph, *culled;
    struct graph_units units;
    struct graph_segments segments;
    uint32_t *missing; // by segment: the node whose change it lacks, or GRAPH_NONE
};

static bool is_out(const struct proof *proof, uint32_t node)
{
    return graph_nodes(proof->culled)[node].is_left_out;
}

static struct node_text name(const struct proof *proof, uint32_t node)
{
    return braid_node_text(node, braid_graph_name(proof->graph, node));
}

static braid_status refuse(const struct proof *proof, uint32_t node, const char *why)
{
    return braid_error(BRAID_INTERNAL, "the plan leaves out node %s, %s", name(proof, node).text,
                       why);
}

static braid_status refuse_for(const struct proof *proof, uint32_t node, uint32_t needs)
{
    return braid_error(BRAID_INTERNAL, "the plan leaves out node %s, which node %s needs",
                       name(proof, node).text, name(proof, needs).text);
}

// Versions of one buffer are one thing here.
static uint32_t thing_of(const struct proof *proof, uint32_t resource)
{
    const struct graph_resource *at = graph_resource_at(proof->graph, resource);
    return at->num_versions ? at->versioned : resource;
}

// Whether the node overwrites the bytes in each frame.
static bool covers(const struct proof *proof, uint32_t node, const struct graph_access *access)
{
    return access->mode == BRAID_WRITE && !graph_needs_data(proof->graph, node, access) &&
           graph_nodes(proof->graph)[node].kind != WORK_EMPTY &&
           !graph_resource_at(proof->graph, access->resource)->num_versions &&
           braid_graph_region_of(proof->graph, node) == GRAPH_NONE;
}

// Locks show nothing to each other.
static bool sees(const struct proof *proof, const struct graph_access *access)
{
    bool is_lock = access->mode == BRAID_EXCLUSIVE &&
                   !graph_resource_at(proof->graph, access->resource)->bytes;
    return access->mode != BRAID_WRITE && !is_lock;
}

static braid_status walk_segment(struct proof *proof, uint32_t node,
                                 const struct graph_access *access, uint32_t *missing)
{
    if (is_out(proof, node))
        *missing = access->mode == BRAID_READ ? *missing : node;
    else if (*missing != GRAPH_NONE && sees(proof, access))
        return refuse_for(proof, *missing, node);
    return BRAID_OK;
}

// All that a node sees was there before it writes.
static braid_status walk_node(struct proof *proof, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(proof->graph)[index];
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < 2 * node->num_accesses && !status; i++) {
        const struct graph_access *access =
            graph_access_of(proof->graph, node, i % node->num_accesses);
        uint32_t thing = thing_of(proof, access->resource);
        for (uint32_t s = proof->segments.first[thing]; s < proof->segments.end[thing] && !status;
             s++) {
            uint32_t *missing = &proof->missing[s];
            if (i < node->num_accesses)
                status = walk_segment(proof, index, access, missing);
            else if (!is_out(proof, index) && covers(proof, index, access))
                *missing = GRAPH_NONE;
        }
    }
    return status;
}

// A loop or branch reads its condition.
static braid_status walk_condition(struct proof *proof, uint32_t node)
{
    uint32_t region = braid_graph_region_entered(proof->graph, node);
    const struct graph_access access = { graph_regions(proof->graph)[region].condition,
                                         BRAID_READ };
    braid_status status = BRAID_OK;
    if (access.resource == GRAPH_NONE)
        return BRAID_OK;
    uint32_t thing = thing_of(proof, access.resource);
    for (uint32_t s = proof->segments.first[thing]; s < proof->segments.end[thing] && !status; s++)
        status = walk_segment(proof, node, &access, &proof->missing[s]);
    return status;
}

// A region's other accesses are those of its bodies.
static braid_status walk_frame(struct proof *proof)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph_num_nodes(proof->graph) && !status; i++) {
        uint32_t node = proof->units.members[i];
        bool has_body = work_has_body((enum work_kind)graph_nodes(proof->graph)[node].kind);
        status = has_body ? walk_condition(proof, node) : walk_node(proof, node);
    }
    return status;
}

static void forget_planned(struct proof *proof)
{
    for (uint32_t i = 0; i < proof->graph->resources.num; i++) {
        for (uint32_t s = proof->segments.first[i];
             graph_resource_at(proof->graph, i)->alignment && s < proof->segments.end[i]; s++)
            proof->missing[s] = GRAPH_NONE;
    }
}

static braid_status check_outputs(const struct proof *proof)
{
    const uint32_t *outputs = proof->graph->outputs.items;
    for (size_t i = 0; i < proof->graph->outputs.num; i++) {
        uint32_t thing = thing_of(proof, outputs[i]);
        for (uint32_t s = proof->segments.first[thing]; s < proof->segments.end[thing]; s++) {
            if (proof->missing[s] != GRAPH_NONE)
                return refuse(proof, proof->missing[s], "whose result is an output");
        }
    }
    return BRAID_OK;
}

static bool tells_result(const braid_graph *graph, const struct graph_node *node)
{
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        uint32_t mode = graph_access_of(graph, node, i)->mode;
        if (mode == BRAID_WRITE || mode == BRAID_READ_WRITE || mode == BRAID_ACCUMULATE)
            return true;
    }
    return false;
}

// A bundle or region goes as a whole. A node that declares no result may have any effect.
static braid_status check_out(const struct proof *proof, uint32_t index)
{
    const struct graph_node *node = &graph_nodes(proof->graph)[index];
    uint32_t region = braid_graph_region_of(proof->graph, index);
    if (is_out(proof, index) != is_out(proof, node->main) ||
        (region != GRAPH_NONE &&
         is_out(proof, index) != is_out(proof, graph_regions(proof->graph)[region].node)))
        return braid_error(BRAID_INTERNAL,
                           "the plan leaves out a part of the bundle or region of node %s",
                           name(proof, index).text);
    if (!is_out(proof, index) || node->kind == WORK_EMPTY ||
        work_has_body((enum work_kind)node->kind))
        return BRAID_OK;
    if (node->kind == WORK_POST || node->kind == WORK_AWAIT)
        return refuse(proof, index, "for which another rank waits");
    return tells_result(proof->graph, node) ? BRAID_OK
                                            : refuse(proof, index, "which declares no result");
}

// A node that stays is planned as it was.
static bool is_same(const struct graph_node *old, const struct graph_node *now)
{
    return old->kind == now->kind && old->payload == now->payload && old->main == now->main &&
           old->role == now->role && old->first_access == now->first_access &&
           old->num_accesses == now->num_accesses && old->lane_hint == now->lane_hint;
}

static braid_status check_nodes(const struct proof *proof)
{
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < graph_num_nodes(proof->graph) && !status; i++) {
        status = check_out(proof, i);
        if (!status && !is_out(proof, i) &&
            !is_same(&graph_nodes(proof->graph)[i], &graph_nodes(proof->culled)[i]))
            status = braid_error(BRAID_INTERNAL, "the plan has another node %s than the graph",
                                 name(proof, i).text);
    }
    return status;
}

static braid_status check_edges(const struct proof *proof)
{
    size_t num = 0;
    for (size_t i = 0; i < proof->graph->edges.num; i++) {
        const struct graph_edge *edge = &graph_edges(proof->graph)[i];
        if (is_out(proof, edge->from) && !is_out(proof, edge->to))
            return refuse_for(proof, edge->from, edge->to);
        num += !is_out(proof, edge->from) && !is_out(proof, edge->to);
    }
    if (num == proof->culled->edges.num)
        return BRAID_OK;
    return braid_error(BRAID_INTERNAL, "the plan has %zu edges, and the graph has %zu that stay",
                       proof->culled->edges.num, num);
}

static braid_status prove(struct proof *proof)
{
    braid_status status = braid_graph_find_units(proof->graph, &proof->units);
    if (!status)
        status = braid_graph_find_segments(proof->graph, &proof->segments);
    if (status)
        return status;
    proof->missing = braid_allocate_zeroed(proof->segments.num_segments, sizeof(uint32_t));
    if (!proof->missing)
        return braid_error_no_memory("the proof of nodes left out");
    for (uint32_t s = 0; s < proof->segments.num_segments; s++)
        proof->missing[s] = GRAPH_NONE;
    status = check_nodes(proof);
    if (!status)
        status = check_edges(proof);
    if (!status)
        status = walk_frame(proof);
    forget_planned(proof);
    if (!status)
        status = walk_frame(proof);
    return status ? status : check_outputs(proof);
}

braid_status braid_verify_left_out(const braid_graph *graph, const braid_graph *culled)
{
    struct proof proof = { .graph = graph, .culled = culled };
    if (culled == graph)
        return BRAID_OK;
    braid_status status = prove(&proof);
    braid_graph_units_finish(&proof.units);
    braid_graph_segments_finish(&proof.segments);
    braid_free(proof.missing);
    return status;
}
