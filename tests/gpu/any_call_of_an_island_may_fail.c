// SPDX-License-Identifier: Apache-2.0
// If a driver call fails while an island is made, launched and destroyed, some call returns it, or
// the log tells of it where none does. Nothing is left, and the next island is whole.
#include <braid/timings.h>

#include "backends/gpu/gpu_backend.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "gpu/sweep.h"
#include "support/check.h"
#include "support/left_out.h"

enum { NUM_NODES = 80, UNKNOWN_ERROR = 999 };

#define SOURCE "extern \"C\" __global__ void island_part(unsigned *ran) {}\n"

static const braid_kernel part = { .name = "island_part", .source = SOURCE };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_island_part, braid_standin_braid_island;

static unsigned num_frames;

void braid_standin_island_part(const unsigned grid[3], const unsigned block[3],
                               unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
}

void braid_standin_braid_island(const unsigned grid[3], const unsigned block[3],
                                unsigned shared_bytes, void **args)
{
    (void)grid, (void)block, (void)shared_bytes, (void)args;
    num_frames++;
}

static braid_node last_node;
static braid_parameter last_argument;
static braid_graph *graph;

// So many nodes side by side take several blocks, which the device has to run at once.
static braid_graph *make_graph(void)
{
    braid_graph *made;
    void *none = NULL;
    check_ok(braid_graph_create(&made));
    for (int i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node launch = {
            .node = { .cost_ns = 1000000 },
            .kernel = &part,
            BRAID_ARGS(BRAID_ARG(none)),
        };
        check_ok(braid_graph_add_kernel(made, &launch, &last_node));
    }
    check_ok(braid_graph_add_parameter(made, "none", sizeof(none), &last_argument));
    check_ok(braid_graph_use_parameter(made, last_argument,
                                       &(braid_parameter_use){ .node = last_node }));
    return made;
}

static braid_status run_timed(braid_exec *exec)
{
    braid_timings timings;
    braid_status status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    return status ? status : unless_left_out(braid_exec_get_timings(exec, &timings));
}

// As a graph, as a kernel with new arguments, as a graph that has these, and many frames at once,
// each with arguments of its own.
static braid_status run_untimed(braid_exec *exec)
{
    void *other = &exec;
    braid_status status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_set_arg(exec, last_node, 0, BRAID_ARG(other));
    for (int i = 0; i < 2 && !status; i++)
        status = braid_exec_launch(exec, NULL);
    void *const rows[3] = { NULL, other };
    const braid_parameter_rows values = { last_argument, rows, 3 };
    if (!status)
        status = braid_exec_launch_many(exec, NULL, 3, &values, 1);
    return status ? status : braid_exec_wait(exec);
}

// Islands that are nodes of a driver graph, which is told of what changes inside.
static braid_status run_graph(braid_exec *exec)
{
    void *other = &exec;
    braid_exec_info info;
    braid_exec_get_info(exec, &info);
    assert_int_equal(info.num_islands, 2);
    braid_status status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_set_arg(exec, last_node, 0, BRAID_ARG(other));
    if (!status)
        status = braid_exec_launch(exec, NULL);
    return status ? status : braid_exec_wait(exec);
}

static void live(struct life *life)
{
    braid_exec_options options = {
        .islands = BRAID_ISLANDS_WHOLE,
        .max_lanes = NUM_NODES,
        .fixed_lanes = true,
        .frames_kept = 2,
    };
    braid_device *device = NULL;
    braid_exec *exec = NULL, *untimed = NULL, *nodes = NULL;
    life_begin(life);
    braid_status status = braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device);
    if (!status)
        status = braid_exec_create(device, graph, &options, &exec);
    if (!status)
        status = run_timed(exec);
    options.frames_kept = 0;
    if (!status)
        status = braid_exec_create(device, graph, &options, &untimed);
    if (!status)
        status = run_untimed(untimed);
    const braid_exec_options lanes = { .mode = BRAID_MODE_GRAPH,
                                       .islands = BRAID_ISLANDS_ALWAYS,
                                       .max_lanes = 2,
                                       .fixed_lanes = true };
    if (!status)
        status = braid_exec_create(device, graph, &lanes, &nodes);
    if (!status)
        status = run_graph(nodes);
    life_note(life, status);
    life_before_destroying(life);
    braid_exec_destroy(nodes);
    braid_exec_destroy(untimed);
    braid_exec_destroy(exec);
    (void)!braid_device_close(device);
    life_end();
}

static void every_path_twice(void **state)
{
    (void)state;
    static const struct sweep_words words[] = {
        CUDA_WORDS,
        { "", "an island has no graph", .goes_on = true, .reason = "its frames are kernels" },
        { 0 },
    };
    const struct sweep sweep = {
        .interposer = &cuda_calls,
        .live = live,
        .words = words,
        .code = UNKNOWN_ERROR,
        .frames = 4,
        .step = sweep_step(),
        .least = 60,
    };
    struct life life = { 0 };
    reset_standin();
    graph = make_graph();
    sweep_run(&sweep, "islands");
    num_frames = 0;
    live(&life);
    assert_int_equal(life.num_failed, 0);
    assert_int_equal(num_frames, 4 + 1 + 2 * 2); // kernels of islands
    braid_graph_destroy(graph);
}

// Drivers before CUDA 11.8 launch kernels by another call.
static void the_launch_of_old_drivers(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .max_lanes = 1 };
    void *other = &other;
    braid_device *device;
    braid_exec *exec;
    num_frames = 0;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device));
    struct gpu_backend *gpu = gpu_from(device->backend);
    struct gpu_api old = *gpu->api;
    old.launch_config = NULL;
    gpu->api = &old;
    graph = make_graph();
    check_ok(braid_exec_create(device, graph, &options, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    // An island with new arguments is launched as a kernel.
    check_ok(braid_exec_set_arg(exec, last_node, 0, BRAID_ARG(other)));
    fail_calls("cuLaunchKernel:1=999");
    check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "cuLaunchKernel");
    fail_calls(NULL);
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(num_frames, 2);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    check_ok(braid_device_close(device));
    check_nothing_is_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_launch_of_old_drivers), // before calls that fail leave objects
        cmocka_unit_test(every_path_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
