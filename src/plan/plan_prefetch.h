// SPDX-License-Identifier: Apache-2.0
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
#ifndef BRAID_PLAN_PLAN_PREFETCH_H
#define BRAID_PLAN_PLAN_PREFETCH_H

#include "plan/plan_early.h"

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
