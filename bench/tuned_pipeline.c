// SPDX-License-Identifier: Apache-2.0
// The pipeline of bench_pipeline for the tuning bench.
#include "pipeline.h"
#include "tuned.h"

struct pictures {
    void *in, *out; // the host's
};

static void finish(struct tuned_graph *graph)
{
    struct pictures *pictures = graph->more;
    braid_graph_destroy(graph->graph);
    braid_memory_free(graph->memory.device, pictures->in);
    braid_memory_free(graph->memory.device, pictures->out);
    free(pictures);
}

struct tuned_graph tuned_pipeline(braid_device *device, uint32_t frames)
{
    struct pictures *pictures = calloc(1, sizeof(*pictures));
    const uint64_t bytes = DEPTH * sizeof(struct picture);
    braid_graph *graph;
    if (!pictures)
        exit(1);
    pipeline_codecs = (struct pipeline_codecs){ .ns = 1000000 };
    tuned_check(braid_memory_allocate(device, BRAID_MEMORY_HOST, bytes, &pictures->in));
    tuned_check(braid_memory_allocate(device, BRAID_MEMORY_HOST, bytes, &pictures->out));
    tuned_check(braid_graph_create(&graph));
    pipeline_fill_graph(graph, frames, pictures->in, pictures->out);
    return (struct tuned_graph){ .name = frames > 1 ? "pipeline, frames in flight" : "pipeline",
                                 .graph = graph,
                                 .memory = tuned_allocate(device, sizeof(double)),
                                 .frames = frames,
                                 .more = pictures,
                                 .finish = finish };
}
