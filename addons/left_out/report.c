// SPDX-License-Identifier: Apache-2.0
// Reports: its public functions where the add-on 'report' is left out.
#include <braid/graph.h>
#include <braid/schedule.h>
#include <braid/timeline.h>

#include "base/error.h"

braid_status braid_graph_write_dot(const braid_graph *graph, FILE *file)
{
    (void)graph;
    (void)file;
    return braid_error_left_out("braid_graph_write_dot", "report");
}

braid_status braid_schedule_explain(const braid_schedule *schedule, const braid_node *nodes,
                                    size_t num_nodes, char *out_text, size_t size)
{
    (void)schedule;
    (void)nodes;
    (void)num_nodes;
    (void)out_text;
    (void)size;
    return braid_error_left_out("braid_schedule_explain", "report");
}

braid_status braid_schedule_write_sized(const braid_schedule *schedule, braid_drawing drawing,
                                        const braid_timeline_options *options, FILE *file,
                                        size_t size)
{
    (void)size;
    (void)schedule;
    (void)drawing;
    (void)options;
    (void)file;
    return braid_error_left_out("braid_schedule_write", "report");
}
