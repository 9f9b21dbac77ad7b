// SPDX-License-Identifier: Apache-2.0
// Everything that can be seen of a graph, so that tests can tell whether a call changed it, and its
// access edges as text.
#ifndef BRAID_TESTS_GRAPH_STATE_H
#define BRAID_TESTS_GRAPH_STATE_H

#include <stddef.h>

#include <braid/graph.h>

// A text of the graph's counts, explicit edges, access edges, costs and names. Ends the test when
// it cannot be made; the caller frees it.
char *graph_state(const braid_graph *graph);

// The access edges, ordered by name: "load->blur read after write of image; ...". The caller frees
// it.
char *graph_links_text(const braid_graph *graph);

// Fails the test when the access edges are not exactly `expected`.
void check_links(const braid_graph *graph, const char *expected);

#endif
