// SPDX-License-Identifier: Apache-2.0
// The grid of a call inside an island changes for later frames, and calls are disabled and enabled
// again: by the program between frames and by parameters; the next launch makes what failed.
// Copies and fills within the device are calls as well.
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "backends/gpu/gpu_loader.h"
#include "gpu/gpu_testing.h"
#include "support/check.h"
#include "support/random.h"

enum { NUM_NODES = 8, UNKNOWN_ERROR = 999 };

#define SOURCE                                                                                     \
    "extern \"C\" __global__ void island_count(unsigned *sums, unsigned node) {}\n"                \
    "extern \"C\" __global__ void island_fence(unsigned *sums, unsigned node)\n"                   \
    "{ __threadfence(); }\n"
static const braid_kernel count = { .name = "island_count", .source = SOURCE };
static const braid_kernel fence = { .name = "island_fence", .source = SOURCE };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_count, braid_standin_island_fence;

// Adds the number of blocks.
void braid_standin_island_count(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    (void)block, (void)shared_bytes;
    (*(unsigned **)args[0])[*(unsigned *)args[1]] += grid[0] * grid[1] * grid[2];
}

void braid_standin_island_fence(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    braid_standin_island_count(grid, block, shared_bytes, args);
}

#define AFTER(node) .after = &(node), .num_after = 1

struct setup {
    braid_device *device;
    braid_graph *graph;
    braid_node nodes[NUM_NODES];
    unsigned *sums, expected[NUM_NODES];
};

static struct setup set_up(const braid_kernel *kernel)
{
    struct setup setup = { 0 };
    reset_standin();
    setup.device = own_device("cuda");
    setup.sums = own_memory(setup.device, BRAID_MEMORY_DEVICE, sizeof(setup.expected));
    memset(setup.sums, 0, sizeof(setup.expected));
    setup.graph = own_graph();
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "count %u", i);
        const braid_kernel_node launch = {
            .node = { .name = name,
                      .after = setup.nodes + i - (i > 1 ? 2 : i),
                      .num_after = i > 1 ? 2 : i,
                      .cost_ns = 300 },
            .kernel = kernel,
            BRAID_ARGS(BRAID_ARG(setup.sums), BRAID_ARG(i)),
        };
        check_ok(braid_graph_add_kernel(setup.graph, &launch, &setup.nodes[i]));
    }
    return setup;
}

static braid_exec *make(const struct setup *setup, braid_islands islands, uint32_t depth)
{
    braid_exec_info info;
    const braid_exec_options options = { .islands = islands,
                                         .frames_in_flight = depth,
                                         .when_full = BRAID_FULL_WAITS };
    braid_exec *exec = own_exec(setup->device, setup->graph, &options);
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.num_island_nodes, NUM_NODES);
    return exec;
}

static braid_parameter add_use(braid_graph *graph, const char *name, braid_parameter_use use)
{
    braid_parameter parameter;
    check_ok(braid_graph_add_parameter(graph, name, 4, &parameter));
    check_ok(braid_graph_use_parameter(graph, parameter, &use));
    return parameter;
}

static void check_sums(const struct setup *setup)
{
    for (uint32_t i = 0; i < NUM_NODES; i++)
        assert_int_equal(setup->sums[i], setup->expected[i]);
}

// What the program has asked for, and whether the exec was told.
struct wish {
    braid_dim3 grid;
    bool disabled;
};

static void change(struct random *random, const struct setup *setup, braid_exec *exec,
                   struct wish *wishes)
{
    uint32_t i = random_below(random, NUM_NODES);
    if (random_below(random, 2)) {
        wishes[i].disabled = random_below(random, 2);
        check_ok(braid_exec_set(exec, setup->nodes[i], BRAID_TARGET_ENABLED, 0,
                                &(bool){ !wishes[i].disabled }));
    } else {
        wishes[i].grid = (braid_dim3){ 1 + random_below(random, 3), 1 + random_below(random, 3),
                                       1 + random_below(random, 2) };
        check_ok(braid_exec_set(exec, setup->nodes[i], BRAID_TARGET_GRID, 0, &wishes[i].grid));
    }
}

