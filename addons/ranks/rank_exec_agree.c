// SPDX-License-Identifier: Apache-2.0
// Execs of graphs with communicators: the agreement of all ranks before anything runs.
#include "ranks/ranks.h"

#include "base/array.h"
#include "base/error.h"
#include "exec/exec.h"
#include "plan/schedule.h"
#include "ranks/join.h"
#include "ranks/rank_exec.h"
#include "ranks/rank_graph.h"
#include "ranks/rank_plan.h"

// The parts of a plan that other ranks need to know.
struct telling {
    const braid_exec *exec;
    const braid_graph *graph;
    struct rank_plan_parts parts;
    bool is_linked; // a device makes the operations
};

static bool tell_edge(struct telling *telling, uint32_t from, uint32_t to, bool is_lane)
{
    return braid_array_put(&telling->parts.edges, &(struct rank_plan_edge){ from, to, is_lane },
                           sizeof(struct rank_plan_edge));
}

// Nodes are vertices. Tells the nodes before each node: on its lane, and by the graph.
static bool tell_edges(struct telling *telling)
{
    const struct braid_schedule *schedule = telling->exec->schedule;
    const struct plan_graph *plan = schedule->graph;
    uint32_t before = GRAPH_NONE;
    bool told = true;
    telling->parts.head.num_vertices = plan->num_nodes;
    for (uint32_t i = 0; i < schedule->lane_first[schedule->info.num_lanes] && told; i++) {
        uint32_t node = schedule->lane_nodes[i];
        if (before != GRAPH_NONE && schedule->lane_of[before] == schedule->lane_of[node])
            told = tell_edge(telling, before, node, true);
        for (uint32_t e = plan->pred_first[node]; e < plan->pred_first[node + 1] && told; e++)
            told = tell_edge(telling, plan->pred_nodes[e], node, false);
        before = node;
    }
    return told;
}

static bool tell_operation(struct telling *telling, uint32_t node)
{
    const struct rank_description *what = rank_graph_description(telling->graph, node);
    uint32_t name =
        braid_rank_plan_add_text(&telling->parts, braid_graph_name(telling->graph, node + 1));
    struct rank_plan_operation *told =
        braid_array_append(&telling->parts.operations, 1, sizeof(*told));
    if (!told || name == UINT32_MAX)
        return false;
    bool has_peer = what->operation <= BRAID_RANK_BROADCAST;
    *told = (struct rank_plan_operation){
        .count = what->count,
        .key = what->key,
        .number = what->communicator->number,
        .operation = what->operation,
        .element = what->element,
        .reduction = what->reduction,
        .peer = has_peer ? what->communicator->members[what->peer] : 0,
        .tag = telling->is_linked ? 0 : what->tag, // a device takes what comes first
        .own_tag = what->tag,
        .post = braid_graph_queued_with(telling->graph, node),
        .await = node + 1,
        .name = name,
    };
    return true;
}

// A device queues an operation on a communicator behind the end of its earlier work there.
static bool tell_queue(struct telling *telling, const braid_communicator *communicator)
{
    const braid_graph *graph = telling->graph;
    uint32_t before = 0, own = 0; // first nodes of two groups
    bool told = true, has_before = false, begins = true;
    for (uint32_t i = 0; i < graph_num_nodes(graph) && told; i++) {
        if (graph_nodes(graph)[i].kind != WORK_POST ||
            rank_graph_description(graph, i)->communicator != communicator)
            continue;
        own = begins ? i : own;
        begins = braid_graph_queued_with(graph, i) == i;
        for (uint32_t k = before; begins && has_before && k < own && told; k++) {
            if (graph_nodes(graph)[k].kind == WORK_POST &&
                rank_graph_description(graph, k)->communicator == communicator)
                told = tell_edge(telling, k + 1, i, false);
        }
        before = begins ? own : before;
        has_before |= begins;
    }
    return told;
}

static bool tell_plan(struct telling *telling)
{
    const struct graph_resource *resources = telling->graph->resources.items;
    uint32_t num = graph_num_nodes(telling->graph);
    bool told = tell_edges(telling);
    for (size_t i = 0; i < telling->graph->resources.num && told; i++) {
        if (resources[i].communicator)
            told = braid_rank_plan_add_communicator(&telling->parts, resources[i].communicator) &&
                   (!telling->is_linked || tell_queue(telling, resources[i].communicator));
    }
    for (uint32_t i = 0; i < num && told; i++) {
        if (graph_nodes(telling->graph)[i].kind == WORK_POST)
            told = tell_operation(telling, i);
    }
    return told;
}

static void tell_failure(struct telling *telling, braid_status status)
{
    braid_rank_plan_finish(&telling->parts);
    telling->parts = (struct rank_plan_parts){ .head.status = status,
                                               .head.engine = telling->parts.head.engine };
    (void)braid_rank_plan_add_text(&telling->parts, braid_error_message());
}

// A rank that failed keeps its own message; the others have the verdict's.
static braid_status heed(const struct rank_verdict *verdict, braid_status own)
{
    if (own || !verdict->status)
        return own;
    return braid_error((braid_status)verdict->status, "braid_exec_create: %s", verdict->message);
}

braid_status braid_rank_exec_agree(braid_exec *exec, const braid_graph *graph, bool may_plan_again,
                                   braid_status status, bool *out_plan_again)
{
    braid_ranks *ranks = rank_exec_of(exec)->ranks;
    struct telling telling = { .exec = exec,
                               .graph = graph,
                               .is_linked = rank_exec_of(exec)->is_linked };
    struct rank_verdict verdict;
    uint64_t num_bytes;
    *out_plan_again = false;
    telling.parts.head.may_plan_again = may_plan_again;
    telling.parts.head.engine = exec->device->backend->ops->rank_engine;
    if (!status && !tell_plan(&telling))
        status = braid_error_no_memory("what a rank tells of its plan");
    if (status)
        tell_failure(&telling, status);
    void *bytes = braid_rank_plan_write(&telling.parts, &num_bytes);
    braid_status agreed =
        bytes ? braid_rank_exchange(ranks, bytes, num_bytes, braid_rank_judge, &verdict)
              : braid_error_no_memory("what a rank tells of its plan");
    if (agreed != BRAID_DEVICE_ERROR) // or else MPI may still read them
        free(bytes);
    if (!agreed) {
        *out_plan_again = verdict.plan_again;
        agreed = heed(&verdict, status);
    }
    braid_rank_plan_finish(&telling.parts);
    return status ? status : agreed;
}

// The options of all ranks for the second plan.
braid_exec_options braid_rank_exec_apart(const braid_exec_options *options)
{
    braid_exec_options apart = *options;
    apart.plan.fixed_lanes = true;
    apart.plan.max_lanes = BRAID_ALL_LANES;
    return apart;
}
