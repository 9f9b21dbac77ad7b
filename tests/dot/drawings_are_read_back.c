// SPDX-License-Identifier: Apache-2.0
// What braid plan makes of a graph's drawing is the plan of the graph, to the last wait: for graphs
// with all there is in them, and for the whole corpus of real ones.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <braid/braid.h>

#include "dot/drawn_memory.h"
#include "dot_file.h"
#include "plan/plan_islands.h"
#include "planner/corpus.h"
#include "support/check.h"
#include "support/random_choice.h"
#include "support/wide_plan.h"
#include "task_graph.h"

// What may be inside an island, and what of it may not.
static const braid_kernel inside_kernel = { .name = "i", .cpu = drawn_kernel, .source = "i" };
static const braid_kernel two_kernel = { .name = "t", .cpu = drawn_kernel, .source = "t" };

static const braid_kernel step_kernel = { .name = "step \"1\" & <2>\\\n", .cpu = drawn_kernel };

// Draws a graph, reads the drawing as the tool does, and makes the graph that the tool plans.
static braid_graph *draw_and_read(const braid_graph *graph)
{
    char path[] = "/tmp/braid-drawing-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *file = fdopen(descriptor, "w");
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    struct dot_file read;
    enum exit_status status = dot_file_read(path, &(struct dot_limits){ 0 }, &read);
    unlink(path);
    assert_int_equal(status, EXIT_DONE);
    assert_int_equal(read.unit_ns, 1);
    braid_graph *again;
    assert_int_equal(task_graph_create(&read, task_graph_add_to_plan, NULL, &again), EXIT_DONE);
    dot_file_finish(&read);
    return again;
}

static void assert_same_info(const braid_schedule *one, const braid_schedule *two)
{
    braid_schedule_info first, second;
    braid_schedule_get_info(one, &first);
    braid_schedule_get_info(two, &second);
    assert_int_equal(first.num_nodes, second.num_nodes);
    assert_int_equal(first.num_lanes, second.num_lanes);
    assert_int_equal(first.num_waits, second.num_waits);
    assert_int_equal(first.num_records, second.num_records);
    assert_int_equal(first.makespan_ns, second.makespan_ns);
    assert_int_equal(first.bound_ns, second.bound_ns);
    assert_int_equal(first.one_lane_ns, second.one_lane_ns);
    assert_int_equal(first.num_serialisations, second.num_serialisations);
}

static void assert_same_serialisations(const braid_schedule *one, const braid_schedule *two)
{
    braid_schedule_info info, again;
    braid_schedule_get_info(one, &info);
    braid_schedule_get_info(two, &again);
    assert_int_equal(info.num_serialisations, again.num_serialisations);
    for (size_t i = 0; i < info.num_serialisations; i++) {
        braid_serialisation first = info.serialisations[i], second = again.serialisations[i];
        assert_int_equal(first.first, second.first);
        assert_int_equal(first.second, second.second);
        assert_int_equal(first.cause, second.cause);
        assert_string_equal(first.resource_name, second.resource_name);
    }
}

static void assert_same_steps(const braid_schedule *one, const braid_schedule *two)
{
    braid_schedule_info of_one, of_two;
    braid_schedule_get_info(one, &of_one);
    braid_schedule_get_info(two, &of_two);
    const braid_step *steps = of_one.steps, *same = of_two.steps;
    size_t num_steps = of_one.num_steps, same_num = of_two.num_steps;
    assert_int_equal(num_steps, same_num);
    for (size_t i = 0; i < num_steps; i++) {
        if (steps[i].kind != same[i].kind || steps[i].lane != same[i].lane ||
            steps[i].node != same[i].node || steps[i].position != same[i].position)
            fail_msg("step %zu differs", i);
    }
}

static void assert_same_islands(const braid_graph *one, const braid_schedule *first,
                                const braid_graph *two, const braid_schedule *second)
{
    for (uint32_t i = 0; i < braid_graph_get_num_nodes(one); i++) {
        braid_placement here, there;
        check_ok(braid_schedule_get_placement(first, braid_graph_get_node(one, i), &here));
        check_ok(braid_schedule_get_placement(second, braid_graph_get_node(two, i), &there));
        assert_int_equal(here.island, there.island);
    }
}

