// SPDX-License-Identifier: Apache-2.0
// A kernel's `user` reaches every call of its function, in every mode, whole grids and parts alike:
// one function with different data is several kernels.
#include <stdatomic.h>

#include <braid/braid.h>

#include "support/check.h"

enum { num_kernels = 3, num_blocks = 1000, num_frames = 5 };

struct counter {
    atomic_uint blocks;
};

static void count_blocks(const braid_blocks *blocks, void *const *args)
{
    struct counter *counter = blocks->user;
    unsigned factor = *(const unsigned *)args[0];
    atomic_fetch_add(&counter->blocks, factor * (unsigned)(blocks->end - blocks->begin));
}

static void run_in_mode(braid_exec_mode mode, uint32_t blocks_of_first)
{
    struct counter counters[num_kernels] = { 0 };
    braid_kernel kernels[num_kernels];
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    check_ok(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    check_ok(braid_graph_create(&graph));
    for (unsigned i = 0; i < num_kernels; i++) {
        kernels[i] = (braid_kernel){ .name = "count", .cpu = count_blocks, .user = &counters[i] };
        unsigned factor = i + 1;
        braid_kernel_node launch = { .kernel = &kernels[i],
                                     .grid.x = i ? num_blocks : blocks_of_first,
                                     BRAID_ARGS(BRAID_ARG(factor)) };
        check_ok(braid_graph_add_kernel(graph, &launch, NULL));
    }
    check_ok(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
    for (int frame = 0; frame < num_frames; frame++)
        check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    assert_int_equal(counters[0].blocks, num_frames * blocks_of_first);
    for (unsigned i = 1; i < num_kernels; i++)
        assert_int_equal(counters[i].blocks, num_frames * (i + 1) * num_blocks);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_device_close(device);
}

static void on_streams(void **state)
{
    (void)state;
    run_in_mode(BRAID_MODE_STREAMS, 1);
    run_in_mode(BRAID_MODE_STREAMS, num_blocks);
}

static void in_the_lane_walker(void **state)
{
    (void)state;
    run_in_mode(BRAID_MODE_GRAPH, 1);
    run_in_mode(BRAID_MODE_GRAPH, num_blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(in_the_lane_walker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
