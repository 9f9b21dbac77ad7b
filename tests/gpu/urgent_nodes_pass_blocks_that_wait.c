// SPDX-License-Identifier: Apache-2.0
// On a real device: blocks of an urgent node start before blocks of another node that wait for
// room, on streams and in a driver graph.
#include <string.h>

#include <braid/braid.h>

#include "gpu/gpu_testing.h"
#include "support/check.h"

// A wide node fills the device many times over. An urgent one follows a delay, in which the wide
// one begins.
static const char text[] =
    "__device__ unsigned long long now()\n"
    "{ unsigned long long t; asm volatile(\"mov.u64 %0, %globaltimer;\" : \"=l\"(t)); return t; }\n"
    "extern \"C\" __global__ void take(unsigned long long *latest, unsigned ns)\n"
    "{ unsigned long long begin = now(); if (!threadIdx.x) atomicMax(latest, begin);\n"
    "  while (now() - begin < ns); }\n";

static const braid_kernel take = { .name = "take", .source = text };

enum { WIDE, DELAY, URGENT, NUM_NODES, MOST_URGENT = -5 };

struct node_row {
    const char *name;
    uint32_t blocks, threads, ns;
    int32_t priority;
};

static const struct node_row rows[NUM_NODES] = {
    [WIDE] = { "wide", 8192, 1024, 100000, 0 },
    [DELAY] = { "delay", 1, 1, 300000, MOST_URGENT },
    [URGENT] = { "urgent", 1, 1, 0, MOST_URGENT },
};

static braid_graph *make_graph(unsigned long long *latest)
{
    braid_graph *graph;
    braid_node delay = { 0 };
    check_ok(braid_graph_create(&graph));
    for (int i = 0; i < NUM_NODES; i++) {
        braid_resource at;
        check_ok(braid_graph_add_buffer(graph, rows[i].name, latest + i, sizeof(*latest), &at));
        const braid_kernel_node node = {
            .node = { .cost_ns = 1000000, .after = &delay, .num_after = i == URGENT },
            .kernel = &take,
            .grid.x = rows[i].blocks,
            .block.x = rows[i].threads,
            .priority = rows[i].priority,
            BRAID_ARGS(BRAID_INOUT(at), BRAID_ARG(rows[i].ns))
        };
        check_ok(braid_graph_add_kernel(graph, &node, i == DELAY ? &delay : NULL));
    }
    return graph;
}

static bool open_device(braid_device **out_device)
{
    braid_device_info info;
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, out_device))
        return false;
    braid_device_get_info(*out_device, &info);
    if (strncmp(info.name, "Braid stand-in", 14) != 0)
        return true;
    check_ok(braid_device_close(*out_device));
    return false;
}

static void run(braid_exec_mode mode)
{
    unsigned long long begun[NUM_NODES] = { 0 };
    braid_device *device;
    braid_exec *exec;
    void *latest;
    if (!open_device(&device))
        skip_because("there is no device that runs real kernels");
    check_ok(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, sizeof(begun), &latest));
    check_ok(
        braid_stream_copy(braid_device_get_default_stream(device), latest, begun, sizeof(begun)));
    check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
    braid_graph *graph = make_graph(latest);
    const braid_exec_options options = {
        .mode = mode, .islands = BRAID_ISLANDS_NEVER, .max_lanes = 2, .fixed_lanes = true
    };
    check_ok(braid_exec_create(device, graph, &options, &exec));
    check_ok(braid_exec_launch(exec, NULL));
    check_ok(braid_exec_wait(exec));
    check_ok(
        braid_stream_copy(braid_device_get_default_stream(device), begun, latest, sizeof(begun)));
    check_ok(braid_stream_wait(braid_device_get_default_stream(device)));
    assert_true(begun[DELAY] < begun[URGENT]);
    assert_true(begun[URGENT] < begun[WIDE]);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, latest);
    check_ok(braid_device_close(device));
}

static void on_streams(void **state)
{
    (void)state;
    run(BRAID_MODE_STREAMS);
}

static void in_a_driver_graph(void **state)
{
    (void)state;
    run(BRAID_MODE_GRAPH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_streams),
        cmocka_unit_test(in_a_driver_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
