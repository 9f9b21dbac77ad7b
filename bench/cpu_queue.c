// SPDX-License-Identifier: Apache-2.0
// What a node costs on the CPU in frames of different sizes, and the memory that queued frames
// hold. The sizes take turns; processor time, the least frame. For memory a call holds up the
// stream while frames are launched behind it. bench_cpu_queue [TURNS]
#include <malloc.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include <braid/braid.h>

#include "plan_shapes.h"

enum { NUM_SIZES = 3, NUM_WAYS = 2, NUM_LANES = 2, IN_A_ROW = 10 };

static const uint32_t sizes[NUM_SIZES] = { 1000, 10000, 100000 };
static const struct {
    const char *name;
    braid_exec_mode mode;
} ways[NUM_WAYS] = { { "graph", BRAID_MODE_GRAPH }, { "streams", BRAID_MODE_STREAMS } };

static const braid_device_options device_options = { .backend = "cpu", .num_workers = 2 };

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel nothing = { .name = "nothing", .cpu = do_nothing };

// Two chains with an edge between them at each sixteenth node.
static braid_exec *make_exec(braid_device *device, uint32_t num_nodes, braid_exec_mode mode)
{
    braid_graph *graph;
    braid_exec *exec;
    plan_check(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num_nodes; i++) {
        const braid_node after[2] = { braid_graph_get_node(graph, i - 2),
                                      braid_graph_get_node(graph, i - 1) };
        const uint64_t address = i;
        const braid_kernel_node node = {
            .node = { .cost_ns = 1, .after = after, .num_after = i < 2 ? 0 : 1 + (i % 16 == 0) },
            .kernel = &nothing,
            BRAID_ARGS(BRAID_ARG(address), BRAID_ARG(i)),
        };
        plan_check(braid_graph_add_kernel(graph, &node, NULL));
    }
    const braid_exec_options options = { .mode = mode,
                                         .max_lanes = NUM_LANES,
                                         .fixed_lanes = true };
    plan_check(braid_exec_create(device, graph, &options, &exec));
    braid_graph_destroy(graph);
    return exec;
}

static double play(braid_exec *exec)
{
    double start = plan_cpu_seconds();
    plan_check(braid_exec_launch(exec, NULL));
    plan_check(braid_exec_wait(exec));
    return plan_cpu_seconds() - start;
}

static double heap_bytes(void)
{
    struct mallinfo2 heap = mallinfo2();
    return (double)heap.uordblks + (double)heap.hblkhd;
}

static void await(void *user)
{
    sem_wait(user);
}

static braid_exec *make_gate(braid_device *device, sem_t *opened)
{
    braid_graph *graph;
    braid_exec *exec;
    const braid_host_call call = { .call = await, .user = opened, .blocking = true };
    plan_check(braid_graph_create(&graph));
    plan_check(braid_graph_add_host_call(graph, &call, NULL));
    plan_check(braid_exec_create(device, graph, NULL, &exec));
    braid_graph_destroy(graph);
    return exec;
}

// Holds frames that cannot begin yet, on a device of their own: its pools keep what they once held.
static double held_bytes(uint32_t num_nodes, braid_exec_mode mode)
{
    braid_device *device;
    braid_stream *stream;
    sem_t opened;
    sem_init(&opened, 0, 0);
    plan_check(braid_device_open(&device_options, &device));
    plan_check(braid_stream_create(device, NULL, &stream));
    braid_exec *gate = make_gate(device, &opened), *exec = make_exec(device, num_nodes, mode);
    plan_check(braid_exec_launch(gate, stream));
    double before = heap_bytes();
    for (int i = 0; i < IN_A_ROW; i++)
        plan_check(braid_exec_launch(exec, stream));
    double held = heap_bytes() - before;
    sem_post(&opened);
    plan_check(braid_exec_wait(exec));
    braid_exec_destroy(exec);
    braid_exec_destroy(gate);
    braid_stream_destroy(stream);
    plan_check(braid_device_close(device));
    sem_destroy(&opened);
    return held;
}

static void measure(braid_device *device, int way, int num_turns)
{
    braid_exec *execs[NUM_SIZES];
    double least[NUM_SIZES];
    for (int i = 0; i < NUM_SIZES; i++) {
        execs[i] = make_exec(device, sizes[i], ways[way].mode);
        least[i] = play(execs[i]);
    }
    for (int turn = 0; turn < num_turns; turn++) {
        for (int i = 0; i < NUM_SIZES; i++) {
            double seconds = play(execs[i]);
            least[i] = seconds < least[i] ? seconds : least[i];
        }
    }
    double first = least[0] / sizes[0];
    for (int i = 0; i < NUM_SIZES; i++) {
        double held = held_bytes(sizes[i], ways[way].mode);
        printf("| %s | %u | %.1f | %.2f | %.2f | %.0f |\n", ways[way].name, sizes[i],
               least[i] * 1e9 / sizes[i], least[i] / sizes[i] / first, held / (1 << 20),
               held / IN_A_ROW / sizes[i]);
        braid_exec_destroy(execs[i]);
    }
}

int main(int num_arguments, char **arguments)
{
    int num_turns = num_arguments > 1 ? atoi(arguments[1]) : 50;
    printf("| | nodes | ns a node | of 1,000 | %d frames hold, MiB | bytes a node |\n"
           "|---|---:|---:|---:|---:|---:|\n",
           IN_A_ROW);
    for (int way = 0; way < NUM_WAYS; way++) {
        braid_device *device;
        plan_check(braid_device_open(&device_options, &device));
        measure(device, way, num_turns);
        plan_check(braid_device_close(device));
    }
    return 0;
}
