// SPDX-License-Identifier: Apache-2.0
// Where a frame's time went, and a plan made from it. Nobody knows what the filters cost: they are
// measured, and the graph is planned with what they took.
#include "check.h"

enum { NUM = 1 << 14, NUM_FILTERS = 5 };

static const char *const names[NUM_FILTERS] = { "blur", "edges", "shadows", "light", "mix" };

// Goes over the row `rounds` times; on the CPU a kernel does a part of the grid at a time.
static void filter_on_cpu(const braid_blocks *blocks, void *const *args)
{
    float *row = *(float *const *)args[0];
    int rounds = *(const int *)args[1];
    for (int round = 0; round < rounds; round++)
        for (uint64_t i = blocks->begin * NUM; i < blocks->end * NUM; i++)
            row[i] = row[i] * 0.5F + 1;
}

static const braid_kernel filter = { .name = "filter", .cpu = filter_on_cpu };

// Four filters of rows of their own, one much longer than the others, and one of all rows.
static braid_graph *make_graph(float (*rows)[NUM])
{
    static const int rounds[NUM_FILTERS] = { 24, 4, 4, 4, 2 };
    braid_graph *graph;
    braid_access accesses[NUM_FILTERS] = { 0 };
    CHECK(braid_graph_create(&graph));
    for (int i = 0; i < NUM_FILTERS; i++) {
        CHECK(braid_graph_add_buffer(graph, names[i], rows[i], sizeof(rows[i]),
                                     &accesses[i].resource));
        float *row = rows[i];
        bool is_mix = i == NUM_FILTERS - 1;
        accesses[i].mode = BRAID_READ_WRITE;
        CHECK(braid_graph_add_kernel(
            graph,
            &(braid_kernel_node){ .node = { .name = names[i],
                                            .accesses = is_mix ? accesses : &accesses[i],
                                            .num_accesses = is_mix ? NUM_FILTERS : 1 },
                                  .kernel = &filter,
                                  .grid.x = 1,
                                  BRAID_ARGS(BRAID_ARG(row), BRAID_ARG(rounds[i])) },
            NULL));
    }
    return graph;
}

static void print_times(braid_exec *exec)
{
    braid_timings timings;
    CHECK(braid_exec_get_timings(exec, &timings));
    printf("%u frames: %.1f us in the median\n", timings.frames_kept,
           (double)timings.frame.median_ns / 1e3);
    for (uint32_t i = 0; i < NUM_FILTERS; i++) {
        const braid_spread *took = &timings.nodes[i].time;
        printf("  %-8s %8.1f us\n", names[i], (double)took->median_ns / 1e3);
    }
    for (uint32_t i = 0; i < timings.num_lanes; i++) {
        const braid_lane_timing *lane = &timings.lanes[i];
        printf("  lane %u: busy %.1f us, waited %.1f us%s%s\n", i, (double)lane->busy_ns / 1e3,
               (double)lane->waiting_ns / 1e3, lane->waited_for < NUM_FILTERS ? " for " : "",
               lane->waited_for < NUM_FILTERS ? names[lane->waited_for] : "");
    }
}

int main(int argc, char **argv)
{
    braid_device *device;
    braid_exec *exec;
    braid_schedule *planned;
    char limit[256];
    void *memory;
    check_arguments(argc, argv, 1, "[PICTURE]");
    CHECK(
        braid_device_open(&(braid_device_options){ .backend = "cpu", .num_workers = 2 }, &device));
    CHECK(
        braid_memory_allocate(device, BRAID_MEMORY_HOST, sizeof(float[NUM_FILTERS][NUM]), &memory));
    CHECK(braid_stream_fill(braid_device_get_default_stream(device), memory, 0, 4,
                            NUM_FILTERS * NUM));
    braid_graph *graph = make_graph(memory);

    CHECK(braid_exec_create(device, graph, &(braid_exec_options){ .frames_kept = 16 }, &exec));
    CHECK(
        braid_exec_measure(exec, graph, 20)); // runs frames; the graph gets what they took as costs
    print_times(exec);

    const braid_schedule_options options = { .device = device };
    CHECK(braid_schedule_create(graph, &options, &planned));
    CHECK(braid_schedule_explain(planned, NULL, 0, limit, sizeof(limit)));
    printf("planned with these costs, a frame is %s\n", limit);
    write_picture(planned, argc > 1 ? argv[1] : NULL);
    braid_schedule_info info;
    braid_schedule_get_info(planned, &info);

    braid_schedule_destroy(planned);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, memory);
    braid_device_close(device);
    return info.num_guessed == 0 && info.work_ns > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
