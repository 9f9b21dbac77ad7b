// SPDX-License-Identifier: Apache-2.0
// The contents of a graph's buffers, kept for runs that start alike and end alike.
#ifndef BRAID_AUDIT_AUDIT_STATE_H
#define BRAID_AUDIT_AUDIT_STATE_H

#include "audit/audit_reach.h"

// Memory of one buffer or version; a node's trap; or all transient buffers, whose contents nobody
// reads behind a frame.
struct audit_part {
    unsigned char *memory;
    uint64_t bytes, offset; // in a copy
    uint64_t skipped;       // bytes of the buffer or version before it
    uint32_t resource;      // GRAPH_NONE: none
    uint32_t node;          // that has this trap; likewise
};

enum audit_copy { AUDIT_START, AUDIT_END };

struct audit_state {
    const struct audit_reach *reach;
    struct array parts; // struct audit_part, resource by resource
    uint64_t bytes;     // a copy's
    unsigned char *copies;
};

// Bytes of one buffer that differ; or how a node ends.
struct audit_difference {
    uint32_t resource, node;     // one is GRAPH_NONE
    const unsigned char *memory; // the buffer's
    uint64_t first, last, num;
};

// All parts that can be read, of an exec for one device, with the contents of now as AUDIT_START.
// It has room for the copies up to `last`. Errors: BRAID_NO_MEMORY, BRAID_IO_ERROR, those of
// copies.
braid_status braid_audit_state_create(const braid_graph *graph, const struct audit_reach *reach,
                                      enum audit_copy last, struct audit_state *out_state);
void braid_audit_state_finish(struct audit_state *state);

// Bytes of a part.
struct audit_piece {
    unsigned char *memory, *kept;
    const unsigned char *now; // `memory` as it is, until it is written
    uint64_t begin, bytes;    // in the buffer or version
};
typedef braid_status audit_visitor(const struct audit_state *state, const struct audit_piece *piece,
                                   void *context);

// Errors of all: those of copies.
// Hands over all pieces. Errors: those of the visitor, too.
braid_status braid_audit_state_visit(const struct audit_state *state, enum audit_copy copy,
                                     audit_visitor *visitor, void *context);
braid_status braid_audit_state_keep(struct audit_state *state, enum audit_copy copy);
// Gives buffers the contents of the copy. Memory that has them already is not written.
braid_status braid_audit_state_restore(const struct audit_state *state, enum audit_copy copy);
// Whether a buffer's contents or a trap differ from the copy: the first that does.
braid_status braid_audit_state_differs(const struct audit_state *state, enum audit_copy copy,
                                       bool *out_differs, struct audit_difference *out_difference);

#endif
