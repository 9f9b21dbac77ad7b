// SPDX-License-Identifier: Apache-2.0
// A part that plans a graph, with no device.
#include "book.h"

static const braid_kernel load = { .name = "load", .cpu = do_nothing };
static const braid_kernel blur = { .name = "blur", .cpu = do_nothing };
static const braid_kernel edges = { .name = "edges", .cpu = do_nothing };
static const braid_kernel merge = { .name = "merge", .cpu = do_nothing };

int main(void)
{
    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    // here
    braid_graph_destroy(graph);
    return 0;
}
