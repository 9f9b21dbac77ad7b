// SPDX-License-Identifier: Apache-2.0
// What the first exec of a process costs: opening the device, then ten kernels from ten sources,
// and with "island" the same as one island. Run it with and without what BRAID_CACHE and the
// driver's CUDA_CACHE_PATH name.
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

int main(int argc, char **argv)
{
    static char sources[NUM_KERNELS][SOURCE_BYTES], names[NUM_KERNELS][16];
    static braid_kernel kernels[NUM_KERNELS];
    bool island = argc > 1 && strcmp(argv[1], "island") == 0;
    braid_device *device;
    braid_graph *graph;
    braid_exec *exec;
    void *memory;
    uint32_t num = 100;
    double start = now_us();
    if (braid_device_open(&(braid_device_options){ .backend = "cuda" }, &device)) {
        printf("skipped: %s\n", braid_error_get_message());
        return 77;
    }
    double opened = now_us();
    must(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, num * sizeof(float), &memory));
    must(braid_graph_create(&graph));
    braid_node last = { 0 };
    for (uint32_t i = 0; i < NUM_KERNELS; i++) {
        write_source(sources[i], i);
        snprintf(names[i], sizeof(names[i]), "first_%u", i);
        kernels[i] = (braid_kernel){ .name = names[i], .source = sources[i] };
        const braid_kernel_node launch = {
            .node = { .after = &last, .num_after = i > 0 },
            .kernel = &kernels[i],
            .block = { 128, 1, 1 },
            BRAID_ARGS(BRAID_ARG(memory), BRAID_ARG(num)),
        };
        must(braid_graph_add_kernel(graph, &launch, &last));
    }
    double added = now_us();
    const braid_exec_options options = { .mode = BRAID_MODE_GRAPH,
                                         .islands =
                                             island ? BRAID_ISLANDS_WHOLE : BRAID_ISLANDS_NEVER };
    must(braid_exec_create(device, graph, &options, &exec));
    double created = now_us();
    must(braid_exec_launch(exec, NULL));
    must(braid_exec_wait(exec));
    double ran = now_us();
    printf("%s: open %.1f ms, exec %.1f ms, first frame %.1f ms\n", island ? "island" : "graph",
           (opened - start) / 1000, (created - added) / 1000, (ran - created) / 1000);
    braid_exec_destroy(exec);
    braid_graph_destroy(graph);
    braid_memory_free(device, memory);
    braid_device_close(device);
    return 0;
}
