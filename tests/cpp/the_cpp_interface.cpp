// SPDX-License-Identifier: Apache-2.0
// The C++ interface on the CPU: every kind of node, lambdas with captures that outlive the graph,
// typed arguments, failures as exceptions and as values.
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

static const braid_cost_model free_costs = {};
static const braid_schedule_options free_plan = { nullptr, &free_costs, nullptr, 0, false, false };

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

static void kernels_say_how_they_are_compiled()
{
    braid::kernel<void(float *)> kernel("scale");
    kernel.source("text").name_expression("scale<float>");
    for (int i = 0; i < 20; i++) // more than a vector has room for at first
        kernel.option("-DN" + std::to_string(i)).include_folder("/folder" + std::to_string(i));
    kernel.header("a.h", "text a").header("b.h", "text b");
    const braid_kernel *made = kernel.get();
    expect(made->num_options == 20 && made->num_include_folders == 20 && made->num_headers == 2);
    expect(std::strcmp(made->options[0], "-DN0") == 0);
    expect(std::strcmp(made->include_folders[19], "/folder19") == 0);
    expect(std::strcmp(made->headers[0].name, "a.h") == 0);
    expect(std::strcmp(made->headers[1].text, "text b") == 0);
    expect(std::strcmp(made->name_expression, "scale<float>") == 0);
    expect(braid::error(BRAID_DEVICE_ERROR, "none").details().empty());
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
    graph.fill(braid::task("fill").writes(values), memory.data(), 1.5f, 4, { 2, 0, 16, 0, 0, 0 });
    graph.copy(braid::task("copy").reads(half).writes(copied), results, memory.data(), 8,
               { 2, 0, 8, 8, 0, 0 });
    auto queued = graph.queue_call(braid::task("graph").reads(copied),
                                   [&called](braid_device *, braid_stream *) {
                                       called = true;
                                       return BRAID_OK;
                                   });
    auto empty = graph.empty(braid::task("end"));
    graph.edge(queued, empty);
    braid_exec_options options = {};
    options.mode = BRAID_MODE_STREAMS;
    auto exec = braid::exec::create(device, graph, options);
    exec.launch(stream);
    stream.wait();
    expect(results[3] == 1.5f && results[4] == 0 && memory[7] == 1.5f && called);
    expect(exec.info().mode == BRAID_MODE_STREAMS);
}

static void nodes_take_memory_of_the_frame(braid::device &device)
{
    int source[4] = { 1, 2, 3, 4 }, result[4] = {};
    braid::kernel add("add", add_to_each);
    auto graph = braid::graph::create();
    auto buffer = graph.transient("buffer", sizeof(source));
    auto back = graph.range(buffer, 8, 8);
    auto spare = graph.scratch("spare", 4);
    auto end = graph.buffer("result", result);
    graph.copy(braid::task("load").writes(buffer), buffer, source, sizeof(source));
    graph.fill(braid::task("fill").writes(back), back, 7, 2);
    graph.add(add, 4, braid::task("add").updates(buffer), buffer, 10);
    graph.host(braid::task("call").updates(buffer), buffer,
               [](void *user) { static_cast<int *>(user)[0] = 99; });
    graph.host(braid::task("own"), spare, [](void *user) { *static_cast<int *>(user) = 1; });
    graph.copy(braid::task("save").reads(buffer).writes(end), result, buffer, sizeof(result));
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(result[0] == 99 && result[1] == 12 && result[2] == 17 && result[3] == 17);
    auto states = graph.versioned("state", 4, 2);
    expect(graph.earlier(states).graph == states.graph);
}

