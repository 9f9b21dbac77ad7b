// SPDX-License-Identifier: Apache-2.0
// A plan that is saved and loaded again, for an equal graph, is the same plan to the last figure.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "saved/saved_testing.h"
#include "support/fork_calmly.h"

enum { NUM_GRAPHS = 400 };

static void check_placements(const braid_graph *graph, const braid_schedule *a,
                             const braid_graph *other, const braid_schedule *b)
{
    for (uint32_t i = 0; i < braid_graph_get_num_nodes(graph); i++) {
        const braid_placement x = placement_of(a, braid_graph_get_node(graph, i));
        const braid_placement y = placement_of(b, braid_graph_get_node(other, i));
        assert_int_equal(x.lane, y.lane);
        assert_int_equal(x.start_ns, y.start_ns);
        assert_int_equal(x.end_ns, y.end_ns);
        assert_int_equal(x.island, y.island);
    }
}

static void random_graphs(void **state)
{
    (void)state;
    uint32_t num_with_lanes = 0, num_with_loops = 0, num_left_out = 0, num_islands = 0;
    for (uint64_t seed = 1; seed <= NUM_GRAPHS; seed++) {
        braid_graph *graph = saved_graph(seed), *equal = saved_graph(seed);
        const braid_cost_model costs = saved_costs(seed);
        braid_schedule *saved = save_plan(graph, &costs, (uint32_t)seed % 5);
        braid_schedule *loaded = load_plan(equal);
        check_same_plan(saved, loaded);
        check_placements(graph, saved, equal, loaded);
        check_ok(braid_schedule_verify(loaded, equal));
        const braid_schedule_info info = info_of(loaded);
        num_with_lanes += info.num_lanes > 1;
        num_left_out += info.num_left_out > 0;
        num_islands += info.num_islands > 0;
        for (size_t i = 0; i < info.num_steps; i++)
            num_with_loops += info.steps[i].kind == BRAID_STEP_LOOP;
        braid_schedule_destroy(loaded);
        destroy_owned();
    }
    print_message("summary: %u plans have lanes, %u loops, %u nodes left out, %u islands\n",
                  num_with_lanes, num_with_loops, num_left_out, num_islands);
    assert_true(num_with_lanes > NUM_GRAPHS / 4 && num_with_loops > NUM_GRAPHS / 4);
    assert_true(num_left_out > NUM_GRAPHS / 20 && num_islands > 0);
}

// A loaded plan is saved as any other, into the same bytes.
static void loaded_plans_are_saved_again(void **state)
{
    (void)state;
    static uint8_t first[1 << 16], second[1 << 16];
    for (uint64_t seed = 1; seed <= 40; seed++) {
        braid_graph *graph = saved_graph(seed);
        const braid_cost_model costs = saved_costs(seed);
        save_plan(graph, &costs, 3);
        FILE *file = fopen(saved_path, "rb");
        size_t num = fread(first, 1, sizeof(first), file);
        fclose(file);
        braid_schedule *loaded = load_plan(graph);
        check_ok(braid_schedule_save(loaded, graph, saved_path));
        file = fopen(saved_path, "rb");
        assert_int_equal(fread(second, 1, sizeof(second), file), num);
        fclose(file);
        assert_memory_equal(first, second, num);
        braid_schedule_destroy(loaded);
        destroy_owned();
    }
}

static void another_process_loads_it(void **state)
{
    (void)state;
    const braid_cost_model costs = saved_costs(7);
    braid_schedule *saved = save_plan(saved_graph(7), &costs, 3);
    fflush(NULL);
    pid_t child = fork_calmly();
    if (child == 0) {
        braid_schedule *loaded = NULL;
        braid_status status = braid_schedule_load(saved_graph(7), saved_path, &loaded);
        _exit(status == BRAID_OK && info_of(loaded).num_waits == info_of(saved).num_waits ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result) && WEXITSTATUS(result) == 0);
}

static void an_empty_graph(void **state)
{
    (void)state;
    const braid_cost_model costs = { 0 };
    braid_graph *graph = own_graph();
    braid_schedule *saved = save_plan(graph, &costs, 0), *loaded = load_plan(graph);
    check_same_plan(saved, loaded);
    braid_schedule_destroy(loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(random_graphs),
        owning_test(loaded_plans_are_saved_again),
        owning_test(another_process_loads_it),
        owning_test(an_empty_graph),
    };
    return cmocka_run_group_tests(tests, saved_begin, saved_end);
}
