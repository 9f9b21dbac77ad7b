// SPDX-License-Identifier: Apache-2.0
// Ranks in C++: operations by their types, owned buffers, failures as exceptions. Two ranks run it.
#include <braid/braid.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static void run(braid::device &device, braid::graph &graph)
{
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
}

static void operations_have_types(braid::device &device, braid::communicator world)
{
    auto graph = braid::graph::create();
    auto all = graph.communicator(world);
    double mine = 1.0 + world.info().rank, sum = 0;
    int told = world.info().rank == 1 ? 7 : 0, sent = 5, got = 0;
    auto mines = graph.buffer("mine", &mine, sizeof(mine));
    auto sums = graph.buffer("sum", &sum, sizeof(sum));
    auto tolds = graph.buffer("told", &told, sizeof(told));
    graph.all_reduce<double>(braid::task("sum").reads(mines).writes(sums), all, mines, sums, 1);
    graph.broadcast<int>(braid::task("told").updates(tolds), all, tolds, 1, 1);
    if (world.info().rank == 0)
        graph.send<int>(braid::task("sent"), all, &sent, 1, 1, 3);
    else
        graph.receive<int>(braid::task("sent"), all, &got, 1, 0, 3);
    run(device, graph);
    expect(sum == 3.0 && told == 7 && got == (world.info().rank ? 5 : 0));
}

static void owners_send_what_others_read(braid::device &device, braid::communicator world)
{
    auto graph = braid::graph::create();
    auto all = graph.communicator(world);
    int first = 4, second = 0;
    bool is_first = world.info().rank == 0;
    auto a = graph.owned(all, 0, "a", is_first ? &first : nullptr, sizeof(first));
    auto b = graph.owned(all, 1, "b", is_first ? nullptr : &second, sizeof(second));
    braid::kernel twice("twice",
                        [](const braid_blocks &, int *to, const int *from) { *to = 2 * *from; });
    const auto what = braid::task().writes(b).reads(a);
    expect(graph.takes_part(what));
    auto node = graph.add(twice, 1, what, b, a);
    expect((node.index == BRAID_ELSEWHERE) == is_first);
    run(device, graph);
    expect(second == (is_first ? 0 : 8));
}

int main()
{
    auto ranks = braid::ranks::open();
    auto device = braid::device::open("cpu", 1);
    auto world = ranks.communicate("world");
    expect(ranks.info().num_ranks == 2 && world.info().num_ranks == 2 &&
           world.info().rank == ranks.info().rank);
    ranks.check();
    operations_have_types(device, world);
    owners_send_what_others_read(device, world);
    auto second = braid::checked::ranks::open();
    expect(!second && second.status() == BRAID_WRONG_STATE);
    {
        auto graph = braid::graph::create();
        graph.communicator(world);
        bool caught = false;
        try {
            ranks.close();
        } catch (const braid::error &error) {
            caught = std::strstr(error.what(), "'world'") != nullptr;
        }
        expect(caught);
    }
    ranks.close();
    return 0;
}
