// SPDX-License-Identifier: Apache-2.0
// Several processes in C++.
#ifndef BRAID_CPP_RANKS_HPP
#define BRAID_CPP_RANKS_HPP

#include <braid/cpp/result.hpp>
#include <braid/cpp/task.hpp>
#include <braid/rank.h>

#include <cstdint>
#include <iterator>
#include <vector>

namespace braid
{

// Some of the ranks. It ends with them.
class communicator
{
  public:
    communicator() = default;
    explicit communicator(braid_communicator *given) noexcept : communicator_(given)
    {
    }
    braid_ranks_info info() const
    {
        braid_ranks_info info;
        braid_communicator_get_info(communicator_, &info);
        return info;
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
    // The destructor reports no failure. After BRAID_IN_USE the ranks stay open.
    result<void> close()
    {
        braid_status status = braid_ranks_close(get());
        if (status != BRAID_IN_USE)
            static_cast<void>(ranks_.release());
        return Errors::template from<void>(status, [] {});
    }

    braid_ranks_info info() const
    {
        braid_ranks_info info;
        braid_ranks_get_info(get(), &info);
        return info;
    }
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
template <class T>
braid_communication make_operation(braid_rank_operation kind, braid_resource communicator,
                                   operand<const T *> from, operand<T *> to, std::uint64_t count,
                                   std::uint32_t peer, std::uint32_t tag)
{
    braid_communication operation = {};
    operation.operation = kind;
    operation.communicator = communicator;
    operation.from = from.address;
    operation.from_resource = from.resource;
    operation.to = to.address;
    operation.to_resource = to.resource;
    operation.count = count;
    operation.element = element_of<T>::value;
    operation.peer = peer;
    operation.tag = tag;
    return operation;
}
} // namespace detail

} // namespace braid

#endif