static void arguments_say_what_kernels_do(braid::device &device)
{
    std::vector<int> numbers = { 1, 2, 3, 4 };
    int sums[4] = {};
    braid::kernel scale("scale", [](const braid_blocks &blocks, int *to, const int *from, int by) {
        for (auto i = blocks.begin; i < blocks.end; i++)
            to[i] = from[i] * by;
    });
    braid::kernel add("add", [](const braid_blocks &blocks, int *to, const int *from, int *old) {
        for (auto i = blocks.begin; i < blocks.end; i++)
            to[i] += from[i] + (old[i] += 1);
    });
    using braid::in, braid::out, braid::inout;
    auto graph = braid::graph::create();
    auto input = graph.buffer("numbers", numbers), sum = graph.buffer("sums", sums);
    auto scaled = graph.transient<int>("scaled", 4);
    auto count = graph.versioned<int>("count", 4, 2);
    auto untyped = graph.range(sum, 0, sizeof(sums));
    auto list = graph.slots("list", 1);
    graph.fill(braid::task("begin").writes(count).excludes(list), count, 10, 4);
    auto first = graph.kernel(scale, 4, out(scaled), in(input), 3);
    auto second = graph.kernel(add, 4, braid::task("named").excludes(list), inout(untyped),
                               in(scaled), inout(count));
    auto last = graph.kernel(add, 4, inout(sum), in(graph.earlier(count)), inout(count));
    auto schedule = braid::schedule::plan(graph, free_plan);
    expect(schedule.explain(first, second).find("scaled (written by scale") != std::string::npos);
    expect(schedule.explain(second, last).find("data in sums") != std::string::npos);
    expect(std::strcmp(graph.name(second), "named") == 0);
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(sums[0] == 3 + 11 + 0 + 12 && sums[3] == 12 + 11 + 12);
    exec.set_arg<2>(first, 1);
    exec.launch();
    exec.wait();
    expect(sums[0] == 26 + 1 + 11 + 12 + 12);
    auto large = braid::checked::graph::create();
    expect(!large->transient<int>("large", UINT64_MAX) && !large->scratch<int>("none", 0));
}

static void frames_change(braid::device &device)
{
    int sums[8] = {}, ends[2][4] = {};
    std::uint32_t counts[3] = { 2, 1, 1 };
    braid::kernel add("add", add_to_each);
    auto graph = braid::graph::create();
    auto sum = graph.buffer("sums", sums), end = graph.buffer("ends", ends);
    auto counted = graph.buffer("counts", counts);
    auto step = graph.parameter<int>("step");
    auto node = graph.add(add, 4, braid::task("add").updates(sum), sums, 1);
    graph.use<1>(step, node);
    auto copy = graph.copy(braid::task("copy").reads(sum).writes(end), ends[0], sums, 16);
    auto fill = graph.fill(braid::task("fill").writes(end), ends[1], 5, 4);
    braid::kernel add_few("add few", add_to_each);
    auto few = graph.add(add_few, braid::shape(4).from(counts),
                         braid::task("few").updates(sum).reads(counted), sums, 100);
    auto exec = braid::exec::create(device, graph);
    exec.set_enabled(few, false);
    exec.set_parameter(step, 2);
    exec.launch();
    exec.wait();
    expect(sums[3] == 2 && ends[0][3] == 2 && ends[1][3] == 5);
    exec.launch_many(2, nullptr, { braid::rows(step, std::vector<int>{ 10, 100 }) });
    exec.wait_frame(2);
    expect(exec.wait_for(0) && exec.wait_for(0, 2));
    expect(sums[3] == 112 && exec.num_launched() == 3);
    exec.set_grid(node, { 1, 1, 1 });
    exec.set_copy(copy, ends[1], nullptr, 8);
    exec.set_fill(fill, ends[0], 6, 2);
    exec.set_enabled(few, true);
    exec.set_args(few, sums, 1000);
    exec.launch();
    exec.wait();
    expect(sums[0] == 112 + 100 + 1000 && sums[1] == 112 + 1000 && sums[2] == 112);
    expect(ends[0][1] == 6 && ends[0][2] == 112 && ends[1][0] == 212 && ends[1][2] == 5);
}

