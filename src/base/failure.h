// SPDX-License-Identifier: Apache-2.0
// The failure of a device, which stays failed from then on: its first message is kept.
#ifndef BRAID_BASE_FAILURE_H
#define BRAID_BASE_FAILURE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

// All zeros: nothing has failed. Any thread may note a failure and ask for it.
struct failure {
    atomic_int state; // enum failure_state
    char message[ERROR_MESSAGE_BYTES];
};

enum failure_state { FAILURE_NONE, FAILURE_BEING_NOTED, FAILURE_NOTED };

// Keeps this thread's error message, unless there is a failure already.
void braid_failure_note(struct failure *failure);

static inline bool failure_is_noted(const struct failure *failure)
{
    return atomic_load_explicit(&failure->state, memory_order_acquire) == FAILURE_NOTED;
}

#endif
