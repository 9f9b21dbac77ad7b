// SPDX-License-Identifier: Apache-2.0
// The contents of the memory of a placed graph, byte by byte, as its nodes are walked.
#ifndef BRAID_VERIFY_PLACES_H
#define BRAID_VERIFY_PLACES_H

#include "base/store.h"
#include "graph/placed.h"
#include "graph/segments.h"

// A write, told by 1 + the node; or one of these.
#define WRITTEN_BEFORE 0         // before the frame
#define WRITTEN_NEVER UINT32_MAX // nothing of use

// A buffer of the placed graph, which is one of the program's at some place. All of one have the
// same cells: the parts into which the ranges of any of them cut it.
struct place_buffer {
    uint32_t of;         // the program's buffer; GRAPH_NONE: not known
    uint32_t first_cell; // in `held`
};

struct place_cells {
    const braid_graph *program, *placed;
    struct place_buffer *buffers; // per resource of the placed graph
    uint64_t *cuts;               // in all of the program's buffers, buffer by buffer
    uint32_t *first_cut;          // per resource of the program; one more at the end
    uint32_t *current;            // per cut: the last write so far
    uint32_t *held;               // per cell of a buffer: the write that it has
    struct store store;           // holds the arrays
};

// Errors: BRAID_INTERNAL (a buffer would stand for two), BRAID_NO_MEMORY.
braid_status braid_verify_cells_create(const struct placed *placed, const braid_graph *graph,
                                       struct place_cells *out_cells);
void braid_verify_cells_finish(struct place_cells *cells);

// The cuts of the program's buffer that lie in a part of it.
struct cell_span {
    uint32_t first, end;
};
struct cell_span braid_verify_cells_find(const struct place_cells *cells, uint32_t buffer,
                                         uint64_t offset, uint64_t bytes);

// verify_place_regions.c. Errors: BRAID_INTERNAL, which name the node.
braid_status braid_verify_place_regions(const struct placed *placed, const braid_graph *program);

// The write that a buffer of the placed graph holds in a cut.
static inline uint32_t *cells_held(const struct place_cells *cells, uint32_t placed_buffer,
                                   uint32_t cut)
{
    const struct place_buffer *buffer = &cells->buffers[placed_buffer];
    return &cells->held[buffer->first_cell + cut - cells->first_cut[buffer->of]];
}

#endif
