// SPDX-License-Identifier: Apache-2.0
// Reports in C++: the nodes that run, traps and exceptions; and plans in files.
#include <braid/braid.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

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
        is_told = std::strstr(error.what(), "'trapping' (cpu:0) trapped in frame 0: code 5");
    }
    expect(is_told);
    exec.wait();
}

struct no_exception {
};

// The text of a wait's exception, and of the one nested in it.
template <class Wait> static std::string told(Wait wait)
{
    try {
        wait();
    } catch (const braid::host_call_error &error) {
        try {
            std::rethrow_if_nested(error);
        } catch (const std::domain_error &nested) {
            return std::string(error.what()) + " < " + nested.what();
        } catch (const no_exception &) {
            return std::string(error.what()) + " < no_exception";
        }
    }
    return "";
}

static void a_wait_throws_what_calls_threw(braid::device &device)
{
    bool throws = true;
    auto graph = braid::graph::create();
    auto after = graph.host(braid::task("load"), [&throws] {
        if (throws)
            throw std::domain_error("no file");
    });
    bool went_on = false;
    graph.host(braid::task("next").after(after), [&went_on] { went_on = true; });
    auto exec = braid::exec::create(device, graph);
    auto other = braid::exec::create(device, graph);
    const char *line = "BRAID_TRAPPED: host call 'load' threw: no file < no file";
    exec.launch();
    expect(told([&] { exec.wait(); }) == line && went_on);
    exec.wait(); // it is told once
    exec.launch();
    expect(told([&] { exec.wait_frame(1); }) == line);
    exec.launch();
    expect(told([&] { static_cast<void>(exec.wait_for(1000000000)); }) == line);
    exec.launch();
    while (!exec.done()) {
    }
    expect(told([&] { other.wait(); }) == line); // the same graph has both
    exec.launch_many(2);
    expect(told([&] { exec.wait(); }) ==
           "BRAID_TRAPPED: host call 'load' threw: no file (and 1 more) < no file");
    throws = false;
    exec.launch();
    exec.wait();

    braid::kernel kernel("odd", [](const braid_blocks &, int) { throw no_exception(); });
    auto second = braid::checked::graph::create();
    expect(!!second->kernel(kernel, 1, braid::task("first"), 1));
    auto checked = braid::checked::exec::create(device, *second);
    expect(!!checked->launch());
    auto waited = checked->wait();
    expect(waited.status() == BRAID_TRAPPED);
    expect(waited.message() == "kernel 'odd' threw: an exception of another type");
    expect(!!checked->wait());

    auto stream = braid::stream::create(device);
    stream.host([] { throw std::domain_error("late"); });
    expect(told([&] { stream.wait(); }) ==
           "BRAID_TRAPPED: host call 'of a stream' threw: late < late");
    stream.wait();
}

static void what_a_trap_hides_the_next_wait_throws(braid::device &device)
{
    braid::kernel trapping("trapping",
                           [](const braid_blocks &, braid_trap *trap) { trap->code = 5; });
    auto graph = braid::graph::create();
    graph.add(trapping, 1, braid::task("trapping"), braid::trap());
    graph.host(braid::task("load"), [] { throw std::domain_error("no file"); });
    auto exec = braid::exec::create(device, graph);
    exec.launch();
    bool is_trap = false;
    try {
        exec.wait();
    } catch (const braid::host_call_error &) {
    } catch (const braid::error &) {
        is_trap = true;
    }
    expect(is_trap);
    expect(told([&] { exec.wait(); }) ==
           "BRAID_TRAPPED: host call 'load' threw: no file < no file");
}