static void expect_frame(struct setup *setup, const struct wish *wishes)
{
    for (uint32_t i = 0; i < NUM_NODES; i++) {
        const braid_dim3 grid = wishes[i].grid;
        setup->expected[i] += wishes[i].disabled ? 0 : grid.x * grid.y * grid.z;
    }
}

static void change_at_random(uint64_t seed, braid_islands islands, uint32_t depth)
{
    struct random random = { seed };
    struct setup setup = set_up(&count);
    struct wish wishes[NUM_NODES];
    braid_exec *exec = make(&setup, islands, depth);
    for (uint32_t i = 0; i < NUM_NODES; i++)
        wishes[i] = (struct wish){ { 1, 1, 1 }, false };
    assert_true(standin_configure("BRAID_STANDIN_SLOW_US", "100"));
    for (int frame = 0; frame < 20; frame++) {
        for (uint32_t num = frame > 2 ? random_below(&random, 3) : 0; num > 0; num--)
            change(&random, &setup, exec, wishes);
        check_ok(braid_exec_launch(exec, NULL));
        expect_frame(&setup, wishes);
    }
    check_ok(braid_exec_wait(exec));
    check_sums(&setup);
    finish_standin();
}

static void every_frame_has_the_grids_of_its_launch(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        for (uint32_t depth = 1; depth <= 3; depth += 2) {
            change_at_random(seed, BRAID_ISLANDS_ALWAYS, depth);
            change_at_random(seed, BRAID_ISLANDS_WHOLE, depth);
        }
    }
}

// Only the first change compiles and loads; where parameters ask for changes, none does.
static void only_the_first_change_makes_it_again(void **state)
{
    (void)state;
    struct setup setup = set_up(&count);
    braid_exec *exec = make(&setup, BRAID_ISLANDS_ALWAYS, 1);
    long before = standin_calls("cuModuleLoadData");
    for (uint32_t i = 0; i < NUM_NODES; i++)
        check_ok(braid_exec_set(exec, setup.nodes[i], BRAID_TARGET_ENABLED, 0, &(bool){ i % 2 }));
    assert_int_equal(standin_calls("cuModuleLoadData"), before);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_set(exec, setup.nodes[3], BRAID_TARGET_GRID, 0, &(braid_dim3){ 5 }));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(standin_calls("cuModuleLoadData"), before + 1);
    memset(setup.sums, 0, sizeof(setup.expected));
    destroy_now(exec);
    add_use(setup.graph, "enabled",
            (braid_parameter_use){ .node = setup.nodes[4], .target = BRAID_TARGET_ENABLED });
    exec = make(&setup, BRAID_ISLANDS_WHOLE, 1);
    before = standin_calls("cuModuleLoadData");
    for (uint32_t i = 0; i < NUM_NODES; i++)
        check_ok(braid_exec_set(exec, setup.nodes[i], BRAID_TARGET_ENABLED, 0, &(bool){ i == 6 }));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(standin_calls("cuModuleLoadData"), before);
    setup.expected[6] = 1;
    check_sums(&setup);
    finish_standin();
}

// In one launch each frame has its own.
static void parameters_change_frames_of_one_launch(void **state)
{
    (void)state;
    enum { FRAMES = 30 };
    uint32_t rows[FRAMES], columns[FRAMES];
    struct setup setup = set_up(&count);
    const braid_parameter enabled =
        add_use(setup.graph, "enabled",
                (braid_parameter_use){ .node = setup.nodes[2], .target = BRAID_TARGET_ENABLED });
    const braid_parameter grid =
        add_use(setup.graph, "grid",
                (braid_parameter_use){ .node = setup.nodes[5], .target = BRAID_TARGET_GRID_X });
    braid_exec *exec = make(&setup, BRAID_ISLANDS_WHOLE, 1);
    for (uint32_t i = 0; i < FRAMES; i++) {
        rows[i] = i % 3 != 0;
        columns[i] = 1 + i % 7;
        for (uint32_t node = 0; node < NUM_NODES; node++)
            setup.expected[node] += node == 2 ? rows[i] : node == 5 ? columns[i] : 1;
    }
    const braid_parameter_rows values[] = { { enabled, rows, FRAMES }, { grid, columns, FRAMES } };
    check_ok(braid_exec_launch_many(exec, NULL, FRAMES, values, 2));
    check_ok(braid_exec_wait(exec));
    check_sums(&setup);
    finish_standin();
}