static void assert_same_places(const braid_graph *one, const braid_schedule *first,
                               const braid_graph *two, const braid_schedule *second)
{
    braid_schedule_info info, same;
    braid_schedule_get_info(first, &info);
    braid_schedule_get_info(second, &same);
    assert_int_equal(info.num_places, same.num_places);
    assert_int_equal(info.num_copies, same.num_copies);
    assert_int_equal(info.one_place_ns, same.one_place_ns);
    for (uint32_t i = 0; i < braid_graph_get_num_nodes(one); i++) {
        braid_placement here, there;
        check_ok(braid_schedule_get_placement(first, braid_graph_get_node(one, i), &here));
        check_ok(braid_schedule_get_placement(second, braid_graph_get_node(two, i), &there));
        assert_int_equal(here.place, there.place);
    }
    for (uint32_t i = 0; i < info.num_copies; i++) {
        braid_planned_copy here = info.copies[i], there = same.copies[i];
        assert_true(here.from == there.from && here.to == there.to && here.bytes == there.bytes &&
                    here.offset == there.offset && here.resource == there.resource &&
                    here.is_return == there.is_return);
    }
}

static uint32_t num_islands; // in all plans
static uint32_t num_placed, num_copies;

static void assert_planned_alike(const braid_graph *one, const braid_graph *two,
                                 const braid_schedule_options *options)
{
    braid_schedule *first, *second;
    check_ok(braid_schedule_create(one, options, &first));
    check_ok(braid_schedule_create(two, options, &second));
    assert_same_info(first, second);
    assert_same_steps(first, second);
    assert_same_serialisations(first, second);
    assert_same_islands(one, first, two, second);
    assert_same_places(one, first, two, second);
    braid_schedule_info info;
    braid_schedule_get_info(first, &info);
    num_islands += info.num_islands;
    num_copies += info.num_copies;
    braid_schedule_destroy(first);
    braid_schedule_destroy(second);
}

// What keeps a graph off several devices, its drawing has as well.
static void assert_placed_alike(const braid_graph *one, const braid_graph *two, uint32_t num_places)
{
    const braid_place_model model = { .num_places = num_places,
                                      .link = { .latency_ns = 90, .wait_ns = 30 } };
    const braid_schedule_options options = { .places = &model,
                                             .costs =
                                                 &(braid_cost_model){ .default_cost_ns = 700 } };
    braid_schedule *schedule = NULL;
    char message[512];
    if (braid_schedule_create(one, &options, &schedule) == BRAID_OK) {
        braid_schedule_destroy(schedule);
        assert_planned_alike(one, two, &options);
        num_placed++;
        return;
    }
    snprintf(message, sizeof(message), "%s", braid_error_get_message());
    assert_int_not_equal(braid_schedule_create(two, &options, &schedule), BRAID_OK);
    assert_string_equal(message, braid_error_get_message());
}

struct shape {
    struct random random;
    braid_graph *graph;
    braid_resource resources[10];
    bool has_places;
    uint32_t num_resources;
    uint32_t num_nodes;
};

static void add_resources(struct shape *shape)
{
    braid_resource *resources = shape->resources;
    check_ok(braid_graph_add_resource(shape->graph, "list: 1%\"\n#", &resources[0]));
    check_ok(braid_graph_add_buffer(shape->graph, "b\xc3\xbc", NULL, 4096, &resources[1]));
    check_ok(braid_graph_add_range(shape->graph, resources[1], 0, 1024, &resources[2]));
    check_ok(braid_graph_add_range(shape->graph, resources[1], 512, 1024, &resources[3]));
    check_ok(braid_graph_add_resource(shape->graph, "rng", &resources[4]));
    shape->num_resources = 5;
    if (!shape->has_places)
        return;
    void *const versions[2] = { (void *)0x40000000, (void *)0x50000000 };
    check_ok(braid_graph_add_buffer(shape->graph, "far@1", (void *)0x10000000, 800, &resources[5]));
    check_ok(braid_graph_add_range(shape->graph, resources[5], 0, 300, &resources[6]));
    check_ok(braid_graph_add_buffer(shape->graph, "pinned", (void *)0x20000000, 70, &resources[7]));
    check_ok(braid_graph_add_versioned_buffer(shape->graph, "v", versions, 2, 64, &resources[8]));
    check_ok(braid_graph_add_transient(shape->graph, "transient", 50, 0, &resources[9]));
    check_ok(braid_graph_set_home(shape->graph, resources[5], 2));
    check_ok(braid_graph_set_home(shape->graph, resources[7], BRAID_EVERYWHERE));
    check_ok(braid_graph_set_home(shape->graph, resources[4], BRAID_EVERYWHERE));
    shape->num_resources = 10;
}

