// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a graph places, and makes the graph of what then has to be done.
#ifndef BRAID_PLACE_PLACE_H
#define BRAID_PLACE_PLACE_H

#include "graph/placed.h"

// Places a graph on the devices of options->places, of which there are two or more. Every node is
// where it says, its memory lets it be, or by the options the frame is shortest: never longer than
// on one device alone, if that is allowed. Errors: those of braid_schedule_create.
braid_status braid_graph_place(const braid_graph *graph, const braid_schedule_options *options,
                               struct placed **out_placed);

#endif
