// SPDX-License-Identifier: Apache-2.0
// Resources cut into segments, by sorting the ends of all ranges.
#include "graph/segments.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/host_memory.h"

// One end of a range; `buffer` first, so that the cuts of a buffer stand together.
struct cut {
    uint32_t buffer;
    uint64_t offset;
};

static int compare_cuts(const void *left, const void *right)
{
    const struct cut *a = left;
    const struct cut *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return 0;
}

static size_t remove_duplicates(struct cut *cuts, size_t num)
{
    size_t kept = 0;
    for (size_t i = 0; i < num; i++) {
        if (kept == 0 || compare_cuts(&cuts[kept - 1], &cuts[i]) != 0)
            cuts[kept++] = cuts[i];
    }
    return kept;
}

// Sorted, without duplicates: segment i of a buffer lies between its cuts i and i + 1. A segment is
// therefore named by the place of its first cut.
static size_t collect_cuts(const braid_graph *graph, struct cut *cuts)
{
    for (size_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, i);
        // A named resource has no bytes, yet must have an extent: one segment.
        uint64_t bytes = resource->bytes ? resource->bytes : 1;
        cuts[2 * i] = (struct cut){ resource->buffer, resource->offset };
        cuts[2 * i + 1] = (struct cut){ resource->buffer, resource->offset + bytes };
    }
    size_t num = 2 * graph->resources.num;
    if (num)
        qsort(cuts, num, sizeof(*cuts), compare_cuts);
    return remove_duplicates(cuts, num);
}

static uint32_t find_cut(const struct cut *cuts, size_t num, struct cut wanted)
{
    const struct cut *found = bsearch(&wanted, cuts, num, sizeof(*cuts), compare_cuts);
    return (uint32_t)(found - cuts);
}

static void name_segments(const braid_graph *graph, const struct cut *cuts, size_t num_cuts,
                          struct graph_segments *segments)
{
    for (size_t i = 0; i < graph->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(graph, i);
        uint64_t bytes = resource->bytes ? resource->bytes : 1;
        segments->first[i] =
            find_cut(cuts, num_cuts, (struct cut){ resource->buffer, resource->offset });
        segments->end[i] =
            find_cut(cuts, num_cuts, (struct cut){ resource->buffer, resource->offset + bytes });
    }
    for (size_t i = 0; i < num_cuts; i++)
        segments->offsets[i] = cuts[i].offset;
    segments->num_segments = (uint32_t)num_cuts;
}

void braid_graph_segments_finish(struct graph_segments *segments)
{
    braid_free(segments->first);
    braid_free(segments->end);
    braid_free(segments->offsets);
    *segments = (struct graph_segments){ 0 };
}

braid_status braid_graph_find_segments(const braid_graph *graph,
                                       struct graph_segments *out_segments)
{
    size_t num = graph->resources.num;
    struct graph_segments segments = {
        .first = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .end = braid_allocate_zeroed(num, sizeof(uint32_t)),
        .offsets = braid_allocate_zeroed(2 * num, sizeof(uint64_t)),
    };
    struct cut *cuts = braid_allocate_zeroed(2 * num, sizeof(*cuts));
    if (!segments.first || !segments.end || !segments.offsets || !cuts) {
        braid_graph_segments_finish(&segments);
        braid_free(cuts);
        return braid_error_no_memory("the resources of a graph");
    }
    name_segments(graph, cuts, collect_cuts(graph, cuts), &segments);
    braid_free(cuts);
    *out_segments = segments;
    return BRAID_OK;
}
