// SPDX-License-Identifier: Apache-2.0
// Dividing an exec's plan into islands.
#ifndef BRAID_EXEC_ISLANDS_H
#define BRAID_EXEC_ISLANDS_H

#include "exec/exec.h"

// Divides the exec's schedule for a player, or takes a division back where the player, or the
// options, have none. A schedule of the program's stays as it is: the exec gets one of its own.
// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_divide(braid_exec *exec, const braid_exec_options *options,
                               const struct player *player);

#endif
