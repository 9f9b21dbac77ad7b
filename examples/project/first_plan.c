// SPDX-License-Identifier: Apache-2.0
// A program outside Braid: plans three tasks, two of which may run at once, and prints the plan.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

static void check(braid_status status)
{
    if (status == BRAID_OK)
        return;
    fprintf(stderr, "%s\n", braid_error_get_message());
    exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        const int asks = strcmp(argv[1], "--help") == 0;
        if (!asks)
            fprintf(stderr, "%s: unknown argument '%s'\n", argv[0], argv[1]);
        fprintf(asks ? stdout : stderr, "usage: %s\n", argv[0]);
        return asks ? EXIT_SUCCESS : 2;
    }
    static const char *const names[] = { "left", "right", "both" };
    static const char *const verbs[] = { [BRAID_STEP_RUN] = "run",
                                         [BRAID_STEP_RECORD] = "record the end of",
                                         [BRAID_STEP_WAIT] = "wait for" };
    braid_node nodes[3];
    braid_graph *graph;
    braid_schedule *schedule;
    check(braid_graph_create(&graph));
    for (int i = 0; i < 3; i++) {
        braid_empty task = { .node.name = names[i], .node.cost_ns = 1000 * (uint64_t)(i + 1) };
        check(braid_graph_add_empty(graph, &task, &nodes[i]));
    }
    check(braid_graph_add_edge(graph, nodes[0], nodes[2]));
    check(braid_graph_add_edge(graph, nodes[1], nodes[2]));
    check(braid_schedule_create(
        graph, &(braid_schedule_options){ .costs = &(braid_cost_model){ 0 }, .max_lanes = 2 },
        &schedule));
    check(braid_schedule_verify(schedule, graph)); // proves that it keeps every order asked for

    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    for (size_t i = 0; i < info.num_steps; i++)
        printf("lane %u: %s %s\n", steps[i].lane, verbs[steps[i].kind], names[steps[i].node]);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return EXIT_SUCCESS;
}