static void grids_without_blocks_run_nothing(braid::device &device)
{
    int sums[16] = {};
    std::vector<int> none;
    braid::kernel add("add", add_to_each);
    auto graph = braid::graph::create();
    auto sum = graph.buffer("sums", sums);
    auto size = static_cast<std::uint32_t>(none.size());
    auto rows = graph.parameter<std::uint32_t>("rows");
    auto first = graph.add(add, size, braid::task("first").updates(sum), sums, 1);
    auto second = graph.add(add, braid::shape({ 4, size }, { 1, 1, 1 }).all_at_once(),
                            braid::task("second").updates(sum), sums, 10);
    graph.use(rows, second, BRAID_TARGET_GRID_Y);
    graph.add(add, braid::shape(braid_dim3{ 2, 0, 0 }, {}), braid::task("third").updates(sum), sums,
              100);
    graph.add(add, braid::shape(), braid::task("fourth").updates(sum), sums, 1000);
    auto exec = braid::exec::create(device, graph);
    auto run = [&] {
        std::fill(std::begin(sums), std::end(sums), 0);
        exec.launch();
        exec.wait();
    };
    run();
    expect(sums[0] == 1100 && sums[1] == 100 && sums[2] == 0);
    exec.set_grid(first, { 3, 2 });
    exec.set_parameter(rows, 2u);
    run();
    expect(sums[0] == 1111 && sums[5] == 11 && sums[6] == 10 && sums[7] == 10 && sums[8] == 0);
    exec.set_grid(first, { 3, size });
    exec.set_parameter(rows, size);
    run();
    expect(sums[0] == 1100 && sums[1] == 100 && sums[2] == 0);
}

static void pointers_into_buffers_need_an_access()
{
    std::vector<int> numbers(8), others(8);
    braid::kernel move("move", [](const braid_blocks &, int *, std::uintptr_t) {});
    auto graph = braid::graph::create();
    auto from = graph.buffer("numbers", numbers), to = graph.buffer("others", others);
    auto number = reinterpret_cast<std::uintptr_t>(others.data());
    graph.add(move, 1, braid::task().updates(from), numbers.data() + 1, number);
    braid::schedule::plan(graph, free_plan);
    graph.add(move, 1, braid::task("careless").reads(to), numbers.data() + 1, number);
    bool is_refused = false;
    try {
        braid::schedule::plan(graph, free_plan);
    } catch (const braid::error &error) {
        is_refused = std::strstr(error.what(), "'careless': argument 0 is an address in buffer");
    }
    expect(is_refused);
}

static void times_and_costs_are_read(braid::device &device)
{
    auto graph = braid::graph::create();
    auto first = graph.host(braid::task("first"), [] {});
    auto second = graph.host(braid::task("second").after(first), [] {});
    expect(graph.num_nodes() == 2 && graph.node(1).index == 1);
    expect(std::strcmp(graph.name(second), "second") == 0);
    braid_exec_options options = {};
    options.frames_kept = 2;
    auto exec = braid::exec::create(device, graph, options);
    exec.measure(graph);
    const braid_timings timings = exec.timings();
    expect(timings.frames_kept == 2 && timings.num_nodes == 2);
    expect(timings.frames[1].launch.start_ns <= timings.frames[1].launch.end_ns);
    expect(timings.nodes[first.index].time.median_ns <= timings.nodes[first.index].time.most_ns);
    expect(timings.nodes[first.index].timed_by != BRAID_TIMED_NOT &&
           timings.lanes[0].num_nodes > 0);
    auto planned = exec.schedule(), same = planned;
    expect(planned.info().num_nodes == 2 && same.get() == planned.get());
    expect(planned.get() == braid_exec_get_schedule(exec) && planned.steps().size() >= 2);
    auto none = braid::checked::exec::create(device, *braid::checked::graph::create(), options);
    expect(none->timings()->num_waits == 0);
    auto schedule = braid::schedule::plan(graph, free_plan);
    expect(!schedule.explain().empty() && !schedule.explain(first).empty());
    expect(schedule.placement(second).lane == 0);
    std::FILE *file = std::tmpfile();
    schedule.write(BRAID_DRAWING_SVG, file);
    schedule.write(BRAID_DRAWING_TRACE, file);
    graph.write_dot(file);
    expect(std::ftell(file) > 1000);
    std::fclose(file);
    graph.save_costs(device, "/dev/null");
    bool is_refused = false;
    try {
        graph.load_costs("/dev/null");
    } catch (const braid::error &error) {
        is_refused = error.status() == BRAID_INVALID_ARGUMENT;
    }
    expect(is_refused && graph.digest() != 0);
    braid_tune_options quick = {};
    quick.budget_ns = 1000000;
    auto way = braid::exec::tune(device, graph, quick);
    braid::exec::create(device, graph, way).launch();
}