// A node that is given the addresses of what it accesses, as far as that has any.
static braid_status add_addressed(struct shape *shape, const braid_node_options *options)
{
    static const braid_kernel kernels[4] = { { .name = "a", .cpu = drawn_kernel },
                                             { .name = "b", .cpu = drawn_kernel },
                                             { .name = "c", .cpu = drawn_kernel },
                                             { .name = "d", .cpu = drawn_kernel } };
    braid_arg args[3];
    braid_resource given[3];
    size_t num = 0;
    for (size_t i = 0; i < options->num_accesses; i++) {
        if (options->accesses[i].resource.index >= 5)
            given[num++] = options->accesses[i].resource;
    }
    for (size_t i = 0; i < num; i++)
        args[i] = braid_resource_address(&given[i]);
    braid_copy copy = { .node = *options, .bytes = 4 };
    bool is_copy = num == 2 && random_below(&shape->random, 2);
    // The two are one resource, or a buffer and the range of it.
    bool may_overlap = is_copy && (given[0].index == given[1].index ||
                                   (given[0].index <= 6 && given[1].index <= 6));
    if (is_copy && !may_overlap) {
        copy.from_resource = given[0];
        copy.to_resource = given[1];
        return braid_graph_add_copy(shape->graph, &copy, NULL);
    }
    return braid_graph_add_kernel(
        shape->graph,
        &(braid_kernel_node){
            .node = *options, .kernel = &kernels[num], .args = args, .num_args = num },
        NULL);
}

static braid_status add_node(struct shape *shape, const braid_node_options *options)
{
    if (shape->has_places && random_below(&shape->random, 3))
        return add_addressed(shape, options);
    static char bytes[8];
    braid_graph *graph = shape->graph;
    static const uint32_t number;
    const uint32_t way = random_below(&shape->random, 6);
    const braid_kernel_node inside = {
        .node = *options,
        .kernel = &inside_kernel,
        .grid = { random_below(&shape->random, 4), 1, 1 },
        .block = { 32 },
        .may_be_empty = true,
        .shared_bytes = random_below(&shape->random, 6) == 0 ? 16 : 0,
        .cluster = { way == 0 },
        .cooperative = way == 1,
    };
    const braid_kernel_node two = { .node = *options,
                                    .kernel = &two_kernel,
                                    BRAID_ARGS(BRAID_ARG(number), BRAID_ARG(number)) };
    switch (random_below(&shape->random, 12)) {
    case 0:
        return braid_graph_add_copy(
            graph, &(braid_copy){ *options, .to = bytes, .from = bytes + 4, .bytes = 4 }, NULL);
    case 1:
        return braid_graph_add_fill(graph, &(braid_fill){ *options, .to = bytes, .num_values = 4 },
                                    NULL);
    case 2:
        return braid_graph_add_host_call(
            graph,
            &(braid_host_call){ *options, .call = drawn_host_call,
                                .blocking = random_below(&shape->random, 2) },
            NULL);
    case 3:
        return braid_graph_add_queue_call(
            graph, &(braid_queue_call){ *options, .call = drawn_queue_call }, NULL);
    case 4:
        return braid_graph_add_empty(graph, &(braid_empty){ *options }, NULL);
    case 5:
    case 6:
    case 7:
        return braid_graph_add_kernel(graph, &inside, NULL);
    case 8:
        return braid_graph_add_kernel(graph, &two, NULL);
    default:
        return braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = *options,
                                  .kernel = &step_kernel,
                                  .grid = { random_below(&shape->random, 50), 2, 1 },
                                  .block = { 32 },
                                  .may_be_empty = true },
            NULL);
    }
}

