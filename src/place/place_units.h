// SPDX-License-Identifier: Apache-2.0
// The units of placing: bundles, and loops and branches with all their nodes.
#ifndef BRAID_PLACE_PLACE_UNITS_H
#define BRAID_PLACE_PLACE_UNITS_H

#include <braid/schedule.h>

#include "graph/graph.h"

// Makes a graph of the same nodes. Each loop or branch of the root is a bundle in it, with all
// nodes inside, and has their expected time. NULL: the graph has none, and serves itself. Errors:
// those of braid_schedule_create.
braid_status braid_place_units_create(const braid_graph *graph,
                                      const braid_schedule_options *options,
                                      braid_graph **out_units);

#endif
