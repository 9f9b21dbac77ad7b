// SPDX-License-Identifier: Apache-2.0
// Graphs that can be made twice, and plans that are compared.
#include "saved/saved_testing.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 120, NUM_RESOURCES = 6, NUM_BYTES = 64, MOST_SEEDS = 4096 };

char saved_path[] = "/tmp/braid-saved-XXXXXX/plan";

int saved_begin(void **state)
{
    (void)state;
    char *end = strrchr(saved_path, '/');
    *end = '\0';
    bool done = mkdtemp(saved_path);
    *end = '/';
    return done ? 0 : -1;
}

int saved_end(void **state)
{
    (void)state;
    unlink(saved_path);
    *strrchr(saved_path, '/') = '\0';
    return rmdir(saved_path);
}

struct making {
    struct random random;
    braid_graph *graph;
    braid_resource resources[NUM_RESOURCES];
    braid_node nodes[MOST];
    uint32_t num, first; // `first` of those in the region at hand
};

// Buffers stand at another place in each graph that is made.
static void add_resources(struct making *making)
{
    static uint8_t memory[2][NUM_RESOURCES][NUM_BYTES];
    static uint32_t turn;
    turn++;
    for (uint32_t i = 0; i < NUM_RESOURCES; i++)
        check_ok(braid_graph_add_buffer(making->graph, "buffer", memory[turn % 2][i], NUM_BYTES,
                                        &making->resources[i]));
}

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel kernel = { .name = "k", .cpu = do_nothing, .source = "void k();" };

// Inside the region at hand, so that no edge crosses its border.
static void add_node(struct making *making)
{
    struct random_choice choice;
    const struct random_shape shape = { .edges = 3,
                                        .reach = 12,
                                        .accesses = 2,
                                        .num_resources = NUM_RESOURCES,
                                        .num_modes = 2,
                                        .hinted = making->first ? 0 : 10,
                                        .num_hints = 3,
                                        .most_ns = 1000 };
    random_choose(&making->random, &shape, making->nodes + making->first,
                  making->num - making->first, making->resources, &choice);
    bool is_known = random_chance(&making->random, 80);
    choice.options.cost_ns = is_known ? choice.options.cost_ns : 0;
    if (making->num > making->first && random_chance(&making->random, 10)) {
        choice.options.num_after = 0;
        choice.options.lane_hint = 0;
        choice.options.num_accesses = 0;
        choice.options.prelude_of = making->nodes[making->num - 1];
    }
    const braid_kernel_node launch = { .node = choice.options, .kernel = &kernel };
    braid_node *node = &making->nodes[making->num];
    if (random_chance(&making->random, 50))
        check_ok(braid_graph_add_kernel(making->graph, &launch, node));
    else
        check_ok(braid_graph_add_empty(making->graph, &(braid_empty){ choice.options }, node));
    making->num += !choice.options.prelude_of.graph;
}

static void add_region(struct making *making)
{
    if (random_chance(&making->random, 50))
        check_ok(braid_graph_begin_loop(
            making->graph, &(braid_loop){ .times = 2 + random_below(&making->random, 9) }, NULL));
    else
        check_ok(braid_graph_begin_if(making->graph,
                                      &(braid_if){ .condition = making->resources[0] }, NULL));
    making->first = making->num;
    for (uint32_t i = 1 + random_below(&making->random, 8); i > 0; i--)
        add_node(making);
    check_ok(braid_graph_end(making->graph));
    making->first = making->num;
}

braid_graph *saved_graph(uint64_t seed)
{
    struct making making = { .random = { seed }, .graph = own_graph() };
    uint32_t num = 1 + random_below(&making.random, MOST - 40);
    bool has_regions = random_chance(&making.random, 50);
    add_resources(&making);
    while (making.num < num)
        if (has_regions && making.num < MOST - 20 && random_chance(&making.random, 5))
            add_region(&making);
        else
            add_node(&making);
    if (random_chance(&making.random, 30))
        check_ok(braid_graph_set_output(making.graph, making.resources[1]));
    return making.graph;
}

braid_cost_model saved_costs(uint64_t seed)
{
    struct random random = { seed + MOST_SEEDS };
    return (braid_cost_model){
        .default_cost_ns = 500,
        .node_ns = random_below(&random, 100),
        .wait_ns = random_below(&random, 300),
        .root_ns = random_below(&random, 50),
        .max_threads = random_chance(&random, 30) ? 256 : 0,
        .max_concurrent = random_chance(&random, 30) ? 1 + random_below(&random, 4) : 0,
        .island_call_ns = random_chance(&random, 30) ? 1 + random_below(&random, 20) : 0,
        .issue_ns = random_below(&random, 10),
    };
}

braid_schedule *save_plan(const braid_graph *graph, const braid_cost_model *costs, uint32_t lanes)
{
    braid_schedule *schedule = own_schedule(
        graph, &(braid_schedule_options){
                   .costs = costs, .max_lanes = lanes, .fixed_lanes = lanes && lanes % 2 });
    check_ok(braid_schedule_save(schedule, graph, saved_path));
    return schedule;
}

braid_schedule *load_plan(const braid_graph *graph)
{
    braid_schedule *schedule;
    check_ok(braid_schedule_load(graph, saved_path, &schedule));
    return schedule;
}

static void check_same_serialisations(const braid_schedule_info *a, const braid_schedule_info *b)
{
    assert_int_equal(a->num_serialisations, b->num_serialisations);
    for (uint32_t i = 0; i < a->num_serialisations; i++) {
        assert_int_equal(a->serialisations[i].first, b->serialisations[i].first);
        assert_int_equal(a->serialisations[i].second, b->serialisations[i].second);
        assert_int_equal(a->serialisations[i].cause, b->serialisations[i].cause);
        assert_string_equal(a->serialisations[i].resource_name, b->serialisations[i].resource_name);
    }
}

static void check_same_figures(const braid_schedule *a, const braid_schedule *b)
{
    char of_a[256], of_b[256];
    check_ok(braid_schedule_explain(a, NULL, 0, of_a, sizeof(of_a)));
    check_ok(braid_schedule_explain(b, NULL, 0, of_b, sizeof(of_b)));
    assert_string_equal(of_a, of_b);
    const braid_schedule_info x = info_of(a), y = info_of(b);
    assert_int_equal(x.num_lanes, y.num_lanes);
    assert_int_equal(x.num_waits, y.num_waits);
    assert_int_equal(x.num_records, y.num_records);
    assert_int_equal(x.makespan_ns, y.makespan_ns);
    assert_int_equal(x.bound_ns, y.bound_ns);
    assert_int_equal(x.expected_ns, y.expected_ns);
    assert_int_equal(x.num_guessed, y.num_guessed);
    assert_int_equal(x.num_left_out, y.num_left_out);
    assert_int_equal(x.num_islands, y.num_islands);
    assert_int_equal(x.limit, y.limit);
    check_same_serialisations(&x, &y);
}

void check_same_plan(const braid_schedule *a, const braid_schedule *b)
{
    const braid_schedule_info x = info_of(a), y = info_of(b);
    check_same_figures(a, b);
    assert_int_equal(x.num_nodes, y.num_nodes);
    assert_int_equal(x.num_steps, y.num_steps);
    for (size_t i = 0; i < x.num_steps; i++)
        assert_memory_equal(&x.steps[i], &y.steps[i], sizeof(x.steps[i]));
}
