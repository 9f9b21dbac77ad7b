// SPDX-License-Identifier: Apache-2.0
// Which of the program's calls this thread is inside of, so that a call that would wait for itself
// is refused.
#ifndef BRAID_BASE_INSIDE_H
#define BRAID_BASE_INSIDE_H

#include <stdbool.h>

#include <braid/status.h>

#include "base/host_memory.h"

// On the stack of the thread that makes the call.
struct inside {
    const char *what; // "a host call"
    const void *exec; // whose queue call it is; NULL: not one, and no exec may be waited for
    const struct inside *before;
    struct host_allocator *allocator; // that the call takes out of force
};

// `what` is a literal, for messages.
void braid_inside_begin(struct inside *inside, const char *what, const void *exec);
void braid_inside_end(const struct inside *inside);

// Errors: BRAID_WRONG_STATE inside any host call or kernel, and inside a queue call of
// `exec`.
braid_status braid_inside_check(const char *function, const void *exec);

// Whether this thread is inside a queue call.
bool braid_inside_is_queue_call(void);

// Whether memory is on the stack of the queue call that this thread is inside of: it is gone when
// the call returns.
bool braid_inside_has(const void *memory);

#endif