#define USES(resource, as) .accesses = &(braid_access){ resource, as }, .num_accesses = 1

static braid_node add_count(braid_graph *graph, unsigned *sums, unsigned sum,
                            braid_node_options node)
{
    braid_node added;
    const braid_kernel_node launch = { .node = node,
                                       .kernel = &count,
                                       BRAID_ARGS(BRAID_ARG(sums), BRAID_ARG(sum)) };
    check_ok(braid_graph_add_kernel(graph, &launch, &added));
    return added;
}

// An empty node, which is no call, reads what a call makes. While a parameter disables that node,
// the call rests.
static void a_call_that_rests_keeps_the_rows_of_earlier_frames(void **state)
{
    (void)state;
    const uint32_t enables[] = { 1, 0 }, sums[] = { 0, 1 };
    struct setup setup = set_up(&count);
    braid_graph *graph;
    braid_resource made, output;
    braid_node reader, last;
    graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, "made", setup.sums, 4, &made));
    check_ok(braid_graph_add_buffer(graph, "output", setup.sums + 2, 8, &output));
    check_ok(braid_graph_set_output(graph, output));
    add_count(graph, setup.sums, 0, (braid_node_options){ USES(made, BRAID_WRITE) });
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ .node = { USES(made, BRAID_READ) } },
                                   &reader));
    last = add_count(graph, setup.sums + 2, 0,
                     (braid_node_options){ AFTER(reader), USES(output, BRAID_READ_WRITE) });
    const braid_parameter_use uses[] = { { .node = reader, .target = BRAID_TARGET_ENABLED },
                                         { .node = last, .argument = 1 } };
    const braid_parameter_rows rows[] = { { add_use(graph, "enables", uses[0]), enables, 2 },
                                          { add_use(graph, "sum", uses[1]), sums, 2 } };
    braid_exec *exec =
        own_exec(setup.device, graph, &(braid_exec_options){ .islands = BRAID_ISLANDS_WHOLE });
    check_ok(braid_exec_launch_many(exec, NULL, 2, rows, 2));
    check_ok(braid_exec_wait(exec));
    setup.expected[0] = setup.expected[2] = setup.expected[3] = 1;
    check_sums(&setup);
    finish_standin();
}

static void what_an_island_cannot_run_is_refused(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        struct setup setup = set_up(&fence);
        braid_exec *exec = make(&setup, whole ? BRAID_ISLANDS_WHOLE : BRAID_ISLANDS_ALWAYS, 1);
        for (int again = 0; again < 2; again++) {
            check_fails(
                braid_exec_set(exec, setup.nodes[2], BRAID_TARGET_GRID, 0, &(braid_dim3){ .x = 2 }),
                BRAID_UNSUPPORTED,
                "'count 2' cannot be in an island: its blocks may wait for each other");
            check_fails(braid_exec_set(exec, setup.nodes[3], BRAID_TARGET_GRID, 0,
                                       &(braid_dim3){ 65536, 65535, 1 }),
                        BRAID_UNSUPPORTED,
                        "'count 3' cannot be in an island: its grid is too large");
            check_ok(braid_exec_set(exec, setup.nodes[1], BRAID_TARGET_ENABLED, 0,
                                    &(bool){ again == 1 }));
        }
        check_ok(braid_exec_launch(exec, NULL));
        check_ok(braid_exec_wait(exec));
        for (uint32_t i = 0; i < NUM_NODES; i++)
            setup.expected[i] = 1;
        check_sums(&setup);
        finish_standin();
    }
}

