// SPDX-License-Identifier: Apache-2.0
// The C++ interface on the CPU: every kind of node, lambdas with captures that outlive the graph,
// typed arguments, failures as exceptions and as values, moves.
#include <braid/braid.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#if __cplusplus >= 202002L
#include <span>
#endif

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static void add_to_each(const braid_blocks &blocks, int *to, int term)
{
    for (std::uint64_t i = blocks.begin; i < blocks.end; i++)
        to[i] += term;
}

static void kernels_take_typed_arguments(braid::device &device)
{
    std::vector<int> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0);
    auto graph = braid::graph::create();
    auto buffer = graph.buffer("numbers", numbers);
    braid::kernel add("add", add_to_each);
    int factor = 3;
    braid::kernel multiply("multiply", [factor](const braid_blocks &blocks, int *to) {
        for (std::uint64_t i = blocks.begin; i < blocks.end; i++)
            to[i] *= factor;
    });
    auto first = graph.add(add, 100, braid::task("first").updates(buffer), numbers.data(), 1);
    graph.add(multiply, 100, braid::task().updates(buffer), numbers.data());
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(numbers[7] == (7 + 1) * 3);
    exec.set_arg<1>(first, 2);
    exec.launch();
    exec.wait();
    expect(exec.done());
    expect(numbers[7] == (24 + 2) * 3);
}

static braid::exec make_exec(braid::device &device, std::shared_ptr<std::atomic<int>> counter)
{
    auto graph = braid::graph::create();
    auto host = graph.host(braid::task("host"), [counter] { ++*counter; });
    graph.add(braid::kernel("lambda", [counter](const braid_blocks &) { *counter += 10; }), 1,
              braid::task().after(host));
    return braid::exec::create(device, graph);
}

static void execs_keep_what_they_run(braid::device &device)
{
    auto counter = std::make_shared<std::atomic<int>>(0);
    {
        braid::exec exec = make_exec(device, counter); // its graph and kernels are gone
        expect(counter.use_count() == 3);
        exec.launch();
        exec = make_exec(device, counter); // waits for the frame in flight
        expect(*counter == 11);
        exec.launch();
    }
    expect(*counter == 22);
    expect(counter.use_count() == 1);
}

static void every_kind_of_node_runs(braid::device &device)
{
    auto stream = braid::stream::create(device);
    auto memory = device.allocate<float>(8, BRAID_MEMORY_HOST);
    float results[8] = {};
    bool called = false;
    auto graph = braid::graph::create();
    auto values = graph.buffer("values", memory);
    auto copied = graph.resource("copied");
    auto half = graph.range(values, 0, 16);
    graph.fill(braid::task("fill").writes(values), memory.data(), 1.5f, 8);
    graph.copy(braid::task("copy").reads(half).writes(copied), results, memory.data(), 16);
    auto native = graph.native(braid::task("native").reads(copied),
                               [&called](braid_device *, braid_stream *) {
                                   called = true;
                                   return BRAID_OK;
                               });
    auto empty = graph.empty(braid::task("end"));
    graph.edge(native, empty);
    braid_exec_options options = {};
    options.mode = BRAID_MODE_STREAMS;
    auto exec = braid::exec::create(device, graph, options);
    exec.launch(stream);
    stream.synchronize();
    expect(results[3] == 1.5f && results[4] == 0 && memory[7] == 1.5f && called);
    expect(exec.info().mode == BRAID_MODE_STREAMS);
}

static void plans_can_be_read()
{
    auto graph = braid::graph::create();
    auto list = graph.resource("list");
    auto a = graph.empty(braid::task("a").cost(1000).writes(list));
    auto b = graph.empty(braid::task("b").cost(1000).writes(list));
    auto schedule = braid::schedule::plan(graph);
    schedule.verify(graph);
    expect(schedule.info().num_nodes == 2);
    expect(schedule.steps().size() == 2 && schedule.steps()[0].node == a.index);
    expect(schedule.explain(a, b).find("list") != std::string::npos);
#if __cplusplus >= 202002L
    std::span<const braid_step> steps = schedule.steps();
    expect(steps.size() == 2);
#endif
}

static void failures_are_exceptions_or_values()
{
    auto graph = braid::graph::create();
    auto a = graph.empty(braid::task("one way")), b = graph.empty(braid::task("back").after(a));
    graph.edge(b, a);
    bool caught = false;
    try {
        braid::schedule::plan(graph);
    } catch (const braid::error &error) {
        caught = error.status() == BRAID_CYCLE && std::strstr(error.what(), "one way");
    }
    expect(caught);
    auto schedule = braid::checked::schedule::plan(graph);
    expect(!schedule && schedule.status() == BRAID_CYCLE);
    expect(schedule.message().find("one way") != std::string::npos);
    auto checked = braid::checked::graph::create();
    expect(checked && checked->empty(braid::task("fine")));
    expect(braid_graph_num_nodes(checked->get()) == 1);
}

int main()
{
    auto device = braid::device::open("cpu", 2);
    expect(std::strcmp(device.info().backend, "cpu") == 0);
    kernels_take_typed_arguments(device);
    execs_keep_what_they_run(device);
    every_kind_of_node_runs(device);
    plans_can_be_read();
    failures_are_exceptions_or_values();
    return 0;
}
