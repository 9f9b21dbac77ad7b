// SPDX-License-Identifier: Apache-2.0
// Reports in C++: the nodes that run, and traps.
#include <braid/braid.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static void a_kernel_traps(braid::device &device)
{
    braid::kernel trapping("trapping",
                           [](const braid_blocks &, braid_trap *trap) { trap->code = 5; });
    auto graph = braid::graph::create();
    graph.add(trapping, 1, braid::task("trapping"), braid::trap());
    braid_exec_options options = {};
    options.black_box = true;
    auto exec = braid::exec::create(device, graph, options);
    expect(exec.running().empty() && exec.cancel());
    exec.launch();
    bool is_told = false;
    try {
        exec.wait();
    } catch (const braid::error &error) {
        is_told = std::strstr(error.what(), "'trapping' (cpu:0) trapped: code 5");
    }
    expect(is_told);
    exec.wait();
}

int main()
{
    auto device = braid::device::open("cpu", 2);
    a_kernel_traps(device);
    return 0;
}
