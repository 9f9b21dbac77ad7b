// SPDX-License-Identifier: Apache-2.0
// Plans a graph of two nodes with the packaged library.
#include <braid/braid.h>
#include <stdio.h>

int main(void)
{
    braid_graph *graph;
    braid_schedule *schedule;
    const braid_schedule_options options = { .costs = &(braid_cost_model){ 0 } };
    if (braid_graph_create(&graph) != BRAID_OK ||
        braid_graph_add_empty(graph, &(braid_empty){ .node.name = "a" }, NULL) != BRAID_OK ||
        braid_schedule_create(graph, &options, &schedule) != BRAID_OK ||
        braid_schedule_verify(schedule, graph) != BRAID_OK) {
        fprintf(stderr, "%s\n", braid_error_get_message());
        return 1;
    }
    printf("braid %s\n", braid_get_version());
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return 0;
}
