// SPDX-License-Identifier: Apache-2.0
// Which kernels of a plan are launched early, and which fetch inputs of the next kernel.
//
// A kernel is launched early while its lane predecessor, also a kernel, still runs. It waits for
// the end of that one before it does anything, so that only the launch overlaps.
//
// A kernel that is launched as the blocks of its predecessor begin gains most: its launch overlaps
// the whole predecessor. However, its blocks take room on the device while they wait, and the
// kernel behind it may wait there as well. If they need more room than there is, blocks crowd onto
// the multiprocessors that become free first. A chain of 132 blocks that read memory took 2,383 us
// instead of 1,926 (H200, docs/measured). So the running kernel and the kernels of its row that
// wait at the same time must fit into their lane's part of the device.
//
// A kernel that is launched as the blocks of its predecessor end takes no room from it. It gains
// less, and costs nothing.
#ifndef BRAID_PLAN_PLAN_EARLY_H
#define BRAID_PLAN_PLAN_EARLY_H

#include "plan/schedule.h"

enum plan_early {
    PLAN_NOT_EARLY,
    PLAN_EARLY_AT_END,   // as the blocks of its predecessor end, or say that it may start
    PLAN_EARLY_AT_BEGIN, // as the blocks of its predecessor begin
};

#define PLAN_EARLY_ROOM (1u << 20) // the whole device

// A node, as far as early starts are concerned. A node that is no kernel is all zero.
struct plan_early_node {
    bool can;              // the kernel waits by itself for the kernels before it
    bool tells;            // the kernel says by itself when the next one may start
    bool fetches;          // the kernel can be changed to fetch inputs of the next one
    uint32_t share;        // the part of PLAN_EARLY_ROOM that its blocks take; at most that
    enum plan_early early; // the result,
    uint32_t behind;       // the node before it on its lane; PLAN_NONE: none
};

// `nodes` has one element a node; sets `early` of each. `adjacent`: only where nothing stands
// between the two on their lane, not even a record. Writes how many start early. Errors:
// BRAID_NO_MEMORY.
braid_status braid_plan_choose_early(const braid_schedule *schedule, const braid_graph *graph,
                                     bool adjacent, struct plan_early_node *nodes,
                                     uint32_t *out_num_early);

// Which kernels of a plan fetch inputs of the next kernel into the device's cache.
//
// While one kernel ends and the next begins, the device's memory does nothing. So each block of the
// first one fetches a part of the bytes that the second one reads. In 46 chains on an H200 each
// block read 24 KiB or more. They took 0.90 of their time so in the geometric mean, and 1.006 at
// worst. Chains of shorter blocks took up to 7 % longer (docs/measured/cuda.md). Of more than 8
// MiB, 2 MiB are fetched, since more of them would delay the first reads of the blocks.
//
// The bytes are those of one buffer or range that the second kernel reads. No node of the graph
// writes any of them, so no frame in flight does. If a node declares no access, no kernel of the
// graph fetches anything. An argument of the second kernel is the address of the bytes. If the
// program sets another one, nothing is fetched there (tasks/frame.c), since Braid does not
// know how much memory is behind it.

// The bytes that a kernel fetches for the next one, or the reason why it fetches nothing. Frames
// fetch while an argument of the next kernel is their address.
struct plan_prefetch {
    uint32_t node;       // the next kernel, which reads them
    uint32_t before;     // which kernel fetches for this one; PLAN_NONE: none
    uint32_t resource;   // the input
    uint32_t argument;   // the next kernel's, which is the address
    const void *address; // the first byte's
    uint64_t bytes;      // 0: it fetches nothing
    const char *why_not; // NULL: it fetches, or no input of the next kernel is worth it
    uint32_t culprit;    // the node that the reason is about; PLAN_NONE: no node
};

// `nodes` as braid_plan_choose_early left them. The schedule gets an element a node.
// Errors: BRAID_NO_MEMORY.
braid_status braid_plan_choose_prefetch(braid_schedule *schedule, const braid_graph *graph,
                                        const struct plan_early_node *nodes);

#endif