static void a_frame_waits_for_an_eventfd(braid::device &device)
{
    const int fds[] = { eventfd(0, 0), eventfd(0, 0) };
    std::uint64_t count = 1;
    {
        auto go = braid::external::eventfd(device, fds[0], "go");
        auto done = braid::external::eventfd(device, fds[1]);
        auto graph = braid::graph::create();
        auto wait = go.wait(graph, braid::task());
        auto signal = done.signal(graph, braid::task("done").after(wait), 3);
        auto exec = braid::exec::create(device, graph);
        exec.launch();
        expect(!exec.done());
        expect(write(fds[0], &count, sizeof(count)) == sizeof(count));
        exec.wait();
        expect(read(fds[1], &count, sizeof(count)) == sizeof(count) && count == 3);
        bool is_refused = false;
        try {
            exec.set_external(signal, 1);
        } catch (const braid::error &error) {
            is_refused = error.status() == BRAID_INVALID_ARGUMENT;
        }
        expect(is_refused);
    }
    auto none = braid::checked::external::timeline(device, fds[0], "renderer");
    expect(none.status() == BRAID_UNSUPPORTED);
    expect(!braid::checked::external::word(device, nullptr));
    expect(!braid::checked::external::event(device, nullptr));
    expect(!braid::checked::external::semaphore(device, fds[0]));
    close(fds[0]);
    close(fds[1]);
}

static void an_access_without_a_declaration_is_found(braid::device &device)
{
#if defined(__x86_64__)
    alignas(4096) static int numbers[1024]; // sanitizers and counters have none of its page
    braid::kernel writing("writing",
                          [](const braid_blocks &, int *first) { first[0] = 1, first[2] = 1; });
    auto graph = braid::graph::create();
    auto first = graph.range(graph.buffer("numbers", numbers), 0, sizeof(int));
    graph.kernel(writing, 1, braid::inout(first));
    std::string text;
    braid_audit_options options = {};
    options.report = [](const braid_audit_finding *finding, void *user) {
        *static_cast<std::string *>(user) = finding->text;
    };
    options.user = &text;
    expect(braid::exec::audit(device, graph, options) == 1);
    expect(text == "node 0 'writing' writes byte 8 of 'numbers', which it does not declare");
#else
    (void)device;
#endif
}

static void nodes_without_an_order_are_found(braid::device &device)
{
#if defined(__x86_64__)
    alignas(4096) static int numbers[1024];
    auto graph = braid::graph::create();
    auto buffer = graph.buffer("numbers", numbers, sizeof(numbers));
    graph.host(braid::task("one").writes(buffer), [] { numbers[0] = 1; });
    graph.host(braid::task("two"), [] { numbers[0] = 2; });
    std::size_t num_orders = 0;
    braid_audit_options options = {};
    options.report = [](const braid_audit_finding *finding, void *user) {
        *static_cast<std::size_t *>(user) += finding->kind == BRAID_AUDIT_ORDER;
    };
    options.user = &num_orders;
    options.orders = true;
    expect(braid::exec::audit(device, graph, options) == 2);
    expect(num_orders == 1);
#else
    (void)device;
#endif
}

static void a_frame_is_captured(braid::device &device)
{
    int number = 0;
    auto graph = braid::graph::create();
    graph.buffer("number", &number, sizeof(number));
    braid_exec_options options = {};
    options.capture = true;
    auto exec = braid::exec::create(device, graph, options);
    std::uint64_t bytes = exec.capture();
    expect(bytes > 8 && exec.capture("/dev/null") == bytes);
}

// The CPU has no graphs that the program could launch.
static void a_plan_is_no_cuda_graph_on_the_cpu(braid::device &device)
{
    auto exec = braid::exec::create(device, braid::graph::create());
    bool is_refused = false;
    try {
        (void)exec.cuda_graph();
    } catch (const braid::error &error) {
        is_refused = error.status() == BRAID_UNSUPPORTED;
    }
    expect(is_refused);
}

