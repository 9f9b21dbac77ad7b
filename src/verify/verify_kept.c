// SPDX-License-Identifier: Apache-2.0
// Proves that replicas which outlive a frame are never stale: what one is said to have when a frame
// begins it has when the frame ends. So it is in all frames, since it is in the first: the exec
// fills them from their homes, which a frame leaves current.
#include "base/error.h"
#include "verify/verify_places.h"

static const struct graph_resource *resource_at(const braid_graph *graph, uint32_t index)
{
    return &((const struct graph_resource *)graph->resources.items)[index];
}

static braid_status check_entry(const struct placed_entry *entry, const braid_graph *program,
                                const struct place_cells *cells)
{
    const struct graph_resource *buffer = resource_at(program, entry->buffer);
    const struct graph_resource *replica = resource_at(cells->placed, entry->resource);
    uint64_t end = 0;
    bool right = buffer->is_kept && buffer->home == entry->from && !replica->alignment &&
                 replica->num_versions == 1 && replica->buffer == entry->resource &&
                 replica->home == entry->to && entry->from != entry->to &&
                 cells->buffers[entry->resource].of == entry->buffer && entry->bytes &&
                 !__builtin_add_overflow(entry->offset, entry->bytes, &end) && end <= buffer->bytes;
    return right ? BRAID_OK
                 : braid_error(BRAID_INTERNAL, "the plan keeps a replica of '%s' that is none",
                               braid_names_at(&program->names, buffer->name));
}

static struct cell_span span_of(const struct place_cells *cells, const struct placed_entry *entry)
{
    return braid_verify_cells_find(cells, entry->buffer, entry->offset, entry->bytes);
}

braid_status braid_verify_entries_begin(const struct placed *placed, const braid_graph *program,
                                        const struct place_cells *cells)
{
    for (uint32_t i = 0; i < placed->num_entries; i++) {
        const struct placed_entry *entry = &placed->entries[i];
        braid_status status = check_entry(entry, program, cells);
        if (status)
            return status;
        struct cell_span span = span_of(cells, entry);
        for (uint32_t cut = span.first; cut < span.end; cut++)
            *cells_held(cells, entry->resource, cut) = WRITTEN_BEFORE;
    }
    return BRAID_OK;
}

braid_status braid_verify_entries_end(const struct placed *placed, const struct place_cells *cells)
{
    for (uint32_t i = 0; i < placed->num_entries; i++) {
        const struct placed_entry *entry = &placed->entries[i];
        struct cell_span span = span_of(cells, entry);
        for (uint32_t cut = span.first; cut < span.end; cut++) {
            if (*cells_held(cells, entry->resource, cut) != cells->current[cut])
                return braid_error(
                    BRAID_INTERNAL, "the plan has the next frame find an earlier write in '%s'",
                    braid_names_at(&cells->placed->names,
                                   resource_at(cells->placed, entry->resource)->name));
        }
    }
    return BRAID_OK;
}
