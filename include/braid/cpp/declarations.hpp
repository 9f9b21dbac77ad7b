// SPDX-License-Identifier: Apache-2.0
// A graph in C++ and its resources: buffers from containers, memory of execs, and things without
// bytes.
#ifndef BRAID_CPP_DECLARATIONS_HPP
#define BRAID_CPP_DECLARATIONS_HPP

#include <braid/cpp/device.hpp>
#include <braid/cpp/failures.hpp>
#include <braid/cpp/placed_buffers.hpp>
#include <braid/cpp/result.hpp>
#include <braid/cpp/task.hpp>
#include <braid/graph.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

namespace braid::detail
{

// basic_graph, as far as it is no nodes.
template <class Errors> class declarations
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    result<braid_resource> buffer(const char *name, const void *address, std::uint64_t bytes)
    {
        braid_resource resource = {};
        return made(placed_.add(get(), name, address, bytes, resource), resource);
    }
    // The elements of a span, or of a vector, array or braid memory that lives on.
    template <class Container, class = decltype(std::data(std::declval<const Container &>()))>
    auto buffer(const char *name, const Container &elements)
    {
        using element = std::remove_cv_t<
            std::remove_all_extents_t<std::remove_reference_t<decltype(*std::data(elements))>>>;
        typed_resource<element> resource = {};
        return made(placed_.add(get(), name, std::data(elements),
                                std::size(elements) * sizeof(*std::data(elements)), resource),
                    resource);
    }
    template <class Container,
              class = std::enable_if_t<!shares_elements_v<std::decay_t<Container>>>>
    void buffer(const char *name, const Container &&elements) = delete;
    // With a copy of the elements, or not initialised.
    template <class Container, class = decltype(std::data(std::declval<const Container &>()))>
    auto device_buffer(braid_device *device, const char *name, const Container &elements)
    {
        using element = std::remove_cv_t<
            std::remove_all_extents_t<std::remove_reference_t<decltype(*std::data(elements))>>>;
        return make_buffer<Errors, element>(
            get(), device, name, std::data(elements),
            sizeof(*std::data(elements)) / sizeof(element) * std::size(elements), placed_);
    }
    template <class T>
    result<device_memory<T>> device_buffer(braid_device *device, const char *name, std::size_t size)
    {
        return make_buffer<Errors, T>(get(), device, name, nullptr, size, placed_);
    }
    template <class Resource, class = if_resource<Resource>>
    result<Resource> range(const Resource &whole, std::uint64_t offset, std::uint64_t bytes)
    {
        Resource resource = {};
        return made(braid_graph_add_range(get(), whole, offset, bytes, &resource), resource);
    }
    result<braid_resource> resource(const char *name)
    {
        braid_resource resource = {};
        return made(braid_graph_add_resource(get(), name, &resource), resource);
    }
    // At most so many tasks that say .excludes() of it run at once.
    result<braid_resource> slots(const char *name, std::uint32_t num_slots)
    {
        braid_resource resource = {};
        return made(braid_graph_add_slots(get(), name, num_slots, &resource), resource);
    }
    // Memory that execs have, as an argument, an end of copies and fills, or the user of calls.
    result<braid_resource> transient(const char *name, std::uint64_t bytes,
                                     std::uint64_t alignment = 0)
    {
        braid_resource resource = {};
        return made(braid_graph_add_transient(get(), name, bytes, alignment, &resource), resource);
    }
    result<braid_resource> scratch(const char *name, std::uint64_t bytes,
                                   std::uint64_t alignment = 0)
    {
        braid_resource resource = {};
        return made(braid_graph_add_scratch(get(), name, bytes, alignment, &resource), resource);
    }
    result<braid_resource> versioned(const char *name, std::uint64_t bytes,
                                     std::uint32_t num_versions, void *const *addresses = nullptr)
    {
        braid_resource resource = {};
        return made(braid_graph_add_versioned_buffer(get(), name, addresses, num_versions, bytes,
                                                     &resource),
                    resource);
    }
    // The same for elements of one type: transient<float>("sums", 256).
    template <class T>
    result<typed_resource<T>> transient(const char *name, std::uint64_t num_elements,
                                        std::uint64_t alignment = 0)
    {
        typed_resource<T> resource = {};
        return made(
            braid_graph_add_transient(get(), name, bytes_of<T>(num_elements), alignment, &resource),
            resource);
    }
    template <class T>
    result<typed_resource<T>> scratch(const char *name, std::uint64_t num_elements,
                                      std::uint64_t alignment = 0)
    {
        typed_resource<T> resource = {};
        return made(
            braid_graph_add_scratch(get(), name, bytes_of<T>(num_elements), alignment, &resource),
            resource);
    }
    template <class T>
    result<typed_resource<T>> versioned(const char *name, std::uint64_t num_elements,
                                        std::uint32_t num_versions,
                                        void *const *addresses = nullptr)
    {
        typed_resource<T> resource = {};
        return made(braid_graph_add_versioned_buffer(get(), name, addresses, num_versions,
                                                     bytes_of<T>(num_elements), &resource),
                    resource);
    }
    template <class Resource, class = if_resource<Resource>>
    result<Resource> earlier(const Resource &versioned, std::uint32_t frames_before = 1)
    {
        Resource resource = {};
        return made(braid_graph_add_earlier_version(get(), versioned, frames_before, &resource),
                    resource);
    }

    result<void> set_home(braid_resource resource, std::uint32_t place)
    {
        return Errors::template from<void>(braid_graph_set_home(get(), resource, place), [] {});
    }
    result<void> set_output(braid_resource resource)
    {
        return Errors::template from<void>(braid_graph_set_output(get(), resource), [] {});
    }

    // Everything that execs of this graph keep alive.
    using keeper = detail::kept;
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

  protected:
    explicit declarations(braid_graph *graph) : graph_(graph)
    {
    }
    declarations(declarations &&) noexcept = default;
    ~declarations() = default;
    // The graph that was here is destroyed before it lets go of its kernels.
    declarations &operator=(declarations &&other) noexcept
    {
        declarations moved(std::move(other));
        std::swap(keep_, moved.keep_);
        std::swap(placed_, moved.placed_);
        std::swap(graph_, moved.graph_);
        return *this;
    }
    template <class Resource>
    static result<Resource> made(braid_status status, const Resource &resource)
    {
        return Errors::template from<Resource>(status, [&] { return resource; });
    }
    // A graph that was moved away has nothing to keep, and takes no node.
    void keep(std::shared_ptr<const void> what)
    {
        if (keep_)
            keep_->push_back(std::move(what));
    }

    placed_buffers placed_;
    // Destroyed after the graph, which is declared behind it.
    std::unique_ptr<keeper> keep_ = std::make_unique<keeper>();
    owned<braid_graph, braid_graph_destroy> graph_;
};

} // namespace braid::detail

#endif
