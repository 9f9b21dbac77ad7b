// SPDX-License-Identifier: Apache-2.0
// The chain of products of bench_gpu_wide for the tuning bench.
#include <stdlib.h>
#include <string.h>

#include "decode_chain.h"
#include "tuned.h"

static void free_memory(struct tuned_graph *graph)
{
    struct decode_memory *memory = graph->more;
    braid_device *device = graph->memory.device;
    braid_memory_free(device, memory->weights);
    for (int i = 0; i < 2; i++)
        braid_memory_free(device, memory->vectors[i]);
    braid_graph_destroy(graph->graph);
    free(memory);
}

static void *allocate(braid_device *device, uint64_t bytes, bool is_gpu)
{
    void *memory;
    tuned_check(braid_memory_allocate(device, BRAID_MEMORY_DEVICE, bytes, &memory));
    if (!is_gpu)
        memset(memory, 1, bytes); // a page that nobody wrote is not read from memory
    return memory;
}

struct tuned_graph tuned_decode(braid_device *device)
{
    static struct decode_chain chain;
    struct decode_memory *memory = calloc(1, sizeof(*memory));
    struct tuned_graph made = { .name = "a token of a transformer",
                                .memory = tuned_allocate(device, sizeof(double)),
                                .more = memory,
                                .finish = free_memory };
    if (!memory)
        exit(1);
    chain = decode_make_transformer();
    memory->weights = allocate(device, chain.bytes, made.memory.is_gpu);
    for (int i = 0; i < 2; i++)
        memory->vectors[i] = allocate(device, DECODE_MOST_ROWS * sizeof(float), made.memory.is_gpu);
    tuned_check(braid_graph_create(&made.graph));
    tuned_check(decode_add_nodes(made.graph, &chain, memory));
    return made;
}
