// SPDX-License-Identifier: Apache-2.0
// A file's graph as a braid_graph.
#ifndef BRAID_TOOL_TASK_GRAPH_H
#define BRAID_TOOL_TASK_GRAPH_H

#include <braid/graph.h>
#include <braid/schedule.h>

#include "dot_file.h"

// Buffers whose addresses a node is given, so that it may run on any device.
struct task_addresses {
    const braid_resource *resources;
    uint32_t num;
    const struct dot_file *file;
    const braid_resource *all; // resources of the file
};

// Adds node i of the file to the graph, as its node i; `options` are complete.
typedef braid_status task_graph_add(braid_graph *graph, const struct dot_node *node,
                                    const braid_node_options *options,
                                    const struct task_addresses *addresses, uint32_t index,
                                    void *user);

// Adds a node of the file's own kind that is only there to be planned; `user` is not used.
task_graph_add task_graph_add_to_plan;

// Makes a graph with the file's resources, nodes, added by `add`, and edges. Costs that the file
// does not give are unknown to it. Buffers lie where nothing is: a graph that is run on several
// devices needs the memory of task_graph_create_with.
enum exit_status task_graph_create(const struct dot_file *file, task_graph_add *add, void *user,
                                   braid_graph **out_graph);

// The same, where buffer i of the file's resources is memory[i].
enum exit_status task_graph_create_with(const struct dot_file *file, task_graph_add *add,
                                        void *user, void *const *memory, braid_graph **out_graph);

// A node's name in drawings: its label if it has one, else its id.
const char *task_graph_name(const struct dot_node *node);

// What went wrong in planning, as a mistake of the file where it is one: a cycle through bundles or
// accesses only the library finds.
enum exit_status task_graph_fail(const struct dot_file *file, braid_status status);

// Whether a step is a node of the frame: one that runs, or a loop or branch.
static inline bool task_graph_is_node(const braid_step *step)
{
    return step->kind == BRAID_STEP_RUN || step->kind == BRAID_STEP_LOOP;
}

// Whether no output of the graph needs a node.
static inline bool task_graph_is_left_out(const braid_schedule *schedule, const braid_graph *graph,
                                          uint32_t node)
{
    braid_placement placement;
    return braid_schedule_get_placement(schedule, braid_graph_get_node(graph, node), &placement) ==
               BRAID_OK &&
           placement.lane == BRAID_NO_LANE;
}

#endif
