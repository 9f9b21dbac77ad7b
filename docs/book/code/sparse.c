// SPDX-License-Identifier: Apache-2.0
// A part that plans loops with preludes, with no device.
#include "book.h"

static const braid_kernel clear_list = { .name = "clear_list", .cpu = do_nothing };
static const braid_kernel listgen = { .name = "listgen", .cpu = do_nothing };
static const braid_kernel p2g = { .name = "p2g", .cpu = do_nothing };
static const braid_kernel g2p = { .name = "g2p", .cpu = do_nothing };

int main(void)
{
    braid_graph *graph;
    CHECK(braid_graph_create(&graph));
    // here
    braid_graph_destroy(graph);
    return 0;
}
