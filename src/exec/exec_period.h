// SPDX-License-Identifier: Apache-2.0
// The time of each further frame while several are in flight, by the plan's times.
#ifndef BRAID_EXEC_EXEC_PERIOD_H
#define BRAID_EXEC_EXEC_PERIOD_H

#include "exec/exec.h"

// Plays frames through: nodes take the plan's times, and start behind the nodes that the program
// orders before them. A frame takes at least as long as all its work on a full device. Errors:
// BRAID_NO_MEMORY.
braid_status braid_exec_find_period(const braid_exec *exec, const braid_graph *graph,
                                    uint64_t *out_ns);

#endif
