// SPDX-License-Identifier: Apache-2.0
// The recipes in C++, one behind the other. Each has a graph of its own.
#include <braid/braid.hpp>

#include <cstdio>
#include <vector>

// here

int main()
{
    auto device = braid::device::open("cpu");
    for (auto recipe : { reduction, read_back, simulate, simulate, substeps, choose_arms, diffusion,
                         render, decode }) {
        auto graph = braid::graph::create();
        recipe(device, graph);
    }
}
