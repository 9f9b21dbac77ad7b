// SPDX-License-Identifier: Apache-2.0
// Deciding which tasks of an exec are launched early.
#ifndef BRAID_EXEC_EARLY_H
#define BRAID_EXEC_EARLY_H

#include "exec/exec.h"

// Sets starts_early of all kernel tasks for the exec's schedule and player, and counts them in its
// info. Errors: BRAID_NO_MEMORY, BRAID_DEVICE_ERROR.
braid_status braid_exec_choose_early(braid_exec *exec, const braid_graph *graph,
                                     const braid_exec_options *options);

#endif
