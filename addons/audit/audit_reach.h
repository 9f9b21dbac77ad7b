// SPDX-License-Identifier: Apache-2.0
// How an audit runs nodes and reaches memory: the CPU's on the calling thread, those of other
// devices by one stream. The audit walks through a frame as one thread would run it.
#ifndef BRAID_AUDIT_AUDIT_REACH_H
#define BRAID_AUDIT_AUDIT_REACH_H

#include "exec/exec.h"

enum { AUDIT_PIECE_BYTES = 1 << 20 };

struct audit_reach {
    braid_exec *exec;
    braid_stream *stream;   // leased; the default stream where the calling thread runs the nodes
    unsigned char *staging; // a piece of memory that host and device reach; NULL: that thread
};

static inline const struct backend_task *audit_task_of(const struct audit_reach *reach,
                                                       uint32_t node)
{
    return &reach->exec->frames.slots[0].frame.tasks[node];
}

// Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_audit_reach_open(braid_exec *exec, struct audit_reach *out_reach);
void braid_audit_reach_close(struct audit_reach *reach);

// Each of these returns once the stream has ended, also if it fails. Errors: those of the backend.
// Runs one node. Errors: those of queue calls, too.
braid_status braid_audit_reach_run(const struct audit_reach *reach,
                                   const struct backend_task *task);
// On devices.
braid_status braid_audit_reach_copy(const struct audit_reach *reach, void *to, const void *from,
                                    uint64_t bytes);
// At most a piece, which the thread can read until the next call.
braid_status braid_audit_reach_read(const struct audit_reach *reach, const void *memory,
                                    uint64_t bytes, const unsigned char **out_bytes);
braid_status braid_audit_reach_write(const struct audit_reach *reach, void *memory,
                                     const void *from, uint64_t bytes);

// Whether the memory is the host's, so that a page of it that cannot be read ends the process.
braid_status braid_audit_reach_is_hosts(const struct audit_reach *reach, const void *memory,
                                        bool *out_is_hosts);

// ---- a frame, node by node ----

// Operations of a program that run nodes, in place of its issue order.
struct audit_order {
    uint32_t *ops; // indices
    uint32_t num;
};

// Iterations of a region in a frame.
struct audit_loop {
    uint64_t num, most;
};

struct audit_loops {
    struct audit_loop *items; // by audit_order_of
    uint32_t endless;         // the node of one that took more than its most, which ended the walk;
                              // GRAPH_NONE: there was none
};

struct audit_walk {
    const struct audit_reach *reach;
    const struct audit_order *orders; // the frame's, then each region's; NULL: in issue order
    struct audit_loops *loops;        // NULL: iterations have no limits of their own
    // Called for each node that works in this frame.
    braid_status (*run)(void *context, uint32_t node);
    void *context;
};

// Which of the orders is a program's.
static inline uint32_t audit_order_of(const struct program *program)
{
    return program->region == GRAPH_NONE ? 0 : program->region + 1;
}

// Runs the nodes of a frame. In issue order each stands behind all that it waits for. Errors: those
// of `run`, and those of reading conditions.
braid_status braid_audit_walk(const struct audit_walk *walk);

#endif
