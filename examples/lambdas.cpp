// SPDX-License-Identifier: Apache-2.0
// C++: kernels and host calls are lambdas with captures, arguments have types, memory frees itself.
// The mean and the spread of some numbers are found at the same time, and the spread is halved
// until it is small. Give a file's name to get the plan's picture as DOT.
#include <braid/braid.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "check.h"

static int run(const char *picture)
{
    constexpr std::uint32_t num = 1 << 16;
    auto device = braid::device::open("cpu");
    auto numbers = device.allocate<float>(num);
    for (std::uint32_t i = 0; i < num; i++)
        numbers[i] = static_cast<float>(i % 1000);
    double mean = 0;
    float spread = 0;
    std::vector<float> history;

    // A kernel is a name and a function of the blocks to do and of arguments, whose types it keeps.
    braid::kernel shrink("shrink", [](const braid_blocks &blocks, float *values, float factor) {
        for (auto i = blocks.begin; i < blocks.end; i++)
            values[i] *= factor;
    });

    auto graph = braid::graph::create();
    auto values = graph.buffer("numbers", numbers);
    auto statistics = graph.resource("statistics");
    auto halve = graph.add(shrink, num, braid::task("halve").updates(values), numbers.data(), 0.5f);
    graph.host(braid::task("mean").reads(values).accumulates(statistics), [&] {
        double sum = 0;
        for (float value : numbers)
            sum += static_cast<double>(value);
        mean = sum / num;
    });
    graph.host(braid::task("spread").reads(values).accumulates(statistics), [&] {
        auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
        spread = *most - *least;
    });
    graph.host(braid::task("note").reads(statistics), [&] { history.push_back(spread); });

    auto exec = braid::exec::create(device, graph);
    do {
        exec.launch();
        exec.wait();
    } while (spread > 1.0f);
    exec.set_arg<1>(halve,
                    0.0f); // another type, or an argument that is not there: does not compile
    exec.launch();
    exec.wait();

    std::printf("%zu frames, spread %g at first and %g at last, mean %g\n", history.size(),
                static_cast<double>(history.front()), static_cast<double>(history.back()), mean);
    if (picture) {
        std::FILE *file = std::fopen(picture, "w");
        if (!file || braid_schedule_write(exec.schedule(), BRAID_DRAWING_DOT, NULL, file) ||
            std::fclose(file))
            return 1;
    }
    return history.size() == 11 && history.back() == 0 && mean == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    check_arguments(argc, argv, 1, "[PICTURE]");
    try {
        return run(argc > 1 ? argv[1] : nullptr);
    } catch (const braid::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
