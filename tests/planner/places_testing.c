// SPDX-License-Identifier: Apache-2.0
// Building graphs for several devices.
#include "planner/places_testing.h"

#include "graph/placed.h"

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks;
    (void)args;
}

braid_node add_user(braid_graph *graph, const struct user *user)
{
    static const braid_kernel kernels[MOST_BUFFERS + 1] = {
        { .name = "none", .cpu = do_nothing }, { .name = "one", .cpu = do_nothing },
        { .name = "two", .cpu = do_nothing },  { .name = "three", .cpu = do_nothing },
        { .name = "four", .cpu = do_nothing },
    };
    static const void *pointer;
    braid_access accesses[MOST_BUFFERS];
    braid_arg args[MOST_BUFFERS];
    for (uint32_t i = 0; i < user->num; i++) {
        accesses[i] = (braid_access){ user->resources[i], user->modes[i] };
        args[i] = user->by_pointer ? (braid_arg){ &pointer, sizeof(pointer) }
                                   : braid_resource_address(&user->resources[i]);
    }
    const braid_kernel_node launch = { .node = { .name = user->name,
                                                 .cost_ns = user->cost_ns,
                                                 .place = user->place,
                                                 .lane_hint = user->lane_hint,
                                                 .prelude_of = user->prelude_of,
                                                 .after = &user->after,
                                                 .num_after = user->after.graph != 0,
                                                 .accesses = accesses,
                                                 .num_accesses = user->num },
                                       .kernel = &kernels[user->num],
                                       .args = args,
                                       .num_args = user->num };
    braid_node node;
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    return node;
}

braid_resource add_home(braid_graph *graph, const char *name, uint64_t bytes, uint32_t place)
{
    static uintptr_t next = 0x100000;
    braid_resource resource;
    check_ok(braid_graph_add_buffer(graph, name, (const void *)next, bytes, &resource));
    next += bytes + 256;
    if (place)
        check_ok(braid_graph_set_home(graph, resource, place));
    return resource;
}

braid_resource add_transient(braid_graph *graph, const char *name, uint64_t bytes)
{
    braid_resource resource;
    check_ok(braid_graph_add_transient(graph, name, bytes, 0, &resource));
    return resource;
}

braid_schedule *plan_on_devices(const braid_graph *graph, uint32_t num_places, uint32_t at_once)
{
    const braid_place_model model = {
        .num_places = num_places,
        .link = { .latency_ns = 100, .bytes_per_us = 1000, .wait_ns = 50 },
    };
    const braid_schedule_options options = { .costs =
                                                 &(braid_cost_model){ .max_concurrent = at_once },
                                             .places = &model };
    return plan_with(graph, &options);
}

size_t find_in_sequence(const struct placed *placed, uint32_t node)
{
    const uint32_t *sequence = placed->graph->sequence.items;
    size_t at = 0;
    while (sequence[at] != node)
        at++;
    return at;
}

void put_in_sequence(struct placed *placed, uint32_t node, size_t where)
{
    uint32_t *sequence = placed->graph->sequence.items;
    size_t at = find_in_sequence(placed, node);
    for (; at < where; at++)
        sequence[at] = sequence[at + 1];
    for (; at > where; at--)
        sequence[at] = sequence[at - 1];
    sequence[where] = node;
}
