// SPDX-License-Identifier: Apache-2.0
// Of a drawing with loops and branches braid plan makes the same graph, and of a file written by
// hand the one that it means.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

#include "dot_file.h"
#include "support/check.h"
#include "support/random.h"
#include "support/wide_plan.h"
#include "task_graph.h"

enum { NUM_WORDS = 4, MOST_NODES = 40, MOST_DEPTH = 4 };

static uint32_t words[NUM_WORDS];

struct shape {
    struct random random;
    braid_graph *graph;
    braid_resource resources[NUM_WORDS];
    uint32_t num_regions;
};

static void add_node(struct shape *shape, bool writes, uint32_t word)
{
    const braid_access access = { shape->resources[word], writes ? BRAID_READ_WRITE : BRAID_READ };
    const braid_empty node = { .node = { .cost_ns = 1 + random_below(&shape->random, 5000),
                                         .accesses = &access,
                                         .num_accesses = 1 } };
    check_ok(braid_graph_add_empty(shape->graph, &node, NULL));
}

static void add_items(struct shape *shape, uint32_t depth);

// Each body has a node that writes the condition.
static void add_loop(struct shape *shape, uint32_t depth)
{
    struct random *random = &shape->random;
    uint32_t word = random_below(random, NUM_WORDS);
    braid_loop loop = { .condition = shape->resources[word],
                        .expected = random_chance(random, 50) ? random_below(random, 30) : 0 };
    switch (random_below(random, 3)) {
    case 0:
        loop.unbounded = true;
        loop.tests_first = random_chance(random, 50);
        break;
    case 1:
        loop.most = 1 + random_below(random, 100);
        break;
    default:
        loop.condition = (braid_resource){ 0 };
        loop.times = random_chance(random, 10) ? UINT64_MAX : 1 + random_below(random, 100);
        break;
    }
    check_ok(braid_graph_begin_loop(shape->graph, &loop, NULL));
    add_node(shape, true, word);
    add_items(shape, depth + 1);
    check_ok(braid_graph_end(shape->graph));
}

static void add_branch(struct shape *shape, uint32_t depth)
{
    struct random *random = &shape->random;
    const braid_if branch = { .node.name = "choose",
                              .condition = shape->resources[random_below(random, NUM_WORDS)] };
    check_ok(braid_graph_begin_if(shape->graph, &branch, NULL));
    add_node(shape, random_chance(random, 50), 0);
    add_items(shape, depth + 1);
    if (random_chance(random, 60)) {
        check_ok(braid_graph_else(shape->graph));
        add_node(shape, random_chance(random, 50), 1);
        add_items(shape, depth + 1);
    }
    check_ok(braid_graph_end(shape->graph));
}

static void add_items(struct shape *shape, uint32_t depth)
{
    struct random *random = &shape->random;
    uint32_t num = random_below(random, 4);
    for (uint32_t i = 0; i < num && braid_graph_get_num_nodes(shape->graph) < MOST_NODES; i++) {
        uint32_t what = depth < MOST_DEPTH ? random_below(random, 4) : 3;
        shape->num_regions += what < 2;
        if (what == 0)
            add_loop(shape, depth);
        else if (what == 1)
            add_branch(shape, depth);
        else
            add_node(shape, random_chance(random, 50), random_below(random, NUM_WORDS));
    }
}

static braid_graph *read_file(const char *text)
{
    char path[] = "/tmp/braid-drawing-XXXXXX";
    struct dot_file read;
    braid_graph *graph;
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    fputs(text, file);
    fclose(file);
    assert_int_equal(dot_file_read(path, &(struct dot_limits){ 0 }, &read), EXIT_DONE);
    unlink(path);
    assert_int_equal(read.without_cost, 0);
    assert_int_equal(task_graph_create(&read, task_graph_add_to_plan, NULL, &graph), EXIT_DONE);
    dot_file_finish(&read);
    return graph;
}

static char *draw(const braid_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    return text;
}

static uint64_t plan(const braid_graph *graph)
{
    braid_schedule *schedule;
    braid_schedule_info info;
    check_ok(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule));
    check_ok(braid_schedule_verify(schedule, graph));
    braid_schedule_get_info(schedule, &info);
    uint64_t makespan_ns = info.makespan_ns;
    braid_schedule_destroy(schedule);
    return makespan_ns;
}

static void a_drawing_is_the_graph_that_was_drawn(void **state)
{
    uint32_t num_regions = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct shape shape = { .random.state = seed * 977 };
        check_ok(braid_graph_create(&shape.graph));
        for (uint32_t i = 0; i < NUM_WORDS; i++)
            check_ok(braid_graph_add_buffer(shape.graph, "word", &words[i], sizeof(words[i]),
                                            &shape.resources[i]));
        add_node(&shape, true, 0);
        add_items(&shape, 0);
        char *drawn = draw(shape.graph);
        braid_graph *again = read_file(drawn);
        char *drawn_again = draw(again);
        assert_string_equal(drawn, drawn_again);
        assert_int_equal(braid_graph_get_digest(shape.graph), braid_graph_get_digest(again));
        assert_int_equal(plan(shape.graph), plan(again));
        num_regions += shape.num_regions;
        free(drawn);
        free(drawn_again);
        braid_graph_destroy(again);
        braid_graph_destroy(shape.graph);
    }
    print_message("summary: %u loops and branches read back\n", num_regions);
    assert_true(num_regions > 500);
}

// Bodies stand before their nodes and among each other, and preludes before their main nodes.
static void a_file_names_nodes_in_any_order(void **state)
{
    static const char text[] = "digraph {\n"
                               " resources=\"left:4 which:4\"; cost_unit=ns;\n"
                               " late [else_of=choose, cost=7];\n"
                               " first [body_of=solve, prelude_of=less, cost=1];\n"
                               " less [body_of=solve, accesses=\"rw0\", cost=2];\n"
                               " choose [kind=branch, condition=1, body_of=solve];\n"
                               " early [body_of=choose, cost=3];\n"
                               " solve [kind=loop, condition=0, most=50, expected=20];\n"
                               " before [cost=100];\n"
                               " less -> choose; before -> solve;\n"
                               "}\n";
    static const char *const names[] = { "solve", "less", "first", "choose",
                                         "early", "late", "before" };
    (void)state;
    braid_graph *graph = read_file(text);
    assert_int_equal(braid_graph_get_num_nodes(graph), 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(braid_graph_get_node_name(graph, braid_graph_get_node(graph, i)),
                            names[i]);
    assert_int_equal(plan(graph), 100 + 20 * (1 + 2 + 7));
    braid_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawing_is_the_graph_that_was_drawn),
        cmocka_unit_test(a_file_names_nodes_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
