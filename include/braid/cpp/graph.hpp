// SPDX-License-Identifier: Apache-2.0
// Graphs in C++: nodes from lambdas and typed kernels.
#ifndef BRAID_CPP_GRAPH_HPP
#define BRAID_CPP_GRAPH_HPP

#include <braid/costs.h>
#include <braid/cpp/declarations.hpp>
#include <braid/cpp/failures.hpp>
#include <braid/cpp/kernel.hpp>
#include <braid/cpp/ranks.hpp>
#include <braid/cpp/region.hpp>
#include <braid/cpp/result.hpp>
#include <braid/cpp/task.hpp>
#include <braid/graph.h>
#include <braid/tune.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <vector>

namespace braid
{

template <class Errors> class basic_graph : public detail::declarations<Errors>
{
    using base = detail::declarations<Errors>;
    using base::keep;
    using base::keep_;
    using base::made;
    using base::placed_;
    template <class T> using result = typename Errors::template result<T>;

  public:
    using base::get;
    static result<basic_graph> create()
    {
        braid_graph *graph = nullptr;
        braid_status status = braid_graph_create(&graph);
        return Errors::template from<basic_graph>(status, [&] { return basic_graph(graph); });
    }

    // parameter<float>("dt"): a value for basic_exec::set_parameter.
    template <class T> result<typed_parameter<T>> parameter(const char *name)
    {
        static_assert(detail::is_argument_v<T>, "parameters are copied as bytes");
        typed_parameter<T> parameter = {};
        return made(braid_graph_add_parameter(get(), name, sizeof(T), &parameter), parameter);
    }
    // As argument `Index` of a kernel, which has the same type, or this does not compile.
    template <std::size_t Index, class T, class... Args>
    result<void> use(const typed_parameter<T> &parameter, const kernel_node<Args...> &node)
    {
        static_assert(Index < sizeof...(Args), "the kernel has fewer arguments");
        static_assert(std::is_same_v<T, std::tuple_element_t<Index, std::tuple<Args...>>>,
                      "the kernel's argument has another type");
        braid_parameter_use how = {};
        how.node = node;
        how.argument = Index;
        return use(parameter, how);
    }
    // For the other values of a node.
    result<void> use(braid_parameter parameter, braid_node node, braid_target target)
    {
        braid_parameter_use how = {};
        how.node = node;
        how.target = target;
        return use(parameter, how);
    }
    result<void> use(braid_parameter parameter, const braid_parameter_use &how)
    {
        return Errors::template from<void>(braid_graph_use_parameter(get(), parameter, &how),
                                           [] {});
    }

    // The values become the kernel's arguments: as many, each convertible to its type without
    // narrowing, or this does not compile. A resource is a pointer to its memory.
    template <class... Args, class... Values>
    result<kernel_node<Args...>> add(const braid::kernel<void(Args...)> &code, const shape &size,
                                     const task &what, Values &&...values)
    {
        static_assert(sizeof...(Args) == sizeof...(Values), "the kernel has other arguments");
        return add_arguments(code, size, what,
                             detail::slot<Args>::of(std::forward<Values>(values))...);
    }
    // The same, with arguments that declare accesses: kernel(add, 64, in(x), out(y), 2.0f). A task
    // before the arguments gives other accesses, a name and the like. A plain resource or container
    // leaves those to the kernel's code: kernel(add, 64, x, y, 2.0f). A container is declared as a
    // buffer, unless it lies in one that this graph has.
    template <class... Args, class... Values>
    result<kernel_node<Args...>> kernel(const braid::kernel<void(Args...)> &code, const shape &size,
                                        Values &&...values)
    {
        if constexpr (detail::is_task_first_v<std::decay_t<Values>...>)
            return add(code, size, std::forward<Values>(values)...);
        else
            return add(code, size, task(), std::forward<Values>(values)...);
    }
    // For a kernel that the compiler has refused already.
    template <class... Values>
    result<kernel_node<>> add(const braid::kernel<detail::no_kernel> &, const shape &,
                              Values &&...);
    template <class... Values>
    result<kernel_node<>> kernel(const braid::kernel<detail::no_kernel> &, const shape &,
                                 Values &&...);
    result<braid_node> copy(const task &what, operand<void *> to, operand<const void *> from,
                            std::uint64_t bytes, const braid_rows &rows = {})
    {
        return added(&braid_graph_add_copy, braid_copy{ what.options(), to.address, from.address,
                                                        bytes, to.resource, from.resource, rows });
    }
    template <class To, class From>
    result<braid_node> copy(const task &what, const typed_resource<To> &to,
                            const typed_resource<From> &from, std::uint64_t bytes,
                            const braid_rows &rows = {})
    {
        static_assert(std::is_same_v<To, From>, "a copy between elements of two types");
        return copy(what, operand<void *>(to), operand<const void *>(from), bytes, rows);
    }
    template <class T>
    result<braid_node> fill(const task &what, T *to, T value, std::uint64_t num_values,
                            const braid_rows &rows = {})
    {
        return added(
            &braid_graph_add_fill,
            braid_fill{
                what.options(), to, detail::fill_bits(value), sizeof(T), num_values, {}, rows });
    }
    template <class T>
    result<braid_node> fill(const task &what, braid_resource to, T value, std::uint64_t num_values,
                            const braid_rows &rows = {})
    {
        return added(&braid_graph_add_fill,
                     braid_fill{ what.options(), nullptr, detail::fill_bits(value), sizeof(T),
                                 num_values, to, rows });
    }
    template <class T, class Value>
    result<braid_node> fill(const task &what, const typed_resource<T> &to, Value value,
                            std::uint64_t num_values, const braid_rows &rows = {})
    {
        static_assert(detail::is_kept_v<T, Value>, "the value does not convert without a loss");
        return fill(what, static_cast<const braid_resource &>(to), static_cast<T>(value),
                    num_values, rows);
    }
    // Runs a callable by the rules of braid_host_call. Exceptions reach the next wait.
    template <class Call, class = std::enable_if_t<!std::is_convertible_v<Call, braid_resource>>>
    result<braid_node> host(const task &what, Call call, bool blocking = false)
    {
        static_assert(std::is_invocable_v<Call &>, "a host call takes no arguments");
        using guarded = detail::guarded<Call>;
        const char *name = what.options().name;
        auto kept = std::make_shared<guarded>(guarded{ std::move(call), name ? name : "host call",
                                                       keep_ ? keep_->failures : nullptr });
        const braid_host_call description = {
            what.options(), guarded::run, kept.get(), {}, blocking
        };
        keep(kept);
        return added(&braid_graph_add_host_call, description);
    }
    // Runs a function whose user is the address of a resource.
    result<braid_node> host(const task &what, braid_resource user, braid_host_function *call,
                            bool blocking = false)
    {
        return added(&braid_graph_add_host_call,
                     braid_host_call{ what.options(), call, nullptr, user, blocking });
    }
    result<braid_node> queue_call(const task &what, braid_resource user, braid_queue_function *call)
    {
        return added(&braid_graph_add_queue_call,
                     braid_queue_call{ what.options(), call, nullptr, user });
    }
    // The callable queues work on the stream it is handed, by the rules of braid_queue_function.
    template <class Call> result<braid_node> queue_call(const task &what, Call call)
    {
        static_assert(std::is_invocable_r_v<braid_status, Call &, braid_device *, braid_stream *>,
                      "a queue call takes a device and a stream, and returns a status");
        auto kept = std::make_shared<Call>(std::move(call));
        const braid_queue_call description = {
            what.options(),
            [](braid_device *device, braid_stream *stream, void *user) noexcept -> braid_status {
                return (*static_cast<Call *>(user))(device, stream);
            },
            kept.get(),
            {}
        };
        keep(kept);
        return added(&braid_graph_add_queue_call, description);
    }
    result<braid_node> empty(const task &what)
    {
        return added(&braid_graph_add_empty, braid_empty{ what.options() });
    }
    // A loop whose body the callable adds. The task has its name, edges and lane.
    template <class Body> result<braid_node> loop(const task &what, braid_loop how, Body &&body)
    {
        how.node = what.options();
        return added(&braid_graph_begin_loop, how, body);
    }
    // A branch, likewise; `other` is nothing or the callable that adds its second arm.
    template <class Body, class... Else>
    result<braid_node> branch(const task &what, braid_resource condition, Body &&body,
                              Else &&...other)
    {
        return added(&braid_graph_begin_if, braid_if{ what.options(), condition }, body, other...);
    }
    // A communicator as a resource, and operations on it, whose accesses the task declares. They
    // take `count` elements of type T, of the program's memory or a resource's.
    result<braid_resource> communicator(braid_communicator *communicator)
    {
        braid_resource resource = {};
        return made(braid_graph_add_communicator(get(), communicator, &resource), resource);
    }
    result<braid_node> communicate(const task &what, braid_communication operation)
    {
        operation.node = what.options();
        return added(&braid_graph_add_communication, operation);
    }
    template <class T>
    result<braid_node> send(const task &what, braid_resource communicator, operand<const T *> from,
                            std::uint64_t count, std::uint32_t peer, std::uint32_t tag = 0)
    {
        return communicate(what, detail::make_operation<T>(BRAID_RANK_SEND, communicator, from,
                                                           nullptr, count, peer, tag));
    }
    template <class T>
    result<braid_node> receive(const task &what, braid_resource communicator, operand<T *> to,
                               std::uint64_t count, std::uint32_t peer, std::uint32_t tag = 0)
    {
        return communicate(what, detail::make_operation<T>(BRAID_RANK_RECEIVE, communicator,
                                                           nullptr, to, count, peer, tag));
    }
    template <class T>
    result<braid_node> broadcast(const task &what, braid_resource communicator, operand<T *> to,
                                 std::uint64_t count, std::uint32_t root)
    {
        return communicate(what, detail::make_operation<T>(BRAID_RANK_BROADCAST, communicator,
                                                           nullptr, to, count, root, 0));
    }
    template <class T>
    result<braid_node> all_reduce(const task &what, braid_resource communicator,
                                  operand<const T *> from, operand<T *> to, std::uint64_t count,
                                  braid_reduction reduction = BRAID_REDUCTION_SUM)
    {
        braid_communication operation =
            detail::make_operation<T>(BRAID_RANK_ALL_REDUCE, communicator, from, to, count, 0, 0);
        operation.reduction = reduction;
        return communicate(what, operation);
    }
    result<braid_resource> owned(braid_resource communicator, std::uint32_t owner, const char *name,
                                 const void *address, std::uint64_t bytes)
    {
        braid_resource resource = {};
        return made(braid_graph_add_owned_buffer(get(), communicator, owner, name, address, bytes,
                                                 &resource),
                    resource);
    }
    bool takes_part(const task &what) const
    {
        const braid_node_options options = what.options();
        return braid_graph_takes_part(get(), options.accesses, options.num_accesses);
    }
    result<void> edge(braid_node from, braid_node to)
    {
        return Errors::template from<void>(braid_graph_add_edge(get(), from, to), [] {});
    }
    result<void> set_cost(braid_node node, std::uint64_t cost_ns)
    {
        return Errors::template from<void>(braid_graph_set_cost(get(), node, cost_ns), [] {});
    }

    result<void> save_costs(const braid_device *device, const char *path) const
    {
        return Errors::template from<void>(braid_graph_save_costs(get(), device, path), [] {});
    }
    result<void> load_costs(const char *path, const braid_device *device = nullptr)
    {
        return Errors::template from<void>(braid_graph_load_costs(get(), device, path), [] {});
    }

    std::size_t num_nodes() const
    {
        return braid_graph_get_num_nodes(get());
    }
    braid_node node(std::size_t index) const
    {
        return braid_graph_get_node(get(), index);
    }
    const char *name(braid_node node) const
    {
        return braid_graph_get_node_name(get(), node);
    }
    std::uint64_t digest() const
    {
        return braid_graph_get_digest(get());
    }
    result<void> write_dot(std::FILE *file) const
    {
        return Errors::template from<void>(braid_graph_write_dot(get(), file), [] {});
    }

  private:
    explicit basic_graph(braid_graph *graph) : base(graph)
    {
        keep_->failures = std::make_shared<detail::thrown>();
    }

    template <class... Args>
    result<kernel_node<Args...>> add_arguments(const braid::kernel<void(Args...)> &code,
                                               const shape &size, const task &what,
                                               detail::slot<Args>... args)
    {
        braid_code_use code_use = size.code_use;
        braid_status status = BRAID_OK;
        (placed_.take(get(), args, code_use, status), ...);
        const std::array<braid_arg, sizeof...(Args)> list = { args.get()... };
        braid_kernel_node launch = {};
        launch.node = what.options();
        launch.kernel = code.get();
        launch.grid = size.grid;
        launch.may_be_empty = true;
        launch.block = size.block;
        launch.cluster = size.cluster;
        launch.shared_bytes = size.shared_bytes;
        launch.priority = size.priority;
        launch.cooperative = size.cooperative;
        launch.grid_from = size.grid_from;
        launch.grid_from_resource = size.grid_from_resource;
        launch.code_use = code_use;
        launch.args = list.data();
        launch.num_args = list.size();
        keep(code.keep());
        keep_ ? keep_->failures->watch(code.failures()) : void();
        kernel_node<Args...> node = {};
        if (status == BRAID_OK)
            status = braid_graph_add_kernel(get(), &launch, &node);
        return Errors::template from<kernel_node<Args...>>(status, [&] { return node; });
    }
    template <class Description, class... Bodies>
    result<braid_node> added(braid_status (*adder)(braid_graph *, const Description *,
                                                   braid_node *),
                             const Description &description, Bodies &...bodies)
    {
        braid_node node = {};
        braid_status status = adder(get(), &description, &node);
        if constexpr (sizeof...(Bodies) > 0)
            status = status == BRAID_OK ? detail::add_bodies(get(), bodies...) : status;
        return Errors::template from<braid_node>(status, [&] { return node; });
    }
};

} // namespace braid

#endif
