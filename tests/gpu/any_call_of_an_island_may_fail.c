// SPDX-License-Identifier: Apache-2.0
// If a driver call fails while an island is made, launched and destroyed, some call returns it, or
// the log tells of it where none does. Nothing is left, and the next island is whole. Of each path
// to a driver call, the first and the last fail.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <braid/timings.h>

#include "backends/gpu/gpu_backend.h"
#include "backends/gpu/gpu_loader.h"
#include "device/device.h"
#include "gpu/gpu_testing.h"
#include "gpu/sweep.h"
#include "support/call_paths.h"
#include "support/check.h"

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

static char logged[8192];

static void take_log(void *user, braid_status status, const char *message)
{
    (void)user, (void)status;
    strncat(logged, message, sizeof(logged) - strlen(logged) - 1);
}

static braid_node last_node;
static braid_parameter last_argument;

// So many nodes side by side take several blocks, which the device has to run at once.
static braid_graph *make_graph(void)
{
    braid_graph *graph;
    void *none = NULL;
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node launch = {
            .node = { .cost_ns = 1000000 },
            .kernel = &part,
            BRAID_ARGS(BRAID_ARG(none)),
        };
        check_ok(braid_graph_add_kernel(graph, &launch, &last_node));
    }
    check_ok(braid_graph_add_parameter(graph, "none", sizeof(none), &last_argument));
    check_ok(braid_graph_use_parameter(graph, last_argument,
                                       &(braid_parameter_use){ .node = last_node }));
    return graph;
}

static const char *current_function;
static long calls_before_destroying;

static braid_status run_timed(braid_exec *exec)
{
    braid_timings timings;
    braid_status status = braid_exec_launch(exec, NULL);
    if (!status)
        status = braid_exec_wait(exec);
    return status ? status : braid_exec_get_timings(exec, &timings);
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
    const braid_param_rows values = { last_argument, rows, 3 };
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

// The message of what failed first, or an empty one.
static void live(const braid_graph *graph, char *out_message, size_t size)
{
    braid_exec_options options = {
        .islands = BRAID_ISLANDS_WHOLE,
        .plan = { .max_lanes = NUM_NODES, .fixed_lanes = true },
        .profile = 2,
    };
    braid_device *device = NULL;
    braid_exec *exec = NULL, *untimed = NULL, *nodes = NULL;
    braid_status status = braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device);
    if (!status)
        status = braid_exec_create(device, graph, &options, &exec);
    if (!status)
        status = run_timed(exec);
    options.profile = 0;
    if (!status)
        status = braid_exec_create(device, graph, &options, &untimed);
    if (!status)
        status = run_untimed(untimed);
    const braid_exec_options lanes = { .mode = BRAID_MODE_GRAPH,
                                       .islands = BRAID_ISLANDS_ALWAYS,
                                       .plan = { .max_lanes = 2, .fixed_lanes = true } };
    if (!status)
        status = braid_exec_create(device, graph, &lanes, &nodes);
    if (!status)
        status = run_graph(nodes);
    snprintf(out_message, size, "%s", status ? braid_error_message() : "");
    calls_before_destroying = current_function ? standin_calls(current_function) : 0;
    braid_exec_destroy(nodes);
    braid_exec_destroy(untimed);
    braid_exec_destroy(exec);
    (void)!braid_device_close(device);
}

static bool may_leave_its_object(const char *function)
{
    return strstr(function, "Destroy") || strstr(function, "Free") || strstr(function, "Unload") ||
           strstr(function, "Release");
}

static long count_objects(void)
{
    static const char *const kinds[] = { "context", "stream", "event", "module", "memory" };
    long num = 0;
    for (int i = 0; i < 5; i++)
        num += standin_live(kinds[i]);
    return num;
}

// False when there is no such call.
static bool fail_nth(const braid_graph *graph, const char *function, long nth)
{
    char rule[96], message[1024];
    long before = standin_calls(function), objects = count_objects();
    current_function = function;
    logged[0] = '\0';
    snprintf(rule, sizeof(rule), "%s:%ld=%d", function, nth, UNKNOWN_ERROR);
    assert_true(standin_configure("BRAID_STANDIN_FAIL", rule));
    live(graph, message, sizeof(message));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
    if (standin_calls(function) - before < nth) {
        assert_string_equal(message, "");
        return false;
    }
    // Made a second time: what makes the device current, and waits while destroying.
    bool destroying = nth > calls_before_destroying - before;
    bool silent = strncmp(function, "cuCtx", 5) == 0 || strstr(function, "ExchangeStream") ||
                  (destroying && strstr(function, "Synchronize") != NULL);
    if (!silent && !strstr(message, function) && !(message[0] == '\0' && strstr(logged, function)))
        fail_msg("%s: returned '%s', logged '%s'", rule, message, logged);
    long left = count_objects() - objects;
    if (left != 0 && !(may_leave_its_object(function) && left == 1))
        fail_msg("%s: %ld objects left over", rule, left);
    return true;
}

enum { FRAMES = 4, MOST = 1024 };

static void note_paths(const braid_graph *graph)
{
    char message[1024];
    call_paths_begin(FRAMES);
    standin_watch(call_paths_note_of_library);
    live(graph, message, sizeof(message));
    standin_watch(NULL);
    call_paths_end();
    assert_string_equal(message, "");
}

static void every_path_twice(void **state)
{
    (void)state;
    int num = 0;
    char message[1024];
    long numbers[MOST];
    reset_standin();
    braid_log_set(take_log, NULL);
    braid_graph *graph = make_graph();
    note_paths(graph);
    for (size_t i = 0; i < braid_gpu_symbols.num_rows; i++) {
        char function[64];
        const char *name = braid_gpu_symbols.rows[i].names[GPU_CUDA][0];
        if (!name)
            continue;
        snprintf(function, sizeof(function), "%.*s", (int)strcspn(name, "_"), name);
        if (!sweep_tries(function))
            continue;
        size_t num_chosen = call_paths_choose(function, sweep_step(), 0, numbers, MOST);
        for (size_t k = 0; k < num_chosen; k++)
            num += fail_nth(graph, function, numbers[k]);
    }
    current_function = NULL;
    num_frames = 0;
    live(graph, message, sizeof(message));
    assert_string_equal(message, "");
    assert_int_equal(num_frames, 4 + 1 + 2 * 2); // kernels of islands
    braid_graph_destroy(graph);
    braid_log_set(NULL, NULL);
    print_message("summary: %d failures told\n", num);
    assert_true(num > 60 / sweep_step() || !sweep_is_whole());
}

// Drivers before CUDA 11.8 launch kernels by another call.
static void the_launch_of_old_drivers(void **state)
{
    (void)state;
    const braid_exec_options options = { .islands = BRAID_ISLANDS_WHOLE, .plan.max_lanes = 1 };
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
    braid_graph *graph = make_graph();
    check_ok(braid_exec_create(device, graph, &options, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    // An island with new arguments is launched as a kernel.
    check_ok(braid_exec_set_arg(exec, last_node, 0, BRAID_ARG(other)));
    assert_true(standin_configure("BRAID_STANDIN_FAIL", "cuLaunchKernel:1=999"));
    check_fails(braid_exec_launch(exec, NULL), BRAID_DEVICE_ERROR, "cuLaunchKernel");
    assert_true(standin_configure("BRAID_STANDIN_FAIL", NULL));
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
