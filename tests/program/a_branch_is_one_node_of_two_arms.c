// SPDX-License-Identifier: Apache-2.0
// A branch is one node from outside. Each arm is a small frame, which is planned, proved and drawn.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "graph/regions.h"
#include "program/change_programs.h"
#include "support/check.h"
#include "support/wide_plan.h"

static uint32_t word;

struct world {
    braid_graph *graph;
    braid_schedule *schedule;
    braid_node start, branch, first[2], second[3], behind;
};

static braid_node add_call(braid_graph *graph, const char *name, braid_resource read,
                           braid_resource write)
{
    braid_node node;
    check_ok(braid_graph_add_empty(
        graph,
        &(braid_empty){ .node = { .name = name, .cost_ns = 1000 },
                        BRAID_ACCESSES({ write, BRAID_READ_WRITE }, { read, BRAID_READ }) },
        &node));
    return node;
}

// The second arm has two lanes; what is behind the branch reads what either arm writes.
static int set_up(void **state)
{
    static struct world world;
    braid_resource which, x, y, z;
    check_ok(braid_graph_create(&world.graph));
    check_ok(braid_graph_add_buffer(world.graph, "which", &word, sizeof(word), &which));
    check_ok(braid_graph_add_resource(world.graph, "x", &x));
    check_ok(braid_graph_add_resource(world.graph, "y", &y));
    check_ok(braid_graph_add_resource(world.graph, "z", &z));
    world.start = add_call(world.graph, "start", x, which);
    check_ok(braid_graph_begin_if(
        world.graph, &(braid_if){ .node.name = "choose", .condition = which }, &world.branch));
    world.first[0] = add_call(world.graph, "p", which, x);
    world.first[1] = add_call(world.graph, "q", x, y);
    check_ok(braid_graph_else(world.graph));
    world.second[0] = add_call(world.graph, "r", which, y);
    world.second[1] = add_call(world.graph, "s", which, z);
    world.second[2] = add_call(world.graph, "t", y, z);
    check_ok(braid_graph_end(world.graph));
    world.behind = add_call(world.graph, "behind", y, x);
    check_ok(braid_schedule_create(world.graph, &(braid_schedule_options){ .costs = &free_costs },
                                   &world.schedule));
    check_ok(braid_schedule_verify(world.schedule, world.graph));
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    const struct world *world = *state;
    braid_schedule_destroy(world->schedule);
    braid_graph_destroy(world->graph);
    return 0;
}

static void the_plan_has_one_node_and_two_frames_inside(void **state)
{
    const struct world *world = *state;
    const struct program *program = &world->schedule->program;
    assert_int_equal(program->num_bodies, 2);
    assert_true(program->bodies[0].has_else && !program->bodies[0].is_else);
    assert_true(program->bodies[1].is_else && !program->bodies[1].has_else);
    assert_int_equal(program->bodies[0].num_lanes, 1);
    assert_int_equal(program->bodies[1].num_lanes, 2);
    assert_int_equal(world->schedule->cost_ns[world->branch.index], 2000); // either arm's
    unsigned num_enters = 0;
    for (size_t i = 0; i < program->num_ops; i++)
        num_enters += program->ops[i].kind == BRAID_STEP_LOOP;
    assert_int_equal(num_enters, 1);
}

static void every_operation_of_both_arms_is_needed(void **state)
{
    const struct world *world = *state;
    unsigned num = change_each_op(world->schedule, world->graph, &world->schedule->program);
    check_ok(braid_schedule_verify(world->schedule, world->graph));
    assert_true(num > 8);
    print_message("summary: %u wrong programs with branches refused\n", num);
}

static void check_wrong(const struct world *world, const char *why)
{
    check_fails(braid_schedule_verify(world->schedule, world->graph), BRAID_INTERNAL, why);
}

static void arms_in_another_order_are_found(void **state)
{
    const struct world *world = *state;
    struct program *program = &world->schedule->program, *arms = program->bodies;
    const struct program first = arms[0], second = arms[1];
    arms[0] = second;
    arms[1] = first;
    check_wrong(world, "enters another region");
    arms[0].is_else = false; // and as if that were right
    arms[0].has_else = true;
    arms[1].is_else = true;
    arms[1].has_else = false;
    check_wrong(world, "ends otherwise");
    arms[0] = first;
    arms[1] = second;
    arms[0].has_else = false;
    check_wrong(world, "enters another region");
    arms[0] = first;
    program->num_bodies = 1;
    check_wrong(world, "enters another region");
    program->num_bodies = 2;
    arms[1].most = 2;
    check_wrong(world, "ends otherwise");
    arms[1] = second;
    arms[0].has_condition = false;
    check_wrong(world, "ends otherwise");
    arms[0] = first;
    check_ok(braid_schedule_verify(world->schedule, world->graph));
}

