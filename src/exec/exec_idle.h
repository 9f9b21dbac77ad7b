// SPDX-License-Identifier: Apache-2.0
// Nodes that rest in the frames in which parameters disable all that need them.
#ifndef BRAID_EXEC_EXEC_IDLE_H
#define BRAID_EXEC_EXEC_IDLE_H

#include "exec/exec.h"

// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_idle_create(braid_exec *exec);

// Keeps the nodes at work that the player cannot disable, with all that these need, once frames are
// made. Errors: BRAID_NO_MEMORY.
braid_status braid_exec_idle_keep(braid_exec *exec);

// With the lock held, before a slot takes the values that were set. Disables the nodes that nothing
// needs with these, and enables the others again.
void braid_exec_idle_update(braid_exec *exec);

#endif
