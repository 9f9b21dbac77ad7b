// SPDX-License-Identifier: Apache-2.0
// Builds graphs and reads plans for tests.
#include "planner/plan_testing.h"

#include <string.h>

#include "plan/schedule.h"
#include "support/wide_plan.h"
#include "verify/verify.h"

braid_graph *new_graph(void)
{
    return own_graph();
}

braid_resource new_resource(braid_graph *graph, const char *name)
{
    braid_resource resource;
    check_ok(braid_graph_add_resource(graph, name, &resource));
    return resource;
}

static braid_node add_empty(braid_graph *graph, const braid_node_options *options)
{
    braid_node node;
    braid_empty empty = { .node = *options };
    check_ok(braid_graph_add_empty(graph, &empty, &node));
    return node;
}

braid_node new_node(braid_graph *graph, const char *name, uint64_t cost_ns, braid_node after,
                    braid_node also_after)
{
    const braid_node both[] = { after, also_after };
    size_t num = after.graph ? (also_after.graph ? 2 : 1) : 0;
    braid_node_options options = {
        .name = name,
        .cost_ns = cost_ns,
        .after = both,
        .num_after = num,
    };
    return add_empty(graph, &options);
}

braid_node new_user(braid_graph *graph, const char *name, braid_resource resource,
                    braid_access_mode mode, braid_resource other, braid_access_mode other_mode)
{
    const braid_access accesses[] = { { resource, mode }, { other, other_mode } };
    braid_node_options options = {
        .name = name,
        .accesses = accesses,
        .num_accesses = other.graph ? 2 : 1,
    };
    return add_empty(graph, &options);
}

braid_node new_hinted(braid_graph *graph, uint32_t hint, uint64_t cost_ns, braid_node after)
{
    braid_node node;
    braid_empty empty = { .node = { .lane_hint = hint, .cost_ns = cost_ns } };
    empty.node.after = &after;
    empty.node.num_after = after.graph ? 1 : 0;
    check_ok(braid_graph_add_empty(graph, &empty, &node));
    return node;
}

braid_node new_prelude(braid_graph *graph, braid_node main, const char *name,
                       braid_resource resource, braid_access_mode mode)
{
    const braid_access access = { resource, mode };
    braid_node_options options = {
        .name = name,
        .accesses = &access,
        .num_accesses = 1,
        .prelude_of = main,
    };
    return add_empty(graph, &options);
}

braid_node new_epilogue(braid_graph *graph, braid_node main, const char *name,
                        braid_resource resource, braid_access_mode mode)
{
    const braid_access access = { resource, mode };
    braid_node_options options = {
        .name = name,
        .accesses = &access,
        .num_accesses = 1,
        .epilogue_of = main,
    };
    return add_empty(graph, &options);
}

void new_edge(braid_graph *graph, braid_node from, braid_node to)
{
    check_ok(braid_graph_add_edge(graph, from, to));
}

braid_schedule *plan_with(const braid_graph *graph, const braid_schedule_options *options)
{
    static const braid_schedule_options free_plan = { .costs = &free_costs };
    braid_schedule *schedule = own_schedule(graph, options ? options : &free_plan);
    check_ok(braid_schedule_verify(schedule, graph));
    return schedule;
}

braid_schedule *plan_on(const braid_graph *graph, uint32_t lanes)
{
    braid_schedule_options options = { .costs = &free_costs,
                                       .max_lanes = lanes,
                                       .fixed_lanes = true };
    return plan_with(graph, &options);
}

braid_schedule_info info_of(const braid_schedule *schedule)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    return info;
}

braid_schedule_info plan_info(const braid_graph *graph, braid_schedule_options options)
{
    braid_schedule *schedule = plan_with(graph, &options);
    braid_schedule_info info = info_of(schedule);
    destroy_now(schedule);
    return info;
}

braid_graph *chains(uint32_t width, uint32_t length, uint64_t cost_ns)
{
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < width * length; i++)
        new_node(graph, NULL, cost_ns, i < width ? NO_NODE : braid_graph_get_node(graph, i - width),
                 NO_NODE);
    return graph;
}

braid_placement placement_of(const braid_schedule *schedule, braid_node node)
{
    braid_placement placement;
    check_ok(braid_schedule_get_placement(schedule, node, &placement));
    return placement;
}

size_t issue_of(const braid_schedule *schedule, braid_node node)
{
    braid_schedule_info info;
    braid_schedule_get_info(schedule, &info);
    const braid_step *steps = info.steps;
    size_t i = 0;
    while (i < info.num_steps && (steps[i].kind != BRAID_STEP_RUN || steps[i].node != node.index))
        i++;
    assert_true(i < info.num_steps);
    return i;
}

void check_explains(const braid_schedule *schedule, braid_node a, braid_node b, const char *text)
{
    char line[512];
    const braid_node nodes[] = { a, b, a };
    for (int i = 0; i < 2; i++) {
        check_ok(braid_schedule_explain(schedule, nodes + i, 2, line, sizeof(line)));
        assert_string_equal(line, text);
    }
}

uint32_t num_serialised(const braid_schedule *schedule, braid_node first, braid_node second,
                        braid_serialisation_cause cause, const char *resource)
{
    uint32_t num = 0;
    for (size_t i = 0; i < info_of(schedule).num_serialisations; i++) {
        braid_serialisation pair = info_of(schedule).serialisations[i];
        num += pair.first == first.index && pair.second == second.index && pair.cause == cause &&
               (!resource || strcmp(pair.resource_name, resource) == 0);
    }
    return num;
}

braid_graph *random_graph(struct random *random, uint32_t most, uint32_t *out_num_nodes,
                          uint32_t *from, uint32_t *to, size_t *out_num_edges)
{
    braid_graph *graph = new_graph();
    uint32_t num_nodes = 1 + random_below(random, most);
    const struct random_shape shape = {
        .edges = 4, .reach = 1 + random_below(random, num_nodes), .repeats = true, .most_ns = 100
    };
    size_t num_edges = 0;
    for (uint32_t i = 0; i < num_nodes; i++) {
        struct random_choice choice;
        random_choose(random, &shape, NULL, i, NULL, &choice);
        new_node(graph, NULL, choice.options.cost_ns, NO_NODE, NO_NODE);
        for (size_t k = 0; k < choice.options.num_after; k++) {
            from[num_edges] = choice.after[k].index;
            to[num_edges] = i;
            new_edge(graph, braid_graph_get_node(graph, from[num_edges++]),
                     braid_graph_get_node(graph, i));
        }
    }
    *out_num_nodes = num_nodes;
    *out_num_edges = num_edges;
    return graph;
}

braid_resource transient(braid_graph *graph, const char *name, uint64_t bytes)
{
    braid_resource out;
    check_ok(braid_graph_add_transient(graph, name, bytes, 0, &out));
    return out;
}

braid_status verify_memory(const struct memory_plan *plan, const braid_schedule *schedule,
                           const braid_graph *graph)
{
    return braid_verify_steps(&schedule->program, graph, plan, 1, VERIFY_MOST_WORDS);
}

struct memory_plan memory_of(const braid_schedule *schedule, const braid_graph *graph)
{
    struct memory_plan plan;
    check_ok(braid_memory_plan_create(schedule, graph, false, &plan));
    check_ok(verify_memory(&plan, schedule, graph));
    return plan;
}
