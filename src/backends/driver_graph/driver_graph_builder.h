// SPDX-License-Identifier: Apache-2.0
// The state of building nodes and edges of a plan's program: its operations are walked in issue
// order.
#ifndef BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_BUILDER_H
#define BRAID_BACKENDS_DRIVER_GRAPH_DRIVER_GRAPH_BUILDER_H

#include "backends/driver_graph/driver_graph.h"

struct graph_lane {
    size_t num_done;   // operations of the lane
    size_t first_wait; // among them: the first after the lane's last node
    gpu_node last;     // NULL: none yet
    gpu_node recorded; // that of the lane's last position
    gpu_node note;     // noted the last end that was noted; NULL: none was
    bool last_is_kernel;
    uint32_t last_task; // whose node the last one is
};

struct graph_builder {
    struct gpu_backend *gpu; // at the place that nodes are added for, whose device is current
    uint32_t place;
    struct gpu_scope scope; // that place's, where it is another than 0
    const struct stage *stage;
    struct graph_playing *playing;
    gpu_graph graph;                   // the frame's, or a body's
    const gpu_stream *capture_streams; // by place; NULL where no task needs one
    gpu_node *roots;                   // by place; NULL: none
    struct graph_lane *lanes;          // by lane
    gpu_node *published;               // by position: the node that it is the end of
    bool repeats;                      // there are two positions of one node
    gpu_node last_loop;                // or branch that was added; NULL: none yet
    gpu_node *after;                   // the predecessors of the next node
    size_t num_after;
};

static inline struct gpu_behind graph_behind_here(const struct graph_builder *builder)
{
    return (struct gpu_behind){ .graph = builder->graph,
                                .after = builder->after,
                                .num_after = builder->num_after,
                                .priority = builder->stage->priority };
}

// driver_graph_build.c: builds the frame, or a body, into a graph, for the stage and the playing of
// `from`.
braid_status braid_driver_graph_build_region(const struct graph_builder *from,
                                             const struct program *program, gpu_graph graph);

// driver_graph_task.c: adds the nodes of a task, with its marks, behind the nodes collected: the
// lane's next.
braid_status braid_driver_graph_build_task(struct graph_builder *builder, struct graph_lane *state,
                                           const braid_step *op);

#endif
