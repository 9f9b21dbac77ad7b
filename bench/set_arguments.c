// SPDX-License-Identifier: Apache-2.0
// What it costs to give 60 kernels another argument for every frame, by 60 calls and by one
// parameter, with one frame in flight and with three. Kernels do nothing; medians of many frames,
// each launched and awaited, which takes no part. bench_set_arguments [BACKEND [FRAMES]]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <braid/braid.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != BRAID_OK) {                                                                  \
            fprintf(stderr, "%s: %s\n", #call, braid_error_get_message());                         \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { NUM_NODES = 60, MOST_FRAMES = 100000 };

static void do_nothing(const braid_blocks *blocks, void *const *args)
{
    (void)blocks, (void)args;
}

static const braid_kernel nothing = {
    .name = "nothing",
    .cpu = do_nothing,
    .source = "extern \"C\" __global__ void nothing(unsigned value) {}\n",
};

struct setup {
    braid_graph *graph;
    braid_node nodes[NUM_NODES];
    braid_parameter parameter;
};

static struct setup make_setup(void)
{
    struct setup setup = { 0 };
    const uint32_t value = 0;
    CHECK(braid_graph_create(&setup.graph));
    CHECK(braid_graph_add_parameter(setup.graph, "value", sizeof(value), &setup.parameter));
    for (int i = 0; i < NUM_NODES; i++) {
        const braid_kernel_node node = {
            .node = { .after = setup.nodes + i - (i > 0), .num_after = i > 0 },
            .kernel = &nothing,
            BRAID_ARGS(BRAID_ARG(value)),
        };
        CHECK(braid_graph_add_kernel(setup.graph, &node, &setup.nodes[i]));
        CHECK(braid_graph_use_parameter(setup.graph, setup.parameter,
                                        &(braid_parameter_use){ .node = setup.nodes[i] }));
    }
    return setup;
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void set(const struct setup *setup, braid_exec *exec, bool by_parameter, uint32_t value)
{
    if (by_parameter)
        CHECK(braid_exec_set_parameter(exec, setup->parameter, &value));
    for (int i = 0; !by_parameter && i < NUM_NODES; i++)
        CHECK(braid_exec_set_arg(exec, setup->nodes[i], 0, BRAID_ARG(value)));
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static double median_us(uint64_t *ns, size_t num)
{
    qsort(ns, num, sizeof(*ns), compare);
    return (double)ns[num / 2] / 1000;
}

static void measure(braid_device *device, const struct setup *setup, braid_exec_mode mode,
                    uint32_t depth, bool by_parameter, uint32_t num_frames)
{
    static uint64_t set_ns[MOST_FRAMES], both_ns[MOST_FRAMES];
    const braid_exec_options options = { .mode = mode,
                                         .frames_in_flight = depth,
                                         .islands = BRAID_ISLANDS_NEVER };
    braid_exec *exec;
    CHECK(braid_exec_create(device, setup->graph, &options, &exec));
    for (uint32_t i = 0; i < num_frames; i++) {
        uint64_t begin = now_ns();
        set(setup, exec, by_parameter, i + 1);
        set_ns[i] = now_ns() - begin;
        CHECK(braid_exec_launch(exec, NULL));
        both_ns[i] = now_ns() - begin;
        CHECK(braid_exec_wait(exec));
    }
    braid_exec_destroy(exec);
    double set_us = median_us(set_ns, num_frames), both_us = median_us(both_ns, num_frames);
    printf("| %s | %s | %u | %.2f | %.2f |\n", mode == BRAID_MODE_GRAPH ? "graph" : "streams",
           by_parameter ? "a parameter" : "60 calls", depth, set_us, both_us);
}

int main(int argc, char **argv)
{
    const char *backend = argc > 1 ? argv[1] : "cpu";
    uint32_t num_frames = argc > 2 ? (uint32_t)atoi(argv[2]) : 3000;
    braid_device *device;
    num_frames = num_frames && num_frames <= MOST_FRAMES ? num_frames : 3000;
    CHECK(braid_device_open(&(braid_device_options){ .backend = backend }, &device));
    struct setup setup = make_setup();
    printf("| %s | set by | frames in flight | us to set | us to set and launch |\n"
           "|---|---|---:|---:|---:|\n",
           backend);
    for (int mode = BRAID_MODE_STREAMS; mode <= BRAID_MODE_GRAPH; mode++)
        for (int by_parameter = 0; by_parameter < 2; by_parameter++)
            for (uint32_t depth = 1; depth <= 3; depth += 2)
                measure(device, &setup, (braid_exec_mode)mode, depth, by_parameter, num_frames);
    braid_graph_destroy(setup.graph);
    CHECK(braid_device_close(device));
    return 0;
}
