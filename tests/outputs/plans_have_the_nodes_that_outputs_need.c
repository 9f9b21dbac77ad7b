// SPDX-License-Identifier: Apache-2.0
// What the plan of a random graph leaves out is what a walk back over the bytes of many frames does
// not need. The verifier takes such plans, and none that leaves out one node more.
#include <braid/region.h>

#include "graph/cull.h"
#include "outputs/model.h"
#include "support/wide_plan.h"
#include "verify/verify.h"

static void random_plans_have_what_a_walk_back_needs(void **state)
{
    static struct model model;
    uint32_t num_left_out = 0, num_kept = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        braid_graph *graph = model_graph(&model, seed);
        model_set_outputs(&model, graph);
        braid_schedule *schedule = plan_with(graph, NULL);
        model_find_needed(&model);
        for (uint32_t i = 0; i < model.num_nodes; i++) {
            uint32_t lane = placement_of(schedule, model.nodes[i].handle).lane;
            if ((lane != BRAID_NO_LANE) != model.nodes[i].is_needed)
                fail_msg("graph %u: node %u is %s", (unsigned)seed, i,
                         model.nodes[i].is_needed ? "needed and left out" : "planned in vain");
            num_left_out += lane == BRAID_NO_LANE;
            num_kept += lane != BRAID_NO_LANE;
        }
        destroy_now(schedule);
        destroy_now(graph);
    }
    assert_true(num_left_out > 1000 && num_kept > 1000);
}

static void plans_for_devices_leave_out_the_same(void **state)
{
    static struct model model;
    const braid_place_model places = { .num_places = 2, .link = { .latency_ns = 5, .wait_ns = 1 } };
    const braid_schedule_options options = { .costs = &free_costs, .places = &places };
    uint32_t num_left_out = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        braid_graph *graph = model_graph(&model, seed);
        model_set_outputs(&model, graph);
        uint32_t num =
            plan_info(graph, (braid_schedule_options){ .costs = &free_costs }).num_left_out;
        braid_schedule *schedule = plan_with(graph, &options);
        assert_int_equal(info_of(schedule).num_left_out, num);
        assert_int_equal(info_of(schedule).num_places, 2);
        num_left_out += num;
        destroy_now(schedule);
        destroy_now(graph);
    }
    assert_true(num_left_out > 100);
}

// Has the graph one more node left out, with its edges.
static void leave_out(braid_graph *culled, uint32_t node)
{
    struct graph_edge *edges = culled->edges.items;
    size_t num = 0;
    for (size_t i = 0; i < culled->edges.num; i++)
        if (edges[i].from != node && edges[i].to != node)
            edges[num++] = edges[i];
    culled->edges.num = num;
    ((struct graph_node *)culled->nodes.items)[node].is_left_out = true;
}

static void no_node_more_can_be_left_out(void **state)
{
    static struct model model;
    uint32_t num_refused = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 1000; seed++) {
        braid_graph *graph = model_graph(&model, seed);
        model_set_outputs(&model, graph);
        for (uint32_t i = 0; i < model.num_nodes; i++) {
            struct culled culled;
            check_ok(braid_graph_cull(graph, &culled));
            check_ok(braid_verify_left_out(graph, culled.graph));
            if (!graph_nodes(culled.graph)[i].is_left_out) {
                leave_out(&culled.own, i);
                braid_status status = braid_verify_left_out(graph, culled.graph);
                if (status != BRAID_INTERNAL)
                    fail_msg("graph %u: node %u could be left out", (unsigned)seed, i);
                num_refused++;
            }
            braid_culled_finish(&culled);
        }
        destroy_now(graph);
    }
    assert_true(num_refused > 1000);
}

static void compute_nothing(void *user)
{
    (void)user;
}

static braid_node add_writer(braid_graph *graph, const char *name, braid_resource to)
{
    const braid_access writes = { to, BRAID_WRITE };
    braid_node node;
    check_ok(braid_graph_add_host_call(
        graph,
        &(braid_host_call){ .node = { .name = name, .accesses = &writes, .num_accesses = 1 },
                            .call = compute_nothing },
        &node));
    return node;
}

static void conditions_are_needed(void **state)
{
    static uint32_t words[2];
    struct culled culled;
    braid_resource draws, image;
    braid_graph *graph = new_graph();
    (void)state;
    check_ok(braid_graph_add_buffer(graph, "draws", &words[0], 4, &draws));
    check_ok(braid_graph_add_buffer(graph, "image", &words[1], 4, &image));
    braid_node decide = add_writer(graph, "decide", draws);
    check_ok(
        braid_graph_begin_if(graph, &(braid_if){ .node.name = "if", .condition = draws }, NULL));
    add_writer(graph, "draw", image);
    check_ok(braid_graph_end(graph));
    check_ok(braid_graph_set_output(graph, image));
    check_ok(braid_graph_cull(graph, &culled));
    check_ok(braid_verify_left_out(graph, culled.graph));
    leave_out(&culled.own, decide.index);
    check_fails(braid_verify_left_out(graph, culled.graph), BRAID_INTERNAL,
                "leaves out node 0 'decide', which node 1 'if' needs");
    braid_culled_finish(&culled);
}

// A plan of the whole graph is no plan of one with outputs, nor the other way round.
static void a_plan_runs_all_that_stays_and_no_more(void **state)
{
    static struct model model;
    uint32_t num_refused = 0;
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        braid_graph *graph = model_graph(&model, seed);
        braid_schedule *whole, *part;
        check_ok(braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs },
                                       &whole));
        uint64_t version = graph->version;
        model_set_outputs(&model, graph);
        graph->version = version;
        check_ok(
            braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &part));
        if (info_of(part).num_left_out) {
            check_fails(braid_schedule_verify(whole, graph), BRAID_INTERNAL, "left out");
            graph->outputs.num = 0;
            check_fails(braid_schedule_verify(part, graph), BRAID_INTERNAL, "does not run node");
            num_refused++;
        }
        braid_schedule_destroy(whole);
        braid_schedule_destroy(part);
        destroy_now(graph);
    }
    assert_true(num_refused > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(random_plans_have_what_a_walk_back_needs),
        owning_test(plans_for_devices_leave_out_the_same),
        owning_test(no_node_more_can_be_left_out),
        owning_test(conditions_are_needed),
        owning_test(a_plan_runs_all_that_stays_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
