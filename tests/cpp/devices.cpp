// SPDX-License-Identifier: Apache-2.0
// Devices in C++: they are listed without being opened, and their memory becomes a buffer of a
// graph in one call, or is shared by execs.
#include <braid/braid.hpp>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static void memory_becomes_a_buffer(braid::device &device)
{
    std::vector<int> numbers(100);
    std::iota(numbers.begin(), numbers.end(), 0);
    const int pairs[2][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } };
    braid::kernel add("add", [](const braid_blocks &blocks, int *to, const int *from, int term) {
        for (auto i = blocks.begin; i < blocks.end; i++)
            to[i] = from[i] + term;
    });
    auto graph = braid::graph::create();
    auto [memory, input] = graph.device_buffer(device, "numbers", numbers);
    auto sums = graph.device_buffer<int>(device, "sums", 100);
    auto both = graph.device_buffer(device, "pairs", pairs);
    static_assert(std::is_same_v<decltype(both.memory), braid::memory<int>>);
    expect(memory.size() == 100 && both.memory.size() == 8 && both.memory[6] == 7);
    numbers.assign(100, -1); // the device has a copy
    graph.kernel(add, 100, braid::out(sums.resource), braid::in(input), 5);
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(sums.memory[0] == 5 && sums.memory[99] == 104 && memory[99] == 99);
}

static void managed_memory_moves(braid::device &device)
{
    auto memory = device.allocate<int>(64, BRAID_MEMORY_MANAGED);
    auto graph = braid::graph::create();
    auto numbers = graph.buffer("numbers", memory);
    auto before = graph.queue_call(braid::task("move"), braid::prefetch(memory));
    auto fill = graph.fill(braid::task("fill").writes(numbers).after(before), numbers, 7, 64);
    graph.queue_call(braid::task("back").after(fill), braid::prefetch(memory, true));
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(memory[63] == 7);
}

static void memory_that_is_not_made_is_an_error(braid::device &device)
{
    auto graph = braid::checked::graph::create();
    expect(graph->device_buffer(device, "none", std::vector<int>()).status() ==
           BRAID_INVALID_ARGUMENT);
    expect(graph->device_buffer<double>(device, "vast", SIZE_MAX).status() != BRAID_OK);
    auto made = graph->device_buffer(device, "made", std::array<float, 2>{ 1, 2 });
    expect(made && made->memory[1] == 2 && made->resource.index == 0);
}

static void devices_are_listed(const braid::device &device)
{
    const braid_device_info info = device.info();
    auto found = braid::device::list("cpu");
    expect(found.size() == 1 && std::strcmp(found[0].name, info.name) == 0);
    expect(found[0].memory_bytes == info.memory_bytes && found[0].ordinal == 0);
    auto all = braid::device::list();
    expect(std::strcmp(all.back().backend, "cpu") == 0);
    auto none = braid::checked::device::list("abacus");
    expect(none.status() == BRAID_INVALID_ARGUMENT);
}

// ---- host memory by functions of the program ----

static std::atomic<long> num_live{ 0 }, num_made{ 0 };

static void *allocate(std::size_t bytes, std::size_t alignment, void *user)
{
    expect(user == &num_live);
    num_made++;
    num_live++;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release(void *memory, std::size_t, std::size_t, void *)
{
    num_live--;
    std::free(memory);
}

static void *reallocate(void *memory, std::size_t old_bytes, std::size_t bytes,
                        std::size_t alignment, void *user)
{
    void *moved = allocate(bytes, alignment, user);
    std::memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    release(memory, old_bytes, alignment, user);
    return moved;
}

static void execs_share_memory(braid::device &device)
{
    auto pool = braid::memory_pool::create(device, 4096);
    auto graph = braid::graph::create();
    auto word = graph.transient<int>("word", 1);
    graph.fill(braid::task("fill").writes(word), word, 3, 1);
    braid_exec_options options = {};
    options.pool = pool;
    auto one = braid::exec::create(device, graph, options);
    auto other = braid::exec::create(device, graph, options);
    auto info = pool.info();
    expect(info.bytes == 4096 && info.num_execs == 2 && info.num_blocks == 1 &&
           info.unshared_bytes > 0);
    pool = braid::memory_pool::create(device);
    one.launch();
    other.launch();
    other.wait();
    expect(one.done() && pool.info().bytes == 0);
}

static void a_device_takes_an_allocator()
{
    const braid_allocator allocator = { allocate, reallocate, release, &num_live };
    braid_device_options options = {};
    options.backend = "cpu";
    options.num_workers = 2;
    options.allocator = &allocator;
    {
        auto device = braid::device::open(options);
        memory_becomes_a_buffer(device);
        execs_share_memory(device);
        expect(num_made > 0 && num_live > 0);
    }
    expect(num_live == 0);
}

int main()
{
    a_device_takes_an_allocator();
    auto device = braid::device::open("cpu", 2);
    devices_are_listed(device);
    memory_becomes_a_buffer(device);
    managed_memory_moves(device);
    memory_that_is_not_made_is_an_error(device);
    execs_share_memory(device);
    return 0;
}
