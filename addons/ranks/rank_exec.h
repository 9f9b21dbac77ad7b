// SPDX-License-Identifier: Apache-2.0
// The part of an exec that has communicators, and how all ranks make such an exec together.
#ifndef BRAID_RANKS_RANK_EXEC_H
#define BRAID_RANKS_RANK_EXEC_H

#include "exec/exec.h"
#include "exec/exec_part.h"
#include "ranks/link.h"
#include "ranks/operation.h"

struct rank_exec_communicator {
    braid_communicator *communicator;
    uint32_t num; // operations in a frame
};

struct rank_exec {
    struct exec_part part; // the first of its exec
    braid_ranks *ranks;
    struct rank_exec_communicator *communicators; // the graph's
    uint32_t num_communicators;
    struct rank_operation *operations; // posts', in the graph's order
    uint32_t num_operations;
    bool is_linked;          // a device makes the operations
    bool has_met;            // all ranks have said whether operations can be connected
    braid_status parted;     // why not
    struct rank_watch watch; // watches frames on a device
    bool is_watched;
};

static inline struct rank_exec *rank_exec_of(const braid_exec *exec)
{
    return (struct rank_exec *)exec->parts;
}

// rank_exec_make.c: graph_ranks_ops.
braid_status braid_rank_make_exec(braid_exec *exec, const braid_graph *graph,
                                  const braid_exec_options *options, braid_status status);
void braid_rank_make_operations(braid_exec *exec, const braid_graph *graph);

// rank_exec_agree.c: all ranks call it when they create an exec, also if that has failed here with
// `status`. Returns `status` if that is an error, otherwise the verdict on all. `out_plan_again`:
// no rank has failed, but all must plan without order by lanes, and ask again.
braid_status braid_rank_exec_agree(braid_exec *exec, const braid_graph *graph, bool may_plan_again,
                                   braid_status status, bool *out_plan_again);
// The options of all ranks for the second plan.
braid_exec_options braid_rank_exec_apart(const braid_exec_options *options);

// rank_exec_connect.c: of an exec whose operations a device makes, connects its communicators
// there, unless this rank or another has failed.
braid_status braid_rank_exec_connect(braid_exec *exec, const braid_exec_options *options,
                                     braid_status status);
// Has its frames watched.
void braid_rank_exec_watch(braid_exec *exec);
// Before any rank waits for another inside of the engine, and when an exec is made: all hear of a
// rank that has failed.
braid_status braid_rank_exec_hear(braid_exec *exec, braid_status status);
// exec_part_ops: shows the engine all operations, with the addresses of the first frame. Does
// nothing the second time.
braid_status braid_rank_exec_meet(struct exec_part *part, braid_exec *exec,
                                  const struct frame *frame);

// rank_exec_claim.c: exec_part_ops.
braid_status braid_rank_exec_before_launch(struct exec_part *part, braid_exec *exec,
                                           const struct exec_launch *launch);
braid_status braid_rank_exec_after_launch(struct exec_part *part, braid_exec *exec,
                                          const struct exec_launch *launch);
braid_status braid_rank_exec_wait(struct exec_part *part, braid_exec *exec);
// Once all that the exec has queued has ended. Of a launch that failed halfway some operations were
// posted, nobody knows which, and perhaps nothing waits for one: it is awaited.
void braid_rank_exec_settle(struct exec_part *part, braid_exec *exec);

#endif
