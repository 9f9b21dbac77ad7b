// SPDX-License-Identifier: Apache-2.0
// Several devices and several processes in C++. Include braid.hpp.
#ifndef BRAID_CPP_RANKS_HPP
#define BRAID_CPP_RANKS_HPP

#include <braid/cpp/result.hpp>
#include <braid/device_group.h>
#include <braid/rank.h>

#include <cstdint>
#include <iterator>
#include <vector>

namespace braid
{

// Devices that one exec runs on, in an order; they are borrowed.
template <class Errors> class basic_device_group
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    // Of a vector or array of devices or of pointers to them. Errors: as braid_device_group_create.
    template <class Devices> static result<basic_device_group> create(const Devices &devices)
    {
        std::vector<braid_device *> list;
        for (const auto &device : devices)
            list.push_back(device);
        braid_device_group *group = nullptr;
        braid_status status = braid_device_group_create(list.data(), list.size(), &group);
        return Errors::template from<basic_device_group>(status,
                                                         [&] { return basic_device_group(group); });
    }
    static result<basic_device_group> create(std::initializer_list<braid_device *> devices)
    {
        return create(std::vector<braid_device *>(devices));
    }

    std::size_t size() const
    {
        return braid_device_group_num_devices(get());
    }
    braid_device *operator[](std::size_t index) const
    {
        return braid_device_group_device(get(), index);
    }
    bool reaches(std::size_t from, std::size_t to) const
    {
        return braid_device_group_reaches(get(), from, to);
    }
    // Its arrays live as long as the group.
    braid_place_model place_model() const
    {
        braid_place_model model;
        braid_device_group_get_place_model(get(), &model);
        return model;
    }

    braid_device_group *get() const noexcept
    {
        return group_.get();
    }
    operator braid_device_group *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_device_group(braid_device_group *group) noexcept : group_(group)
    {
    }
    detail::owned<braid_device_group, braid_device_group_destroy> group_;
};

// Some of the ranks. It ends with them.
class communicator
{
  public:
    communicator() = default;
    explicit communicator(braid_communicator *given) noexcept : communicator_(given)
    {
    }
    std::uint32_t rank() const
    {
        return braid_communicator_rank(communicator_);
    }
    std::uint32_t size() const
    {
        return braid_communicator_num_ranks(communicator_);
    }
    braid_communicator *get() const noexcept
    {
        return communicator_;
    }
    operator braid_communicator *() const noexcept
    {
        return communicator_;
    }

  private:
    braid_communicator *communicator_ = nullptr;
};

// This process among others. Declare it before the graphs and execs that communicate.
template <class Errors> class basic_ranks
{
    template <class T> using result = typename Errors::template result<T>;

  public:
    static result<basic_ranks> open(const braid_ranks_options &options = {})
    {
        braid_ranks *ranks = nullptr;
        braid_status status = braid_ranks_open(&options, &ranks);
        return Errors::template from<basic_ranks>(status, [&] { return basic_ranks(ranks); });
    }
    // What the destructor does too, which tells nobody of a failure. Where it is BRAID_BUSY ranks
    // stay open.
    result<void> close()
    {
        braid_status status = braid_ranks_close(get());
        if (status != BRAID_BUSY)
            static_cast<void>(ranks_.release());
        return Errors::template from<void>(status, [] {});
    }

    std::uint32_t rank() const
    {
        return braid_ranks_rank(get());
    }
    std::uint32_t size() const
    {
        return braid_ranks_num_ranks(get());
    }
    // Fails after an operation of this rank or another has.
    result<void> check() const
    {
        return Errors::template from<void>(braid_ranks_check(get()), [] {});
    }
    result<communicator> communicate(const char *name, std::uint32_t color = 0) const
    {
        braid_communicator *made = nullptr;
        braid_status status = braid_communicator_create(get(), name, color, &made);
        return Errors::template from<communicator>(status, [&] { return communicator(made); });
    }

    braid_ranks *get() const noexcept
    {
        return ranks_.get();
    }
    operator braid_ranks *() const noexcept
    {
        return get();
    }

  private:
    explicit basic_ranks(braid_ranks *ranks) noexcept : ranks_(ranks)
    {
    }
    detail::owned<braid_ranks, braid_ranks_close> ranks_;
};

namespace detail
{
template <class T> struct element_of;
template <> struct element_of<unsigned char> {
    static constexpr braid_element value = BRAID_ELEMENT_BYTE;
};
template <> struct element_of<std::int32_t> {
    static constexpr braid_element value = BRAID_ELEMENT_INT32;
};
template <> struct element_of<std::uint32_t> {
    static constexpr braid_element value = BRAID_ELEMENT_UINT32;
};
template <> struct element_of<std::int64_t> {
    static constexpr braid_element value = BRAID_ELEMENT_INT64;
};
template <> struct element_of<std::uint64_t> {
    static constexpr braid_element value = BRAID_ELEMENT_UINT64;
};
template <> struct element_of<float> {
    static constexpr braid_element value = BRAID_ELEMENT_FLOAT;
};
template <> struct element_of<double> {
    static constexpr braid_element value = BRAID_ELEMENT_DOUBLE;
};
} // namespace detail

} // namespace braid

#endif
