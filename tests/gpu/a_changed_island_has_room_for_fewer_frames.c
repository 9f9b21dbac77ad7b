// SPDX-License-Identifier: Apache-2.0
// If the first frame of many changes an island, the island is made again, with more values in the
// row of each frame. There is room for fewer rows then, and the frames take one launch more.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { NUM_NODES = 8, FRAMES = 250, PARAMETER_OF = 2, CHANGED = 5 };

#define SOURCE "extern \"C\" __global__ void island_count(unsigned *sums, unsigned node) {}\n"
static const braid_kernel count = { .name = "island_count", .source = SOURCE };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_count;

// Adds the number of blocks.
void braid_standin_island_count(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    (void)block, (void)shared_bytes;
    (*(unsigned **)args[0])[*(unsigned *)args[1]] += grid[0] * grid[1] * grid[2];
}

struct setup {
    braid_device *device;
    braid_exec *exec;
    braid_parameter sum;
    braid_node nodes[NUM_NODES];
    unsigned *sums, expected[NUM_NODES];
};

// Each node of a chain counts its blocks; a parameter says where one of them does.
static void set_up(struct setup *setup)
{
    braid_graph *graph;
    void *memory;
    *setup = (struct setup){ 0 };
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &setup->device));
    check_ok(braid_memory_allocate(setup->device, BRAID_MEMORY_DEVICE, sizeof(setup->expected),
                                   &memory));
    setup->sums = memset(memory, 0, sizeof(setup->expected));
    check_ok(braid_graph_create(&graph));
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node launch = {
            .node = { .after = setup->nodes + i - (i > 0), .num_after = i > 0, .cost_ns = 300 },
            .kernel = &count,
            BRAID_ARGS(BRAID_ARG(setup->sums), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &setup->nodes[i]));
    }
    check_ok(braid_graph_add_parameter(graph, "sum", sizeof(uint32_t), &setup->sum));
    check_ok(braid_graph_use_parameter(
        graph, setup->sum,
        &(braid_parameter_use){ .node = setup->nodes[PARAMETER_OF], .argument = 1 }));
    check_ok(braid_exec_create(setup->device, graph,
                               &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE },
                               &setup->exec));
    braid_graph_destroy(graph);
}

// Returns how many launches the frames took.
static long run(struct setup *setup, uint32_t num_blocks)
{
    uint32_t rows[FRAMES];
    for (uint32_t i = 0; i < FRAMES; i++) {
        rows[i] = i % NUM_NODES;
        setup->expected[rows[i]]++;
        for (uint32_t node = 0; node < NUM_NODES; node++)
            setup->expected[node] += node == PARAMETER_OF ? 0 : node == CHANGED ? num_blocks : 1;
    }
    long before = standin_calls("cuLaunchKernelEx");
    check_ok(braid_exec_launch_many(setup->exec, NULL, FRAMES,
                                    &(braid_parameter_rows){ setup->sum, rows, FRAMES }, 1));
    check_ok(braid_exec_wait(setup->exec));
    assert_memory_equal(setup->sums, setup->expected, sizeof(setup->expected));
    return standin_calls("cuLaunchKernelEx") - before;
}

static void a_changed_island_has_room_for_fewer_frames(void **state)
{
    struct setup setup;
    (void)state;
    set_up(&setup);
    assert_int_equal(run(&setup, 1), 1);
    check_ok(braid_exec_set(setup.exec, setup.nodes[CHANGED], BRAID_TARGET_GRID, 0,
                            &(braid_dim3){ 3, 1, 1 }));
    assert_int_equal(run(&setup, 3), 2);
    braid_exec_destroy(setup.exec);
    braid_memory_free(setup.device, setup.sums);
    check_ok(braid_device_close(setup.device));
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_changed_island_has_room_for_fewer_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
