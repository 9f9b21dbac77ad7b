// SPDX-License-Identifier: Apache-2.0
// Cutting memory into cells. The accesses and copies tell which buffer of the program a buffer of
// the placed graph stands for. All of them must agree.
#include "base/error.h"
#include "verify/verify_places.h"

static braid_status match(struct place_cells *cells, uint32_t placed, uint32_t program)
{
    uint32_t buffer = graph_resource_at(cells->placed, placed)->buffer;
    uint32_t of = graph_resource_at(cells->program, program)->buffer;
    struct place_buffer *known = &cells->buffers[buffer];
    bool fits = graph_resource_at(cells->placed, buffer)->bytes ==
                graph_resource_at(cells->program, of)->bytes;
    if (!fits || (known->of != GRAPH_NONE && known->of != of))
        return braid_error(
            BRAID_INTERNAL, "the plan has buffer '%s' stand for another one",
            braid_names_at(&cells->placed->names, graph_resource_at(cells->placed, buffer)->name));
    known->of = of;
    return BRAID_OK;
}

static braid_status match_all(struct place_cells *cells, const struct placed *placed)
{
    const struct graph_access *theirs = cells->program->accesses.items;
    const struct graph_access *ours = cells->placed->accesses.items;
    braid_status status = BRAID_OK;
    for (uint32_t i = 0; i < cells->placed->resources.num; i++)
        cells->buffers[i] = (struct place_buffer){ GRAPH_NONE, 0 };
    for (uint32_t i = 0; i < cells->program->resources.num && !status; i++)
        status = match(cells, i, i);
    for (size_t i = 0; i < cells->program->accesses.num && !status; i++)
        status = match(cells, ours[i].resource, theirs[i].resource);
    for (uint32_t i = 0; i < placed->num_copies && !status; i++) {
        const braid_planned_copy *copy = &placed->copies[i];
        uint32_t first = graph_nodes(placed->graph)[copy->node].first_access;
        status = match(cells, ours[first].resource, copy->resource);
        if (!status)
            status = match(cells, ours[first + 1].resource, copy->resource);
    }
    return status;
}

struct cut {
    uint32_t buffer;
    uint64_t offset;
};

static int compare_cuts(const void *left, const void *right)
{
    const struct cut *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

// Each buffer's cuts end with its size, which begins no cell.
static bool find_cuts(struct place_cells *cells)
{
    size_t most = 2 * cells->placed->resources.num, num = 0, kept = 0;
    struct cut *cuts = braid_allocate_zeroed(most, sizeof(*cuts));
    cells->cuts = braid_store_take(&cells->store, most, sizeof(*cells->cuts));
    cells->current = braid_store_take(&cells->store, most, sizeof(*cells->current));
    for (uint32_t i = 0; cuts && i < cells->placed->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(cells->placed, i);
        uint32_t of = cells->buffers[resource->buffer].of;
        if (of == GRAPH_NONE)
            continue;
        cuts[num++] = (struct cut){ of, resource->offset };
        cuts[num++] = (struct cut){ of, resource->offset + resource->bytes };
    }
    bool done = cuts && !cells->store.failed;
    if (done && num)
        qsort(cuts, num, sizeof(*cuts), compare_cuts);
    uint32_t next = 0;
    for (size_t i = 0; done && i < num; i++) {
        if (i && compare_cuts(&cuts[i - 1], &cuts[i]) == 0)
            continue;
        while (next <= cuts[i].buffer)
            cells->first_cut[next++] = (uint32_t)kept;
        cells->cuts[kept++] = cuts[i].offset;
    }
    while (done && next <= cells->program->resources.num)
        cells->first_cut[next++] = (uint32_t)kept;
    free(cuts);
    return done;
}

static bool find_cells(struct place_cells *cells)
{
    size_t num = 0;
    for (uint32_t i = 0; i < cells->placed->resources.num; i++) {
        struct place_buffer *buffer = &cells->buffers[i];
        if (buffer->of == GRAPH_NONE || graph_resource_at(cells->placed, i)->buffer != i)
            continue;
        buffer->first_cell = (uint32_t)num;
        num += cells->first_cut[buffer->of + 1] - cells->first_cut[buffer->of];
    }
    cells->held =
        num < UINT32_MAX ? braid_store_take(&cells->store, num, sizeof(*cells->held)) : NULL;
    for (size_t i = 0; cells->held && i < num; i++)
        cells->held[i] = WRITTEN_NEVER;
    return cells->held;
}

// A buffer that is not transient has its contents where the program declared it.
static void fill_cells(struct place_cells *cells)
{
    for (uint32_t i = 0; i < cells->program->resources.num; i++) {
        const struct graph_resource *resource = graph_resource_at(cells->program, i);
        uint32_t write = resource->alignment ? WRITTEN_NEVER : WRITTEN_BEFORE;
        for (uint32_t cut = cells->first_cut[i];
             resource->buffer == i && cut < cells->first_cut[i + 1]; cut++)
            cells->current[cut] = *cells_held(cells, i, cut) = write;
    }
}

braid_status braid_verify_cells_create(const struct placed *placed, const braid_graph *graph,
                                       struct place_cells *out_cells)
{
    struct place_cells cells = { .program = graph, .placed = placed->graph };
    cells.buffers =
        braid_store_take(&cells.store, placed->graph->resources.num, sizeof(*cells.buffers));
    cells.first_cut = braid_store_take(&cells.store, graph->resources.num + 2, sizeof(uint32_t));
    braid_status status = !cells.store.failed ? match_all(&cells, placed)
                                              : braid_error_no_memory("the proof of a plan");
    if (!status && (!find_cuts(&cells) || !find_cells(&cells)))
        status = braid_error_no_memory("the proof of a plan");
    if (status) {
        braid_verify_cells_finish(&cells);
        return status;
    }
    fill_cells(&cells);
    *out_cells = cells;
    return BRAID_OK;
}

void braid_verify_cells_finish(struct place_cells *cells)
{
    braid_store_finish(&cells->store);
    *cells = (struct place_cells){ 0 };
}

static uint32_t find_cut(const struct place_cells *cells, uint32_t buffer, uint64_t offset)
{
    uint32_t low = cells->first_cut[buffer], high = cells->first_cut[buffer + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cells->cuts[middle] < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct cell_span braid_verify_cells_find(const struct place_cells *cells, uint32_t buffer,
                                         uint64_t offset, uint64_t bytes)
{
    return (struct cell_span){ find_cut(cells, buffer, offset),
                               find_cut(cells, buffer, offset + bytes) };
}