// A third of the graphs have outputs; the last resource is transient, which is no output.
static void choose_outputs(struct shape *shape)
{
    uint32_t num = random_below(&shape->random, 3) ? 0 : 1 + random_below(&shape->random, 3);
    uint32_t most = shape->has_places ? shape->num_resources - 1 : shape->num_resources;
    for (uint32_t i = 0; i < num; i++)
        check_ok(braid_graph_set_output(shape->graph,
                                        shape->resources[random_below(&shape->random, most)]));
}

// Nodes of all kinds, some bundled, with whatever accesses, hints and costs.
static braid_graph *make_graph(uint64_t seed, bool has_places)
{
    struct shape shape = { .random.state = seed, .has_places = has_places };
    check_ok(braid_graph_create(&shape.graph));
    add_resources(&shape);
    const struct random_shape choices = { .edges = 1,
                                          .accesses = 2,
                                          .num_resources = shape.num_resources,
                                          .num_modes = 5,
                                          .hinted = 12,
                                          .num_hints = 3,
                                          .most_ns = 5000 };
    uint32_t num = 1 + random_below(&shape.random, 30), last_main = 0;
    braid_node nodes[30];
    for (; shape.num_nodes < num; shape.num_nodes++) {
        struct random_choice choice;
        random_choose(&shape.random, &choices, nodes, shape.num_nodes, shape.resources, &choice);
        braid_node_options options = choice.options;
        if (random_below(&shape.random, 4) == 0)
            options.cost_ns = 0;
        uint32_t role = shape.num_nodes > 0 ? random_below(&shape.random, 5) : 0;
        if (role == 1)
            options.prelude_of = braid_graph_get_node(shape.graph, last_main);
        else if (role == 2)
            options.epilogue_of = braid_graph_get_node(shape.graph, last_main);
        else
            last_main = shape.num_nodes;
        if (has_places && role != 1 && role != 2 && random_below(&shape.random, 4) == 0)
            options.place = random_below(&shape.random, 2) + 1;
        if (role == 1 || role == 2) {
            options.num_after = 0;
            options.lane_hint = 0;
        }
        check_ok(add_node(&shape, &options));
        nodes[shape.num_nodes] = braid_graph_get_node(shape.graph, shape.num_nodes);
    }
    choose_outputs(&shape);
    return shape.graph;
}

// A device that has no room for all kernels at once and makes every wait dear.
static const braid_cost_model device = {
    .default_cost_ns = 700, .node_ns = 20, .wait_ns = 150, .max_threads = 4000, .max_concurrent = 6
};

static void graphs_with_all_there_is_are_planned_alike(void **state)
{
    (void)state;
    uint32_t num_planned = 0;
    for (uint64_t seed = 1; seed <= 400; seed += corpus_step()) {
        braid_graph *graph = make_graph(seed * 977, false);
        braid_graph *again = draw_and_read(graph);
        braid_schedule *schedule;
        // An access may run against an edge: such a graph has no plan, and nor has its drawing.
        if (braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs },
                                  &schedule) == BRAID_OK) {
            braid_schedule_destroy(schedule);
            num_planned++;
            braid_cost_model costs = { 0 };
            braid_schedule_options options = { .costs = &costs,
                                               .max_lanes = 1 + (uint32_t)(seed % 5),
                                               .fixed_lanes = seed % 2 == 0 };
            assert_planned_alike(graph, again, &options);
            costs = device;
            assert_planned_alike(graph, again, &options);
            costs.node_ns = 3000;
            costs.island_call_ns = 10;
            assert_planned_alike(graph, again, &options);
            options.max_lanes = BRAID_ALL_LANES;
            options.fixed_lanes = true;
            assert_planned_alike(graph, again, &options);
        } else {
            assert_int_not_equal(
                braid_schedule_create(again, &(braid_schedule_options){ .costs = &free_costs },
                                      &schedule),
                BRAID_OK);
        }
        braid_graph_destroy(again);
        braid_graph_destroy(graph);
    }
    print_message("summary: %u graphs, %u islands\n", num_planned, num_islands);
    assert_true(num_planned * corpus_step() > 100);
    if (braid_plan_islands)
        assert_true(num_islands * corpus_step() > 30);
    else
        print_message("without islands: the add-on is left out\n");
}

