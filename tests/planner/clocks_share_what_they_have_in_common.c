// SPDX-License-Identifier: Apache-2.0
// The clocks of a proof say what plain rows of numbers say, whatever is copied, merged, raised and
// dropped, and their blocks are all free at the end. Many lanes take memory for what they know, not
// for what they could know, and where that is too much, lanes are looked at part by part.
#include <stdlib.h>
#include <string.h>

#include "plan/schedule.h"
#include "planner/plan_testing.h"
#include "support/failing_memory.h"
#include "support/wide_plan.h"
#include "verify/verify.h"
#include "verify/verify_clocks.h"

#define NUM_CLOCKS 12

struct pair {
    struct verify_clocks clocks;
    verify_clock clock[NUM_CLOCKS];
    uint32_t *plain[NUM_CLOCKS]; // num_lanes each
    uint32_t num_lanes;
};

static void raise_both(struct pair *pair, uint32_t at, uint32_t lane, uint32_t turn)
{
    pair->clock[at] = verify_raise(&pair->clocks, pair->clock[at], lane, turn);
    if (pair->plain[at][lane] < turn)
        pair->plain[at][lane] = turn;
}

static void merge_both(struct pair *pair, uint32_t at, uint32_t from)
{
    pair->clock[at] = verify_merge(&pair->clocks, pair->clock[at], pair->clock[from]);
    for (uint32_t i = 0; i < pair->num_lanes; i++) {
        if (pair->plain[at][i] < pair->plain[from][i])
            pair->plain[at][i] = pair->plain[from][i];
    }
}

static void copy_both(struct pair *pair, uint32_t at, uint32_t from)
{
    pair->clock[at] = verify_copy(&pair->clocks, pair->clock[at], pair->clock[from]);
    memmove(pair->plain[at], pair->plain[from], pair->num_lanes * sizeof(uint32_t));
}

static void drop_both(struct pair *pair, uint32_t at)
{
    braid_verify_clocks_drop(&pair->clocks, pair->clock[at]);
    pair->clock[at] = 0;
    memset(pair->plain[at], 0, pair->num_lanes * sizeof(uint32_t));
}

static void change(struct pair *pair, struct random *random)
{
    uint32_t at = random_below(random, NUM_CLOCKS), from = random_below(random, NUM_CLOCKS);
    uint32_t what = random_below(random, 20);
    if (what < 10)
        raise_both(pair, at, random_below(random, pair->num_lanes), 1 + random_below(random, 9));
    else if (what < 15)
        merge_both(pair, at, from);
    else if (what < 19)
        copy_both(pair, at, from);
    else
        drop_both(pair, at);
}

static void check_same(const struct pair *pair)
{
    for (uint32_t at = 0; at < NUM_CLOCKS; at++) {
        for (uint32_t i = 0; i < pair->num_lanes; i++)
            assert_int_equal(verify_num_ended(&pair->clocks, pair->clock[at], i),
                             pair->plain[at][i]);
    }
}

// All blocks but the empty one stand on the list of unused ones, each once.
static void check_all_unused(const struct verify_clocks *clocks)
{
    size_t num = 0;
    for (uint32_t block = clocks->unused; block; block = verify_block(clocks, block)[0])
        num++;
    assert_int_equal(num + 1, clocks->users.num);
}

static void clocks_say_what_plain_rows_say(void **state)
{
    (void)state;
    static const uint32_t nums[] = { 1, 7, 128, 129, 700, 4096, 5000 };
    struct random random = { 11 };
    for (size_t n = 0; n < sizeof(nums) / sizeof(nums[0]); n++) {
        struct pair pair = { .num_lanes = nums[n] };
        assert_true(braid_verify_clocks_init(&pair.clocks, nums[n], SIZE_MAX));
        for (uint32_t at = 0; at < NUM_CLOCKS; at++) {
            pair.plain[at] = calloc(nums[n], sizeof(uint32_t));
            assert_non_null(pair.plain[at]);
        }
        for (int i = 0; i < 2000; i++) {
            change(&pair, &random);
            if (i % 100 == 0)
                check_same(&pair);
        }
        check_same(&pair);
        for (uint32_t at = 0; at < NUM_CLOCKS; at++) {
            drop_both(&pair, at);
            free(pair.plain[at]);
        }
        check_all_unused(&pair.clocks);
        braid_verify_clocks_finish(&pair.clocks);
    }
}