static void streams_work_by_themselves(braid::device &device)
{
    auto stream = braid::stream::create(device);
    auto begin = braid::event::create(device, true), end = braid::event::create(device, true);
    std::vector<int> heard;
    auto memory = device.allocate<int>(4);
    int copied[4] = {};
    begin.record(stream);
    stream.fill(memory.data(), 3, 4);
    stream.copy(copied, memory.data(), 4);
    stream.host([&heard, text = std::string("a capture that owns memory of its own")] {
        heard.push_back(static_cast<int>(text.size()));
    });
    end.record(stream);
    end.wait();
    expect(end.done() && stream.done() && begin.elapsed_ns(end) < UINT64_MAX);
    expect(device.default_stream() == braid_device_get_default_stream(device));
    expect(heard.size() == 1 && copied[3] == 3 && device.info().streams_live > 0);
}

// However long they are.
static void explanations_are_whole()
{
    enum { LONG = 3000 };
    auto named = braid::graph::create();
    auto list = named.resource("list");
    std::string first(LONG, 'a'), second(LONG, 'b');
    auto a = named.empty(braid::task(first.c_str()).writes(list));
    auto b = named.empty(braid::task(second.c_str()).writes(list));
    std::string text = braid::schedule::plan(named, free_plan).explain(a, b);
    expect(text.find(first) != std::string::npos && text.find(second) != std::string::npos);
}

static void plans_can_be_read()
{
    auto graph = braid::graph::create();
    auto list = graph.resource("list");
    auto a = graph.empty(braid::task("a").cost(1000).writes(list));
    auto b = graph.empty(braid::task("b").cost(1000).writes(list));
    auto schedule = braid::schedule::plan(graph, free_plan);
    schedule.verify(graph);
    auto copy = schedule;
    schedule = braid::schedule::plan(graph, free_plan);
    expect(copy.get() != schedule.get() && copy.info().num_nodes == 2);
    schedule = std::move(copy);
    expect(!copy.get() && schedule.info().num_nodes == 2);
    expect(schedule.steps().size() == 2 && schedule.steps()[0].node == a.index);
    expect(schedule.explain(a, b).find("list") != std::string::npos);
#if __cplusplus >= 202002L
    std::span<const braid_step> steps = schedule.steps();
    expect(steps.size() == 2);
#endif
}

static void several_devices_are_planned_for()
{
    std::vector<int> in(1000), out(1000);
    braid::kernel add("add", [](const braid_blocks &, int *, const int *) {});
    auto graph = braid::graph::create();
    auto from = graph.buffer("in", in), to = graph.buffer("out", out);
    graph.set_home(to, 2);
    auto node = graph.add(add, 1, braid::task("add").reads(from).writes(to).on(2), to, from);
    braid_place_model two = {};
    two.num_places = 2;
    two.link.latency_ns = 100;
    braid_schedule_options options = free_plan;
    options.places = &two;
    auto schedule = braid::schedule::plan(graph, options);
    expect(schedule.placement(node).place == 2 && schedule.info().num_copies == 1);
    expect(schedule.copies().begin()->to == 2 && schedule.copies().begin()->bytes == 4000);
}

