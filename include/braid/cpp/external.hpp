// SPDX-License-Identifier: Apache-2.0
// External objects in C++: nodes wait for events, semaphores, words and eventfds, and signal them.
#ifndef BRAID_CPP_EXTERNAL_HPP
#define BRAID_CPP_EXTERNAL_HPP

#include <braid/cpp/result.hpp>
#include <braid/cpp/task.hpp>
#include <braid/external.h>

#include <cstdint>

namespace braid
{

// Declare it before the execs whose nodes use it.
template <class Errors> class basic_external
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_external> create(braid_device *device,
                                         const braid_external_options &options)
    {
        braid_external *external = nullptr;
        braid_status status = braid_external_create(device, &options, &external);
        return Errors::template from<basic_external>(status,
                                                     [&] { return basic_external(external); });
    }
    static result<basic_external> event(braid_device *device, void *event,
                                        const char *name = nullptr)
    {
        return create(device, { BRAID_EXTERNAL_EVENT, name, event, nullptr, 0 });
    }
    // Vulkan's, which the driver has from then on.
    static result<basic_external> semaphore(braid_device *device, int fd,
                                            const char *name = nullptr)
    {
        return create(device, { BRAID_EXTERNAL_SEMAPHORE, name, nullptr, nullptr, fd });
    }
    static result<basic_external> timeline(braid_device *device, int fd, const char *name = nullptr)
    {
        return create(device, { BRAID_EXTERNAL_TIMELINE, name, nullptr, nullptr, fd });
    }
    static result<basic_external> word(braid_device *device, std::uint32_t *word,
                                       const char *name = nullptr)
    {
        return create(device, { BRAID_EXTERNAL_WORD, name, nullptr, word, 0 });
    }
    // It stays the program's.
    static result<basic_external> eventfd(braid_device *device, int fd, const char *name = nullptr)
    {
        return create(device, { BRAID_EXTERNAL_EVENTFD, name, nullptr, nullptr, fd });
    }

    // Nodes of a graph.
    result<braid_node> wait(braid_graph *graph, const task &what, std::uint64_t value = 0,
                            std::uint64_t step = 0) const
    {
        return add(graph, { what.options(), get(), false, value, step });
    }
    result<braid_node> signal(braid_graph *graph, const task &what, std::uint64_t value = 0,
                              std::uint64_t step = 0) const
    {
        return add(graph, { what.options(), get(), true, value, step });
    }
    braid_external *get() const noexcept
    {
        return external_.get();
    }

  private:
    explicit basic_external(braid_external *external) noexcept : external_(external)
    {
    }
    static result<braid_node> add(braid_graph *graph, const braid_external_node &description)
    {
        braid_node node = {};
        braid_status status = braid_graph_add_external(graph, &description, &node);
        return Errors::template from<braid_node>(status, [&] { return node; });
    }
    detail::owned<braid_external, braid_external_destroy> external_;
};

} // namespace braid

#endif
