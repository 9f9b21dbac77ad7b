// SPDX-License-Identifier: Apache-2.0
// A shape as a Braid graph, for the players that need a plan.
#ifndef BRAID_BENCH_REPLAY_GRAPH_H
#define BRAID_BENCH_REPLAY_GRAPH_H

#include <braid/braid.h>

#include "replay.h"

// Node i of the graph is node i of the shape and runs the body.
braid_graph *replay_graph_create(const struct replay_shape *shape, const struct replay_body *body);
// Ends the program with Braid's message if the call failed.
void replay_check(braid_status status);

#endif