// A kernel, a copy, a fill and a kernel in a row, on `memory`: of so many bytes each.
static braid_exec *make_moves(const struct setup *setup, braid_islands islands,
                              unsigned char *memory, uint64_t bytes, braid_node *out_copy,
                              braid_node *out_fill, braid_graph **out_graph)
{
    braid_node last;
    unsigned first = 0, second = 1;
    *out_graph = own_graph();
    const braid_kernel_node before = { .kernel = &count,
                                       .node.cost_ns = 300,
                                       BRAID_ARGS(BRAID_ARG(setup->sums), BRAID_ARG(first)) };
    check_ok(braid_graph_add_kernel(*out_graph, &before, &last));
    const braid_copy copy = { .node = { .name = "a copy", AFTER(last), .cost_ns = 300 },
                              .to = memory + bytes,
                              .from = memory,
                              .bytes = bytes };
    check_ok(braid_graph_add_copy(*out_graph, &copy, out_copy));
    const braid_fill fill = { .node = { .name = "a fill", AFTER(*out_copy), .cost_ns = 300 },
                              .to = memory,
                              .value = 0x1234,
                              .value_bytes = 2,
                              .num_values = bytes / 2 };
    check_ok(braid_graph_add_fill(*out_graph, &fill, out_fill));
    const braid_kernel_node behind = { .kernel = &count,
                                       .node = { AFTER(*out_fill), .cost_ns = 300 },
                                       BRAID_ARGS(BRAID_ARG(setup->sums), BRAID_ARG(second)) };
    check_ok(braid_graph_add_kernel(*out_graph, &behind, NULL));
    return own_exec(setup->device, *out_graph, &(braid_exec_options){ .islands = islands });
}

static void run_frame(braid_exec *exec)
{
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
}