static void several_devices_run_one_graph(braid::device &device)
{
    auto group = braid::device::open_group({ device, device });
    expect(group.info().num_members == 2 && group.info().place_model->num_places == 2);
    expect(group.info().place_model->links[1].is_direct);
    std::vector<int> numbers(2);
    auto graph = braid::graph::create();
    auto buffer = graph.buffer("numbers", numbers);
    braid::kernel add("add", add_to_each);
    for (std::uint32_t place = 0; place < 2; place++)
        graph.add(add, 2, braid::task().updates(buffer).on(place + 1), buffer, 1);
    auto exec = braid::exec::create(group, graph);
    exec.launch();
    exec.wait();
    expect(numbers[0] == 2 && numbers[1] == 2);
    auto none = braid::checked::device::open_group(std::vector<braid_device *>());
    expect(!none && none.status() == BRAID_INVALID_ARGUMENT);
}

static void loops_have_bodies(braid::device &device)
{
    std::uint32_t left = 4;
    int sum = 0;
    auto graph = braid::graph::create();
    braid_loop how = {};
    how.condition = graph.buffer("left", &left, sizeof left);
    how.most = 50;
    auto loop = graph.loop(braid::task("until 0"), how, [&] {
        graph.host(braid::task("less").updates(how.condition), [&left, &sum] {
            left--;
            sum += 2;
        });
    });
    auto exec = braid::exec::create(device, graph);
    exec.set_times(loop, 3);
    exec.launch();
    exec.wait();
    expect(left == 1 && sum == 6 && exec.iterations(loop) == 3);
    auto none = braid::checked::graph::create();
    expect(none->loop(braid::task(), braid_loop(), [] {}).status() == BRAID_INVALID_ARGUMENT);
}

static void branches_have_one_arm_or_two(braid::device &device)
{
    std::uint32_t which = 1;
    int first = 0, second = 0;
    auto graph = braid::graph::create();
    auto condition = graph.buffer("which", &which, sizeof which);
    auto add = [&](int &to) {
        return [&] { graph.host(braid::task().reads(condition), [&to] { to++; }); };
    };
    auto two = graph.branch(braid::task("two"), condition, add(first), add(second));
    graph.branch(braid::task("one"), condition, add(second));
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    exec.wait();
    expect(first == 1 && second == 1 && exec.iterations(two) == 1);
    which = 0;
    exec.launch();
    exec.wait();
    expect(first == 1 && second == 2 && exec.iterations(two) == 0);
}

static void failures_are_exceptions_or_values()
{
    auto graph = braid::graph::create();
    auto a = graph.empty(braid::task("one way")), b = graph.empty(braid::task("back").after(a));
    graph.edge(b, a);
    bool caught = false;
    try {
        braid::schedule::plan(graph, free_plan);
    } catch (const braid::error &error) {
        caught = error.status() == BRAID_CYCLE && std::strstr(error.what(), "one way");
    }
    expect(caught);
    auto schedule = braid::checked::schedule::plan(graph, free_plan);
    expect(!schedule && schedule.status() == BRAID_CYCLE);
    expect(schedule.message().find("one way") != std::string::npos);
    auto checked = braid::checked::graph::create();
    expect(checked && checked->empty(braid::task("fine")));
    expect(braid_graph_get_num_nodes(checked->get()) == 1);
}

int main()
{
    auto device = braid::device::open("cpu", 2);
    expect(std::strcmp(device.info().backend, "cpu") == 0);
    kernels_take_typed_arguments(device);
    kernels_say_how_they_are_compiled();
    execs_keep_what_they_run(device);
    every_kind_of_node_runs(device);
    nodes_take_memory_of_the_frame(device);
    arguments_say_what_kernels_do(device);
    frames_change(device);
    grids_without_blocks_run_nothing(device);
    pointers_into_buffers_need_an_access();
    times_and_costs_are_read(device);
    streams_work_by_themselves(device);
    plans_can_be_read();
    explanations_are_whole();
    several_devices_are_planned_for();
    several_devices_run_one_graph(device);
    loops_have_bodies(device);
    branches_have_one_arm_or_two(device);
    failures_are_exceptions_or_values();
    return 0;
}
