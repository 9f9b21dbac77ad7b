// SPDX-License-Identifier: Apache-2.0
// The inside of a schedule: plain arrays that execs replay, writers draw and the verifier checks.
#ifndef BRAID_PLAN_SCHEDULE_H
#define BRAID_PLAN_SCHEDULE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <braid/schedule.h>

#include "graph/placed.h"
#include "plan/plan_graph.h"
#include "plan/plan_options.h"
#include "plan/program.h"

// Which nodes are inside islands: plan_divide.h. Islands are numbered in the order of their first
// steps; the nodes of one are neighbours on a lane.
struct plan_division {
    uint32_t *island_of;      // per node, or PLAN_NONE; NULL: the plan was not divided
    const char **why_outside; // per node, a constant or one of `texts`; NULL: it is inside
    char **texts;             // reasons, each once
    size_t num_texts;
    uint64_t *plain_start_ns; // the plan's times without islands
    uint64_t *plain_cost_ns;
    uint64_t plain_makespan_ns;
    uint64_t expected_ns; // a frame's, with islands or without, whichever it is
};

// Nodes are named by index, units (a main node with its preludes and epilogues) by unit index; see
// plan_graph.h. Without bundles both are the same.
struct braid_schedule {
    uint32_t graph_id; // the graph planned, and how it was then
    uint64_t graph_version;
    struct plan_options options; // as given, zeros included
    braid_schedule_info info;

    struct plan_graph *graph; // units, edges and names; shared, never changed
    struct placed *placed;    // what was planned for several devices; NULL: for one

    // The program, lanes and serialisations. Plans that keep them share them: once made they are
    // never changed. The last of so many schedules frees them.
    atomic_uint *num_lane_users;
    struct program program;

    // Nodes in lane order: those of lane i are lane_nodes[lane_first[i]] .. lane_first[i + 1].
    uint32_t *lane_first; // num_lanes + 1
    uint32_t *lane_nodes; // num_nodes
    uint32_t *lane_of;    // num_nodes
    // Forced serialisations: info.num_serialisations, first the pairs that edges tell of.
    braid_serialisation *serialisations;

    // The schedule's own from here on.
    uint64_t *start_ns;     // num_nodes
    uint64_t *cost_ns;      // num_nodes, unknown costs filled in; a node ends at start + cost
    unsigned char *unknown; // num_nodes: enum plan_unknown; NULL: no cost was filled in

    struct plan_division division;
    struct plan_prefetch *prefetches; // num_nodes: plan_early.h; NULL: no kernel may fetch
    bool no_rewriting;                // an exec's: its kernels run as the program gave them

    uint32_t *critical; // nodes of a heaviest path, first to last
    size_t num_critical;
};

// An island is launched as one.
static inline uint32_t schedule_num_launched(const braid_schedule_info *info)
{
    return info->num_nodes - info->num_left_out - info->num_island_nodes + info->num_islands;
}

static inline bool schedule_left_out(const braid_schedule *schedule, uint32_t node)
{
    return schedule->graph->left_out && schedule->graph->left_out[node];
}

// Whether the second unit waited for nothing but a lane.
static inline bool schedule_is_delay(const braid_serialisation *serialisation)
{
    return serialisation->cause != BRAID_SERIALISED_BY_RESOURCE &&
           serialisation->cause != BRAID_SERIALISED_BY_HINT;
}

// A schedule without lanes yet. It becomes the user of the graph in planning form that the caller
// was, also where it fails. Errors: BRAID_NO_MEMORY.
braid_status braid_schedule_begin(struct plan_graph *plan, uint32_t graph_id,
                                  uint64_t graph_version, const struct plan_options *options,
                                  braid_schedule **out_schedule);

// Plans a graph as one island. Errors: of braid_schedule_create.
struct plan_inside;
braid_status braid_schedule_create_inside(const braid_graph *graph,
                                          const struct plan_options *options,
                                          const struct plan_inside *inside,
                                          braid_schedule **out_schedule);

// Plans a graph. Errors: of braid_schedule_create.
braid_status braid_schedule_plan(const braid_graph *graph, const struct plan_options *options,
                                 braid_schedule **out_schedule);

// Plans a graph for one place, or a placed one, whose user the schedule becomes, too.
// Errors: of braid_schedule_create.
braid_status braid_schedule_create_plain(const braid_graph *graph,
                                         const struct plan_options *options,
                                         braid_schedule **out_schedule);
braid_status braid_schedule_create_placed(struct placed *placed, const struct plan_options *options,
                                          braid_schedule **out_schedule);

// Gives a schedule that has none yet the lanes and steps of another, and its info without islands.
void braid_schedule_share_lanes(struct braid_schedule *schedule, const braid_schedule *from);

// A schedule with the lanes, steps and times of another that is not divided, and no islands.
// Errors: BRAID_NO_MEMORY.
braid_status braid_schedule_undivided(const braid_schedule *from, braid_schedule **out_schedule);

static inline uint32_t schedule_lane_place(const braid_schedule *schedule, uint32_t lane)
{
    return schedule->program.lanes[lane].place;
}

static inline bool schedule_is_copy(const braid_schedule *schedule, uint32_t node)
{
    return schedule->placed && node >= schedule->placed->model.num_nodes;
}

// A lane's name in drawings: "lane 3", or "place 1, lane 3" if there are several places.
struct lane_text {
    char text[40];
};
struct lane_text braid_schedule_lane_text(const braid_schedule *schedule, uint32_t lane);

// The node's name; never NULL, lives as long as the schedule.
const char *braid_schedule_node_name(const braid_schedule *schedule, uint32_t node);

#endif
