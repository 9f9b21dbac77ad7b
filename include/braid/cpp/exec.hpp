// SPDX-License-Identifier: Apache-2.0
// Execs in C++: frames, the values that change between them, and their times.
#ifndef BRAID_CPP_EXEC_HPP
#define BRAID_CPP_EXEC_HPP

#include <braid/audit.h>
#include <braid/capture.h>
#include <braid/cpp/graph.hpp>
#include <braid/cpp/import.hpp>
#include <braid/cpp/schedule.hpp>
#include <braid/exec.h>
#include <braid/export.h>
#include <braid/external.h>
#include <braid/timings.h>
#include <braid/tune.h>

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <vector>

namespace braid
{

// A parameter's values for several frames: a vector, array or span, which must outlive the launch.
template <class T, class Values>
braid_parameter_rows rows(const typed_parameter<T> &parameter, const Values &values)
{
    static_assert(std::is_same_v<std::decay_t<decltype(*std::data(values))>, T>,
                  "rows have the parameter's type");
    return { parameter, std::data(values), std::size(values) };
}

template <class Errors> class basic_exec
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    // The graph may be destroyed afterwards: the exec keeps everything that its nodes run.
    static result<basic_exec> create(braid_device *device, const basic_graph<Errors> &graph,
                                     const braid_exec_options &options = {})
    {
        braid_exec *exec = nullptr;
        braid_status status = braid_exec_create(device, graph.get(), &options, &exec);
        return Errors::template from<basic_exec>(status,
                                                 [&] { return basic_exec(exec, graph.kept()); });
    }
    // The exec keeps the import.
    static result<basic_exec> create(braid_device *device, const basic_imported<Errors> &imported,
                                     const braid_exec_options &options = {})
    {
        braid_exec *exec = nullptr;
        braid_status status = braid_exec_create(device, imported.graph(), &options, &exec);
        return Errors::template from<basic_exec>(status, [&] {
            return basic_exec(exec, { { imported.kept() }, {} });
        });
    }
    basic_exec(basic_exec &&) noexcept = default;
    // Destroys the previous exec, after its frames in flight.
    basic_exec &operator=(basic_exec &&other) noexcept
    {
        basic_exec moved(std::move(other));
        std::swap(kept_, moved.kept_);
        std::swap(exec_, moved.exec_);
        return *this;
    }

    result<void> launch(braid_stream *stream = nullptr) const
    {
        return Errors::template from<void>(braid_exec_launch(get(), stream), [] {});
    }

    // Rows are braid::rows(parameter, values).
    result<void> launch_many(std::size_t num_frames, braid_stream *stream = nullptr,
                             std::initializer_list<braid_parameter_rows> rows = {}) const
    {
        return launch_many(num_frames, stream, rows.begin(), rows.size());
    }
    result<void> launch_many(std::size_t num_frames, braid_stream *stream,
                             const braid_parameter_rows *rows, std::size_t num_rows) const
    {
        braid_status status = braid_exec_launch_many(get(), stream, num_frames, rows, num_rows);
        return Errors::template from<void>(status, [] {});
    }
    // Waits, measure() among them, throw braid::host_call_error if host calls or kernels of the
    // graph threw since the last one.
    result<void> wait() const
    {
        return detail::waited<Errors, void>(kept_, braid_exec_wait(get()), [] {});
    }
    // Whether a frame, or the last one, has ended after so many nanoseconds at most.
    result<bool> wait_for(std::uint64_t ns, std::uint64_t frame = BRAID_LAST_FRAME) const
    {
        const braid_status status = braid_exec_wait_for(get(), frame, ns);
        if (ns == 0)
            return detail::ready<Errors>(status);
        const bool is_over = status != BRAID_TIMEOUT;
        return detail::waited<Errors, bool>(kept_, is_over ? status : BRAID_OK,
                                            [&] { return is_over; });
    }
    // Waits until a frame has ended.
    result<void> wait_frame(std::uint64_t frame) const
    {
        return detail::waited<Errors, void>(kept_, braid_exec_wait_for(get(), frame, UINT64_MAX),
                                            [] {});
    }
    std::uint64_t num_launched() const
    {
        return braid_exec_get_num_launched(get());
    }
    result<std::uint64_t> iterations(braid_node loop) const
    {
        std::uint64_t num = 0;
        const braid_status status = braid_exec_get_iterations(get(), loop, &num);
        return Errors::template from<std::uint64_t>(status, [&] { return num; });
    }
    // The nodes that run now, at most 64.
    result<std::vector<braid_running_node>> running() const
    {
        std::vector<braid_running_node> nodes(64);
        std::size_t num = 0;
        braid_status status = braid_exec_get_running(get(), nodes.data(), nodes.size(), &num);
        nodes.resize(std::min(num, nodes.size()));
        return Errors::template from<std::vector<braid_running_node>>(status,
                                                                      [&] { return nodes; });
    }
    // Whether nothing still runs.
    result<bool> cancel() const
    {
        return detail::ready<Errors>(braid_exec_cancel(get()));
    }
    // Whether the last launch has ended.
    result<bool> done() const
    {
        return detail::ready<Errors>(braid_exec_wait_for(get(), BRAID_LAST_FRAME, 0));
    }

