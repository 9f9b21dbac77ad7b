// SPDX-License-Identifier: Apache-2.0
// Costs of a graph's nodes from frames that were run.
#include <braid/timings.h>

#include "base/error.h"
#include "base/inside.h"
#include "exec/exec.h"
#include "exec/exec_times.h"
#include "graph/regions.h"

enum { LEAST_FRAMES = 3 }; // the first one finds no code and data in the caches

static braid_status check(const braid_exec *exec, const braid_graph *graph)
{
    static const char function[] = "braid_exec_measure";
    if (!exec || !graph)
        return braid_error_null(function, exec ? "graph" : "exec");
    if (!braid_exec_get_times(exec))
        return braid_error(BRAID_UNSUPPORTED,
                           "%s: the exec keeps no times: braid_exec_options.frames_kept is 0",
                           function);
    if (graph->id != exec->schedule->graph_id)
        return braid_error_invalid("%s: the exec was made of another graph", function);
    return braid_exec_check(function, exec);
}

static braid_status run_frames(braid_exec *exec, uint32_t num_frames)
{
    uint32_t room = braid_exec_get_times(exec)->room;
    if (!num_frames)
        num_frames = room > LEAST_FRAMES ? room : LEAST_FRAMES;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < num_frames && !status; i++) {
        status = braid_exec_launch(exec, NULL);
        if (!status)
            status = braid_exec_wait(exec);
    }
    return status;
}

// Who starts a node, and takes its times.
static const struct player *find_player(const braid_exec *exec, const braid_graph *graph,
                                        uint32_t node)
{
    const struct player *inside = exec->player->plays_loops_by;
    return inside && braid_graph_region_of(graph, node) != GRAPH_NONE ? inside : exec->player;
}

// The time that measuring adds to a node's own work. In a driver graph the kernel that writes down
// its end is started too.
static uint64_t find_added(const braid_exec *exec, const struct player *player,
                           braid_timed_by timed_by)
{
    braid_cost_model model = { 0 };
    if (timed_by == BRAID_TIMED_INSIDE)
        return 0;
    player->get_cost_model(exec->device->backend, &model);
    // Between two events nothing starts early, which the model of streams counts on.
    if (player->mode == BRAID_MODE_STREAMS)
        return model.node_ns + model.early_ns + exec->device->backend->ops->timing_adds_ns;
    bool has_stamps = player->makes_islands;
    return has_stamps ? 2 * model.node_ns : model.node_ns;
}

// A time too short to measure is not 0. Next to a cost of 0 a launch would seem to be all that
// counts, and plans would save launches that cost nothing else.
static uint64_t find_least(const braid_exec *exec, const struct player *player)
{
    const struct backend_ops *ops = exec->device->backend->ops;
    uint64_t step_ns = player->mode == BRAID_MODE_STREAMS ? ops->event_step_ns : ops->stamp_step_ns;
    return step_ns ? step_ns : 1; // 0 would be a cost that is not known
}

// Without the time that measuring adds.
static uint64_t find_cost(const braid_exec *exec, const struct player *player,
                          const braid_node_timing *timing)
{
    const uint64_t added_ns = find_added(exec, player, timing->timed_by);
    const uint64_t least_ns = find_least(exec, player);
    const uint64_t ns = timing->time.median_ns > added_ns ? timing->time.median_ns - added_ns : 0;
    return ns > least_ns ? ns : least_ns;
}

// A kernel is shorter as a call of an island, where it finds its code in the caches. So its cost
// elsewhere stays, if that was measured. is_lone: it has the room of a lane to itself.
static void set_cost_inside(braid_graph *graph, uint32_t node, uint64_t cost_ns, bool is_lone)
{
    struct graph_measured known = graph_measured_of(graph, node);
    if (is_lone)
        known.inside_ns = cost_ns;
    if (!known.outside_ns)
        braid_graph_set_measured(graph, node, cost_ns);
    graph_keep_measured(graph, node, known);
}

static void set_cost_outside(braid_graph *graph, uint32_t node, uint64_t cost_ns)
{
    struct graph_measured known = graph_measured_of(graph, node);
    known.outside_ns = cost_ns;
    braid_graph_set_measured(graph, node, cost_ns);
    graph_keep_measured(graph, node, known);
}

static void set_cost(const braid_exec *exec, braid_graph *graph, uint32_t node,
                     const braid_node_timing *timing)
{
    enum work_kind kind = exec->tasks.items[node].kind;
    if (kind == WORK_EMPTY || work_has_body(kind)) // which takes what its body does
        return;
    if (timing->timed_by == BRAID_TIMED_NOT)
        return;
    const uint64_t cost_ns = find_cost(exec, find_player(exec, graph, node), timing);
    if (exec->shape)
        set_cost_inside(graph, node, cost_ns, exec->has_lone_calls);
    else
        set_cost_outside(graph, node, cost_ns);
}

static braid_status set_costs(const braid_exec *exec, braid_graph *graph,
                              const braid_timings *timings)
{
    if (!braid_graph_reserve_measured(graph))
        return braid_error_no_memory("the costs of a frame");
    for (uint32_t i = 0; i < timings->num_nodes; i++)
        set_cost(exec, graph, i, &timings->nodes[i]);
    return BRAID_OK;
}

// How often a region, or the root, ran, by the node in it that was disabled least; 0: that is not
// known.
static uint64_t count_runs(const braid_graph *graph, const braid_timings *timings, uint32_t region)
{
    if (region == GRAPH_NONE)
        return timings->frames_kept;
    const struct graph_region *at = &graph_regions(graph)[region];
    uint64_t most = 0;
    for (uint32_t i = at->first; i < at->first + at->num && i < timings->num_nodes; i++)
        if (timings->nodes[i].num_runs > most && braid_graph_region_of(graph, i) == region)
            most = timings->nodes[i].num_runs;
    return most;
}

// A loop is planned with the iterations that it had in the mean. A branch counts in full.
static void set_iterations(braid_graph *graph, const braid_timings *timings)
{
    struct graph_region *regions = graph->regions.items;
    for (uint32_t i = 0; i < graph->regions.num; i++) {
        const uint64_t entered = count_runs(graph, timings, regions[i].around);
        const uint64_t runs = count_runs(graph, timings, i);
        if (entered && runs && graph_nodes(graph)[regions[i].node].kind == WORK_LOOP)
            regions[i].expected = runs > entered ? (runs + entered / 2) / entered : 1;
    }
}

braid_status braid_exec_measure(braid_exec *exec, braid_graph *graph, uint32_t num_frames)
{
    EXEC_MEMORY(exec);
    braid_status status = check(exec, graph);
    braid_timings timings;
    if (!status && num_frames != BRAID_KEPT_FRAMES)
        status = run_frames(exec, num_frames);
    if (!status)
        status = braid_exec_get_timings(exec, &timings);
    if (!status)
        status = set_costs(exec, graph, &timings);
    if (!status)
        set_iterations(graph, &timings);
    return status;
}
