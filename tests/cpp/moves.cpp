// SPDX-License-Identifier: Apache-2.0
// Moves in C++: an object moved onto itself stays, and one that was moved away is refused.
#include <braid/braid.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static void add_to_each(const braid_blocks &blocks, int *to, int term)
{
    for (std::uint64_t i = blocks.begin; i < blocks.end; i++)
        to[i] += term;
}

static braid::exec make_exec(braid::device &device, std::shared_ptr<std::atomic<int>> counter)
{
    auto graph = braid::graph::create();
    auto host = graph.host(braid::task("host"), [counter] { ++*counter; });
    graph.add(braid::kernel("lambda", [counter](const braid_blocks &) { *counter += 10; }), 1,
              braid::task().after(host));
    return braid::exec::create(device, graph);
}

static void objects_moved_onto_themselves_stay(braid::device &device)
{
    auto counter = std::make_shared<std::atomic<int>>(0);
    braid::exec exec = make_exec(device, counter);
    auto &same_exec = exec;
    exec = std::move(same_exec);
    expect(counter.use_count() == 3);
    exec.launch();
    exec.wait();
    expect(*counter == 11);
    std::swap(exec, same_exec);
    expect(counter.use_count() == 3);

    auto graph = braid::graph::create();
    auto list = graph.resource("list");
    graph.host(braid::task("call"), [counter] {});
    auto &same_graph = graph;
    graph = std::move(same_graph);
    expect(graph.num_nodes() == 1 && graph.kept().size() == 1 && counter.use_count() == 4);
    auto task = braid::task("task").writes(list).after(graph.node(0));
    auto &same_task = task;
    task = std::move(same_task);
    expect(task.options().num_accesses == 1 && task.options().num_after == 1);
    auto memory = device.allocate<int>(1);
    auto &same_memory = memory;
    memory = std::move(same_memory);
    expect(memory.data() && memory.size() == 1);
}

// What was moved away answers as C does to NULL.
static void moved_objects_are_refused(braid::device &device)
{
    braid::checked::graph graph = std::move(*braid::checked::graph::create());
    braid::checked::graph other = std::move(graph);
    expect(graph.host(braid::task("call"), [] {}).status() == BRAID_INVALID_ARGUMENT);
    expect(graph
               .queue_call(braid::task("graph"),
                           [](braid_device *, braid_stream *) { return BRAID_OK; })
               .status() == BRAID_INVALID_ARGUMENT);
    braid::kernel kernel("add", add_to_each);
    int number = 0;
    expect(graph.add(kernel, 1, braid::task("kernel"), &number, 1).status() ==
           BRAID_INVALID_ARGUMENT);
    expect(!graph.empty(braid::task("empty")) && !graph.buffer("b", &number, sizeof(number)));
    expect(braid::checked::exec::create(device, graph).status() == BRAID_INVALID_ARGUMENT);
    bool ran = false;
    expect(!!other.host(braid::task("call"), [&ran] { ran = true; }));
    auto exec = std::move(*braid::checked::exec::create(device, other));
    auto elsewhere = std::move(exec);
    expect(!exec.launch() && !exec.wait() && exec.num_launched() == 0);
    expect(!!elsewhere.launch());
    auto &same = elsewhere;
    elsewhere = std::move(same);
    expect(!!elsewhere.wait() && ran);
    exec = std::move(elsewhere);
    expect(!!exec.launch() && !!exec.wait());
}

int main()
{
    auto device = braid::device::open("cpu", 2);
    objects_moved_onto_themselves_stay(device);
    moved_objects_are_refused(device);
    return 0;
}
