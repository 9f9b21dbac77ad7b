// SPDX-License-Identifier: Apache-2.0
// Schedules and execs in C++. Include braid.hpp.
#ifndef BRAID_CPP_EXEC_HPP
#define BRAID_CPP_EXEC_HPP

#include <braid/cpp/graph.hpp>
#include <braid/exec.h>

#include <tuple>

namespace braid
{

template <class Errors> class basic_schedule
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    // Plans a graph. Errors: as braid_schedule_create.
    static result<basic_schedule> plan(const braid_graph *graph,
                                       const braid_schedule_options &options = {})
    {
        braid_schedule *schedule = nullptr;
        braid_status status = braid_schedule_create(graph, &options, &schedule);
        return Errors::template from<basic_schedule>(status,
                                                     [&] { return basic_schedule(schedule); });
    }
    result<void> verify(const braid_graph *graph) const
    {
        return Errors::template from<void>(braid_schedule_verify(get(), graph), [] {});
    }
    braid_schedule_info info() const
    {
        braid_schedule_info info;
        braid_schedule_get_info(get(), &info);
        return info;
    }
    view<const braid_step> steps() const
    {
        std::size_t num = 0;
        const braid_step *steps = braid_schedule_steps(get(), &num);
        return { steps, num };
    }
    view<const std::uint32_t> critical_path() const
    {
        std::size_t num = 0;
        const std::uint32_t *nodes = braid_schedule_critical_path(get(), &num);
        return { nodes, num };
    }
    // How two nodes are ordered and why, in one line.
    result<std::string> explain(braid_node a, braid_node b) const
    {
        std::array<char, 1024> text = {};
        braid_status status = braid_schedule_explain(get(), a, b, text.data(), text.size());
        return Errors::template from<std::string>(status, [&] { return std::string(text.data()); });
    }
    // The plan's picture, as Graphviz DOT.
    result<void> write_dot(std::FILE *file) const
    {
        return Errors::template from<void>(braid_schedule_write_dot(get(), file), [] {});
    }

    braid_schedule *get() const noexcept
    {
        return schedule_.get();
    }
    operator braid_schedule *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_schedule(braid_schedule *schedule) noexcept : schedule_(schedule)
    {
    }
    detail::owned<braid_schedule, braid_schedule_destroy> schedule_;
};

template <class Errors> class basic_exec
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    // Readies a graph to run on a device. The graph may be destroyed afterwards: what its nodes run
    // is kept here too. Errors: as braid_exec_create.
    static result<basic_exec> create(braid_device *device, const basic_graph<Errors> &graph,
                                     const braid_exec_options &options = {})
    {
        braid_exec *exec = nullptr;
        braid_status status = braid_exec_create(device, graph.get(), &options, &exec);
        return Errors::template from<basic_exec>(status,
                                                 [&] { return basic_exec(exec, graph.kept()); });
    }
    basic_exec(basic_exec &&) noexcept = default;
    basic_exec &operator=(basic_exec &&other) noexcept
    {
        exec_ = std::move(other.exec_); // first: frames in flight run what is kept
        kept_ = std::move(other.kept_);
        return *this;
    }

    result<void> launch(braid_stream *stream = nullptr) const
    {
        return Errors::template from<void>(braid_exec_launch(get(), stream), [] {});
    }

    result<void> launch_many(std::size_t num_frames, braid_stream *stream = nullptr) const
    {
        return Errors::template from<void>(braid_exec_launch_many(get(), stream, num_frames),
                                           [] {});
    }
    result<void> wait() const
    {
        return Errors::template from<void>(braid_exec_wait(get()), [] {});
    }
    // Whether the last launch has ended.
    result<bool> done() const
    {
        braid_status status = braid_exec_query(get());
        bool ready = status != BRAID_NOT_READY;
        return Errors::template from<bool>(ready ? status : BRAID_OK, [&] { return ready; });
    }
    // Replaces argument `Index` of a node for later launches. The value is converted to the type of
    // the kernel's argument, or this does not compile.
    template <std::size_t Index, class... Args, class Value>
    result<void> set_arg(const kernel_node<Args...> &node, Value &&value) const
    {
        static_assert(Index < sizeof...(Args), "the kernel has fewer arguments");
        using type = std::tuple_element_t<Index, std::tuple<Args...>>;
        const type argument{ std::forward<Value>(value) };
        const braid_arg arg = { &argument, sizeof(argument) };
        return Errors::template from<void>(braid_exec_set_arg(get(), node, Index, arg), [] {});
    }

    // Valid as long as the exec.
    const braid_schedule *schedule() const
    {
        return braid_exec_schedule(get());
    }
    braid_exec_info info() const
    {
        braid_exec_info info;
        braid_exec_get_info(get(), &info);
        return info;
    }
    braid_exec *get() const noexcept
    {
        return exec_.get();
    }
    operator braid_exec *() const noexcept
    {
        return get();
    }

  private:
    basic_exec(braid_exec *exec, const typename basic_graph<Errors>::keeper &kept)
        : kept_(kept), exec_(exec)
    {
    }
    // Destroyed after the exec, which waits for its frames and is declared behind it.
    typename basic_graph<Errors>::keeper kept_;
    detail::owned<braid_exec, braid_exec_destroy> exec_;
};

} // namespace braid

#endif
