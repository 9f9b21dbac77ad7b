// SPDX-License-Identifier: Apache-2.0
// Devices, their memory, streams and events in C++. Sizes of memory, copies and fills are in
// elements.
#ifndef BRAID_CPP_DEVICE_HPP
#define BRAID_CPP_DEVICE_HPP

#include <braid/cpp/failures.hpp>
#include <braid/cpp/result.hpp>
#include <braid/cpp/task.hpp>
#include <braid/exec.h>
#include <braid/managed.h>
#include <braid/pool.h>
#include <braid/schedule.h>
#include <braid/stream.h>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <vector>

namespace braid
{

// `size` elements in the memory of a device, not initialised. The program itself may touch only
// BRAID_MEMORY_HOST, and any memory of a CPU device.
template <class T> class basic_memory
{
    static_assert(std::is_trivially_copyable_v<T>, "device memory holds plain data");

  public:
    basic_memory() = default;
    basic_memory(braid_device *device, T *data, std::size_t size) noexcept
        : device_(device), data_(data), size_(size)
    {
    }
    basic_memory(basic_memory &&other) noexcept
        : device_(other.device_), data_(std::exchange(other.data_, nullptr)),
          size_(std::exchange(other.size_, 0))
    {
    }
    basic_memory &operator=(basic_memory &&other) noexcept
    {
        basic_memory moved(std::move(other));
        std::swap(device_, moved.device_);
        std::swap(data_, moved.data_);
        std::swap(size_, moved.size_);
        return *this;
    }
    ~basic_memory()
    {
        if (data_)
            braid_memory_free(device_, data_);
    }

    T *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    T *begin() const noexcept
    {
        return data_;
    }
    T *end() const noexcept
    {
        return data_ + size_;
    }
    T &operator[](std::size_t index) const noexcept
    {
        return data_[index];
    }

  private:
    braid_device *device_ = nullptr;
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

// A queue call that moves pages of managed memory: graph.queue_call(task(), prefetch(memory)).
template <class Container> auto prefetch(const Container &memory, bool to_host = false)
{
    const braid_prefetch what = { std::data(memory), std::size(memory) * sizeof(*std::data(memory)),
                                  to_host };
    return [what](braid_device *device, braid_stream *stream) {
        braid_prefetch own = what;
        return braid_queue_prefetch(device, stream, &own);
    };
}

// Memory of a device that a graph has as a buffer.
template <class T> struct device_memory {
    basic_memory<T> memory;
    typed_resource<T> resource;
};

namespace detail
{
// More than there are become too many for any graph.
template <class T> std::uint64_t bytes_of(std::uint64_t num_elements)
{
    static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                  "elements are plain values");
    return num_elements > UINT64_MAX / sizeof(T) ? UINT64_MAX : num_elements * sizeof(T);
}

template <class Errors, class T, class Placed>
typename Errors::template result<device_memory<T>>
make_buffer(braid_graph *graph, braid_device *device, const char *name, const void *content,
            std::size_t size, Placed &placed)
{
    void *memory = nullptr;
    typed_resource<T> resource = {};
    braid_status status = braid_graph_add_device_buffer(graph, device, name, content,
                                                        bytes_of<T>(size), &memory, &resource);
    return Errors::template from<device_memory<T>>(status, [&] {
        placed.note(status, memory, bytes_of<T>(size), resource);
        return device_memory<T>{ { device, static_cast<T *>(memory), size }, resource };
    });
}

inline braid_status append_devices(const char *backend, std::vector<braid_found_device> &found)
{
    braid_backend_info info;
    braid_found_device device;
    braid_status status = braid_backend_get_info(backend, &info);
    for (std::uint32_t i = 0; status == BRAID_OK && i < info.num_devices; i++) {
        status = braid_backend_get_device(backend, i, &device);
        if (status == BRAID_OK)
            found.push_back(device);
    }
    return status;
}
} // namespace detail

template <class Errors> class basic_device
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_device> open(const char *backend = nullptr, std::uint32_t num_workers = 0)
    {
        braid_device_options options = {};
        options.backend = backend;
        options.num_workers = num_workers;
        return open(options);
    }
    static result<basic_device> open(const braid_device_options &options)
    {
        braid_device *device = nullptr;
        braid_status status = braid_device_open(&options, &device);
        return Errors::template from<basic_device>(status, [&] { return basic_device(device); });
    }
    // A group of devices, which it borrows: a vector or array of them, or of pointers.
    template <class Devices> static result<basic_device> open_group(const Devices &members)
    {
        std::vector<braid_device *> list;
        for (const auto &member : members)
            list.push_back(member);
        braid_device *device = nullptr;
        braid_status status = braid_device_open_group(list.data(), list.size(), &device);
        return Errors::template from<basic_device>(status, [&] { return basic_device(device); });
    }
    static result<basic_device> open_group(std::initializer_list<braid_device *> members)
    {
        return open_group(std::vector<braid_device *>(members));
    }

