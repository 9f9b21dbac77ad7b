// SPDX-License-Identifier: Apache-2.0
// Schedules: a graph planned onto lanes, as plain data. No device is needed.
#ifndef BRAID_SCHEDULE_H
#define BRAID_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <braid/device.h>
#include <braid/graph.h>
#include <braid/status.h>

#ifdef __cplusplus
extern "C" {
#endif

// An immutable plan: a pure function of the graph and the options, the same on every machine. Names
// and lists that it gives live as long as it does. Nodes and resources are given by index, and
// places by number, from 1.
typedef struct braid_schedule braid_schedule;

// The costs of ordering on a device (docs/planner.md). They set the number of lanes and the
// predicted makespan. All zero: waits and launches are free.
typedef struct braid_cost_model {
    // The cost of a node that has none; 0: 1 ns. A host call counts a hundred times as much, and an
    // empty node 1 ns.
    uint64_t default_cost_ns;
    uint64_t node_ns; // added to every node: from the end of its lane predecessor to its start
    uint64_t wait_ns; // from the end of a node on another lane to the start of one that waits
    uint64_t root_ns; // added to the frame for every lane beyond the first (fork, join)
    uint32_t max_concurrent; // nodes the device runs at once; 0: no limit
    // 1: the host starts nodes, 0: the device does.
    uint32_t host_issues;
    // Kernel threads that the device runs at once (a block counts as 64 at least); larger
    // kernels run one after another. 0: no limit.
    uint64_t max_threads;
    // The time to start nodes one at a time, which a frame takes with any number of lanes.
    uint64_t issue_ns;      // for every node
    uint64_t issue_wait_ns; // for every wait
    // The gain of a kernel that starts early, behind another on its lane; 0: none does.
    uint64_t early_ns;
    // Inside an island, from the end of a call to the next on its lane; 0: no islands.
    uint64_t island_call_ns;
    // The time that an island takes to start, beyond that of a kernel. If the blocks of a call do
    // not all run side by side, each further round of blocks adds at least island_round_ns.
    uint64_t island_start_ns;
    uint64_t island_round_ns;
    uint64_t iteration_ns; // the time of a loop's iteration beyond that of its nodes
} braid_cost_model;

// The costs of copies and waits from one place to another.
typedef struct braid_place_link {
    uint64_t latency_ns;   // the time that a copy takes beside that of its bytes
    uint64_t bytes_per_us; // how fast the bytes go; 0: at once
    uint64_t wait_ns;      // as braid_cost_model.wait_ns, but between the two places
    bool is_direct;        // the first device reaches memory of the second; planning ignores it
} braid_place_link;

// A model of several devices (docs/places.md). Each has the cost model; the costs of its nodes
// are multiplied by 1000 / speed.
typedef struct braid_place_model {
    uint32_t num_places;    // up to 64; 0 or 1: one device, and nothing else counts
    const uint32_t *speeds; // place p is entry p - 1; 1000: the costs as given; NULL: all 1000
    const braid_place_link *links; // (from - 1) * num_places + to - 1; NULL: `link` is any of them
    braid_place_link link;
} braid_place_model;

// As max_lanes, with fixed_lanes: nodes that the graph leaves free never share a lane.
#define BRAID_ALL_LANES UINT32_MAX

// Options of braid_schedule_create: `device`, `costs` or both are required.
typedef struct braid_schedule_options {
    // The device that the plan is for: its costs in BRAID_MODE_AUTO, and its places. NULL: none.
    const braid_device *device;
    const braid_cost_model *costs; // in place of the device's; NULL: the device's
    // Several devices, with max_lanes for each: the planner chooses places and adds copies. NULL:
    // those of `device`, else one device; places of nodes do not count.
    const braid_place_model *places;
    // The most lanes; 0: the planner chooses, up to 128 (docs/planner.md).
    uint32_t max_lanes;
    // True: use max_lanes lanes if there is work for them, however small the gain; fewer only if
    // that shortens the plan. If they take too much memory: BRAID_NO_MEMORY.
    bool fixed_lanes;
    bool ignore_costs; // plan as if nodes had no costs
} braid_schedule_options;

// Plans a graph.
// Errors: BRAID_CYCLE (the message names the nodes on it). BRAID_INVALID_ARGUMENT (overlapping
// buffers, a pointer into a buffer without a declared access, a copy or fill beyond a buffer's
// end). BRAID_WRONG_STATE (a loop or branch is open).
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_schedule_create(
    const braid_graph *graph, const braid_schedule_options *options, braid_schedule **out_schedule);

// Frees a schedule.
BRAID_API void braid_schedule_destroy(braid_schedule *schedule);

// The kind of a step. Steps of all lanes have one issue order. Submitting them in that order is
// correct on any device that keeps the ordering laws (docs/book/concepts.md).
typedef enum braid_step_kind {
    BRAID_STEP_RUN = 0,    // run `node`
    BRAID_STEP_RECORD = 1, // record `position`: `node` and all before it on the lane has ended
    BRAID_STEP_WAIT = 2,   // wait for `position` of another lane: the end of `node` there
    BRAID_STEP_LOOP = 3,   // run the body of the loop or branch `node` as often as that says. Steps
                           // of bodies are not listed; `position` counts the bodies from 0, a
                           // second arm behind the first
} braid_step_kind;

// One step of a lane.
typedef struct braid_step {
    braid_step_kind kind;
    uint32_t lane;
    uint32_t node;     // the node run, recorded or waited for
    uint32_t position; // record and wait: each position is recorded once; they count from 0 in
                       // issue order
} braid_step;

// A copy of a part of a buffer that the plan added. It runs on `from`, the place that wrote the
// part last or has read it since.
typedef struct braid_planned_copy {
    uint32_t node; // its index, at least the number of nodes of the graph
    uint32_t from, to;
    uint32_t resource;      // the buffer
    uint64_t offset, bytes; // which part of it
    bool is_return;         // at the end of the frame, back to the buffer's home
    const char *resource_name;
} braid_planned_copy;

// The cause that two nodes run one after the other although data flow leaves them free.
typedef enum braid_serialisation_cause {
    BRAID_SERIALISED_BY_RESOURCE = 0,       // both use a resource, and no data flows between them
    BRAID_SERIALISED_BY_LANES = 1,          // there was no idle lane
    BRAID_SERIALISED_BY_HINT = 2,           // a lane hint put them on one lane
    BRAID_SERIALISED_BY_WAIT_COST = 3,      // on an idle lane it would have started no earlier
    BRAID_SERIALISED_BY_MAX_CONCURRENT = 4, // as many nodes ran as may run at once
} braid_serialisation_cause;

// A pair of nodes that the graph leaves free and the plan orders.
typedef struct braid_serialisation {
    uint32_t first, second; // `second` had to wait for `first`
    braid_serialisation_cause cause;
    uint32_t resource;         // for BRAID_SERIALISED_BY_RESOURCE
    const char *resource_name; // "" for other causes
} braid_serialisation;

// The main limit of a planned frame.
typedef enum braid_limit {
    BRAID_LIMITED_BY_NOTHING = 0,       // there are no nodes
    BRAID_LIMITED_BY_CRITICAL_PATH = 1, // its nodes run one after another, almost without a gap
    BRAID_LIMITED_BY_LANES = 2,         // all lanes are busy nearly all the time
    BRAID_LIMITED_BY_LAUNCH_COST = 3,   // starting nodes and waits one after another takes longest
    BRAID_LIMITED_BY_RESOURCES = 4, // accesses keep more pairs of nodes apart than lack of lanes
    BRAID_LIMITED_BY_WAIT_COST = 5, // the cost of waits keeps more pairs apart than lack of lanes
    BRAID_LIMITED_BY_PATH_AND_LANES = 6, // none of these alone
} braid_limit;

// The size, times and lists of a plan.
typedef struct braid_schedule_info {
    uint32_t num_nodes;
    uint32_t num_lanes;
    uint64_t num_waits;
    uint64_t num_records; // positions: one for each distinct node waited on
    uint64_t makespan_ns; // planned, with the cost model
    uint64_t bound_ns;    // max(critical path, work / lanes allowed): no plan without islands is
                          // shorter
    uint64_t critical_path_ns; // the heaviest path of the graph
    uint64_t work_ns;          // the sum of all costs
    uint64_t one_lane_ns;      // the planned makespan on one lane
    // Nodes without a given cost, empty ones apart. If there are any, the plan aims at concurrency.
    uint32_t num_guessed;
    // Stretches of lanes that are one kernel each, and the nodes in them (empty ones apart).
    uint32_t num_islands;
    uint32_t num_island_nodes;
    // The time to start all nodes and waits one after another. A frame is expected to take at least
    // this and the makespan.
    uint64_t issue_ns;
    uint64_t expected_ns;
    braid_limit limit;
    // With several devices: their number, the copies between them (nodes behind the graph's), their
    // bytes, and the makespan on the best device alone (0: none).
    uint32_t num_places;
    uint32_t num_copies;
    uint64_t copy_bytes;
    uint64_t one_place_ns;
    const uint32_t *critical_path; // nodes of the heaviest path, first to last
    uint32_t num_critical;
    uint32_t num_serialisations;
    const braid_serialisation *serialisations; // in a stable order
    const braid_planned_copy *copies;          // num_copies
    const braid_step *steps;                   // all lanes', in issue order
    size_t num_steps;
    uint32_t num_left_out; // nodes without a step
} braid_schedule_info;

// Writes the info of a schedule.
BRAID_INLINE void braid_schedule_get_info(const braid_schedule *schedule,
                                          braid_schedule_info *out_info);

// The planned lane, place and time of a node, from the start of the frame.
typedef struct braid_placement {
    uint32_t lane; // BRAID_NO_LANE: the node is left out
    uint64_t start_ns, end_ns;
    // Less than info.num_islands: the node is a call inside that island. Otherwise BRAID_NO_ISLAND.
    uint32_t island;
    uint32_t place; // 1 in a plan for one device; 0: the node is left out
} braid_placement;

// The lane of a node that is left out, and the island of a node in none.
#define BRAID_NO_LANE UINT32_MAX
#define BRAID_NO_ISLAND UINT32_MAX

// Writes the placement of a node.
BRAID_INLINE BRAID_MUST_CHECK braid_status braid_schedule_get_placement(
    const braid_schedule *schedule, braid_node node, braid_placement *out_placement);

// Writes one line into a buffer of `size` > 0 bytes, cut to fit and always ended by a NUL:
// - 0 nodes: the limit of the planned frame (info.limit) and its size.
// - 1 node: its island, or why it is in none; its values that parameters change; the inputs that it
//   fetches for the next node. Whether its exec has no_rewriting.
// - 2 nodes: their order and its cause (docs/book/preludes.md has an example).
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_explain(const braid_schedule *schedule,
                                                               const braid_node *nodes,
                                                               size_t num_nodes, char *out_text,
                                                               size_t size);

// Proves the plan, independently of the planner, for the unchanged graph:
// - The steps run every node once, or no output needs it.
// - Every edge and every conflicting pair of accesses of the graph is ordered.
// - No wait can block for ever, and event reuse is safe.
// - Islands are stretches of lanes without waits inside or from outside.
//
// Errors: BRAID_INTERNAL (the message names the first pair that is not ordered).
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_verify(const braid_schedule *schedule,
                                                              const braid_graph *graph);

// Writes a schedule to a file (docs/book/tuning.md), with the options and the costs that it
// was planned for. The graph is the one that it was planned for; only its costs may have changed.
// Errors: BRAID_INVALID_ARGUMENT (another graph, or it changed), BRAID_UNSUPPORTED (a schedule for
// several places), BRAID_IO_ERROR.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_save(const braid_schedule *schedule,
                                                            const braid_graph *graph,
                                                            const char *path);

