// SPDX-License-Identifier: Apache-2.0
// Planning without any device: what would a frame of a renderer take on one, two, three lanes, what
// runs after what, and why?
#include "check.h"

static braid_resource add_image(braid_graph *graph, const char *name)
{
    braid_resource image;
    CHECK(braid_graph_add_resource(graph, name, &image));
    return image;
}

// A node that reads two images (the second may be missing), writes one and takes so long.
static braid_node add_pass(braid_graph *graph, const char *name, uint64_t us, braid_resource to,
                           braid_resource from, braid_resource also)
{
    braid_node node;
    const braid_access accesses[] = { { to, BRAID_WRITE },
                                      { from, BRAID_READ },
                                      { also, BRAID_READ } };
    const braid_empty pass = { .node = { .name = name,
                                         .cost_ns = us * 1000,
                                         .accesses = accesses,
                                         .num_accesses = also.graph   ? 3
                                                         : from.graph ? 2
                                                                      : 1 } };
    CHECK(braid_graph_add_empty(graph, &pass, &node));
    return node;
}

static void print_plan(const braid_graph *graph, uint32_t num_lanes)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    // What a device adds: here 2 us to every node that waits for another lane.
    const braid_schedule_options options = { .max_lanes = num_lanes,
                                             .fixed_lanes = true,
                                             .costs = &(braid_cost_model){ .wait_ns = 2000 } };
    CHECK(braid_schedule_create(graph, &options, &schedule));
    CHECK(braid_schedule_verify(schedule, graph)); // a proof that does not trust the planner
    braid_schedule_get_info(schedule, &info);
    printf("lanes %u: %4llu us, %llu waits; no plan takes less than %llu us\n", info.num_lanes,
           (unsigned long long)info.makespan_ns / 1000, (unsigned long long)info.num_waits,
           (unsigned long long)info.bound_ns / 1000);
    braid_schedule_destroy(schedule);
}

int main(int argc, char **argv)
{
    const braid_resource none = { 0 };
    braid_graph *graph;
    braid_schedule *schedule;
    braid_schedule_info info;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(braid_graph_create(&graph));
    braid_resource depth = add_image(graph, "depth"), shadow = add_image(graph, "shadow");
    braid_resource light = add_image(graph, "light"), haze = add_image(graph, "haze");
    braid_resource image = add_image(graph, "image");
    add_pass(graph, "depth pass", 300, depth, none, none);
    braid_node shadows = add_pass(graph, "shadows", 700, shadow, none, none);
    braid_node fog = add_pass(graph, "haze", 400, haze, depth, none);
    add_pass(graph, "lighting", 500, light, depth, shadow);
    braid_node all = add_pass(graph, "compose", 100, image, light, haze);
    for (uint32_t lanes = 1; lanes <= 3; lanes++)
        print_plan(graph, lanes);

    CHECK(braid_schedule_create(graph,
                                &(braid_schedule_options){ .costs = &(braid_cost_model){ 0 } },
                                &schedule)); // as many lanes as pay
    braid_schedule_get_info(schedule, &info);
    char text[200];
    CHECK(braid_schedule_explain(schedule, (braid_node[]){ shadows, all }, 2, text, sizeof(text)));
    printf("shadows and compose: %s\n", text);
    CHECK(braid_schedule_explain(schedule, (braid_node[]){ shadows, fog }, 2, text, sizeof(text)));
    printf("shadows and haze: %s\n", text);
    write_picture(schedule, argc > 1 ? argv[1] : NULL);
    braid_schedule_destroy(schedule);
    braid_graph_destroy(graph);
    return info.makespan_ns == 1300000 ? EXIT_SUCCESS : EXIT_FAILURE;
}