    // Describes the devices of a backend, or of all.
    static result<std::vector<braid_found_device>> list(const char *backend = nullptr)
    {
        std::vector<braid_found_device> found;
        braid_status status = BRAID_OK;
        if (backend)
            status = detail::append_devices(backend, found);
        for (std::size_t i = 0; !backend && !status && braid_backend_get_name(i); i++)
            status = detail::append_devices(braid_backend_get_name(i), found);
        return Errors::template from<std::vector<braid_found_device>>(status,
                                                                      [&] { return found; });
    }

    braid_device_info info() const
    {
        braid_device_info info;
        braid_device_get_info(get(), &info);
        return info;
    }
    // Null for a group. It lives as long as the device.
    const braid_cost_model *cost_model(braid_exec_mode mode = BRAID_MODE_AUTO) const
    {
        const braid_cost_model *const *costs = info().costs;
        return costs ? costs[mode] : nullptr;
    }
    // More than memory can hold is BRAID_INVALID_ARGUMENT.
    template <class T>
    result<basic_memory<T>> allocate(std::size_t size,
                                     braid_memory_kind kind = BRAID_MEMORY_DEVICE) const
    {
        void *memory = nullptr;
        std::uint64_t bytes = size > SIZE_MAX / sizeof(T) ? UINT64_MAX : size * sizeof(T);
        braid_status status = braid_memory_allocate(get(), kind, bytes, &memory);
        return Errors::template from<basic_memory<T>>(
            status, [&] { return basic_memory<T>(get(), static_cast<T *>(memory), size); });
    }

    braid_stream *default_stream() const noexcept
    {
        return braid_device_get_default_stream(get());
    }

    braid_device *get() const noexcept
    {
        return device_.get();
    }
    operator braid_device *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_device(braid_device *device) noexcept : device_(device)
    {
    }
    detail::owned<braid_device, braid_device_close> device_;
};

