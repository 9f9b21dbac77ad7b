// SPDX-License-Identifier: Apache-2.0
// Kernels whose arguments have types, from a lambda, a function or source. Include braid.hpp.
#ifndef BRAID_CPP_KERNEL_HPP
#define BRAID_CPP_KERNEL_HPP

#include <braid/kernel.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace braid
{

namespace detail
{
template <class T>
inline constexpr bool is_argument_v =
    std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !std::is_reference_v<T>;

template <class... Args> struct kernel_state {
    braid_kernel kernel = {};
    std::string name, source;
    std::function<void(const braid_blocks &, Args...)> body;
};

template <class... Args, std::size_t... I>
void call_body(const braid_blocks *blocks, void *const *args, std::index_sequence<I...>)
{
    auto *state = static_cast<const kernel_state<Args...> *>(blocks->user);
    state->body(*blocks, *static_cast<const Args *>(args[I])...);
    static_cast<void>(args);
}

template <class... Args> void run_body(const braid_blocks *blocks, void *const *args) noexcept
{
    call_body<Args...>(blocks, args, std::index_sequence_for<Args...>());
}
} // namespace detail

// A kernel with arguments of these types, written kernel<void(float *, int)>. Copies share one
// kernel; graphs and execs keep it alive. All that code on a GPU sees of the arguments is their
// bytes: give the types of its source.
template <class Signature> class kernel;

template <class... Args> class kernel<void(Args...)>
{
    static_assert((detail::is_argument_v<Args> && ...),
                  "arguments are copied as bytes: plain values and pointers, no arrays, references "
                  "or classes that own something");

  public:
    // Code for GPUs only, to be added with source() or image functions.
    explicit kernel(const char *name) : state_(std::make_shared<detail::kernel_state<Args...>>())
    {
        state_->name = name;
        state_->kernel.name = state_->name.c_str();
    }

    // And code for the CPU: a function of the blocks to do and the arguments. Several threads may
    // call it at once, each with other blocks.
    template <class Body, class = std::enable_if_t<
                              std::is_invocable_v<const Body &, const braid_blocks &, Args...>>>
    kernel(const char *name, Body body) : kernel(name)
    {
        state_->body = std::move(body);
        state_->kernel.cpu = detail::run_body<Args...>;
        state_->kernel.user = state_.get();
    }

    // CUDA C that is also HIP C++, its entry extern "C" under the kernel's name. To be called, as
    // all that follow, before the kernel is given to a graph.
    kernel &source(std::string text)
    {
        state_->source = std::move(text);
        state_->kernel.source = state_->source.c_str();
        return *this;
    }
    kernel &cuda(const braid_image &image)
    {
        state_->kernel.cuda = image;
        return *this;
    }
    kernel &hip(const braid_image &image)
    {
        state_->kernel.hip = image;
        return *this;
    }

    const braid_kernel *get() const noexcept
    {
        return &state_->kernel;
    }
    std::shared_ptr<const void> keep() const noexcept
    {
        return state_;
    }

  private:
    std::shared_ptr<detail::kernel_state<Args...>> state_;
};

namespace detail
{
template <class Call> struct body_of;
template <class Class, class... Args>
struct body_of<void (Class::*)(const braid_blocks &, Args...) const> {
    using type = void(Args...);
};
template <class Class, class... Args>
struct body_of<void (Class::*)(const braid_blocks &, Args...) const noexcept> {
    using type = void(Args...);
};
} // namespace detail

// kernel("scale", [=](const braid_blocks &blocks, float *x, float factor) { ... }) knows its types.
template <class Body>
kernel(const char *, Body) -> kernel<typename detail::body_of<decltype(&Body::operator())>::type>;
template <class... Args>
kernel(const char *, void (*)(const braid_blocks &, Args...)) -> kernel<void(Args...)>;

} // namespace braid

#endif
