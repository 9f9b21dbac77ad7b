// SPDX-License-Identifier: Apache-2.0
// A part with three kernels as PTX, a graph, and three buffers.
#include "book.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"
#define BEGIN(name) ".visible .entry " name "(.param .u64 from, .param .u64 to)\n{\n"
#define LOAD "ld.param.u64 %rd0, [from];\nld.param.u64 %rd1, [to];\nld.global.f32 %f0, [%rd0];\n"

static const char steps[] =
    HEAD BEGIN("blur") LOAD "st.global.f32 [%rd1], %f0;\nret;\n}\n" BEGIN("gather") LOAD
    "ld.global.u64 %rd2, [%rd0];\nst.global.f32 [%rd2], %f0;\nret;\n}\n";

static char memory[3][64];

int main(void)
{
    braid_graph *graph;
    braid_schedule *schedule;
    braid_resource x, y, z;
    char text[300];
    const braid_cost_model free = { 0 };
    CHECK(braid_graph_create(&graph));
    CHECK(braid_graph_add_buffer(graph, "x", memory[0], 64, &x));
    CHECK(braid_graph_add_buffer(graph, "y", memory[1], 64, &y));
    CHECK(braid_graph_add_buffer(graph, "z", memory[2], 64, &z));
    // here
    braid_graph_destroy(graph);
    return 0;
}