// The deadline's callback lets the frame end.
static void a_frame_is_late(braid::device &device)
{
    struct late_frames {
        std::atomic<bool> are_told{ false };
        std::string name;
    } late;
    auto graph = braid::graph::create();
    graph.host(braid::task("held"), [&late] {
        while (!late.are_told)
            std::this_thread::yield();
    });
    braid_exec_options options = {};
    options.black_box = true;
    options.deadline_ns = 1000000;
    options.on_deadline = [](std::uint64_t frame, const braid_running_node *nodes,
                             std::size_t num_nodes, void *user) {
        auto &told = *static_cast<late_frames *>(user);
        told.name = frame == 0 && num_nodes == 1 ? nodes[0].name : "";
        told.are_told = true;
    };
    options.on_deadline_user = &late;
    auto exec = braid::exec::create(device, graph, options);
    exec.launch();
    for (bool has_ended = false; !has_ended;) {
        try {
            exec.wait();
            has_ended = true;
        } catch (const braid::error &error) {
            expect(error.status() == BRAID_TIMEOUT);
        }
    }
    expect(late.are_told);
    expect(late.name == "held" || late.name.empty());
}

// The tests of the C interface show that it works.
static void a_graph_is_imported(braid::device &device, void *captured)
{
    auto imported = braid::imported::create(device, captured, { /* no text */ });
    auto exec = braid::exec::create(device, imported);
    const char *const texts[] = { ".version 8.0\n.target sm_90\n.address_size 64\n" };
    braid_import_options options = {};
    options.reloaded = texts;
    options.num_reloaded = 1;
    expect(braid::imported::create(device, captured, options).info().num_reloadable == 0);
    expect(imported.info().num_unproven > 0);
    imported.update(captured, exec.get());
    imported.write(stdout, BRAID_IMPORT_JSON);
    imported.write(stdout, BRAID_IMPORT_PAGE);
    auto runner = braid::runner::create(device, imported);
    runner.launch();
    runner.wait();
    expect(runner.done());
    expect(std::string(runner.info().way) == "guessed costs" && !runner.chosen_exec());
}

// Empty, as no recorder stands here.
static void a_record_is_imported()
{
    const braid_record_contents record = {};
    const auto planned = braid::imported::create_recorded(record);
    expect(planned.info().num_nodes == 0);
    try {
        planned.restore();
        expect(false);
    } catch (const braid::error &error) {
        expect(error.status() == BRAID_INVALID_ARGUMENT);
    }
    try {
        (void)planned.memory_digest(0);
        expect(false);
    } catch (const braid::error &error) {
        expect(error.status() == BRAID_INVALID_ARGUMENT);
    }
    try {
        (void)braid::imported::create_recorded(record, 0);
        expect(false);
    } catch (const braid::error &error) {
        expect(error.status() == BRAID_INVALID_ARGUMENT);
    }
}

static void a_device_without_captures_is_refused(braid::device &device)
{
    int captured = 0;
    try {
        a_graph_is_imported(device, &captured);
        expect(false);
    } catch (const braid::error &error) {
        expect(error.status() == BRAID_UNSUPPORTED);
    }
}

static void a_plan_is_saved()
{
    const braid_cost_model costs = {};
    braid_schedule_options options = {};
    options.costs = &costs;
    char path[] = "/tmp/braid-plan-XXXXXX";
    close(mkstemp(path));
    auto graph = braid::graph::create(), equal = braid::graph::create();
    graph.empty(braid::task("a").cost(1000));
    equal.empty(braid::task("a").cost(1000));
    auto schedule = braid::schedule::plan(graph, options);
    schedule.save(graph, path);
    expect(braid::schedule::load(equal, path).info().num_steps == schedule.info().num_steps);
    unlink(path);
}

int main()
{
    auto device = braid::device::open("cpu", 2);
    a_frame_is_late(device);
    a_frame_is_captured(device);
    a_plan_is_no_cuda_graph_on_the_cpu(device);
    a_kernel_traps(device);
    a_wait_throws_what_calls_threw(device);
    what_a_trap_hides_the_next_wait_throws(device);
    a_frame_waits_for_an_eventfd(device);
    an_access_without_a_declaration_is_found(device);
    nodes_without_an_order_are_found(device);
    a_device_without_captures_is_refused(device);
    a_record_is_imported();
    a_plan_is_saved();
    return 0;
}