// Makes a schedule of such a file without planning, and verifies it. The graph equals the one that
// was saved, with its costs; addresses and arguments may differ.
// Errors: BRAID_INVALID_ARGUMENT (a damaged file, or none of a plan; another graph, of which the
// message tells a difference), BRAID_IO_ERROR, those of braid_schedule_create.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_load(const braid_graph *graph,
                                                            const char *path,
                                                            braid_schedule **out_schedule);

// With sizes: docs/stability.md.
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_create_sized(
    const braid_graph *graph, const braid_schedule_options *options, braid_schedule **out_schedule,
    size_t size, size_t costs_size, size_t places_size);
BRAID_INLINE braid_status braid_schedule_create(const braid_graph *graph,
                                                const braid_schedule_options *options,
                                                braid_schedule **out_schedule)
{
    return braid_schedule_create_sized(graph, options, out_schedule, sizeof(braid_schedule_options),
                                       sizeof(braid_cost_model), sizeof(braid_place_model));
}
BRAID_API void braid_schedule_get_info_sized(const braid_schedule *schedule,
                                             braid_schedule_info *out_info, size_t size);
BRAID_INLINE void braid_schedule_get_info(const braid_schedule *schedule,
                                          braid_schedule_info *out_info)
{
    braid_schedule_get_info_sized(schedule, out_info, sizeof(braid_schedule_info));
}
BRAID_API BRAID_MUST_CHECK braid_status braid_schedule_get_placement_sized(
    const braid_schedule *schedule, braid_node node, braid_placement *out_placement, size_t size);
BRAID_INLINE braid_status braid_schedule_get_placement(const braid_schedule *schedule,
                                                       braid_node node,
                                                       braid_placement *out_placement)
{
    return braid_schedule_get_placement_sized(schedule, node, out_placement,
                                              sizeof(braid_placement));
}

#ifdef __cplusplus
}
#endif

#endif
