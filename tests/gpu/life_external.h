// SPDX-License-Identifier: Apache-2.0
// What a life does with objects outside of Braid.
#ifndef BRAID_TESTS_GPU_LIFE_EXTERNAL_H
#define BRAID_TESTS_GPU_LIFE_EXTERNAL_H

#include "gpu/life.h"

// Whether the device is one of a stand-in, which knows semaphores and moves managed memory.
bool life_is_over_cuda(void);

struct life_external {
    braid_external *objects[3];
    braid_exec *exec; // NULL: the device is none of a stand-in, or the add-on is left out
    braid_node semaphore;
};

// Each of its frames signals a semaphore, a word and an event, and waits for each. A driver graph
// has no event.
braid_status life_create_external(const struct frame *frame, braid_exec_mode mode,
                                  const braid_event *event, struct life_external *external);
braid_status life_run_external(const struct frame *frame, struct life_external *external);
void life_finish_external(struct life_external *external);

#endif