static void copies_and_fills_are_calls(void **state)
{
    (void)state;
    enum { BYTES = 64 };
    struct setup setup = set_up(&count);
    unsigned char *memory, *pinned, expected[2 * BYTES];
    braid_node copy, fill;
    braid_graph *graph;
    braid_exec_info info;
    memory = own_memory(setup.device, BRAID_MEMORY_DEVICE, 3 * BYTES);
    pinned = own_memory(setup.device, BRAID_MEMORY_HOST, BYTES);
    memset(memory, 9, 3 * BYTES);
    braid_exec *exec =
        make_moves(&setup, BRAID_ISLANDS_ALWAYS, memory, BYTES, &copy, &fill, &graph);
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.num_islands, 1);
    assert_int_equal(info.num_island_nodes, 4);
    run_frame(exec);
    memset(expected + BYTES, 9, BYTES);
    for (int i = 0; i < BYTES; i += 2) {
        expected[i] = 0x34;
        expected[i + 1] = 0x12;
    }
    assert_memory_equal(memory, expected, sizeof(expected));
    check_ok(braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ NULL, pinned, 0 })); // only the driver knows
    check_fails(braid_exec_launch(exec, NULL), BRAID_UNSUPPORTED,
                "'a copy' cannot be in an island: it is not within the device");
    check_ok(
        braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0, &(braid_copy_values){ NULL, memory, 0 }));
    check_ok(
        braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0, &(braid_fill_values){ pinned, 0, 1 }));
    check_fails(braid_exec_launch(exec, NULL), BRAID_UNSUPPORTED,
                "'a fill' cannot be in an island: it is not within the device");
    check_ok(
        braid_exec_set(exec, fill, BRAID_TARGET_FILL, 0, &(braid_fill_values){ memory, 0, 1 }));
    check_ok(braid_exec_set(exec, copy, BRAID_TARGET_COPY, 0,
                            &(braid_copy_values){ memory + 2 * BYTES, NULL, BYTES / 2 }));
    check_ok(braid_exec_set(exec, fill, BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    memset(memory, 5, BYTES);
    run_frame(exec);
    memset(expected, 5, BYTES / 2);
    assert_memory_equal(memory + 2 * BYTES, expected, BYTES / 2);
    assert_int_equal(memory[2 * BYTES + BYTES / 2], 9);
    assert_int_equal(memory[0], 5);
    assert_int_equal(setup.sums[0], 2);
    assert_int_equal(setup.sums[1], 2);
    finish_standin();
}

// What one block would be slow at stays the device's to do, unless the program wants an island.
static void large_copies_are_outside_if_that_is_shorter(void **state)
{
    (void)state;
    enum { BYTES = 3 * 1024 * 1024 };
    static const struct {
        braid_islands islands;
        const char *reason;
        uint32_t num_inside;
    } rows[] = {
        { BRAID_ISLANDS_AUTO,
          "not in an island: it would take longer inside than behind a launch of its own", 0 },
        { BRAID_ISLANDS_ALWAYS, "in island 0, call 2 of 4", 4 },
        { BRAID_ISLANDS_WHOLE, "not in an island: ", 4 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct setup setup = set_up(&count);
        char text[200];
        braid_node copy, fill;
        braid_graph *graph;
        braid_exec_info info;
        unsigned char *memory = own_memory(setup.device, BRAID_MEMORY_DEVICE, 2 * BYTES);
        braid_exec *exec = make_moves(&setup, rows[i].islands, memory, BYTES, &copy, &fill, &graph);
        check_ok(
            braid_schedule_explain(braid_exec_get_schedule(exec), &copy, 1, text, sizeof(text)));
        assert_memory_equal(text, rows[i].reason, strlen(rows[i].reason));
        braid_exec_get_info(exec, &info);
        assert_int_equal(info.num_island_nodes, rows[i].num_inside);
        memset(memory, 3, BYTES);
        run_frame(exec);
        assert_int_equal(memory[2 * BYTES - 1], 3);
        assert_int_equal(memory[BYTES - 2], 0x34);
        finish_standin();
    }
}

// False when there is no such call in the launch that takes a change.
static bool fail_nth(braid_islands islands, const char *function, long nth)
{
    struct setup setup = set_up(&count);
    braid_exec *exec = make(&setup, islands, 1);
    run_frame(exec);
    long before = standin_calls(function);
    fail_calls("%s:%ld=%d", function, nth, UNKNOWN_ERROR);
    check_ok(braid_exec_set(exec, setup.nodes[2], BRAID_TARGET_GRID, 0, &(braid_dim3){ 3, 2, 1 }));
    check_ok(braid_exec_set(exec, setup.nodes[5], BRAID_TARGET_ENABLED, 0, &(bool){ false }));
    assert_int_equal(standin_calls(function), before);
    braid_status status = braid_exec_launch(exec, NULL);
    bool called = standin_calls(function) - before >= nth;
    fail_calls(NULL);
    if (status)
        assert_non_null(strstr(braid_error_get_message(), function));
    if (braid_exec_get_num_launched(exec) == 1) // else its end could not be recorded
        run_frame(exec);
    check_ok(braid_exec_wait(exec));
    for (uint32_t i = 0; i < NUM_NODES; i++)
        setup.expected[i] = 1 + (i == 2 ? 6 : i != 5);
    check_sums(&setup);
    finish_standin();
    return called;
}

static void a_change_that_fails_is_made_by_the_next_launch(void **state)
{
    (void)state;
    int num = 0;
    for (size_t i = 0; i < braid_gpu_symbols.num_rows; i++) {
        char function[64];
        const char *name = braid_gpu_symbols.rows[i].names[GPU_CUDA][0];
        if (!name || strncmp(name, "cuCtx", 5) == 0 || strstr(name, "Destroy"))
            continue; // what cannot be destroyed is left
        snprintf(function, sizeof(function), "%.*s", (int)strcspn(name, "_"), name);
        for (long nth = 1; fail_nth(BRAID_ISLANDS_ALWAYS, function, nth); nth++)
            num++;
        for (long nth = 1; fail_nth(BRAID_ISLANDS_WHOLE, function, nth); nth++)
            num++;
    }
    print_message("summary: %d failures\n", num);
    assert_true(num > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        standin_test(every_frame_has_the_grids_of_its_launch),
        standin_test(only_the_first_change_makes_it_again),
        standin_test(parameters_change_frames_of_one_launch),
        standin_test(a_call_that_rests_keeps_the_rows_of_earlier_frames),
        standin_test(what_an_island_cannot_run_is_refused),
        standin_test(copies_and_fills_are_calls),
        standin_test(large_copies_are_outside_if_that_is_shorter),
        standin_test(a_change_that_fails_is_made_by_the_next_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
