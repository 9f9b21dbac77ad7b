// SPDX-License-Identifier: Apache-2.0
// Where a frame of several cannot be queued, those before it run, none comes after it, the message
// says which it was, and the exec goes on.
#include <string.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

enum { FRAMES = 5 };

static const char image[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                            ".visible .entry push(.param .u64 a, .param .u32 b)\n"
                            "{ ret; }\n";
static const braid_kernel push = { .name = "push", .cuda = { .data = image } };

typedef void kernel_function(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                             void **args);
BRAID_API kernel_function braid_standin_push;

// list[0] counts what stands behind it.
void braid_standin_push(const unsigned grid[3], const unsigned block[3], unsigned shared_bytes,
                        void **args)
{
    (void)grid, (void)block, (void)shared_bytes;
    unsigned *list = *(unsigned **)args[0];
    list[++list[0]] = *(unsigned *)args[1];
}

static char told[1000];
static unsigned num_told;

static void remember(braid_status status, const char *message, void *user)
{
    (void)user, (void)status;
    snprintf(told, sizeof(told), "%s", message);
    num_told++;
}

struct pushes {
    braid_device *device;
    braid_parameter value;
    braid_exec *exec;
    void *list;
};

static void open_pushes(struct pushes *pushes, braid_exec_mode mode)
{
    braid_graph *graph;
    braid_node node;
    unsigned own = 9;
    reset_standin();
    check_ok(braid_device_open(&(braid_device_options){ .backend = "cuda" }, &pushes->device));
    check_ok(braid_memory_allocate(pushes->device, BRAID_MEMORY_DEVICE, 64 * sizeof(unsigned),
                                   &pushes->list));
    memset(pushes->list, 0, 64 * sizeof(unsigned));
    check_ok(braid_graph_create(&graph));
    check_ok(braid_graph_add_parameter(graph, "value", sizeof(unsigned), &pushes->value));
    const braid_kernel_node launch = { .kernel = &push,
                                       BRAID_ARGS(BRAID_ARG(pushes->list), BRAID_ARG(own)) };
    check_ok(braid_graph_add_kernel(graph, &launch, &node));
    check_ok(braid_graph_use_parameter(graph, pushes->value,
                                       &(braid_parameter_use){ .node = node, .argument = 1 }));
    check_ok(braid_exec_create(pushes->device, graph, &(braid_exec_options){ .mode = mode },
                               &pushes->exec));
    braid_graph_destroy(graph);
}

static void finish_pushes(struct pushes *pushes)
{
    braid_exec_destroy(pushes->exec);
    braid_memory_free(pushes->device, pushes->list);
    braid_device_close(pushes->device);
    check_nothing_is_left();
}

static void check_mode(braid_exec_mode mode, const char *failure)
{
    struct pushes pushes;
    open_pushes(&pushes, mode);
    braid_exec *exec = pushes.exec;
    const unsigned rows[FRAMES] = { 10, 11, 12, 13, 14 };
    const braid_parameter_rows values = { pushes.value, rows, FRAMES };
    num_told = 0;
    braid_log_set(remember, NULL);
    fail_calls(failure);
    check_fails(braid_exec_launch_many(exec, NULL, FRAMES, &values, 1), BRAID_NO_MEMORY,
                "frame 2 of 5: ");
    braid_log_set(NULL, NULL);
    assert_int_equal(num_told, 1);
    assert_string_equal(told, braid_error_get_message());
    reset_standin();
    check_ok(braid_exec_launch(exec, NULL)); // with the row of the frame that failed
    check_ok(braid_exec_launch_many(exec, NULL, 2, NULL, 0));
    check_ok(braid_exec_wait(exec));
    const unsigned expected[] = { 5, 10, 11, 12, 12, 12 };
    assert_memory_equal(pushes.list, expected, sizeof(expected));
    finish_pushes(&pushes);
}

static void on_streams(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_STREAMS, "cuLaunchKernel:3=2");
}

static void as_a_driver_graph(void **state)
{
    (void)state;
    check_mode(BRAID_MODE_GRAPH, "cuGraphLaunch:3=2");
}

static void before_the_first_the_parameter_keeps_its_value(void **state)
{
    (void)state;
    struct pushes pushes;
    open_pushes(&pushes, BRAID_MODE_STREAMS);
    const unsigned rows[2] = { 10, 11 }, own = 99;
    const braid_parameter_rows values = { pushes.value, rows, 2 };
    check_ok(braid_exec_set_parameter(pushes.exec, pushes.value, &own));
    fail_calls("cuStreamIsCapturing:1=999");
    check_fails(braid_exec_launch_many(pushes.exec, NULL, 2, &values, 1), BRAID_DEVICE_ERROR,
                "cuStreamIsCapturing");
    reset_standin();
    check_ok(braid_exec_launch_many(pushes.exec, NULL, 2, NULL, 0));
    check_ok(braid_exec_wait(pushes.exec));
    const unsigned *list = pushes.list;
    assert_int_equal(list[list[0] - 1], 99);
    assert_int_equal(list[list[0]], 99);
    finish_pushes(&pushes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(as_a_driver_graph),
        cmocka_unit_test(before_the_first_the_parameter_keeps_its_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
