// SPDX-License-Identifier: Apache-2.0
// The contents of a graph's buffers, kept for runs that start alike and end alike.
#ifndef BRAID_EXEC_AUDIT_STATE_H
#define BRAID_EXEC_AUDIT_STATE_H

#include "exec/exec.h"

// The memory of one buffer or version; or of all transient buffers, whose contents nobody reads
// behind a frame.
struct audit_part {
    unsigned char *memory;
    uint64_t bytes, offset; // in a copy
    uint32_t resource;      // GRAPH_NONE: transient ones
};

enum audit_copy { AUDIT_START, AUDIT_END, AUDIT_NUM_COPIES };

struct audit_state {
    struct array parts;    // struct audit_part, resource by resource
    uint64_t bytes;        // of a copy
    unsigned char *copies; // of AUDIT_NUM_COPIES
};

// Bytes of one buffer that differ.
struct audit_difference {
    uint32_t resource;
    const unsigned char *memory; // of the buffer
    uint64_t first, last, num;
};

// All parts whose address is known, of an exec for one device. Errors: BRAID_NO_MEMORY.
braid_status braid_audit_state_create(const braid_graph *graph, const braid_exec *exec,
                                      struct audit_state *out_state);
void braid_audit_state_finish(struct audit_state *state);

void braid_audit_state_keep(struct audit_state *state, enum audit_copy copy);
// Gives buffers the contents of the copy. Memory that has them already is not written.
void braid_audit_state_restore(const struct audit_state *state, enum audit_copy copy);
// Whether a buffer's contents differ from the copy: the first such buffer.
bool braid_audit_state_differs(const struct audit_state *state, enum audit_copy copy,
                               struct audit_difference *out_difference);

#endif
