// SPDX-License-Identifier: Apache-2.0
// Replicas of an exec that outlive its frames: their memory, and filling them.
#ifndef BRAID_EXEC_EXEC_KEPT_H
#define BRAID_EXEC_EXEC_KEPT_H

#include "exec/exec.h"

// Allocates them, where the placed graph has any, before frames are made; all are then to be
// filled. Errors: of allocate, those of braid_exec_create.
braid_status braid_exec_allocate_kept(braid_exec *exec);
void braid_exec_free_kept_replicas(braid_exec *exec);

#endif
