// SPDX-License-Identifier: Apache-2.0
// What is put on places as a whole: bundles, and loops and branches with all that is in them.
#ifndef BRAID_PLACE_PLACE_UNITS_H
#define BRAID_PLACE_PLACE_UNITS_H

#include <braid/schedule.h>

#include "graph/graph.h"

// Makes a graph of the same nodes in which each loop or branch of the root is a bundle with all
// nodes inside, and has their expected time. NULL: the graph has none, and is this graph itself.
// Errors: those of braid_schedule_create.
braid_status braid_place_units_create(const braid_graph *graph,
                                      const braid_schedule_options *options,
                                      braid_graph **out_units);

#endif