template <class Errors> class basic_stream
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_stream> create(braid_device *device, std::int32_t priority = 0)
    {
        braid_stream *stream = nullptr;
        const braid_stream_options options = { priority };
        braid_status status = braid_stream_create(device, &options, &stream);
        return Errors::template from<basic_stream>(status, [&] { return basic_stream(stream); });
    }
    static result<basic_stream> wrap(braid_device *device, void *handle)
    {
        braid_stream *stream = nullptr;
        braid_status status = braid_stream_wrap(device, handle, &stream);
        return Errors::template from<basic_stream>(status, [&] { return basic_stream(stream); });
    }
    // Throws braid::host_call_error if calls of `host` threw.
    result<void> wait() const
    {
        return detail::waited<Errors, void>(kept_, braid_stream_wait(get()), [] {});
    }
    result<void> follow(braid_event *event) const
    {
        return Errors::template from<void>(braid_stream_follow(get(), event), [] {});
    }
    template <class T>
    result<void> copy(T *to, const std::remove_const_t<T> *from, std::size_t size) const
    {
        return Errors::template from<void>(braid_stream_copy(get(), to, from, size * sizeof(T)),
                                           [] {});
    }
    template <class T> result<void> fill(T *to, T value, std::size_t size) const
    {
        braid_status status =
            braid_stream_fill(get(), to, detail::fill_bits(value), sizeof(T), size);
        return Errors::template from<void>(status, [] {});
    }
    // The captures live until the call. It must not call Braid.
    template <class Call> result<void> host(Call call) const
    {
        static_assert(std::is_invocable_v<Call &>, "a host call takes no arguments");
        using guarded = detail::guarded<Call>;
        auto kept =
            std::make_unique<guarded>(guarded{ std::move(call), "of a stream", kept_.failures });
        braid_status status = braid_stream_host_call(
            get(),
            [](void *user) noexcept {
                guarded::run(std::unique_ptr<guarded>(static_cast<guarded *>(user)).get());
            },
            kept.get());
        if (!status)
            static_cast<void>(kept.release()); // the call's own
        return Errors::template from<void>(status, [] {});
    }
    // Whether all work queued so far has ended.
    result<bool> done() const
    {
        return detail::ready<Errors>(braid_stream_query(get()));
    }
    void *handle() const
    {
        return braid_stream_get_handle(get());
    }

    braid_stream *get() const noexcept
    {
        return stream_.get();
    }
    operator braid_stream *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_stream(braid_stream *stream) : stream_(stream)
    {
        kept_.failures = std::make_shared<detail::thrown>();
    }
    detail::kept kept_;
    detail::owned<braid_stream, braid_stream_destroy> stream_;
};

template <class Errors> class basic_event
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_event> create(braid_device *device, bool timing = false)
    {
        braid_event *event = nullptr;
        const braid_event_options options = { timing };
        braid_status status = braid_event_create(device, &options, &event);
        return Errors::template from<basic_event>(status, [&] { return basic_event(event); });
    }
    result<void> record(braid_stream *stream) const
    {
        return Errors::template from<void>(braid_event_record(get(), stream), [] {});
    }
    result<void> wait() const
    {
        return Errors::template from<void>(braid_event_wait(get()), [] {});
    }
    result<bool> done() const
    {
        return detail::ready<Errors>(braid_event_query(get()));
    }
    result<std::uint64_t> elapsed_ns(braid_event *end) const
    {
        std::uint64_t ns = 0;
        braid_status status = braid_event_get_elapsed(get(), end, &ns);
        return Errors::template from<std::uint64_t>(status, [&] { return ns; });
    }

    braid_event *get() const noexcept
    {
        return event_.get();
    }
    operator braid_event *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_event(braid_event *event) noexcept : event_(event)
    {
    }
    detail::owned<braid_event, braid_event_destroy> event_;
};

// Memory that execs share: braid_exec_options.pool. It lives as long as its execs.
template <class Errors> class basic_memory_pool
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_memory_pool> create(braid_device *device, std::uint64_t bytes = 0)
    {
        braid_memory_pool *pool = nullptr;
        const braid_memory_pool_options options = { bytes };
        braid_status status = braid_memory_pool_create(device, &options, &pool);
        return Errors::template from<basic_memory_pool>(status,
                                                        [&] { return basic_memory_pool(pool); });
    }
    braid_memory_pool_info info() const
    {
        braid_memory_pool_info info;
        braid_memory_pool_get_info(get(), &info);
        return info;
    }

    braid_memory_pool *get() const noexcept
    {
        return pool_.get();
    }
    operator braid_memory_pool *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_memory_pool(braid_memory_pool *pool) noexcept : pool_(pool)
    {
    }
    detail::owned<braid_memory_pool, braid_memory_pool_destroy> pool_;
};

} // namespace braid

#endif
