// SPDX-License-Identifier: Apache-2.0
// A second device of the stand-in driver, with a kernel that reads a word of the first, of which it
// has a replica.
#ifndef BRAID_TESTS_GPU_REPLICA_H
#define BRAID_TESTS_GPU_REPLICA_H

#include "gpu/frame.h"

struct replica {
    braid_device *second; // NULL: closed, or never opened
    braid_device *group;
    uint32_t *there;        // memory of the second
    braid_resource weights; // the word
};

// Beside a first device that was opened with replica_need_second() before it.
void replica_need_second(void);
void replica_open(struct replica *replica, braid_device *first);
void replica_add_reader(struct replica *replica, braid_graph *graph, uint32_t *word);

// Everything but the second device, and that as well. Each takes what was never opened.
void replica_free(struct replica *replica);
void replica_finish(struct replica *replica);

#endif
