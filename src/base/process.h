// SPDX-License-Identifier: Apache-2.0
// Whether an object was made by this process, or by one that this process is a fork of.
//
// A child has a copy of all memory of its parent, but no thread and no device of it. So an object
// knows the number of the process that made it, and a destructor does nothing in another.
#ifndef BRAID_BASE_PROCESS_H
#define BRAID_BASE_PROCESS_H

#include <stdint.h>

#include <braid/status.h>

// From then on each fork gives the child another number. Errors: BRAID_NO_MEMORY.
braid_status braid_process_watch(void);

// Returns the number of this process.
uint32_t braid_process_number(void);

#endif
