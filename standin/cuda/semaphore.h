// SPDX-License-Identifier: Apache-2.0
// External semaphores as work uses them. All expect the world's lock to be held, but for the step.
#ifndef BRAID_STANDIN_SEMAPHORE_H
#define BRAID_STANDIN_SEMAPHORE_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda_abi.h"

CUexternalSemaphore semaphore_hold(CUexternalSemaphore semaphore);
void semaphore_drop(CUexternalSemaphore semaphore);

// Signals, or takes the value if it is there. False: it is not there yet.
bool semaphore_step(CUexternalSemaphore semaphore, uint64_t value, bool signals);

#endif