// Layers of nodes that each follow two of the layer before: many lanes that know much.
static braid_graph *layers(struct random *random, uint32_t width, uint32_t num_layers)
{
    braid_graph *graph = new_graph();
    for (uint32_t i = 0; i < width * num_layers; i++) {
        uint32_t first = i / width * width - width;
        braid_node a = NO_NODE, b = NO_NODE;
        if (i >= width) {
            a = braid_graph_get_node(graph, first + random_below(random, width));
            b = braid_graph_get_node(graph, first + random_below(random, width));
        }
        new_node(graph, NULL, 10, a, b);
    }
    return graph;
}

static void faults_are_found_on_many_lanes(void **state)
{
    (void)state;
    // Words for all lanes in one walk, for a part of them, for the fewest.
    static const size_t most_words[] = { SIZE_MAX, 12000, 1 };
    struct random random = { 5 };
    braid_graph *graph = layers(&random, 150, 4);
    const braid_schedule_options all = wide_plan();
    braid_schedule *schedule = plan_with(graph, &all);
    assert_true(info_of(schedule).num_lanes > VERIFY_LANES_IN_ONE);
    for (size_t m = 0; m < sizeof(most_words) / sizeof(most_words[0]); m++) {
        check_ok(braid_verify_steps(&schedule->program, graph, NULL, 1, most_words[m]));
        size_t num_removed = 0;
        for (size_t i = 0; i < schedule->program.num_ops; i++) {
            braid_step step = schedule->program.ops[i];
            if (step.kind != BRAID_STEP_WAIT)
                continue;
            memmove(&schedule->program.ops[i], &schedule->program.ops[i + 1],
                    (schedule->program.num_ops - i - 1) * sizeof(step));
            schedule->program.num_ops--;
            check_fails(braid_verify_steps(&schedule->program, graph, NULL, 1, most_words[m]),
                        BRAID_INTERNAL, "start before");
            memmove(&schedule->program.ops[i + 1], &schedule->program.ops[i],
                    (schedule->program.num_ops - i) * sizeof(step));
            schedule->program.ops[i] = step;
            schedule->program.num_ops++;
            num_removed++;
        }
        assert_true(num_removed > 300);
    }
}

static braid_graph *fork_join(uint32_t width)
{
    braid_graph *graph = new_graph();
    braid_node root = new_node(graph, "root", 10, NO_NODE, NO_NODE);
    braid_node *nodes = malloc(width * sizeof(*nodes));
    assert_non_null(nodes);
    for (uint32_t i = 0; i < width; i++)
        nodes[i] = new_node(graph, NULL, 1000, root, NO_NODE);
    braid_empty join = { .node = { .after = nodes, .num_after = width } };
    check_ok(braid_graph_add_empty(graph, &join, NULL));
    free(nodes);
    return graph;
}

static void memory_follows_what_is_known(void **state)
{
    (void)state;
    enum { WIDTH = 5000 };
    braid_graph *graph = fork_join(WIDTH);
    const braid_schedule_options all = wide_plan();
    braid_schedule *schedule = plan_with(graph, &all);
    assert_int_equal(info_of(schedule).num_lanes, WIDTH);
    uint64_t before = failing_memory_num_bytes();
    check_ok(braid_schedule_verify(schedule, graph));
    assert_true(failing_memory_num_bytes() - before < WIDTH * (uint64_t)300);
}

static void clocks_go_with_their_last_use(void **state)
{
    (void)state;
    enum { WIDTH = 100, LAYERS = 100 };
    struct random random = { 3 };
    braid_graph *graph = layers(&random, WIDTH, LAYERS);
    braid_schedule *schedule = plan_with(
        graph,
        &(braid_schedule_options){ .costs = &free_costs, .max_lanes = WIDTH, .fixed_lanes = true });
    assert_int_equal(info_of(schedule).num_lanes, WIDTH);
    assert_true(info_of(schedule).num_records > WIDTH * LAYERS / 2);
    uint64_t before = failing_memory_num_bytes();
    check_ok(braid_schedule_verify(schedule, graph));
    assert_true(failing_memory_num_bytes() - before < WIDTH * LAYERS * (uint64_t)100);
}

static void too_many_lanes_for_list_scheduling_are_named(void **state)
{
    (void)state;
    braid_graph *graph = fork_join(12500);
    braid_schedule_options options = { .costs = &free_costs,
                                       .max_lanes = 12500,
                                       .fixed_lanes = true };
    braid_schedule *schedule = NULL;
    check_fails(braid_schedule_create(graph, &options, &schedule), BRAID_NO_MEMORY, "12500 lanes");
    assert_null(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(clocks_say_what_plain_rows_say),
        owning_test(faults_are_found_on_many_lanes),
        owning_test(memory_follows_what_is_known),
        owning_test(clocks_go_with_their_last_use),
        owning_test(too_many_lanes_for_list_scheduling_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
