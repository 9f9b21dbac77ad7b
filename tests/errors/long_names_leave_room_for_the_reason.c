// SPDX-License-Identifier: Apache-2.0
// A message tells what is wrong however long the names in it are.
#include <stdlib.h>
#include <string.h>

#include <braid/braid.h>

#include "support/check.h"
#include "support/owner.h"
#include "support/wide_plan.h"

enum { LONG = 5000 };

static char *name_of(char letter)
{
    char *name = malloc(LONG + 1);
    memset(name, letter, LONG);
    name[LONG] = '\0';
    return name;
}

static void on_cpu(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static void a_node_names_what_is_wrong(void **state)
{
    (void)state;
    char *name = name_of('n'), *kernel_name = name_of('k');
    braid_graph *graph = own_graph();
    const braid_kernel kernel = { .name = kernel_name, .cpu = on_cpu };
    const braid_kernel no_code = { .name = kernel_name };
    const braid_kernel_node large = { .kernel = &kernel,
                                      .grid = { UINT32_MAX, UINT32_MAX, 1 },
                                      .node.name = name };
    const braid_kernel_node empty = { .kernel = &no_code, .node.name = name };
    check_fails(braid_graph_add_kernel(graph, &large, NULL), BRAID_INVALID_ARGUMENT, "overflows");
    check_fails(braid_graph_add_kernel(graph, &empty, NULL), BRAID_INVALID_ARGUMENT,
                "has no code for any device");
    check_fails(braid_graph_add_kernel(graph, &empty, NULL), BRAID_INVALID_ARGUMENT, "kkkk");
    braid_resource buffer;
    check_fails(braid_graph_add_buffer(graph, name, NULL, 0, &buffer), BRAID_INVALID_ARGUMENT,
                "its size is 0 bytes");
    free(name);
    free(kernel_name);
}

static void two_buffers_are_told_to_overlap(void **state)
{
    (void)state;
    char *first = name_of('a'), *second = name_of('b');
    braid_resource buffer;
    braid_schedule *schedule;
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_buffer(graph, first, graph, 8, &buffer));
    check_ok(braid_graph_add_buffer(graph, second, graph, 8, &buffer));
    check_ok(braid_graph_add_empty(graph, &(braid_empty){ BRAID_ACCESSES({ buffer, BRAID_READ }) },
                                   NULL));
    check_fails(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        BRAID_INVALID_ARGUMENT, "two buffers never conflict");
    free(first);
    free(second);
}

// A ring whose last edge comes from a lane hint: the message must still say so.
static void a_cycle_tells_its_reasons(void **state)
{
    (void)state;
    enum { NUM_NODES = 12 };
    braid_node nodes[NUM_NODES];
    braid_schedule *schedule;
    char *name = name_of('n');
    braid_graph *graph = own_graph();
    for (int i = 0; i < NUM_NODES; i++) {
        bool is_end = i == 0 || i == NUM_NODES - 1;
        const braid_empty empty = { .node = { .name = name, .lane_hint = is_end ? 9 : 0 } };
        check_ok(braid_graph_add_empty(graph, &empty, &nodes[i]));
    }
    for (int i = 1; i < NUM_NODES; i++)
        check_ok(braid_graph_add_edge(graph, nodes[i], nodes[i - 1]));
    check_fails(
        braid_schedule_create(graph, &(braid_schedule_options){ .costs = &free_costs }, &schedule),
        BRAID_CYCLE, "by lane hint 9");
    free(name);
}

static void a_kernel_without_code_is_told(void **state)
{
    (void)state;
    char *name = name_of('n');
    const braid_kernel kernel = { .name = name, .source = "extern" };
    const braid_device_options options = { .backend = "cpu", .num_workers = 1 };
    braid_device *device;
    braid_exec *exec;
    check_ok(braid_device_open(&options, &device));
    braid_graph *graph = own_graph();
    check_ok(braid_graph_add_kernel(graph, &(braid_kernel_node){ .kernel = &kernel }, NULL));
    check_fails(braid_exec_create(device, graph, NULL, &exec), BRAID_UNSUPPORTED,
                "has no CPU function");
    braid_device_close(device);
    free(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        owning_test(a_node_names_what_is_wrong),
        owning_test(two_buffers_are_told_to_overlap),
        owning_test(a_cycle_tells_its_reasons),
        owning_test(a_kernel_without_code_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
