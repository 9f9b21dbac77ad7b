// SPDX-License-Identifier: Apache-2.0
// Runners in C++: graphs that find the fastest way to play while the program launches them.
#ifndef BRAID_CPP_RUNNER_HPP
#define BRAID_CPP_RUNNER_HPP

#include <braid/cpp/graph.hpp>
#include <braid/cpp/import.hpp>
#include <braid/cpp/result.hpp>
#include <braid/tune.h>

#include <memory>

namespace braid
{

template <class Errors> class basic_runner
{
    template <class T> using result = typename Errors::template result<T>;
    using keeper = typename basic_graph<Errors>::keeper;

  public:
    // The runner keeps the import.
    static result<basic_runner> create(braid_device *device, const basic_imported<Errors> &imported,
                                       const braid_runner_options &options = {})
    {
        return create(device, imported.graph(), { { imported.kept() }, {} }, options);
    }
    // The graph must outlive the runner.
    static result<basic_runner> create(braid_device *device, const basic_graph<Errors> &graph,
                                       const braid_runner_options &options = {})
    {
        return create(device, graph.get(), graph.kept(), options);
    }
    result<void> launch(braid_stream *stream = nullptr) const
    {
        return Errors::template from<void>(braid_runner_launch(get(), stream), [] {});
    }
    result<void> wait() const
    {
        return detail::waited<Errors, void>(kept_, braid_runner_wait(get()), [] {});
    }
    result<bool> done() const
    {
        return detail::ready<Errors>(braid_runner_query(get()));
    }
    // nullptr: launches still try ways, or play as before.
    braid_exec *chosen_exec() const noexcept
    {
        return braid_runner_get_exec(get());
    }
    braid_runner_info info() const
    {
        braid_runner_info info;
        braid_runner_get_info(get(), &info);
        return info;
    }
    braid_runner *get() const noexcept
    {
        return runner_.get();
    }

  private:
    static result<basic_runner> create(braid_device *device, braid_graph *graph, keeper kept,
                                       const braid_runner_options &options)
    {
        braid_runner *runner = nullptr;
        braid_status status = braid_runner_create(device, graph, &options, &runner);
        return Errors::template from<basic_runner>(
            status, [&] { return basic_runner(runner, std::move(kept)); });
    }
    struct destroyer {
        void operator()(braid_runner *runner) const noexcept
        {
            braid_runner_destroy(runner);
        }
    };
    basic_runner(braid_runner *runner, keeper kept) : kept_(std::move(kept)), runner_(runner)
    {
    }
    keeper kept_; // goes after the runner
    std::unique_ptr<braid_runner, destroyer> runner_;
};

} // namespace braid

#endif
