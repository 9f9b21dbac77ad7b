// SPDX-License-Identifier: Apache-2.0
// Graphs in C++: buffers from containers, nodes from lambdas and typed kernels. Include braid.hpp.
#ifndef BRAID_CPP_GRAPH_HPP
#define BRAID_CPP_GRAPH_HPP

#include <braid/cpp/kernel.hpp>
#include <braid/cpp/result.hpp>
#include <braid/graph.h>

#include <array>
#include <cstdint>
#include <iterator>
#include <vector>

namespace braid
{

// What a node is named, costs, touches and stands behind: task("blur").reads(a).writes(b).
class task
{
  public:
    task(const char *name = nullptr)
    {
        options_.name = name;
    }

    task &reads(braid_resource resource)
    {
        return touches(resource, BRAID_READ);
    }
    task &writes(braid_resource resource)
    {
        return touches(resource, BRAID_WRITE);
    }
    task &updates(braid_resource resource)
    {
        return touches(resource, BRAID_READ_WRITE);
    }
    task &accumulates(braid_resource resource)
    {
        return touches(resource, BRAID_ACCUMULATE);
    }
    task &excludes(braid_resource resource)
    {
        return touches(resource, BRAID_EXCLUSIVE);
    }
    task &touches(braid_resource resource, braid_access_mode mode)
    {
        accesses_.push_back({ resource, mode });
        return *this;
    }
    task &after(braid_node node)
    {
        after_.push_back(node);
        return *this;
    }
    task &cost(std::uint64_t ns)
    {
        options_.cost_ns = ns;
        return *this;
    }
    task &lane(std::uint32_t hint)
    {
        options_.lane_hint = hint;
        return *this;
    }
    task &prelude_of(braid_node main)
    {
        options_.prelude_of = main;
        return *this;
    }
    task &epilogue_of(braid_node main)
    {
        options_.epilogue_of = main;
        return *this;
    }

    // Valid as long as the task, and until it changes.
    braid_node_options options() const
    {
        braid_node_options options = options_;
        options.after = after_.data();
        options.num_after = after_.size();
        options.accesses = accesses_.data();
        options.num_accesses = accesses_.size();
        return options;
    }

  private:
    braid_node_options options_ = {};
    std::vector<braid_node> after_;
    std::vector<braid_access> accesses_;
};

// How a kernel is launched: 64 is 64 blocks.
struct shape {
    braid_dim3 grid = {};
    braid_dim3 block = {};
    std::uint32_t shared_bytes = 0;
    std::int32_t priority = 0;
    braid_dim3 cluster = {};

    shape() = default;
    shape(std::uint32_t blocks) : grid{ blocks, 1, 1 }
    {
    }
    shape(braid_dim3 blocks, braid_dim3 threads, std::uint32_t shared = 0)
        : grid(blocks), block(threads), shared_bytes(shared)
    {
    }
};

// A kernel node that knows the types of its arguments, for basic_exec::set_arg.
template <class... Args> struct kernel_node : braid_node {
};

template <class Errors> class basic_graph
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_graph> create()
    {
        braid_graph *graph = nullptr;
        braid_status status = braid_graph_create(&graph);
        return Errors::template from<basic_graph>(status, [&] { return basic_graph(graph); });
    }

    result<braid_resource> buffer(const char *name, const void *address, std::uint64_t bytes)
    {
        braid_resource resource = {};
        braid_status status = braid_graph_add_buffer(get(), name, address, bytes, &resource);
        return Errors::template from<braid_resource>(status, [&] { return resource; });
    }
    // The elements of a vector, array, span or braid memory.
    template <class Container, class = decltype(std::data(std::declval<const Container &>()))>
    result<braid_resource> buffer(const char *name, const Container &elements)
    {
        return buffer(name, std::data(elements),
                      std::size(elements) * sizeof(*std::data(elements)));
    }
    result<braid_resource> range(braid_resource whole, std::uint64_t offset, std::uint64_t bytes)
    {
        braid_resource resource = {};
        braid_status status = braid_graph_add_range(get(), whole, offset, bytes, &resource);
        return Errors::template from<braid_resource>(status, [&] { return resource; });
    }
    result<braid_resource> resource(const char *name)
    {
        braid_resource resource = {};
        braid_status status = braid_graph_add_resource(get(), name, &resource);
        return Errors::template from<braid_resource>(status, [&] { return resource; });
    }