static void places_are_read_back(void **state)
{
    (void)state;
    num_copies = 0;
    for (uint64_t seed = 1; seed <= 400; seed += corpus_step()) {
        braid_graph *graph = make_graph(seed * 577, true);
        braid_graph *again = draw_and_read(graph);
        braid_schedule *schedule;
        if (braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs },
                                  &schedule) == BRAID_OK) {
            braid_schedule_destroy(schedule);
            assert_planned_alike(graph, again, &(braid_schedule_options){ .costs = &free_costs });
            assert_placed_alike(graph, again, 2 + (uint32_t)(seed % 2));
        }
        braid_graph_destroy(again);
        braid_graph_destroy(graph);
    }
    print_message("summary: %u graphs on devices, %u copies\n", num_placed, num_copies);
    assert_true(num_placed * corpus_step() > 40);
    assert_true(num_copies * corpus_step() > 100);
}

static char *draw(const braid_graph *graph)
{
    char *drawing = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&drawing, &length);
    check_ok(braid_graph_write_dot(graph, file));
    fclose(file);
    return drawing;
}

static void a_drawing_drawn_again_is_the_same_text(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed += corpus_step()) {
        braid_graph *graph = make_graph(seed * 131, seed % 2);
        braid_graph *again = draw_and_read(graph);
        char *first = draw(graph), *second = draw(again);
        assert_string_equal(first, second);
        free(first);
        free(second);
        braid_graph_destroy(again);
        braid_graph_destroy(graph);
    }
}

// Planned alike on one device and on several, and drawn again with every word.
static void memory_that_is_chosen_is_read_back(void **state)
{
    (void)state;
    num_placed = 0;
    for (uint64_t seed = 1; seed <= 300; seed += corpus_step()) {
        braid_graph *graph = make_graph_with_memory(seed * 331);
        braid_graph *again = draw_and_read(graph);
        char *first = draw(graph), *second = draw(again);
        assert_string_equal(first, second);
        free(first);
        free(second);
        braid_cost_model costs = device;
        braid_schedule_options options = { .max_lanes = 1 + (uint32_t)(seed % 4), .costs = &costs };
        costs.island_call_ns = 10;
        assert_planned_alike(graph, again, &options);
        assert_placed_alike(graph, again, 2);
        assert_same_memory(graph, again);
        braid_graph_destroy(again);
        braid_graph_destroy(graph);
    }
    print_message("summary: %u of 300 on two devices\n", num_placed);
}

static void real_graphs_are_planned_alike(void **state)
{
    (void)state;
    const char *folder = corpus_folder();
    if (!folder)
        skip_because("no corpus of task graphs here: BRAID_CORPUS names its folder");
    struct corpus corpus;
    assert_true(corpus_read(folder, &corpus));
    size_t step = corpus_step(), num = 0;
    for (size_t i = 0; i < corpus.num_graphs; i += step) {
        braid_graph *graph;
        if (step > 1 && corpus.graphs[i].num_nodes > 1000) // which takes sanitizers a while
            continue;
        num++;
        check_ok(corpus_make_graph(&corpus.graphs[i], &graph));
        braid_graph *again = draw_and_read(graph);
        assert_planned_alike(
            graph, again,
            &(braid_schedule_options){ .costs = &free_costs, .max_lanes = 4, .fixed_lanes = true });
        braid_graph_destroy(again);
        braid_graph_destroy(graph);
    }
    print_message("summary: %zu graphs planned from their drawings\n", num);
    corpus_finish(&corpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_with_all_there_is_are_planned_alike),
        cmocka_unit_test(places_are_read_back),
        cmocka_unit_test(a_drawing_drawn_again_is_the_same_text),
        cmocka_unit_test(memory_that_is_chosen_is_read_back),
        cmocka_unit_test(real_graphs_are_planned_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
