// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a graph places, and makes the graph of nodes and copies to play.
#ifndef BRAID_PLAN_PLACES_PLACE_H
#define BRAID_PLAN_PLACES_PLACE_H

#include "graph/placed.h"

// Places a graph on the devices of options->places, of which there are two or more. A node is on
// the device that it names, or on one that its memory allows. By the options the frame is shortest:
// never longer than on one device alone, if that is allowed. Errors: those of
// braid_schedule_create.
braid_status braid_graph_place(const braid_graph *graph, const braid_schedule_options *options,
                               struct placed **out_placed);

#endif
