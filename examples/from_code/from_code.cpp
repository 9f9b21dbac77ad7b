// SPDX-License-Identifier: Apache-2.0
// The step of from_code.c in C++: arguments without in(), out() or inout() leave their accesses to
// the kernel's code. from_code_cpp [PICTURE]
#include <braid/braid.hpp>

#include "../check.h"
#include "pond.h"

constexpr std::int32_t num = 1 << 14, threads = 256, frames = 20;
using field = std::vector<std::int32_t>;
using one_step = void(std::int32_t *, std::int32_t *, std::int32_t);
using last_step = void(std::int32_t *, const std::int32_t *, const std::int32_t *,
                       const std::int32_t *, std::int32_t);

template <class Signature> static braid::kernel<Signature> load(const char *name)
{
    braid_image image = {};
    image.data = pond_ptx;
    return braid::kernel<Signature>(name).cuda(image);
}

// The fields are containers: vectors here, or memory of a device.
template <class Field> static void add_step(braid::graph &graph, std::array<Field, 7> &fields)
{
    auto &[height, force, speed, white, heat, next, image] = fields;
    const braid::shape all({ num / threads }, { threads, 1, 1 });
    const auto one = [] { return braid::task().cost(1000); }; // all as long as each other
    graph.kernel(load<one_step>("slope"), all, one(), height, force, num);
    graph.kernel(load<one_step>("push"), all, one(), speed, force, num);
    graph.kernel(load<one_step>("rise"), all, one(), height, speed, num);
    graph.kernel(load<one_step>("foam"), all, one(), white, speed, num);
    graph.kernel(load<one_step>("warm"), all, one(), heat, next, num);
    graph.kernel(load<one_step>("cool"), all, one(), heat, next, num);
    graph.kernel(load<last_step>("draw"), all, one(), image, height, white, heat, num);
}

static void show(const braid::graph &graph, const char *picture)
{
    const braid_cost_model waits_are_free = {};
    braid_schedule_options options = {};
    options.costs = &waits_are_free;
    auto plan = braid::schedule::plan(graph, options);
    plan.verify(graph);
    const braid_schedule_info info = plan.info();
    std::printf("%u kernels on %u lanes: longest path %llu us, sum %llu us\n", info.num_nodes,
                info.num_lanes, static_cast<unsigned long long>(info.critical_path_ns / 1000),
                static_cast<unsigned long long>(info.work_ns / 1000));
    write_picture(plan.get(), picture);
}

static int run(braid::device &device, std::array<field, 7> &start, const char *picture)
{
    auto graph = braid::graph::create();
    auto stream = braid::stream::create(device);
    std::array<braid::memory<std::int32_t>, 7> fields;
    for (std::size_t i = 0; i < fields.size(); i++) {
        fields[i] = device.allocate<std::int32_t>(num);
        stream.copy(fields[i].data(), start[i].data(), num);
    }
    add_step(graph, fields);
    show(graph, picture);
    auto exec = braid::exec::create(device, graph);
    for (int frame = 0; frame < frames; frame++)
        exec.launch(stream);
    stream.copy(start[6].data(), fields[6].data(), num);
    stream.wait();
    std::int64_t sum = 0;
    for (std::int32_t point : start[6])
        sum += point;
    std::printf("%d frames: the picture adds up to %lld\n", frames, static_cast<long long>(sum));
    return sum == pond_sum ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    check_arguments(argc, argv, 1, "[PICTURE]");
    const char *picture = argc > 1 ? argv[1] : nullptr;
    std::array<field, 7> fields;
    fields.fill(field(num));
    for (std::int32_t i = 0; i < num; i++) {
        fields[0].at(i) = i % 4096 < 1024 ? 4000 : 0;
        fields[4].at(i) = i % 1000;
    }
    try {
        if (!braid::device::list("cuda").empty()) {
            auto device = braid::device::open("cuda");
            return run(device, fields, picture);
        }
        auto graph = braid::graph::create();
        add_step(graph, fields);
        show(graph, picture);
        std::printf("planned only: there is no CUDA here\n");
        return EXIT_SUCCESS;
    } catch (const braid::error &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return EXIT_FAILURE;
    }
}
