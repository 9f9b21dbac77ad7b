// SPDX-License-Identifier: Apache-2.0
// What the first exec of a process costs: opening the device, then ten kernels from ten sources,
// and with "island" the same as one island. With "runner" a runner makes that island behind its
// frames. Run it with and without what BRAID_CACHE and the driver's CUDA_CACHE_PATH name.
#include <stdio.h>
#include <string.h>

#include "gpu/bench.h"

enum { NUM_KERNELS = 10, SOURCE_BYTES = 2000 };

// The source has some length, so that compiling takes what a real kernel's does.
static void write_source(char *source, uint32_t index)
{
    int at = snprintf(source, SOURCE_BYTES,
                      "extern \"C\" __global__ void first_%u(float *to, unsigned num)\n{\n"
                      "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                      "    float x = i < num ? to[i] : 0;\n",
                      index);
    for (uint32_t line = 0; line < 12; line++)
        at += snprintf(source + at, SOURCE_BYTES - (size_t)at,
                       "    x = sinf(x) * %u.0f + sqrtf(fabsf(x + %u.0f));\n", index + 1, line);
    snprintf(source + at, SOURCE_BYTES - (size_t)at, "    if (i < num)\n        to[i] = x;\n}\n");
}

static void run_frame(braid_runner *runner, braid_runner_info *out_info)
{
    must(braid_runner_launch(runner, NULL));
    must(braid_runner_wait(runner));
    braid_runner_get_info(runner, out_info);
}

// The slowest frame while the way is made: none should wait for the compiler.
static void run_runner(braid_device *device, braid_graph *graph)
{
    braid_runner *runner;
    braid_runner_info info;
    const double added = now_us();
    must(braid_runner_create(device, graph, NULL, &runner));
    const double created = now_us();
    run_frame(runner, &info);
    const double first = now_us();
    double slowest = 0;
    uint32_t num = 1;
    for (; info.is_making; num++) {
        const double launched = now_us();
        run_frame(runner, &info);
        slowest = now_us() - launched > slowest ? now_us() - launched : slowest;
    }
    const double made = now_us();
    while (!info.is_chosen)
        run_frame(runner, &info);
    printf("runner %.1f ms, first frame %.1f ms, a way made behind %u frames in %.1f ms, later "
           "frames took at most %.2f ms\n%s: %s\n",
           (created - added) / 1000, (first - created) / 1000, num, (made - created) / 1000,
           slowest / 1000, info.way, info.reason);
    braid_runner_destroy(runner);
}

static void run_exec(braid_device *device, const braid_graph *graph, bool island)
{
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands =
                                             island ? BRAID_ISLANDS_WHOLE : BRAID_ISLANDS_NEVER };
    braid_exec *exec;
    const double added = now_us();
    must(braid_exec_create(device, graph, &options, &exec));
    const double created = now_us();
    must(braid_exec_launch(exec, NULL));
    must(braid_exec_wait(exec));
    printf("%s: exec %.1f ms, first frame %.1f ms\n", island ? "island" : "graph",
           (created - added) / 1000, (now_us() - created) / 1000);
    braid_exec_destroy(exec);
}

int main(int argc, char **argv)
{
    static char sources[NUM_KERNELS][SOURCE_BYTES], names[NUM_KERNELS][16];
    static braid_kernel kernels[NUM_KERNELS];
    const char *way = argc > 1 ? argv[1] : "graph";
    braid_device *device;
    braid_graph *graph;
    void *memory;
    uint32_t num = 100;
    double start = now_us();
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    printf("open %.1f ms\n", (now_us() - start) / 1000);
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, num * sizeof(float), &memory));
    must(braid_graph_create(&graph));
    braid_node last = { 0 };
    for (uint32_t i = 0; i < NUM_KERNELS; i++) {
        write_source(sources[i], i);
        snprintf(names[i], sizeof(names[i]), "first_%u", i);
        kernels[i] = (braid_kernel){ .name = names[i], .source = sources[i] };
        const braid_kernel_node launch = {
            .node = { .after = &last, .num_after = i > 0, .cost_ns = 2000 },
            .kernel = &kernels[i],
            .block = { 128, 1, 1 },
            BRAID_ARGS(BRAID_ARG(memory), BRAID_ARG(num)),
        };
        must(braid_graph_add_kernel(graph, &launch, &last));
    }
    if (strcmp(way, "runner") == 0)
        run_runner(device, graph);
    else
        run_exec(device, graph, strcmp(way, "island") == 0);
    braid_graph_destroy(graph);
    braid_memory_free(device, memory);
    braid_device_close(device);
    return 0;
}