    // The value is converted to the type of the kernel's argument `Index`, or this does not
    // compile.
    template <std::size_t Index, class... Args, class Value>
    result<void> set_arg(const kernel_node<Args...> &node, Value &&value) const
    {
        static_assert(Index < sizeof...(Args), "the kernel has fewer arguments");
        using type = std::tuple_element_t<Index, std::tuple<Args...>>;
        const type argument = detail::converted<type>(std::forward<Value>(value));
        const braid_arg arg = BRAID_ARG(argument);
        return Errors::template from<void>(braid_exec_set_arg(get(), node, Index, arg), [] {});
    }

    template <class... Args, class... Values>
    result<void> set_args(const kernel_node<Args...> &node, Values &&...values) const
    {
        static_assert(sizeof...(Args) == sizeof...(Values), "the kernel has other arguments");
        return set_list(node, detail::converted<Args>(std::forward<Values>(values))...);
    }
    template <class T>
    result<void> set_parameter(const typed_parameter<T> &parameter, const T &value) const
    {
        return Errors::template from<void>(braid_exec_set_parameter(get(), parameter, &value),
                                           [] {});
    }
    result<void> set_grid(braid_node node, grid_size grid) const
    {
        const braid_dim3 size = grid;
        return set(node, BRAID_TARGET_GRID, &size);
    }
    // nullptr and 0 leave the node's own values.
    result<void> set_copy(braid_node node, void *to, const void *from, std::uint64_t bytes) const
    {
        const braid_copy_values values = { to, from, bytes };
        return set(node, BRAID_TARGET_COPY, &values);
    }
    template <class T>
    result<void> set_fill(braid_node node, T *to, T value, std::uint64_t num_values) const
    {
        const braid_fill_values values = { to, num_values, detail::fill_bits(value) };
        return set(node, BRAID_TARGET_FILL, &values);
    }
    result<void> set_scratch(braid_resource scratch, std::uint64_t bytes) const
    {
        return Errors::template from<void>(braid_exec_set_scratch(get(), scratch, bytes), [] {});
    }

    result<void> set_enabled(braid_node node, bool enabled) const
    {
        return set(node, BRAID_TARGET_ENABLED, &enabled);
    }

    result<void> set_times(braid_node loop, std::uint64_t times) const
    {
        return set(loop, BRAID_TARGET_TIMES, &times);
    }

    // The node waits for a timeline or word, or signals one.
    result<void> set_external(braid_node node, std::uint64_t value) const
    {
        return Errors::template from<void>(braid_exec_set_external(get(), node, value), [] {});
    }

    // The arrays are the exec's.
    result<braid_timings> timings() const
    {
        braid_timings timings = {};
        braid_status status = braid_exec_get_timings(get(), &timings);
        return Errors::template from<braid_timings>(status, [&] { return timings; });
    }
    result<void> measure(braid_graph *graph, std::uint32_t num_frames = 0) const
    {
        return detail::waited<Errors, void>(kept_, braid_exec_measure(get(), graph, num_frames),
                                            [] {});
    }
    // Returns how to create the fastest exec.
    static result<braid_exec_options> tune(braid_device *device, braid_graph *graph,
                                           const braid_tune_options &options = {})
    {
        braid_exec_options way = {};
        braid_status status = braid_graph_tune(graph, device, &options, &way);
        return Errors::template from<braid_exec_options>(status, [&] { return way; });
    }

    // Returns the number of findings.
    static result<std::size_t> audit(braid_device *device, const braid_graph *graph,
                                     const braid_audit_options &options = {})
    {
        std::size_t num = 0;
        braid_status status = braid_graph_audit(graph, device, &options, &num);
        return Errors::template from<std::size_t>(status, [&] { return num; });
    }

    result<std::uint64_t> capture(const char *path = nullptr) const
    {
        std::uint64_t bytes = 0;
        braid_status status = braid_exec_save_capture(get(), path, &bytes);
        return Errors::template from<std::uint64_t>(status, [&] { return bytes; });
    }

    // A CUgraph of the exec's, with the values set so far.
    result<void *> cuda_graph() const
    {
        void *graph = nullptr;
        braid_status status = braid_exec_make_cuda_graph(get(), &graph);
        return Errors::template from<void *>(status, [&] { return graph; });
    }

    // To be used as long as the exec is there.
    basic_schedule<Errors> schedule() const
    {
        return basic_schedule<Errors>::lent(braid_exec_get_schedule(get()));
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
    result<void> set(braid_node node, braid_target target, const void *value) const
    {
        return Errors::template from<void>(braid_exec_set(get(), node, target, 0, value), [] {});
    }
    template <class... Args>
    result<void> set_list(const kernel_node<Args...> &node, const Args &...args) const
    {
        const std::array<braid_arg, sizeof...(Args)> list = { BRAID_ARG(args)... };
        return Errors::template from<void>(
            braid_exec_set_args(get(), node, list.data(), list.size()), [] {});
    }
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