    // The values become the kernel's arguments: as many, each convertible to its type without
    // narrowing, or this does not compile.
    template <class... Args, class... Values>
    result<kernel_node<Args...>> add(const kernel<void(Args...)> &code, const shape &size,
                                     const task &what, Values &&...values)
    {
        static_assert(sizeof...(Args) == sizeof...(Values), "the kernel has other arguments");
        return add_arguments(code, size, what, Args{ std::forward<Values>(values) }...);
    }
    result<braid_node> copy(const task &what, void *to, const void *from, std::uint64_t bytes)
    {
        const braid_copy description = { what.options(), to, from, bytes, {}, {} };
        return added(&braid_graph_add_copy, description);
    }
    template <class T>
    result<braid_node> fill(const task &what, T *to, T value, std::uint64_t num_values)
    {
        static_assert(detail::is_argument_v<T> &&
                          (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4),
                      "fills are of plain values of 1, 2 or 4 bytes");
        std::uint32_t bits = 0;
        auto *bytes = reinterpret_cast<const unsigned char *>(&value);
        for (std::size_t i = 0; i < sizeof(T); i++) // the value's bytes as a number's
            bits |= static_cast<std::uint32_t>(bytes[is_little() ? i : sizeof(T) - 1 - i])
                    << (8 * i);
        const braid_fill description = { what.options(), to, bits, sizeof(T), num_values, {} };
        return added(&braid_graph_add_fill, description);
    }
    // Runs a callable on a host thread. It must not call Braid or the driver. `blocking`: it mostly
    // sleeps, see braid_host_call.
    template <class Call>
    result<braid_node> host(const task &what, Call call, bool blocking = false)
    {
        static_assert(std::is_invocable_v<Call &>, "a host call takes no arguments");
        auto kept = std::make_shared<Call>(std::move(call));
        const braid_host_call description = { what.options(),
                                              [](void *user) noexcept {
                                                  (*static_cast<Call *>(user))();
                                              },
                                              kept.get(),
                                              {},
                                              blocking };
        keep_->push_back(kept);
        return added(&braid_graph_add_host_call, description);
    }
    // Work that the callable queues by itself on the stream it is handed; see braid_native.
    template <class Call> result<braid_node> native(const task &what, Call call)
    {
        static_assert(std::is_invocable_r_v<braid_status, Call &, braid_device *, braid_stream *>,
                      "a native call takes a device and a stream, and returns a status");
        auto kept = std::make_shared<Call>(std::move(call));
        const braid_native description = { what.options(),
                                           [](braid_device *device, braid_stream *stream,
                                              void *user) noexcept -> braid_status {
                                               return (*static_cast<Call *>(user))(device, stream);
                                           },
                                           kept.get(),
                                           {} };
        keep_->push_back(kept);
        return added(&braid_graph_add_native, description);
    }
    result<braid_node> empty(const task &what)
    {
        const braid_empty description = { what.options() };
        return added(&braid_graph_add_empty, description);
    }
    result<void> edge(braid_node from, braid_node to)
    {
        return Errors::template from<void>(braid_graph_add_edge(get(), from, to), [] {});
    }
    result<void> set_cost(braid_node node, std::uint64_t cost_ns)
    {
        return Errors::template from<void>(braid_graph_set_cost(get(), node, cost_ns), [] {});
    }

    // What execs of this graph keep alive.
    using keeper = std::vector<std::shared_ptr<const void>>;
    const keeper &kept() const noexcept
    {
        return *keep_;
    }
    braid_graph *get() const noexcept
    {
        return graph_.get();
    }
    operator braid_graph *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_graph(braid_graph *graph) : graph_(graph)
    {
    }

    static bool is_little() noexcept
    {
        const std::uint16_t one = 1;
        return *reinterpret_cast<const unsigned char *>(&one) == 1;
    }
    template <class... Args>
    result<kernel_node<Args...>> add_arguments(const kernel<void(Args...)> &code, const shape &size,
                                               const task &what, const Args &...args)
    {
        const std::array<braid_arg, sizeof...(Args)> list = { braid_arg{ &args, sizeof(args) }... };
        braid_launch launch = {};
        launch.node = what.options();
        launch.kernel = code.get();
        launch.grid = size.grid;
        launch.block = size.block;
        launch.cluster = size.cluster;
        launch.shared_bytes = size.shared_bytes;
        launch.priority = size.priority;
        launch.args = list.data();
        launch.num_args = list.size();
        keep_->push_back(code.keep());
        kernel_node<Args...> node = {};
        braid_status status = braid_graph_add_kernel(get(), &launch, &node);
        return Errors::template from<kernel_node<Args...>>(status, [&] { return node; });
    }
    template <class Description>
    result<braid_node> added(braid_status (*adder)(braid_graph *, const Description *,
                                                   braid_node *),
                             const Description &description)
    {
        braid_node node = {};
        braid_status status = adder(get(), &description, &node);
        return Errors::template from<braid_node>(status, [&] { return node; });
    }

    // Destroyed after the graph, which is declared behind it.
    std::unique_ptr<keeper> keep_ = std::make_unique<keeper>();
    detail::owned<braid_graph, braid_graph_destroy> graph_;
};

} // namespace braid

#endif
