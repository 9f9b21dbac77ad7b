// SPDX-License-Identifier: Apache-2.0
// The part that tells of traps, once their frames have ended.
#ifndef BRAID_EXEC_EXEC_TRAPS_H
#define BRAID_EXEC_EXEC_TRAPS_H

#include <braid/exec.h>

// Does nothing if no node has a trap. Behind the tasks. Errors: BRAID_NO_MEMORY,
// BRAID_DEVICE_ERROR.
braid_status braid_exec_add_traps(braid_exec *exec);
// Those of a slot, by number; NULL: there are none.
braid_trap *braid_exec_traps(const braid_exec *exec, uint32_t slot);

#endif
