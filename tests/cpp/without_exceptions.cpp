// SPDX-License-Identifier: Apache-2.0
// The C++ interface in a program built without exceptions: failures are values.
#include <braid/braid.hpp>

#include <cstdio>

static braid::expected<int> count(braid::checked::device &device)
{
    auto graph = braid::checked::graph::create();
    if (!graph)
        return braid::expected<int>::failed(graph.status());
    int count = 0;
    if (auto node = graph->host(braid::task(), [&count] { count++; }); !node)
        return braid::expected<int>::failed(node.status());
    auto exec = braid::checked::exec::create(device, *graph);
    if (!exec)
        return braid::expected<int>::failed(exec.status());
    for (int frame = 0; frame < 3; frame++)
        if (auto launched = exec->launch(); !launched)
            return braid::expected<int>::failed(launched.status());
    if (auto waited = exec->wait(); !waited)
        return braid::expected<int>::failed(waited.status());
    return count;
}

int main()
{
    auto missing = braid::checked::device::open("no such backend");
    if (missing || missing.message().find("no such backend") == std::string::npos)
        return 1;
    auto device = braid::checked::device::open("cpu");
    if (!device) {
        std::puts(device.message().c_str());
        return 1;
    }
    auto counted = count(*device);
    return counted && *counted == 3 ? 0 : 1;
}
