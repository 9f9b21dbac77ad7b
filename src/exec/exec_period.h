// SPDX-License-Identifier: Apache-2.0
// What each further frame takes while several are in flight, by the plan's times.
#ifndef BRAID_EXEC_EXEC_PERIOD_H
#define BRAID_EXEC_EXEC_PERIOD_H

#include "exec/exec.h"

// Plays frames through: nodes take what the plan says, and start behind what the program orders
// them behind. So long as the device is not full: then all that it must run takes longer.
// Errors: BRAID_NO_MEMORY.
braid_status braid_exec_find_period(const braid_exec *exec, const braid_graph *graph,
                                    uint64_t *out_ns);

#endif
