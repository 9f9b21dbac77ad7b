// SPDX-License-Identifier: Apache-2.0
// Execs on several devices: the graph with its copies, and whether every device still works.
#ifndef BRAID_EXEC_EXEC_PLACES_H
#define BRAID_EXEC_EXEC_PLACES_H

#include "exec/exec.h"

// Makes the exec's graph on its places; exec->placed stays NULL if that is the program's graph.
// Errors: BRAID_UNSUPPORTED (a feature that several places do not have), BRAID_INVALID_ARGUMENT (a
// schedule for more places than there are), those of braid_graph_place.
braid_status braid_exec_place(braid_exec *exec, const braid_graph *graph,
                              const braid_exec_options *options);
// Adds the part by which waits ask whether the other devices still work. Errors: as lease_event.
braid_status braid_exec_add_probes(braid_exec *exec);

#endif