static void a_branch_that_hides_an_access_is_found(void **state)
{
    const struct world *world = *state;
    const struct graph_node *node = &graph_nodes(world->graph)[world->branch.index];
    struct graph_access *accesses = world->graph->accesses.items;
    assert_int_equal(node->num_accesses, 4);
    for (uint32_t i = 0; i < node->num_accesses; i++) {
        struct graph_access *access = &accesses[node->first_access + i], had = *access;
        access->resource = accesses[node->first_access + (i + 1) % 4].resource;
        check_wrong(world, "accesses more than");
        *access = had;
    }
    check_ok(braid_schedule_verify(world->schedule, world->graph));
}

static void check_explained(const struct world *world, braid_node a, braid_node b,
                            const char *expected)
{
    char text[256];
    const braid_node pair[] = { a, b };
    check_ok(braid_schedule_explain(world->schedule, pair, 2, text, sizeof(text)));
    if (!strstr(text, expected))
        fail_msg("'%s' does not contain '%s'", text, expected);
}

static void orders_inside_and_across_are_explained(void **state)
{
    const struct world *world = *state;
    check_explained(world, world->first[0], world->branch, "p is in the branch choose");
    check_explained(world, world->second[0], world->first[1],
                    "r and q are in the two arms of choose, of which one runs");
    check_explained(world, world->second[2], world->start, "ordered by data in which");
    check_explained(world, world->first[0], world->first[1], "ordered by data in x");
    check_explained(world, world->behind, world->second[0], "ordered");
}

static void check_in_order(const char *text, const char *const *parts, size_t num)
{
    const char *from = text;
    for (size_t i = 0; i < num; i++) {
        const char *part = strstr(from, parts[i]);
        if (!part)
            fail_msg("'%s' is not in the drawing, or not in its place:\n%s", parts[i], text);
        from = part;
    }
}

#define check_drawing(text, ...)                                                                   \
    check_in_order(text, (const char *const[]){ __VA_ARGS__ },                                     \
                   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void drawings_have_a_box_for_each_arm(void **state)
{
    const struct world *world = *state;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    check_ok(braid_graph_write_dot(world->graph, file));
    fclose(file);
    check_drawing(text, "1 [label=\"choose\", kind=branch, condition=0, accesses=",
                  "subgraph cluster_branch_1 {", "label=\"choose\"", "        1;\n",
                  "subgraph cluster_if_1 {", "        2;\n        3;\n    }\n",
                  "subgraph cluster_else_1 {",
                  "        4;\n        5;\n        6;\n    }\n    }\n");
    assert_null(strstr(text, "    3 -> 4 ")); // they are in two arms
    assert_null(strstr(text, "    1 -> 2 "));
    free(text);
    file = open_memstream(&text, &size);
    check_ok(braid_schedule_write(world->schedule, BRAID_DRAWING_DOT, NULL, file));
    fclose(file);
    check_drawing(text, "subgraph cluster_region_1 {", "label=\"branch\"",
                  "subgraph cluster_region_1_if {", "label=\"if\"",
                  "subgraph cluster_region_1_lane_0 {", "subgraph cluster_region_1_else {",
                  "subgraph cluster_region_1_else_lane_1 {");
    free(text);
    file = open_memstream(&text, &size);
    check_ok(braid_schedule_write(world->schedule, BRAID_DRAWING_SVG, NULL, file));
    fclose(file);
    unsigned num = 0;
    for (const char *next = text; (next = strstr(next, "node inside")); next++)
        num++;
    assert_int_equal(num, 5);
    free(text);
}

static void digests_differ_by_arms(void **state)
{
    const struct world *world = *state;
    uint64_t before = braid_graph_get_digest(world->graph);
    struct graph_region *regions = world->graph->regions.items;
    regions[0].num--; // the first arm's; the second has one more
    regions[1].num++;
    assert_true(braid_graph_get_digest(world->graph) != before);
    regions[0].num++;
    regions[1].num--;
    assert_int_equal(braid_graph_get_digest(world->graph), before);
}

#define branch_test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        branch_test(the_plan_has_one_node_and_two_frames_inside),
        branch_test(every_operation_of_both_arms_is_needed),
        branch_test(arms_in_another_order_are_found),
        branch_test(a_branch_that_hides_an_access_is_found),
        branch_test(orders_inside_and_across_are_explained),
        branch_test(drawings_have_a_box_for_each_arm),
        branch_test(digests_differ_by_arms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
