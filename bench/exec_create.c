// SPDX-License-Identifier: Apache-2.0
// What it takes to make an exec, in processor time: of loops with a buffer each, and of random
// graphs of fills in each mode; and how much of it a saved plan spares. The best of several.
// bench_exec_create [BACKEND]
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <braid/braid.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, braid_error_get_message());                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { MOST = 30000, WINDOW = 20, NUM_TURNS = 5 };

static uint32_t *memory;
static braid_node nodes[MOST];

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static uint32_t draw(uint32_t limit)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % limit;
}

static void add_fill(braid_graph *graph, uint32_t i, const braid_node_options *options)
{
    const braid_fill fill = {
        .node = *options, .to = memory + i, .value_bytes = sizeof(*memory), .num_values = 1
    };
    CHECK(braid_graph_add_fill(graph, &fill, &nodes[i]));
}

static double least(double best, double begin)
{
    double ms = now_ms() - begin;
    return ms < best ? ms : best;
}

static void measure(braid_device *device, braid_graph *graph, braid_exec_mode mode,
                    const char *what, uint32_t num)
{
    double best = 1e9;
    for (int i = 0; i < NUM_TURNS; i++) {
        braid_exec *exec;
        double begin = now_ms();
        CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
        best = least(best, begin);
        braid_exec_destroy(exec);
    }
    printf("| %s | %u | %.2f |\n", what, num, best);
    braid_graph_destroy(graph);
}

static braid_graph *new_loops(uint32_t num)
{
    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num; i++) {
        braid_access writes = { .mode = BRAID_WRITE };
        CHECK(
            braid_graph_add_buffer(graph, "buffer", memory + i, sizeof(*memory), &writes.resource));
        CHECK(braid_graph_begin_loop(graph, &(braid_loop){ .times = 10 }, NULL));
        add_fill(graph, i, &(braid_node_options){ .accesses = &writes, .num_accesses = 1 });
        CHECK(braid_graph_end(graph));
    }
    return graph;
}

// Each node is after two of the last so many, and takes 2 to 10 us, or nobody knows.
static braid_graph *new_nodes(uint32_t num, bool has_costs)
{
    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    for (uint32_t i = 0; i < num; i++) {
        uint32_t back = i < WINDOW ? i : WINDOW;
        braid_node after[2];
        for (int k = 0; k < 2 && i; k++)
            after[k] = nodes[i - 1 - draw(back)];
        add_fill(graph, i,
                 &(braid_node_options){

                     .cost_ns = has_costs ? 2000 + draw(8000) : 0,
                     .after = after,
                     .num_after = i ? 2 : 0 });
    }
    return graph;
}

// A plan made and an exec of it; then the same plan loaded, and an exec of it.
static void measure_saved(braid_device *device, braid_graph *graph, braid_exec_mode mode,
                          const char *what, uint32_t num)
{
    char path[] = "/tmp/braid-bench-XXXXXX";
    double planning = 1e9, saving = 1e9, loading = 1e9, making = 1e9;
    close(mkstemp(path));
    for (int i = 0; i < NUM_TURNS; i++) {
        braid_exec *exec;
        braid_schedule *schedule;
        double begin = now_ms();
        CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .mode = mode }, &exec));
        planning = least(planning, begin);
        begin = now_ms();
        CHECK(braid_schedule_save(braid_exec_get_schedule(exec), graph, path));
        saving = least(saving, begin);
        braid_exec_destroy(exec);
        begin = now_ms();
        CHECK(braid_schedule_load(graph, path, &schedule));
        loading = least(loading, begin);
        begin = now_ms();
        CHECK(braid_exec_create(
            device, graph, &(braid_exec_options){ .mode = mode, .schedule = schedule }, &exec));
        making = least(making, begin);
        braid_schedule_destroy(schedule);
        braid_exec_destroy(exec);
    }
    unlink(path);
    printf("| %s | %u | %.2f | %.2f | %.2f | %.2f |\n", what, num, planning, loading, making,
           saving);
    braid_graph_destroy(graph);
}

static void measure_all(braid_device *device, bool has_loops)
{
    puts("| exec | nodes | ms |\n|---|---:|---:|");
    for (uint32_t num = 1000; num <= 4000 && has_loops; num *= 4)
        measure(device, new_loops(num), BRAID_MODE_GRAPH, "loops, graph", num);
    for (uint32_t num = 100; num <= 10000; num *= 10)
        measure(device, new_nodes(num, true), BRAID_MODE_GRAPH, "graph", num);
    measure(device, new_nodes(MOST, true), BRAID_MODE_STREAMS, "streams", MOST);
    measure(device, new_nodes(MOST, false), BRAID_MODE_STREAMS, "streams, costs unknown", MOST);
    puts("\n| exec | nodes | planned, ms | loading, ms | an exec of it, ms | saving, ms |");
    puts("|---|---:|---:|---:|---:|---:|");
    for (uint32_t num = 100; num <= 1000; num *= 10)
        measure_saved(device, new_nodes(num, true), BRAID_MODE_GRAPH, "graph", num);
    measure_saved(device, new_nodes(MOST, true), BRAID_MODE_STREAMS, "streams", MOST);
}

int main(int argc, char **argv)
{
    braid_device *device;
    void *allocated;
    const char *backend = argc > 1 ? argv[1] : "cpu";
    CHECK(braid_device_open(&(braid_device_options){ .backend = backend, .num_workers = 4 },
                            &device));
    CHECK(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, MOST * sizeof(*memory), &allocated));
    memory = allocated;
    measure_all(device, strcmp(backend, "cpu") == 0);
    braid_memory_free(device, allocated);
    braid_device_close(device);
    return 0;
}
