// SPDX-License-Identifier: Apache-2.0
// A plain resource or container among a kernel's arguments leaves its accesses to the code.
#include <braid/braid.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

// Macro for the line and the text.
#define expect(fact)                                                                               \
    ((fact) ? (void)0 : (std::printf("line %d does not hold: %s\n", __LINE__, #fact), std::exit(1)))

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".entry copy(.param .u64 from, .param .u64 to) {\n"
                          "ld.param.u64 %d0, [from];\nld.param.u64 %d1, [to];\n"
                          "ld.global.u32 %r0, [%d0];\nst.global.u32 [%d1], %r0;\nret;\n}\n"
                          ".entry follow(.param .u64 from, .param .u64 to) {\n"
                          "ld.param.u64 %d0, [from];\nld.global.u64 %d1, [%d0];\n"
                          "st.global.u32 [%d1], 1;\nret;\n}\n";

using two_pointers = void(const float *, float *);
static const braid_cost_model free_costs = {};
static const braid_schedule_options free_plan = { nullptr, &free_costs, nullptr, 0, false, false };

static braid::kernel<two_pointers> load(const char *name)
{
    braid_image image = {};
    image.data = ptx;
    return braid::kernel<two_pointers>(name).cuda(image);
}

static bool are_ordered(braid::graph &graph, braid_node first, braid_node second, const char *what)
{
    const auto explained = braid::schedule::plan(graph, free_plan).explain(first, second);
    return explained.find(std::string("ordered by data in ") + what) != std::string::npos;
}

static std::string failure_of(braid::graph &graph)
{
    try {
        braid::schedule::plan(graph, free_plan);
    } catch (const braid::error &error) {
        return error.what();
    }
    return "";
}

static void containers_become_buffers()
{
    auto graph = braid::graph::create();
    auto copy = load("copy");
    const std::vector<float> from(64);
    std::vector<float> middle(64), to(64);
    std::array<float, 64> beside = {};
    auto first = graph.kernel(copy, 4, from, middle);
    auto second = graph.kernel(copy, 4, middle, to);
    auto third = graph.add(copy, 4, braid::task("third"), from, beside);
    expect(are_ordered(graph, first, second, "array 1 (written by copy, read by copy)") ||
           are_ordered(graph, first, second, "array 1 (changed by copy, read by copy)"));
    expect(!are_ordered(graph, second, third, "array"));
    auto moved = braid::graph::create();
    moved = std::move(graph); // with the buffers that it knows
    auto fourth = moved.kernel(copy, 4, to, beside);
    expect(are_ordered(moved, third, fourth, "array 3"));
}

static void declared_buffers_are_found()
{
    auto graph = braid::graph::create();
    auto copy = load("copy");
    auto device = braid::device::open("cpu");
    std::vector<float> from(64), to(64);
    auto memory = graph.device_buffer(device, "memory", from);
    graph.buffer("from", from);
    auto named = graph.buffer("to", static_cast<void *>(to.data()), 256);
    auto first = graph.kernel(copy, 4, from, to);
    auto second = graph.kernel(copy, 4, named, memory.memory);
    expect(are_ordered(graph, first, second, "to"));
    expect(are_ordered(graph, second, graph.kernel(copy, 4, memory.resource, from), "memory"));
    struct half {
        explicit half(float *from) : begin(from)
        {
        }
        float *data() const
        {
            return begin;
        }
        std::size_t size() const
        {
            return 32;
        }
        float *begin;
    };
    auto third = graph.kernel(copy, 4, half(to.data() + 32), half(from.data()));
    expect(are_ordered(graph, first, third, "to"));
}

static void declared_accesses_are_compared()
{
    auto graph = braid::graph::create();
    auto copy = load("copy");
    std::vector<float> from(64), to(64);
    auto source = graph.buffer("from", from), target = graph.buffer("to", to);
    graph.kernel(copy, 4, braid::in(source), braid::out(target));
    graph.kernel(copy, 4, braid::task().reads(source).updates(target), from, to);
    expect(failure_of(graph).empty());
    graph.kernel(copy, 4, braid::task().reads(source).reads(target), source, target);
    expect(failure_of(graph).find("it declares to read 'to', and line 8") != std::string::npos);
}

static void code_use_may_be_said()
{
    auto graph = braid::graph::create();
    auto copy = load("copy");
    std::vector<float> from(64), to(64);
    auto source = graph.buffer("from", from), target = graph.buffer("to", to);
    auto first =
        graph.kernel(copy, braid::shape(4).code(BRAID_CODE_DECLARES), from.data(), to.data());
    auto second = graph.kernel(copy, braid::shape(4).code(BRAID_CODE_UNREAD),
                               braid::task().reads(source).reads(target), to.data(), from.data());
    expect(are_ordered(graph, first, second, "to"));
    graph.kernel(copy, braid::shape(4).code(BRAID_CODE_CHECKS), from, to);
    expect(failure_of(graph).find("declares no access") != std::string::npos);
}

static void what_code_does_not_tell_fails()
{
    auto graph = braid::checked::graph::create().value();
    auto follow = load("follow");
    std::vector<float> from(64), to(64), none;
    auto proven = graph.kernel(follow, 4, from, to);
    expect(!proven && proven.message().find("are not proven") != std::string::npos);
    expect(!graph.kernel(follow, 4, from, none));
    auto own = graph.scratch<float>("own", 64).value(), source = graph.buffer("from", from).value();
    expect(graph.kernel(follow, 4, braid::in(source), own).status() ==
           BRAID_OK); // it has no accesses
}

int main()
{
    containers_become_buffers();
    declared_buffers_are_found();
    declared_accesses_are_compared();
    code_use_may_be_said();
    what_code_does_not_tell_fails();
    return 0;
}
